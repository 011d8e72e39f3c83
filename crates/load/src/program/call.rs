//! Compiled driver calls, and the checks and extractions of their responses.

use towtank_drivers::{Answer, Meter, Task, Value};

use crate::extract::{bounds, take_found};
use crate::outcome::{Description, Fault, Unmet};
use crate::pause::nanoseconds;
use crate::plan::{self, CallCheck, CallExtract, Column, ExtractPick, OnFailure};
use crate::template::{Context, Text};

use super::note::Note;

/// A compiled driver call of the plan.
#[derive(Debug)]
pub struct Call {
    /// Index of the plan step whose results count this call.
    pub step: usize,
    /// Index of the target that the call is sent to.
    pub target: usize,
    /// Time limit for the complete response. [ns]
    pub timeout_ns: u64,
    /// `true` if the user continues after the call has failed.
    pub go_on: bool,
    /// Describes a stored object that the call changes or reads, if any.
    pub note: Option<Note>,
    values: Vec<Option<Text>>,
    checks: Vec<Check>,
    extracts: Vec<CallExtract>,
}

#[derive(Debug)]
enum Check {
    Rows(u64, u64),
    Affected(u64, u64),
    Size(u64, u64),
    Value(Column, Option<Text>),
}

impl Check {
    fn new(check: &CallCheck) -> Self {
        let bounds =
            |min: &Option<u64>, max: &Option<u64>| (min.unwrap_or(0), max.unwrap_or(u64::MAX));
        match check {
            CallCheck::Rows { min, max } => {
                let (min, max) = bounds(min, max);
                Self::Rows(min, max)
            }
            CallCheck::Affected { min, max } => {
                let (min, max) = bounds(min, max);
                Self::Affected(min, max)
            }
            CallCheck::Size { min, max } => {
                let (min, max) = bounds(min, max);
                Self::Size(min, max)
            }
            CallCheck::Value { column, equals } => {
                Self::Value(column.clone(), equals.as_ref().map(|text| Text::new(text)))
            }
        }
    }

    fn describe(&self, answer: &Answer, meter: &Meter, context: &mut Context<'_>) -> Description {
        let counted = |check: &str, min: u64, max: u64, unit: &str, got: u64| Description {
            check: check.as_bytes().to_vec(),
            expected: bounds(min, max, unit),
            got: Some(format!("{got}{unit}").into_bytes()),
        };
        match self {
            Self::Rows(min, max) => counted("rows", *min, *max, "", answer.row_count),
            Self::Affected(min, max) => counted("affected", *min, *max, "", answer.affected),
            Self::Size(min, max) => counted("size", *min, *max, " B", meter.bytes_in),
            Self::Value(column, equals) => {
                let mut expected = Vec::new();
                match equals {
                    Some(text) => text.render(&mut expected, context),
                    None => expected = b"a value".to_vec(),
                }
                let found = values_of(answer, column).next();
                Description {
                    check: format!("value {}", named(column)).into_bytes(),
                    expected,
                    got: Some(found.unwrap_or(b"none").to_vec()),
                }
            }
        }
    }

    fn holds(&self, answer: &Answer, meter: &Meter, context: &mut Context<'_>) -> bool {
        match self {
            Self::Rows(min, max) => (*min..=*max).contains(&answer.row_count),
            Self::Affected(min, max) => (*min..=*max).contains(&answer.affected),
            Self::Size(min, max) => (*min..=*max).contains(&meter.bytes_in),
            Self::Value(column, equals) => {
                let Some(value) = values_of(answer, column).next() else {
                    return false;
                };
                equals.as_ref().is_none_or(|text| {
                    let mut wanted = Vec::new();
                    text.render(&mut wanted, context);
                    value == wanted
                })
            }
        }
    }
}

/// Names a column for messages, by name or by position from 0.
fn named(column: &Column) -> String {
    match column {
        Column::Place(place) => format!("of column {place}"),
        Column::Name(name) => name.clone(),
    }
}

/// Returns the values in a column of a response, without null values.
fn values_of<'a>(answer: &'a Answer, column: &Column) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let place = match column {
        Column::Place(place) => Some(*place),
        Column::Name(name) => answer.columns.iter().position(|column| column == name),
    };
    let rows = answer.rows.iter();
    rows.filter_map(move |row| row.get(place?)?.as_deref())
}

impl Call {
    /// Compiles a call of the plan, and creates the driver's task with this number.
    ///
    /// `response_s` is the time limit of calls without their own limit. `capture_bytes` limits the kept rows.
    #[must_use]
    pub fn new(
        call: &plan::Call,
        number: u32,
        response_s: f64,
        capture_bytes: usize,
    ) -> (Self, Task) {
        let looks = |check: &CallCheck| matches!(check, CallCheck::Value { .. });
        let takes = |extract: &CallExtract| extract.pick != ExtractPick::Count;
        let keeps_rows = call.checks.iter().any(looks) || call.extract.iter().any(takes);
        let task = Task {
            number,
            operation: call.operation.clone(),
            keeps_rows,
            rows_bytes_at_most: capture_bytes,
            keeps_content: call.note.is_some(),
        };
        let text = |value: &Option<plan::Template>| value.as_ref().map(|text| Text::new(text));
        let compiled = Self {
            step: call.step,
            target: call.target,
            timeout_ns: nanoseconds(call.timeout_s.unwrap_or(response_s)),
            go_on: call.on_failure == OnFailure::GoOn,
            note: call.note.as_ref().map(Note::new),
            values: call.values.iter().map(text).collect(),
            checks: call.checks.iter().map(Check::new).collect(),
            extracts: call.extract.clone(),
        };
        (compiled, task)
    }

    /// Renders the parameter values of a call into `values`. The memory of its previous content is reused.
    pub fn render(&self, values: &mut Vec<Value>, context: &mut Context<'_>) {
        values.resize(self.values.len(), None);
        for (value, text) in values.iter_mut().zip(&self.values) {
            let Some(text) = text else {
                *value = None;
                continue;
            };
            let out = value.get_or_insert_default();
            out.clear();
            text.render(out, context);
        }
    }

    /// Checks the response to a call, and then extracts its values.
    ///
    /// # Errors
    /// The reason why the call counts as failed.
    pub fn inspect(
        &self,
        answer: &Answer,
        meter: &Meter,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let mut checks = self.checks.iter();
        if let Some(at) = checks.position(|check| !check.holds(answer, meter, context)) {
            return Err(Fault::of_check(at));
        }
        for (at, extract) in self.extracts.iter().enumerate() {
            let found = match extract.pick {
                ExtractPick::Count => vec![answer.row_count.to_string().into_bytes()],
                _ if answer.is_truncated => return Err(Fault::of_extract(at)),
                _ => values_of(answer, &extract.column)
                    .map(<[u8]>::to_vec)
                    .collect(),
            };
            let pick = match extract.pick {
                ExtractPick::Count => ExtractPick::First,
                pick => pick,
            };
            let (required, default) = (extract.required, extract.default.as_deref());
            if !take_found(found, extract.into, pick, required, default, context) {
                return Err(Fault::of_extract(at));
            }
        }
        Ok(())
    }

    /// Describes a requirement that a response did not meet.
    #[must_use]
    pub fn describe(
        &self,
        unmet: Unmet,
        answer: &Answer,
        meter: &Meter,
        context: &mut Context<'_>,
    ) -> Description {
        match unmet {
            Unmet::Check(at) => self
                .checks
                .get(at)
                .map_or_else(Description::default, |check| {
                    check.describe(answer, meter, context)
                }),
            Unmet::Extract(at) => Description {
                check: self.extracts.get(at).map_or_else(Vec::new, |extract| {
                    format!("extract {}", named(&extract.column)).into_bytes()
                }),
                expected: b"a value".to_vec(),
                got: Some(b"none".to_vec()),
            },
            Unmet::Response | Unmet::Status => Description::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::outcome::Failure;
    use crate::rng::Random;
    use crate::template::Memory;

    fn answer() -> Answer {
        let row = |id: &str, name: Option<&str>| {
            vec![
                Some(id.as_bytes().to_vec()),
                name.map(|name| name.as_bytes().to_vec()),
            ]
        };
        Answer {
            columns: ["id".to_owned(), "name".to_owned()].into(),
            rows: vec![row("7", None), row("8", Some("eight"))],
            row_count: 2,
            affected: 3,
            is_truncated: false,
            content: None,
        }
    }

    fn inspect(call: &serde_json::Value, answer: &Answer) -> (Result<(), Failure>, Memory) {
        let call: plan::Call = serde_json::from_value(call.clone()).expect("a call");
        let (call, _) = Call::new(&call, 0, 1.0, 1024);
        let mut memory = Memory::new(1, 1);
        let mut random = Random::from_seed(1);
        let mut context = Context {
            memory: &mut memory,
            random: &mut random,
            user: 0,
            iteration: 0,
        };
        let result = call.inspect(answer, &Meter::default(), &mut context);
        let result = result.map_err(|fault| fault.failure);
        (result, memory)
    }

    fn with(checks: &serde_json::Value, extract: &serde_json::Value) -> serde_json::Value {
        json!({"step": 0, "target": 0, "do": {"kind": "sql", "text": "select 1"},
               "checks": checks, "extract": extract})
    }

    #[test]
    fn checks_count_rows_and_changes_and_look_at_values() {
        let cases = [
            (json!([{"kind": "rows", "min": 2, "max": 2}]), Ok(())),
            (json!([{"kind": "rows", "max": 1}]), Err(Failure::Check)),
            (json!([{"kind": "affected", "min": 3}]), Ok(())),
            (json!([{"kind": "affected", "max": 2}]), Err(Failure::Check)),
            (
                json!([{"kind": "value", "column": "id", "equals": ["7"]}]),
                Ok(()),
            ),
            (
                json!([{"kind": "value", "column": 0, "equals": ["8"]}]),
                Err(Failure::Check),
            ),
            (
                json!([{"kind": "value", "column": "absent"}]),
                Err(Failure::Check),
            ),
        ];
        for (checks, expected) in cases {
            let (result, _) = inspect(&with(&checks, &json!([])), &answer());
            assert_eq!(result, expected, "{checks}");
        }
    }

    #[test]
    fn values_go_into_variables_and_lists_and_a_row_without_one_is_passed_over() {
        let extract = json!([{"into": {"variable": 0}, "column": "name"},
                             {"into": {"list": 0}, "column": 0, "pick": "all"}]);
        let (result, memory) = inspect(&with(&json!([]), &extract), &answer());
        assert_eq!(result, Ok(()));
        assert_eq!(memory.variables[0], b"eight");
        assert_eq!(memory.lists[0], [b"7".to_vec(), b"8".to_vec()]);
    }

    #[test]
    fn what_is_required_must_be_there_and_counts_need_no_rows() {
        let absent = json!([{"into": {"variable": 0}, "column": "absent"}]);
        assert_eq!(
            inspect(&with(&json!([]), &absent), &answer()).0,
            Err(Failure::Extract)
        );
        let count = json!([{"into": {"variable": 0}, "pick": "count"}]);
        let (result, memory) = inspect(&with(&json!([]), &count), &answer());
        assert_eq!(
            (result, memory.variables[0].as_slice()),
            (Ok(()), b"2".as_slice())
        );
    }
}

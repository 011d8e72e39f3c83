//! Extracts values from responses, and checks responses against the requirements of the plan.

mod describe;
mod json_path;

use regex::bytes::Regex;
use serde_json::Value;

pub(crate) use describe::bounds;
pub use json_path::JsonPath;

use crate::http::response::Answer;
use crate::outcome::{Failure, Fault, Unmet};
use crate::plan::{self, Destination, ExtractPick, Source};
use crate::template::{Context, Text};

/// Limit on the total length of the texts that one extraction takes from a document. A path may select a value together
/// with values nested in it, so the texts can be much longer than the document. [B]
const TEXT_BYTES_AT_MOST: usize = 64 << 20;

/// Compiled extractions and checks of the response to one request.
#[derive(Debug)]
pub struct Inspection {
    status: StatusRule,
    checks: Vec<Check>,
    extracts: Vec<Extract>,
    /// `true` if the response body must be kept in memory for these extractions and checks.
    pub needs_body: bool,
    /// `true` if these extractions or checks need the response head. The cookies may need it even if this is `false`.
    pub needs_head: bool,
    needs_json: bool,
}

#[derive(Debug)]
enum StatusRule {
    /// The status check of a request without listed statuses: 2xx and 3xx are successes.
    Usual,
    /// The status checks of the plan. A status is a success if every one of these sets contains it.
    Listed(Vec<StatusSet>),
}

#[derive(Debug)]
enum StatusSet {
    In(Vec<u16>),
    Between(u16, u16),
}

#[derive(Debug)]
enum Check {
    Size {
        min: u64,
        max: u64,
    },
    Contains {
        text: Text,
        not: bool,
    },
    Regex {
        pattern: Regex,
        not: bool,
    },
    Json {
        path: JsonPath,
        equals: Option<Text>,
    },
    Header {
        name: String,
        contains: Text,
    },
}

#[derive(Debug)]
enum Finder {
    Json(JsonPath),
    Header(String),
    Regex(Regex),
    Status,
}

#[derive(Debug)]
struct Extract {
    into: Destination,
    finder: Finder,
    pick: ExtractPick,
    required: bool,
    default: Option<String>,
}

/// Working memory that successive inspections reuse, to avoid allocations.
#[derive(Debug, Default)]
pub struct Scratch {
    text: Vec<u8>,
}

impl Inspection {
    /// Compiles the checks and extractions of a request in a validated plan.
    ///
    /// # Errors
    /// Describes the expression that does not compile.
    pub fn new(request: &plan::Request) -> Result<Self, String> {
        let mut sets = Vec::new();
        let mut checks = Vec::new();
        for check in &request.checks {
            match check {
                plan::Check::Status {
                    within: Some(within),
                    ..
                } => sets.push(StatusSet::In(within.clone())),
                plan::Check::Status { min, max, .. } => {
                    sets.push(StatusSet::Between(
                        min.unwrap_or(0),
                        max.unwrap_or(u16::MAX),
                    ));
                }
                other => checks.push(Check::new(other)?),
            }
        }
        let extracts = request
            .extract
            .iter()
            .map(Extract::new)
            .collect::<Result<Vec<_>, _>>()?;
        let json = |check: &Check| matches!(check, Check::Json { .. });
        let needs_json = checks.iter().any(json)
            || extracts
                .iter()
                .any(|extract| matches!(extract.finder, Finder::Json(_)));
        let needs_body = needs_json
            || checks
                .iter()
                .any(|check| matches!(check, Check::Contains { .. } | Check::Regex { .. }))
            || extracts
                .iter()
                .any(|extract| matches!(extract.finder, Finder::Regex(_)));
        // Checks and extractions of the body also need the head: it states whether the body is compressed, and a
        // compressed body cannot be inspected.
        let needs_head = needs_body
            || checks
                .iter()
                .any(|check| matches!(check, Check::Header { .. }))
            || extracts
                .iter()
                .any(|extract| matches!(extract.finder, Finder::Header(_)));
        let status = if sets.is_empty() {
            StatusRule::Usual
        } else {
            StatusRule::Listed(sets)
        };
        Ok(Self {
            status,
            checks,
            extracts,
            needs_body,
            needs_head,
            needs_json,
        })
    }

    /// Checks a response and extracts its values, in this order: the status, the other checks, the extractions.
    ///
    /// # Errors
    /// The reason why the request counts as failed.
    pub fn apply(
        &self,
        answer: &Answer,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        if !self.status.allows(answer.status()) {
            return Err(Fault {
                failure: Failure::of_status(answer.status()),
                unmet: Unmet::Status,
            });
        }
        if self.checks.is_empty() && self.extracts.is_empty() {
            return Ok(());
        }
        let readable = !self.needs_body || (is_plain(answer) && !answer.body_truncated());
        let document = if self.needs_json && readable {
            serde_json::from_slice(answer.body()).ok()
        } else {
            None
        };
        for (at, check) in self.checks.iter().enumerate() {
            if (check.reads_body() && !is_plain(answer))
                || !check.holds(answer, document.as_ref(), context, scratch)
            {
                return Err(Fault::of_check(at));
            }
        }
        for (at, extract) in self.extracts.iter().enumerate() {
            let blocked = extract.reads_body() && !readable;
            if blocked || !extract.take(answer, document.as_ref(), context) {
                return Err(Fault::of_extract(at));
            }
        }
        Ok(())
    }
}

/// Returns `true` if the response body is not compressed.
fn is_plain(answer: &Answer) -> bool {
    answer
        .header("content-encoding")
        .is_none_or(|encoding| encoding.eq_ignore_ascii_case(b"identity"))
}

impl StatusRule {
    fn allows(&self, status: u16) -> bool {
        match self {
            Self::Usual => (200..400).contains(&status),
            Self::Listed(sets) => sets.iter().all(|set| match set {
                StatusSet::In(list) => list.contains(&status),
                StatusSet::Between(min, max) => (*min..=*max).contains(&status),
            }),
        }
    }
}

fn pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| error.to_string())
}

impl Check {
    fn new(check: &plan::Check) -> Result<Self, String> {
        Ok(match check {
            plan::Check::Size { min, max } => Self::Size {
                min: min.unwrap_or(0),
                max: max.unwrap_or(u64::MAX),
            },
            plan::Check::Contains { text, not } => Self::Contains {
                text: Text::new(text),
                not: *not,
            },
            plan::Check::Regex { pattern: text, not } => Self::Regex {
                pattern: pattern(text)?,
                not: *not,
            },
            plan::Check::Json { expression, equals } => Self::Json {
                path: JsonPath::parse(expression)?,
                equals: equals.as_ref().map(|text| Text::new(text)),
            },
            plan::Check::Header { name, contains } => Self::Header {
                name: name.clone(),
                contains: Text::new(contains),
            },
            plan::Check::Status { .. } => {
                return Err("a status check does not check content".to_owned());
            }
        })
    }

    fn reads_body(&self) -> bool {
        matches!(
            self,
            Self::Contains { .. } | Self::Regex { .. } | Self::Json { .. }
        )
    }

    fn holds(
        &self,
        answer: &Answer,
        document: Option<&Value>,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> bool {
        scratch.text.clear();
        match self {
            Self::Size { min, max } => (*min..=*max).contains(&answer.body_bytes()),
            Self::Contains { text, not } => {
                text.render(&mut scratch.text, context);
                contains(answer.body(), &scratch.text) != *not
            }
            Self::Regex { pattern, not } => pattern.is_match(answer.body()) != *not,
            Self::Json { path, equals } => {
                let found = document.and_then(|document| select(path, document, answer));
                let Some(first) = found.and_then(|found| found.into_iter().next()) else {
                    return false;
                };
                equals.as_ref().is_none_or(|text| {
                    text.render(&mut scratch.text, context);
                    plain_text(first) == scratch.text
                })
            }
            Self::Header {
                name,
                contains: text,
            } => {
                text.render(&mut scratch.text, context);
                answer
                    .headers(name)
                    .any(|value| contains(value, &scratch.text))
            }
        }
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

/// Converts a JSON value to the text that templates insert: a string without its quotes, or another value as JSON.
fn plain_text(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.clone().into_bytes(),
        other => other.to_string().into_bytes(),
    }
}

/// Selects the values of a path in a JSON document. Returns `None` if there are more values than bytes in the body;
/// this limits the time and memory of one extraction.
fn select<'a>(path: &JsonPath, document: &'a Value, answer: &Answer) -> Option<Vec<&'a Value>> {
    path.select(document, answer.body().len())
}

/// Converts values to texts; null values are left out. Returns `None` if the total length of the texts exceeds
/// [`TEXT_BYTES_AT_MOST`].
fn texts(values: Vec<&Value>) -> Option<Vec<Vec<u8>>> {
    let mut room_bytes = TEXT_BYTES_AT_MOST;
    let values = values.into_iter().filter(|value| !value.is_null());
    let texts = values.map(|value| {
        let text = plain_text(value);
        room_bytes = room_bytes.checked_sub(text.len())?;
        Some(text)
    });
    texts.collect()
}

impl Extract {
    fn new(extract: &plan::Extract) -> Result<Self, String> {
        let finder = match extract.from {
            Source::Json => Finder::Json(JsonPath::parse(&extract.expression)?),
            Source::Header => Finder::Header(extract.expression.clone()),
            Source::Regex => Finder::Regex(pattern(&extract.expression)?),
            Source::Status => Finder::Status,
        };
        let plan::Extract {
            into,
            pick,
            required,
            default,
            ..
        } = extract.clone();
        Ok(Self {
            into,
            finder,
            pick,
            required,
            default,
        })
    }

    fn reads_body(&self) -> bool {
        matches!(self.finder, Finder::Json(_) | Finder::Regex(_))
    }

    /// Finds the values that the extraction selects in a response. Returns `None` if their number or total length
    /// exceeds a limit.
    fn find(&self, answer: &Answer, document: Option<&Value>) -> Option<Vec<Vec<u8>>> {
        Some(match &self.finder {
            Finder::Status => vec![answer.status().to_string().into_bytes()],
            Finder::Header(name) => answer.headers(name).map(<[u8]>::to_vec).collect(),
            Finder::Json(path) => match document {
                Some(document) => texts(select(path, document, answer)?)?,
                None => Vec::new(),
            },
            Finder::Regex(pattern) => {
                let group = usize::from(pattern.captures_len() > 1);
                let matches = pattern.captures_iter(answer.body());
                matches
                    .filter_map(|found| found.get(group).map(|part| part.as_bytes().to_vec()))
                    .collect()
            }
        })
    }

    /// Extracts a value and stores it for the user. Returns `false` if no value was found although one is required.
    fn take(&self, answer: &Answer, document: Option<&Value>, context: &mut Context<'_>) -> bool {
        let Some(found) = self.find(answer, document) else {
            return false;
        };
        let (required, default) = (self.required, self.default.as_deref());
        take_found(found, self.into, self.pick, required, default, context)
    }
}

/// Stores the values that an extraction has found. Returns `false` if there is none although a value is required.
pub(crate) fn take_found(
    mut found: Vec<Vec<u8>>,
    into: Destination,
    pick: ExtractPick,
    required: bool,
    default: Option<&str>,
    context: &mut Context<'_>,
) -> bool {
    if pick == ExtractPick::Count {
        found = vec![found.len().to_string().into_bytes()];
    } else if found.is_empty() {
        if required {
            return false;
        }
        found.extend(default.map(|text| text.as_bytes().to_vec()));
    }
    let chosen = match pick {
        ExtractPick::All | ExtractPick::Append => None,
        ExtractPick::First | ExtractPick::Count => Some(0),
        ExtractPick::Last => Some(found.len().saturating_sub(1)),
        ExtractPick::Random if found.is_empty() => Some(0),
        ExtractPick::Random => Some(context.random.below(found.len() as u64) as usize),
    };
    let value = chosen.map(|index| found.get_mut(index).map(std::mem::take).unwrap_or_default());
    match (into, value) {
        (Destination::Variable(index), value) => {
            context.memory.variables[index] = value.unwrap_or_default();
        }
        (Destination::List(index), Some(value)) => context.memory.lists[index].push(value),
        (Destination::List(index), None) if pick == ExtractPick::All => {
            context.memory.lists[index] = found;
        }
        (Destination::List(index), None) => context.memory.lists[index].append(&mut found),
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_of_values_within_values_are_bounded_together() {
        let nested = |depth: usize| {
            let long = json!("x".repeat(1 << 20));
            (0..depth).fold(long, |inside, _| json!({"a": inside}))
        };
        let taken = |depth: usize| {
            let document = nested(depth);
            let path = JsonPath::parse("$..a").expect("parses");
            let values = path.select(&document, 1 << 20).expect("few values");
            texts(values).map(|texts| texts.len())
        };
        assert_eq!(taken(10), Some(10));
        assert_eq!(taken(100), None);
    }
}

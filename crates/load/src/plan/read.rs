//! Reads the text of a plan and returns a [`Plan`] or all of its faults.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::validate::{validate, validate_stages};
use super::{
    Connections, Cookies, Group, Load, Pause, Plan, Pool, StageList, Transaction, Weighted,
};

/// A fault of a plan: where it is, and the requirement that is violated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Location of the fault in the plan, as a path of keys and indices.
    pub place: String,
    /// The violated requirement, and the value found instead.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            write!(formatter, "{}", self.message)
        } else {
            write!(formatter, "{}: {}", self.place, self.message)
        }
    }
}

/// Reads and checks a plan file.
///
/// # Errors
/// All faults of the plan; a single fault if the file cannot be read or is not JSON.
pub fn read(path: &Path) -> Result<Plan, Vec<Fault>> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        vec![Fault {
            place: String::new(),
            message: format!("cannot be read: {error}"),
        }]
    })?;
    read_text(&text)
}

/// Reads and checks the text of a plan.
///
/// # Errors
/// Every fault of the plan.
pub fn read_text(text: &str) -> Result<Plan, Vec<Fault>> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        vec![Fault {
            place: String::new(),
            message: format!("is not JSON: {error}"),
        }]
    })?;
    let Value::Object(map) = value else {
        return Err(vec![Fault {
            place: String::new(),
            message: "must be a JSON object".to_owned(),
        }]);
    };
    let mut reader = Reader { faults: Vec::new() };
    let plan = reader.plan(map);
    let Some(plan) = plan.filter(|_| reader.faults.is_empty()) else {
        return Err(reader.faults);
    };
    let faults = validate(&plan);
    if faults.is_empty() {
        Ok(plan)
    } else {
        Err(faults)
    }
}

/// Reads and checks stages that are appended to the load of a plan while it runs.
///
/// # Errors
/// Every fault of the stages.
pub fn read_stages(plan: &Plan, values: Vec<Value>) -> Result<StageList, Vec<Fault>> {
    let mut reader = Reader { faults: Vec::new() };
    let stages = match plan.load {
        Load::Closed { .. } => StageList::Closed(reader.list("stages", values)),
        Load::Open { .. } => StageList::Open(reader.list("stages", values)),
    };
    if reader.faults.is_empty() {
        reader.faults = validate_stages(plan, &stages);
    }
    if reader.faults.is_empty() {
        Ok(stages)
    } else {
        Err(reader.faults)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupHead {
    name: String,
    share: f64,
    #[serde(default)]
    once: Vec<Value>,
    #[serde(default)]
    think: Option<Pause>,
    #[serde(default)]
    pacing: Option<Pause>,
    mix: Vec<Weighted>,
    #[serde(default)]
    exit: Vec<Value>,
    #[serde(default)]
    cookies: Cookies,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TransactionHead {
    name: String,
    ops: Vec<Value>,
}

struct Reader {
    faults: Vec<Fault>,
}

impl Reader {
    fn fault(&mut self, place: &str, message: impl Into<String>) {
        self.faults.push(Fault {
            place: place.to_owned(),
            message: message.into(),
        });
    }

    fn plan(&mut self, mut map: Map<String, Value>) -> Option<Plan> {
        match map.remove("schema") {
            Some(Value::String(schema)) if schema == "towtank/plan/1" => {}
            other => {
                let got = other.unwrap_or(Value::Null);
                self.fault("schema", format!("must be \"towtank/plan/1\", got {got}"));
            }
        }
        let plan = self.sections(&mut map);
        for key in map.keys() {
            self.fault(key, "is not a key of a plan");
        }
        plan
    }

    fn sections(&mut self, map: &mut Map<String, Value>) -> Option<Plan> {
        let run = self.needed(map, "run");
        let seed = self.needed(map, "seed");
        let out = self.needed(map, "out");
        let threads = self.needed(map, "threads");
        let cpus = self.optional(map, "cpus");
        let targets = self.each(map, "targets");
        let connections: Option<Connections> = self.needed(map, "connections");
        let timeouts = self.optional(map, "timeouts");
        let limits = self.optional(map, "limits");
        let pools: Vec<Pool> = self.each(map, "pools");
        let variables = self.optional(map, "variables");
        let lists = self.optional(map, "lists");
        let steps = self.each(map, "steps");
        let pages = self.each(map, "pages");
        let transactions = self.transactions(map);
        let groups = self.groups(map);
        let secrets = self.optional(map, "secrets");
        let load: Option<Load> = self.needed(map, "load");
        Some(Plan {
            run: run?,
            seed: seed?,
            out: out?,
            threads: threads?,
            cpus: cpus?,
            targets,
            connections: connections?,
            timeouts: timeouts?,
            limits: limits?,
            pools,
            variables: variables?,
            lists: lists?,
            steps,
            pages,
            transactions,
            groups,
            secrets: secrets?,
            load: load?,
        })
    }

    fn decode<T: DeserializeOwned>(&mut self, place: &str, value: Value) -> Option<T> {
        match serde_json::from_value(value) {
            Ok(decoded) => Some(decoded),
            Err(error) => {
                self.fault(place, error.to_string());
                None
            }
        }
    }

    fn needed<T: DeserializeOwned>(
        &mut self,
        map: &mut Map<String, Value>,
        key: &str,
    ) -> Option<T> {
        let Some(value) = map.remove(key) else {
            self.fault(key, "is missing");
            return None;
        };
        self.decode(key, value)
    }

    fn optional<T: DeserializeOwned + Default>(
        &mut self,
        map: &mut Map<String, Value>,
        key: &str,
    ) -> Option<T> {
        map.remove(key)
            .map_or_else(|| Some(T::default()), |value| self.decode(key, value))
    }

    /// Reads a list. Its elements are decoded separately, so that the fault of each element is reported.
    fn each<T: DeserializeOwned>(&mut self, map: &mut Map<String, Value>, key: &str) -> Vec<T> {
        let values: Vec<Value> = self.optional(map, key).unwrap_or_default();
        self.list(key, values)
    }

    fn list<T: DeserializeOwned>(&mut self, place: &str, values: Vec<Value>) -> Vec<T> {
        let decoded = values.into_iter().enumerate();
        decoded
            .filter_map(|(index, value)| self.decode(&format!("{place}[{index}]"), value))
            .collect()
    }

    fn transactions(&mut self, map: &mut Map<String, Value>) -> Vec<Transaction> {
        let heads: Vec<Value> = self.optional(map, "transactions").unwrap_or_default();
        let mut transactions = Vec::with_capacity(heads.len());
        for (index, value) in heads.into_iter().enumerate() {
            let place = format!("transactions[{index}]");
            if let Some(head) = self.decode::<TransactionHead>(&place, value) {
                let ops = self.list(&format!("{place}.ops"), head.ops);
                transactions.push(Transaction {
                    name: head.name,
                    ops,
                });
            }
        }
        transactions
    }

    fn groups(&mut self, map: &mut Map<String, Value>) -> Vec<Group> {
        let heads: Vec<Value> = self.optional(map, "groups").unwrap_or_default();
        let mut groups = Vec::with_capacity(heads.len());
        for (index, value) in heads.into_iter().enumerate() {
            let place = format!("groups[{index}]");
            if let Some(head) = self.decode::<GroupHead>(&place, value) {
                let once = self.list(&format!("{place}.once"), head.once);
                let exit = self.list(&format!("{place}.exit"), head.exit);
                let GroupHead {
                    name,
                    share,
                    think,
                    pacing,
                    mix,
                    cookies,
                    ..
                } = head;
                groups.push(Group {
                    name,
                    share,
                    once,
                    think,
                    pacing,
                    mix,
                    exit,
                    cookies,
                });
            }
        }
        groups
    }
}

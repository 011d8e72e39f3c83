//! Calls of drivers: what is asked, what is kept of the answer, what the answer must be.

use serde::Deserialize;
use towtank_drivers::{FileAction, Operation};

use super::{Destination, Does, ExtractPick, Note, OnFailure, Template};

/// One call of a driver.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Index of the step that counts it.
    pub step: usize,
    /// Index of the target, which has a driver.
    pub target: usize,
    /// What is done.
    #[serde(rename = "do")]
    pub operation: Operation,
    /// The values it is given, in their order; null: no value.
    #[serde(default)]
    pub values: Vec<Option<Template>>,
    /// What is kept of the answer.
    #[serde(default)]
    pub extract: Vec<CallExtract>,
    /// What the answer must be.
    #[serde(default)]
    pub checks: Vec<CallCheck>,
    /// Time for the whole answer in place of the plan's. [s]
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// What a failure does.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// What it does to something that is kept.
    #[serde(default)]
    pub note: Option<Note>,
}

impl Call {
    /// Whether this can be noted of it: what it puts, reads or takes away is whole.
    #[must_use]
    pub fn can(&self, does: Does) -> bool {
        let Operation::File { action } = &self.operation else {
            return false;
        };
        match does {
            Does::Stores | Does::Replaces => *action == FileAction::Put,
            Does::Removes => *action == FileAction::Delete,
            Does::Reads => {
                *action == FileAction::Read && self.values.iter().skip(1).all(Option::is_none)
            }
        }
    }
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Column {
    /// By its place, from 0.
    Place(usize),
    /// By its name.
    Name(String),
}

impl Default for Column {
    fn default() -> Self {
        Self::Place(0)
    }
}

/// A value taken from a column of an answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallExtract {
    /// Where it goes.
    pub into: Destination,
    /// Which column.
    #[serde(default)]
    pub column: Column,
    /// Which row.
    #[serde(default)]
    pub pick: ExtractPick,
    /// Whether nothing found is a failure.
    #[serde(default = "yes")]
    pub required: bool,
    /// The value when nothing was found and it is not required.
    #[serde(default)]
    pub default: Option<String>,
}

fn yes() -> bool {
    true
}

/// What an answer must be.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CallCheck {
    /// Number of rows.
    Rows {
        /// At least.
        #[serde(default)]
        min: Option<u64>,
        /// At most.
        #[serde(default)]
        max: Option<u64>,
    },
    /// Number of what was changed.
    Affected {
        /// At least.
        #[serde(default)]
        min: Option<u64>,
        /// At most.
        #[serde(default)]
        max: Option<u64>,
    },
    /// Bytes received.
    Size {
        /// At least.
        #[serde(default)]
        min: Option<u64>,
        /// At most.
        #[serde(default)]
        max: Option<u64>,
    },
    /// A value of the first row.
    Value {
        /// Which column.
        #[serde(default)]
        column: Column,
        /// What it must be; that it is there, if not given.
        #[serde(default)]
        equals: Option<Template>,
    },
}

//! Calls of drivers: operation, extractions, and checks of the response.

use serde::Deserialize;
use towtank_drivers::{FileAction, Operation};

use super::{Destination, Does, ExtractPick, Note, OnFailure, Template};

/// One call of a driver.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Index of the step under which the call is counted.
    pub step: usize,
    /// Index of the target, whose scheme is `driver`.
    pub target: usize,
    /// Operation to perform.
    #[serde(rename = "do")]
    pub operation: Operation,
    /// Values of the operation in order; null stands for no value.
    #[serde(default)]
    pub values: Vec<Option<Template>>,
    /// Values to extract from the response.
    #[serde(default)]
    pub extract: Vec<CallExtract>,
    /// Checks of the response.
    #[serde(default)]
    pub checks: Vec<CallCheck>,
    /// Time limit for the complete response; overrides the limit of the plan. [s]
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// Consequence of a failure.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Note of the change to a stored object, if any.
    #[serde(default)]
    pub note: Option<Note>,
}

impl Call {
    /// Returns `true` if the operation can carry a note of this kind, because it stores, reads or removes a complete
    /// object.
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

/// A column of a response.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Column {
    /// Position of the column, from 0.
    Place(usize),
    /// Name of the column.
    Name(String),
}

impl Default for Column {
    fn default() -> Self {
        Self::Place(0)
    }
}

/// Extraction of a value from a column of a response.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallExtract {
    /// Destination of the value.
    pub into: Destination,
    /// Column of the value.
    #[serde(default)]
    pub column: Column,
    /// Row of the value.
    #[serde(default)]
    pub pick: ExtractPick,
    /// `true` if a missing value fails the call.
    #[serde(default = "yes")]
    pub required: bool,
    /// Value if none was found and none is required.
    #[serde(default)]
    pub default: Option<String>,
}

fn yes() -> bool {
    true
}

/// Requirement on a response.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CallCheck {
    /// Limits on the number of rows.
    Rows {
        /// Minimum number of rows.
        #[serde(default)]
        min: Option<u64>,
        /// Maximum number of rows.
        #[serde(default)]
        max: Option<u64>,
    },
    /// Limits on the number of changed rows.
    Affected {
        /// Minimum number of changed rows.
        #[serde(default)]
        min: Option<u64>,
        /// Maximum number of changed rows.
        #[serde(default)]
        max: Option<u64>,
    },
    /// Limits on the number of bytes received.
    Size {
        /// Minimum number of bytes.
        #[serde(default)]
        min: Option<u64>,
        /// Maximum number of bytes.
        #[serde(default)]
        max: Option<u64>,
    },
    /// Requirement on a value of the first row.
    Value {
        /// Column to check.
        #[serde(default)]
        column: Column,
        /// Required value. Without it, the column must exist.
        #[serde(default)]
        equals: Option<Template>,
    },
}

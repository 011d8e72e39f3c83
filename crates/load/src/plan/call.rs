//! The part of a plan that describes calls of drivers: the operation, extractions from the response, and its checks.

use serde::Deserialize;
use towtank_drivers::{FileAction, Operation};

use super::{Destination, Does, ExtractPick, Note, OnFailure, Template};

/// One call of a driver, that is, an operation on a server with a protocol other than HTTP.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Index of the plan step under which the results count this call.
    pub step: usize,
    /// Index of the target server, whose scheme must be `driver`.
    pub target: usize,
    /// Operation to perform.
    #[serde(rename = "do")]
    pub operation: Operation,
    /// Values of the operation's parameters, in order; `None` stands for the null value.
    #[serde(default)]
    pub values: Vec<Option<Template>>,
    /// Values to extract from the response.
    #[serde(default)]
    pub extract: Vec<CallExtract>,
    /// Checks of the response.
    #[serde(default)]
    pub checks: Vec<CallCheck>,
    /// Time limit for the complete response of this call; overrides the response limit of the plan. [s]
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// Effect on the user's transaction if the call fails.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Describes a stored object that the call changes or reads, so that the results record it.
    #[serde(default)]
    pub note: Option<Note>,
}

impl Call {
    /// Returns `true` if the operation has the effect `does` on a complete object. Only then may the call have a note
    /// with this effect.
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

/// Reference to a column of a response, by position or name.
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

/// Extracts a value from a column of a response.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallExtract {
    /// Variable or list that receives the value.
    pub into: Destination,
    /// Column that contains the value.
    #[serde(default)]
    pub column: Column,
    /// Rule that selects the row that contains the value.
    #[serde(default)]
    pub pick: ExtractPick,
    /// `true` if the call fails when no value is found.
    #[serde(default = "yes")]
    pub required: bool,
    /// Value that is stored if none was found and `required` is `false`.
    #[serde(default)]
    pub default: Option<String>,
}

fn yes() -> bool {
    true
}

/// Requirement on a response; the call fails if it is violated.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CallCheck {
    /// Limits on the number of rows in the response.
    Rows {
        /// Minimum number of rows in the response.
        #[serde(default)]
        min: Option<u64>,
        /// Maximum number of rows in the response.
        #[serde(default)]
        max: Option<u64>,
    },
    /// Limits on the number of rows that the operation changed.
    Affected {
        /// Minimum number of changed rows.
        #[serde(default)]
        min: Option<u64>,
        /// Maximum number of changed rows.
        #[serde(default)]
        max: Option<u64>,
    },
    /// Limits on the number of bytes received in the response.
    Size {
        /// Minimum number of bytes received.
        #[serde(default)]
        min: Option<u64>,
        /// Maximum number of bytes received.
        #[serde(default)]
        max: Option<u64>,
    },
    /// Requirement on a value in the first row of the response.
    Value {
        /// Column whose value in the first row is checked.
        #[serde(default)]
        column: Column,
        /// Required value of the column. Without it, the column only needs to exist.
        #[serde(default)]
        equals: Option<Template>,
    },
}

//! Faults of a trace, each with its place.

use serde::Serialize;

/// Limit on faults that are reported singly; the others are counted.
const REPORTED_AT_MOST: usize = 100;

/// Something wrong in a trace.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Fault {
    /// From 1; 0 for the whole.
    pub line: u64,
    /// From 1, in characters.
    pub column: usize,
    /// Column of the file.
    #[serde(rename = "where")]
    pub place: String,
    /// The requirement, and the value found.
    pub message: String,
}

/// All faults of a trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Faults {
    /// The first ones.
    pub faults: Vec<Fault>,
    /// Number of further faults. [1]
    pub more: u64,
}

impl Faults {
    /// A single one.
    #[must_use]
    pub fn one(fault: Fault) -> Self {
        Self {
            faults: vec![fault],
            more: 0,
        }
    }

    /// Number of faults. [1]
    #[must_use]
    pub fn count(&self) -> u64 {
        self.faults.len() as u64 + self.more
    }

    /// Returns `true` if there is no fault.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds one.
    pub fn add(&mut self, fault: Fault) {
        if self.faults.len() < REPORTED_AT_MOST {
            self.faults.push(fault);
        } else {
            self.more += 1;
        }
    }
}

//! Faults of a trace with their locations.

use serde::Serialize;

/// Maximum number of faults that are reported with their location and message. Further faults are only counted.
const REPORTED_AT_MOST: usize = 100;

/// A fault in the file of a trace.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Fault {
    /// Number of the line, from 1; 0 if the fault concerns the whole file.
    pub line: u64,
    /// Position of the fault in the line, in characters from 1.
    pub column: usize,
    /// Name of the column in the CSV file; empty if the fault concerns more than one column or none.
    #[serde(rename = "where")]
    pub place: String,
    /// The message: it states the violated requirement and the value found.
    pub message: String,
}

/// All faults of a trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Faults {
    /// The first faults, which are reported with location and message.
    pub faults: Vec<Fault>,
    /// Number of faults beyond those in `faults`. [1]
    pub more: u64,
}

impl Faults {
    /// Creates a list with a single fault.
    #[must_use]
    pub fn one(fault: Fault) -> Self {
        Self {
            faults: vec![fault],
            more: 0,
        }
    }

    /// Returns the number of all faults, including those that are only counted. [1]
    #[must_use]
    pub fn count(&self) -> u64 {
        self.faults.len() as u64 + self.more
    }

    /// Returns `true` if there is no fault.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds a fault.
    pub fn add(&mut self, fault: Fault) {
        if self.faults.len() < REPORTED_AT_MOST {
            self.faults.push(fault);
        } else {
            self.more += 1;
        }
    }
}

//! Faults of a trace with their locations.

use serde::Serialize;

/// Limit on the faults that are reported in full; the others are only counted.
const REPORTED_AT_MOST: usize = 100;

/// A fault of a trace.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Fault {
    /// Line, from 1; 0 if the fault concerns the whole file.
    pub line: u64,
    /// Position in the line, in characters from 1.
    pub column: usize,
    /// Name of the column of the CSV file; empty if the fault concerns no single column.
    #[serde(rename = "where")]
    pub place: String,
    /// The requirement, and the value found.
    pub message: String,
}

/// All faults of a trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Faults {
    /// The faults that are reported in full.
    pub faults: Vec<Fault>,
    /// Number of further faults. [1]
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

    /// Adds a fault.
    pub fn add(&mut self, fault: Fault) {
        if self.faults.len() < REPORTED_AT_MOST {
            self.faults.push(fault);
        } else {
            self.more += 1;
        }
    }
}

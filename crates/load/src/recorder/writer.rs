//! Writes intervals away in a thread of its own, as checksummed lines.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Recorder, Shape, Totals};

/// One stage of the load, as the header line names it.
#[derive(Clone, Debug, Serialize)]
pub struct Stage {
    /// Name of the stage.
    pub name: String,
    /// `ramp_up`, `settle`, `steady` or `ramp_down`.
    pub phase: String,
    /// Load level it belongs to.
    pub level: usize,
    /// Start since the start of the run. [s]
    pub start_s: f64,
    /// End since the start of the run. [s]
    pub end_s: f64,
    /// Users at its end, in a closed load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<u64>,
    /// Arrival rate at its end, in an open load. [1/s]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

/// A step or a page, and the transaction it belongs to.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Name of the transaction.
    pub transaction: String,
}

/// What the first line of every segment says; indices in the lines below refer to it.
#[derive(Clone, Debug, Serialize)]
pub struct Header {
    /// Name of the run.
    pub run: String,
    /// Number of this load thread, from 0.
    pub worker: usize,
    /// Number of load threads.
    pub workers: usize,
    /// `CLOCK_MONOTONIC` at the start of the run. [ns]
    pub monotonic_ns: u64,
    /// Wall clock at the start of the run, since 1970. [ns]
    pub wall_ns: u64,
    /// The stages of the load.
    pub stages: Vec<Stage>,
    /// Names of the transactions.
    pub transactions: Vec<String>,
    /// The pages.
    pub pages: Vec<Named>,
    /// The steps.
    pub steps: Vec<Named>,
    /// Names of the user groups.
    pub groups: Vec<String>,
}

/// Where an interval lies, and the gauges at its end. Times count from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalEdge {
    /// Start. [ns]
    pub t0_ns: u64,
    /// End. [ns]
    pub t1_ns: u64,
    /// Index of the stage.
    pub stage: usize,
    /// Active users at the end.
    pub users: u64,
    /// Integral of the active users over the interval. [ns]
    pub user_ns: u64,
    /// Requests in flight at the end.
    pub in_flight: u64,
    /// Open connections at the end.
    pub connections: u64,
    /// CPU time that the thread used in the interval. [ns]
    pub cpu_ns: u64,
}

/// Why a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// All stages are through.
    Finished,
    /// The user or the conductor asked for it.
    Stopped,
    /// The engine could not go on.
    Failed,
}

/// The results can no longer be written; the run cannot go on.
#[derive(Clone, Debug)]
pub struct WriterFailed {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub reason: String,
}

impl fmt::Display for WriterFailed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "cannot write {}: {}",
            self.path.display(),
            self.reason
        )
    }
}

impl std::error::Error for WriterFailed {}

/// Takes a filled recorder once per interval and writes it in a thread of its own.
#[derive(Debug)]
pub struct SegmentWriter {
    totals: Totals,
}

impl SegmentWriter {
    /// Creates the first segment of a load thread in `folder`, which is made if absent.
    ///
    /// # Errors
    /// When the folder or the file cannot be made, or a segment of that name is there already.
    pub fn create(folder: &Path, header: Header, shape: Shape) -> io::Result<Self> {
        todo!("{folder:?} {header:?} {shape:?}")
    }

    /// Hands the interval over and puts an empty recorder in its place. Does not wait for the disk.
    ///
    /// # Errors
    /// When an earlier interval could not be written, or the disk is too far behind.
    pub fn interval(
        &mut self,
        _recorder: &mut Recorder,
        _edge: IntervalEdge,
    ) -> Result<(), WriterFailed> {
        todo!()
    }

    /// Sums over all intervals handed over so far.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Writes the last line and waits until everything is on disk.
    ///
    /// # Errors
    /// When anything could not be written; the message names the file.
    pub fn end(
        self,
        _reason: EndReason,
        _message: Option<&str>,
        _t_ns: u64,
        _totals: &Totals,
    ) -> io::Result<()> {
        todo!()
    }
}

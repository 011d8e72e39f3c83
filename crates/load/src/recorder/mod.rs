//! What one load thread counted in one interval: plain data, no lock, no allocation once warm.

pub mod writer;

use crate::outcome::{Failure, NotStarted};

/// How many of everything a plan has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Requests by name.
    pub steps: usize,
    /// Pages by name.
    pub pages: usize,
    /// Transactions by name.
    pub transactions: usize,
    /// User groups.
    pub groups: usize,
    /// Stages of the load.
    pub stages: usize,
}

/// One request from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// How it ended.
    pub result: Result<(), Failure>,
    /// End minus intended start. [ns]
    pub response_ns: u64,
    /// End minus actual start. [ns]
    pub exchange_ns: u64,
    /// First byte of the answer minus actual start; `None` when none came. [ns]
    pub first_byte_ns: Option<u64>,
    /// Bytes received. [B]
    pub bytes_in: u64,
    /// Bytes sent. [B]
    pub bytes_out: u64,
}

/// Sums over all requests, for the identity
/// `offered = started + not_started`, `started = ok + failed + in_flight`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests that were due.
    pub offered: u64,
    /// Requests that were begun.
    pub started: u64,
    /// Requests that ended well.
    pub ok: u64,
    /// Requests that failed, by [`Failure::index`].
    pub failed: [u64; Failure::COUNT],
    /// Requests that were never begun, by [`NotStarted::index`].
    pub not_started: [u64; NotStarted::COUNT],
    /// Requests begun and not ended; set by the caller at the end of a run.
    pub in_flight: u64,
}

/// Figures of one interval for people who watch; those of several threads are merged.
#[derive(Clone, Debug, Default)]
pub struct LiveCounts {
    /// Requests begun.
    pub requests_started: u64,
    /// Requests that ended well.
    pub requests_ok: u64,
    /// Requests that failed.
    pub requests_failed: u64,
    /// Transactions that ended well.
    pub transactions_ok: u64,
    /// Transactions that failed.
    pub transactions_failed: u64,
}

impl LiveCounts {
    /// Adds the counts of another thread.
    pub fn merge(&mut self, _other: &Self) {
        todo!()
    }

    /// Median response time of requests; `None` when none was answered. [ns]
    #[must_use]
    pub fn response_p50_ns(&self) -> Option<u64> {
        todo!()
    }

    /// 95th percentile of the response time of requests; `None` when none was answered. [ns]
    #[must_use]
    pub fn response_p95_ns(&self) -> Option<u64> {
        todo!()
    }

    /// 99th percentile of the start lag; `None` when nothing was started. [ns]
    #[must_use]
    pub fn lag_p99_ns(&self) -> Option<u64> {
        todo!()
    }
}

/// Counts of one thread in the interval in hand.
#[derive(Debug)]
pub struct Recorder {
    shape: Shape,
}

impl Recorder {
    /// An empty recorder for a plan of this shape.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self { shape }
    }

    /// A request is due.
    pub fn offered(&mut self, _step: usize) {
        todo!("{:?}", self.shape)
    }

    /// A request is begun, `lag_ns` after its intended start.
    pub fn started(&mut self, _step: usize, _lag_ns: u64) {
        todo!()
    }

    /// A request that was due will not be begun.
    pub fn not_started(&mut self, _step: usize, _reason: NotStarted) {
        todo!()
    }

    /// A request ended.
    pub fn finished(&mut self, _step: usize, _exchange: Exchange) {
        todo!()
    }

    /// A page ended.
    pub fn page(&mut self, _page: usize, _result: Result<(), Failure>, _response_ns: u64) {
        todo!()
    }

    /// A transaction of a user of `group` ended.
    pub fn transaction(
        &mut self,
        _transaction: usize,
        _group: usize,
        _result: Result<(), Failure>,
        _response_ns: u64,
    ) {
        todo!()
    }

    /// A pause of this length ended.
    pub fn think(&mut self, _pause_ns: u64) {
        todo!()
    }

    /// A connection was made in this time.
    pub fn connect(&mut self, _connect_ns: u64) {
        todo!()
    }

    /// Sums over all steps of the interval so far; `in_flight` is zero.
    #[must_use]
    pub fn totals(&self) -> Totals {
        todo!()
    }

    /// Figures of the interval so far; take them just before the recorder is handed to the writer.
    #[must_use]
    pub fn snapshot(&self) -> LiveCounts {
        todo!()
    }
}

//! Counts and times of one step, page or transaction.

use super::statuses::Statuses;
use super::{Exchange, Totals};
use crate::histogram::Histogram;
use crate::outcome::{Failure, NotStarted};

/// Outcomes of all executions of one page or transaction.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    pub(super) ok: u64,
    /// Number of failures for each reason, by [`Failure::index`].
    pub(super) failed: [u64; Failure::COUNT],
    pub(super) response: Histogram,
}

impl Series {
    #[inline]
    pub(super) fn ended(&mut self, result: Result<(), Failure>, response_ns: u64) {
        if count(result, &mut self.ok, &mut self.failed) {
            self.response.record(response_ns);
        }
    }

    pub(super) fn failed_in_all(&self) -> u64 {
        self.failed.iter().sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ok == 0 && self.failed_in_all() == 0
    }

    pub(super) fn make_room(&mut self) {
        self.response.make_room();
    }

    pub(super) fn clear(&mut self) {
        if !self.is_empty() {
            self.ok = 0;
            self.failed = [0; Failure::COUNT];
            self.response.clear();
        }
    }
}

/// Starts and outcomes of all requests of one step.
#[derive(Clone, Debug, Default)]
pub(super) struct StepSeries {
    pub(super) offered: u64,
    pub(super) started: u64,
    /// Number of requests that never started, by [`NotStarted::index`].
    pub(super) not_started: [u64; NotStarted::COUNT],
    pub(super) bytes_out: u64,
    pub(super) bytes_in: u64,
    pub(super) statuses: Statuses,
    pub(super) ended: Series,
    pub(super) exchange: Histogram,
    pub(super) first_byte: Histogram,
}

impl StepSeries {
    pub(super) fn make_room(&mut self) {
        self.statuses.make_room();
        self.ended.make_room();
        self.exchange.make_room();
        self.first_byte.make_room();
    }

    /// Counts the end of a request. Returns `true` if its time counts as a response time.
    #[inline]
    pub(super) fn finished(&mut self, exchange: &Exchange) -> bool {
        self.bytes_in += exchange.bytes_in;
        self.bytes_out += exchange.bytes_out;
        if let Some(status) = exchange.status {
            self.statuses.count(status);
        }
        let timed = count(exchange.result, &mut self.ended.ok, &mut self.ended.failed);
        if timed {
            self.ended.response.record(exchange.response_ns);
            self.exchange.record(exchange.exchange_ns);
            if let Some(first_byte_ns) = exchange.first_byte_ns {
                self.first_byte.record(first_byte_ns);
            }
        }
        timed
    }

    pub(super) fn totals(&self) -> Totals {
        Totals {
            offered: self.offered,
            started: self.started,
            ok: self.ended.ok,
            failed: self.ended.failed,
            not_started: self.not_started,
            in_flight: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.totals() == Totals::default()
    }

    pub(super) fn clear(&mut self) {
        self.offered = 0;
        self.started = 0;
        self.not_started = [0; NotStarted::COUNT];
        self.bytes_out = 0;
        self.bytes_in = 0;
        self.statuses.clear();
        self.ended.clear();
        self.exchange.clear();
        self.first_byte.clear();
    }
}

/// Counts a success or failure. Returns `true` if the time until then counts as a response time.
#[inline]
fn count(result: Result<(), Failure>, ok: &mut u64, failed: &mut [u64; Failure::COUNT]) -> bool {
    match result {
        Ok(()) => {
            *ok += 1;
            true
        }
        Err(failure) => {
            failed[failure.index()] += 1;
            failure.has_response_time()
        }
    }
}

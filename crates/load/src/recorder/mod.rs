//! Counters for the results of one load thread in one interval. They need no lock, and allocate no memory once the
//! histograms have reached their final size.

mod line;
pub mod merging;
mod notes;
mod segment;
mod series;
mod statuses;
pub mod writer;

use crate::histogram::{FULL_BYTES, Histogram};
use crate::outcome::{Failure, NotStarted};
use series::{Series, StepSeries};

/// Number of steps, pages and other elements of a plan, which determine the size of a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of steps (requests and calls of drivers).
    pub steps: usize,
    /// Number of pages.
    pub pages: usize,
    /// Number of transactions.
    pub transactions: usize,
    /// Number of user groups.
    pub groups: usize,
    /// Number of stages of the load.
    pub stages: usize,
    /// Number of server addresses that users are permanently assigned to, over all targets.
    pub places: usize,
}

/// Counts of transactions at one server address, for users that keep the same address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddressCounts {
    pub(crate) ok: u64,
    pub(crate) failed: u64,
}

/// One request from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Success, or the reason for the failure.
    pub result: Result<(), Failure>,
    /// Status code, if a complete HTTP response arrived.
    pub status: Option<u16>,
    /// Response time: from the intended start of the request to its end. [ns]
    pub response_ns: u64,
    /// Time from the actual start of the request to its end. [ns]
    pub exchange_ns: u64,
    /// Time from the actual start of the request to the first byte of the response; `None` if no byte arrived. [ns]
    pub first_byte_ns: Option<u64>,
    /// Bytes received for this request. [B]
    pub bytes_in: u64,
    /// Bytes sent for this request. [B]
    pub bytes_out: u64,
}

/// Sums over all requests. They satisfy `offered = started + not_started` and `started = ok + failed + in_flight`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests that were due under the load, whether they started or not.
    pub offered: u64,
    /// Requests that started.
    pub started: u64,
    /// Requests that succeeded.
    pub ok: u64,
    /// Requests that failed, by [`Failure::index`].
    pub failed: [u64; Failure::COUNT],
    /// Requests that never started, by [`NotStarted::index`].
    pub not_started: [u64; NotStarted::COUNT],
    /// Requests that have started but not ended. The caller sets this number at the end of a run.
    pub in_flight: u64,
}

impl Totals {
    /// Adds the sums of another interval or thread.
    pub fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.started += other.started;
        self.ok += other.ok;
        self.in_flight += other.in_flight;
        self.failed
            .iter_mut()
            .zip(other.failed)
            .for_each(|(sum, more)| *sum += more);
        self.not_started
            .iter_mut()
            .zip(other.not_started)
            .for_each(|(sum, more)| *sum += more);
    }

    /// Returns the number of failed requests, for all reasons.
    #[must_use]
    pub fn failed_in_all(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Returns `true` if the sums satisfy `offered = started + not_started`.
    #[must_use]
    pub fn offered_holds(&self) -> bool {
        self.offered == self.started + self.not_started.iter().sum::<u64>()
    }

    /// Returns `true` if the sums satisfy `started = ok + failed + in_flight`.
    #[must_use]
    pub fn started_holds(&self) -> bool {
        self.started == self.ok + self.failed_in_all() + self.in_flight
    }
}

/// Counts of one interval for the live display. The control thread merges the counts of all threads.
#[derive(Clone, Debug, Default)]
pub struct LiveCounts {
    /// Number of requests that started.
    pub requests_started: u64,
    /// Number of requests that succeeded.
    pub requests_ok: u64,
    /// Number of requests that failed.
    pub requests_failed: u64,
    /// Number of transactions that succeeded.
    pub transactions_ok: u64,
    /// Number of transactions that failed.
    pub transactions_failed: u64,
    /// Response times of all requests.
    pub response: Histogram<u64>,
    /// Start lags of all requests: actual start minus intended start.
    pub lag: Histogram<u64>,
    /// Numbers of TLS handshakes.
    pub handshakes: Handshakes,
}

/// Numbers of completed TLS handshakes, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// Full handshakes: the server presents a certificate, and client and server agree on a new secret.
    pub full: u64,
    /// Handshakes that resumed an earlier TLS session.
    pub resumed: u64,
}

/// Counts of received data that belongs to no request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// Number of times that data arrived directly after a complete response.
    pub surplus: u64,
    /// Number of times that data arrived on a connection without a request in progress.
    pub unasked: u64,
}

impl Handshakes {
    /// Returns the number of all handshakes, full and resumed.
    #[must_use]
    pub const fn all(self) -> u64 {
        self.full + self.resumed
    }
}

impl LiveCounts {
    /// Allocates all memory that recording may need later, in advance.
    pub fn make_room(&mut self) {
        self.response.make_room();
        self.lag.make_room();
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.requests_started += other.requests_started;
        self.requests_ok += other.requests_ok;
        self.requests_failed += other.requests_failed;
        self.transactions_ok += other.transactions_ok;
        self.transactions_failed += other.transactions_failed;
        self.response.merge(&other.response);
        self.lag.merge(&other.lag);
        self.handshakes.full += other.handshakes.full;
        self.handshakes.resumed += other.handshakes.resumed;
    }

    /// Returns the median response time of requests; `None` if no request has a response time. [ns]
    #[must_use]
    pub fn response_p50_ns(&self) -> Option<u64> {
        self.response.value_at_quantile(0.5)
    }

    /// Returns the 95th percentile of the response time of requests; `None` if no request has a response time. [ns]
    #[must_use]
    pub fn response_p95_ns(&self) -> Option<u64> {
        self.response.value_at_quantile(0.95)
    }

    /// Returns the 99th percentile of the start lag; `None` if no request was started. [ns]
    #[must_use]
    pub fn lag_p99_ns(&self) -> Option<u64> {
        self.lag.value_at_quantile(0.99)
    }
}

/// Counts of one thread in the current interval.
///
/// ```
/// use towtank_load::recorder::{Exchange, Recorder, Shape};
///
/// let mut recorder = Recorder::new(Shape { steps: 1, pages: 0, transactions: 1, groups: 1, stages: 1, places: 0 });
/// recorder.offered(0);
/// recorder.started(0, 20_000);
/// recorder.finished(0, Exchange {
///     result: Ok(()),
///     status: Some(200),
///     response_ns: 1_020_000,
///     exchange_ns: 1_000_000,
///     first_byte_ns: Some(900_000),
///     bytes_in: 512,
///     bytes_out: 80,
/// });
/// let totals = recorder.totals();
/// assert!(totals.offered_holds() && totals.started_holds());
/// ```
#[derive(Debug)]
pub struct Recorder {
    shape: Shape,
    steps: Vec<StepSeries>,
    pages: Vec<Series>,
    /// Results of transactions, ordered by transaction, then by group.
    transactions: Vec<Series>,
    lag: Histogram,
    connect: Histogram,
    connection_wait: Histogram,
    tls: Histogram,
    handshakes: Handshakes,
    framing: Framing,
    think_count: u64,
    think_sum_ns: u64,
    /// For each transaction and each group, the number of times that the transaction was chosen from the group's mix.
    /// The order is by transaction, then by group.
    picked: Vec<u64>,
    /// Lengths of pauses between transactions, by group. A pause is counted in the interval in which it begins.
    rests: Vec<Histogram>,
    /// Number of arrivals for each group.
    arrivals: Vec<u64>,
    /// Times between successive intended arrivals.
    gaps: Histogram,
    /// Counts of transactions by server address, for targets that permanently assign an address to each user.
    places: Vec<AddressCounts>,
    /// Response times of all steps, for the live display.
    response: Histogram,
    /// Notes about stored objects, one JSON document per line.
    notes: Vec<u8>,
}

impl Shape {
    /// Returns the memory of a recorder after [`Recorder::make_room`]. [B]
    #[must_use]
    pub const fn full_bytes(self) -> usize {
        let series = self.pages + self.transactions * self.groups;
        (3 * self.steps + series + self.groups + 6) * FULL_BYTES
    }
}

impl Recorder {
    /// Creates an empty recorder for a plan with these numbers of steps, pages and other elements.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            steps: vec![StepSeries::default(); shape.steps],
            pages: vec![Series::default(); shape.pages],
            transactions: vec![Series::default(); shape.transactions * shape.groups],
            lag: Histogram::new(),
            connect: Histogram::new(),
            connection_wait: Histogram::new(),
            tls: Histogram::new(),
            handshakes: Handshakes::default(),
            framing: Framing::default(),
            think_count: 0,
            think_sum_ns: 0,
            picked: vec![0; shape.transactions * shape.groups],
            rests: vec![Histogram::new(); shape.groups],
            arrivals: vec![0; shape.groups],
            gaps: Histogram::new(),
            places: vec![AddressCounts::default(); shape.places],
            response: Histogram::new(),
            notes: Vec::new(),
        }
    }

    /// Allocates all memory that recording may need later. Otherwise memory would grow when times of a new magnitude
    /// occur, for example when a server stalls.
    pub fn make_room(&mut self) {
        self.steps.iter_mut().for_each(StepSeries::make_room);
        let ended = self.pages.iter_mut().chain(&mut self.transactions);
        ended.for_each(Series::make_room);
        let own = [
            &mut self.lag,
            &mut self.connect,
            &mut self.connection_wait,
            &mut self.tls,
            &mut self.gaps,
            &mut self.response,
        ];
        let all = own.into_iter().chain(&mut self.rests);
        all.for_each(Histogram::make_room);
    }

    /// Counts a request that the load requires to start now.
    #[inline]
    pub fn offered(&mut self, step: usize) {
        self.steps[step].offered += 1;
    }

    /// Counts the start of a request, `lag_ns` after its intended start.
    #[inline]
    pub fn started(&mut self, step: usize, lag_ns: u64) {
        self.steps[step].started += 1;
        self.lag.record(lag_ns);
    }

    /// Counts the start of a driver call. The start lag is counted when the call returns, as it is known only then.
    #[inline]
    pub fn begun(&mut self, step: usize) {
        self.steps[step].started += 1;
    }

    /// Counts the start lag of a driver call.
    #[inline]
    pub fn lag(&mut self, lag_ns: u64) {
        self.lag.record(lag_ns);
    }

    /// Counts a request that the load required but that will not start, and the reason.
    pub fn not_started(&mut self, step: usize, reason: NotStarted) {
        self.steps[step].not_started[reason.index()] += 1;
    }

    /// Counts the end of a request. The bytes are always counted. The times are counted only if a response arrived or
    /// the time limit for the response was exceeded ([`Failure::has_response_time`]).
    #[inline]
    pub fn finished(&mut self, step: usize, exchange: Exchange) {
        if self.steps[step].finished(&exchange) {
            self.response.record(exchange.response_ns);
        }
    }

    /// Counts the end of a page.
    #[inline]
    pub fn page(&mut self, page: usize, result: Result<(), Failure>, response_ns: u64) {
        self.pages[page].ended(result, response_ns);
    }

    /// Counts the end of a transaction of a user of `group`.
    #[inline]
    pub fn transaction(
        &mut self,
        transaction: usize,
        group: usize,
        result: Result<(), Failure>,
        response_ns: u64,
    ) {
        debug_assert!(group < self.shape.groups);
        self.transactions[transaction * self.shape.groups + group].ended(result, response_ns);
    }

    /// Counts the end of a transaction of a user that keeps the server address with this index.
    #[inline]
    pub fn at_place(&mut self, place: usize, ended_well: bool) {
        let counts = &mut self.places[place];
        if ended_well {
            counts.ok += 1;
        } else {
            counts.failed += 1;
        }
    }

    /// Counts the end of a pause of `pause_ns` within a transaction.
    #[inline]
    pub fn think(&mut self, pause_ns: u64) {
        self.think_count += 1;
        self.think_sum_ns += pause_ns;
    }

    /// Counts that `transaction` was chosen from the mix of `group`; it begins now.
    ///
    /// Choices are counted at the start of a transaction. The end of a long transaction falls into the measured
    /// interval less often, so counts at the end would be biased towards short transactions.
    #[inline]
    pub fn picked(&mut self, transaction: usize, group: usize) {
        self.picked[transaction * self.shape.groups + group] += 1;
    }

    /// Counts the start of a pause of `pause_ns` between two transactions of a user of `group`. If pauses were counted
    /// at their end, the counts would be biased towards short pauses.
    #[inline]
    pub fn rest(&mut self, group: usize, pause_ns: u64) {
        self.rests[group].record(pause_ns);
    }

    /// Counts an arrival for `group`, whose intended start is `gap_ns` after that of the previous arrival.
    #[inline]
    pub fn arrival(&mut self, group: usize, gap_ns: u64) {
        self.arrivals[group] += 1;
        self.gaps.record(gap_ns);
    }

    /// Counts the time to establish a connection.
    #[inline]
    pub fn connect(&mut self, connect_ns: u64) {
        self.connect.record(connect_ns);
    }

    /// Counts the time until a request got a connection from a pool or reached its time limit; zero if a connection was
    /// idle.
    #[inline]
    pub fn connection_wait(&mut self, wait_ns: u64) {
        self.connection_wait.record(wait_ns);
    }

    /// Counts a TLS handshake and its duration.
    pub fn handshake(&mut self, handshake_ns: u64, resumed: bool) {
        self.tls.record(handshake_ns);
        if resumed {
            self.handshakes.resumed += 1;
        } else {
            self.handshakes.full += 1;
        }
    }

    /// Counts that data arrived directly after a complete response.
    pub fn surplus(&mut self) {
        self.framing.surplus += 1;
    }

    /// Counts that data arrived on a connection without a request in progress.
    pub fn unasked(&mut self) {
        self.framing.unasked += 1;
    }

    /// Returns the buffer for notes about stored objects. Each note is a JSON document followed by a line feed.
    pub fn notes(&mut self) -> &mut Vec<u8> {
        &mut self.notes
    }

    /// Returns the sums over all steps in the interval so far; `in_flight` is zero.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for step in &self.steps {
            totals.add(&step.totals());
        }
        totals
    }

    /// Returns the counts of the interval for the live display. It is called just before the recorder is passed to the
    /// writer.
    #[must_use]
    pub fn snapshot(&self) -> LiveCounts {
        let totals = self.totals();
        LiveCounts {
            requests_started: totals.started,
            requests_ok: totals.ok,
            requests_failed: totals.failed_in_all(),
            transactions_ok: self.transactions.iter().map(|series| series.ok).sum(),
            transactions_failed: self.transactions.iter().map(Series::failed_in_all).sum(),
            response: wide(&self.response),
            lag: wide(&self.lag),
            handshakes: self.handshakes,
        }
    }

    /// Resets all counts, but keeps the allocated memory.
    fn clear(&mut self) {
        self.steps.iter_mut().for_each(StepSeries::clear);
        self.pages
            .iter_mut()
            .chain(&mut self.transactions)
            .for_each(Series::clear);
        self.lag.clear();
        self.connect.clear();
        self.connection_wait.clear();
        self.tls.clear();
        self.handshakes = Handshakes::default();
        self.framing = Framing::default();
        self.response.clear();
        self.think_count = 0;
        self.think_sum_ns = 0;
        self.picked.fill(0);
        self.rests.iter_mut().for_each(Histogram::clear);
        self.arrivals.fill(0);
        self.gaps.clear();
        self.places.fill(AddressCounts::default());
        self.notes.clear();
    }
}

/// Copies a histogram to a histogram whose counters are large enough for a whole run.
fn wide(histogram: &Histogram) -> Histogram<u64> {
    let mut wide = Histogram::new();
    wide.merge(histogram);
    wide
}

#[cfg(test)]
mod tests;

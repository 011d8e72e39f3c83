//! What one load thread counted in one interval: plain data, no lock, no allocation once warm.

mod line;
mod notes;
mod segment;
mod series;
pub mod writer;

use crate::histogram::{FULL_BYTES, Histogram};
use crate::outcome::{Failure, NotStarted};
use series::{Series, StepSeries};

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
    /// Addresses that users are dealt over for good, of all targets together.
    pub places: usize,
}

/// Transactions of the users that stay with one address of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AtPlace {
    /// That ended well.
    pub(crate) ok: u64,
    /// That failed.
    pub(crate) failed: u64,
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

    /// Requests that failed in any way.
    #[must_use]
    pub fn failed_in_all(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Whether `offered = started + not_started`.
    #[must_use]
    pub fn offered_holds(&self) -> bool {
        self.offered == self.started + self.not_started.iter().sum::<u64>()
    }

    /// Whether `started = ok + failed + in_flight`.
    #[must_use]
    pub fn started_holds(&self) -> bool {
        self.started == self.ok + self.failed_in_all() + self.in_flight
    }
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
    /// Response times of all requests.
    pub response: Histogram<u64>,
    /// Start lags of all requests.
    pub lag: Histogram<u64>,
    /// TLS handshakes.
    pub handshakes: Handshakes,
}

/// TLS handshakes done, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// With certificates and a new secret.
    pub full: u64,
    /// Going on with an earlier session.
    pub resumed: u64,
}

/// Counts of arrivals of bytes from servers that belong to no request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// Behind a whole answer.
    pub surplus: u64,
    /// On a connection without a request under way: before the first one, or between two.
    pub unasked: u64,
}

impl Handshakes {
    /// Of either kind.
    #[must_use]
    pub const fn all(self) -> u64 {
        self.full + self.resumed
    }
}

impl LiveCounts {
    /// Takes all the memory now that any times may need later.
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

    /// Median response time of requests; `None` when none was answered. [ns]
    #[must_use]
    pub fn response_p50_ns(&self) -> Option<u64> {
        self.response.value_at_quantile(0.5)
    }

    /// 95th percentile of the response time of requests; `None` when none was answered. [ns]
    #[must_use]
    pub fn response_p95_ns(&self) -> Option<u64> {
        self.response.value_at_quantile(0.95)
    }

    /// 99th percentile of the start lag; `None` when nothing was started. [ns]
    #[must_use]
    pub fn lag_p99_ns(&self) -> Option<u64> {
        self.lag.value_at_quantile(0.99)
    }
}

/// Counts of one thread in the interval in hand.
///
/// ```
/// use towtank_load::recorder::{Exchange, Recorder, Shape};
///
/// let mut recorder = Recorder::new(Shape { steps: 1, pages: 0, transactions: 1, groups: 1, stages: 1, places: 0 });
/// recorder.offered(0);
/// recorder.started(0, 20_000);
/// recorder.finished(0, Exchange {
///     result: Ok(()),
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
    /// By transaction, then by group.
    transactions: Vec<Series>,
    lag: Histogram,
    connect: Histogram,
    connection_wait: Histogram,
    tls: Histogram,
    handshakes: Handshakes,
    framing: Framing,
    think_count: u64,
    think_sum_ns: u64,
    /// Picks from the mix, by transaction, then by group.
    picked: Vec<u64>,
    /// Pauses between transactions that began, by group.
    rests: Vec<Histogram>,
    /// Arrivals by group.
    arrivals: Vec<u64>,
    /// Gaps between intended arrivals.
    gaps: Histogram,
    /// Transactions by address, of the targets over whose addresses users are dealt.
    places: Vec<AtPlace>,
    /// Response times of all steps, for those who watch.
    response: Histogram,
    /// What users were told is stored: a JSON document a line.
    notes: Vec<u8>,
}

impl Shape {
    /// Memory of a recorder with [`Recorder::make_room`]. [B]
    #[must_use]
    pub const fn full_bytes(self) -> usize {
        let series = self.pages + self.transactions * self.groups;
        (3 * self.steps + series + self.groups + 6) * FULL_BYTES
    }
}

impl Recorder {
    /// An empty recorder for a plan of this shape.
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
            places: vec![AtPlace::default(); shape.places],
            response: Histogram::new(),
            notes: Vec::new(),
        }
    }

    /// Takes all the memory now that any times may need later. Without it memory grows when times come that were not met
    /// before, as those of a server that stops.
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

    /// A request is due.
    #[inline]
    pub fn offered(&mut self, step: usize) {
        self.steps[step].offered += 1;
    }

    /// A request is begun, `lag_ns` after its intended start.
    #[inline]
    pub fn started(&mut self, step: usize, lag_ns: u64) {
        self.steps[step].started += 1;
        self.lag.record(lag_ns);
    }

    /// A call is begun; its lag is known when it comes back.
    #[inline]
    pub fn begun(&mut self, step: usize) {
        self.steps[step].started += 1;
    }

    /// A call left so long after its intended start.
    #[inline]
    pub fn lag(&mut self, lag_ns: u64) {
        self.lag.record(lag_ns);
    }

    /// A request that was due will not be begun.
    pub fn not_started(&mut self, step: usize, reason: NotStarted) {
        self.steps[step].not_started[reason.index()] += 1;
    }

    /// A request ended. Its times count when there was an answer, or when the wait for one was cut
    /// ([`Failure::has_response_time`]); its bytes always.
    #[inline]
    pub fn finished(&mut self, step: usize, exchange: Exchange) {
        if self.steps[step].finished(&exchange) {
            self.response.record(exchange.response_ns);
        }
    }

    /// A page ended.
    #[inline]
    pub fn page(&mut self, page: usize, result: Result<(), Failure>, response_ns: u64) {
        self.pages[page].ended(result, response_ns);
    }

    /// A transaction of a user of `group` ended.
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

    /// A transaction of a user that stays with this address ended.
    #[inline]
    pub fn at_place(&mut self, place: usize, ended_well: bool) {
        let counts = &mut self.places[place];
        if ended_well {
            counts.ok += 1;
        } else {
            counts.failed += 1;
        }
    }

    /// A pause of this length ended.
    #[inline]
    pub fn think(&mut self, pause_ns: u64) {
        self.think_count += 1;
        self.think_sum_ns += pause_ns;
    }

    /// The mix of `group` chose this transaction, which begins now. What was begun is counted here and not what
    /// ended: whether a pick falls into an interval does not depend on the pick, whether its end does, does.
    #[inline]
    pub fn picked(&mut self, transaction: usize, group: usize) {
        self.picked[transaction * self.shape.groups + group] += 1;
    }

    /// A pause of this length between two transactions of a user of `group` begins. Counted at its beginning for
    /// the same reason: long pauses end in an interval more rarely than they were drawn for it.
    #[inline]
    pub fn rest(&mut self, group: usize, pause_ns: u64) {
        self.rests[group].record(pause_ns);
    }

    /// An arrival for `group` came, intended `gap_ns` after the one before it.
    #[inline]
    pub fn arrival(&mut self, group: usize, gap_ns: u64) {
        self.arrivals[group] += 1;
        self.gaps.record(gap_ns);
    }

    /// A connection was made in this time.
    #[inline]
    pub fn connect(&mut self, connect_ns: u64) {
        self.connect.record(connect_ns);
    }

    /// A request got a connection of a pool, or gave up, after this time; zero when one was free.
    #[inline]
    pub fn connection_wait(&mut self, wait_ns: u64) {
        self.connection_wait.record(wait_ns);
    }

    /// A TLS handshake was done in this time.
    pub fn handshake(&mut self, handshake_ns: u64, resumed: bool) {
        self.tls.record(handshake_ns);
        if resumed {
            self.handshakes.resumed += 1;
        } else {
            self.handshakes.full += 1;
        }
    }

    /// Bytes came behind a whole answer.
    pub fn surplus(&mut self) {
        self.framing.surplus += 1;
    }

    /// Bytes came while no request was under way.
    pub fn unasked(&mut self) {
        self.framing.unasked += 1;
    }

    /// Where a note is added: a JSON document and a line feed.
    pub fn notes(&mut self) -> &mut Vec<u8> {
        &mut self.notes
    }

    /// Sums over all steps of the interval so far; `in_flight` is zero.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for step in &self.steps {
            totals.add(&step.totals());
        }
        totals
    }

    /// Figures of the interval so far; take them just before the recorder is handed to the writer.
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

    /// Forgets all counts, keeps the memory.
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
        self.places.fill(AtPlace::default());
        self.notes.clear();
    }
}

/// The same counts, with room for those of a whole run.
fn wide(histogram: &Histogram) -> Histogram<u64> {
    let mut wide = Histogram::new();
    wide.merge(histogram);
    wide
}

#[cfg(test)]
mod tests;

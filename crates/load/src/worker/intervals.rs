//! The clock of a thread, and what happens when it passes the edge of an interval.

use crate::pause::nanoseconds;
use crate::recorder::LiveCounts;
use crate::recorder::writer::{IntervalEdge, SegmentWriter, Stage, WriterFailed};
use crate::sys;

use super::Worker;

/// Length of an interval. [ns]
pub const INTERVAL_NS: u64 = 1_000_000_000;

/// Time, stages and intervals of a thread.
#[derive(Debug)]
pub(super) struct Clock {
    origin_ns: u64,
    /// End of each stage of the plan; the drain, behind them, has none.
    stage_ends_ns: Vec<u64>,
    stage: usize,
    interval_start_ns: u64,
    interval_end_ns: u64,
    /// Integral of the active users over the interval, up to `users_since_ns`.
    user_ns: u64,
    active: u64,
    users_since_ns: u64,
    cpu_ns: u64,
    pub(super) writer: SegmentWriter,
    pub(super) failure: Option<WriterFailed>,
    pub(super) lifetime: LiveCounts,
}

impl Clock {
    pub(super) fn new(origin_ns: u64, stages: &[Stage], writer: SegmentWriter) -> Self {
        let planned = stages.len().saturating_sub(1);
        let mut clock = Self {
            origin_ns,
            stage_ends_ns: stages[..planned]
                .iter()
                .map(|stage| nanoseconds(stage.end_s))
                .collect(),
            stage: 0,
            interval_start_ns: 0,
            interval_end_ns: 0,
            user_ns: 0,
            active: 0,
            users_since_ns: 0,
            cpu_ns: sys::thread_cpu_ns(),
            writer,
            failure: None,
            lifetime: LiveCounts::default(),
        };
        clock.enter_stage();
        clock
    }

    pub(super) fn now_ns(&self) -> u64 {
        sys::monotonic_ns().saturating_sub(self.origin_ns)
    }

    pub(super) fn next_edge_ns(&self) -> u64 {
        self.interval_end_ns
    }

    /// Whether all stages of the plan are over.
    pub(super) fn is_past_stages(&self) -> bool {
        self.stage == self.stage_ends_ns.len()
    }

    /// The drain comes next, whatever stages are left.
    pub(super) fn skip_to_drain(&mut self) {
        self.stage = self.stage_ends_ns.len();
        self.enter_stage();
    }

    /// Active users change by so many.
    pub(super) fn count_users(&mut self, now_ns: u64, change: i64) {
        self.integrate(now_ns);
        self.active = self.active.saturating_add_signed(change);
    }

    fn integrate(&mut self, now_ns: u64) {
        let until_ns = now_ns.max(self.users_since_ns);
        self.user_ns += self.active * (until_ns - self.users_since_ns);
        self.users_since_ns = until_ns;
    }

    /// Passes stages that are over (those of no length at once) and sets the next edge: a whole second or a stage's end.
    fn enter_stage(&mut self) {
        let start_ns = self.interval_start_ns;
        while self
            .stage_ends_ns
            .get(self.stage)
            .is_some_and(|end_ns| *end_ns <= start_ns)
        {
            self.stage += 1;
        }
        let second_ns = (start_ns / INTERVAL_NS + 1) * INTERVAL_NS;
        self.interval_end_ns = self
            .stage_ends_ns
            .get(self.stage)
            .map_or(second_ns, |end_ns| second_ns.min(*end_ns));
    }
}

impl Worker<'_> {
    /// Reads the clock, and closes every interval that is over.
    pub(super) fn tick(&mut self) -> u64 {
        let now_ns = self.clock.now_ns();
        while now_ns >= self.clock.interval_end_ns {
            self.close_interval(self.clock.interval_end_ns);
            if self.clock.failure.is_some() {
                break;
            }
        }
        now_ns
    }

    pub(super) fn in_flight(&self) -> u64 {
        (self.exchanges.len() - self.free_exchanges.len()) as u64
    }

    /// Hands the interval in hand over, ended at `end_ns`, and begins the next.
    pub(super) fn close_interval(&mut self, end_ns: u64) {
        let (in_flight, connections) = (self.in_flight(), self.open_connections);
        let clock = &mut self.clock;
        clock.integrate(end_ns);
        let cpu_ns = sys::thread_cpu_ns();
        let counts = self.recorder.snapshot();
        let edge = IntervalEdge {
            t0_ns: clock.interval_start_ns,
            t1_ns: end_ns,
            stage: clock.stage,
            users: clock.active,
            user_ns: clock.user_ns,
            in_flight,
            connections,
            cpu_ns: cpu_ns - clock.cpu_ns,
        };
        if let Err(failure) = clock.writer.interval(&mut self.recorder, edge) {
            clock.failure = Some(failure);
        }
        clock.lifetime.merge(&counts);
        if let Ok(mut published) = self.shared.published.lock() {
            published.counts.merge(&counts);
            published.users = clock.active;
        }
        (clock.user_ns, clock.cpu_ns, clock.interval_start_ns) = (0, cpu_ns, end_ns);
        clock.enter_stage();
    }
}

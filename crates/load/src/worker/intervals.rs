//! The clock of a load thread, and the intervals for which it records results.

use crate::recorder::LiveCounts;
use crate::recorder::writer::{IntervalEdge, SegmentWriter};
use crate::schedule::Stages;
use crate::sys;

use super::gaps::Gaps;
use super::{Worker, WorkerFailed};

/// Length of an interval for which results are recorded. [ns]
pub const INTERVAL_NS: u64 = 1_000_000_000;

/// Time, load stages and intervals of a load thread.
#[derive(Debug)]
pub(super) struct Clock {
    origin_ns: u64,
    /// End of each stage of the plan. The drain, which follows the stages, has no end.
    stage_ends_ns: Vec<u64>,
    stage: usize,
    interval_start_ns: u64,
    interval_end_ns: u64,
    /// Time of the next edit of the stages, if any. [ns]
    edit_at_ns: Option<u64>,
    /// Integral of the number of active users from the start of the interval to `users_since_ns`.
    user_ns: u64,
    active: u64,
    users_since_ns: u64,
    cpu_ns: u64,
    /// Last time at which the clock was read to find due work. [ns]
    pub(super) ticked_ns: u64,
    /// Intended wait of the event loop after `ticked_ns`. [ns]
    pub(super) meant_to_wait_ns: u64,
    gaps: Gaps,
    pub(super) writer: SegmentWriter,
    pub(super) failure: Option<WorkerFailed>,
    pub(super) lifetime: LiveCounts,
}

impl Clock {
    pub(super) fn new(origin_ns: u64, stages: &Stages, writer: SegmentWriter) -> Self {
        let mut clock = Self {
            origin_ns,
            stage_ends_ns: stages.ends_ns(),
            stage: 0,
            interval_start_ns: 0,
            interval_end_ns: 0,
            edit_at_ns: None,
            user_ns: 0,
            active: 0,
            users_since_ns: 0,
            cpu_ns: sys::thread_cpu_ns(),
            ticked_ns: 0,
            meant_to_wait_ns: 0,
            gaps: Gaps::default(),
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

    /// Converts a reading of the monotonic clock to the time since the start of the run. [ns]
    pub(super) fn of_run_ns(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.origin_ns)
    }

    pub(super) fn next_edge_ns(&self) -> u64 {
        self.interval_end_ns
    }

    /// Makes an interval end at `at_ns`, the time of an edit, since the stages may change then.
    pub(super) fn expect_edit(&mut self, at_ns: Option<u64>) {
        self.edit_at_ns = at_ns;
        self.set_edge();
    }

    /// Replaces the load stages after an edit.
    pub(super) fn follow(&mut self, stages: &Stages) {
        self.stage_ends_ns = stages.ends_ns();
        self.enter_stage();
    }

    /// Returns `true` if all stages of the plan are over.
    pub(super) fn is_past_stages(&self) -> bool {
        self.stage == self.stage_ends_ns.len()
    }

    /// Makes the drain the next stage and skips all stages before it.
    pub(super) fn skip_to_drain(&mut self) {
        self.stage = self.stage_ends_ns.len();
        self.enter_stage();
    }

    /// Changes the number of active users by `change`.
    pub(super) fn count_users(&mut self, now_ns: u64, change: i64) {
        self.integrate(now_ns);
        self.active = self.active.saturating_add_signed(change);
    }

    fn integrate(&mut self, now_ns: u64) {
        let until_ns = now_ns.max(self.users_since_ns);
        self.user_ns += self.active * (until_ns - self.users_since_ns);
        self.users_since_ns = until_ns;
    }

    /// Records that an iteration of the event loop began later than intended. Only the part of the gap that lies in the
    /// current interval counts as stalled.
    #[inline]
    fn note_gap(&mut self, from_ns: u64, until_ns: u64) {
        let within = from_ns.max(self.interval_start_ns)..until_ns.min(self.interval_end_ns);
        self.gaps.note(until_ns.saturating_sub(from_ns), within);
    }

    /// Skips stages that are over or have no length. The interval then ends at the next full second, at the end of the
    /// stage, or at an edit, whichever comes first.
    fn enter_stage(&mut self) {
        let start_ns = self.interval_start_ns;
        while self
            .stage_ends_ns
            .get(self.stage)
            .is_some_and(|end_ns| *end_ns <= start_ns)
        {
            self.stage += 1;
        }
        self.set_edge();
    }

    fn set_edge(&mut self) {
        let second_ns = (self.interval_start_ns / INTERVAL_NS + 1) * INTERVAL_NS;
        let edges = [self.stage_ends_ns.get(self.stage).copied(), self.edit_at_ns];
        let edge_ns = edges.into_iter().flatten().fold(second_ns, u64::min);
        self.interval_end_ns = edge_ns;
    }
}

impl Worker<'_> {
    /// Reads the clock, and ends every interval that is over.
    pub(super) fn tick(&mut self) -> u64 {
        let before_ns = self.clock.ticked_ns;
        let now_ns = self.clock.now_ns().max(before_ns);
        self.clock.ticked_ns = now_ns;
        let meant_ns = before_ns + std::mem::take(&mut self.clock.meant_to_wait_ns);
        self.look_for_edits(before_ns);
        while now_ns >= self.clock.interval_end_ns {
            self.clock.note_gap(meant_ns, now_ns);
            self.close_interval(self.clock.interval_end_ns);
            self.make_edits(self.clock.interval_start_ns);
            if self.clock.failure.is_some() {
                break;
            }
        }
        self.clock.note_gap(meant_ns, now_ns);
        now_ns
    }

    pub(super) fn in_flight(&self) -> u64 {
        (self.exchanges.len() - self.free_exchanges.len()) as u64
    }

    /// Passes the current interval, ended at `end_ns`, to the writer and begins the next.
    pub(super) fn close_interval(&mut self, end_ns: u64) {
        let (in_flight, connections) = (self.in_flight(), self.open_connections);
        // A call is in flight once it is sent. Calls that still wait for a call thread are therefore not counted.
        let late = self.calls.as_ref().map_or(0, |calls| calls.kept_waiting());
        let in_flight = in_flight.saturating_sub(late);
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
            waiting: self.waiting as u64,
            connections,
            cpu_ns: cpu_ns - clock.cpu_ns,
            gaps: std::mem::take(&mut clock.gaps),
        };
        if let Err(failure) = clock.writer.interval(&mut self.recorder, edge) {
            clock.failure = Some(WorkerFailed::Disk(failure.to_string()));
        }
        clock.lifetime.merge(&counts);
        if let Ok(mut published) = self.shared.published.lock() {
            published.counts.merge(&counts);
            published.users = clock.active;
            published.in_flight = in_flight;
            published.waiting = self.waiting as u64;
        }
        (clock.user_ns, clock.cpu_ns, clock.interval_start_ns) = (0, cpu_ns, end_ns);
        clock.enter_stage();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Folder, SHAPE, header, stages};

    const SECOND: u64 = INTERVAL_NS;

    fn clock(folder: &Folder, list: &[(f64, u32, bool)]) -> Clock {
        let writer = SegmentWriter::create(folder.path(), header(0), SHAPE).expect("a writer");
        Clock::new(5 * SECOND, &stages(list), writer)
    }

    /// Begins the next interval, as at the end of the current one.
    fn go_on(clock: &mut Clock) -> (u64, usize) {
        clock.interval_start_ns = clock.interval_end_ns;
        clock.enter_stage();
        (clock.interval_end_ns, clock.stage)
    }

    /// Stages of 0 s, 1.5 s, 0 s and 1.5 s: the second interval ends with the second stage at 1.5 s.
    #[test]
    fn intervals_end_at_full_seconds_and_with_stages() {
        let folder = Folder::new("edges");
        let list = [
            (0.0, 1, false),
            (1.5, 1, false),
            (0.0, 2, false),
            (1.5, 2, false),
        ];
        let mut clock = clock(&folder, &list);
        assert_eq!((clock.next_edge_ns(), clock.stage), (SECOND, 1));
        assert_eq!(go_on(&mut clock), (SECOND * 3 / 2, 1));
        assert_eq!(go_on(&mut clock), (2 * SECOND, 3));
        assert!(!clock.is_past_stages());
        assert_eq!(go_on(&mut clock), (3 * SECOND, 3));
        assert_eq!(go_on(&mut clock), (4 * SECOND, 4));
        assert!(clock.is_past_stages());
    }

    #[test]
    fn an_edit_ends_an_interval_that_would_last_longer() {
        let folder = Folder::new("edit-edge");
        let mut clock = clock(&folder, &[(10.0, 1, false)]);
        clock.expect_edit(Some(SECOND / 4));
        assert_eq!(clock.next_edge_ns(), SECOND / 4);
        clock.expect_edit(Some(2 * SECOND));
        assert_eq!(clock.next_edge_ns(), SECOND);
        clock.expect_edit(None);
        assert_eq!(clock.next_edge_ns(), SECOND);
        clock.skip_to_drain();
        assert!(clock.is_past_stages());
        clock.follow(&stages(&[(10.0, 1, false), (5.0, 1, false)]));
        assert_eq!((clock.stage, clock.is_past_stages()), (1, false));
    }

    #[test]
    fn the_clock_of_the_run_begins_with_the_run() {
        let folder = Folder::new("origin");
        let clock = clock(&folder, &[(1.0, 1, false)]);
        assert_eq!(clock.of_run_ns(7 * SECOND), 2 * SECOND);
        assert_eq!(clock.of_run_ns(4 * SECOND), 0);
    }

    /// Two users are active from 0.1 s on. One of them leaves at 0.4 s, the other at 0.9 s. The integral is 2 x 0.3 s +
    /// 1 x 0.5 s.
    #[test]
    fn users_are_integrated_over_time() {
        let folder = Folder::new("users");
        let mut clock = clock(&folder, &[(1.0, 2, false)]);
        clock.count_users(SECOND / 10, 2);
        assert_eq!(clock.user_ns, 0);
        clock.count_users(SECOND * 4 / 10, -1);
        assert_eq!((clock.user_ns, clock.active), (SECOND * 6 / 10, 1));
        // An event of an earlier time changes the count, but not the time that is already integrated.
        clock.count_users(SECOND * 2 / 10, 0);
        clock.count_users(SECOND * 9 / 10, -1);
        assert_eq!((clock.user_ns, clock.active), (SECOND * 11 / 10, 0));
    }

    /// A gap of 1.2 s begins 0.3 s before the end of the first interval.
    #[test]
    fn a_gap_counts_in_each_interval_as_far_as_it_lies_in_it() {
        let folder = Folder::new("gaps");
        let mut clock = clock(&folder, &[(10.0, 1, false)]);
        let (from_ns, until_ns) = (SECOND * 7 / 10, SECOND * 19 / 10);
        let noted = |clock: &mut Clock| {
            clock.note_gap(from_ns, until_ns);
            let gaps = std::mem::take(&mut clock.gaps);
            (gaps.longest_ns, gaps.stalled_ns)
        };
        assert_eq!(noted(&mut clock), (SECOND * 12 / 10, SECOND * 3 / 10));
        go_on(&mut clock);
        assert_eq!(noted(&mut clock), (SECOND * 12 / 10, SECOND * 9 / 10));
        go_on(&mut clock);
        assert_eq!(noted(&mut clock), (0, 0));
    }
}

//! Users of a load thread that start and leave (closed load), and the assignment of arrivals to users (open load).

use crate::outcome::NotStarted;
use crate::schedule::Arrival;

use super::interpret::Flow;
use super::user::State;
use super::{AT_ONCE, Worker};

impl Worker<'_> {
    /// Admits starts, departures and arrivals that are due, but at most [`AT_ONCE`] arrivals. Before further arrivals,
    /// the sockets are read again: users whose responses have arrived then become idle and can serve arrivals over
    /// their open connections.
    ///
    /// Without this limit, a delay of some milliseconds would start a new user with a new connection for every arrival
    /// within the delay. New connections cost the server more than requests, and so would cause the next delay.
    pub(super) fn admit(&mut self, now_ns: u64) {
        if self.drain_until_ns.is_some() {
            return;
        }
        while let Some(next) = self.user_changes.next_if(|next| next.at_ns <= now_ns) {
            if next.user % self.workers != self.number {
                continue;
            }
            let index = (next.user / self.workers) as usize;
            if next.starts {
                self.enter(index, next.at_ns);
            } else {
                self.dismiss(index);
            }
        }
        let mut admitted = 0;
        while admitted < AT_ONCE
            && let Some(next) = self.arrivals.next_if(|next| next.at_ns <= now_ns)
        {
            if next.index % u64::from(self.workers) == u64::from(self.number) {
                self.arrive(next);
                admitted += 1;
            }
        }
    }

    /// Admits the arrivals that were due in the last stage but that the thread did not reach before the end of the
    /// stage. They must be counted, since they were due.
    fn admit_rest(&mut self, now_ns: u64) {
        while let Some(next) = self.arrivals.next_if(|next| next.at_ns <= now_ns) {
            if next.index % u64::from(self.workers) == u64::from(self.number) {
                self.arrive(next);
            }
        }
    }

    /// Returns the time of the next start, departure or arrival in this thread. Events of other threads are skipped.
    pub(super) fn next_admission_ns(&mut self) -> Option<u64> {
        if self.drain_until_ns.is_some() {
            return None;
        }
        let (worker, workers) = (self.number, self.workers);
        while self
            .user_changes
            .next_if(|next| next.user % workers != worker)
            .is_some()
        {}
        let (worker, workers) = (u64::from(worker), u64::from(workers));
        while self
            .arrivals
            .next_if(|next| next.index % workers != worker)
            .is_some()
        {}
        let user_changes = self.user_changes.peek().map(|next| next.at_ns);
        let arrivals = self.arrivals.peek().map(|next| next.at_ns);
        user_changes.into_iter().chain(arrivals).min()
    }

    /// Starts a user. If the user is still leaving, it is started again after it has left.
    fn enter(&mut self, index: usize, at_ns: u64) {
        if self.users[index].state != State::Absent {
            self.users[index].restart = true;
            return;
        }
        self.users[index].start(self.program, at_ns);
        self.present += 1;
        if !self.open {
            self.clock.count_users(at_ns, 1);
        }
        self.run(index);
    }

    /// Makes a user leave at the end of its transaction, or immediately if it is between transactions.
    fn dismiss(&mut self, index: usize) {
        let now_ns = self.now_ns();
        let exit = self.program.groups[usize::from(self.users[index].group)].exit;
        let user = &mut self.users[index];
        user.leaving = true;
        user.restart = false;
        match user.state {
            State::Resting => drop(self.wheel.cancel(index as u32)),
            State::Idle => {}
            _ => return,
        }
        user.clock_ns = now_ns;
        user.exiting = true;
        user.pc = exit;
        self.run(index);
    }

    /// Removes a user, and closes its connections and sessions.
    pub(super) fn quit(&mut self, index: usize) {
        self.close_all_of(index);
        let user = &mut self.users[index];
        user.state = State::Absent;
        user.listed = super::deadlines::UNLISTED;
        let (restart, at_ns) = (user.restart, user.clock_ns);
        let unserved = user.arrival.take();
        self.present -= 1;
        if let Some(arrival) = unserved {
            self.abandon(arrival);
        }
        if !self.open {
            let now_ns = self.now_ns();
            self.clock.count_users(now_ns, -1);
        }
        if restart && self.drain_until_ns.is_none() {
            self.enter(index, at_ns);
        }
    }

    /// Handles an arrival: assigns it to an idle user or to a new user, queues it, or counts it as overflow.
    fn arrive(&mut self, arrival: Arrival) {
        self.recorder.arrival(arrival.group, arrival.gap_ns);
        let idle = self.idle[arrival.group].pop();
        let fresh = if idle.is_none() {
            self.fresh[arrival.group].pop()
        } else {
            None
        };
        let employed = idle.or(fresh);
        if employed.is_none() && self.waiting >= self.backlog_at_most {
            self.refuse(arrival, NotStarted::Overflow);
            return;
        }
        self.clock.count_users(arrival.at_ns, 1);
        let Some(index) = employed else {
            self.waiting += 1;
            self.backlog[arrival.group].push_back(arrival);
            return;
        };
        self.users[index as usize].arrival = Some(arrival);
        if idle.is_some() {
            self.run(index as usize);
        } else {
            self.enter(index as usize, arrival.at_ns);
        }
    }

    /// Assigns the next arrival to a user of an open load. Called when the user starts, and after each of its
    /// transactions.
    pub(super) fn next_arrival(&mut self, index: usize) -> Flow {
        let program = self.program;
        let user = &mut self.users[index];
        let group = usize::from(user.group);
        if user.arrival.is_none() {
            // The user has just ended a transaction, so it is no longer active. It takes the next waiting arrival.
            self.clock.count_users(user.clock_ns, -1);
            if let Some(next) = self.backlog[group].pop_front() {
                self.waiting -= 1;
                user.arrival = Some(next);
            }
        }
        if let Some(arrival) = user.arrival.take() {
            user.begin_round(&program.groups[group]);
            user.clock_ns = arrival.at_ns;
            user.back = user.pc - 1;
            user.pc = program.entries[arrival.transaction];
            self.recorder.picked(arrival.transaction, group);
            return Flow::Next;
        }
        if user.leaving {
            user.exiting = true;
            user.pc = program.groups[group].exit;
            return Flow::Next;
        }
        user.pc -= 1;
        user.state = State::Idle;
        self.idle[group].push(index as u32);
        Flow::Wait
    }

    /// Ends the admission of new work: every user finishes its current transaction and leaves.
    pub(super) fn begin_drain(&mut self, now_ns: u64) {
        if self.clock.is_past_stages() {
            self.admit_rest(now_ns);
        } else {
            self.close_interval(now_ns);
            self.note_edits();
            self.clock.skip_to_drain();
        }
        self.drain_until_ns = Some(now_ns + self.drain_ns);
        self.forget_backlog();
        self.idle.iter_mut().for_each(Vec::clear);
        for index in 0..self.users.len() {
            if self.users[index].state != State::Absent {
                self.dismiss(index);
            }
        }
    }

    /// Counts all waiting arrivals as not started.
    pub(super) fn forget_backlog(&mut self) {
        for group in 0..self.backlog.len() {
            while let Some(arrival) = self.backlog[group].pop_front() {
                self.abandon(arrival);
            }
        }
        self.waiting = 0;
    }

    fn abandon(&mut self, arrival: Arrival) {
        self.refuse(arrival, NotStarted::Stopped);
        let now_ns = self.now_ns();
        self.clock.count_users(now_ns, -1);
    }

    fn refuse(&mut self, arrival: Arrival, reason: NotStarted) {
        if let Some(step) = self.program.first_steps[arrival.transaction] {
            self.recorder.offered(step);
            self.recorder.not_started(step, reason);
        }
    }
}

//! Time limits of attempts, jobs that give up while they wait, and retries.

use super::layout::Count;
use super::machine::{Machine, State};
use crate::model::behaviour::OnTimeout;

/// Limit on the doublings of the pause before retries, so that the pause is at most 1024 times the first one.
const DOUBLINGS_AT_MOST: u32 = 10;

impl Machine<'_> {
    /// Ends the time limit of an attempt that has ended.
    pub(super) fn forget_patience(&mut self, job: u32) {
        let class = self.jobs[job as usize].class as usize;
        if self.plan.classes[class].timeout_s.is_some() {
            let slot = self.timer(job) + 1;
            self.calendar.clear(slot);
        }
    }

    /// Starts the patience of a job that begins to wait at a station, if its class gives up. Work after the response
    /// does not give up.
    pub(super) fn start_patience(&mut self, job: u32) {
        if self.jobs[job as usize].orphan {
            return;
        }
        let class = self.jobs[job as usize].class as usize;
        if let Some(mean) = self.plan.classes[class].patience_s {
            let time = mean * self.streams.patience[class].exponential();
            let slot = self.timer(job) + 1;
            self.calendar.set(slot, self.now + time);
        }
    }

    /// Ends the patience of a job whose service begins, if its class gives up.
    pub(super) fn end_patience(&mut self, job: u32) {
        let class = self.jobs[job as usize].class as usize;
        if self.plan.classes[class].patience_s.is_some() {
            let slot = self.timer(job) + 1;
            self.calendar.clear(slot);
        }
    }

    /// Handles an attempt that exceeded its time limit, or a job that gives up waiting.
    pub(super) fn patience_ends(&mut self, job: u32) {
        let class = self.jobs[job as usize].class;
        self.count(class, Count::TimedOut, 1.0);
        let plan = &self.plan.classes[class as usize];
        if plan.on_timeout == OnTimeout::Continue && plan.patience_s.is_none() {
            let successor = self.new_job(class);
            let (started, attempt) = (
                self.jobs[job as usize].started,
                self.jobs[job as usize].attempt,
            );
            self.jobs[job as usize].orphan = true;
            let this = &mut self.jobs[successor as usize];
            (this.started, this.attempt) = (started, attempt);
            self.attempt_failed(successor, Count::Failed);
            return;
        }
        match self.jobs[job as usize].state {
            State::InPool => self.leave_pool(job),
            State::Granted => {
                let timer = self.timer(job);
                self.calendar.clear(timer);
            }
            _ => self.withdraw(job),
        }
        self.give_all_back(job);
        self.attempt_failed(job, Count::Failed);
    }

    /// Begins a retry after a failed attempt, or ends the transaction if no retry is left.
    pub(super) fn attempt_failed(&mut self, job: u32, why: Count) {
        let this = &mut self.jobs[job as usize];
        let class = this.class;
        let plan = &self.plan.classes[class as usize];
        if this.attempt >= plan.retries {
            self.count(class, why, 1.0);
            self.leave_system(job);
            return;
        }
        this.attempt += 1;
        this.state = State::Pausing;
        let mean = plan.retry_delay_s * f64::from((this.attempt - 1).min(DOUBLINGS_AT_MOST)).exp2();
        let pause = if mean > 0.0 {
            mean * self.streams.retry[class as usize].exponential()
        } else {
            0.0
        };
        self.count(class, Count::Retried, 1.0);
        let timer = self.timer(job);
        self.calendar.set(timer, self.now + pause);
    }
}

//! Stations with one clock each, because the speed of service changes when jobs arrive or leave: stations with processor
//! sharing, and stations whose speed depends on the number of jobs.
//!
//! The clock advances by the service that a job in service receives (with processor sharing: a job of weight 1). The
//! reading at which a job ends is therefore fixed when its service begins, whatever the speed is until then.

use super::machine::{Machine, State};
use super::plan::{Kind, NONE};
use super::station::Share;

impl Machine<'_> {
    /// Advances the clock of a station to the current time.
    pub fn set_clock(&mut self, station: usize) {
        let state = &mut self.stations[station];
        state.clock += state.speed * (self.now - state.clock_set);
        state.clock_set = self.now;
    }

    /// Returns the total speed of a station with its current jobs, and the utilization of the station. The utilization
    /// is a number of busy servers or a share of the highest speed.
    fn total_speed(&self, station: usize) -> (f64, f64) {
        let (plan, jobs) = (&self.plan.stations[station], self.stations[station].jobs);
        if jobs == 0 || !self.stations[station].up {
            (0.0, 0.0)
        } else if plan.rates.is_empty() {
            let busy = f64::from(jobs.min(plan.servers));
            (busy, busy)
        } else {
            let speed = plan.rates[(jobs as usize).min(plan.rates.len()) - 1];
            (speed, speed / plan.top_rate)
        }
    }

    /// Sets the speed of the clock of a station, and schedules the event for the job that ends first.
    pub fn restart_clock(&mut self, station: usize) {
        let (speed, busy) = self.total_speed(station);
        let shared = self.plan.stations[station].kind == Kind::Shared;
        let state = &mut self.stations[station];
        state.speed = if shared && state.weights > 0.0 {
            speed / state.weights
        } else {
            speed
        };
        let end = if shared {
            state.shares.peek().map(|share| share.end)
        } else {
            (state.head != NONE).then(|| self.jobs[state.head as usize].mark)
        };
        if end.is_none() {
            // The clock of an empty station is reset to 0: the larger its reading, the fewer digits remain after the
            // point.
            (state.clock, state.weights) = (0.0, 0.0);
        }
        let (clock, speed) = (state.clock, state.speed);
        self.record.levels[self.layout.busy(station)].set(self.now, busy);
        let slot = self.clock_slot(station);
        match end {
            Some(end) if speed > 0.0 => self
                .calendar
                .set(slot, self.now + (end - clock).max(0.0) / speed),
            _ => {
                self.calendar.clear(slot);
            }
        }
    }

    pub fn come_to_share(&mut self, job: u32, station: usize, weight: f64) {
        self.set_clock(station);
        let state = &mut self.stations[station];
        self.jobs[job as usize].state = State::Clocked;
        let end = state.clock + self.jobs[job as usize].work / weight;
        self.jobs[job as usize].mark = end;
        state.weights += weight;
        state.shares.push(Share { end, job });
        self.restart_clock(station);
    }

    pub fn come_to_clocked(&mut self, job: u32, station: usize, stack: bool) {
        self.set_clock(station);
        let head = self.stations[station].head;
        if head == NONE {
            self.make_head(job, station);
        } else if stack {
            let clock = self.stations[station].clock;
            self.jobs[head as usize].work = (self.jobs[head as usize].mark - clock).max(0.0);
            self.stations[station].push(&mut self.jobs, head, true);
            self.make_head(job, station);
        } else {
            self.stations[station].push(&mut self.jobs, job, false);
        }
        self.restart_clock(station);
    }

    fn make_head(&mut self, job: u32, station: usize) {
        let state = &mut self.stations[station];
        state.head = job;
        self.jobs[job as usize].state = State::Clocked;
        self.jobs[job as usize].mark = state.clock + self.jobs[job as usize].work;
    }

    /// Ends the job whose end time the clock of a station has reached.
    pub fn clock_rings(&mut self, station: usize) {
        self.set_clock(station);
        let job = if self.plan.stations[station].kind == Kind::Shared {
            self.stations[station]
                .shares
                .peek()
                .expect("the clock is that of a job")
                .job
        } else {
            self.stations[station].head
        };
        self.note_served(job, station);
        self.leave_clock(job, station);
        self.proceed(job);
    }

    /// Removes a job from the clock of a station, when the service of the job ends or earlier.
    pub fn leave_clock(&mut self, job: u32, station: usize) {
        self.set_clock(station);
        if self.plan.stations[station].kind == Kind::Shared {
            let class = self.jobs[job as usize].class as usize;
            let weight = self.plan.stations[station].services[class]
                .as_ref()
                .map_or(1.0, |service| service.weight);
            let state = &mut self.stations[station];
            state.weights -= weight;
            if state.shares.peek().is_some_and(|share| share.job == job) {
                state.shares.pop();
            } else {
                state.shares.retain(|share| share.job != job);
            }
        } else {
            self.stations[station].head = NONE;
            if let Some(next) = self.stations[station].pop(&mut self.jobs) {
                self.make_head(next, station);
            }
        }
        self.leave(job, station);
        self.restart_clock(station);
    }
}

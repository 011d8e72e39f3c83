//! Simulates the stations, where jobs are in service, waiting or interrupted.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::layout::StationCount;
use super::machine::{Job, List, Machine, State};
use super::plan::{CacheKind, Kind, NONE, StationPlan};

/// A job on the common clock of a station. Jobs are ordered so that the job that ends first is the greatest.
#[derive(Clone, Copy, PartialEq)]
pub struct Share {
    pub end: f64,
    pub job: u32,
}

impl Eq for Share {}

impl Ord for Share {
    fn cmp(&self, other: &Self) -> Ordering {
        // The order is reversed, since the standard heap has its greatest element on top.
        other
            .end
            .total_cmp(&self.end)
            .then_with(|| other.job.cmp(&self.job))
    }
}

impl PartialOrd for Share {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// State of a station: its jobs, queues and clock.
pub struct StationState {
    pub up: bool,
    /// Number of jobs that count towards the capacity of the station. Cache hits do not count.
    pub jobs: u32,
    busy: u32,
    pub waiting: u32,
    lists: Vec<List>,
    /// Jobs in service; the list is only maintained if jobs can be interrupted.
    served: Vec<u32>,
    keeps_served: bool,
    /// Reading of the common clock: service time that a job of weight 1 would have received since the station was last
    /// empty. [s]
    pub clock: f64,
    pub clock_set: f64,
    pub speed: f64,
    pub weights: f64,
    pub shares: BinaryHeap<Share>,
    pub head: u32,
}

impl StationState {
    /// Creates the state of an empty station.
    pub fn new(plan: &StationPlan) -> Self {
        Self {
            up: true,
            jobs: 0,
            busy: 0,
            waiting: 0,
            lists: vec![List::EMPTY; plan.ranks as usize],
            served: Vec::new(),
            keeps_served: plan.preemptive || plan.kind == Kind::Stack || plan.failure.is_some(),
            clock: 0.0,
            clock_set: 0.0,
            speed: 0.0,
            weights: 0.0,
            shares: BinaryHeap::new(),
            head: NONE,
        }
    }

    #[inline]
    pub fn push(&mut self, jobs: &mut [Job], job: u32, front: bool) {
        let rank = jobs[job as usize].rank as usize;
        jobs[job as usize].state = State::Waiting;
        self.waiting += 1;
        if front {
            self.lists[rank].push_front(jobs, job);
        } else {
            self.lists[rank].push_back(jobs, job);
        }
    }

    #[inline]
    pub fn pop(&mut self, jobs: &mut [Job]) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        let list = self.lists.iter_mut().find(|list| list.first != NONE)?;
        self.waiting -= 1;
        Some(list.pop_front(jobs))
    }
}

impl Machine<'_> {
    /// Handles a job that arrives at a station, including failover, cache and capacity. A balancer has already chosen
    /// the station.
    #[inline]
    pub fn enter(&mut self, job: u32, mut station: usize) {
        let takes_all = self.plan.stations[station].takes_all;
        if !takes_all {
            station = self.failover(station);
        }
        self.record.counts[self.layout.station(station, StationCount::Arrived)] += 1.0;
        let this = &mut self.jobs[job as usize];
        (this.station, this.arrived) = (station as u32, self.now);
        if takes_all || self.lets_in(job, station) {
            self.come(job, station);
        }
    }

    /// Returns `true` if a job needs service and the station admits it. Otherwise the job is a cache hit or is dropped.
    fn lets_in(&mut self, job: u32, station: usize) -> bool {
        if let Some(hit_time) = self.hit(station) {
            self.record.counts[self.layout.station(station, StationCount::Hit)] += 1.0;
            self.record.levels[self.layout.present(station)].add(self.now, 1.0);
            self.jobs[job as usize].state = State::Hit;
            self.jobs[job as usize].drawn = 0.0;
            let timer = self.timer(job);
            self.calendar.set(timer, self.now + hit_time);
            return false;
        }
        if self.stations[station].jobs >= self.plan.stations[station].capacity {
            self.record.counts[self.layout.station(station, StationCount::Lost)] += 1.0;
            self.dropped(job);
            return false;
        }
        true
    }

    /// Admits a job to a station and generates its random service time.
    #[inline]
    fn come(&mut self, job: u32, station: usize) {
        let plan = &self.plan.stations[station];
        let this = &mut self.jobs[job as usize];
        let class = this.class as usize;
        let service = plan.services[class]
            .as_ref()
            .expect("a way leads only to stations that serve the class");
        let work = service
            .times
            .draw(&mut self.streams.service[station * self.layout.classes + class]);
        (this.work, this.drawn, this.rank) = (work, work, service.rank);
        self.stations[station].jobs += 1;
        self.record.levels[self.layout.present(station)].add(self.now, 1.0);
        match plan.kind {
            Kind::Servers => self.come_to_servers(job, station),
            Kind::Delay => {
                this.state = State::Delayed;
                let timer = self.timer(job);
                self.calendar.set(timer, self.now + work);
            }
            Kind::Shared => self.come_to_share(job, station, service.weight),
            Kind::Stack => self.come_to_stack(job, station),
            Kind::Clocked(stack) => self.come_to_clocked(job, station, stack),
        }
    }

    /// Returns the station for an arriving job: `station`, or its failover station if it is down.
    fn failover(&self, station: usize) -> usize {
        match &self.plan.stations[station].failure {
            Some((_, _, other)) if *other != NONE && !self.stations[station].up => *other as usize,
            _ => station,
        }
    }

    /// Returns the time of a cache hit; `None` if the visit is a miss, or the station has no cache.
    fn hit(&mut self, station: usize) -> Option<f64> {
        let cache = self.plan.stations[station].cache.as_ref()?;
        let stream = &mut self.streams.cache[station];
        let hit = match &cache.kind {
            CacheKind::Ratio(share) => stream.uniform() <= *share,
            CacheKind::Recent { keys, .. } => {
                let key = keys.draw(stream);
                self.caches[station]
                    .as_mut()
                    .is_some_and(|entries| entries.ask(key))
            }
        };
        hit.then_some(cache.hit_time_s)
    }

    /// Records, when a job leaves a station, the time that the job has spent there.
    #[inline]
    pub fn leave(&mut self, job: u32, station: usize) {
        self.stations[station].jobs -= 1;
        self.note_leaving(job, station);
    }

    #[inline]
    fn note_leaving(&mut self, job: u32, station: usize) {
        let this = &self.jobs[job as usize];
        let class = this.class as usize;
        self.record.levels[self.layout.present(station)].add(self.now, -1.0);
        self.record.counts[self.layout.sojourn(station, class)] += self.now - this.arrived;
        self.jobs[job as usize].station = NONE;
    }

    #[inline]
    pub fn note_served(&mut self, job: u32, station: usize) {
        let this = &self.jobs[job as usize];
        self.record.counts[self.layout.work(station, this.class as usize)] += this.drawn;
        self.record.counts[self.layout.station(station, StationCount::Served)] += 1.0;
    }

    /// Handles the end of a job's time at a delay or of a cache hit.
    pub fn delay_ends(&mut self, job: u32) {
        let station = self.jobs[job as usize].station as usize;
        self.note_served(job, station);
        if self.jobs[job as usize].state == State::Hit {
            self.note_leaving(job, station);
        } else {
            self.leave(job, station);
        }
        self.proceed(job);
    }

    // The functions that follow handle stations with servers.

    #[inline]
    fn come_to_servers(&mut self, job: u32, station: usize) {
        let plan = &self.plan.stations[station];
        let state = &self.stations[station];
        if state.up && state.busy < plan.servers {
            self.serve(job, station);
        } else if let Some(other) = self.worse(job, station) {
            self.interrupt(other, station);
            self.stations[station].push(&mut self.jobs, other, true);
            self.serve(job, station);
        } else {
            self.stations[station].push(&mut self.jobs, job, false);
            if self.plan.gives_up {
                self.start_patience(job);
            }
        }
    }

    /// Returns the job in service that `job` interrupts, if any: the last job to start among the jobs of the worst
    /// rank.
    fn worse(&self, job: u32, station: usize) -> Option<u32> {
        if !self.plan.stations[station].preemptive || !self.stations[station].up {
            return None;
        }
        let mark = |served: u32| {
            (
                self.jobs[served as usize].rank,
                self.jobs[served as usize].mark,
            )
        };
        let worst = self.stations[station]
            .served
            .iter()
            .copied()
            .max_by(|&a, &b| {
                let (a, b) = (mark(a), mark(b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            })?;
        (mark(worst).0 > self.jobs[job as usize].rank).then_some(worst)
    }

    #[inline]
    fn serve(&mut self, job: u32, station: usize) {
        let state = &mut self.stations[station];
        state.busy += 1;
        if state.keeps_served {
            state.served.push(job);
        }
        let busy = f64::from(state.busy);
        self.record.levels[self.layout.busy(station)].set(self.now, busy);
        self.start_timer(job, station);
    }

    /// Starts the timer of a job, for one quantum or for the remaining service time if that is shorter.
    #[inline]
    fn start_timer(&mut self, job: u32, station: usize) {
        if self.plan.gives_up {
            self.end_patience(job);
        }
        let this = &mut self.jobs[job as usize];
        let slice = this.work.min(self.plan.stations[station].quantum_s);
        this.work -= slice;
        this.mark = self.now;
        this.state = State::Serving;
        let timer = self.timer(job);
        self.calendar.set(timer, self.now + slice);
    }

    /// Stops the timer of a job; the time left on the timer becomes remaining service time again.
    fn stop_timer(&mut self, job: u32) {
        let timer = self.timer(job);
        if let Some(end) = self.calendar.clear(timer) {
            self.jobs[job as usize].work += end - self.now;
        }
    }

    #[inline]
    fn release_server(&mut self, job: u32, station: usize) {
        let state = &mut self.stations[station];
        state.busy -= 1;
        if state.keeps_served {
            state.served.retain(|&served| served != job);
        }
        let busy = if state.up { f64::from(state.busy) } else { 0.0 };
        self.record.levels[self.layout.busy(station)].set(self.now, busy);
    }

    fn interrupt(&mut self, job: u32, station: usize) {
        self.stop_timer(job);
        self.release_server(job, station);
    }

    #[inline]
    fn serve_next(&mut self, station: usize) {
        let state = &mut self.stations[station];
        if state.up
            && state.busy < self.plan.stations[station].servers
            && let Some(next) = state.pop(&mut self.jobs)
        {
            self.serve(next, station);
        }
    }

    /// Handles the end of a service or of a quantum.
    #[inline]
    pub fn service_ends(&mut self, job: u32) {
        let station = self.jobs[job as usize].station as usize;
        if self.jobs[job as usize].work > 0.0 {
            self.quantum_ends(job, station);
            return;
        }
        self.note_served(job, station);
        self.leave(job, station);
        self.hand_over(job, station);
        self.proceed(job);
    }

    /// Assigns the server of a leaving job to the next waiting job, if there is one.
    #[inline]
    fn hand_over(&mut self, job: u32, station: usize) {
        let state = &mut self.stations[station];
        // If no job can be interrupted and the station cannot fail, the next waiting job takes the server. The number
        // of busy servers then remains the same and need not be recorded again.
        if !state.keeps_served
            && let Some(next) = state.pop(&mut self.jobs)
        {
            self.start_timer(next, station);
            return;
        }
        self.release_server(job, station);
        self.serve_next(station);
    }

    /// Moves a job to the end of the queue of the next feedback level, or of its own queue at the last level. The first
    /// waiting job takes the server.
    fn quantum_ends(&mut self, job: u32, station: usize) {
        self.release_server(job, station);
        let plan = &self.plan.stations[station];
        let this = &mut self.jobs[job as usize];
        let first = plan.services[this.class as usize]
            .as_ref()
            .map_or(0, |service| service.rank);
        this.rank = (this.rank + 1).min(first + plan.levels - 1);
        self.stations[station].push(&mut self.jobs, job, false);
        self.serve_next(station);
    }

    fn come_to_stack(&mut self, job: u32, station: usize) {
        let servers = self.plan.stations[station].servers;
        let state = &mut self.stations[station];
        if !state.up {
            state.push(&mut self.jobs, job, true);
            return;
        }
        if state.busy >= servers {
            // Of the jobs in service, the one that started or resumed first is interrupted.
            let oldest = state.served[0];
            self.interrupt(oldest, station);
            self.stations[station].push(&mut self.jobs, oldest, true);
        }
        self.serve(job, station);
    }

    // Removal of jobs from their station before their service has ended, and failures of stations.

    /// Removes a job from its station before its service has ended, whether it waits or is in service.
    pub fn withdraw(&mut self, job: u32) {
        let station = self.jobs[job as usize].station as usize;
        match self.jobs[job as usize].state {
            State::Waiting => {
                let rank = self.jobs[job as usize].rank as usize;
                self.stations[station].lists[rank].unlink(&mut self.jobs, job);
                self.stations[station].waiting -= 1;
                self.leave(job, station);
                if matches!(self.plan.stations[station].kind, Kind::Clocked(_)) {
                    self.set_clock(station);
                    self.restart_clock(station);
                }
            }
            State::Serving | State::Frozen => {
                self.interrupt(job, station);
                self.leave(job, station);
                self.serve_next(station);
            }
            State::Clocked => self.leave_clock(job, station),
            State::Delayed => {
                self.stop_timer(job);
                self.leave(job, station);
            }
            State::Hit => {
                self.stop_timer(job);
                self.note_leaving(job, station);
            }
            state => unreachable!("a job that is {state:?} is at no station"),
        }
    }

    /// Switches a station between up and down; jobs in service keep their servers.
    pub fn toggle(&mut self, station: usize) {
        let up = !self.stations[station].up;
        let down = self.layout.down(station);
        self.record.levels[down].set(self.now, f64::from(u8::from(!up)));
        if !up {
            self.record.counts[self.layout.station(station, StationCount::WentDown)] += 1.0;
        }
        let has_servers = matches!(
            self.plan.stations[station].kind,
            Kind::Servers | Kind::Stack
        );
        if !has_servers {
            self.set_clock(station);
            self.stations[station].up = up;
            self.restart_clock(station);
            return;
        }
        self.stations[station].up = up;
        let served = std::mem::take(&mut self.stations[station].served);
        for &job in &served {
            if up {
                self.start_timer(job, station);
            } else {
                self.stop_timer(job);
                self.jobs[job as usize].state = State::Frozen;
            }
        }
        let state = &mut self.stations[station];
        state.served = served;
        let busy = if up { f64::from(state.busy) } else { 0.0 };
        self.record.levels[self.layout.busy(station)].set(self.now, busy);
        if up {
            let idle = self.plan.stations[station].servers - self.stations[station].busy;
            for _ in 0..idle.min(self.stations[station].waiting) {
                self.serve_next(station);
            }
        }
    }
}

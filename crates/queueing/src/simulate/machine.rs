//! One replication of a simulation: its state, and the loop that processes its events.

use super::JOBS_AT_MOST;
use super::cache::Recent;
use super::calendar::Calendar;
use super::layout::Layout;
use super::plan::{CacheKind, NONE, Plan};
use super::random::{Purpose, Stream};
use super::record::{BLOCK, Part, Record};
use super::station::StationState;

/// State of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    /// The job does not exist; its entry in the list of jobs is free.
    Free,
    /// The user of the job thinks.
    Thinking,
    /// The job waits for the end of the pause before its next attempt.
    Pausing,
    /// The job waits in the queue of a station.
    Waiting,
    /// The job is in service; the timer of the job runs.
    Serving,
    /// The job holds a server of a station that is down, so its service is interrupted.
    Frozen,
    /// The job is at a delay; the timer of the job runs.
    Delayed,
    /// The visit of the job is a cache hit; the timer of the job runs for the time of a hit.
    Hit,
    /// The job is at a station with a common clock for all jobs.
    Clocked,
    /// The job waits in the queue of a pool.
    InPool,
    /// The job has received a unit of a pool, and continues by an event at the same time.
    Granted,
    /// The job waits until the branches of its fork end.
    Joining,
}

/// A job: a transaction, a branch of a transaction, or work for which no user waits any more.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub state: State,
    /// `true` if no user waits for the job, because its time limit has passed or the user has the response.
    pub orphan: bool,
    /// `true` if the job, or a branch of it, was dropped.
    pub dropped: bool,
    pub class: u32,
    pub attempt: u32,
    /// Index of the next step of the route. For a class with transition probabilities: the current or next station.
    pub step: u32,
    /// Station for which the `visits_left` remaining visits of the step are intended.
    pub place: u32,
    pub visits_left: u32,
    /// Index of the station where the job is, or of the pool for which it waits.
    pub station: u32,
    pub rank: u32,
    pub parent: u32,
    pub fork: u32,
    pub branch: u32,
    pub children: u32,
    pub next: u32,
    pub previous: u32,
    /// Pools of which the job holds a unit, one bit per pool.
    pub held: u64,
    /// Time at which the transaction started. [s]
    pub started: f64,
    /// Time at which the job arrived at its current station or pool. [s]
    pub arrived: f64,
    /// Total service time of the current visit, a random value. [s]
    pub drawn: f64,
    /// Remaining service time of the visit, without the part for which the timer runs. [s]
    pub work: f64,
    /// Time at which the service started; at a station with a common clock, the reading of the clock at which the job
    /// ends. [s]
    pub mark: f64,
}

impl Job {
    fn new(class: u32) -> Self {
        Self {
            state: State::Granted,
            orphan: false,
            dropped: false,
            class,
            attempt: 0,
            step: 0,
            place: NONE,
            visits_left: 0,
            station: NONE,
            rank: 0,
            parent: NONE,
            fork: NONE,
            branch: 0,
            children: 0,
            next: NONE,
            previous: NONE,
            held: 0,
            started: 0.0,
            arrived: 0.0,
            drawn: 0.0,
            work: 0.0,
            mark: 0.0,
        }
    }
}

/// A linked list of jobs, such as a queue.
#[derive(Clone, Copy, Debug)]
pub struct List {
    pub first: u32,
    pub last: u32,
}

impl List {
    pub const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    #[inline]
    pub fn push_back(&mut self, jobs: &mut [Job], job: u32) {
        jobs[job as usize].next = NONE;
        jobs[job as usize].previous = self.last;
        match self.last {
            NONE => self.first = job,
            last => jobs[last as usize].next = job,
        }
        self.last = job;
    }

    pub fn push_front(&mut self, jobs: &mut [Job], job: u32) {
        jobs[job as usize].previous = NONE;
        jobs[job as usize].next = self.first;
        match self.first {
            NONE => self.last = job,
            first => jobs[first as usize].previous = job,
        }
        self.first = job;
    }

    /// Removes the first job of a list that is not empty.
    #[inline]
    pub fn pop_front(&mut self, jobs: &mut [Job]) -> u32 {
        let job = self.first;
        self.first = jobs[job as usize].next;
        match self.first {
            NONE => self.last = NONE,
            first => jobs[first as usize].previous = NONE,
        }
        job
    }

    pub fn unlink(&mut self, jobs: &mut [Job], job: u32) {
        let (before, after) = (jobs[job as usize].previous, jobs[job as usize].next);
        match before {
            NONE => self.first = after,
            before => jobs[before as usize].next = after,
        }
        match after {
            NONE => self.last = before,
            after => jobs[after as usize].previous = before,
        }
    }
}

/// State of a pool: its free units and its queue.
pub struct PoolState {
    pub free: u64,
    pub list: List,
}

/// All streams of random numbers of a replication.
pub struct Streams {
    pub arrivals: Vec<Stream>,
    pub think: Vec<Stream>,
    pub routing: Vec<Stream>,
    pub retry: Vec<Stream>,
    pub patience: Vec<Stream>,
    pub batch: Vec<Stream>,
    /// Streams of random numbers for service times, by station, then by class.
    pub service: Vec<Stream>,
    pub failure: Vec<Stream>,
    pub cache: Vec<Stream>,
    pub balance: Vec<Stream>,
}

impl Streams {
    fn new(plan: &Plan, seed: u64, replication: u64) -> Self {
        let stream = |purpose, names: &[&str]| Stream::new(seed, replication, purpose, names);
        let of_classes = |purpose| {
            plan.classes
                .iter()
                .map(|class| stream(purpose, &[&class.name]))
                .collect()
        };
        let of_stations = |purpose| {
            plan.stations
                .iter()
                .map(|station| stream(purpose, &[&station.name]))
                .collect()
        };
        let services = plan.stations.iter().flat_map(|station| {
            plan.classes
                .iter()
                .map(|class| stream(Purpose::Service, &[&station.name, &class.name]))
        });
        Self {
            arrivals: of_classes(Purpose::Arrivals),
            think: of_classes(Purpose::Think),
            routing: of_classes(Purpose::Routing),
            retry: of_classes(Purpose::Retry),
            patience: of_classes(Purpose::Patience),
            batch: of_classes(Purpose::Batch),
            service: services.collect(),
            failure: of_stations(Purpose::Failure),
            cache: of_stations(Purpose::Cache),
            balance: plan
                .balancers
                .iter()
                .map(|balancer| stream(Purpose::Balance, &[&balancer.name]))
                .collect(),
        }
    }
}

/// State of one replication of the simulation.
pub struct Machine<'a> {
    pub plan: &'a Plan,
    pub layout: Layout,
    pub now: f64,
    pub events: u64,
    pub calendar: Calendar,
    pub jobs: Vec<Job>,
    free: Vec<u32>,
    jobs_at_most: u64,
    pub stations: Vec<StationState>,
    pub pools: Vec<PoolState>,
    /// Indices of the pools in the order in which a job takes their units.
    pub pool_order: Vec<u32>,
    /// For each balancer, the position of the next station in the rotation.
    pub turns: Vec<u32>,
    pub caches: Vec<Option<Recent>>,
    pub streams: Streams,
    pub record: Record,
    /// `true` if the run stopped because there were more jobs than can be stored. The model has no steady state, or a
    /// steady state with too many jobs.
    pub overflow: bool,
}

impl<'a> Machine<'a> {
    /// Creates a replication at time 0: users think, stations are empty and up, caches are filled.
    pub fn new(plan: &'a Plan, seed: u64, replication: u64) -> Self {
        let layout = Layout::of(plan);
        let mut pool_order: Vec<u32> = (0..plan.pools.len() as u32).collect();
        pool_order.sort_by_key(|&pool| plan.pools[pool as usize].depth);
        let mut machine = Self {
            plan,
            layout,
            now: 0.0,
            events: 0,
            calendar: Calendar::new(layout.classes + 2 * layout.stations),
            jobs: Vec::new(),
            free: Vec::new(),
            jobs_at_most: JOBS_AT_MOST + plan.classes.iter().map(|class| class.users).sum::<u64>(),
            stations: plan.stations.iter().map(StationState::new).collect(),
            pools: plan
                .pools
                .iter()
                .map(|pool| PoolState {
                    free: pool.size,
                    list: List::EMPTY,
                })
                .collect(),
            pool_order,
            turns: vec![0; plan.balancers.len()],
            caches: Vec::new(),
            streams: Streams::new(plan, seed, replication),
            record: Record::new(
                layout.levels(),
                layout.counts(),
                layout.classes,
                plan.shortest_s,
            ),
            overflow: false,
        };
        machine.fill_caches();
        machine.begin();
        machine
    }

    /// Requests keys from each cache until the cache is full and its content has been replaced twice. An empty cache
    /// would represent a system that was just started.
    fn fill_caches(&mut self) {
        for (index, station) in self.plan.stations.iter().enumerate() {
            let mut cache = None;
            if let Some(CacheKind::Recent { items, keys }) =
                station.cache.as_ref().map(|cache| &cache.kind)
            {
                let mut recent = Recent::new(*items, keys.len());
                let mut misses = 0;
                // Some rare keys may not be requested for a very long time, so the number of requests is limited. After
                // this number of requests, a cache is nearly as full as it will ever be.
                for _ in 0..20 * keys.len() {
                    misses += usize::from(!recent.ask(keys.draw(&mut self.streams.cache[index])));
                    if misses >= 3 * items {
                        break;
                    }
                }
                cache = Some(recent);
            }
            self.caches.push(cache);
        }
    }

    fn begin(&mut self) {
        for class in 0..self.layout.classes {
            self.schedule_arrival(class);
            for _ in 0..self.plan.classes[class].users {
                let job = self.new_job(class as u32);
                self.think(job);
                if self.plan.classes[class].keeps_distances {
                    self.begin_between(self.timer(job), class);
                }
            }
            let class_plan = &self.plan.classes[class];
            if class_plan.keeps_distances && class_plan.arrivals.is_some() {
                self.begin_between(class as u32, class);
            }
        }
        for (index, station) in self.plan.stations.iter().enumerate() {
            if let Some((up, ..)) = &station.failure {
                let time = up.draw(&mut self.streams.failure[index]);
                self.calendar.set(self.failure_slot(index), time);
            }
        }
    }

    /// Returns the slot in the event calendar for the clock of a station.
    pub fn clock_slot(&self, station: usize) -> u32 {
        (self.layout.classes + station) as u32
    }

    fn failure_slot(&self, station: usize) -> u32 {
        (self.layout.classes + self.layout.stations + station) as u32
    }

    /// Returns the slot in the event calendar for the timer of a job; the next slot is for the time limit of the job.
    #[inline]
    pub fn timer(&self, job: u32) -> u32 {
        (self.layout.classes + 2 * self.layout.stations) as u32 + 2 * job
    }

    /// Runs the replication until it has processed `events` events in total.
    pub fn run(&mut self, events: u64) {
        while self.events < events && !self.overflow {
            let Some((time, slot)) = self.calendar.pop() else {
                break;
            };
            if time >= self.record.slice_end_s {
                self.record.pass(time);
            }
            self.now = time;
            self.events += 1;
            self.take(slot as usize);
        }
        self.record.stop(self.now);
    }

    /// Returns the second half of the record, rounded to whole blocks of slices. [`Machine::run`] must be called
    /// before.
    pub fn second_half(&mut self) -> Part {
        self.record.since_block(self.record.slices() / (2 * BLOCK))
    }

    #[inline]
    fn take(&mut self, slot: usize) {
        let jobs = self.layout.classes + 2 * self.layout.stations;
        if slot >= jobs {
            let job = ((slot - jobs) >> 1) as u32;
            if (slot - jobs) & 1 == 0 {
                self.timer_rings(job);
            } else {
                self.patience_ends(job);
            }
        } else if slot < self.layout.classes {
            self.schedule_arrival(slot);
            for _ in 0..self.batch_size(slot) {
                let job = self.new_job(slot as u32);
                self.begin_transaction(job);
            }
        } else if slot < self.layout.classes + self.layout.stations {
            self.clock_rings(slot - self.layout.classes);
        } else {
            let station = slot - self.layout.classes - self.layout.stations;
            self.toggle(station);
            let (up, down, _) = self.plan.stations[station]
                .failure
                .as_ref()
                .expect("only such a station fails");
            let times = if self.stations[station].up { up } else { down };
            let time = self.now + times.draw(&mut self.streams.failure[station]);
            self.calendar.set(slot as u32, time);
        }
    }

    #[inline]
    fn timer_rings(&mut self, job: u32) {
        match self.jobs[job as usize].state {
            State::Serving => self.service_ends(job),
            State::Delayed | State::Hit => self.delay_ends(job),
            State::Thinking => self.begin_transaction(job),
            State::Pausing => self.begin_attempt(job),
            State::Granted => self.proceed(job),
            state => unreachable!("a job that is {state:?} has no timer"),
        }
    }

    #[inline]
    fn schedule_arrival(&mut self, class: usize) {
        if let Some(times) = &self.plan.classes[class].arrivals {
            let time = self.now + times.draw(&mut self.streams.arrivals[class]);
            self.calendar.set(class as u32, time);
        }
    }

    /// Returns an unused index for a new job; indices of jobs that have ended are used again.
    #[inline]
    pub fn new_job(&mut self, class: u32) -> u32 {
        if let Some(job) = self.free.pop() {
            self.jobs[job as usize] = Job::new(class);
            return job;
        }
        let job = self.jobs.len() as u32;
        self.jobs.push(Job::new(class));
        self.overflow |= self.jobs.len() as u64 > self.jobs_at_most;
        let slots = self.timer(job) as usize + 2;
        self.calendar.grow(slots);
        job
    }

    /// Makes the index of a job that has ended available for new jobs.
    pub fn free_job(&mut self, job: u32) {
        self.jobs[job as usize].state = State::Free;
        self.free.push(job);
    }
}

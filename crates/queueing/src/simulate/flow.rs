//! Moves transactions through the network: attempts, steps of a route, pools, forks and completion.

use super::layout::{Count, Layout};
use super::machine::{Machine, State};
use super::plan::{NONE, Step, Way};
use crate::model::behaviour::Policy;

impl Machine<'_> {
    pub(super) fn count(&mut self, class: u32, count: Count, more: f64) {
        self.record.counts[Layout::class(class as usize, count)] += more;
    }

    /// Begins the think time of a user.
    pub fn think(&mut self, job: u32) {
        let class = self.jobs[job as usize].class as usize;
        let time = self.plan.classes[class]
            .think
            .draw(&mut self.streams.think[class]);
        self.jobs[job as usize].state = State::Thinking;
        let timer = self.timer(job);
        self.calendar.set(timer, self.now + time);
    }

    /// Moves the first event of a slot to a random moment before it. Replications of a model in which nothing else is
    /// random then begin with different distances between jobs.
    pub(super) fn begin_between(&mut self, slot: u32, class: usize) {
        let time = self.calendar.clear(slot).unwrap_or(0.0);
        let share = self.streams.think[class].uniform();
        self.calendar.set(slot, time * share);
    }

    /// Begins a transaction, with its first attempt.
    #[inline]
    pub fn begin_transaction(&mut self, job: u32) {
        let this = &mut self.jobs[job as usize];
        this.started = self.now;
        this.attempt = 0;
        let class = this.class as usize;
        self.record.levels[Layout::in_system(class)].add(self.now, 1.0);
        self.begin_attempt(job);
    }

    /// Begins an attempt: starts the time limit of the attempt, and its route from the beginning.
    #[inline]
    pub fn begin_attempt(&mut self, job: u32) {
        let class = self.jobs[job as usize].class as usize;
        if let Some(timeout) = self.plan.classes[class].timeout_s {
            let slot = self.timer(job) + 1;
            self.calendar.set(slot, self.now + timeout);
        }
        let this = &mut self.jobs[job as usize];
        (this.step, this.visits_left, this.dropped) = (0, 0, false);
        if matches!(self.plan.classes[class].way, Way::Chances(_)) {
            this.place = NONE;
            self.jobs[job as usize].step = self.choose(class, self.layout.stations);
        }
        self.proceed(job);
    }

    /// Chooses the next station of a class at random, with the probabilities in the given row.
    fn choose(&mut self, class: usize, row: usize) -> u32 {
        let Way::Chances(rows) = &self.plan.classes[class].way else {
            unreachable!("the class has chances")
        };
        if rows[row].len() == 1 {
            return rows[row][0].1;
        }
        let number = self.streams.routing[class].uniform();
        rows[row]
            .iter()
            .find(|(sum, _)| number <= *sum)
            .map_or(NONE, |(_, station)| *station)
    }

    /// Moves a job to the next service on its route, or ends the route.
    #[inline]
    pub fn proceed(&mut self, job: u32) {
        let class = self.jobs[job as usize].class as usize;
        if self.jobs[job as usize].fork == NONE
            && matches!(self.plan.classes[class].way, Way::Chances(_))
        {
            self.proceed_by_chance(job, class);
        } else {
            self.proceed_by_steps(job, class);
        }
    }

    /// Moves a job of a class with transition probabilities. Here `place` is the station that the job leaves, and
    /// `step` the next station. `step` remains the same while the job waits for a unit of a pool on the way.
    fn proceed_by_chance(&mut self, job: u32, class: usize) {
        let this = &mut self.jobs[job as usize];
        if this.place != NONE && this.place == this.step {
            let at = std::mem::replace(&mut this.place, NONE);
            self.jobs[job as usize].step = self.choose(class, at as usize);
        }
        let target = self.jobs[job as usize].step;
        if target == NONE {
            self.end(job);
            return;
        }
        for index in (0..self.pool_order.len()).rev() {
            let pool = self.pool_order[index];
            if !self.plan.pools[pool as usize].covers[target as usize] {
                self.give_back(job, pool);
            }
        }
        for index in 0..self.pool_order.len() {
            let pool = self.pool_order[index];
            let plan = &self.plan.pools[pool as usize];
            let holds = self.jobs[job as usize].held >> pool & 1 == 1;
            if plan.concerns[class]
                && plan.covers[target as usize]
                && !holds
                && !self.acquire(job, pool)
            {
                return;
            }
        }
        self.jobs[job as usize].place = target;
        let station = self.balance(target);
        self.enter(job, station);
    }

    #[inline]
    fn proceed_by_steps(&mut self, job: u32, class: usize) {
        let plan = self.plan;
        loop {
            let this = &mut self.jobs[job as usize];
            if this.visits_left > 0 {
                this.visits_left -= 1;
                let place = this.place;
                let station = self.balance(place);
                self.enter(job, station);
                return;
            }
            let steps = match (&plan.classes[class].way, this.fork) {
                (Way::Steps(steps), NONE) => steps,
                (_, fork) => &plan.forks[fork as usize].branches[class][this.branch as usize],
            };
            let Some(&step) = steps.get(this.step as usize) else {
                self.end(job);
                return;
            };
            this.step += 1;
            match step {
                Step::Visit {
                    station,
                    whole,
                    rest,
                } => {
                    this.place = station;
                    if whole == 1 && rest == 0.0 {
                        let station = self.balance(station);
                        self.enter(job, station);
                        return;
                    }
                    this.visits_left = whole;
                    if rest > 0.0 && self.streams.routing[class].uniform() <= rest {
                        self.jobs[job as usize].visits_left += 1;
                    }
                }
                Step::Acquire(pool) => {
                    if !self.acquire(job, pool) {
                        return;
                    }
                }
                Step::Release(pool) => self.give_back(job, pool),
                Step::Answer => self.answer(job),
                Step::Fork(fork) => {
                    self.split(job, fork);
                    return;
                }
            }
        }
    }

    /// Chooses one of the stations of a balancer for a visit.
    #[inline]
    fn balance(&mut self, station: u32) -> usize {
        match self.plan.stations[station as usize].balancer {
            NONE => station as usize,
            balancer => self.choose_station(balancer as usize),
        }
    }

    fn choose_station(&mut self, balancer: usize) -> usize {
        let plan = &self.plan.balancers[balancer];
        let group = &plan.stations;
        let any_up = group
            .iter()
            .any(|&member| self.stations[member as usize].up);
        let usable =
            |machine: &Self, station: u32| !any_up || machine.stations[station as usize].up;
        // Each choice uses one random number under every policy, so that alternative models use the same random
        // numbers.
        let mut random = self.streams.balance[balancer].clone();
        self.streams.balance[balancer].bits();
        let turn = self.turns[balancer] as usize;
        let in_turn = || (0..group.len()).map(|step| group[(turn + step) % group.len()]);
        let count = group.iter().filter(|&&member| usable(self, member)).count();
        let nth = |machine: &Self, index: usize| {
            let mut usable = group
                .iter()
                .copied()
                .filter(|&member| usable(machine, member));
            usable.nth(index).expect("there is one at least")
        };
        let chosen = match plan.policy {
            Policy::Random => nth(self, random.below(count)),
            Policy::RoundRobin => in_turn()
                .find(|&member| usable(self, member))
                .expect("there is one at least"),
            Policy::ShortestQueue => {
                let candidates = in_turn().filter(|&member| usable(self, member));
                candidates
                    .min_by_key(|&member| self.stations[member as usize].jobs)
                    .expect("there is one at least")
            }
            Policy::PowerOfTwo => {
                let first = random.below(count);
                let second = if count > 1 {
                    (first + 1 + random.below(count - 1)) % count
                } else {
                    first
                };
                let pair = [nth(self, first), nth(self, second)];
                *pair
                    .iter()
                    .min_by_key(|&&member| self.stations[member as usize].jobs)
                    .expect("there are two")
            }
        };
        if matches!(plan.policy, Policy::RoundRobin | Policy::ShortestQueue) {
            let place = group
                .iter()
                .position(|&member| member == chosen)
                .expect("it is of the group");
            self.turns[balancer] = ((place + 1) % group.len()) as u32;
        }
        chosen as usize
    }

    // Handling of pools.

    /// Takes a unit of a pool and returns `true`. If no unit is free, the job joins the queue of the pool.
    fn acquire(&mut self, job: u32, pool: u32) -> bool {
        let state = &mut self.pools[pool as usize];
        if state.free == 0 {
            state.list.push_back(&mut self.jobs, job);
            let this = &mut self.jobs[job as usize];
            (this.state, this.station, this.arrived) = (State::InPool, pool, self.now);
            self.record.levels[self.layout.waiting(pool as usize)].add(self.now, 1.0);
            return false;
        }
        state.free -= 1;
        self.jobs[job as usize].held |= 1 << pool;
        self.record.levels[self.layout.held(pool as usize)].add(self.now, 1.0);
        true
    }

    /// Releases the unit of a pool that a job holds, if any. The first waiting job receives the unit.
    fn give_back(&mut self, job: u32, pool: u32) {
        if self.jobs[job as usize].held >> pool & 1 == 0 {
            return;
        }
        self.jobs[job as usize].held &= !(1 << pool);
        let next = self.pools[pool as usize].list.first;
        if next == NONE {
            self.pools[pool as usize].free += 1;
            self.record.levels[self.layout.held(pool as usize)].add(self.now, -1.0);
            return;
        }
        self.leave_pool(next);
        let this = &mut self.jobs[next as usize];
        this.held |= 1 << pool;
        this.state = State::Granted;
        // The next job continues by a separate event, so that a chain of released units does not become a chain of
        // nested calls.
        let timer = self.timer(next);
        self.calendar.set(timer, self.now);
    }

    /// Removes a waiting job from the queue of a pool.
    pub(super) fn leave_pool(&mut self, job: u32) {
        let this = &self.jobs[job as usize];
        let (pool, class, waited) = (this.station, this.class as usize, self.now - this.arrived);
        self.pools[pool as usize].list.unlink(&mut self.jobs, job);
        self.jobs[job as usize].station = NONE;
        self.record.levels[self.layout.waiting(pool as usize)].add(self.now, -1.0);
        self.record.counts[self.layout.pool_wait(pool as usize, class)] += waited;
    }

    pub(super) fn give_all_back(&mut self, job: u32) {
        for index in (0..self.pool_order.len()).rev() {
            self.give_back(job, self.pool_order[index]);
        }
    }

    // Handling of forks.

    fn split(&mut self, job: u32, fork: u32) {
        let class = self.jobs[job as usize].class;
        let branches = self.plan.forks[fork as usize].branches[class as usize].len() as u32;
        self.jobs[job as usize].state = State::Joining;
        self.jobs[job as usize].children = branches;
        // All branches are created before the first branch proceeds, since a branch may end immediately. The model
        // check limits the number of branches to 16.
        let mut children = [NONE; 16];
        for branch in 0..branches {
            let child = self.new_job(class);
            let this = &mut self.jobs[child as usize];
            (this.parent, this.fork, this.branch) = (job, fork, branch);
            children[branch as usize] = child;
        }
        for &child in &children[..branches as usize] {
            self.proceed(child);
        }
    }

    /// Ends a branch of a fork; after the last branch the transaction continues.
    fn join(&mut self, child: u32) {
        let (parent, dropped) = (
            self.jobs[child as usize].parent,
            self.jobs[child as usize].dropped,
        );
        self.free_job(child);
        let this = &mut self.jobs[parent as usize];
        this.children -= 1;
        this.dropped |= dropped;
        if this.children > 0 {
            return;
        }
        if this.dropped {
            self.dropped(parent);
        } else {
            self.proceed(parent);
        }
    }

    // Handling of the ends of branches, attempts and transactions.

    /// Handles a job at the end of its route.
    #[inline]
    fn end(&mut self, job: u32) {
        if self.jobs[job as usize].parent != NONE {
            self.join(job);
            return;
        }
        self.give_all_back(job);
        if self.jobs[job as usize].orphan {
            self.free_job(job);
            return;
        }
        self.complete(job);
        self.leave_system(job);
    }

    /// Records the response of a transaction.
    #[inline]
    fn complete(&mut self, job: u32) {
        self.forget_patience(job);
        let this = &self.jobs[job as usize];
        let (class, time) = (this.class, self.now - this.started);
        self.count(class, Count::Completed, 1.0);
        self.count(class, Count::ResponseTime, time);
        self.record.response(class as usize, time);
    }

    /// Answers the user of a job, who goes on as another job. The job itself continues without a user; it may already
    /// have lost the user to a time limit.
    fn answer(&mut self, job: u32) {
        if std::mem::replace(&mut self.jobs[job as usize].orphan, true) {
            return;
        }
        self.complete(job);
        let user = self.new_job(self.jobs[job as usize].class);
        self.leave_system(user);
    }

    /// Ends a transaction, whether it was completed or not.
    #[inline]
    pub(super) fn leave_system(&mut self, job: u32) {
        let class = self.jobs[job as usize].class as usize;
        self.record.levels[Layout::in_system(class)].add(self.now, -1.0);
        if self.plan.classes[class].arrivals.is_some() {
            self.free_job(job);
        } else {
            self.think(job);
        }
    }

    /// Handles a job that is dropped because its station is full.
    pub fn dropped(&mut self, job: u32) {
        self.jobs[job as usize].station = NONE;
        if self.jobs[job as usize].parent != NONE {
            self.jobs[job as usize].dropped = true;
            self.join(job);
            return;
        }
        self.give_all_back(job);
        if self.jobs[job as usize].orphan {
            self.free_job(job);
            return;
        }
        self.forget_patience(job);
        self.attempt_failed(job, Count::Dropped);
    }
}

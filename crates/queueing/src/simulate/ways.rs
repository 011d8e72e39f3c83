//! Creates the routes of classes: a fixed sequence of steps in the order of the model, or transition probabilities.

use super::plan::{BalancerPlan, ClassPlan, NONE, PoolPlan, Step, Way, station_index};
use super::times::Times;
use crate::model::behaviour::OnTimeout;
use crate::model::forks;
use crate::model::{Branching, Class, END, Model};

/// Data of a model from which the routes of classes are created.
pub struct Visits<'a> {
    pub model: &'a Model,
    pub pools: &'a [PoolPlan],
    pub balancers: &'a [BalancerPlan],
}

impl Visits<'_> {
    pub fn class_plan(&self, index: usize, keeps_distances: bool) -> ClassPlan {
        let class = &self.model.classes[index];
        let patience = self
            .model
            .behaviour
            .patience
            .iter()
            .find(|candidate| candidate.class == class.name);
        let routed = self
            .model
            .routing
            .iter()
            .any(|route| route.class == class.name);
        let batch = (self.model.behaviour.batches.iter())
            .find(|candidate| candidate.class == class.name)
            .map(|batch| (batch.size, batch.sizes));
        let size = batch.map_or(1.0, |(size, _)| size);
        ClassPlan {
            name: class.name.clone(),
            users: class.users.unwrap_or(0),
            think: Times::new(class.think_time_s, class.think),
            arrivals: class
                .arrival_rate_per_s
                .map(|rate| Times::new(size / rate, class.arrivals)),
            batch,
            way: if routed {
                Way::Chances(self.chances(class))
            } else {
                Way::Steps(self.steps(index))
            },
            timeout_s: patience.and_then(|limits| limits.timeout_s),
            patience_s: patience.and_then(|limits| limits.patience_s),
            retries: patience.map_or(0, |limits| limits.retries),
            retry_delay_s: patience.map_or(0.0, |limits| limits.retry_delay_s),
            on_timeout: patience.map_or(OnTimeout::Continue, |limits| limits.on_timeout),
            after: self.after(class),
            keeps_distances,
        }
    }

    /// Returns the transition probabilities of a class as rows of cumulative sums. The remainder of a row up to 1 leads
    /// out of the network.
    fn chances(&self, class: &Class) -> Vec<Vec<(f64, u32)>> {
        let stations = &self.model.stations;
        let route = self
            .model
            .routing
            .iter()
            .find(|route| route.class == class.name)
            .expect("the class has a route");
        let row = |next: Option<&Branching>| {
            let mut sum = 0.0;
            let shares = next
                .into_iter()
                .flatten()
                .filter(|(name, share)| *name != END && **share > 0.0);
            let mut row: Vec<(f64, u32)> = shares
                .map(|(name, share)| {
                    sum += share;
                    // Probabilities may add up to slightly less than 1 because of rounding. The small remainder must
                    // not lead out of the network.
                    (
                        if sum > 1.0 - 1e-9 { 2.0 } else { sum },
                        station_index(self.model, name),
                    )
                })
                .collect();
            row.push((2.0, NONE));
            row
        };
        let from_stations = stations
            .iter()
            .map(|station| row(route.next.get(&station.name)));
        from_stations.chain([row(Some(&route.start))]).collect()
    }

    /// Returns the stations that a class visits after its response, in the order of the model.
    fn after(&self, class: &Class) -> Vec<u32> {
        let entries = &self.model.behaviour.after;
        let entry = entries.iter().find(|entry| entry.class == class.name);
        let mut stations: Vec<u32> = (entry.iter().flat_map(|entry| &entry.stations))
            .map(|name| station_index(self.model, name))
            .collect();
        stations.sort_unstable();
        stations
    }

    /// Returns the route of a class that visits the stations in the order of the model, except that the stations after
    /// the response come last.
    fn steps(&self, class: usize) -> Vec<Step> {
        let after = self.after(&self.model.classes[class]);
        let mut places: Vec<(Step, Vec<u32>)> = Vec::new();
        let mut forked = vec![false; self.model.forks.len()];
        let before = |station: &usize| !after.contains(&(*station as u32));
        for station in (0..self.model.stations.len()).filter(before) {
            if let Some(fork) = self.fork_of(class, station) {
                if !std::mem::replace(&mut forked[fork], true) {
                    let inside = forks::stations(self.model, &self.model.forks[fork]);
                    let stations = (inside.iter())
                        .map(|name| station_index(self.model, name))
                        .collect();
                    places.push((Step::Fork(fork as u32), stations));
                }
            } else if let Some(step) = self.visit(class, station) {
                places.push((step, vec![station as u32]));
            }
        }
        if !after.is_empty() {
            places.push((Step::Answer, Vec::new()));
        }
        let visits = (after.iter())
            .filter_map(|&station| Some((self.visit(class, station as usize)?, vec![station])));
        places.extend(visits);
        self.with_pools(class, &places)
    }

    /// Returns the outermost fork that has a station in a branch, among those in which a class forks.
    fn fork_of(&self, class: usize, station: usize) -> Option<usize> {
        let (class, station) = (
            &self.model.classes[class].name,
            &self.model.stations[station].name,
        );
        let forks = &self.model.forks;
        let concerns = |index: &usize| {
            let classes = &forks[*index].classes;
            classes.is_empty() || classes.contains(class)
        };
        let innermost = (0..forks.len()).find(|index| {
            let mut names = forks[*index].branches.iter().flatten();
            concerns(index) && names.any(|name| name == station)
        });
        let outwards = std::iter::successors(innermost, |&index| {
            forks::outer(self.model, index).filter(concerns)
        });
        outwards.last()
    }

    /// Returns the visits of a class to a station, if any. All visits to the stations of a balancer are assigned to its
    /// first station.
    fn visit(&self, class: usize, station: usize) -> Option<Step> {
        let name = &self.model.classes[class].name;
        let visits = |index: usize| {
            let service = self.model.stations[index].service(name);
            service.map_or(0.0, |service| service.visits.unwrap_or(1.0))
        };
        let group = self
            .balancers
            .iter()
            .find(|balancer| balancer.stations.contains(&(station as u32)));
        let count = match group {
            Some(balancer) if balancer.stations.iter().min() != Some(&(station as u32)) => 0.0,
            Some(balancer) => balancer
                .stations
                .iter()
                .map(|&index| visits(index as usize))
                .sum(),
            None => visits(station),
        };
        // The sum is rounded if it is very close to an integer, since three times 1/3 visit differs from 1 by a
        // rounding error.
        let count: f64 = if (count - count.round()).abs() < 1e-9 {
            count.round()
        } else {
            count
        };
        let step = Step::Visit {
            station: station as u32,
            whole: count.trunc() as u32,
            rest: count.fract(),
        };
        (count > 0.0).then_some(step)
    }

    /// Returns the steps of a branch: visits to its stations, and its inner forks.
    pub fn branch(&self, class: usize, names: &[String]) -> Vec<Step> {
        let step = |name: &String| match forks::inner(self.model, name) {
            Some(fork) => Some(Step::Fork(fork as u32)),
            None => self.visit(class, station_index(self.model, name) as usize),
        };
        names.iter().filter_map(step).collect()
    }

    /// Inserts two steps for each pool into a route: a unit is taken before the first station of the pool, and released
    /// after the last one.
    fn with_pools(&self, class: usize, places: &[(Step, Vec<u32>)]) -> Vec<Step> {
        let mut order: Vec<usize> = (0..self.pools.len()).collect();
        order.sort_by_key(|&pool| self.pools[pool].depth);
        let ends: Vec<Option<(usize, usize)>> = (self.pools.iter())
            .map(|pool| {
                let covered = |place: &(Step, Vec<u32>)| {
                    place.1.iter().any(|&station| pool.covers[station as usize])
                };
                let first = places
                    .iter()
                    .position(covered)
                    .filter(|_| pool.concerns[class])?;
                Some((first, places.iter().rposition(covered)?))
            })
            .collect();
        let mut steps = Vec::new();
        for (index, (step, _)) in places.iter().enumerate() {
            let begins = order
                .iter()
                .filter(|&&pool| ends[pool].is_some_and(|(first, _)| first == index));
            steps.extend(begins.map(|&pool| Step::Acquire(pool as u32)));
            steps.push(*step);
            let ending = order
                .iter()
                .rev()
                .filter(|&&pool| ends[pool].is_some_and(|(_, last)| last == index));
            steps.extend(ending.map(|&pool| Step::Release(pool as u32)));
        }
        steps
    }
}

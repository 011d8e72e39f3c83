//! Jobs that keep the distances with which they begin, since nothing that they meet is random.

use crate::simulate::FIRST_ROUND;

use super::behaviour::{BatchSizes, Policy};
use super::{Branching, Class, Discipline, END, Model, Pool, Service, Station, Variation};

/// Number of rounds that are simulated of jobs that keep their distances. [1]
const ROUNDS: f64 = 50.0;
/// Largest number of arrivals of the slowest stream in a round. [1]
const BEATS_AT_MOST: u32 = 1000;
/// Largest difference from 1 of a probability or a ratio that is due to rounding. [1]
const ROUNDING: f64 = 1e-9;

impl Model {
    /// Returns, by class, `true` if its mean times depend for ever on how the jobs begin.
    ///
    /// They do if several jobs or streams of arrivals meet, and no time and no choice of these is random. Two jobs that
    /// share a server then return to it at the same distance as before. Averages over all distances may differ from those
    /// of one run. Classes meet at stations with a queue and at pools, also by way of others; jobs of a better rank do not
    /// meet those that they interrupt.
    #[must_use]
    pub fn keeps_distances(&self) -> Vec<bool> {
        let constant: Vec<bool> = (self.classes.iter())
            .map(|class| self.is_constant(class))
            .collect();
        if !constant.contains(&true) {
            return vec![false; constant.len()];
        }
        let met = self.met();
        let jobs = |class: &usize| self.classes[*class].users.unwrap_or(1);
        let keeps: Vec<bool> = (met.iter())
            .map(|met| {
                met.iter().map(jobs).fold(0, u64::saturating_add) > 1
                    && met.iter().all(|&class| constant[class])
            })
            .collect();
        (met.iter())
            .map(|met| met.iter().any(|&class| keeps[class]))
            .collect()
    }

    /// Returns, by class, `true` if it meets several streams of arrivals at equal distances; see
    /// [`Model::keeps_distances`]. These streams keep their distances whatever the service times, so that mean times depend
    /// on them for ever.
    #[must_use]
    pub fn meets_even_streams(&self) -> Vec<bool> {
        let even = |class: &Class| !class.is_closed() && is_constant(class.arrivals);
        if self.classes.iter().filter(|class| even(class)).count() < 2 {
            return vec![false; self.classes.len()];
        }
        let several = |met: &Vec<usize>| {
            met.iter()
                .filter(|&&class| even(&self.classes[class]))
                .count()
                > 1
        };
        self.met().iter().map(several).collect()
    }

    /// Returns the number of events in [`ROUNDS`] rounds of the jobs that keep their distances, by [`Model::keeps_distances`];
    /// `None` if none do. In a round each user makes a transaction, and streams of arrivals meet at all their distances.
    pub(crate) fn events_of_rounds(&self, keeps: &[bool]) -> Option<u64> {
        let kept =
            || (self.classes.iter().zip(keeps)).filter_map(|(class, keeps)| keeps.then_some(class));
        let cycle_s = |class: &Class| class.think_time_s + self.demand(class);
        let closed = kept().filter(|class| class.is_closed()).map(cycle_s);
        let longest = kept()
            .next()
            .map(|_| closed.fold(beat_s(kept()), f64::max))?;
        let per_s: f64 = (self.classes.iter())
            .map(|class| {
                let visits: f64 = self.visits(class).unwrap_or_default().iter().sum();
                let rate = match class.users {
                    Some(users) => users as f64 / cycle_s(class),
                    None => class.arrival_rate_per_s.unwrap_or(0.0),
                };
                rate * (1.0 + visits)
            })
            .sum();
        Some((ROUNDS * longest * per_s).max(FIRST_ROUND as f64) as u64)
    }

    /// Returns the service demand of a transaction over all stations. [s]
    fn demand(&self, class: &Class) -> f64 {
        let visits = self.visits(class).unwrap_or_default();
        (self.stations.iter().zip(visits))
            .filter_map(|(station, visits)| {
                Some(station.service(&class.name)?.service_time_s * visits)
            })
            .sum()
    }

    /// Returns, by class, the classes on which the times of its jobs depend, with the class itself.
    fn met(&self) -> Vec<Vec<usize>> {
        let visited: Vec<Vec<bool>> = (self.classes.iter())
            .map(|class| self.visited(class))
            .collect();
        let count = self.classes.len();
        (0..count)
            .map(|class| {
                let mut met = vec![class];
                let mut next = 0;
                while let Some(&found) = met.get(next) {
                    let new: Vec<usize> = (0..count)
                        .filter(|other| !met.contains(other))
                        .filter(|&other| self.delays(other, found, &visited))
                        .collect();
                    met.extend(new);
                    next += 1;
                }
                met
            })
            .collect()
    }

    /// Returns, by station, `true` if jobs of a class are served there.
    fn visited(&self, class: &Class) -> Vec<bool> {
        let visits = self.visits(class).unwrap_or_default();
        (self.stations.iter().zip(visits))
            .map(|(station, visits)| {
                visits > 0.0
                    && station
                        .service(&class.name)
                        .is_some_and(|service| service.service_time_s > 0.0)
            })
            .collect()
    }

    /// Returns `true` if jobs of class `other` may delay those of class `own` at a station or a pool.
    fn delays(&self, other: usize, own: usize, visited: &[Vec<bool>]) -> bool {
        let both = |index: usize| visited[other][index] && visited[own][index];
        let [first, second] = [other, own].map(|class| &self.classes[class]);
        let at_station = (self.stations.iter().enumerate()).any(|(index, station)| {
            let passed = || {
                station.discipline == Discipline::Priority
                    && station.preemptive
                    && self.rank(first, station) > self.rank(second, station)
            };
            both(index) && station.discipline != Discipline::Delay && !passed()
        });
        let concerns = |pool: &Pool, class: &Class| {
            pool.classes.is_empty() || pool.classes.contains(&class.name)
        };
        let at_pool = |pool: &Pool| {
            let inside = self.within(pool);
            let enters = |class: usize| inside.iter().any(|&index| visited[class][index]);
            concerns(pool, first) && concerns(pool, second) && enters(other) && enters(own)
        };
        at_station || self.pools.iter().any(at_pool)
    }

    /// Returns the indices of the stations inside a pool and its inner pools.
    fn within(&self, pool: &Pool) -> Vec<usize> {
        let stations = self.stations.iter().enumerate();
        let direct = stations.filter(|(_, station)| pool.holds.contains(&station.name));
        let inner = (self.pools.iter()).filter(|inner| pool.holds.contains(&inner.name));
        (direct.map(|(index, _)| index))
            .chain(inner.flat_map(|inner| self.within(inner)))
            .collect()
    }

    /// Returns `true` if no time and no choice of a class is random.
    fn is_constant(&self, class: &Class) -> bool {
        let is_even = || {
            (self.stations.iter().zip(self.visited(class)))
                .filter(|(_, visited)| *visited)
                .filter_map(|(station, _)| Some((station, station.service(&class.name)?)))
                .all(|(station, service)| self.is_even(station, service))
        };
        class.begins_at_equal_distances()
            && self.has_no_choice(class)
            && !self.has_random_behaviour(class)
            && is_even()
    }

    /// Returns `true` if all transactions of a class take the same route.
    fn has_no_choice(&self, class: &Class) -> bool {
        let Some(route) = (self.routing.iter()).find(|route| route.class == class.name) else {
            return true;
        };
        let mut branching = Some(&route.start);
        // A route without a choice that leads to the end does not visit a station twice.
        for _ in 0..=self.stations.len() {
            match branching.map(only) {
                None | Some(Some(END)) => return true,
                Some(None) => return false,
                Some(Some(station)) => branching = route.next.get(station),
            }
        }
        true
    }

    /// Returns `true` if the behaviour of a model makes times of a class random, apart from measured service times.
    fn has_random_behaviour(&self, class: &Class) -> bool {
        let behaviour = &self.behaviour;
        let served = |name: &str| {
            (self.stations.iter())
                .any(|station| station.name == name && station.service(&class.name).is_some())
        };
        let random = |policy| matches!(policy, Policy::Random | Policy::PowerOfTwo);
        let known = |ratio: f64| ratio == 0.0 || (ratio - 1.0).abs() < ROUNDING;
        (behaviour.patience.iter())
            .any(|patience| patience.class == class.name && patience.patience_s.is_some())
            || (behaviour.batches.iter())
                .any(|batch| batch.class == class.name && batch.sizes == BatchSizes::Geometric)
            || (behaviour.failures.iter()).any(|failure| served(&failure.station))
            || (behaviour.balancers.iter()).any(|balancer| {
                random(balancer.policy) && balancer.stations.iter().any(|name| served(name))
            })
            || (behaviour.caches.iter())
                .any(|cache| served(&cache.station) && !cache.hit_ratio.is_some_and(known))
    }

    /// Returns `true` if all transactions make the same number of visits of the same length.
    fn is_even(&self, station: &Station, service: &Service) -> bool {
        let measured = (self.behaviour.samples.iter())
            .find(|samples| samples.station == station.name && samples.class == service.class);
        let same = match measured {
            Some(samples) => samples
                .values_s
                .windows(2)
                .all(|pair| pair[0].total_cmp(&pair[1]).is_eq()),
            None => is_constant(service.variation),
        };
        same && service.visits.unwrap_or(1.0).fract() == 0.0
    }
}

impl Class {
    fn begins_at_equal_distances(&self) -> bool {
        match self.users {
            Some(_) => self.think_time_s == 0.0 || is_constant(self.think),
            None => is_constant(self.arrivals),
        }
    }
}

/// Returns the time after which streams of arrivals have the same distances again; 0 without such streams. If it is
/// long, that of [`BEATS_AT_MOST`] arrivals of the slowest stream, which meet the others at nearly all distances. [s]
fn beat_s<'a>(classes: impl Iterator<Item = &'a Class>) -> f64 {
    let rates: Vec<f64> = classes
        .filter_map(|class| class.arrival_rate_per_s)
        .collect();
    let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let whole = |count: u32| {
        rates.iter().all(|rate| {
            let arrivals = f64::from(count) * rate / slowest;
            (arrivals - arrivals.round()).abs() < ROUNDING * arrivals
        })
    };
    let count = (1..BEATS_AT_MOST).find(|&count| whole(count));
    f64::from(count.unwrap_or(BEATS_AT_MOST)) / slowest
}

/// Returns the only destination of a branching; `None` if there are several.
fn only(branching: &Branching) -> Option<&str> {
    let mut possible = branching.iter().filter(|(_, chance)| **chance > 0.0);
    match (possible.next(), possible.next()) {
        (None, _) => Some(END),
        (Some((name, chance)), None) if (chance - 1.0).abs() < ROUNDING || name == END => {
            Some(name)
        }
        _ => None,
    }
}

fn is_constant(times: Variation) -> bool {
    times.squared_coefficient() == 0.0
}

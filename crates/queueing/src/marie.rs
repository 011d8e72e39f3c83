//! Solves one closed class at first-come-first-served stations whose service times are not exponential.
//!
//! Marie, IEEE Trans. Software Eng. 5(5), 1979: the rest of the network sends jobs to a station at a rate that depends
//! on the number of jobs already at the station. With these rates, the station is solved exactly with two phases of
//! service ([`crate::phases`]), and its completion rates become the speeds of a product-form station. This is repeated
//! for each such station until all speeds converge. If all other stations are delays, the two phases are the only
//! assumption.
//!
//! Two phases cannot have a squared coefficient of variation below 1/2. For smaller values, results are extrapolated
//! linearly, since residence times grow nearly linearly with the squared coefficient of variation.

use crate::convolution::{self, Closed, Extras, Queue};
use crate::model::Discipline;
use crate::network::{Center, Network, Speed};
use crate::phases::{self, Conditional, LEAST_SCV, Phases};

/// Limit on the operations of a solution, which take some tenths of a second. [1]
const OPERATIONS_AT_MOST: f64 = 3e8;
/// Limit on the iterations over the stations solved by phases; most networks need only a few.
const ROUNDS_AT_MOST: usize = 100;
/// Relative change of the speeds of a station at which the iteration has converged.
const TOLERANCE: f64 = 1e-10;

/// Mean values of a network with one class: throughput, and number of jobs at each station.
#[derive(Clone, Debug)]
pub struct Means {
    /// Throughput of the class. [1/s]
    pub throughput: f64,
    /// Mean number of jobs at each station.
    pub jobs: Vec<f64>,
}

/// Solves a network of one closed class without pools and forks; `None` if the method does not apply or costs too much.
#[must_use]
pub fn solve(network: &Network) -> Option<Means> {
    let problem = Problem::of(network)?;
    let least = problem.least_scv();
    if least >= LEAST_SCV {
        return problem.solve(1.0);
    }
    // Squared coefficients of variation below 1/2 are reached by linear extrapolation from 1 and 1/2. `step` is the
    // ratio of the computed to the requested change.
    let step = (1.0 - LEAST_SCV) / (1.0 - least);
    let (plain, near) = (problem.solve(0.0)?, problem.solve(step)?);
    Some(problem.beyond(&plain, &near, step))
}

struct Problem<'a> {
    network: &'a Network,
    users: usize,
    /// Think time plus the time at stations without queues. [s]
    away: f64,
    /// Indices of the product-form stations that have a queue.
    plain: Vec<usize>,
    /// Indices of the stations that are solved by phases.
    special: Vec<usize>,
}

impl<'a> Problem<'a> {
    fn of(network: &'a Network) -> Option<Self> {
        let lone = network.loads.len() == 1 && network.closed().len() == 1;
        if !lone || !network.holds.is_empty() || !network.splits.is_empty() {
            return None;
        }
        let mut problem = Self {
            network,
            users: usize::try_from(network.users(0)).ok()?,
            away: network.think_time(0),
            plain: Vec::new(),
            special: Vec::new(),
        };
        for (index, center) in network.centers.iter().enumerate() {
            if center.demand[0] == 0.0 {
                continue;
            }
            let servers = match center.speed {
                Speed::Servers(servers) => Some(servers as usize),
                _ => None,
            };
            if !center.is_queue() || servers.is_some_and(|count| count >= problem.users) {
                problem.away += center.demand[0];
            } else if center.is_product_form() {
                problem.plain.push(index);
            } else if center.discipline == Discipline::Fcfs && servers.is_some() {
                problem.special.push(index);
            } else {
                return None;
            }
        }
        (problem.cost() <= OPERATIONS_AT_MOST).then_some(problem)
    }

    fn center(&self, station: usize) -> &Center {
        &self.network.centers[station]
    }

    fn cost(&self) -> f64 {
        let users = self.users as f64;
        let levels: f64 = (self.special.iter())
            .map(|&station| 4.0 * users * (self.center(station).speed.limit() + 1.0).powi(3))
            .sum();
        if self.special.len() + self.plain.len() == 1 {
            return levels;
        }
        let rounds = 10.0;
        let rest = convolution::cost(&self.closed(&self.first_speeds(), None, self.users));
        rounds * (levels + self.special.len() as f64 * rest)
    }

    fn least_scv(&self) -> f64 {
        (self.special.iter())
            .map(|&station| self.center(station).scv[0])
            .fold(f64::INFINITY, f64::min)
    }

    fn first_speeds(&self) -> Vec<Vec<f64>> {
        (self.special.iter())
            .map(|&station| {
                (1..=self.users as u64)
                    .map(|jobs| self.center(station).speed.at(jobs))
                    .collect()
            })
            .collect()
    }

    /// Creates the product-form network from the speeds of the stations that are solved by phases, without station
    /// `without`.
    fn closed(&self, speeds: &[Vec<f64>], without: Option<usize>, users: usize) -> Closed {
        let queue = |station: usize, speed: Speed| Queue {
            speed,
            open_load: 0.0,
            demand: vec![self.center(station).demand[0]],
        };
        let mut queues: Vec<Queue> = (self.plain.iter())
            .map(|&station| queue(station, self.center(station).speed.clone()))
            .collect();
        for (place, (&station, speed)) in self.special.iter().zip(speeds).enumerate() {
            if Some(place) != without {
                queues.push(queue(station, Speed::Rates(speed[..users].to_vec())));
            }
        }
        let alone: f64 = (queues.iter())
            .map(|queue| queue.demand[0] / queue.speed.at(1))
            .sum();
        let most = (queues.iter())
            .map(|queue| queue.speed.highest() / queue.demand[0])
            .fold(f64::INFINITY, f64::min);
        Closed {
            users: vec![users as u64],
            think_time: vec![self.away],
            queues,
            estimate: vec![most.min(users as f64 / (self.away + alone))],
        }
    }

    /// Returns the throughput and mean numbers of jobs of the network without the station `without` (one of those
    /// solved by phases), for 0, 1, ... N users.
    fn rest(&self, speeds: &[Vec<f64>], without: usize) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
        let most = self.users;
        if self.plain.is_empty() && self.special.len() == 1 {
            let rate = |users: usize| users as f64 / self.away;
            return Some(((0..=most).map(rate).collect(), Vec::new()));
        }
        let extras = Extras {
            marginals: false,
            populations: true,
        };
        let means = convolution::solve(&self.closed(speeds, Some(without), most), extras)?;
        let (mut rates, mut jobs) = (means.throughput_at, means.jobs_at);
        for users in 1..=most {
            let known = rates[users].is_finite() && rates[users] > 0.0;
            if known && jobs.iter().all(|row| row[users].is_finite()) {
                continue;
            }
            let closed = self.closed(speeds, Some(without), users);
            let means = convolution::solve(&closed, Extras::default())?;
            rates[users] = means.throughput[0];
            for (row, value) in jobs.iter_mut().zip(&means.jobs[0]) {
                row[users] = *value;
            }
        }
        rates[0] = 0.0;
        for row in &mut jobs {
            row[0] = 0.0;
        }
        Some((rates, jobs))
    }

    /// Returns the speeds of a station that is solved by phases. `rest` contains the throughputs of all other stations,
    /// the arrival rates at this station. `step` = 1 selects the station's variation of service times, and `step` = 0
    /// exponential times.
    fn station(&self, place: usize, rest: &[f64], step: f64) -> Conditional {
        let center = self.center(self.special[place]);
        // The first entry is left out: with no users in the rest of the network, no job can arrive.
        let arrivals: Vec<f64> = (rest[1..].iter().rev())
            .map(|rate| rate * center.demand[0])
            .collect();
        let scv = 1.0 + step * (center.scv[0] - 1.0);
        phases::solve(Phases::of(scv), center.speed.limit() as usize, &arrivals)
    }

    fn solve(&self, step: f64) -> Option<Means> {
        let Some(last) = self.special.len().checked_sub(1) else {
            return self.product_form(&[]);
        };
        if last == 0 && self.plain.is_empty() && self.away == 0.0 {
            return Some(self.never_left());
        }
        let mut speeds = self.first_speeds();
        for _ in 0..ROUNDS_AT_MOST {
            let mut moved = 0.0_f64;
            for place in 0..=last {
                let (rates, jobs) = self.rest(&speeds, place)?;
                let found = self.station(place, &rates, step);
                if last == 0 {
                    return self.one_special(&found, &jobs);
                }
                for (old, new) in speeds[place].iter_mut().zip(&found.speeds) {
                    moved = moved.max((*old - new).abs() / new);
                    *old = *new;
                }
            }
            if moved < TOLERANCE {
                return self.product_form(&speeds);
            }
        }
        None
    }

    /// Returns the mean values if all users always stay at one station, whose servers are always busy.
    fn never_left(&self) -> Means {
        let station = self.special[0];
        let mut jobs = vec![0.0; self.network.centers.len()];
        jobs[station] = self.users as f64;
        let center = self.center(station);
        Means {
            throughput: center.speed.limit() / center.demand[0],
            jobs,
        }
    }

    /// Returns the mean values from the distribution of the number of jobs at the only station that is solved by
    /// phases.
    fn one_special(&self, found: &Conditional, rest: &[Vec<f64>]) -> Option<Means> {
        let station = self.special[0];
        let chances = found.distribution();
        let mean = |value: &dyn Fn(usize) -> f64| -> f64 {
            (chances.iter().enumerate())
                .map(|(jobs, chance)| chance * value(jobs))
                .sum()
        };
        let speed = mean(&|jobs| {
            if jobs == 0 {
                0.0
            } else {
                found.speeds[jobs - 1]
            }
        });
        let mut jobs = vec![0.0; self.network.centers.len()];
        jobs[station] = mean(&|jobs| jobs as f64);
        for (&other, row) in self.plain.iter().zip(rest) {
            jobs[other] = mean(&|jobs| row[self.users - jobs]);
        }
        self.with_delays(speed / self.center(station).demand[0], jobs)
    }

    fn product_form(&self, speeds: &[Vec<f64>]) -> Option<Means> {
        let closed = self.closed(speeds, None, self.users);
        let means = convolution::solve(&closed, Extras::default())?;
        let mut jobs = vec![0.0; self.network.centers.len()];
        for (&station, value) in self.plain.iter().chain(&self.special).zip(&means.jobs[0]) {
            jobs[station] = *value;
        }
        self.with_delays(means.throughput[0], jobs)
    }

    fn with_delays(&self, throughput: f64, mut jobs: Vec<f64>) -> Option<Means> {
        for (index, center) in self.network.centers.iter().enumerate() {
            if !self.plain.contains(&index) && !self.special.contains(&index) {
                jobs[index] = throughput * center.demand[0];
            }
        }
        let sound = throughput.is_finite() && jobs.iter().all(|count| count.is_finite());
        sound.then_some(Means { throughput, jobs })
    }

    /// Extrapolates residence times to a variation that two phases cannot represent. Uses the times at the smallest
    /// variation of two phases (`near`) and those for exponential times (`plain`).
    fn beyond(&self, plain: &Means, near: &Means, step: f64) -> Means {
        let users = self.users as f64;
        let mut times: Vec<f64> = (self.network.centers.iter().enumerate())
            .map(|(index, center)| {
                let first = plain.jobs[index] / plain.throughput;
                let second = near.jobs[index] / near.throughput;
                (first + (second - first) / step).max(center.demand[0].min(second))
            })
            .collect();
        let total = self.network.think_time(0) + times.iter().sum::<f64>();
        let limit = (self.special.iter().chain(&self.plain))
            .map(|&index| self.center(index).speed.highest() / self.center(index).demand[0])
            .fold(f64::INFINITY, f64::min);
        let throughput = (users / total).min(limit);
        // The throughput is limited to the capacity of the slowest station. Users then wait at that station for the
        // rest of their cycle time.
        let more = users / throughput - total;
        let slowest = (self.special.iter().chain(&self.plain)).max_by(|&&one, &&other| {
            let slow =
                |index: usize| self.center(index).demand[0] / self.center(index).speed.highest();
            slow(one).total_cmp(&slow(other))
        });
        if let Some(&index) = slowest {
            times[index] += more;
        }
        Means {
            throughput,
            jobs: times.iter().map(|time| time * throughput).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Model;
    use crate::network::Network;
    use crate::solve::{Method, solve};

    fn network(users: u64, think_time: f64, stations: &serde_json::Value) -> Model {
        serde_json::from_value(serde_json::json!({
            "classes": [{"name": "jobs", "users": users, "think_time_s": think_time}], "stations": stations}))
        .unwrap()
    }

    fn station(name: &str, servers: u32, time: f64, scv: f64) -> serde_json::Value {
        serde_json::json!({"name": name, "servers": servers,
            "services": [{"class": "jobs", "service_time_s": time, "variation": {"scv": scv}}]})
    }

    /// Expected throughputs and response times come from simulation (`towtank-engine simulate`, 2 million events, error
    /// 0.5 %).
    #[test]
    fn one_class_in_order_of_arrival_is_as_simulated() {
        for (users, think, servers, time, scv, throughput, response) in [
            (50, 0.0, 4, 0.071, 0.25, 56.34, 0.8875),
            (20, 0.0, 1, 0.04, 0.9, 25.0, 0.8),
            (200, 1.0, 3, 0.04, 0.5, 75.0, 1.664),
            (200, 1.0, 8, 0.04, 4.0, 183.1, 0.0905),
            (40, 4.0, 8, 1.0, 4.0, 7.273, 1.494),
            (2, 1.0, 1, 1.0, 0.0, 0.8441, 1.368),
        ] {
            let stations = serde_json::json!([station("s", servers, time, scv)]);
            let answer = solve(&network(users, think, &stations), Method::Auto).unwrap();
            let found = &answer.classes["jobs"];
            assert!(answer.method.contains("Marie") && !answer.exact);
            assert!(
                (found.throughput_per_s / throughput - 1.0).abs() < 0.01,
                "{found:?}"
            );
            assert!(
                (found.response_time_s / response - 1.0).abs() < 0.03,
                "{found:?}"
            );
            assert!(answer.checks.within_bounds && answer.checks.population < 1e-9);
        }
    }

    #[test]
    fn exponential_times_join_the_exact_answer() {
        for scvs in [[1.0, 1.0], [1.0 + 1e-9, 1.0], [1.0 - 1e-9, 1.0 + 1e-9]] {
            let stations =
                serde_json::json!([station("a", 2, 0.3, scvs[0]), station("b", 1, 0.1, scvs[1])]);
            let exact = serde_json::json!([station("a", 2, 0.3, 1.0), station("b", 1, 0.1, 1.0)]);
            let network = Network::of(&network(25, 2.0, &stations)).unwrap();
            let means = super::solve(&network).unwrap();
            let exact = solve(&self::network(25, 2.0, &exact), Method::Exact).unwrap();
            let found = &exact.classes["jobs"];
            assert!((means.throughput / found.throughput_per_s - 1.0).abs() < 1e-8);
            for (station, jobs) in ["a", "b"].iter().zip(&means.jobs) {
                assert!((jobs / exact.stations[*station].queue_length - 1.0).abs() < 1e-7);
            }
        }
    }
}

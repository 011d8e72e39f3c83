//! Approximate mean value analysis, for networks without product form or too large for exact solution.
//!
//! Iterates to a fixed point. The mean numbers of jobs that an arriving job finds determine its residence times. The
//! residence times determine the numbers of jobs by Little's law. An arriving job of a closed class does not find
//! itself in the network. The state that it finds is estimated by the method of Bard and Schweitzer, or by the
//! Linearizer (Chandy and Neuse, Comm. ACM 25(2), 1982).

use crate::join;
use crate::limit;
use crate::model::Discipline;
use crate::network::{Center, Load, Network, Speed};
use crate::stay;

/// Relative change of the numbers of jobs at which the iteration has converged.
const TOLERANCE: f64 = 1e-13;
/// Limit on the iterations. If the load of an open class is near 1, many iterations are needed, since each iteration
/// only multiplies the error by this load.
const ROUNDS_AT_MOST: usize = 50_000;
/// Number of times that the Linearizer corrects its estimates of the queue lengths in a network with one job less.
const CORRECTIONS: usize = 12;

/// Method that estimates the numbers of jobs that an arriving job finds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Estimate {
    /// Scales the queue lengths of the full network to a network with one job less.
    BardSchweitzer,
    /// Solves a network with one job less for its queue lengths.
    Linearizer,
}

/// Mean values at the fixed point of the iteration.
#[derive(Clone, Debug)]
pub struct Means {
    /// Throughput by class. [1/s]
    pub throughput: Vec<f64>,
    /// Residence time by class and station. [s]
    pub residence: Vec<Vec<f64>>,
    /// Wait of a class for a unit of a pool, by class and pool. [s]
    pub pool_wait: Vec<Vec<f64>>,
    /// Time that a class holds a unit of a pool, by class and pool. [s]
    pub pool_hold: Vec<Vec<f64>>,
    /// Response time by class. [s]
    pub response: Vec<f64>,
    /// `true` if the iteration converged within the allowed number of steps.
    pub converged: bool,
}

/// Numbers of jobs by class and place. The list of places contains all stations, then the held units of each pool, then
/// the queue of each pool.
type Numbers = Vec<Vec<f64>>;

struct Problem<'a> {
    network: &'a Network,
    /// For each class, the pools that are not inside another pool.
    outermost_pools: Vec<Vec<usize>>,
}

/// State of the fixed-point iteration.
struct Round {
    users: Vec<f64>,
    numbers: Numbers,
    throughput: Vec<f64>,
    /// Additional wait at each station, which keeps the throughput of the station within its capacity (see [`limit`]).
    excess: Vec<f64>,
    means: Means,
}

/// Solves a network of any kind by approximate mean value analysis.
#[must_use]
pub fn solve(network: &Network, estimate: Estimate) -> Means {
    let problem = Problem::new(network);
    let classes = network.loads.len();
    let users: Vec<f64> = (0..classes)
        .map(|class| network.users(class) as f64)
        .collect();
    let none = vec![vec![vec![0.0; problem.places()]; classes]; classes];
    let mut full = problem.core(&users, problem.start(&users), &none);
    if estimate == Estimate::BardSchweitzer {
        return full.means;
    }
    let closed = network.closed();
    let mut less: Vec<Option<Round>> = (0..classes).map(|_| None).collect();
    let mut changes = none;
    for _ in 0..CORRECTIONS {
        for &class in &closed {
            let mut fewer = users.clone();
            fewer[class] -= 1.0;
            let begin = less[class].take().map_or_else(
                || scaled(&full.numbers, &users, &fewer),
                |round| round.numbers,
            );
            less[class] = Some(problem.core(&fewer, begin, &changes));
        }
        let before = full.throughput.clone();
        changes = problem.changes(&full, &less);
        full = problem.core(&users, full.numbers, &changes);
        let moved = before
            .iter()
            .zip(&full.throughput)
            .any(|(old, new)| (old - new).abs() > 1e-10 * new);
        if !moved {
            break;
        }
    }
    full.means
}

impl<'a> Problem<'a> {
    fn new(network: &'a Network) -> Self {
        let held_by = |class: usize, pool: usize| {
            network
                .holds
                .iter()
                .any(|outer| outer.concerns[class] && outer.pools.contains(&pool))
        };
        let outermost_pools = (0..network.loads.len())
            .map(|class| {
                (0..network.holds.len())
                    .filter(|&pool| network.holds[pool].concerns[class] && !held_by(class, pool))
                    .collect()
            })
            .collect();
        Self {
            network,
            outermost_pools,
        }
    }

    fn stations(&self) -> usize {
        self.network.centers.len()
    }

    fn places(&self) -> usize {
        self.stations() + 2 * self.network.holds.len()
    }

    /// Returns the total service demand of a class over all stations. [s]
    fn demand(&self, class: usize) -> f64 {
        let centers = self.network.centers.iter();
        centers.map(|center| center.demand[class]).sum()
    }

    /// Returns initial numbers of jobs. Closed classes have users × demand / (total demand + think time) jobs at a
    /// station, and open classes arrival rate × demand.
    fn start(&self, users: &[f64]) -> Numbers {
        (0..users.len())
            .map(|class| {
                let demand = self.demand(class);
                let mut row = vec![0.0; self.places()];
                for (number, center) in row.iter_mut().zip(&self.network.centers) {
                    *number = match self.network.loads[class] {
                        Load::Closed { think_time, .. } => {
                            users[class] * center.demand[class] / (demand + think_time)
                        }
                        Load::Open { rate, .. } => rate * center.demand[class],
                    };
                }
                row
            })
            .collect()
    }

    /// Returns `changes[absent][class][place]`: the change of the fraction of users of `class` at `place` if one user
    /// of `absent` is removed. A place is a station, the units of a pool, or the queue for a pool.
    fn changes(&self, full: &Round, less: &[Option<Round>]) -> Vec<Numbers> {
        let share = |round: &Round, class: usize, place: usize| {
            if round.users[class] > 0.0 {
                round.numbers[class][place] / round.users[class]
            } else {
                0.0
            }
        };
        (less.iter())
            .map(|round| {
                let each = |class: usize, place: usize| match round {
                    Some(round) if round.users[class] > 0.0 => {
                        share(round, class, place) - share(full, class, place)
                    }
                    _ => 0.0,
                };
                (0..full.users.len())
                    .map(|class| (0..self.places()).map(|place| each(class, place)).collect())
                    .collect()
            })
            .collect()
    }

    /// Iterates until the numbers of jobs converge.
    fn core(&self, users: &[f64], numbers: Numbers, changes: &[Numbers]) -> Round {
        let classes = users.len();
        let mut round = Round {
            users: users.to_vec(),
            throughput: (0..classes)
                .map(|class| self.first_throughput(users, class))
                .collect(),
            means: Means {
                throughput: vec![0.0; classes],
                residence: vec![vec![0.0; self.stations()]; classes],
                pool_wait: vec![vec![0.0; self.network.holds.len()]; classes],
                pool_hold: vec![vec![0.0; self.network.holds.len()]; classes],
                response: vec![0.0; classes],
                converged: false,
            },
            excess: vec![0.0; self.stations()],
            numbers,
        };
        for count in 0..ROUNDS_AT_MOST {
            let moved = self.round(&mut round, changes, count);
            if moved < TOLERANCE {
                round.means.converged = true;
                break;
            }
        }
        round.means.throughput.clone_from(&round.throughput);
        round
    }

    fn first_throughput(&self, users: &[f64], class: usize) -> f64 {
        match self.network.loads[class] {
            Load::Closed { think_time, .. } => users[class] / (self.demand(class) + think_time),
            Load::Open { rate, .. } => rate,
        }
    }

    /// Runs one iteration; returns the largest relative change of any number of jobs.
    fn round(&self, round: &mut Round, changes: &[Numbers], count: usize) -> f64 {
        // If many servers are near saturation, full steps make the numbers oscillate. After the first iterations, only
        // half of each change is therefore applied.
        let step = if count < 20 { 1.0 } else { 0.5 };
        let mut moved = 0.0_f64;
        let mut next = round.numbers.clone();
        for class in 0..round.users.len() {
            if round.users[class] <= 0.0 && matches!(self.network.loads[class], Load::Closed { .. })
            {
                round.throughput[class] = 0.0;
                next[class].fill(0.0);
                continue;
            }
            let found = self.found(round, class, &changes[class]);
            self.stays(round, class, &found);
            let response = self.response(round, class, &found);
            round.means.response[class] = response;
            let throughput = match self.network.loads[class] {
                Load::Closed { think_time, .. } => round.users[class] / (think_time + response),
                Load::Open { rate, .. } => rate,
            };
            round.throughput[class] += step * (throughput - round.throughput[class]);
            for (place, number) in next[class].iter_mut().enumerate() {
                let before = round.numbers[class][place];
                *number = before
                    + step * (round.throughput[class] * self.time_at(round, class, place) - before);
                moved = moved.max((*number - before).abs() / number.max(1e-9));
            }
        }
        round.numbers = next;
        let closed = limit::Closed {
            network: self.network,
            users: &round.users,
            response: &round.means.response,
        };
        moved.max(closed.hold_within(&round.means.residence, &mut round.excess))
    }

    /// Computes the residence times of a class at all stations, from the numbers of jobs that it finds. [s]
    fn stays(&self, round: &mut Round, class: usize, found: &Numbers) {
        let others: Vec<f64> = (round.users.iter().zip(&self.network.loads))
            .map(|(&users, load)| match load {
                Load::Closed { .. } if users > 0.0 => (users - 1.0).max(0.0) / users,
                Load::Closed { .. } => 0.0,
                Load::Open { .. } => 1.0,
            })
            .collect();
        for (station, center) in self.network.centers.iter().enumerate() {
            let busy: Vec<f64> = (0..round.users.len())
                .map(|other| {
                    let own = self.own_absence(round, class, other, station);
                    own * round.throughput[other] * center.demand[other]
                })
                .collect();
            let queue: Vec<f64> = found.iter().map(|row| row[station]).collect();
            let enough = never_waits(self.network, &round.users, center, class);
            let at = stay::Found {
                queue: &queue,
                busy: &busy,
                others: &others,
            };
            let stay = stay::residence(center, class, &at, enough);
            round.means.residence[class][station] =
                limit::with_excess(center, class, stay, round.excess[station]);
        }
    }

    /// Returns the time that a class spends at a place, which is a station, the units of a pool, or the queue for units
    /// of a pool.
    fn time_at(&self, round: &Round, class: usize, place: usize) -> f64 {
        let (stations, pools) = (self.stations(), self.network.holds.len());
        if place < stations {
            round.means.residence[class][place]
        } else if place < stations + pools {
            round.means.pool_hold[class][place - stations]
        } else {
            round.means.pool_wait[class][place - stations - pools]
        }
    }

    /// Returns the number of jobs that an arriving job of a class finds at each place (station, units of a pool or
    /// queue for a pool).
    fn found(&self, round: &Round, class: usize, changes: &Numbers) -> Numbers {
        (0..round.users.len())
            .map(|other| {
                (0..self.places())
                    .map(|place| {
                        let number = round.numbers[other][place];
                        if matches!(self.network.loads[other], Load::Open { .. })
                            || round.users[other] <= 0.0
                        {
                            return number;
                        }
                        let open = matches!(self.network.loads[class], Load::Open { .. });
                        let own = if open {
                            1.0
                        } else {
                            self.own_absence(round, class, other, place)
                        };
                        let rest = round.users[other] - f64::from(other == class);
                        let change = if open {
                            0.0
                        } else {
                            rest * changes[other][place]
                        };
                        (number * own + change).max(0.0)
                    })
                    .collect()
            })
            .collect()
    }

    /// Returns the factor that removes an arriving job of `class` from the mean number of jobs of `other` at a place.
    /// It is (n − 1) / n for the job's own class and 1 for other classes. Here n is the number of users of the class.
    /// Inside a pool, n is the number of units that the class can hold.
    fn own_absence(&self, round: &Round, class: usize, other: usize, place: usize) -> f64 {
        if class != other || matches!(self.network.loads[class], Load::Open { .. }) {
            return 1.0;
        }
        let holder = self
            .network
            .holds
            .iter()
            .enumerate()
            .find(|(_, hold)| hold.concerns[class] && self.holds(hold, place));
        let among = holder.map_or(round.users[class], |(pool, hold)| {
            let held = |class: usize| round.throughput[class] * round.means.pool_hold[class][pool];
            let all: f64 = (0..round.users.len()).map(held).sum();
            let share = if all > 0.0 { held(class) / all } else { 1.0 };
            round.users[class].min((hold.size as f64 * share).max(1.0))
        });
        (among - 1.0).max(0.0) / among
    }

    /// Returns `true` if `place` is directly inside the pool `hold`: the index of a station or, above these, of the
    /// units or the queue of an inner pool.
    fn holds(&self, hold: &crate::network::Hold, place: usize) -> bool {
        match place.checked_sub(self.stations()) {
            None => hold.stations.contains(&place),
            Some(beyond) => hold.pools.contains(&(beyond % self.network.holds.len())),
        }
    }

    /// Returns `true` if a station is inside a pool, directly or through inner pools.
    fn reaches(&self, hold: &crate::network::Hold, class: usize, station: usize) -> bool {
        hold.stations.contains(&station)
            || hold.pools.iter().any(|&pool| {
                let inner = &self.network.holds[pool];
                inner.concerns[class] && self.reaches(inner, class, station)
            })
    }

    /// Returns the response time of a class, summed over its stations, forks and pools. [s]
    fn response(&self, round: &mut Round, class: usize, found: &Numbers) -> f64 {
        let mut direct: Vec<usize> = (0..self.stations()).collect();
        let mut time = 0.0;
        for index in 0..self.outermost_pools[class].len() {
            let pool = self.outermost_pools[class][index];
            time += self.pool(round, class, pool, found);
            direct.retain(|&station| !self.reaches(&self.network.holds[pool], class, station));
        }
        time + self.through(round, class, &direct)
    }

    /// Returns the time that a class spends at the given stations. A fork counts as the mean time of its longest
    /// branch.
    fn through(&self, round: &Round, class: usize, stations: &[usize]) -> f64 {
        let utilization: Vec<f64> = (self.network.centers.iter())
            .map(|center| {
                let load: f64 = round
                    .throughput
                    .iter()
                    .zip(&center.demand)
                    .map(|(rate, need)| rate * need)
                    .sum();
                load / center.speed.highest()
            })
            .collect();
        join::through(
            self.network,
            class,
            stations,
            &round.means.residence[class],
            &utilization,
        )
    }

    /// Computes the wait of a class for a unit of a pool and the time for which the class holds the unit. The pool is
    /// treated as a station whose service is the work inside the pool.
    fn pool(&self, round: &mut Round, class: usize, pool: usize, found: &Numbers) -> f64 {
        let hold = &self.network.holds[pool];
        let mut time = self.through(round, class, &hold.stations);
        for &inner in &hold.pools {
            if self.network.holds[inner].concerns[class] {
                time += self.pool(round, class, inner, found);
            }
        }
        round.means.pool_hold[class][pool] = time;
        let waiting = self.stations() + self.network.holds.len() + pool;
        let classes = 0..round.users.len();
        let busy: f64 = classes
            .clone()
            .map(|other| round.throughput[other] * round.means.pool_hold[other][pool])
            .sum();
        let ahead: f64 = classes
            .map(|other| found[other][waiting] * round.means.pool_hold[other][pool])
            .sum();
        let most: f64 = (0..round.users.len())
            .filter(|&other| hold.concerns[other])
            .map(|other| {
                if self.network.rate(other) > 0.0 {
                    f64::INFINITY
                } else {
                    round.users[other]
                }
            })
            .sum();
        let units = hold.size as f64;
        let wait = if most <= units || busy <= 0.0 {
            0.0
        } else {
            let all_held = stay::all_busy(hold.size.min(u64::from(u32::MAX)) as u32, busy);
            (ahead + all_held * time) / units
        };
        round.means.pool_wait[class][pool] = wait;
        wait + time
    }
}

/// Returns `true` if a class never waits at a station. The station then has a server for every user who could be served
/// first, and all these users belong to closed classes.
fn never_waits(network: &Network, users: &[f64], center: &Center, class: usize) -> bool {
    let Speed::Servers(servers) = center.speed else {
        return false;
    };
    let interrupts = center.discipline == Discipline::Priority && center.preemptive;
    let jobs = (center.visitors())
        .filter(|&other| !interrupts || center.rank[other] <= center.rank[class])
        .map(|other| match network.loads[other] {
            Load::Closed { .. } => users[other],
            Load::Open { .. } => f64::INFINITY,
        });
    jobs.sum::<f64>() <= f64::from(servers)
}

/// Scales numbers of jobs from the population `users` to the population `fewer`.
fn scaled(numbers: &Numbers, users: &[f64], fewer: &[f64]) -> Numbers {
    let factor = |class: usize| {
        if users[class] > 0.0 {
            fewer[class] / users[class]
        } else {
            1.0
        }
    };
    (numbers.iter().enumerate())
        .map(|(class, row)| row.iter().map(|number| number * factor(class)).collect())
        .collect()
}

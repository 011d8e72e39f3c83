//! Exact solution of closed product-form networks by convolution of positive series (see [`crate::series`]).
//!
//! The normalization constant G(N) for the populations N follows Buzen, Comm. ACM 16(9), 1973. The mean number of jobs
//! of class r at station k is Q_rk = D_rk [z^(N − e_r)] F_k'(y_k) Π_{j≠k} F_j / G(N). Here D_rk is the demand, F_k the
//! series of station k in y_k = Σ_r D_rk z_r, e_r one job of class r, and [z^n] the coefficient of z^n.
//!
//! The variables z_r are scaled by estimates of the throughputs, so that G is nearly constant in the relevant range,
//! and rows are normalized to 1. This avoids overflow for 20,000 users and hundreds of servers.

use crate::grid::{Grid, Scaled};
use crate::network::Speed;
use crate::series::Series;

/// A station of a closed network, whose open classes are represented by their load.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Speed of the station, which must not be a delay.
    pub speed: Speed,
    /// Load of open classes at the station, as a number of busy servers. [1]
    pub open_load: f64,
    /// Demand of each closed class at the station. [s]
    pub demand: Vec<f64>,
}

/// A closed network of product form.
#[derive(Clone, Debug)]
pub struct Closed {
    /// Number of users of each class. [1]
    pub users: Vec<u64>,
    /// Think time of each class, including the times of its visits to delays. [s]
    pub think_time: Vec<f64>,
    /// Stations that have a queue, that is, all except delays.
    pub queues: Vec<Queue>,
    /// Estimate of the throughput of each class, used for scaling. An estimate that is too high does less harm than one
    /// that is too low. [1/s]
    pub estimate: Vec<f64>,
}

/// Mean values of a closed network at its full population. Some fields also contain values at smaller populations.
#[derive(Clone, Debug)]
pub struct Means {
    /// Throughput of each class. [1/s]
    pub throughput: Vec<f64>,
    /// Mean number of jobs of each class at each station.
    pub jobs: Vec<Vec<f64>>,
    /// Mean number of jobs of open classes at each station.
    pub open_jobs: Vec<f64>,
    /// For a single class: probabilities of 0, 1, ... N jobs at each station, with N users.
    pub marginals: Vec<Vec<f64>>,
    /// For a single class: throughput with 0, 1, ... N users; NaN where the normalization constant was out of range.
    /// [1/s]
    pub throughput_at: Vec<f64>,
    /// For a single class: mean number of jobs at each station with 0, 1, ... N users.
    pub jobs_at: Vec<Vec<f64>>,
}

/// Selects the optional results, besides the mean values at the full population.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Extras {
    /// `true` if the distribution of the number of jobs at each station is requested.
    pub marginals: bool,
    /// `true` if the mean values at every smaller population are requested.
    pub populations: bool,
}

/// Returns the approximate number of operations that [`solve`] needs for a network.
#[must_use]
pub fn cost(closed: &Closed) -> f64 {
    let users: f64 = closed.users.iter().map(|&count| count as f64).sum();
    let points: f64 = closed
        .users
        .iter()
        .map(|&count| count as f64 + 1.0)
        .product();
    let stations = closed.queues.len() as f64;
    let degree = |queue: &Queue| match &queue.speed {
        Speed::Delay => 0.0,
        Speed::Servers(servers) => f64::from(*servers).min(users + 1.0),
        Speed::Rates(rates) => (rates.len() as f64).min(users + 1.0),
    };
    let steps: f64 = closed.queues.iter().map(degree).sum();
    // At stations with open classes, each coefficient is a binomial sum. Each term of the sum needs an exponential
    // function, which counts as 20 operations.
    let shifts = closed
        .queues
        .iter()
        .filter(|queue| queue.open_load > 0.0)
        .map(|queue| match &queue.speed {
            Speed::Servers(servers) => 20.0 * f64::from(*servers) * degree(queue),
            _ => 20.0 * degree(queue).powi(2),
        });
    let shifts: f64 = shifts.sum();
    points * closed.users.len() as f64 * (steps * (2.0 + stations.log2().max(0.0)) + stations)
        + shifts
}

/// Solves the network exactly; `None` if numbers exceed the range of floating-point numbers.
#[must_use]
pub fn solve(closed: &Closed, extras: Extras) -> Option<Means> {
    let users: usize = closed.users.iter().map(|&count| count as usize).sum();
    let stations: Vec<Scaled> = (closed.queues.iter())
        .map(|queue| {
            let loads: Vec<f64> = queue
                .demand
                .iter()
                .zip(&closed.estimate)
                .map(|(need, rate)| need * rate)
                .collect();
            Scaled::new(&Series::of(&queue.speed, queue.open_load, users), &loads)
        })
        .collect();
    let thinking: Vec<f64> = closed
        .think_time
        .iter()
        .zip(&closed.estimate)
        .map(|(time, rate)| time * rate)
        .collect();
    let (single, multiple): (Vec<usize>, Vec<usize>) =
        (0..stations.len()).partition(|&index| stations[index].is_geometric());
    let start = single
        .iter()
        .fold(Grid::of_delays(&closed.users, &thinking), |grid, &index| {
            grid.times(&stations[index])
        });
    let whole = multiple
        .iter()
        .fold(start.clone(), |grid, &index| grid.times(&stations[index]));
    let mut run = Run::new(closed, &stations, extras);
    run.throughput(&whole)?;
    for &index in &single {
        let slope = whole.slope_of_geometric(&stations[index]);
        run.station(index, &whole, &slope);
        if extras.marginals {
            run.geometric_marginal(index, &whole);
        }
    }
    run.leave_one_out(&multiple, &start);
    let means = run.means;
    let finite = means
        .jobs
        .iter()
        .flatten()
        .chain(&means.open_jobs)
        .all(|value| value.is_finite() && *value >= 0.0);
    finite.then_some(means)
}

struct Run<'a> {
    closed: &'a Closed,
    stations: &'a [Scaled],
    extras: Extras,
    means: Means,
}

impl<'a> Run<'a> {
    fn new(closed: &'a Closed, stations: &'a [Scaled], extras: Extras) -> Self {
        let (classes, count) = (closed.users.len(), closed.queues.len());
        let means = Means {
            throughput: vec![0.0; classes],
            jobs: vec![vec![0.0; count]; classes],
            open_jobs: vec![0.0; count],
            marginals: vec![Vec::new(); count],
            throughput_at: Vec::new(),
            jobs_at: vec![Vec::new(); count],
        };
        Self {
            closed,
            stations,
            extras,
            means,
        }
    }

    /// Computes the throughput of each class r: X_r(N) = G(N − e_r) / G(N), where G is the normalization constant and
    /// e_r one job of class r.
    fn throughput(&mut self, whole: &Grid) -> Option<()> {
        let total = whole.last();
        for (class, estimate) in self.closed.estimate.iter().enumerate() {
            let less = whole.last_but(class);
            if !(total > 1e-250 && total.is_finite() && less > 1e-250 && less.is_finite()) {
                return None;
            }
            self.means.throughput[class] = estimate * less / total;
        }
        if self.extras.populations {
            let pairs = whole
                .values
                .windows(2)
                .map(|pair| self.closed.estimate[0] * pair[0] / pair[1]);
            self.means.throughput_at = std::iter::once(0.0).chain(pairs).collect();
        }
        Some(())
    }

    /// Computes the mean numbers of jobs at a station. `value` is the series of the whole network. In `slope`, the
    /// station's own series is replaced by its derivative.
    fn station(&mut self, index: usize, value: &Grid, slope: &Grid) {
        let queue = &self.closed.queues[index];
        let unit: f64 = queue
            .demand
            .iter()
            .zip(&self.closed.estimate)
            .map(|(need, rate)| need * rate)
            .sum();
        let total = value.last();
        for (class, estimate) in self.closed.estimate.iter().enumerate() {
            let share = queue.demand[class] * estimate / unit;
            self.means.jobs[class][index] = share * slope.last_but(class) / total;
        }
        self.means.open_jobs[index] = queue.open_load / unit * slope.last() / total;
        if self.extras.populations {
            let each = slope
                .values
                .iter()
                .zip(&value.values[1..])
                .map(|(less, all)| less / all);
            self.means.jobs_at[index] = std::iter::once(0.0).chain(each).collect();
        }
    }

    /// Computes the distribution of the number of jobs at a single server, P(n) = F_n G_{−k}(N − n) / G(N). The network
    /// without the station, G_{−k}, is the whole network times 1 − a y, where a is the ratio of the station's geometric
    /// series.
    fn geometric_marginal(&mut self, index: usize, whole: &Grid) {
        let ratio = self.stations[index].ratio();
        let last = whole.values.len() - 1;
        // P(at least n jobs at the station) = ratio^n G(N − n) / G(N).
        let at_least =
            |jobs: usize| ratio.powi(jobs as i32) * whole.values[last - jobs] / whole.last();
        let mut marginal: Vec<f64> = (0..last)
            .map(|jobs| at_least(jobs) - at_least(jobs + 1))
            .collect();
        marginal.push(at_least(last));
        self.means.marginals[index] = marginal;
    }

    /// For each station, computes the network without that station, by recursively halving the list of stations. With K
    /// stations, this needs log2 K convolutions per station and no division.
    fn leave_one_out(&mut self, indices: &[usize], rest: &Grid) {
        match indices {
            [] => {}
            [index] => {
                let (value, slope) = rest.times_with_slope(&self.stations[*index]);
                self.station(*index, &value, &slope);
                if self.extras.marginals {
                    self.means.marginals[*index] = marginal(rest, &self.stations[*index]);
                }
            }
            _ => {
                let (left, right) = indices.split_at(indices.len() / 2);
                for (mine, others) in [(left, right), (right, left)] {
                    let with = others.iter().fold(rest.clone(), |grid, &index| {
                        grid.times(&self.stations[index])
                    });
                    self.leave_one_out(mine, &with);
                }
            }
        }
    }
}

/// Returns the distribution of the number of jobs at a station, for a single class. `rest` is the series of the network
/// without this station.
fn marginal(rest: &Grid, station: &Scaled) -> Vec<f64> {
    let own = rest.one().times(station);
    let weights: Vec<f64> = own
        .values
        .iter()
        .zip(rest.values.iter().rev())
        .map(|(here, there)| here * there)
        .collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_station(users: u64, think_time: f64, servers: u32, demand: f64) -> Closed {
        let estimate = (users as f64 / (think_time + demand)).min(f64::from(servers) / demand);
        Closed {
            users: vec![users],
            think_time: vec![think_time],
            queues: vec![Queue {
                speed: Speed::Servers(servers),
                open_load: 0.0,
                demand: vec![demand],
            }],
            estimate: vec![estimate],
        }
    }

    /// The network has 300 servers with a service time of S = 0.444 s, so X(250) = 250/S and X(500) = 300/S. The
    /// textbook recursion through p(0) gives a throughput of -71/s here.
    #[test]
    fn three_hundred_servers_stay_exact() {
        for (users, exact) in [
            (10, 10.0 / 0.444),
            (250, 250.0 / 0.444),
            (310, 300.0 / 0.444),
            (500, 300.0 / 0.444),
        ] {
            let means = solve(&one_station(users, 0.0, 300, 0.444), Extras::default()).unwrap();
            assert!((means.throughput[0] - exact).abs() < 1e-12 * exact);
            assert!((means.jobs[0][0] - users as f64).abs() < 1e-9);
        }
    }

    #[test]
    fn marginals_add_up_and_have_the_mean() {
        let means = solve(
            &one_station(90, 10.0, 8, 4.0),
            Extras {
                marginals: true,
                populations: true,
            },
        )
        .unwrap();
        let mean: f64 = means.marginals[0]
            .iter()
            .enumerate()
            .map(|(jobs, chance)| jobs as f64 * chance)
            .sum();
        assert!((means.marginals[0].iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((mean - means.jobs[0][0]).abs() < 1e-10);
        assert!((means.throughput_at[90] - means.throughput[0]).abs() < 1e-14);
        assert!((means.throughput_at[1] - 1.0 / 14.0).abs() < 1e-12);
    }
}

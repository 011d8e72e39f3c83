//! Solves networks of one class with pools around product-form stations, by decomposition with flow-equivalent servers.
//!
//! Chandy, Herzog and Woo, IBM J. Res. Dev. 19(1), 1975: the stations inside a pool are solved alone for 1, 2, ...
//! jobs, up to the number of units. In the surrounding network the pool is represented by one station. Its speed with n
//! jobs is the throughput of the stations inside the pool with n jobs. If no job ever waits for a unit, this method is
//! exact (Norton's theorem). Otherwise it is an approximation. It is accurate if the queues inside the pool settle
//! faster than the number of jobs inside changes (Courtois 1977).

use crate::convolution::{Closed, Extras, Queue, solve};
use crate::network::{Network, Speed};
use crate::series::Series;

/// Throughput and mean numbers of jobs inside a pool, or of the whole network, for a given number of jobs.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Throughput of the pool or network. [1/s]
    pub throughput: f64,
    /// Mean number of jobs at each station of the network.
    pub jobs: Vec<f64>,
    /// Mean number of units that are held, by pool.
    pub held: Vec<f64>,
    /// Mean number of jobs that wait for a unit, by pool.
    pub waiting: Vec<f64>,
}

impl State {
    fn empty(network: &Network) -> Self {
        Self {
            throughput: 0.0,
            jobs: vec![0.0; network.centers.len()],
            held: vec![0.0; network.holds.len()],
            waiting: vec![0.0; network.holds.len()],
        }
    }

    fn add(&mut self, other: &Self, weight: f64) {
        let rows = [
            (&mut self.jobs, &other.jobs),
            (&mut self.held, &other.held),
            (&mut self.waiting, &other.waiting),
        ];
        for (mine, theirs) in rows {
            mine.iter_mut()
                .zip(theirs)
                .for_each(|(value, more)| *value += weight * more);
        }
    }
}

/// One level of nesting: the stations and pools directly inside a pool, or those outside of all pools.
struct Layer<'a> {
    network: &'a Network,
    stations: Vec<usize>,
    pools: Vec<(usize, Vec<State>)>,
    think_time: f64,
}

impl<'a> Layer<'a> {
    /// Creates the layer for at most `users` jobs. The results of its pools are computed for each number of jobs.
    fn new(
        network: &'a Network,
        stations: Vec<usize>,
        pools: &[usize],
        think_time: f64,
        users: u64,
    ) -> Option<Self> {
        let mut tables = Vec::new();
        for &pool in pools {
            let hold = &network.holds[pool];
            let most = hold.size.min(users);
            let inside = Self::new(network, hold.stations.clone(), &hold.pools, 0.0, most)?;
            tables.push((pool, inside.table(most)?));
        }
        Some(Self {
            network,
            stations,
            pools: tables,
            think_time,
        })
    }

    fn delays(&self) -> f64 {
        self.think_time
            + self
                .stations
                .iter()
                .map(|&station| &self.network.centers[station])
                .filter(|center| !center.is_queue())
                .map(|center| center.demand[0])
                .sum::<f64>()
    }

    fn queues(&self) -> Vec<usize> {
        self.stations
            .iter()
            .copied()
            .filter(|&station| {
                self.network.centers[station].is_queue()
                    && self.network.centers[station].demand[0] > 0.0
            })
            .collect()
    }

    fn closed(&self, users: u64) -> Closed {
        let mut queues: Vec<Queue> = (self.queues().iter())
            .map(|&station| &self.network.centers[station])
            .map(|center| Queue {
                speed: center.speed.clone(),
                open_load: 0.0,
                demand: vec![center.demand[0]],
            })
            .collect();
        for (_, table) in &self.pools {
            let rates: Vec<f64> = table[1..].iter().map(|state| state.throughput).collect();
            queues.push(Queue {
                speed: Speed::Rates(rates),
                open_load: 0.0,
                demand: vec![1.0],
            });
        }
        let think_time = self.delays();
        let alone: f64 = think_time
            + queues
                .iter()
                .map(|queue| queue.demand[0] / queue.speed.at(1))
                .sum::<f64>();
        let most = queues
            .iter()
            .map(|queue| queue.speed.highest() / queue.demand[0])
            .fold(f64::INFINITY, f64::min);
        let estimate = vec![most.min(users as f64 / alone)];
        Closed {
            users: vec![users],
            think_time: vec![think_time],
            queues,
            estimate,
        }
    }

    /// Solves the layer for a given number of jobs.
    fn state(&self, users: u64) -> Option<State> {
        let mut state = State::empty(self.network);
        if users == 0 {
            return Some(state);
        }
        let extras = Extras {
            marginals: !self.pools.is_empty(),
            populations: false,
        };
        let queues = self.queues();
        let means = solve(&self.closed(users), extras)?;
        state.throughput = means.throughput[0];
        self.delay_jobs(&mut state);
        for (number, &station) in queues.iter().enumerate() {
            state.jobs[station] = means.jobs[0][number];
        }
        for (number, (pool, table)) in self.pools.iter().enumerate() {
            inside(
                &mut state,
                *pool,
                table,
                &means.marginals[queues.len() + number],
            );
        }
        Some(state)
    }

    fn delay_jobs(&self, state: &mut State) {
        for &station in &self.stations {
            let center = &self.network.centers[station];
            if !center.is_queue() {
                state.jobs[station] = state.throughput * center.demand[0];
            }
        }
    }

    /// Returns the results of the layer with 0, 1, ... `most` jobs. Without nested pools, a single convolution yields
    /// all of them.
    fn table(&self, most: u64) -> Option<Vec<State>> {
        if !self.pools.is_empty() {
            return (0..=most).map(|jobs| self.state(jobs)).collect();
        }
        let queues = self.queues();
        let extras = Extras {
            marginals: false,
            populations: true,
        };
        let means = if queues.is_empty() {
            None
        } else {
            solve(&self.closed(most), extras)
        };
        (0..=most)
            .map(|jobs| {
                let at = jobs as usize;
                let throughput = means
                    .as_ref()
                    .map_or(f64::NAN, |means| means.throughput_at[at]);
                if !throughput.is_finite() || (jobs > 0 && throughput <= 0.0) {
                    return if queues.is_empty() {
                        Some(self.only_delays(jobs))
                    } else {
                        self.state(jobs)
                    };
                }
                let mut state = State {
                    throughput,
                    ..State::empty(self.network)
                };
                self.delay_jobs(&mut state);
                for (number, &station) in queues.iter().enumerate() {
                    state.jobs[station] = means.as_ref()?.jobs_at[number][at];
                }
                Some(state)
            })
            .collect()
    }

    fn only_delays(&self, jobs: u64) -> State {
        let mut state = State {
            throughput: jobs as f64 / self.delays(),
            ..State::empty(self.network)
        };
        self.delay_jobs(&mut state);
        state
    }
}

/// Adds the mean values inside a pool to `state`, averaged over the number of jobs that hold or wait for a unit.
fn inside(state: &mut State, pool: usize, table: &[State], marginal: &[f64]) {
    let units = table.len() - 1;
    for (jobs, &chance) in marginal.iter().enumerate() {
        state.add(&table[jobs.min(units)], chance);
        state.held[pool] += chance * jobs.min(units) as f64;
        state.waiting[pool] += chance * jobs.saturating_sub(units) as f64;
    }
}

/// Returns the indices of the stations and of the pools that are not inside a pool.
fn outermost(network: &Network) -> (Vec<usize>, Vec<usize>) {
    let stations = (0..network.centers.len()).filter(|station| {
        !network
            .holds
            .iter()
            .any(|hold| hold.stations.contains(station))
    });
    let pools = (0..network.holds.len())
        .filter(|inner| !network.holds.iter().any(|hold| hold.pools.contains(inner)));
    (stations.collect(), pools.collect())
}

/// Solves a network of one closed class with pools; `None` if numbers exceed the range of floating-point numbers.
#[must_use]
pub fn solve_closed(network: &Network) -> Option<State> {
    let (stations, pools) = outermost(network);
    let users = network.users(0);
    Layer::new(network, stations, &pools, network.think_time(0), users)?.state(users)
}

/// Solves a network of one open class.
///
/// # Errors
///
/// The index of a pool that has no steady state, with its utilization.
pub fn solve_open(network: &Network) -> Result<Option<State>, (usize, f64)> {
    let rate = network.rate(0);
    let (stations, pools) = outermost(network);
    let Some(layer) = Layer::new(network, stations, &pools, 0.0, u64::MAX) else {
        return Ok(None);
    };
    let mut state = State {
        throughput: rate,
        ..State::empty(network)
    };
    layer.delay_jobs(&mut state);
    for station in layer.queues() {
        let center = &network.centers[station];
        state.jobs[station] = Series::open_jobs(&center.speed, rate * center.demand[0]);
    }
    for (pool, table) in &layer.pools {
        let rates: Vec<f64> = table[1..].iter().map(|inner| inner.throughput).collect();
        let utilization = rate / rates[rates.len() - 1];
        if utilization >= 1.0 {
            return Err((*pool, utilization));
        }
        let (marginal, beyond) = birth_death(rate, &rates);
        inside(&mut state, *pool, table, &marginal);
        // With more jobs than units, the state inside the pool no longer changes, since all units are held.
        let weight: f64 = beyond.0;
        state.add(&table[table.len() - 1], weight);
        state.held[*pool] += weight * rates.len() as f64;
        state.waiting[*pool] += beyond.1;
    }
    Ok(Some(state))
}

/// Returns the probabilities of 0, 1, ... L jobs, where L is the length of the table. Also returns the probability of
/// more than L jobs, and the mean number of jobs above L.
fn birth_death(rate: f64, rates: &[f64]) -> (Vec<f64>, (f64, f64)) {
    let mut logs = vec![0.0_f64];
    for speed in rates {
        logs.push(logs[logs.len() - 1] + (rate / speed).ln());
    }
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
    let ratio = rate / rates[rates.len() - 1];
    let last = weights[weights.len() - 1];
    let (beyond, excess) = (
        last * ratio / (1.0 - ratio),
        last * ratio / (1.0 - ratio).powi(2),
    );
    let total: f64 = weights.iter().sum::<f64>() + beyond;
    for weight in &mut weights {
        *weight /= total;
    }
    (weights, (beyond / total, excess / total))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With completion rates 1, 2, ... m the process is M/M/m, whose mean queue is L_q = C ρ / (1 − ρ) with Erlang's C
    /// and the utilization ρ.
    #[test]
    fn birth_and_death_at_m_servers_is_erlang() {
        let (marginal, (beyond, excess)) = birth_death(3.96, &[1.0, 2.0, 3.0, 4.0]);
        let wait = crate::special::erlang_c(4, 3.96);
        assert!((marginal.iter().sum::<f64>() + beyond - 1.0).abs() < 1e-14);
        assert!((marginal[4] + beyond - wait).abs() < 1e-13);
        assert!((excess - wait * 0.99 / 0.01).abs() < 1e-9);
    }
}

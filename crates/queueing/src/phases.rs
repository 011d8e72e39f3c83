//! Solves exactly a station of m servers whose service times have two phases, with an arrival rate that depends on the
//! number of jobs present.
//!
//! Two phases can represent a squared coefficient of variation of at least 1/2. Above 1, service is one of two
//! exponential times, each of which contributes half of the mean (as in the simulator). From 1/2 to 1, service is an
//! exponential time that is followed by a second one with a certain probability (Marie, IEEE Trans. Software Eng. 5(5),
//! 1979).

/// Smallest squared coefficient of variation that a time with two phases can have.
pub const LEAST_SCV: f64 = 0.5;

/// A service time of mean 1 that consists of two exponential phases.
#[derive(Clone, Copy, Debug)]
pub struct Phases {
    /// Probability that service begins in the first phase.
    begin: f64,
    /// Rates at which the first and the second phase end.
    rates: [f64; 2],
    /// Probability that the second phase follows the first.
    goes_on: f64,
}

impl Phases {
    /// Creates the phases for a squared coefficient of variation of at least [`LEAST_SCV`].
    #[must_use]
    pub fn of(scv: f64) -> Self {
        if scv > 1.0 {
            let begin = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
            return Self {
                begin,
                rates: [2.0 * begin, 2.0 * (1.0 - begin)],
                goes_on: 0.0,
            };
        }
        Self {
            begin: 1.0,
            rates: [2.0, 1.0 / scv],
            goes_on: 0.5 / scv,
        }
    }
}

/// Speeds of a station with 1, 2, ... jobs present, in jobs per mean service time, and the ratios of successive
/// probabilities.
#[derive(Clone, Debug)]
pub struct Conditional {
    /// Completion rate with 1, 2, ... jobs at the station.
    pub speeds: Vec<f64>,
    /// p(n) / p(n − 1) for n = 1, 2, ..., where p(n) is the probability of n jobs.
    pub ratios: Vec<f64>,
}

impl Conditional {
    /// Returns the probabilities of 0, 1, ... jobs at the station.
    #[must_use]
    pub fn distribution(&self) -> Vec<f64> {
        let mut logs = vec![0.0_f64];
        for ratio in &self.ratios {
            logs.push(logs[logs.len() - 1] + ratio.ln());
        }
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / total).collect()
    }
}

/// A matrix as a list of its rows.
pub type Matrix = Vec<Vec<f64>>;

/// Solves the station. Jobs arrive at the rate `arrivals[n]` when n jobs are present; the rate is 0 beyond the list.
/// Rates are in jobs per mean service time.
#[must_use]
pub fn solve(phases: Phases, servers: usize, arrivals: &[f64]) -> Conditional {
    let levels = Levels { phases, servers };
    let most = arrivals.len();
    // Matrices R(n) with π(n) = π(n − 1) R(n), where π(n) are the probabilities of the states with n jobs. The matrices
    // are computed from the largest number of jobs down.
    let mut steps: Vec<Matrix> = Vec::with_capacity(most);
    let mut above: Option<Matrix> = None;
    for jobs in (1..=most).rev() {
        // An arrival leads to the level above, but the number of jobs sooner or later returns to its present value.
        // Only the state in which it returns matters, so each such excursion is added as a direct transition.
        let mut local = levels.local(jobs);
        if let Some(step) = &above {
            let back = product(step, &levels.down(jobs + 1));
            for (row, more) in local.iter_mut().zip(back) {
                row.iter_mut()
                    .zip(more)
                    .for_each(|(cell, add)| *cell += add);
            }
        }
        let exits = levels
            .down(jobs)
            .iter()
            .map(|row| row.iter().sum())
            .collect();
        let step = divided(levels.up(jobs - 1, arrivals[jobs - 1]), local, exits);
        above = Some(step.clone());
        steps.push(step);
    }
    let mut state = vec![1.0];
    let (mut speeds, mut ratios) = (Vec::with_capacity(most), Vec::with_capacity(most));
    for (step, rate) in steps.iter().rev().zip(arrivals) {
        let next = row_product(&state, step);
        let ratio: f64 = next.iter().sum();
        ratios.push(ratio);
        speeds.push(rate / ratio);
        state = next.iter().map(|chance| chance / ratio).collect();
    }
    Conditional { speeds, ratios }
}

struct Levels {
    phases: Phases,
    servers: usize,
}

/// A level contains all states with the same number of jobs. A state is the number of jobs in the second phase.
impl Levels {
    fn served(&self, jobs: usize) -> usize {
        jobs.min(self.servers)
    }

    /// Returns the transition rates between the states of a level; the diagonal is zero.
    fn local(&self, jobs: usize) -> Matrix {
        let served = self.served(jobs);
        let mut rates = vec![vec![0.0; served + 1]; served + 1];
        for second in 0..served {
            let first = (served - second) as f64 * self.phases.rates[0];
            rates[second][second + 1] = first * self.phases.goes_on;
        }
        rates
    }

    /// Returns the transition rates of completions, which lead to the level with one job less.
    fn down(&self, jobs: usize) -> Matrix {
        let (served, left) = (self.served(jobs), self.served(jobs - 1));
        let begin = self.phases.begin;
        let mut rates = vec![vec![0.0; left + 1]; served + 1];
        for second in 0..=served {
            let first =
                (served - second) as f64 * self.phases.rates[0] * (1.0 - self.phases.goes_on);
            let last = second as f64 * self.phases.rates[1];
            if left == served {
                // After the completion, the next waiting job begins service.
                rates[second][second] += first * begin + last * (1.0 - begin);
                if second < left {
                    rates[second][second + 1] += first * (1.0 - begin);
                }
                if second > 0 {
                    rates[second][second - 1] += last * begin;
                }
            } else {
                if second <= left {
                    rates[second][second] += first;
                }
                if second > 0 {
                    rates[second][second - 1] += last;
                }
            }
        }
        rates
    }

    /// Returns the transition rates of arrivals, which lead to the level with one job more.
    fn up(&self, jobs: usize, arrivals: f64) -> Matrix {
        let (served, then) = (self.served(jobs), self.served(jobs + 1));
        let begin = self.phases.begin;
        (0..=served)
            .map(|second| {
                let mut row = vec![0.0; then + 1];
                if then == served {
                    row[second] = arrivals;
                } else {
                    row[second] = arrivals * begin;
                    row[second + 1] = arrivals * (1.0 - begin);
                }
                row
            })
            .collect()
    }
}

/// Returns the product of two matrices.
pub(crate) fn product(left: &Matrix, right: &Matrix) -> Matrix {
    left.iter().map(|row| row_product(row, right)).collect()
}

/// Returns the product of a row and a matrix.
pub(crate) fn row_product(row: &[f64], matrix: &Matrix) -> Vec<f64> {
    let mut sum = vec![0.0; matrix[0].len()];
    for (factor, values) in row.iter().zip(matrix) {
        if *factor != 0.0 {
            sum.iter_mut()
                .zip(values)
                .for_each(|(cell, value)| *cell += factor * value);
        }
    }
    sum
}

/// Solves X (−L) = B for X, where B is `rows` and L contains the rates between the states of a level. The diagonal of L
/// is ignored; `exits` are the rates at which each state leaves the level.
///
/// States are eliminated one by one from the last, and transitions through them are replaced by direct ones. There are
/// only additions, multiplications and divisions, so that there is no cancellation (Grassmann, Taksar and Heyman,
/// Operations Research 33(5), 1985). Ordinary elimination, which subtracts on the diagonal, lost all significant digits
/// at 64 servers.
pub(crate) fn divided(mut rows: Matrix, mut local: Matrix, mut exits: Vec<f64>) -> Matrix {
    let width = local.len();
    let mut out_of = vec![0.0; width];
    for last in (0..width).rev() {
        let (before, from_last) = local.split_at_mut(last);
        let from_last = &from_last[0][..last];
        let out = exits[last] + from_last.iter().sum::<f64>();
        out_of[last] = out;
        for (state, row) in before.iter_mut().enumerate() {
            let through = row[last] / out;
            row.iter_mut()
                .zip(from_last)
                .for_each(|(cell, rate)| *cell += through * rate);
            exits[state] += through * exits[last];
        }
        for row in &mut rows {
            let through = row[last] / out;
            row.iter_mut()
                .zip(from_last)
                .for_each(|(cell, rate)| *cell += through * rate);
        }
    }
    for row in &mut rows {
        for state in 0..width {
            let from_others: f64 = (0..state)
                .map(|other| row[other] * local[other][state])
                .sum();
            row[state] = (row[state] + from_others) / out_of[state];
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At scv 1 the two phases form an exponential time. The speed with n jobs at m servers is then min(n, m) for any
    /// arrivals.
    #[test]
    fn exponential_times_are_served_at_the_number_of_servers() {
        let found = solve(Phases::of(1.0), 3, &[2.0, 0.5, 4.0, 1.0, 2.5]);
        for (speed, exact) in found.speeds.iter().zip([1.0, 2.0, 3.0, 3.0, 3.0]) {
            assert!((speed - exact).abs() < 1e-12, "{:?}", found.speeds);
        }
    }

    /// M/G/1 with a capacity of 400 at load 0.7 loses less than 1e-12 of its arrivals. Its mean number of jobs is
    /// therefore that of Pollaczek and Khinchine: L = ρ + ρ² (1 + scv) / (2 (1 − ρ)).
    #[test]
    fn one_server_has_the_queue_of_pollaczek_and_khinchine() {
        for scv in [0.5, 0.8, 1.0, 2.0, 4.0] {
            let chances = solve(Phases::of(scv), 1, &[0.7; 400]).distribution();
            let mean: f64 = (chances.iter().enumerate())
                .map(|(jobs, chance)| jobs as f64 * chance)
                .sum();
            let exact = 0.7 + 0.49 * (1.0 + scv) / 0.6;
            assert!((mean / exact - 1.0).abs() < 1e-9, "{scv}: {mean} {exact}");
        }
    }

    /// In Erlang's loss system the variation of service times has no effect. If the capacity equals the number of
    /// servers, the number of jobs has a truncated Poisson distribution.
    #[test]
    fn many_servers_without_a_queue_have_erlangs_distribution() {
        for scv in [0.5, 2.0, 4.0, 30.0] {
            let chances = solve(Phases::of(scv), 64, &[38.4; 64]).distribution();
            let mut exact = vec![1.0];
            for jobs in 1..=64 {
                exact.push(exact[jobs - 1] * 38.4 / jobs as f64);
            }
            let total: f64 = exact.iter().sum();
            for (chance, weight) in chances.iter().zip(exact) {
                assert!(
                    (chance / (weight / total) - 1.0).abs() < 1e-9,
                    "{scv}: {chances:?}"
                );
            }
        }
    }
}

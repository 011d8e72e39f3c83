//! A station of m servers whose service times have two phases, with arrivals at a rate that depends on how many are
//! there: solved exactly, level by level.
//!
//! A squared coefficient of variation of 1/2 and more fits two phases: above 1 one of two exponential times, each of
//! which brings half of the mean (as simulated), from 1/2 to 1 two exponential times one after the other, the second
//! with a probability (Marie, IEEE Trans. Software Eng. 5(5), 1979).

/// Least squared coefficient of variation that two phases can have.
pub const LEAST_SCV: f64 = 0.5;

/// Service in two phases, for a mean of 1.
#[derive(Clone, Copy, Debug)]
pub struct Phases {
    /// Probability to begin in the first phase.
    begin: f64,
    /// Rates of both.
    rates: [f64; 2],
    /// Probability that the second follows the first.
    goes_on: f64,
}

impl Phases {
    /// Phases of a squared coefficient of variation of at least [`LEAST_SCV`].
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

/// Speeds of a station, in jobs per mean service time, with 1, 2, ... jobs present, and how much more likely each number
/// is than the one below.
#[derive(Clone, Debug)]
pub struct Conditional {
    /// Completions with 1, 2, ... jobs.
    pub speeds: Vec<f64>,
    /// p(n) / p(n − 1) for n = 1, 2, ...
    pub ratios: Vec<f64>,
}

impl Conditional {
    /// Probabilities of 0, 1, ... jobs.
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

type Matrix = Vec<Vec<f64>>;

/// Solves the station for arrivals at `arrivals[n]` with n jobs present, none with more than the list has; rates in jobs
/// per mean service time.
#[must_use]
pub fn solve(phases: Phases, servers: usize, arrivals: &[f64]) -> Conditional {
    let levels = Levels { phases, servers };
    let most = arrivals.len();
    // R(n) with π(n) = π(n − 1) R(n), from the last level down.
    let mut steps: Vec<Matrix> = Vec::with_capacity(most);
    let mut above: Option<Matrix> = None;
    for jobs in (1..=most).rev() {
        let mut local = levels.local(jobs, arrivals.get(jobs).copied().unwrap_or(0.0));
        if let Some(step) = &above {
            let back = product(step, &levels.down(jobs + 1));
            for (row, more) in local.iter_mut().zip(back) {
                row.iter_mut()
                    .zip(more)
                    .for_each(|(cell, add)| *cell += add);
            }
        }
        let step = levels.up_over(jobs - 1, arrivals[jobs - 1], local);
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

/// States of a level are the numbers of jobs in the second phase.
impl Levels {
    fn served(&self, jobs: usize) -> usize {
        jobs.min(self.servers)
    }

    /// Rates within a level, with the negative sum of all rates out of a state on the diagonal.
    fn local(&self, jobs: usize, arrivals: f64) -> Matrix {
        let served = self.served(jobs);
        let mut rates = vec![vec![0.0; served + 1]; served + 1];
        for second in 0..=served {
            let first = (served - second) as f64 * self.phases.rates[0];
            let both = first + second as f64 * self.phases.rates[1];
            rates[second][second] -= both + arrivals;
            if second < served {
                rates[second][second + 1] += first * self.phases.goes_on;
            }
        }
        rates
    }

    /// Rates of completions: to the level below.
    fn down(&self, jobs: usize) -> Matrix {
        let (served, left) = (self.served(jobs), self.served(jobs - 1));
        let begin = self.phases.begin;
        let mut rates = vec![vec![0.0; left + 1]; served + 1];
        for second in 0..=served {
            let first =
                (served - second) as f64 * self.phases.rates[0] * (1.0 - self.phases.goes_on);
            let last = second as f64 * self.phases.rates[1];
            if left == served {
                // The next in the queue begins.
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

    /// A(n) (−L(n+1))⁻¹ for the arrivals A that lead up from a level and the rates L of the next one.
    fn up_over(&self, jobs: usize, arrivals: f64, local: Matrix) -> Matrix {
        let served = self.served(jobs);
        let begin = self.phases.begin;
        let width = local.len();
        let up = (0..=served)
            .map(|second| {
                let mut row = vec![0.0; width];
                if self.served(jobs + 1) == served {
                    row[second] = arrivals;
                } else {
                    row[second] = arrivals * begin;
                    row[second + 1] = arrivals * (1.0 - begin);
                }
                row
            })
            .collect();
        divided(up, local)
    }
}

fn product(left: &Matrix, right: &Matrix) -> Matrix {
    left.iter().map(|row| row_product(row, right)).collect()
}

fn row_product(row: &[f64], matrix: &Matrix) -> Vec<f64> {
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

/// X with X (−L) = B. −L has a dominant diagonal by rows, so that elimination needs no pivots.
fn divided(mut rows: Matrix, mut local: Matrix) -> Matrix {
    let width = local.len();
    for row in &mut local {
        for cell in row.iter_mut() {
            *cell = -*cell;
        }
    }
    // Columns from the left are eliminated from B and from the rest of L alike: X L = B is solved by columns.
    for column in 0..width {
        let pivot = local[column][column];
        for other in column + 1..width {
            let factor = local[column][other] / pivot;
            if factor == 0.0 {
                continue;
            }
            for row in local.iter_mut().skip(column) {
                let value = row[column];
                row[other] -= factor * value;
            }
            for row in &mut rows {
                let value = row[column];
                row[other] -= factor * value;
            }
        }
    }
    for column in (0..width).rev() {
        let pivot = local[column][column];
        for row in &mut rows {
            let rest: f64 = (column + 1..width)
                .map(|other| row[other] * local[other][column])
                .sum();
            row[column] = (row[column] - rest) / pivot;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With scv 1 two phases make an exponential time: speeds are min(n, m), whatever comes.
    #[test]
    fn exponential_times_are_served_at_the_number_of_servers() {
        let found = solve(Phases::of(1.0), 3, &[2.0, 0.5, 4.0, 1.0, 2.5]);
        for (speed, exact) in found.speeds.iter().zip([1.0, 2.0, 3.0, 3.0, 3.0]) {
            assert!((speed - exact).abs() < 1e-12, "{:?}", found.speeds);
        }
    }

    /// M/G/1 with room for 400 at load 0.7 is Pollaczek and Khinchine's queue but for a loss below 1e-12:
    /// L = ρ + ρ² (1 + scv) / (2 (1 − ρ)).
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
}

//! The generating function of a station's number of jobs, in a form without negative terms.
//!
//! A product-form station with speed α(j) at j jobs has F(y) = Σ_j y^j / (α(1) ... α(j)). Here y is the sum over all
//! classes of the demand times the variable of the class. For m servers, F(y) = [Σ_{j<m} f_j (1 − j/m) y^j] /
//! (1 − y/m) with f_j = 1/j!. Every coefficient is positive, so convolution with F never cancels. The textbook
//! recursion through p(0) = 1 − Σ p(j) loses all digits near saturation. Any speed that ends in a constant has the form
//! F(y) = A(y) + C(y) / (1 − a y) with A, C, a >= 0. Open classes with load ρ leave F(ρ + y) to the closed classes
//! (Lavenberg and Reiser, *Stationary state probabilities at arrival instants*, 1980), which also has this form.

use crate::network::Speed;
use crate::special::log_factorials;

/// F(y) = A(y) + C(y) / (1 − a y). Coefficients are natural logarithms, since 1/j! underflows at stations with many
/// servers.
#[derive(Clone, Debug)]
pub struct Series {
    /// Natural logarithms of the coefficients of the polynomial A.
    pub finite: Vec<f64>,
    /// Natural logarithms of the coefficients of the polynomial C.
    pub tail: Vec<f64>,
    /// The constant a of the series, which is the inverse of its pole.
    pub pole: f64,
}

impl Series {
    /// Creates the series of a station for up to `jobs` closed jobs; the station must not be a delay.
    #[must_use]
    pub fn of(speed: &Speed, open_load: f64, jobs: usize) -> Self {
        let plain = match speed {
            Speed::Delay => Self {
                finite: Vec::new(),
                tail: vec![0.0],
                pole: 0.0,
            },
            Speed::Servers(servers) => Self::of_servers(*servers, open_load, jobs),
            Speed::Rates(rates) => Self::of_rates(rates),
        };
        if open_load > 0.0 {
            plain.shifted(open_load, jobs + 2)
        } else {
            plain
        }
    }

    /// Creates the series of a station with `servers` servers. If there are at most as many jobs as servers, no job
    /// waits, and C is not needed.
    fn of_servers(servers: u32, open_load: f64, jobs: usize) -> Self {
        let count = servers as usize;
        let terms = if open_load > 0.0 {
            count
        } else {
            count.min(jobs + 1)
        };
        let logs = log_factorials(terms);
        Self {
            finite: Vec::new(),
            tail: (0..terms)
                .map(|j| (-(j as f64) / f64::from(servers)).ln_1p() - logs[j])
                .collect(),
            pole: 1.0 / f64::from(servers),
        }
    }

    fn of_rates(rates: &[f64]) -> Self {
        let last = rates[rates.len() - 1];
        let mut logs = vec![0.0];
        for rate in &rates[..rates.len() - 1] {
            logs.push(logs[logs.len() - 1] - rate.ln());
        }
        let pole = 1.0 / last;
        if rates.iter().all(|&rate| rate <= last) {
            let speed = |j: usize| if j == 0 { 0.0 } else { rates[j - 1] };
            let tail = logs
                .iter()
                .enumerate()
                .map(|(j, log)| (-speed(j) / last).ln_1p() + log)
                .collect();
            return Self {
                finite: Vec::new(),
                tail,
                pole,
            };
        }
        let mut tail = vec![f64::NEG_INFINITY; rates.len() + 1];
        tail[rates.len()] = logs[rates.len() - 1] - last.ln();
        Self {
            finite: logs,
            tail,
            pole,
        }
    }

    /// Returns the series F(ρ + y) with the load ρ of open classes, by the binomial theorem; at most `terms`
    /// coefficients.
    fn shifted(&self, open_load: f64, terms: usize) -> Self {
        let rest = 1.0 - self.pole * open_load;
        let tail = shifted(&self.tail, open_load, terms);
        Self {
            finite: shifted(&self.finite, open_load, terms),
            tail: tail.iter().map(|log| log - rest.ln()).collect(),
            pole: self.pole / rest,
        }
    }

    /// Returns the speed at which `jobs` closed jobs are served, the ratio of two coefficients of F. `None` for a
    /// station with a table of speeds, and for 0 jobs. [1]
    #[must_use]
    pub fn speed_at(&self, jobs: usize) -> Option<f64> {
        let coefficient = |number: usize| {
            let used = &self.tail[..self.tail.len().min(number + 1)];
            log_sum(
                used.iter()
                    .enumerate()
                    .map(|(j, log)| log + (number - j) as f64 * self.pole.ln()),
            )
        };
        (self.finite.is_empty() && jobs > 0)
            .then(|| (coefficient(jobs - 1) - coefficient(jobs)).exp())
    }

    /// Returns the mean number of jobs if only open classes with load ρ visit the station: ρ F'(ρ) / F(ρ).
    #[must_use]
    pub fn open_jobs(speed: &Speed, open_load: f64) -> f64 {
        let (value, slope, _) = Self::at_load(speed, open_load);
        open_load * slope / value
    }

    /// Returns the probability that the station is empty if only open classes with load ρ visit it: 1 / F(ρ).
    #[must_use]
    pub fn idle(speed: &Speed, open_load: f64) -> f64 {
        let (value, _, scale) = Self::at_load(speed, open_load);
        (-scale).exp() / value
    }

    /// Returns F(ρ), F'(ρ) and a logarithmic scale. To avoid overflow, F(ρ) and F'(ρ) are divided by exp(scale).
    fn at_load(speed: &Speed, open_load: f64) -> (f64, f64, f64) {
        let here = Self::of(speed, open_load, 0);
        let term = |logs: &[f64], j: usize| logs.get(j).map_or(0.0, |log| log.exp());
        let largest = here
            .finite
            .first()
            .copied()
            .into_iter()
            .chain([here.tail[0]])
            .fold(f64::NEG_INFINITY, f64::max);
        let scaled = |logs: &[f64]| {
            logs.iter()
                .take(2)
                .map(|log| log - largest)
                .collect::<Vec<_>>()
        };
        let (finite, tail) = (scaled(&here.finite), scaled(&here.tail));
        let value = term(&finite, 0) + term(&tail, 0);
        let slope = term(&finite, 1) + term(&tail, 1) + here.pole * term(&tail, 0);
        (value, slope, largest)
    }
}

/// Returns the logarithms of the first coefficients of P(ρ + y): Σ_{j>=i} P_j C(j, i) ρ^(j−i) for a polynomial P with
/// coefficients P_j.
fn shifted(coefficients: &[f64], open_load: f64, terms: usize) -> Vec<f64> {
    let logs = log_factorials(coefficients.len());
    let log_load = open_load.ln();
    (0..coefficients.len().min(terms))
        .map(|i| {
            let terms = (i..coefficients.len()).map(|j| {
                coefficients[j] + logs[j] - logs[i] - logs[j - i] + (j - i) as f64 * log_load
            });
            log_sum(terms)
        })
        .collect()
}

/// Returns the logarithm of the sum of exp(x) over all terms x.
fn log_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + terms.map(|term| (term - largest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::erlang_c;

    /// M/M/m with load a: the mean number of jobs is L = a + C(m, a) a / (m − a), where C is Erlang's C.
    #[test]
    fn open_jobs_of_many_servers_are_those_of_erlang() {
        for (servers, load) in [(1, 0.9), (2, 1.8), (4, 3.96), (300, 290.0)] {
            let exact = load + erlang_c(servers, load) * load / (f64::from(servers) - load);
            let found = Series::open_jobs(&Speed::Servers(servers), load);
            assert!(
                (found - exact).abs() < 1e-11 * exact,
                "{servers}: {found} {exact}"
            );
        }
    }

    /// Tests a station of several servers that is written as a table of speeds, and stations whose speed falls with
    /// many jobs. Expected values are computed as sums over the states of a birth-death process.
    #[test]
    fn open_jobs_of_rates_are_those_of_the_birth_and_death_process() {
        for rates in [
            vec![1.0, 2.0, 3.0],
            vec![1.0, 2.0, 1.5],
            vec![0.5, 3.0, 2.0, 2.0, 2.5],
        ] {
            let load = 1.2;
            let (mut weight, mut total, mut mean) = (1.0, 1.0, 0.0);
            for jobs in 1..2000_usize {
                weight *= load / rates[(jobs - 1).min(rates.len() - 1)];
                total += weight;
                mean += jobs as f64 * weight;
            }
            let found = Series::open_jobs(&Speed::Rates(rates), load);
            assert!((found - mean / total).abs() < 1e-11);
        }
    }
}

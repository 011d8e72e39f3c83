//! Shapes of distributions of times, with their exponential phases and the number of Poisson events during a time.

use crate::model::Distribution;

/// Type and squared coefficient of variation of the distribution of a time; the mean is stored elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Type of the distribution; `None` if only the variation is known.
    pub form: Option<Distribution>,
    /// Squared coefficient of variation of the time. [1]
    pub scv: f64,
}

impl Shape {
    /// The shape of exponential times.
    pub const EXPONENTIAL: Self = Self {
        form: Some(Distribution::Exponential),
        scv: 1.0,
    };

    /// Creates a shape for a time of which only the squared coefficient of variation is known.
    #[must_use]
    pub fn unknown(scv: f64) -> Self {
        Self { form: None, scv }
    }

    /// Returns `true` for exponential times, and for times of unknown distribution with their variation.
    #[must_use]
    pub fn is_exponential(&self) -> bool {
        (self.scv - 1.0).abs() < 1e-12 && self.form != Some(Distribution::Lognormal)
    }

    /// Returns `true` if [`Phases::of`] represents this distribution exactly, not only its variation.
    #[must_use]
    pub fn has_phases(&self) -> bool {
        let stages = 1.0 / self.scv;
        match self.form {
            Some(Distribution::Exponential | Distribution::Hyperexponential) => true,
            Some(Distribution::Erlang | Distribution::Gamma) => {
                (stages - stages.round()).abs() < 1e-9
            }
            _ => false,
        }
    }

    /// Returns the probabilities of 0, 1, ... events of a Poisson process during a time of this shape, with `mean`
    /// events on average. Omitted probabilities add up to at most `negligible`. `None` if the probability of no event
    /// is too small for a double.
    ///
    /// A time of unknown distribution is taken as gamma-distributed, or as hyperexponential if its squared coefficient
    /// of variation exceeds 1.
    #[must_use]
    pub fn events(&self, mean: f64, negligible: f64) -> Option<Events> {
        let mut probabilities = Vec::new();
        let (mut total, mut parts) = (0.0, self.parts(mean)?);
        // Because of rounding, the total may never reach 1. Therefore the list also ends when probabilities beyond the
        // mean become small.
        let mut last = 1.0;
        while 1.0 - total > negligible
            && probabilities.len() < EVENTS_AT_MOST
            && (last > 1e-3 * negligible || (probabilities.len() as f64) < mean + 1.0)
        {
            let next: f64 = parts.iter_mut().map(Part::next).sum();
            last = next;
            probabilities.push(next);
            total += next;
        }
        let exact = !matches!(
            self.form,
            None | Some(Distribution::Lognormal | Distribution::Pareto)
        );
        Some(Events {
            probabilities,
            exact,
        })
    }

    fn parts(&self, mean: f64) -> Option<Vec<Part>> {
        let parts = match self.form {
            Some(Distribution::Uniform) => {
                let low = mean * lowest_of_uniform(self.scv);
                if low > 0.0 {
                    vec![Part::between(low, 2.0 * mean - low)]
                } else {
                    vec![Part::uniform(2.0 * mean)]
                }
            }
            _ if self.scv == 0.0 => vec![Part::poisson(mean)],
            _ if self.scv <= 1.0 => vec![Part::gamma(1.0, mean, self.scv)],
            _ => {
                let begin = balanced(self.scv);
                [begin, 1.0 - begin]
                    .map(|share| Part::gamma(share, mean / (2.0 * share), 1.0))
                    .to_vec()
            }
        };
        (mean < EVENTS_FROM_ZERO).then_some(parts)
    }
}

/// Returns the lower end of a uniform distribution with a squared coefficient of variation of at most 1/3, relative to
/// its mean. [ratio]
#[must_use]
pub fn lowest_of_uniform(scv: f64) -> f64 {
    if (scv - 1.0 / 3.0).abs() < 1e-9 {
        return 0.0;
    }
    (1.0 - (3.0 * scv).sqrt()).max(0.0)
}

/// Returns the probability of the shorter time in a hyperexponential distribution with balanced means.
fn balanced(scv: f64) -> f64 {
    0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt())
}

/// Largest number of events whose probability is computed. [1]
const EVENTS_AT_MOST: usize = 20_000;
/// Mean number of events above which the probability of no event is too small for a double. [1]
const EVENTS_FROM_ZERO: f64 = 300.0;

/// Distribution of the number of events of a Poisson process during a time.
pub struct Events {
    /// Probabilities of 0, 1, ... events during the time.
    pub probabilities: Vec<f64>,
    /// `true` if the probabilities belong to the actual distribution of the time, not to an approximation of it.
    pub exact: bool,
}

/// Generates the successive probabilities of one component of a mixture of distributions.
#[derive(Clone)]
struct Part {
    now: f64,
    number: f64,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    /// Gamma-distributed time: the number of events is negative binomial with `stages` and `ratio`. The Poisson
    /// distribution is its limit.
    Gamma {
        stages: f64,
        ratio: f64,
    },
    Poisson {
        mean: f64,
    },
    /// Uniform time from 0 to a longest time, during which `mean` events occur on average. The probability of n events
    /// is P(N > n) / `mean`, where N is Poisson with this mean.
    Uniform {
        term: f64,
        above: f64,
        mean: f64,
    },
    /// Uniform time between two times, during which `low` and `high` events occur on average. The probability of n
    /// events is the difference of the probabilities of at most n events, divided by `high` − `low`.
    Between {
        low: f64,
        high: f64,
        terms: [f64; 2],
        most: [f64; 2],
    },
}

impl Part {
    fn gamma(share: f64, mean: f64, scv: f64) -> Self {
        let ratio = mean * scv / (1.0 + mean * scv);
        Self {
            now: share * (1.0 + mean * scv).powf(-1.0 / scv),
            number: 0.0,
            kind: Kind::Gamma {
                stages: 1.0 / scv,
                ratio,
            },
        }
    }

    fn poisson(mean: f64) -> Self {
        Self {
            now: (-mean).exp(),
            number: 0.0,
            kind: Kind::Poisson { mean },
        }
    }

    fn uniform(mean: f64) -> Self {
        let term = (-mean).exp();
        let above = -(-mean).exp_m1();
        Self {
            now: if mean > 0.0 { above / mean } else { 1.0 },
            number: 0.0,
            kind: Kind::Uniform { term, above, mean },
        }
    }

    fn between(low: f64, high: f64) -> Self {
        let terms = [low, high].map(|mean| (-mean).exp());
        Self {
            now: (terms[0] - terms[1]) / (high - low),
            number: 0.0,
            kind: Kind::Between {
                low,
                high,
                terms,
                most: terms,
            },
        }
    }

    fn next(&mut self) -> f64 {
        let found = self.now;
        self.number += 1.0;
        match &mut self.kind {
            Kind::Gamma { stages, ratio } => {
                self.now *= (*stages + self.number - 1.0) / self.number * *ratio;
            }
            Kind::Poisson { mean } => self.now *= *mean / self.number,
            Kind::Uniform { term, above, mean } => {
                *term *= *mean / self.number;
                *above = (*above - *term).max(0.0);
                self.now = if *mean > 0.0 { *above / *mean } else { 0.0 };
            }
            Kind::Between {
                low,
                high,
                terms,
                most,
            } => {
                for (at, mean) in [*low, *high].into_iter().enumerate() {
                    terms[at] *= mean / self.number;
                    most[at] += terms[at];
                }
                self.now = ((most[0] - most[1]) / (*high - *low)).max(0.0);
            }
        }
        found
    }
}

/// A time of mean 1 that consists of exponential phases. It begins in a random phase; after each phase, the next one
/// follows with a certain probability, or the time ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Phases {
    /// For each phase, the probability that the time begins with it.
    pub begin: Vec<f64>,
    /// Rate at which each phase ends.
    pub rates: Vec<f64>,
    /// For each phase, the probability that the next phase follows it.
    pub goes_on: Vec<f64>,
}

impl Phases {
    /// Creates phases for a squared coefficient of variation above 0. Above 1, the time is one of two exponential
    /// times. Below 1, it is a sequence of k or k − 1 equal phases (Tijms, *Stochastic Models*, Wiley, 1994, section
    /// A.4).
    #[must_use]
    pub fn of(scv: f64) -> Self {
        if scv > 1.0 + 1e-12 {
            let begin = balanced(scv);
            return Self {
                begin: vec![begin, 1.0 - begin],
                rates: vec![2.0 * begin, 2.0 * (1.0 - begin)],
                goes_on: vec![0.0; 2],
            };
        }
        let stages = (1.0 / scv - 1e-9).ceil().max(1.0);
        let inside = (stages * (1.0 + scv) - stages.powi(2) * scv).max(0.0);
        let fewer = if stages > 1.0 {
            (stages * scv - inside.sqrt()) / (1.0 + scv)
        } else {
            0.0
        };
        let number = stages as usize;
        let mut begin = vec![0.0; number];
        begin[0] = 1.0 - fewer;
        if number > 1 {
            begin[1] = fewer;
        }
        let mut goes_on = vec![1.0; number];
        goes_on[number - 1] = 0.0;
        Self {
            begin,
            rates: vec![stages - fewer; number],
            goes_on,
        }
    }

    /// Returns the number of phases.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rates.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes mean and variance from the moments of the remaining time, backwards from the last phase.
    #[test]
    fn phases_have_the_mean_and_the_variation() {
        for scv in [0.05, 0.125, 0.3, 0.5, 0.7, 0.99, 1.0, 1.5, 4.0, 30.0] {
            let phases = Phases::of(scv);
            let (mut first, mut second) =
                (vec![0.0; phases.count() + 1], vec![0.0; phases.count() + 1]);
            for phase in (0..phases.count()).rev() {
                let (mean, on) = (1.0 / phases.rates[phase], phases.goes_on[phase]);
                first[phase] = mean + on * first[phase + 1];
                second[phase] =
                    2.0 * mean * mean + on * (2.0 * mean * first[phase + 1] + second[phase + 1]);
            }
            let begin = |moments: &[f64]| {
                phases
                    .begin
                    .iter()
                    .zip(moments)
                    .map(|(share, moment)| share * moment)
                    .sum::<f64>()
            };
            let (mean, square) = (begin(&first), begin(&second));
            assert!((mean - 1.0).abs() < 1e-12, "{scv}: {mean}");
            assert!((square - 1.0 - scv).abs() < 1e-9, "{scv}: {square}");
        }
    }

    /// The number of Poisson events during a time with squared coefficient of variation c has mean x and variance x + c
    /// x².
    #[test]
    fn events_have_the_mean_and_variance_of_a_mixed_poisson_number() {
        let uniform = Shape {
            form: Some(Distribution::Uniform),
            scv: 1.0 / 3.0,
        };
        let between = Shape {
            scv: 0.12,
            ..uniform
        };
        let shapes = [0.0, 0.2, 1.0, 4.0].map(Shape::unknown);
        for shape in shapes.iter().chain([&uniform, &between]) {
            for mean in [0.3, 5.0] {
                let found = shape.events(mean, 1e-14).unwrap().probabilities;
                let moment = |power: i32| -> f64 {
                    found
                        .iter()
                        .enumerate()
                        .map(|(number, chance)| (number as f64).powi(power) * chance)
                        .sum()
                };
                assert!((moment(0) - 1.0).abs() < 1e-12);
                assert!((moment(1) / mean - 1.0).abs() < 1e-8);
                let variance = moment(2) - moment(1).powi(2);
                assert!(
                    (variance / (mean + shape.scv * mean * mean) - 1.0).abs() < 1e-7,
                    "{shape:?} {variance}"
                );
            }
        }
    }
}

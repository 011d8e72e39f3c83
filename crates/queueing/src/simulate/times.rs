//! Generates random times from all distributions of a model, given mean and squared coefficient of variation.

use std::sync::Arc;

use super::random::Stream;
use crate::model::{Distribution, Variation};
use crate::shape::lowest_of_uniform;

/// Largest number of phases of an Erlang time for which each phase is generated separately. With more phases, the time
/// is generated from a gamma distribution.
const PHASES_AT_MOST: u32 = 8;

/// Distribution from which random times are generated.
#[derive(Clone, Debug)]
pub enum Times {
    /// Always this time. [s]
    Constant(f64),
    /// Exponential distribution with this mean. [s]
    Exponential(f64),
    /// Sum of equal exponential phases. The values are the number of phases and the mean of each phase. [1], [s]
    Erlang(u32, f64),
    /// Gamma distribution. The values are its shape and its scale. [1], [s]
    Gamma(f64, f64),
    /// One of two exponential times. The values are the probability of the first time and the means of both. [1], [s],
    /// [s]
    Hyperexponential(f64, f64, f64),
    /// Lognormal distribution. The values are the mean and the standard deviation of the logarithm of the time.
    Lognormal(f64, f64),
    /// Uniform distribution between two times. [s], [s]
    Uniform(f64, f64),
    /// Lomax distribution. The values are -1 divided by the shape, and the scale. [1], [s]
    Pareto(f64, f64),
    /// One of these measured values, with equal probabilities. [s]
    Samples(Arc<[f64]>),
}

impl Times {
    /// Creates the distribution for a mean and a variation.
    pub fn new(mean: f64, variation: Variation) -> Self {
        let scv = variation.squared_coefficient();
        if mean == 0.0 {
            return Self::Constant(0.0);
        }
        match variation.form() {
            Distribution::Deterministic => Self::Constant(mean),
            Distribution::Exponential => Self::Exponential(mean),
            Distribution::Erlang => Self::erlang((1.0 / scv).round(), mean),
            Distribution::Gamma => Self::Gamma(1.0 / scv, mean * scv),
            Distribution::Hyperexponential => {
                // The branches have balanced means (Whitt, Oper. Res. 30(1), 1982): each contributes half of the mean.
                let share = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
                Self::Hyperexponential(share, 0.5 * mean / share, 0.5 * mean / (1.0 - share))
            }
            Distribution::Lognormal => {
                let variance = (1.0 + scv).ln();
                Self::Lognormal(mean.ln() - 0.5 * variance, variance.sqrt())
            }
            Distribution::Uniform => {
                let low = mean * lowest_of_uniform(scv);
                Self::Uniform(low, 2.0 * mean - low)
            }
            Distribution::Pareto => {
                // A Lomax distribution of shape a and scale b has mean b / (a - 1) and scv a / (a - 2).
                let shape = 2.0 * scv / (scv - 1.0);
                Self::Pareto(-1.0 / shape, mean * (shape - 1.0))
            }
        }
    }

    /// Creates the distribution of the given sample values, scaled to the mean `mean`.
    pub fn of_samples(values: &[f64], mean: f64) -> Self {
        let scale = mean * values.len() as f64 / values.iter().sum::<f64>();
        Self::Samples(values.iter().map(|value| value * scale).collect())
    }

    /// Returns the first, second and fourth moment of the distribution. [s], [s²], [s⁴]
    pub fn moments(&self) -> [f64; 3] {
        let gamma = |shape: f64, scale: f64| {
            let second = shape * (shape + 1.0) * scale.powi(2);
            [
                shape * scale,
                second,
                second * (shape + 2.0) * (shape + 3.0) * scale.powi(2),
            ]
        };
        match *self {
            Self::Constant(time) => [time, time.powi(2), time.powi(4)],
            Self::Exponential(mean) => gamma(1.0, mean),
            Self::Erlang(phases, mean) => gamma(f64::from(phases), mean),
            Self::Gamma(shape, scale) => gamma(shape, scale),
            Self::Hyperexponential(share, first, second) => {
                let (one, other) = (gamma(1.0, first), gamma(1.0, second));
                std::array::from_fn(|at| share * one[at] + (1.0 - share) * other[at])
            }
            Self::Lognormal(mean, deviation) => [1.0_f64, 2.0, 4.0]
                .map(|power| (power * mean + 0.5 * (power * deviation).powi(2)).exp()),
            Self::Uniform(low, high) => {
                // The mean of tⁿ is (highⁿ⁺¹ − lowⁿ⁺¹) / ((n + 1) (high − low)), a sum without cancellation.
                [1, 2, 4].map(|power: i32| {
                    let terms = (0..=power).map(|at| high.powi(at) * low.powi(power - at));
                    terms.sum::<f64>() / f64::from(power + 1)
                })
            }
            Self::Pareto(exponent, scale) => {
                let shape = -1.0 / exponent;
                let second = 2.0 * scale.powi(2) / ((shape - 1.0) * (shape - 2.0));
                let fourth = 12.0 * scale.powi(2) * second / ((shape - 3.0) * (shape - 4.0));
                let fourth = if shape > 4.0 { fourth } else { f64::INFINITY };
                [scale / (shape - 1.0), second, fourth]
            }
            Self::Samples(ref values) => [1, 2, 4].map(|power| {
                values.iter().map(|value| value.powi(power)).sum::<f64>() / values.len() as f64
            }),
        }
    }

    fn erlang(phases: f64, mean: f64) -> Self {
        if phases <= f64::from(PHASES_AT_MOST) {
            Self::Erlang(phases as u32, mean / phases)
        } else {
            Self::Gamma(phases, mean / phases)
        }
    }

    /// Generates one random time. [s]
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        match *self {
            Self::Exponential(mean) => mean * stream.exponential(),
            Self::Constant(time) => time,
            _ => self.draw_rare(stream),
        }
    }

    #[inline(never)]
    fn draw_rare(&self, stream: &mut Stream) -> f64 {
        match *self {
            Self::Constant(time) => time,
            Self::Exponential(mean) => mean * stream.exponential(),
            Self::Erlang(phases, mean) => (0..phases).map(|_| mean * stream.exponential()).sum(),
            Self::Gamma(shape, scale) => scale * gamma(shape, stream),
            Self::Hyperexponential(share, first, second) => {
                let mean = if stream.uniform() <= share {
                    first
                } else {
                    second
                };
                mean * stream.exponential()
            }
            Self::Lognormal(mean, deviation) => (mean + deviation * stream.normal()).exp(),
            Self::Uniform(low, high) => low + (high - low) * stream.uniform(),
            Self::Pareto(exponent, scale) => scale * (stream.uniform().powf(exponent) - 1.0),
            Self::Samples(ref values) => values[stream.below(values.len())],
        }
    }
}

/// Returns a random value with a gamma distribution of the given shape and scale 1: Marsaglia and Tsang, ACM Trans.
/// Math. Softw. 26(3), 2000.
fn gamma(shape: f64, stream: &mut Stream) -> f64 {
    if shape < 1.0 {
        return gamma(shape + 1.0, stream) * stream.uniform().powf(1.0 / shape);
    }
    let reduced = shape - 1.0 / 3.0;
    let spread = 1.0 / (9.0 * reduced).sqrt();
    loop {
        let normal = stream.normal();
        let cube = (1.0 + spread * normal).powi(3);
        if cube > 0.0 {
            let limit = 0.5 * normal * normal + reduced * (1.0 - cube + cube.ln());
            if stream.uniform().ln() < limit {
                return reduced * cube;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Purpose;
    use super::*;

    fn moments(times: &Times) -> (f64, f64) {
        let mut stream = Stream::new(7, 0, Purpose::Service, &["moments"]);
        let count = 2_000_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..count {
            let time = times.draw(&mut stream);
            assert!(time >= 0.0 && time.is_finite());
            sum += time;
            squares += time * time;
        }
        let mean = sum / f64::from(count);
        (mean, squares / f64::from(count) / (mean * mean) - 1.0)
    }

    /// Means and squared coefficients of variation must be the requested values, within five standard errors. Only
    /// distributions with a small fourth moment are tested.
    #[test]
    fn every_form_has_its_mean_and_variation() {
        let forms = [
            (Distribution::Exponential, 1.0, 0.01),
            (Distribution::Deterministic, 0.0, 1e-9),
            (Distribution::Erlang, 0.25, 0.003),
            (Distribution::Erlang, 1.0 / 32.0, 0.001),
            (Distribution::Gamma, 0.4, 0.005),
            (Distribution::Gamma, 3.0, 0.06),
            (Distribution::Hyperexponential, 4.0, 0.06),
            (Distribution::Lognormal, 0.5, 0.01),
            (Distribution::Uniform, 1.0 / 3.0, 0.003),
            (Distribution::Uniform, 0.12, 0.001),
        ];
        for (form, scv, within) in forms {
            let variation = Variation {
                distribution: Some(form),
                scv: Some(scv),
            };
            let (mean, got) = moments(&Times::new(0.2, variation));
            assert!(
                (mean / 0.2 - 1.0).abs() < 5.0 * (scv / 2e6_f64).sqrt() + 1e-9,
                "{form:?} {mean}"
            );
            assert!((got - scv).abs() < within, "{form:?} {got}");
        }
    }

    /// For every form, the second moment is mean² (1 + scv). The fourth moment is 24 mean⁴ of an exponential time,
    /// mean⁴ (1 + scv)⁶ of a lognormal time, and upper limit⁴ / 5 of a uniform time. It is infinite for a Pareto time
    /// with a shape up to 4.
    #[test]
    fn moments_are_those_of_the_form() {
        let forms = [
            (Distribution::Exponential, 1.0, Some(24.0)),
            (Distribution::Deterministic, 0.0, Some(1.0)),
            (
                Distribution::Erlang,
                0.25,
                Some(4.0 * 5.0 * 6.0 * 7.0 / 256.0),
            ),
            (Distribution::Gamma, 0.4, None),
            (Distribution::Hyperexponential, 4.0, None),
            (Distribution::Lognormal, 8.0, Some(9.0_f64.powi(6))),
            (Distribution::Uniform, 1.0 / 3.0, Some(16.0 / 5.0)),
            // From 0.4 to 1.6 times the mean: (1.6⁵ − 0.4⁵) / (5 · 1.2).
            (
                Distribution::Uniform,
                0.12,
                Some((1.6_f64.powi(5) - 0.4_f64.powi(5)) / 6.0),
            ),
            (Distribution::Pareto, 1.5, None),
            (Distribution::Pareto, 5.0, Some(f64::INFINITY)),
        ];
        for (form, scv, expected) in forms {
            let variation = Variation {
                distribution: Some(form),
                scv: Some(scv),
            };
            let [first, second, fourth] = Times::new(0.2, variation).moments();
            assert!((first / 0.2 - 1.0).abs() < 1e-12, "{form:?} {first}");
            let square = 0.04 * (1.0 + scv);
            assert!((second / square - 1.0).abs() < 1e-12, "{form:?} {second}");
            assert!(
                fourth >= second * second * (1.0 - 1e-12),
                "{form:?} {fourth}"
            );
            match expected {
                Some(expected) if expected.is_finite() => {
                    assert!(
                        (fourth / (expected * 0.0016) - 1.0).abs() < 1e-12,
                        "{form:?}"
                    );
                }
                Some(_) => assert!(fourth.is_infinite(), "{form:?}"),
                None => assert!(fourth.is_finite(), "{form:?}"),
            }
        }
        // Lomax distribution of shape 6 (scv 1.5) and scale 5 · 0.2 = 1: E[T⁴] = 24 / (5 · 4 · 3 · 2) = 0.2.
        let pareto = Variation {
            distribution: Some(Distribution::Pareto),
            scv: Some(1.5),
        };
        assert!((Times::new(0.2, pareto).moments()[2] - 0.2).abs() < 1e-12);
        let samples = Times::of_samples(&[1.0, 1.0, 4.0], 2.0).moments();
        for (found, expected) in samples.into_iter().zip([2.0, 6.0, 86.0]) {
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
    }

    /// A heavy tail has no fourth moment, so the distribution is tested by its tail probability: P(T > t) = (1 +
    /// t/b)^-a with shape a and scale b.
    #[test]
    fn pareto_has_its_tail() {
        let times = Times::new(
            1.0,
            Variation {
                distribution: Some(Distribution::Pareto),
                scv: Some(5.0),
            },
        );
        let mut stream = Stream::new(7, 0, Purpose::Service, &["tail"]);
        let beyond = (0..1_000_000)
            .filter(|_| times.draw(&mut stream) > 10.0)
            .count();
        // With shape a = 2.5 and scale b = 1.5, P(T > 10) = (1 + 10/1.5)^-2.5 = 0.006145; five standard errors are
        // 0.0004.
        assert!((beyond as f64 / 1e6 - (1.0_f64 + 10.0 / 1.5).powf(-2.5)).abs() < 0.0004);
    }

    #[test]
    fn samples_keep_their_shape_and_get_their_mean() {
        let (mean, scv) = moments(&Times::of_samples(&[1.0, 1.0, 4.0], 0.3));
        assert!(
            (mean - 0.3).abs() < 0.001 && (scv - 0.5).abs() < 0.005,
            "{mean} {scv}"
        );
    }
}

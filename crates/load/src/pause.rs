//! Generates the random lengths of pauses.

use crate::plan::Pause;
use crate::rng::Random;

/// Generates one random pause length from a distribution. [ns]
pub fn draw_ns(pause: &Pause, random: &mut Random) -> u64 {
    nanoseconds(draw_s(pause, random))
}

/// Converts seconds to nanoseconds, rounded to an integer.
#[must_use]
pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

fn draw_s(pause: &Pause, random: &mut Random) -> f64 {
    match *pause {
        Pause::Fixed { mean_s } => mean_s,
        Pause::Exponential { mean_s } => mean_s * random.exponential(),
        Pause::Uniform { min_s, max_s } => min_s + (max_s - min_s) * random.unit(),
        // Values outside the bounds are rejected, which keeps the shape of the density inside. Clipping would
        // concentrate probability at the bounds. The loop ends because the plan check ensures that enough of the
        // distribution lies inside.
        Pause::Normal {
            mean_s,
            sd_s,
            min_s,
            max_s,
        } => loop {
            let value = mean_s + sd_s * random.normal();
            if (min_s..=max_s).contains(&value) {
                break value;
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(pause: &Pause) -> (f64, f64, f64, f64) {
        let mut random = Random::from_seed(11);
        let values: Vec<f64> = (0..100_000)
            .map(|_| draw_ns(pause, &mut random) as f64 / 1e9)
            .collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        let variance = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / 1e5;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        (mean, variance.sqrt(), least, most)
    }

    #[test]
    fn fixed_is_fixed() {
        let (_, deviation, least, most) = moments(&Pause::Fixed { mean_s: 0.25 });
        assert!(deviation < 1e-9 && (least - 0.25).abs() < 1e-12 && (most - 0.25).abs() < 1e-12);
    }

    #[test]
    fn exponential_has_its_mean_as_deviation() {
        let (mean, deviation, _, _) = moments(&Pause::Exponential { mean_s: 2.0 });
        // The tolerances are five standard errors for 1e5 values: `2 / sqrt(1e5) = 0.0063` for the mean, and sqrt(2)
        // times as much, 0.0089, for the standard deviation.
        assert!((mean - 2.0).abs() < 0.032, "{mean}");
        assert!((deviation - 2.0).abs() < 0.045, "{deviation}");
    }

    #[test]
    fn uniform_fills_its_interval() {
        let (mean, deviation, least, most) = moments(&Pause::Uniform {
            min_s: 1.0,
            max_s: 3.0,
        });
        assert!((mean - 2.0).abs() < 0.01, "{mean}");
        assert!(
            (deviation - 2.0 / 12_f64.sqrt()).abs() < 0.01,
            "{deviation}"
        );
        assert!(least >= 1.0 && most <= 3.0 && least < 1.001 && most > 2.999);
    }

    #[test]
    fn truncated_normal_has_the_moments_of_the_truncated_density() {
        // Normal(1, 1) within [0, 2] is symmetric about its mean 1. Its variance is 1 - 2 phi(1) / (2 Phi(1) - 1) = 1 -
        // 2 * 0.2419707 / 0.6826895 = 0.2911251. Here phi is the density and Phi the distribution function of the
        // standard normal distribution (N. L. Johnson, S. Kotz and N. Balakrishnan, *Continuous Univariate
        // Distributions* 1, 2nd edition, 1994, section 13.10.1).
        let (mean, deviation, least, most) = moments(&Pause::Normal {
            mean_s: 1.0,
            sd_s: 1.0,
            min_s: 0.0,
            max_s: 2.0,
        });
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!(
            (deviation * deviation - 0.291_125_1).abs() < 0.006,
            "{deviation}"
        );
        assert!(least >= 0.0 && most <= 2.0);
    }
}

//! From what replications noted to estimates with intervals.

/// Slices of a batch of MSER-5.
const BATCH: usize = 5;

/// Number of values to leave out at the start of a series, by MSER-5.
///
/// White, Simulation 69(6), 1997, and White, Cobb and Spratt, Proc. Winter Simulation Conf. 2000: of the means Z of
/// batches of 5, the cut d that makes Σ_{j≥d} (Z_j − mean)² / (k − d)² smallest, with d in the first half. A cut in the
/// second half would rest on too little that is left.
#[must_use]
pub fn mser5(series: &[f64]) -> usize {
    let batches: Vec<f64> = series
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().sum::<f64>() / BATCH as f64)
        .collect();
    // From the end on, sums of what is left; shifted by the last value, so that squares keep their digits.
    let shift = batches.last().copied().unwrap_or(0.0);
    let (mut sum, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
    for (start, value) in batches.iter().enumerate().rev() {
        let deviation = value - shift;
        sum += deviation;
        squares += deviation * deviation;
        let left = (batches.len() - start) as f64;
        let score = (squares - sum * sum / left).max(0.0) / (left * left);
        // Equal scores, as of a constant series, leave out as little as possible.
        if start <= batches.len() / 2 && score <= best.0 {
            best = (score, start);
        }
    }
    best.1 * BATCH
}

/// Quantile of Student's t, by bisection on its distribution for whole degrees of freedom.
///
/// Abramowitz and Stegun, *Handbook of Mathematical Functions*, 26.7.3 and 26.7.4.
#[must_use]
pub fn student_t(probability: f64, degrees: usize) -> f64 {
    let two_sided = 2.0 * probability - 1.0;
    let (mut low, mut high) = (0.0, 1.0);
    while within(high, degrees) < two_sided && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if within(middle, degrees) < two_sided {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// P(|T| < t).
fn within(t: f64, degrees: usize) -> f64 {
    let freedom = degrees as f64;
    let angle = (t / freedom.sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let (mut term, mut sum) = if degrees % 2 == 1 {
        (cosine, 0.0)
    } else {
        (1.0, 0.0)
    };
    let mut index = degrees % 2;
    while index + 2 <= degrees {
        sum += term;
        term *= cosine * cosine * (index + 1) as f64 / (index + 2) as f64;
        index += 2;
    }
    if degrees % 2 == 1 {
        2.0 / std::f64::consts::PI * (angle + sine * sum)
    } else {
        sine * sum
    }
}

/// A mean over replications with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean over replications.
    pub mean: f64,
    /// Half the width of the interval.
    pub half_width: f64,
}

impl Estimate {
    /// Mean and t-interval of values that are independent.
    #[must_use]
    pub fn of(values: &[f64], confidence: f64) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum::<f64>()
            / (count - 1.0);
        let t = student_t(0.5 + 0.5 * confidence, values.len() - 1);
        Self {
            mean,
            half_width: t * (variance / count).sqrt(),
        }
    }

    /// Half the width in relation to the mean; 0 where there is nothing to be unsure of.
    #[must_use]
    pub fn relative(&self) -> f64 {
        if self.half_width == 0.0 {
            0.0
        } else {
            self.half_width / self.mean.abs()
        }
    }

    /// The ends of the interval.
    #[must_use]
    pub fn ends(&self) -> [f64; 2] {
        [self.mean - self.half_width, self.mean + self.half_width]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 26.10 of Abramowitz and Stegun, and limits of long tables.
    #[test]
    fn quantiles_of_t_are_those_of_the_tables() {
        for (probability, degrees, expected) in [
            (0.975, 1, 12.706_204_736),
            (0.975, 2, 4.302_652_730),
            (0.975, 9, 2.262_157_163),
            (0.95, 10, 1.812_461_123),
            (0.995, 30, 2.749_995_654),
            (0.975, 199, 1.971_956_544),
        ] {
            let found = student_t(probability, degrees);
            assert!((found - expected).abs() < 1e-8, "{degrees}: {found}");
        }
    }

    /// 100 values from 50 down to 1, then 400 in turn 0 and 1: the cut is where the fall ends.
    #[test]
    fn mser_cuts_the_start() {
        let fall = (0..100).map(|index| 50.0 - f64::from(index) / 2.0);
        let rest = (0..400).map(|index| f64::from(index % 2));
        let series: Vec<f64> = fall.chain(rest).collect();
        let cut = mser5(&series);
        assert!((95..=100).contains(&cut), "{cut}");
        assert_eq!(mser5(&[3.0; 200]), 0);
    }

    #[test]
    fn intervals_follow_the_formula() {
        // Mean 3, variance 2.5, t(0.975, 4) = 2.776445.
        let found = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95);
        assert!((found.half_width - 2.776_445_105 * 0.5_f64.sqrt()).abs() < 1e-8);
    }
}

//! Estimates mean values with confidence intervals from the records of replications.

/// Number of slices that MSER-5 averages into one batch.
const BATCH: usize = 5;

/// Returns the number of values to remove at the start of a series, by MSER-5.
///
/// White, Simulation 69(6), 1997, and White, Cobb and Spratt, Proc. Winter Simulation Conf. 2000: the series is
/// averaged over batches of 5 values, which gives k means Z. The truncation point d minimizes
/// Σ_{j≥d} (Z_j − mean)² / (k − d)². It lies in the first half, so that enough values remain.
#[must_use]
pub fn mser5(series: &[f64]) -> usize {
    let batches: Vec<f64> = series
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().sum::<f64>() / BATCH as f64)
        .collect();
    // The sums are accumulated from the end of the series. Values are shifted by the last value, so that their squares
    // keep their precision.
    let shift = batches.last().copied().unwrap_or(0.0);
    let (mut sum, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
    for (start, value) in batches.iter().enumerate().rev() {
        let deviation = value - shift;
        sum += deviation;
        squares += deviation * deviation;
        let left = (batches.len() - start) as f64;
        let score = (squares - sum * sum / left).max(0.0) / (left * left);
        // Among equal scores, as for a constant series, the earliest truncation point is taken.
        if start <= batches.len() / 2 && score <= best.0 {
            best = (score, start);
        }
    }
    best.1 * BATCH
}

/// Returns the quantile of Student's t, by bisection on its distribution for whole degrees of freedom.
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

/// Returns P(|T| < t) for Student's t with `degrees` degrees of freedom.
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

/// 95 % quantile of the standard normal distribution.
const NORMAL_95: f64 = 1.644_853_627;

/// Returns the 95 % quantile of the chi-square distribution, by Wilson and Hilferty, Proc. Natl. Acad. Sci. 17(12),
/// 1931.
fn chi_square_95(degrees: f64) -> f64 {
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + NORMAL_95 * part.sqrt()).powi(3)
}

/// Returns the quantile of Student's t, corrected for skewness: Willink, Commun. Statist. Theory Methods 34(4), 2005.
///
/// `lean` is the skewness of the mean divided by 6; if it is 0, the result is `t`.
fn skewed(t: f64, lean: f64) -> f64 {
    if lean.abs() < 1e-9 {
        return t;
    }
    ((1.0 + 6.0 * lean * (t - lean)).cbrt() - 1.0) / (2.0 * lean)
}

/// A batch: the value of the figure in the batch, and the duration of the batch. [s]
pub type Batch = (f64, f64);

/// A mean over replications with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean over all replications.
    pub mean: f64,
    /// Half of the width of the confidence interval.
    pub half_width: f64,
    /// Middle of the confidence interval minus the mean.
    pub shift: f64,
    /// Skewness of the distribution of the mean; 0 if it is not estimated, that is, without batches.
    pub skewness: f64,
}

impl Estimate {
    /// Creates the mean and the t-interval of independent values.
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
            shift: 0.0,
            skewness: 0.0,
        }
    }

    /// Creates the estimate that stands for a missing value; mean and half-width are NaN.
    #[must_use]
    pub fn none() -> Self {
        Self {
            mean: f64::NAN,
            half_width: f64::NAN,
            shift: 0.0,
            skewness: 0.0,
        }
    }

    /// Creates the mean with an interval from batches within the replications; `measured_s` is the total measured time.
    ///
    /// A run that continues until its interval is narrow tends to stop when the error is underestimated by chance. The
    /// interval then contains the true mean too seldom. Ten replications determine the standard error only to 25 %,
    /// eighty batches to 8 %. Batches also determine the skewness of the mean, for which t is corrected as in Skart
    /// (Tafazzoli and Wilson, IIE Trans. 43(2), 2011).
    ///
    /// The interval is computed from the replications, as in [`Estimate::of`], if the figure is missing in a batch, or
    /// if the replications differ more than independent batches can explain (5 % level).
    #[must_use]
    pub fn by_batches(
        self,
        replications: usize,
        batches: &[Batch],
        measured_s: f64,
        confidence: f64,
    ) -> Self {
        if batches.len() <= replications || batches.iter().any(|(value, _)| !value.is_finite()) {
            return self;
        }
        let count = batches.len() as f64;
        let length_s: f64 = batches.iter().map(|(_, length)| length).sum();
        let centre = batches
            .iter()
            .map(|(value, length)| value * length)
            .sum::<f64>()
            / length_s;
        let power = |exponent: i32| {
            let deviations =
                (batches.iter()).map(|(value, length)| (value - centre) * length.sqrt());
            deviations
                .map(|deviation| deviation.powi(exponent))
                .sum::<f64>()
        };
        let variance = power(2) / (count - 1.0);
        let error = (variance / measured_s).sqrt();
        let free = (replications - 1) as f64;
        let t_of = |degrees| student_t(0.5 + 0.5 * confidence, degrees);
        let own_error = self.half_width / t_of(replications - 1);
        if own_error.powi(2) * free > error.powi(2) * chi_square_95(free) {
            return self;
        }
        let skewness = if variance > 0.0 {
            count * power(3) / ((count - 1.0) * (count - 2.0) * variance.powf(1.5)) / count.sqrt()
        } else {
            0.0
        };
        let t = t_of(batches.len() - 1);
        // Distances between the mean and the ends of the interval: positive for the lower end, negative for the upper
        // end.
        let [low, high] = [t, -t].map(|t| skewed(t, skewness / 6.0) * error);
        Self {
            mean: self.mean,
            half_width: 0.5 * (low - high),
            shift: -0.5 * (low + high),
            skewness,
        }
    }

    /// Returns the half-width relative to the mean; 0 if the half-width is 0.
    #[must_use]
    pub fn relative(&self) -> f64 {
        if self.half_width == 0.0 {
            0.0
        } else {
            self.half_width / self.mean.abs()
        }
    }

    /// Returns the lower and upper end of the interval.
    #[must_use]
    pub fn ends(&self) -> [f64; 2] {
        let middle = self.mean + self.shift;
        [middle - self.half_width, middle + self.half_width]
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{Purpose, Stream};
    use super::*;

    const REPLICATIONS: usize = 10;
    const EACH: usize = 8;

    /// Expected values come from table 26.10 of Abramowitz and Stegun, and from the limits for many degrees of freedom.
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

    /// A series of 100 values that fall from 50 to 0.5, followed by 400 values that alternate between 0 and 1. MSER-5
    /// removes the 100 falling values.
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
        // The five values have mean 3 and variance 2.5; the 97.5 % quantile of t with 4 degrees of freedom is 2.776445.
        let found = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95);
        assert!((found.half_width - 2.776_445_105 * 0.5_f64.sqrt()).abs() < 1e-8);
    }

    /// Estimates a mean whose true value is 0, without and with batches. The data are the first `slices` values of
    /// several series of independent values, given as cumulative sums.
    fn of_sums(sums: &[Vec<f64>], slices: usize) -> (Estimate, Estimate) {
        let between =
            |sums: &[f64], from: usize, to: usize| (sums[to] - sums[from]) / (to - from) as f64;
        let means: Vec<f64> = sums
            .iter()
            .map(|series| between(series, 0, slices))
            .collect();
        let each = slices / EACH;
        let batches: Vec<Batch> = (sums.iter())
            .flat_map(|series| (0..EACH).map(move |at| between(series, at * each, (at + 1) * each)))
            .map(|mean| (mean, each as f64))
            .collect();
        let plain = Estimate::of(&means, 0.95);
        let measured = (sums.len() * slices) as f64;
        (
            plain,
            plain.by_batches(sums.len(), &batches, measured, 0.95),
        )
    }

    fn holds(estimate: &Estimate, mean: f64) -> bool {
        let [low, high] = estimate.ends();
        low <= mean && mean <= high
    }

    /// Simulates runs of normal values, each extended until its interval is narrow enough. An interval from ten
    /// replications then contains the mean in 93 % of the runs, an interval from eighty batches in 95 %.
    #[test]
    fn an_interval_that_ends_its_run_holds_as_often_as_it_promises() {
        const RUNS: u32 = 3000;
        let looks = [16, 24, 40, 56, 88, 128, 192, 288, 432];
        let mut stream = Stream::new(7, 0, Purpose::Service, &["sequential"]);
        let (mut held, mut lengths) = ([0, 0], [0, 0]);
        for _ in 0..RUNS {
            let sums: Vec<Vec<f64>> = (0..REPLICATIONS)
                .map(|_| {
                    let mut sum = 0.0;
                    let values = (0..432).map(|_| {
                        sum += stream.normal();
                        sum
                    });
                    std::iter::once(0.0).chain(values).collect()
                })
                .collect();
            // With this precision, a run needs 60 to 90 slices if the error of its mean is known exactly.
            let precision = 1.96 / (600.0 * 1.5_f64.powf(stream.uniform())).sqrt();
            for rule in 0..2 {
                let estimates = looks.map(|slices| {
                    let (plain, batched) = of_sums(&sums, slices);
                    (slices, if rule == 0 { plain } else { batched })
                });
                let narrow = estimates
                    .iter()
                    .find(|(_, estimate)| estimate.half_width <= precision);
                let (slices, last) = narrow.unwrap_or(&estimates[looks.len() - 1]);
                held[rule] += u32::from(holds(last, 0.0));
                lengths[rule] += slices;
            }
        }
        let [plain, batched] = held.map(|count| f64::from(count) / f64::from(RUNS));
        // With this number of runs, the standard error of a coverage of 95 % is 0.4 %.
        assert!((batched - 0.95).abs() < 0.01, "{batched}");
        assert!(plain < 0.94, "{plain}");
        assert!(lengths[1] < lengths[0], "{lengths:?}");
    }

    /// Exponential times to the power of 3/2 have a mean of Γ(5/2) and a skewness of 3.8. The mean of 80 such values
    /// has a skewness of 3.8 / √80 = 0.43.
    #[test]
    fn an_interval_of_skewed_values_leans_to_the_long_ones() {
        const RUNS: u32 = 3000;
        let mean = 0.75 * std::f64::consts::PI.sqrt();
        let mut stream = Stream::new(7, 0, Purpose::Service, &["skewed"]);
        let (mut corrected, mut plain, mut skewness) = (0, 0, 0.0);
        for _ in 0..RUNS {
            let values: Vec<f64> = (0..REPLICATIONS * EACH)
                .map(|_| stream.exponential().powf(1.5))
                .collect();
            let batches: Vec<Batch> = values.iter().map(|&value| (value, 1.0)).collect();
            let means: Vec<f64> = (values.chunks(EACH))
                .map(|ones| ones.iter().sum::<f64>() / EACH as f64)
                .collect();
            let own = Estimate::of(&means, 0.95);
            let found = own.by_batches(REPLICATIONS, &batches, values.len() as f64, 0.95);
            corrected += u32::from(holds(&found, mean));
            plain += u32::from(holds(&Estimate::of(&values, 0.95), mean));
            skewness += found.skewness / f64::from(RUNS);
        }
        // The lower limit is small, since the skewness of few values is underestimated on average.
        assert!((0.25..0.43).contains(&skewness), "{skewness}");
        assert!(corrected > plain + RUNS / 100, "{corrected} {plain}");
        assert!(
            f64::from(corrected) / f64::from(RUNS) > 0.925,
            "{corrected}"
        );
    }

    /// Batches that equal the mean of their replication contain no more information than the replication.
    #[test]
    fn replications_that_differ_more_than_their_batches_explain_keep_their_interval() {
        let means: Vec<f64> = (1..=10).map(f64::from).collect();
        let batches: Vec<Batch> = (means.iter())
            .flat_map(|&mean| (0..EACH).map(move |_| (mean, 1.0)))
            .collect();
        let own = Estimate::of(&means, 0.95);
        assert_eq!(own.by_batches(10, &batches, 80.0, 0.95), own);
        let mut without = batches;
        without[3].0 = f64::NAN;
        assert_eq!(own.by_batches(10, &without, 80.0, 0.95), own);
    }

    /// Expected values come from table 26.8 of Abramowitz and Stegun; the error is largest for one degree of freedom.
    #[test]
    fn chi_square_is_that_of_the_tables() {
        for (degrees, expected, within) in
            [(1.0, 3.841, 0.1), (9.0, 16.919, 0.02), (29.0, 42.557, 0.02)]
        {
            let found = chi_square_95(degrees);
            assert!((found - expected).abs() < within, "{degrees}: {found}");
        }
    }

    /// Without skewness the corrected quantile equals t. Otherwise it is shifted, to first order, by (1 + 2 t²) γ / 6,
    /// where γ is the skewness (Johnson, J. Amer. Stat. Assoc. 73(363), 1978).
    #[test]
    fn skewness_moves_both_ends_alike() {
        assert!((skewed(2.0, 0.0) - 2.0).abs() < 1e-12);
        let lean = 1e-4;
        for t in [2.0, -2.0] {
            assert!((skewed(t, lean) - t + lean * 9.0).abs() < 1e-5);
        }
    }
}

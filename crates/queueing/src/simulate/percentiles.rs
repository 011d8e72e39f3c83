//! Estimates percentiles of response times, with confidence intervals.

use super::answer::Over;
use super::estimate::Estimate;
use super::record::{below, quantile};

/// Percentiles in an answer: name and share of the response times below the percentile.
pub const PERCENTILES: [(&str, f64); 6] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
];

/// A percentile of the response times of a class. [s]
pub struct Percentile {
    pub name: &'static str,
    /// Percentile over all replications; NaN if no transaction was completed. [s]
    pub value: f64,
    /// Lower and upper end of the confidence interval; NaN if there is no interval. [s]
    pub ends: [f64; 2],
}

impl Over<'_> {
    /// Estimates all percentiles of the response time of a class.
    pub(super) fn percentiles(&self, class: usize) -> [Percentile; PERCENTILES.len()] {
        let counted: Vec<&[u64]> = (self.samples.iter())
            .map(|sample| sample.part.histograms[class].as_slice())
            .filter(|counts| counts.iter().any(|&count| count > 0))
            .collect();
        let pooled = counted
            .iter()
            .fold(Vec::new(), |mut sums: Vec<u64>, counts| {
                sums.resize(counts.len(), 0);
                sums.iter_mut()
                    .zip(*counts)
                    .for_each(|(sum, count)| *sum += count);
                sums
            });
        PERCENTILES.map(|(name, share)| {
            let value = quantile(&pooled, share).unwrap_or(f64::NAN);
            let ends = ends(&counted, &pooled, share, value, self.confidence);
            Percentile { name, value, ends }
        })
    }
}

/// Returns the ends of the interval of a percentile over all replications.
///
/// Woodruff, J. Amer. Stat. Assoc. 47(260), 1952: the share of times below the percentile is a ratio over independent
/// replications, and has a confidence interval. The ends of that interval are two shares. The quantiles of the times
/// for these shares are the ends of the interval of the percentile. If these quantiles do not exist, or the error is as
/// large as the percentile, [`around`] is used.
fn ends(counted: &[&[u64]], pooled: &[u64], share: f64, value: f64, confidence: f64) -> [f64; 2] {
    if counted.len() < 2 {
        return [f64::NAN; 2];
    }
    let more_than_share = counted.iter().map(|counts| {
        let total: u64 = counts.iter().sum();
        below(counts, value) - share * total as f64
    });
    let error = Estimate::of(&more_than_share.collect::<Vec<_>>(), confidence).half_width;
    let each = pooled.iter().sum::<u64>() as f64 / counted.len() as f64;
    let shares = [share - error / each, share + error / each];
    if shares.iter().all(|end| (0.0..1.0).contains(end))
        && let [Some(low), Some(high)] = shares.map(|end| quantile(pooled, end))
        && high - low < 2.0 * value
    {
        // An end of the interval may equal the percentile. Rounding must not move the end past the percentile.
        return [low.min(value), high.max(value)];
    }
    around(counted, share, value, confidence)
}

/// Returns an interval around a percentile beyond which there are few response times; NaN if the half-width is as large
/// as the percentile.
///
/// The half-width is a sum of two errors: the half-width of the interval for the mean of the replications' percentiles,
/// and the distance of this mean from the percentile over all replications. Percentiles of few times are biased
/// downwards.
fn around(counted: &[&[u64]], share: f64, value: f64, confidence: f64) -> [f64; 2] {
    let own = counted.iter().filter_map(|counts| quantile(counts, share));
    let own = Estimate::of(&own.collect::<Vec<_>>(), confidence);
    let error = own.half_width + (own.mean - value).abs();
    if error < value {
        [value - error, value + error]
    } else {
        [f64::NAN; 2]
    }
}

//! Checks Little's law in the results of a simulation. A run that is too short may violate the law.

use serde::Serialize;

use super::answer::Over;
use super::estimate::Estimate;
use super::layout::{Count, Layout};
use super::sample::Sample;

/// Little's law counts as violated if the difference is significant at the confidence level `FAILS.0` and at least the
/// share `FAILS.1` of the number in the system. Transactions that cross the start or the end of a run cause smaller
/// differences.
const FAILS: (f64, f64) = (0.999, 0.005);

/// Comparison of the mean number of transactions in the system with throughput times response time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Little {
    /// Throughput times response time. [1]
    pub users_by_law: f64,
    /// Mean number of transactions in the system minus throughput times response time. [1]
    pub difference: f64,
    /// Lower and upper end of the confidence interval of the difference. [1]
    pub confidence_interval: [f64; 2],
    /// `true` if the difference can be due to chance or is negligible.
    pub holds: bool,
}

impl Little {
    /// Checks Little's law for a class. Returns `None` if transactions ended before completion, since mean response
    /// times exclude these transactions.
    pub(super) fn of(over: &Over, class: usize) -> Option<Self> {
        let given_up = |sample: &Sample| {
            [Count::Dropped, Count::Failed]
                .iter()
                .any(|&count| sample.total(Layout::class(class, count)) > 0.0)
        };
        if over.samples.iter().any(given_up) {
            return None;
        }
        let users = over.estimate(|sample| sample.level(Layout::in_system(class)));
        let by_law = |sample: &Sample| sample.rate(Layout::class(class, Count::ResponseTime));
        let differences: Vec<f64> = (over.samples.iter())
            .map(|sample| sample.level(Layout::in_system(class)) - by_law(sample))
            .collect();
        let estimate = Estimate::of(&differences, over.confidence);
        let [low, high] = Estimate::of(&differences, FAILS.0).ends();
        Some(Self {
            users_by_law: over.estimate(by_law).mean,
            difference: estimate.mean,
            confidence_interval: estimate.ends(),
            holds: (low <= 0.0 && high >= 0.0) || estimate.mean.abs() <= FAILS.1 * users.mean,
        })
    }
}

//! Comparison of alternative models that were simulated with the same random numbers. Differences are computed for each
//! replication.

use serde::Serialize;

use super::answer::Over;
use super::estimate::Estimate;
use super::record::below;
use super::sample::Sample;
use crate::answer::Named;

/// Comparison of an alternative model with the first model.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Differences of the figures that both models have, by name such as `classes.web.response_time_s`.
    pub figures: Named<Difference>,
    /// Confidence level of the intervals of the differences.
    pub confidence: f64,
}

/// Difference of a figure: value of the alternative minus value of the first model.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Mean, or percentile over all replications, in the first model.
    pub first: f64,
    /// Mean or percentile in the alternative model.
    pub second: f64,
    /// Value of the alternative minus value of the first model.
    pub difference: f64,
    /// Lower and upper end of the confidence interval of the difference.
    pub confidence_interval: [f64; 2],
    /// `true` if the confidence interval of the difference does not contain 0.
    pub differs: bool,
    /// Variance of the difference relative to its variance with independent random numbers. The ratio is below 1 if
    /// common random numbers made the comparison more precise.
    pub variance_ratio: f64,
}

/// Compares two simulations that used the same seed.
pub(super) fn compare(first: &Over, second: &Over) -> Comparison {
    let mut figures = Vec::new();
    for (class, plan) in first.plan.classes.iter().enumerate() {
        let Some(other) = second
            .plan
            .classes
            .iter()
            .position(|candidate| candidate.name == plan.name)
        else {
            continue;
        };
        let mut add = |name: &str, value: &dyn Fn(&Sample, usize) -> f64| {
            let pairs = values(first, |sample| value(sample, class))
                .zip(values(second, |sample| value(sample, other)));
            figures.push((
                format!("classes.{}.{name}", plan.name),
                difference(&pairs.collect::<Vec<_>>(), first.confidence),
            ));
        };
        add("throughput_per_s", &Sample::throughput);
        add("response_time_s", &Sample::response_time);
        for (name, share) in [("p95", 0.95), ("p99", 0.99)] {
            let found = of_percentile((first, class), (second, other), name, share);
            figures.push((format!("classes.{}.{name}", plan.name), found));
        }
    }
    for (station, plan) in first.plan.stations.iter().enumerate() {
        let Some(other) = second
            .plan
            .stations
            .iter()
            .position(|candidate| candidate.name == plan.name)
        else {
            continue;
        };
        let utilization =
            values(first, |sample| sample.utilization(first.plan, station))
                .zip(values(second, |sample| {
                    sample.utilization(second.plan, other)
                }));
        let name = format!("stations.{}.utilization", plan.name);
        figures.push((
            name,
            difference(&utilization.collect::<Vec<_>>(), first.confidence),
        ));
    }
    Comparison {
        figures: Named(figures),
        confidence: first.confidence,
    }
}

fn values<'a>(
    over: &'a Over,
    figure: impl Fn(&Sample) -> f64 + 'a,
) -> impl Iterator<Item = f64> + 'a {
    over.samples.iter().map(figure)
}

/// Returns the difference of a percentile over all replications.
///
/// The interval follows from the intervals of both percentiles and the correlation of their errors (Zou, Psychological
/// Methods 12(4), 2007). The error of a replication is the error of its share of times below the percentile.
/// Percentiles of single replications are not averaged, since percentiles of few times are biased downwards.
fn of_percentile(
    first: (&Over, usize),
    second: (&Over, usize),
    name: &str,
    share: f64,
) -> Difference {
    let [one, other] = [first, second].map(|(over, class)| {
        let mut all = over.percentiles(class).into_iter();
        all.find(|each| each.name == name)
            .expect("it is one of them")
    });
    let counts = |(over, class): (&Over, usize), place: usize, value: f64| {
        let counts = &over.samples[place].part.histograms[class];
        below(counts, value) - share * counts.iter().sum::<u64>() as f64
    };
    let errors: Vec<(f64, f64)> = (0..first.0.samples.len().min(second.0.samples.len()))
        .map(|place| {
            (
                counts(first, place, one.value),
                counts(second, place, other.value),
            )
        })
        .collect();
    let related = correlation(&errors);
    let aside = |a: f64, b: f64| (a * a - 2.0 * related * a * b + b * b).max(0.0).sqrt();
    let difference = other.value - one.value;
    let ends = [
        difference - aside(other.value - other.ends[0], one.ends[1] - one.value),
        difference + aside(other.ends[1] - other.value, one.value - one.ends[0]),
    ];
    let width = |ends: [f64; 2]| (ends[1] - ends[0]).powi(2);
    Difference {
        first: one.value,
        second: other.value,
        difference,
        confidence_interval: ends,
        differs: ends[0] > 0.0 || ends[1] < 0.0,
        variance_ratio: width(ends) / (width(one.ends) + width(other.ends)),
    }
}

/// Returns the correlation of the two values of pairs; 0 if either value is the same in all pairs.
fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let count = pairs.len() as f64;
    let of = |figure: fn(&(f64, f64)) -> f64| pairs.iter().map(figure).sum::<f64>() / count;
    let (first, second) = (of(|pair| pair.0), of(|pair| pair.1));
    let product = |a: fn(&(f64, f64)) -> f64, b: fn(&(f64, f64)) -> f64, means: (f64, f64)| {
        pairs
            .iter()
            .map(|pair| (a(pair) - means.0) * (b(pair) - means.1))
            .sum::<f64>()
    };
    let (both, one, other) = (
        product(|pair| pair.0, |pair| pair.1, (first, second)),
        product(|pair| pair.0, |pair| pair.0, (first, first)),
        product(|pair| pair.1, |pair| pair.1, (second, second)),
    );
    if one > 0.0 && other > 0.0 {
        both / (one * other).sqrt()
    } else {
        0.0
    }
}

fn difference(pairs: &[(f64, f64)], confidence: f64) -> Difference {
    let pairs: Vec<(f64, f64)> = pairs
        .iter()
        .copied()
        .filter(|(a, b)| a.is_finite() && b.is_finite())
        .collect();
    if pairs.len() < 2 {
        let none = f64::NAN;
        return Difference {
            first: none,
            second: none,
            difference: none,
            confidence_interval: [none, none],
            differs: false,
            variance_ratio: none,
        };
    }
    let of = |figure: fn(&(f64, f64)) -> f64| {
        Estimate::of(&pairs.iter().map(figure).collect::<Vec<_>>(), confidence)
    };
    let (first, second, paired) = (
        of(|pair| pair.0),
        of(|pair| pair.1),
        of(|pair| pair.1 - pair.0),
    );
    let ends = paired.ends();
    let independent = first.half_width.powi(2) + second.half_width.powi(2);
    Difference {
        first: first.mean,
        second: second.mean,
        difference: paired.mean,
        confidence_interval: ends,
        differs: ends[0] > 0.0 || ends[1] < 0.0,
        variance_ratio: paired.half_width.powi(2) / independent,
    }
}

//! Alternatives that met the same random numbers: their difference, replication by replication.

use serde::Serialize;

use super::answer::Over;
use super::estimate::Estimate;
use super::sample::Sample;
use crate::answer::Named;

/// One alternative against the first.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Figures that both have, by name as `classes.web.response_time_s`.
    pub figures: Named<Difference>,
    /// Level of all intervals.
    pub confidence: f64,
}

/// The difference of a figure, the alternative less the first.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Mean of the first.
    pub first: f64,
    /// Mean of the alternative.
    pub second: f64,
    /// Mean of the paired differences.
    pub difference: f64,
    /// Ends of its interval.
    pub confidence_interval: [f64; 2],
    /// Whether the interval leaves out 0.
    pub differs: bool,
    /// Variance of the differences in relation to that of independent runs: below 1 where common random numbers helped.
    pub variance_ratio: f64,
}

/// Compares two simulations of the same seed.
pub(super) fn compare(first: &Over, second: &Over) -> Comparison {
    let mut figures = Vec::new();
    for (class, plan) in first.plan.classes.iter().enumerate() {
        let Some(other) = second
            .plan
            .classes
            .iter()
            .position(|one| one.name == plan.name)
        else {
            continue;
        };
        let mut add = |name: &str, value: &dyn Fn(&Sample, usize) -> f64| {
            let pairs =
                values(first, |one| value(one, class)).zip(values(second, |one| value(one, other)));
            figures.push((
                format!("classes.{}.{name}", plan.name),
                difference(&pairs.collect::<Vec<_>>(), first.confidence),
            ));
        };
        add("throughput_per_s", &Sample::throughput);
        add("response_time_s", &Sample::response_time);
        add("p95", &|one, class| one.percentile(class, 0.95));
        add("p99", &|one, class| one.percentile(class, 0.99));
    }
    for (station, plan) in first.plan.stations.iter().enumerate() {
        let Some(other) = second
            .plan
            .stations
            .iter()
            .position(|one| one.name == plan.name)
        else {
            continue;
        };
        let utilization = values(first, |one| one.utilization(first.plan, station))
            .zip(values(second, |one| one.utilization(second.plan, other)));
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

//! Warnings about the answer of a simulation.

use super::answer::{FAILURES, Over, Run};
use super::law::Little;
use super::sample::Sample;

/// Fewer replications than this give a warning. With 3 replications, for example, a 95 % t-interval reaches 4.3
/// standard errors to each side.
const FEW: usize = 4;
/// Limit on the skewness of a mean, and an allowance for chance in standard errors of the skewness, √6 / n for n
/// batches. Above this limit, the correction of t for skewness is too small.
const SKEWED: (f64, f64) = (0.2, 2.0);

impl Over<'_> {
    /// Returns the name and utilization of the busiest station.
    fn busiest(&self) -> (&str, f64) {
        let stations = self.plan.stations.iter().enumerate().map(|(at, station)| {
            let utilization = self.estimate(|sample| sample.utilization(self.plan, at));
            (station.name.as_str(), utilization.mean)
        });
        stations
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .expect("a model has a station")
    }

    /// Returns a warning for each station that failed too seldom for a reliable estimate.
    fn few_failures(&self) -> Vec<String> {
        let few = self
            .failures()
            .into_iter()
            .filter(|&(_, met)| met < FAILURES);
        let warnings = few.map(|(name, met)| match met {
            0 => format!(
                "station {name} failed 0 times: no figure includes its failures; allow more events"
            ),
            met => format!(
                "station {name} failed {}: the figures depend on few failures, and may be off by more than \
                 their intervals; allow more events",
                if met == 1 { "once".to_owned() } else { format!("{met} times") }
            ),
        });
        warnings.collect()
    }

    /// Returns a warning if long service times are so rare that the computed interval of a mean response time is too
    /// narrow.
    fn tailed(&self, run: &Run) -> Option<String> {
        // The errors of waits do not matter if the share of waits in the response time is below the requested
        // precision.
        if let Some(endless) = self.endless_tail(run.precision_asked) {
            return Some(format!(
                "service times at {} have no fourth moment, so the interval of the mean response time of {} contains the \
                 true value less often than {:.0} %, whatever the length of the run; use percentiles",
                endless.station,
                endless.class,
                self.confidence * 100.0
            ));
        }
        let least = self.tails()?;
        let (class, station) = (least.class, least.station);
        let narrow = run.stopped != "precision" && least.width > run.precision_reached;
        narrow.then(|| {
            format!(
                "the longest service times at {station} occurred too seldom: the mean response time of {class} is known to \
                 {:.2} % at best, but its interval is narrower; allow more events, or use percentiles",
                least.width * 100.0
            )
        })
    }

    /// Returns a warning if the most skewed mean of a throughput or response time depends on few long times.
    fn skewed(&self) -> Option<String> {
        let batches: usize = self.samples.iter().map(|sample| sample.batches.len()).sum();
        let limit = SKEWED.0 + SKEWED.1 * 6.0_f64.sqrt() / batches.max(1) as f64;
        let figures = self.figures().into_iter();
        let (name, skewness) = figures
            .map(|(name, estimate)| (name, estimate.skewness.abs()))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, skewness)| *skewness > limit)?;
        Some(format!(
            "{name} depends on few long times: the skewness of its mean is {skewness:.2}, above {limit:.2}, so intervals \
             of means contain the true value less often than {:.0} %; request more precision, or use percentiles",
            self.confidence * 100.0
        ))
    }

    /// Returns all warnings about the answer; `grows` is `true` if the number in the system grows.
    pub(super) fn warnings(&self, run: &Run, grows: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        if grows {
            let (name, utilization) = self.busiest();
            warnings.push(format!(
                "no steady state: the number in the system grows until the end, so the figures describe this run only; \
                 the busiest station is {name} with a utilization of {:.2} %",
                utilization * 100.0
            ));
        }
        if !grows && !self.samples.iter().all(Sample::is_long_enough) {
            warnings.push(format!(
                "measured for only {:.1} times the relaxation time of {:.3} s, in which the influence of the initial state \
                 disappears: the means may be off by more than their intervals; allow more events",
                run.measured_relaxations, run.relaxation_s
            ));
        }
        warnings.extend(self.few_failures());
        let tails = self.tailed(run).or_else(|| self.skewed());
        warnings.extend(tails.filter(|_| !grows));
        if self.plan.rounds.is_some() && run.stopped != "precision" {
            let kept = (self.plan.classes.iter()).filter(|class| class.keeps_distances);
            let names: Vec<&str> = kept.map(|class| class.name.as_str()).collect();
            warnings.push(format!(
                "no time is random for class {}, so jobs keep the distances with which they begin, and mean times depend on \
                 these: the intervals are those of random starts; use more replications",
                names.join(" and ")
            ));
        }
        if run.replications < FEW {
            warnings.push(format!(
                "only {} replications: intervals of few replications are wide, or narrow by chance; use {FEW} or more",
                run.replications
            ));
        }
        for (class, class_plan) in self.plan.classes.iter().enumerate() {
            if let Some(law) = Little::of(self, class).filter(|law| !grows && !law.holds) {
                warnings.push(format!(
                    "Little's law does not hold for class {}: throughput times response time is {:.4} users, but \
                     {:.4} are in the system; {}",
                    class_plan.name,
                    law.users_by_law,
                    law.users_by_law + law.difference,
                    if self.has_endless(class, run.stopped) {
                        "some transactions do not end, so the figures depend on how the run began"
                    } else {
                        "the run is too short compared with the response time"
                    }
                ));
            }
        }
        if run.stopped != "precision" {
            warnings.push(format!(
                "stopped by the limit on {} before the requested precision: {} is known to {:.2} %, requested is {:.2} %",
                run.stopped,
                run.widest,
                run.precision_reached * 100.0,
                run.precision_asked * 100.0
            ));
        }
        warnings
    }
}

//! What the reader of an answer must know.

use super::answer::{FAILURES, Over, Run};
use super::law::Little;
use super::sample::Sample;

/// Fewest replications without a warning: the t-interval of 3 has 4.3 standard errors on each side.
const FEW: usize = 4;

impl Over<'_> {
    /// The station with the highest utilization.
    fn busiest(&self) -> (&str, f64) {
        let stations = self.plan.stations.iter().enumerate().map(|(at, one)| {
            let utilization = self.estimate(|sample| sample.utilization(self.plan, at));
            (one.name.as_str(), utilization.mean)
        });
        stations
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .expect("a model has a station")
    }

    /// Stations that failed too seldom to be known.
    fn few_failures(&self) -> Vec<String> {
        let few = self
            .failures()
            .into_iter()
            .filter(|&(_, met)| met < FAILURES);
        let told = few.map(|(name, met)| match met {
            0 => format!(
                "station {name} failed 0 times: its failures are in no figure; allow more events"
            ),
            met => format!(
                "station {name} failed {}: the figures rest on so few failures, and may be off by more than \
                 their intervals; allow more events",
                if met == 1 { "once".to_owned() } else { format!("{met} times") }
            ),
        });
        told.collect()
    }

    /// All warnings.
    pub(super) fn warnings(&self, run: &Run, steady: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        if !steady {
            let (name, utilization) = self.busiest();
            warnings.push(format!(
                "no steady state: the number in the system grows to the end, so the figures are of this run only; \
                 the busiest station is {name} with a utilization of {:.2} %",
                utilization * 100.0
            ));
        }
        if steady && !self.samples.iter().all(Sample::is_long_enough) {
            warnings.push(format!(
                "measured for only {:.1} times the {:.3} s in which the network forgets how it began: the means may be \
                 off by more than their intervals; allow more events",
                run.measured_relaxations, run.relaxation_s
            ));
        }
        warnings.extend(self.few_failures());
        if run.replications < FEW {
            warnings.push(format!(
                "only {} replications: intervals of so few are wide, or narrow by chance; use {FEW} or more",
                run.replications
            ));
        }
        for (class, class_plan) in self.plan.classes.iter().enumerate() {
            if let Some(law) = Little::of(self, class).filter(|law| steady && !law.holds) {
                warnings.push(format!(
                    "Little's law does not hold for class {}: throughput times response time is {:.4} users, and \
                     {:.4} are in the system; the run is too short for its response time",
                    class_plan.name,
                    law.users_by_law,
                    law.users_by_law + law.difference
                ));
            }
        }
        if run.stopped != "precision" {
            warnings.push(format!(
                "stopped by the bound on {} before the precision asked for: {} is known to {:.2} %, asked were {:.2} %",
                run.stopped,
                run.widest,
                run.precision_reached * 100.0,
                run.precision_asked * 100.0
            ));
        }
        warnings
    }
}

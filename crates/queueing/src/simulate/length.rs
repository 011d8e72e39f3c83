//! Minimum length of a replication, relative to the relaxation time: the time in which the influence of the initial
//! state disappears.
//!
//! A mean over completed transactions is too small if the run is not much longer than the transactions, since the
//! longest ones have not ended. The confidence interval of the mean does not show this error, as all replications have
//! the same length.

use super::layout::{Count, Layout};
use super::machine::Machine;
use super::plan::{ClassPlan, Kind, Plan};
use super::record::Part;
use super::sample::utilization;
use super::times::Times;
use super::walk;

/// Minimum warm-up, in relaxation times. If the time in the system is exponential, transactions longer than the warm-up
/// contribute at most 9 exp(-8) = 0.3 % of the mean.
const WARM_UP: f64 = 8.0;
/// Minimum duration of the measured part of a replication, in relaxation times.
const MEASURED: f64 = 24.0;
/// Minimum length of a batch within a replication, in relaxation times. Correlation between batches of this length
/// makes the standard error in M/M/1 too small by 2 %.
const BATCH: f64 = 48.0;
/// Number of batches over all replications. With 80 batches, the standard error is known to 8 %; more batches improve
/// this only a little.
const BATCHES: usize = 80;
/// Limit on the utilization that enters the relaxation time of open classes. Without this limit, a station without a
/// steady state could never be measured long enough.
const OPEN_AT_MOST: f64 = 0.95;

/// Returns the minimum duration of the warm-up. [s]
pub fn warm_up_s(relaxation_s: f64) -> f64 {
    WARM_UP * relaxation_s
}

/// Returns `true` if the measured part of a replication is long enough, compared with the relaxation time.
pub fn is_enough(measured_s: f64, relaxation_s: f64) -> bool {
    // The tolerance of a millionth allows for rounding, since durations of warm-up and measured part are sums of
    // slices.
    measured_s >= MEASURED * relaxation_s * (1.0 - 1e-6)
}

/// Returns the number of batches within each replication, from the measured time of the shortest replication. It is 0
/// if that time is too short for two batches.
pub fn batches(measured_s: f64, relaxation_s: f64, replications: usize) -> usize {
    let fit = (measured_s / (BATCH * relaxation_s)) as usize;
    let count = fit.min(BATCHES.div_ceil(replications));
    if count < 2 { 0 } else { count }
}

/// Returns the relaxation time of the slowest class or station, from the second half of all replications. [s]
pub fn relaxation_s(machines: &mut [Machine]) -> f64 {
    let parts: Vec<Part> = machines.iter_mut().map(Machine::second_half).collect();
    let machine = &machines[0];
    let (plan, layout) = (machine.plan, machine.layout);
    let duration_s: f64 = parts.iter().map(|part| part.duration_s).sum();
    let sum = |index: usize| parts.iter().map(|part| part.sums[index]).sum::<f64>();
    let busiest = busiest(plan, layout, |level| sum(level) / duration_s);
    let times = plan.classes.iter().enumerate().map(|(class, class_plan)| {
        let count = |count| sum(layout.levels() + Layout::class(class, count));
        let ended = count(Count::Completed) + count(Count::Dropped) + count(Count::Failed);
        let present = sum(Layout::in_system(class));
        let stay_s = if present == 0.0 { 0.0 } else { present / ended };
        let away_s = (class_plan.users as f64 * duration_s - present).max(0.0) / ended;
        let walk_s = if class_plan.users == 0 {
            0.0
        } else {
            let per_s = count(Count::Completed) / duration_s;
            walk::relaxation_s(plan, class, per_s, |index| sum(index) / duration_s)
        };
        let after = (class_plan.after.iter())
            .map(|&station| layout.levels() + layout.sojourn(station as usize, class));
        let after_s = after.map(&sum).sum::<f64>() / ended.max(1.0);
        (of_class(class_plan, stay_s, away_s, busiest).max(walk_s)).max(of_open(after_s, busiest))
    });
    times.fold(of_failures(plan), f64::max)
}

/// Returns the longest relaxation time of the stations that fail. With exponential up and down times, it is 1 /
/// (failure rate + repair rate). [s]
fn of_failures(plan: &Plan) -> f64 {
    let times = plan.stations.iter().map(|station| match station.failure {
        Some((Times::Exponential(up_s), Times::Exponential(down_s), _)) => {
            up_s * down_s / (up_s + down_s)
        }
        _ => 0.0,
    });
    times.fold(0.0, f64::max)
}

/// Returns the relaxation time of a class: the mean time in the system plus the time in which the number in the system
/// settles. [s]
///
/// In a closed class of N users, N - L users think, each for the time Z, and the L jobs in the system leave at a rate
/// X(L): dL/dt = (N - L) / Z - X(L). A deviation of L decays at the rate 1 / Z + X'(L). For one server of utilization
/// U, X' = (1 - U) / R with the response time R, since X = m L / (1 + L) with the service rate m. For an open class, Z
/// is infinite.
fn of_class(class: &ClassPlan, stay_s: f64, away_s: f64, busiest: f64) -> f64 {
    if stay_s == 0.0 {
        return 0.0;
    }
    if class.arrivals.is_some() {
        return of_open(stay_s, busiest);
    }
    stay_s + 1.0 / (1.0 / away_s + (1.0 - busiest).max(0.0) / stay_s)
}

/// Returns the relaxation time of jobs that arrive whatever the number present, as those of an open class. [s]
fn of_open(stay_s: f64, busiest: f64) -> f64 {
    if stay_s == 0.0 {
        return 0.0;
    }
    let settle_per_s = (1.0 - busiest.min(OPEN_AT_MOST)) / stay_s;
    stay_s + 1.0 / settle_per_s
}

/// Returns the utilization of the busiest station or pool.
fn busiest(plan: &Plan, layout: Layout, level: impl Fn(usize) -> f64) -> f64 {
    let stations = (0..layout.stations)
        .filter(|&station| plan.stations[station].kind != Kind::Delay)
        .map(|station| utilization(plan, station, level(layout.busy(station))));
    let pools =
        (0..layout.pools).map(|pool| level(layout.held(pool)) / plan.pools[pool].size as f64);
    stations.chain(pools).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::simulate::plan::Plan;

    fn plan(class: &str) -> Plan {
        let text = format!(
            r#"{{"classes": [{class}],
                "stations": [{{"name": "s", "services": [{{"class": "c", "service_time_s": 1.0}}]}}]}}"#
        );
        Plan::new(&serde_json::from_str::<Model>(&text).unwrap()).unwrap()
    }

    /// A saturated station completes jobs at a constant rate. The number in the system then settles within about a
    /// think time.
    #[test]
    fn relaxation_is_that_of_the_flow_between_users_and_stations() {
        let closed = plan(r#"{"name": "c", "users": 10, "think_time_s": 5.0}"#);
        assert!((of_class(&closed.classes[0], 12.0, 5.0, 1.0) - 17.0).abs() < 1e-12);
        // At a light load, the sum of the time in the system and the time to settle is 1 + 1 / (1 / 99 + 0.99 / 1).
        let light = of_class(&closed.classes[0], 1.0, 99.0, 0.01);
        assert!((light - (1.0 + 1.0 / (1.0 / 99.0 + 0.99))).abs() < 1e-12);
        // M/M/1 with service time 1 at utilization U = 0.75 has R = 4 and R / (1 - U) = 16.
        let open = plan(r#"{"name": "c", "arrival_rate_per_s": 0.75}"#);
        assert!((of_class(&open.classes[0], 4.0, 0.0, 0.75) - 20.0).abs() < 1e-12);
        assert!(of_class(&open.classes[0], 0.0, 0.0, 0.0).abs() < 1e-12);
    }

    #[test]
    fn batches_are_long_beside_the_relaxation_time() {
        assert_eq!(batches(7680.0, 1.0, 10), 8);
        assert_eq!(batches(150.0, 1.0, 10), 3);
        assert_eq!(batches(95.0, 1.0, 10), 0);
        assert_eq!(batches(7680.0, 1.0, 2), 40);
        assert_eq!(batches(7680.0, 1.0, 100), 0);
    }

    /// The probability that a station is up approaches its steady-state value. After a time t, the difference has
    /// decayed to exp(-(1 / up + 1 / down) t).
    #[test]
    fn failures_are_forgotten_at_the_sum_of_their_rates() {
        let class = r#"{"name": "c", "arrival_rate_per_s": 0.5}"#;
        let mut fails = plan(class);
        assert!(of_failures(&fails).abs() < 1e-12);
        fails.stations[0].failure = Some((Times::Exponential(60.0), Times::Exponential(30.0), 0));
        assert!((of_failures(&fails) - 20.0).abs() < 1e-12);
    }
}

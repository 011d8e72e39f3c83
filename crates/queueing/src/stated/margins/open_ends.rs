//! Ends that ranges do not have, since mean times depend on details or beginnings that formulas do not know.

use crate::model::Discipline;
use crate::network::{Center, Hold, Load, Network};
use crate::solve::Solution;

use super::Margin;

/// Utilization by better ranks above which the wait of a closed class has no upper end. The few moments in which such a
/// class is served depend on details that mean value analysis does not know. [ratio]
const OVERTAKEN: f64 = 0.9;

impl Margin {
    /// Returns this margin, without an upper end if closed classes of better ranks leave hardly any time at a station, and
    /// with fewer ends for jobs that follow each other at equal distances.
    pub(super) fn limited(
        self,
        network: &Network,
        solution: &Solution,
        station: usize,
        class: usize,
    ) -> Self {
        let center = &network.centers[station];
        let closed = !network.closed().is_empty();
        let overtaken = closed
            && center.demand[class] > 0.0
            && better(solution, center, station, class) > OVERTAKEN;
        let in_step = in_step(network, class) && self.more > 0.0;
        let elsewhere = closed || !network.holds.is_empty() || !network.splits.is_empty();
        let any = network.keeps_distances[class];
        let even = network.meets_even_streams[class];
        Self {
            large: if in_step || any || even {
                f64::INFINITY
            } else {
                self.large
            },
            small: if overtaken || (in_step || even) && elsewhere || any {
                f64::INFINITY
            } else {
                self.small
            },
            burst: if even {
                burst(network, solution, station, class)
            } else {
                0.0
            },
            ..self
        }
    }
}

/// Returns `true` if a pool limits the jobs at a station, and the network is not solved by flow-equivalent servers. Mean
/// value analysis then knows the wait for the pool, but not that jobs inside meet fewer others: with one unit, none.
pub(super) fn is_inside(
    network: &Network,
    solution: &Solution,
    station: usize,
    class: usize,
) -> bool {
    let limits = |hold: &Hold| hold.concerns[class] && hold.stations.contains(&station);
    network.holds.iter().any(limits) && !solution.method.contains("flow-equivalent")
}

/// Returns the time by which jobs of other streams at equal distances delay a job that arrives last of all at the same
/// moment as these. While they are served, other jobs interrupt or share the servers. [s]
fn burst(network: &Network, solution: &Solution, station: usize, class: usize) -> f64 {
    let center = &network.centers[station];
    let even = |other: usize| matches!(network.loads[other], Load::Open { scv, .. } if scv == 0.0);
    let ahead: f64 = (center.visitors())
        .filter(|&other| other != class && even(other))
        .map(|other| center.service_time[other] * center.in_row[other])
        .sum();
    let used = match center.discipline {
        Discipline::Fcfs => 0.0,
        Discipline::Priority => better(solution, center, station, class),
        _ => utilization(solution, center, station, |_| true),
    };
    if ahead == 0.0 {
        0.0
    } else {
        ahead * center.in_row[class] / (1.0 - used).max(0.0)
    }
}

/// Returns `true` if a class has constant service times at several stations. Jobs then follow each other at equal
/// distances, and wait far less or, in a closed network that they begin together, far more than other jobs.
fn in_step(network: &Network, class: usize) -> bool {
    let visited = || {
        (network.centers.iter())
            .filter(move |center| center.is_queue() && center.demand[class] > 0.0)
    };
    visited().count() > 1 && visited().all(|center| center.has_constant_visits(class))
}

/// Returns the utilization of a station by classes of better ranks than `class`.
fn better(solution: &Solution, center: &Center, station: usize, class: usize) -> f64 {
    if center.discipline != Discipline::Priority {
        return 0.0;
    }
    utilization(solution, center, station, |other| {
        center.rank[other] < center.rank[class]
    })
}

/// Returns the utilization of a station by the classes that count.
fn utilization(
    solution: &Solution,
    center: &Center,
    station: usize,
    counts: impl Fn(usize) -> bool,
) -> f64 {
    let used: f64 = (center.visitors())
        .filter(|&other| counts(other))
        .map(|other| solution.flow[other][station] * center.demand[other])
        .sum();
    used / center.speed.limit()
}

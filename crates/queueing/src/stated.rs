//! The stated error of an approximate answer: the largest relative error of a mean response time that was observed in
//! random networks, rounded up. `tests/certified/test_certified_grid.py` solves and simulates 4,000 of these networks.
//!
//! The error may be larger for other networks. A network that is very different, for example with very different
//! service times of its classes, should be simulated.

use crate::model::Discipline;
use crate::network::{Load, Network};
use crate::solve::Solution;

/// Returns the largest observed error of the mean response time of a class in networks of the same kind; `None` for
/// exact answers. [ratio]
#[must_use]
pub fn response_error(network: &Network, solution: &Solution) -> Option<f64> {
    (!solution.exact).then(|| {
        let errors = [
            around(network, &solution.method),
            order(network),
            arrivals(network),
            queues(network, &solution.method),
        ];
        errors.into_iter().fold(0.0, f64::max)
    })
}

/// Returns the largest observed error for networks with pools and forks.
fn around(network: &Network, method: &str) -> f64 {
    let (closed, open) = (!network.closed().is_empty(), !network.open().is_empty());
    let pool: f64 = match (network.holds.is_empty(), network.loads.len()) {
        (true, _) => 0.0,
        (false, 1) if method.contains("flow-equivalent") => 0.05,
        (false, 1) => 1.5,
        _ if closed && open => 11.0,
        _ => 2.0,
    };
    let fork = match (network.splits.is_empty(), closed, open) {
        (true, _, _) => 0.0,
        (false, false, _) => 0.25,
        (false, true, false) => 1.0,
        (false, true, true) => 1.5,
    };
    pool.max(fork)
}

/// Returns the largest observed error for networks with ranks. It is far larger if there are closed classes.
fn order(network: &Network) -> f64 {
    let closed = !network.closed().is_empty();
    (network.centers.iter())
        .filter(|center| center.discipline == Discipline::Priority)
        .map(|center| match (center.preemptive, closed) {
            (false, false) => 0.15,
            (true, false) => 0.1,
            (_, true) => 3.5,
        })
        .fold(0.0, f64::max)
}

/// Returns the largest observed error for networks whose arrivals are not Poisson. The error is larger if servers are
/// shared.
fn arrivals(network: &Network) -> f64 {
    let poisson = |load: &Load| !matches!(load, Load::Open { poisson: false, .. });
    let shared = |center: &crate::network::Center| {
        center.is_queue() && center.discipline != Discipline::Fcfs
    };
    match (
        network.loads.iter().all(poisson),
        network.centers.iter().any(shared),
    ) {
        (true, _) => 0.0,
        (false, false) => 0.15,
        (false, true) => 0.6,
    }
}

/// Returns the largest observed error for networks with first-come-first-served queues.
fn queues(network: &Network, method: &str) -> f64 {
    let queues = network.centers.iter().filter(|center| center.is_queue());
    let several = queues.count() > 1;
    if network.is_product_form() {
        return 0.1;
    }
    if method.starts_with("phases") {
        return if several { 0.4 } else { 0.05 };
    }
    let bounded = network
        .centers
        .iter()
        .any(|center| center.capacity.is_some());
    let (closed, open) = (!network.closed().is_empty(), !network.open().is_empty());
    match (closed, open) {
        _ if method.starts_with("one class") => 0.1,
        (false, _) if method.contains(crate::finite::MERGED) => 0.4,
        (false, _) if bounded && network.loads.len() > 1 => 0.4,
        (false, _) if several => 0.25,
        (false, _) if bounded => 0.2,
        (false, _) => 0.05,
        _ if method.contains("flow-equivalent") => 0.05,
        (true, false) => 0.5,
        (true, true) => 3.0,
    }
}

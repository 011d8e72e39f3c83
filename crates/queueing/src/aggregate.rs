//! Approximates several closed classes at first-come-first-served stations with several servers by a single class that
//! represents all of them.
//!
//! The service and think times of all classes are mixed, weighted by throughput. The network of the single class is
//! solved with phases of service ([`crate::marie`]). At first-come-first-served stations, each class waits
//! as long as the single class. At shared servers, each class is slowed by the same factor as the single class. The
//! resulting times give new throughputs, and the iteration continues until the throughputs converge.
//!
//! The method ignores that a class with few users hardly ever queues behind its own jobs. At stations with few servers
//! this matters, and approximate mean value analysis is more accurate.

use crate::marie;
use crate::model::Discipline;
use crate::network::{Back, Center, Load, Network, Speed};

/// The method is used only if a first-come-first-served station has at least this number of servers.
const SERVERS_AT_LEAST: u32 = 3;
const ROUNDS_AT_MOST: usize = 500;
/// Relative change of the throughputs at which the iteration has converged.
const TOLERANCE: f64 = 1e-9;

/// Mean values of a network: throughput by class, and residence time by class and station.
#[derive(Clone, Debug)]
pub struct Means {
    /// Throughput of each class. [1/s]
    pub throughput: Vec<f64>,
    /// Residence time of each class at each station. [s]
    pub residence: Vec<Vec<f64>>,
}

/// Solves a network of closed classes by a single class that represents them; `None` if the method does not apply.
#[must_use]
pub fn solve(network: &Network) -> Option<Means> {
    let classes = network.loads.len();
    let plain = network.holds.is_empty() && network.splits.is_empty();
    if classes < 2 || network.closed().len() < classes || !plain || !applies(network) {
        return None;
    }
    let mut throughput: Vec<f64> = (0..classes)
        .map(|class| {
            let demand = |center: &Center| center.demand[class];
            let alone: f64 = network.centers.iter().map(demand).sum();
            network.users(class) as f64 / (network.think_time(class) + alone)
        })
        .collect();
    for _ in 0..ROUNDS_AT_MOST {
        let means = marie::solve(&mixed(network, &throughput))?;
        let residence: Vec<Vec<f64>> = (0..classes)
            .map(|class| times(network, &throughput, &means, class))
            .collect();
        let mut moved = 0.0_f64;
        for (class, rate) in throughput.iter_mut().enumerate() {
            let cycle = network.think_time(class) + residence[class].iter().sum::<f64>();
            let new = network.users(class) as f64 / cycle;
            moved = moved.max((new / *rate - 1.0).abs());
            *rate = 0.5 * (*rate + new);
        }
        if moved < TOLERANCE {
            // The throughputs are computed once more from the final times, so that Little's law holds exactly for each
            // class.
            for (class, rate) in throughput.iter_mut().enumerate() {
                let cycle = network.think_time(class) + residence[class].iter().sum::<f64>();
                *rate = network.users(class) as f64 / cycle;
            }
            return Some(Means {
                throughput,
                residence,
            });
        }
    }
    None
}

/// Returns `true` if all stations are of supported kinds, and a first-come-first-served station has several servers.
fn applies(network: &Network) -> bool {
    let known = |center: &Center| {
        center.capacity.is_none()
            && match center.speed {
                Speed::Delay => true,
                Speed::Servers(_) => {
                    center.is_product_form() || center.discipline == Discipline::Fcfs
                }
                Speed::Rates(_) => false,
            }
    };
    let several = |center: &Center| {
        !center.is_product_form()
            && matches!(center.speed, Speed::Servers(count) if count >= SERVERS_AT_LEAST)
    };
    network.centers.iter().all(known) && network.centers.iter().any(several)
}

/// Creates a network with the single class that represents all classes, if these have the given throughputs.
fn mixed(network: &Network, throughput: &[f64]) -> Network {
    let total: f64 = throughput.iter().sum();
    let mean = |value: &dyn Fn(usize) -> f64| -> f64 {
        let sum: f64 = (throughput.iter().enumerate())
            .map(|(class, rate)| rate * value(class))
            .sum();
        sum / total
    };
    let centers = (network.centers.iter())
        .map(|center| {
            let visits = mean(&|class| visits(center, class));
            let demand = mean(&|class| center.demand[class]);
            let time = if visits > 0.0 { demand / visits } else { 0.0 };
            let square = mean(&|class| visits_square(center, class));
            let scv = if center.is_product_form() || demand == 0.0 {
                1.0
            } else {
                square / (visits * time * time) - 1.0
            };
            Center {
                visits: vec![visits],
                in_row: vec![1.0],
                back: vec![Back::Never],
                row_factor: vec![1.0],
                service_time: vec![time],
                demand: vec![demand],
                scv: vec![scv.max(0.0)],
                form: Vec::new(),
                rank: vec![1],
                ..center.clone()
            }
        })
        .collect();
    Network {
        names: vec!["all".into()],
        loads: vec![Load::Closed {
            users: (0..throughput.len())
                .map(|class| network.users(class))
                .sum(),
            think_time: mean(&|class| network.think_time(class)),
        }],
        centers,
        holds: Vec::new(),
        splits: Vec::new(),
        routed: false,
        keeps_distances: vec![false],
        meets_even_streams: vec![false],
    }
}

fn visits(center: &Center, class: usize) -> f64 {
    if center.demand[class] > 0.0 {
        center.visits[class]
    } else {
        0.0
    }
}

/// Returns the visits of a class to a station, times the second moment of the service time. [s²]
fn visits_square(center: &Center, class: usize) -> f64 {
    center.demand[class] * center.service_time[class] * (1.0 + center.scv[class])
}

/// Returns the residence times of a class at all stations, from the solution of the single class. [s]
fn times(network: &Network, throughput: &[f64], means: &marie::Means, class: usize) -> Vec<f64> {
    let total: f64 = throughput.iter().sum();
    (network.centers.iter().enumerate())
        .map(|(station, center)| {
            let own = center.demand[class];
            if own == 0.0 || !center.is_queue() {
                return own;
            }
            let mean = |value: &dyn Fn(usize) -> f64| -> f64 {
                let sum: f64 = (throughput.iter().enumerate())
                    .map(|(other, rate)| rate * value(other))
                    .sum();
                sum / total
            };
            let all = mean(&|other| center.demand[other]);
            let stay = means.jobs[station] / means.throughput;
            if center.discipline == Discipline::Fcfs {
                let count = mean(&|other| visits(center, other));
                own + center.visits[class] * (stay - all).max(0.0) / count
            } else {
                own * (stay / all).max(1.0)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::model::Model;
    use crate::solve::{Method, solve};

    fn answer(classes: &[(u64, f64, f64)], servers: u32) -> crate::answer::Answer {
        let name = |class: usize| format!("c{class}");
        let loads: Vec<_> = (classes.iter().enumerate())
            .map(|(class, (users, think, _))| {
                serde_json::json!({"name": name(class), "users": users, "think_time_s": think})
            })
            .collect();
        let services: Vec<_> = (classes.iter().enumerate())
            .map(|(class, (_, _, time))| {
                serde_json::json!({"class": name(class), "service_time_s": time})
            })
            .collect();
        let model: Model = serde_json::from_value(serde_json::json!({"classes": loads,
            "stations": [{"name": "s", "servers": servers, "services": services}]}))
        .unwrap();
        solve(&model, Method::Auto).unwrap()
    }

    /// Expected response times come from simulation (`towtank-engine simulate`, 2 million events, relative error 0.5
    /// %).
    #[test]
    fn short_and_long_jobs_at_four_servers_are_near_those_simulated() {
        let found = answer(&[(20, 10.0, 0.5), (5, 10.0, 5.0)], 4);
        assert!((found.classes["c0"].response_time_s / 0.7463 - 1.0).abs() < 0.08);
        assert!((found.classes["c1"].response_time_s / 5.148 - 1.0).abs() < 0.05);
        let busy = answer(&[(20, 0.0, 0.5), (5, 0.0, 5.0)], 4);
        assert!((busy.classes["c0"].response_time_s / 6.521 - 1.0).abs() < 0.08);
        assert!((busy.classes["c1"].response_time_s / 10.15 - 1.0).abs() < 0.06);
        for answer in [found, busy] {
            assert!(answer.checks.within_bounds && answer.checks.population < 1e-9);
            assert!(answer.stations["s"].utilization <= 1.0 + 1e-9);
        }
    }
}

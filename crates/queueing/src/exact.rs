//! Solves product-form networks with closed classes exactly, if the computation is short enough.

use crate::amva::{self, Estimate};
use crate::convolution;
use crate::mva;
use crate::network::Network;
use crate::solve::Solution;

/// Limit on the operations of an exact solution, which take about a second. [1]
const OPERATIONS_AT_MOST: f64 = 1.5e9;
/// Limit on the values that an exact solution keeps in memory, about a gigabyte. [1]
const VALUES_AT_MOST: f64 = 1.2e7;
/// Largest allowed error in the number of users that follows from Little's law. [relative]
const RESIDUAL_AT_MOST: f64 = 1e-7;

/// Solves a product-form network exactly. Returns `None` if the cost is too high or numbers exceed the range of
/// floating-point numbers.
pub(crate) fn solve(network: &Network, closed: &[usize]) -> Option<Solution> {
    let users: Vec<u64> = closed.iter().map(|&class| network.users(class)).collect();
    let single = network
        .centers
        .iter()
        .all(|center| !center.is_queue() || center.speed.is_single());
    let queues: Vec<usize> = (0..network.centers.len())
        .filter(|&index| {
            network.centers[index].is_queue()
                && closed
                    .iter()
                    .any(|&class| network.centers[index].demand[class] > 0.0)
        })
        .collect();
    let points = mva::lattice_points(&users);
    let longest = users.iter().copied().max().unwrap_or(0) as f64 + 1.0;
    let count = queues.len().max(1) as f64;
    let solution = if single
        && points * count * users.len() as f64 * 2.0 <= OPERATIONS_AT_MOST
        && points / longest * count * 2.0 <= VALUES_AT_MOST * 8.0
    {
        by_mva(network, closed, &queues)
    } else {
        by_convolution(network, closed, &queues, points)?
    };
    residual(network, &solution)
        .is_some_and(|largest| largest < RESIDUAL_AT_MOST)
        .then_some(solution)
}

/// Returns the largest relative error of Little's law for the number of users of a class; `None` if a value is not
/// finite.
fn residual(network: &Network, solution: &Solution) -> Option<f64> {
    let mut largest = 0.0_f64;
    for class in network.closed() {
        let inside: f64 = solution.jobs[class].iter().sum();
        let users = network.users(class) as f64;
        let error =
            (inside + solution.throughput[class] * network.think_time(class) - users).abs() / users;
        largest = if error.is_finite() {
            largest.max(error)
        } else {
            return None;
        };
    }
    Some(largest)
}

/// Returns the think time of a class plus the times of its visits to delays. [s]
fn delays(network: &Network, class: usize) -> f64 {
    let waits = network
        .centers
        .iter()
        .filter(|center| !center.is_queue())
        .map(|center| center.demand[class]);
    network.think_time(class) + waits.sum::<f64>()
}

fn by_mva(network: &Network, closed: &[usize], queues: &[usize]) -> Solution {
    let left = |index: usize| 1.0 - network.open_load(&network.centers[index]);
    let demand = |class: usize| -> Vec<f64> {
        queues
            .iter()
            .map(|&index| network.centers[index].demand[class] / left(index))
            .collect()
    };
    let means = mva::solve(&mva::Closed {
        users: closed.iter().map(|&class| network.users(class)).collect(),
        think_time: closed.iter().map(|&class| delays(network, class)).collect(),
        demand: closed.iter().map(|&class| demand(class)).collect(),
    });
    let mut jobs = vec![vec![0.0; network.centers.len()]; network.loads.len()];
    for (row, &class) in closed.iter().enumerate() {
        for (column, &index) in queues.iter().enumerate() {
            jobs[class][index] = means.throughput[row] * means.residence[row][column];
        }
    }
    for (index, center) in network.centers.iter().enumerate() {
        let inside: f64 = closed.iter().map(|&class| jobs[class][index]).sum();
        for class in network.open() {
            let load = network.rate(class) * center.demand[class];
            jobs[class][index] = if center.is_queue() {
                load * (1.0 + inside) / left(index)
            } else {
                load
            };
        }
    }
    closed_solution(network, closed, means.throughput, jobs, "exact MVA")
}

fn by_convolution(
    network: &Network,
    closed: &[usize],
    queues: &[usize],
    points: f64,
) -> Option<Solution> {
    let users: Vec<u64> = closed.iter().map(|&class| network.users(class)).collect();
    let mut problem = convolution::Closed {
        users,
        think_time: closed.iter().map(|&class| delays(network, class)).collect(),
        queues: (queues.iter())
            .map(|&index| &network.centers[index])
            .map(|center| convolution::Queue {
                speed: center.speed.clone(),
                open_load: network.open_load(center),
                demand: closed.iter().map(|&class| center.demand[class]).collect(),
            })
            .collect(),
        estimate: Vec::new(),
    };
    if points > VALUES_AT_MOST || convolution::cost(&problem) > OPERATIONS_AT_MOST {
        return None;
    }
    for estimate in estimates(network, closed, &problem) {
        problem.estimate = estimate;
        let Some(means) = convolution::solve(&problem, convolution::Extras::default()) else {
            continue;
        };
        let mut jobs = vec![vec![0.0; network.centers.len()]; network.loads.len()];
        for (row, &class) in closed.iter().enumerate() {
            for (column, &index) in queues.iter().enumerate() {
                jobs[class][index] = means.jobs[row][column];
            }
        }
        open_jobs(network, queues, &means.open_jobs, &mut jobs);
        return Some(closed_solution(
            network,
            closed,
            means.throughput,
            jobs,
            "exact convolution",
        ));
    }
    None
}

/// Computes the mean numbers of jobs of open classes. The total at each station is divided in proportion to the loads
/// of the classes.
fn open_jobs(network: &Network, queues: &[usize], mixed: &[f64], jobs: &mut [Vec<f64>]) {
    for (index, center) in network.centers.iter().enumerate() {
        let load = network.open_load(center);
        if load == 0.0 {
            continue;
        }
        let total = match queues.iter().position(|&queue| queue == index) {
            Some(column) => mixed[column],
            None if center.is_queue() => crate::series::Series::open_jobs(&center.speed, load),
            None => load,
        };
        for class in network.open() {
            jobs[class][index] = total * network.rate(class) * center.demand[class] / load;
        }
    }
}

/// Estimates of the throughputs, from the best to the worst. They are only used for scaling.
fn estimates(network: &Network, closed: &[usize], problem: &convolution::Closed) -> Vec<Vec<f64>> {
    let approximate = || {
        let means = amva::solve(network, Estimate::BardSchweitzer);
        closed
            .iter()
            .map(|&class| means.throughput[class])
            .collect::<Vec<f64>>()
    };
    if closed.len() > 1 {
        return vec![approximate()];
    }
    let most = |speed: &dyn Fn(&convolution::Queue) -> f64| {
        let alone: f64 = problem.think_time[0]
            + problem
                .queues
                .iter()
                .map(|queue| {
                    queue.demand[0] / queue.speed.at(1).max(queue.speed.highest().min(1.0))
                })
                .sum::<f64>();
        let limits = problem
            .queues
            .iter()
            .map(|queue| (speed(queue) - queue.open_load) / queue.demand[0]);
        vec![limits.fold(problem.users[0] as f64 / alone, f64::min)]
    };
    vec![
        most(&|queue| queue.speed.highest()),
        most(&|queue| queue.speed.limit()),
        approximate(),
    ]
}

fn closed_solution(
    network: &Network,
    closed: &[usize],
    rates: Vec<f64>,
    mut jobs: Vec<Vec<f64>>,
    method: &str,
) -> Solution {
    let stations = network.centers.len();
    let mut throughput: Vec<f64> = (0..network.loads.len())
        .map(|class| network.rate(class))
        .collect();
    closed
        .iter()
        .zip(rates)
        .for_each(|(&class, rate)| throughput[class] = rate);
    for (index, center) in network
        .centers
        .iter()
        .enumerate()
        .filter(|(_, center)| !center.is_queue())
    {
        for (class, rate) in throughput.iter().enumerate() {
            jobs[class][index] = rate * center.demand[class];
        }
    }
    Solution {
        response: jobs
            .iter()
            .zip(&throughput)
            .map(|(row, rate)| row.iter().sum::<f64>() / rate)
            .collect(),
        flow: throughput
            .iter()
            .map(|&rate| vec![rate; stations])
            .collect(),
        loss: vec![0.0; stations],
        waiting: vec![Vec::new(); throughput.len()],
        throughput,
        jobs,
        method: if network.open().is_empty() {
            method.into()
        } else {
            format!("{method}, open classes first")
        },
        exact: true,
        ..Solution::default()
    }
}

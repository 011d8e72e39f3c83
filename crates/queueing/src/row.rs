//! Networks of open classes alone: station by station, in the order of the file.

use crate::join;
use crate::network::{Load, Network};
use crate::open;
use crate::solve::{Solution, TABLE_AT_MOST, why_not_exact};

/// Flow of transactions of open classes into each station in the order of the file, thinned by losses, with the results
/// of the stations with a capacity.
pub(crate) fn open_flows(network: &Network) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut left: Vec<f64> = (0..network.loads.len())
        .map(|class| network.rate(class))
        .collect();
    let mut flows = vec![Vec::new(); left.len()];
    let mut losses = Vec::new();
    for center in &network.centers {
        let loss = match center.capacity {
            Some(capacity) if capacity <= TABLE_AT_MOST => open::solve(center, &left, 1.0).loss,
            _ => 0.0,
        };
        for (class, flow) in left.iter_mut().enumerate() {
            flows[class].push(*flow);
            if loss > 0.0 {
                *flow *= (1.0 - loss).powf(center.visits[class]);
            }
        }
        losses.push(loss);
    }
    (flows, losses)
}

/// Squared coefficient of variation of the times between arrivals: that of the only class, or of Poisson arrivals.
fn arrival_scv(network: &Network) -> f64 {
    match network.loads[..] {
        [Load::Open { scv, poisson, .. }] if !poisson => scv,
        _ => 1.0,
    }
}

/// Whether jobs meet one queue, and it once at most.
fn is_one_queue_once(network: &Network) -> bool {
    let centers = network.centers.iter();
    centers.clone().filter(|center| center.is_queue()).count() == 1
        && centers
            .flat_map(|center| &center.visits)
            .all(|&count| count <= 1.0)
}

/// Only open classes: station by station.
pub(crate) fn all_open(network: &Network) -> Solution {
    let (flow, loss) = open_flows(network);
    let classes = network.loads.len();
    let mut solution = Solution {
        jobs: vec![Vec::new(); classes],
        ..Solution::default()
    };
    let arrival_scv = arrival_scv(network);
    let mut formulas = Vec::new();
    let mut exact = network
        .loads
        .iter()
        .all(|load| matches!(load, Load::Open { poisson: true, .. }));
    for (index, center) in network.centers.iter().enumerate() {
        let rates: Vec<f64> = flow.iter().map(|row| row[index]).collect();
        let visit = open::solve(center, &rates, arrival_scv);
        exact &= visit.exact;
        if center.is_queue() && !formulas.contains(&visit.formula) {
            formulas.push(visit.formula);
        }
        solution
            .jobs
            .iter_mut()
            .zip(visit.jobs)
            .for_each(|(row, jobs)| row.push(jobs));
    }
    // Without product form the flow out of one station is not Poisson, and only the first one is exact.
    let alone = is_one_queue_once(network);
    let forks = !network.splits.is_empty();
    solution.exact = exact && !forks && (network.is_product_form() || alone);
    solution.method = formulas.join(", ");
    if solution.method.is_empty() {
        solution.method = "delays".into();
    }
    if !solution.exact {
        solution.warnings.push(why_not_exact(network));
    }
    solution.throughput = (0..classes)
        .map(|class| {
            let kept = network
                .centers
                .iter()
                .zip(&loss)
                .map(|(center, lost)| (1.0 - lost).powf(center.visits[class]));
            network.rate(class) * kept.product::<f64>()
        })
        .collect();
    solution.flow = flow
        .iter()
        .map(|row| {
            row.iter()
                .zip(&loss)
                .map(|(rate, lost)| rate * (1.0 - lost))
                .collect()
        })
        .collect();
    solution.loss = loss;
    solution.response = responses(network, &solution);
    solution.waiting = vec![Vec::new(); classes];
    solution
}

fn responses(network: &Network, solution: &Solution) -> Vec<f64> {
    let stations: Vec<usize> = (0..network.centers.len()).collect();
    let utilization: Vec<f64> = (network.centers.iter().enumerate())
        .map(|(index, center)| {
            let load: f64 = solution
                .flow
                .iter()
                .zip(&center.demand)
                .map(|(row, need)| row[index] * need)
                .sum();
            load / center.speed.highest()
        })
        .collect();
    (0..network.loads.len())
        .map(|class| {
            let residence: Vec<f64> = (solution.jobs[class].iter().zip(&solution.flow[class]))
                .map(|(jobs, flow)| if *flow > 0.0 { jobs / flow } else { 0.0 })
                .collect();
            join::through(network, class, &stations, &residence, &utilization)
        })
        .collect()
}

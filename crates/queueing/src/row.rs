//! Networks of open classes only, solved station by station in the order of the file.

use crate::join;
use crate::network::{Center, Load, Network};
use crate::open;
use crate::solve::{Solution, TABLE_AT_MOST, why_not_exact};

/// Throughput of open classes into each station in the order of the file, reduced by losses, and the results of the
/// stations with a capacity.
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

/// Squared coefficient of variation of the times between arrivals at each station, from `flow` by class and station.
///
/// Whitt, *The queueing network analyzer*, Bell System Technical Journal 62(9), 1983: merging of classes, departures
/// from a station, splitting by visits. Stations are in the order of the file. Without losses and with product form all
/// are 1, as for Poisson arrivals.
fn arrival_scvs(network: &Network, flow: &[Vec<f64>]) -> Vec<f64> {
    let lossy = network
        .centers
        .iter()
        .any(|center| center.capacity.is_some());
    let mut scv: Vec<f64> = (network.loads.iter())
        .map(|load| match load {
            Load::Open { scv, poisson, .. } if !poisson => *scv,
            _ => 1.0,
        })
        .collect();
    let mut found = Vec::new();
    for (station, center) in network.centers.iter().enumerate() {
        let rates: Vec<f64> = (flow.iter().zip(&center.visits))
            .map(|(row, count)| row[station] * count)
            .collect();
        let total: f64 = center.visitors().map(|class| rates[class]).sum();
        if lossy || total == 0.0 {
            found.push(1.0);
            continue;
        }
        let utilization = open::load(center, &flow_at(flow, station)) / center.speed.limit();
        let shares: Vec<f64> = rates.iter().map(|rate| rate / total).collect();
        let come = together(center, &shares, &scv, utilization);
        found.push(come);
        if !center.is_queue() || !network.splits.is_empty() {
            continue;
        }
        let left = left_behind(center, &flow_at(flow, station), utilization, come);
        for class in center.visitors() {
            let kept = thinned(left, shares[class]);
            let visits = center.visits[class];
            scv[class] = if visits < 1.0 {
                let past = thinned(scv[class], 1.0 - visits);
                1.0 + visits * (kept - 1.0) + (1.0 - visits) * (past - 1.0)
            } else {
                thinned(kept, 1.0 / visits)
            };
        }
    }
    found
}

fn flow_at(flow: &[Vec<f64>], station: usize) -> Vec<f64> {
    flow.iter().map(|row| row[station]).collect()
}

/// Squared coefficient of variation of a stream of which each member is selected with a probability.
fn thinned(scv: f64, share: f64) -> f64 {
    1.0 + share * (scv - 1.0)
}

/// Squared coefficient of variation of the merged streams of several classes.
fn together(center: &Center, shares: &[f64], scv: &[f64], utilization: f64) -> f64 {
    let squares: f64 = center.visitors().map(|class| shares[class].powi(2)).sum();
    let weight = 1.0 / (1.0 + 4.0 * (1.0 - utilization).powi(2) * (1.0 / squares - 1.0));
    let mixed: f64 = (center.visitors())
        .map(|class| {
            let visits = center.visits[class];
            shares[class] * (thinned(scv[class], visits.min(1.0 / visits)) - 1.0)
        })
        .sum();
    1.0 + weight * mixed
}

/// Squared coefficient of variation of the stream that leaves a station. Constant times are taken to vary a little, as
/// in the source.
fn left_behind(center: &Center, rates: &[f64], utilization: f64, come: f64) -> f64 {
    let service = if center.is_product_form() {
        1.0
    } else {
        open::mixture(center, rates).1.max(0.2)
    };
    let busy = utilization.powi(2);
    1.0 + (1.0 - busy) * (come - 1.0) + busy * (service - 1.0) / center.speed.limit().sqrt()
}

/// Returns `true` if a job visits a single queue, and at most once.
fn is_one_queue_once(network: &Network) -> bool {
    let centers = network.centers.iter();
    centers.clone().filter(|center| center.is_queue()).count() == 1
        && centers
            .flat_map(|center| &center.visits)
            .all(|&count| count <= 1.0)
}

/// Solves a network of open classes, station by station.
pub(crate) fn all_open(network: &Network) -> Solution {
    let (flow, loss) = open_flows(network);
    let classes = network.loads.len();
    let mut solution = Solution {
        jobs: vec![Vec::new(); classes],
        ..Solution::default()
    };
    let arrival_scvs = arrival_scvs(network, &flow);
    let mut formulas = Vec::new();
    let mut exact = network
        .loads
        .iter()
        .all(|load| matches!(load, Load::Open { poisson: true, .. }));
    for (index, center) in network.centers.iter().enumerate() {
        let rates: Vec<f64> = flow.iter().map(|row| row[index]).collect();
        let visit = open::solve(center, &rates, arrival_scvs[index]);
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
    // Without product form the departures of a station are not a Poisson process, and only the first station is exact.
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

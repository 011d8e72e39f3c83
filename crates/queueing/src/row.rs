//! Solves networks that have only open classes, station by station in the order of the model file.

use crate::finite;
use crate::join;
use crate::network::{Center, Load, Network};
use crate::open::{self, Visit};
use crate::shape::Shape;
use crate::solve::{Solution, TABLE_AT_MOST, why_not_exact};

/// Arrivals of the open classes at a station, and the results of the station.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    /// Rate of transactions of each class that reach the station. [1/s]
    pub rates: Vec<f64>,
    /// Results of the station; `None` if it has no steady state, or a capacity that is too large for a table.
    pub visit: Option<Visit>,
}

impl Stop {
    /// Returns the share of the visits of a class that find the station full.
    fn loss(&self, class: usize) -> f64 {
        let losses = self.visit.as_ref().map(|visit| &visit.losses);
        losses
            .and_then(|losses| losses.get(class))
            .copied()
            .unwrap_or(0.0)
    }

    /// Returns `true` if all classes were merged into one, since the Markov chain of the station is too large.
    pub(crate) fn is_merged(&self) -> bool {
        (self.visit.as_ref()).is_some_and(|visit| visit.formula == finite::MERGED)
    }

    /// Returns the share of the visits of all classes together that find the station full.
    fn mean_loss(&self, center: &Center) -> f64 {
        let sum = |each: &dyn Fn(usize) -> f64| -> f64 {
            center
                .visitors()
                .map(|class| self.rates[class] * center.visits[class] * each(class))
                .sum()
        };
        let all = sum(&|_| 1.0);
        if all > 0.0 {
            sum(&|class| self.loss(class)) / all
        } else {
            0.0
        }
    }
}

/// Computes arrivals and results of the open classes at each station, in the order of the model file. Losses reduce the
/// rates at later stations, and each station changes the variation of the times between arrivals.
///
/// The merging of classes, the departures from a station and the splitting by visits follow Whitt, *The queueing
/// network analyzer*, Bell System Technical Journal 62(9), 1983. With product form all squared coefficients of
/// variation are 1, as for Poisson arrivals.
pub(crate) fn stops(network: &Network) -> Vec<Stop> {
    let mut left: Vec<f64> = (0..network.loads.len())
        .map(|class| network.rate(class))
        .collect();
    let mut gaps: Vec<Shape> = network.loads.iter().map(gaps_of).collect();
    let mut found = Vec::new();
    for center in &network.centers {
        let stop = stop(center, &left, &gaps);
        if center.is_queue() && network.splits.is_empty() {
            leave(center, &stop, &mut gaps);
        } else {
            for (class, gaps) in gaps.iter_mut().enumerate() {
                // A delay changes the distribution of the times between arrivals, unless arrivals are Poisson. Behind
                // the delay, only the squared coefficient of variation of these times is known.
                if center.demand[class] > 0.0 && *gaps != Shape::EXPONENTIAL {
                    gaps.form = None;
                }
            }
        }
        for (class, rate) in left.iter_mut().enumerate() {
            *rate *= (1.0 - stop.loss(class)).powf(center.visits[class]);
        }
        found.push(stop);
    }
    found
}

fn gaps_of(load: &Load) -> Shape {
    match load {
        Load::Open {
            scv, poisson, form, ..
        } if !poisson => Shape {
            form: Some(*form),
            scv: *scv,
        },
        _ => Shape::EXPONENTIAL,
    }
}

fn stop(center: &Center, rates: &[f64], gaps: &[Shape]) -> Stop {
    let rates = rates.to_vec();
    let (load, limit) = (open::load(center, &rates), center.speed.limit());
    let come = together(center, &rates, gaps, load / limit);
    let visit = match center.capacity {
        Some(capacity) if load > 0.0 && center.is_queue() => (capacity <= TABLE_AT_MOST)
            .then(|| finite::solve(center, &rates, &at_visits(center, gaps), come, capacity)),
        _ if load < limit => {
            let by_rank: Vec<f64> = (0..rates.len())
                .map(|class| up_to_rank(center, &rates, gaps, class))
                .collect();
            Some(open::solve(center, &rates, come, &by_rank))
        }
        _ => None,
    };
    Stop { rates, visit }
}

/// Returns the distribution of the times between visits to a station, by class.
fn at_visits(center: &Center, gaps: &[Shape]) -> Vec<Shape> {
    let visit = |class: usize| {
        let visits = center.visits[class];
        let once = (visits - 1.0).abs() < 1e-12;
        if once || visits < 1.0 && gaps[class] == Shape::EXPONENTIAL {
            gaps[class]
        } else {
            Shape::unknown(thinned(gaps[class].scv, visits.min(1.0 / visits)))
        }
    };
    (0..gaps.len())
        .map(|class| {
            if center.visits[class] > 0.0 {
                visit(class)
            } else {
                gaps[class]
            }
        })
        .collect()
}

/// Replaces the times between arrivals at a station by the times between departures from it.
fn leave(center: &Center, stop: &Stop, gaps: &mut [Shape]) {
    let kept: Vec<f64> = (stop.rates.iter().enumerate())
        .map(|(class, rate)| rate * (1.0 - stop.loss(class)))
        .collect();
    let visits: Vec<f64> = (0..kept.len())
        .map(|class| kept[class] * center.visits[class])
        .collect();
    let total: f64 = center.visitors().map(|class| visits[class]).sum();
    if total == 0.0 {
        return;
    }
    let utilization = (open::load(center, &kept) / center.speed.limit()).min(1.0);
    let come = thinned(
        together(center, &stop.rates, gaps, utilization),
        1.0 - stop.mean_loss(center),
    );
    let left = left_behind(center, &kept, utilization, come);
    for class in center.visitors() {
        let (own, visits) = (thinned(left, visits[class] / total), center.visits[class]);
        let scv = if visits < 1.0 {
            let past = thinned(gaps[class].scv, 1.0 - visits);
            1.0 + visits * (own - 1.0) + (1.0 - visits) * (past - 1.0)
        } else {
            thinned(own, 1.0 / visits)
        };
        gaps[class] = Shape::unknown(scv);
    }
}

/// Returns the squared coefficient of variation of the times between jobs in a thinned stream. Each job stays in the
/// stream with probability `share`.
fn thinned(scv: f64, share: f64) -> f64 {
    1.0 + share * (scv - 1.0)
}

/// Returns the squared coefficient of variation of the times between arrivals in the merged stream of several classes.
fn together(center: &Center, rates: &[f64], gaps: &[Shape], utilization: f64) -> f64 {
    let visits = |class: usize| rates[class] * center.visits[class];
    let total: f64 = center.visitors().map(visits).sum();
    if total == 0.0 {
        return 1.0;
    }
    let shares = |class: usize| visits(class) / total;
    let squares: f64 = center.visitors().map(|class| shares(class).powi(2)).sum();
    let idle = (1.0 - utilization).max(0.0);
    let weight = 1.0 / (1.0 + 4.0 * idle.powi(2) * (1.0 / squares - 1.0));
    let streams = at_visits(center, gaps);
    let mixed: f64 = center
        .visitors()
        .map(|class| shares(class) * (streams[class].scv - 1.0))
        .sum();
    1.0 + weight * mixed
}

/// Returns the squared coefficient of variation of the times between arrivals of the classes whose rank is better than
/// or equal to that of `class`.
fn up_to_rank(center: &Center, rates: &[f64], gaps: &[Shape], class: usize) -> f64 {
    let only: Vec<f64> = (rates.iter().enumerate())
        .map(|(other, &rate)| {
            if center.rank[other] <= center.rank[class] {
                rate
            } else {
                0.0
            }
        })
        .collect();
    together(
        center,
        &only,
        gaps,
        open::load(center, &only) / center.speed.limit(),
    )
}

/// Returns the squared coefficient of variation of the times between departures from a station. As in Whitt's method,
/// the squared coefficient of variation of the service times is taken as at least 0.2.
fn left_behind(center: &Center, rates: &[f64], utilization: f64, come: f64) -> f64 {
    let service = if center.is_product_form() {
        1.0
    } else {
        open::mixture(center, rates).1.max(0.2)
    };
    let busy = utilization.powi(2);
    1.0 + (1.0 - busy) * (come - 1.0) + busy * (service - 1.0) / center.speed.limit().sqrt()
}

/// Returns `true` if a job visits only a single station with a queue, and visits it at most once.
fn is_one_queue_once(network: &Network) -> bool {
    let centers = network.centers.iter();
    centers.clone().filter(|center| center.is_queue()).count() == 1
        && centers
            .flat_map(|center| &center.visits)
            .all(|&count| count <= 1.0)
}

/// Solves a network of open classes, station by station.
pub(crate) fn all_open(network: &Network) -> Solution {
    let stops = stops(network);
    let classes = network.loads.len();
    let mut solution = Solution {
        jobs: vec![Vec::new(); classes],
        ..Solution::default()
    };
    let mut formulas = Vec::new();
    let mut exact = true;
    for (center, stop) in network.centers.iter().zip(&stops) {
        let visit = stop.visit.clone().unwrap_or_default();
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
    // Without product form the departures from a station are not a Poisson process. Only the results of the first
    // station are therefore exact.
    let alone = is_one_queue_once(network);
    let forks = !network.splits.is_empty();
    let poisson =
        (network.loads.iter()).all(|load| matches!(load, Load::Open { poisson: true, .. }));
    let finite =
        (network.centers.iter()).all(|center| !center.is_queue() || center.capacity.is_some());
    solution.exact = exact && !forks && (network.is_product_form() || alone && (poisson || finite));
    solution.method = formulas.join(", ");
    if solution.method.is_empty() {
        solution.method = "delays".into();
    }
    if !solution.exact {
        solution.warnings.push(why_not_exact(network));
    }
    let kept = |class: usize, stop: &Stop| 1.0 - stop.loss(class);
    solution.throughput = (0..classes)
        .map(|class| {
            let stations = network.centers.iter().zip(&stops);
            let kept = stations.map(|(center, stop)| kept(class, stop).powf(center.visits[class]));
            network.rate(class) * kept.product::<f64>()
        })
        .collect();
    solution.flow = (0..classes)
        .map(|class| {
            (stops.iter())
                .map(|stop| stop.rates[class] * kept(class, stop))
                .collect()
        })
        .collect();
    solution.loss = (network.centers.iter().zip(&stops))
        .map(|(center, stop)| stop.mean_loss(center))
        .collect();
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

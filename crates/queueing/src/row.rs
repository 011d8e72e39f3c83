//! Solves networks that have only open classes, station by station in the order of the model file.

use crate::finite;
use crate::join;
use crate::model::Discipline;
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

    /// Returns the share of the transactions of a class that the station does not drop.
    fn kept(&self, center: &Center, class: usize) -> f64 {
        let (entries, loss) = (center.entries(class), self.loss(class));
        if entries < 1.0 {
            1.0 - entries * loss
        } else {
            (1.0 - loss).powf(entries)
        }
    }

    /// Returns the share of the visits of all classes together that find the station full.
    fn mean_loss(&self, center: &Center) -> f64 {
        // A job that stays keeps its place, so only the first of its visits in a row finds the station full.
        let (mut offered, mut dropped) = (0.0, 0.0);
        for class in center.visitors() {
            let (entries, loss) = (self.rates[class] * center.entries(class), self.loss(class));
            offered += entries * (1.0 + (center.in_row[class] - 1.0) * (1.0 - loss));
            dropped += entries * loss;
        }
        if offered > 0.0 {
            dropped / offered
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
            *rate *= stop.kept(center, class);
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
            .then(|| full(center, &rates, &at_visits(center, gaps), come, capacity)),
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

/// Solves a station with a capacity limit. One visit stands for all visits in a row, unless the station has product form
/// and arrivals are Poisson. Jobs then wait first come, first served in proportion to their visits.
fn full(center: &Center, rates: &[f64], streams: &[Shape], come: f64, capacity: u64) -> Visit {
    let poisson = (center.visitors()).all(|class| streams[class].is_exponential());
    if !center.has_rows() || center.is_product_form() && poisson {
        return finite::solve(center, rates, streams, come, capacity);
    }
    let single = center.with_single_visits();
    let mut visit = finite::solve(&single, rates, streams, come, capacity);
    visit.exact = false;
    if center.discipline == Discipline::Fcfs {
        let kept = |class: usize| {
            let loss = visit.losses.get(class).copied().unwrap_or(0.0);
            rates[class] * single.visits[class] * (1.0 - loss)
        };
        let served = |class: usize| kept(class) * single.service_time[class];
        let sum = |each: &dyn Fn(usize) -> f64| center.visitors().map(each).sum::<f64>();
        let waiting = (visit.jobs.iter().sum::<f64>() - sum(&served)).max(0.0);
        let all = sum(&|class| kept(class) * center.in_row[class]);
        let jobs: Vec<f64> = (0..rates.len())
            .map(|class| match center.demand[class] {
                0.0 => 0.0,
                _ => served(class) + waiting * kept(class) * center.in_row[class] / all,
            })
            .collect();
        visit.jobs = jobs;
    }
    visit
}

/// Returns the distribution of the times between jobs that come to a station from elsewhere, by class.
fn at_visits(center: &Center, gaps: &[Shape]) -> Vec<Shape> {
    let visit = |class: usize| {
        let visits = center.entries(class);
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
        .map(|class| kept[class] * center.entries(class))
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
        let (own, visits) = (thinned(left, visits[class] / total), center.entries(class));
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
    let visits = |class: usize| rates[class] * center.entries(class);
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
        .map(|class| shares(class) * (center.arrival_scv(class, streams[class].scv) - 1.0))
        .sum();
    (1.0 + weight * mixed).max(0.0)
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

/// Returns `true` if the formulas of the station hold for the visits of its classes.
fn is_known(center: &Center) -> bool {
    let in_turn = center.discipline == Discipline::Fcfs && center.capacity.is_none();
    let row = in_turn && center.has_known_rows();
    center.is_visited_once() || center.is_product_form() || row
}

/// Returns `true` if a job visits only a single station with a queue, and visits it at most once.
fn is_one_queue_once(network: &Network) -> bool {
    let centers = network.centers.iter();
    centers.clone().filter(|center| center.is_queue()).count() == 1
        && centers.clone().all(Center::is_visited_once)
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
    let poisson = network.loads.iter().all(Load::is_poisson);
    let (mut exact, mut behind) = (true, false);
    // A route may lead to stations in another order than that of the model, and from a delay to a full station again.
    let mut queues = network.centers.iter().filter(|center| center.is_queue());
    let unlimited = queues
        .next()
        .is_some_and(|center| center.capacity.is_none())
        && queues.next().is_none();
    let mut exact_in_order = poisson && (!network.routed || unlimited);
    for (center, stop) in network.centers.iter().zip(&stops) {
        let visit = stop.visit.clone().unwrap_or_default();
        exact &= visit.exact;
        if center.is_queue() {
            exact_in_order &= !behind && is_known(center);
            behind |= !center.has_poisson_departures();
        }
        if center.is_queue() && !formulas.contains(&visit.formula) {
            formulas.push(visit.formula);
        }
        solution
            .jobs
            .iter_mut()
            .zip(visit.jobs)
            .for_each(|(row, jobs)| row.push(jobs));
    }
    // Without product form the departures from a station are not a Poisson process. Only the results of this station
    // and of those before it are therefore exact.
    let alone = is_one_queue_once(network);
    let forks = !network.splits.is_empty();
    let finite =
        (network.centers.iter()).all(|center| !center.is_queue() || center.capacity.is_some());
    solution.exact = exact
        && !forks
        && (network.is_product_form() || exact_in_order || alone && (poisson || finite));
    solution.method = formulas.join(", ");
    if solution.method.is_empty() {
        solution.method = "delays".into();
    }
    if !solution.exact {
        solution.warnings.push(why_not_exact(network));
    }
    solution.throughput = (0..classes)
        .map(|class| {
            let stations = network.centers.iter().zip(&stops);
            let kept = stations.map(|(center, stop)| stop.kept(center, class));
            network.rate(class) * kept.product::<f64>()
        })
        .collect();
    solution.flow = (0..classes)
        .map(|class| {
            (network.centers.iter().zip(&stops))
                .map(|(center, stop)| stop.rates[class] * stop.kept(center, class))
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

//! Stations that serve open classes by rank, with and without interruption.

use super::{
    Visit, arrival_factor, exponential_wait, is_one, load, mixture, residual_work,
    variation_factor, with_waits,
};
use crate::network::{Center, Speed};
use crate::series::Series;

/// Returns the utilization by classes of better ranks than `class`, and the utilization by classes of better or equal
/// rank.
fn before(center: &Center, rates: &[f64], class: usize) -> (f64, f64) {
    let sum = |counts: &dyn Fn(u32) -> bool| -> f64 {
        (0..rates.len())
            .filter(|&other| counts(center.rank[other]))
            .map(|other| rates[other] * center.demand[other])
            .sum::<f64>()
            / center.speed.limit()
    };
    let rank = center.rank[class];
    (sum(&|other| other < rank), sum(&|other| other <= rank))
}

/// Returns the mean residual work of the classes of better or equal rank that an arriving job finds in service. [s]
///
/// A job of a better rank is served without others of worse ranks between its visits in a row.
fn residual_before(center: &Center, rates: &[f64], class: usize) -> f64 {
    (0..rates.len())
        .filter(|&other| center.rank[other] <= center.rank[class])
        .map(|other| {
            let scv = if center.rank[other] < center.rank[class] {
                center.scv_of_row(other)
            } else {
                center.scv[other]
            };
            let row = center.in_row[other] * center.service_time[other];
            rates[other] * center.demand[other] * row * (1.0 + scv) / 2.0
        })
        .sum()
}

/// Returns the factor by which arrivals other than Poisson change the wait of the classes that `counts` selects, as if
/// the station served only these.
fn by_arrivals(
    center: &Center,
    rates: &[f64],
    arrival_scv: f64,
    counts: impl Fn(usize) -> bool,
) -> f64 {
    if is_one(arrival_scv) {
        return 1.0;
    }
    let only: Vec<f64> = (rates.iter().enumerate())
        .map(|(class, &rate)| if counts(class) { rate } else { 0.0 })
        .collect();
    let (_, scv) = mixture(center, &only);
    let utilization = load(center, &only) / center.speed.limit();
    let poisson = variation_factor(utilization, 1.0, scv);
    if poisson == 0.0 {
        return 1.0;
    }
    arrival_factor(utilization, arrival_scv) * variation_factor(utilization, arrival_scv, scv)
        / poisson
}

/// Solves non-preemptive priorities (Cobham, Operations Research 2(1), 1954): the wait of rank r is W_r = W_0 / ((1 −
/// σ_{r−1}) (1 − σ_r)), where σ_r is the utilization by all ranks up to r.
///
/// W_0 is the wait without ranks times 1 − ρ, with the utilization ρ. This is exact for one server, and for m servers
/// if all classes have the same exponential service time. With arrivals other than Poisson, the part of W_0 that is
/// due to ranks up to r changes as the wait of these ranks alone. The rest is due to a job in service that no
/// arrival of these ranks interrupts.
pub(super) fn waiting_by_rank(whole: &Center, rates: &[f64], come: &[f64]) -> Visit {
    let center = &whole.with_single_visits();
    let load = load(center, rates);
    let (mean_time, scv) = mixture(center, rates);
    let (wait, second) = exponential_wait(center, load, mean_time);
    let utilization = load / center.speed.limit();
    let first = wait * (1.0 + scv) / 2.0 * (1.0 - utilization);
    let residual = residual_work(center, rates, |_| true);
    let by_rank = |class: usize| {
        let (better, all) = before(center, rates, class);
        let own = |other: usize| center.rank[other] <= center.rank[class];
        let share = residual_before(whole, rates, class) / residual;
        // Jobs of worse ranks that are served in a row let others in after each visit.
        let worse = residual_work(whole, rates, |other| !own(other)) / residual;
        let factor = by_arrivals(center, rates, come[class], own);
        first * (share * factor + worse) / ((1.0 - better) * (1.0 - all))
    };
    let servers = matches!(center.speed, Speed::Servers(_));
    Visit {
        jobs: with_waits(center, rates, second, by_rank),
        exact: come.iter().all(|&scv| is_one(scv))
            && whole.is_visited_once()
            && (center.speed.is_single() || servers && center.is_uniform_exponential()),
        formula: if center.speed.is_single() {
            "M/G/1 priority"
        } else {
            "M/G/m priority"
        },
        ..Visit::default()
    }
}

/// Solves preemptive priorities, where jobs of worse ranks have no effect on jobs of better ranks. With arrivals other
/// than Poisson, the wait of a rank changes as the wait of all ranks up to it.
pub(super) fn interrupting(center: &Center, rates: &[f64], come: &[f64]) -> Visit {
    let single = center.speed.is_single();
    let factors: Vec<f64> = (0..rates.len())
        .map(|class| {
            let own = |other: usize| center.rank[other] <= center.rank[class];
            if rates[class] * center.demand[class] > 0.0 {
                by_arrivals(center, rates, come[class], own)
            } else {
                1.0
            }
        })
        .collect();
    let jobs = if single {
        one_server_interrupting(center, rates, &factors)
    } else {
        servers_interrupting(center, rates, &factors)
    };
    Visit {
        jobs,
        exact: come.iter().all(|&scv| is_one(scv))
            && center.is_visited_once()
            && (single || center.is_uniform_exponential()),
        formula: if single {
            "M/G/1 preemptive priority"
        } else {
            "M/G/m preemptive priority"
        },
        ..Visit::default()
    }
}

/// Returns the mean numbers of jobs with preemptive priorities at one server (Jaiswal, *Priority Queues*, 1968).
///
/// The response time of rank r is R_r = S_r / (1 − σ_{r−1}) + W_0(classes up to r) / ((1 − σ_{r−1}) (1 − σ_r)). S_r is
/// the service time, σ_r the utilization by all ranks up to r, and W_0 the mean residual service time.
///
/// `factors` multiplies the second term, by class.
fn one_server_interrupting(center: &Center, rates: &[f64], factors: &[f64]) -> Vec<f64> {
    (0..rates.len())
        .map(|class| {
            let (better, all) = before(center, rates, class);
            let residual = residual_before(center, rates, class);
            let (entries, row) = (center.entries(class), center.in_row[class]);
            let stay = row * center.service_time[class] / (1.0 - better)
                + factors[class] * residual / ((1.0 - better) * (1.0 - all));
            rates[class] * entries * stay
        })
        .collect()
}

/// Returns the load of classes of better ranks than `class`, and the load of classes of better or equal rank. [erlang]
fn loads_before(center: &Center, rates: &[f64], class: usize) -> (f64, f64) {
    let (better, all) = before(center, rates, class);
    (better * center.speed.limit(), all * center.speed.limit())
}

/// Returns the mean numbers of jobs with preemptive priorities at m servers.
///
/// All classes up to a rank together are treated as an M/M/m queue, which is exact for equal exponential service times.
/// For other service times, the time not in service changes by the same ratio as on a single server with the speed of
/// all servers. This follows A. B. Bondi and J. P. Buzen, "The response times of priority classes under preemptive
/// resume in M/G/m queues", Performance Evaluation Review 12(3), 1984, who apply the ratio to the wait without ranks.
///
/// `factors` multiplies the time not in service, by class.
fn servers_interrupting(center: &Center, rates: &[f64], factors: &[f64]) -> Vec<f64> {
    (0..rates.len())
        .map(|class| {
            let (better, all) = loads_before(center, rates, class);
            let own = all - better;
            if own == 0.0 {
                return 0.0;
            }
            let exponential = between(|load| Series::open_jobs(&center.speed, load), better, all)
                * rates[class]
                * center.demand[class]
                / own;
            let Speed::Servers(servers) = center.speed else {
                return exponential;
            };
            let served = rates[class] * center.demand[class];
            let beside = (exponential - served).max(0.0) * factors[class];
            served + beside * by_variation(center, rates, class, servers)
        })
        .collect()
}

/// Returns the increase of `jobs` when the load grows from `better` to `all`. Without load, `jobs` is 0.
fn between(jobs: impl Fn(f64) -> f64, better: f64, all: f64) -> f64 {
    jobs(all) - if better > 0.0 { jobs(better) } else { 0.0 }
}

/// Returns the ratio by which the variation of service times changes the time that a job waits or is interrupted. It is
/// computed for one server with the speed of all servers.
fn by_variation(center: &Center, rates: &[f64], class: usize, servers: u32) -> f64 {
    let fast = f64::from(servers);
    let (better, all) = before(center, rates, class);
    let service = center.in_row[class] * center.service_time[class] / fast;
    let residual = residual_before(center, rates, class) / fast.powi(2);
    let beside = service * better / (1.0 - better) + residual / ((1.0 - better) * (1.0 - all));
    let one_server = between(|load| load / (1.0 - load), better, all);
    let exponential = (one_server / (all - better) - 1.0) * service;
    if exponential > 0.0 {
        beside / exponential
    } else {
        1.0
    }
}

//! Solves stations that only open classes visit and that have no capacity limit, each station separately.

mod feedback;
mod ranks;

use crate::model::Discipline;
use crate::network::{Center, Speed};
use crate::series::Series;
use crate::special::erlang_c;

/// Correction of a wait below which it is taken as zero. [1]
const NEGLIGIBLE: f64 = 1e-12;

/// Results of a station that only open classes visit.
#[derive(Clone, Debug, Default)]
pub struct Visit {
    /// Mean number of jobs at the station, by class.
    pub jobs: Vec<f64>,
    /// Largest loss of any class. The loss is the share of the arrivals of a class that find the station full.
    pub loss: f64,
    /// Share of the arrivals of each class that find the station full; empty if no arrival does.
    pub losses: Vec<f64>,
    /// `true` if the formula is exact for Poisson arrivals.
    pub exact: bool,
    /// Name of the formula that was used.
    pub formula: &'static str,
}

/// Solves a station to which transactions of each class arrive at `rates`. `arrival_scv` is the squared
/// coefficient of variation of the times between arrivals of all classes together, and `by_rank`, for each class, that
/// of the classes of better or equal rank. Both are 1 for Poisson arrivals.
///
/// The caller must ensure that a steady state exists.
#[must_use]
pub fn solve(center: &Center, rates: &[f64], arrival_scv: f64, by_rank: &[f64]) -> Visit {
    let load = load(center, rates);
    if !center.is_queue() || load == 0.0 {
        let jobs = rates
            .iter()
            .zip(&center.demand)
            .map(|(rate, need)| rate * need)
            .collect();
        return Visit {
            jobs,
            exact: true,
            formula: "delay",
            ..Visit::default()
        };
    }
    if center.discipline == Discipline::Priority {
        return if center.preemptive {
            ranks::interrupting(center, rates, by_rank)
        } else {
            ranks::waiting_by_rank(center, rates, by_rank)
        };
    }
    if center.is_product_form() && is_one(arrival_scv) {
        let total = Series::open_jobs(&center.speed, load);
        let formula = if center.speed.is_single() {
            "M/M/1"
        } else {
            "M/M/m"
        };
        return Visit {
            jobs: shares(center, rates, total, load),
            exact: true,
            formula,
            ..Visit::default()
        };
    }
    let in_turn = center.discipline == Discipline::Fcfs && center.speed.is_single();
    if in_turn
        && center.has_rows()
        && !center.has_equal_rows()
        && is_one(arrival_scv)
        && let Some(visit) = feedback::solve(center, rates)
    {
        return visit;
    }
    first_come(center, rates, arrival_scv)
}

/// Returns `true` if a squared coefficient of variation equals 1, the value of exponential times.
fn is_one(scv: f64) -> bool {
    (scv - 1.0).abs() < 1e-12
}

/// Returns the offered load: the service time of the jobs that arrive per second, as a number of busy servers. [1]
pub(crate) fn load(center: &Center, rates: &[f64]) -> f64 {
    rates
        .iter()
        .zip(&center.demand)
        .map(|(rate, need)| rate * need)
        .sum()
}

/// Divides the mean number of jobs `total` among the classes, in proportion to their loads.
pub(crate) fn shares(center: &Center, rates: &[f64], total: f64, load: f64) -> Vec<f64> {
    rates
        .iter()
        .zip(&center.demand)
        .map(|(rate, need)| total * rate * need / load)
        .collect()
}

/// Returns the mean residual service time that an arriving job finds: Σ λ E[S²] / 2 over the selected classes. λ is the
/// rate of visits and S the service time. [s]
fn residual_work(center: &Center, rates: &[f64], counts: impl Fn(usize) -> bool) -> f64 {
    (0..rates.len())
        .filter(|&class| counts(class))
        .map(|class| {
            rates[class]
                * center.demand[class]
                * center.service_time[class]
                * (1.0 + center.scv[class])
                / 2.0
        })
        .sum()
}

/// Returns the mean wait with Poisson arrivals and exponential service times of mean `mean_time`, and the elapsed time
/// for one second of service.
///
/// For m servers, the wait is W = C S / (m (1 − ρ)), with Erlang's C, the service time S and the utilization ρ. The
/// elapsed time for one second of service is then 1 s. A station with a table of speeds is a single server whose speed
/// depends on the number of jobs. Of the L jobs of its birth-death process, 1 − p(0) are in service and L − 1 + p(0)
/// wait.
fn exponential_wait(center: &Center, load: f64, mean_time: f64) -> (f64, f64) {
    if let Speed::Servers(servers) = center.speed {
        let left = f64::from(servers) - load;
        return (erlang_c(servers, load) * mean_time / left, 1.0);
    }
    let in_service = 1.0 - Series::idle(&center.speed, load);
    let waiting = (Series::open_jobs(&center.speed, load) - in_service).max(0.0);
    (waiting * mean_time / load, in_service / load)
}

/// Returns the mean service time of a visit over all classes, and its squared coefficient of variation.
pub(crate) fn mixture(center: &Center, rates: &[f64]) -> (f64, f64) {
    let load = load(center, rates);
    let visits: f64 = (0..rates.len())
        .filter(|&class| center.demand[class] > 0.0)
        .map(|class| rates[class] * center.visits[class])
        .sum();
    let mean_time = load / visits;
    // With Poisson arrivals, the variation of service times has no effect if jobs share servers or the last job
    // interrupts others. With other arrivals the effect is small.
    if center.discipline != Discipline::Fcfs && center.is_product_form() {
        return (mean_time, 1.0);
    }
    let residual = residual_work(center, rates, |_| true);
    (mean_time, 2.0 * residual / (load * mean_time) - 1.0)
}

/// Solves a first-come-first-served station, by Pollaczek and Khinchine's formula for one server and by the
/// approximation of Allen and Cunneen for several.
///
/// Also solves shared servers if arrivals are not Poisson. The jobs are then divided among the classes in proportion to
/// their loads.
fn first_come(center: &Center, rates: &[f64], arrival_scv: f64) -> Visit {
    let load = load(center, rates);
    let utilization = load / center.speed.limit();
    let (mean_time, scv) = mixture(center, rates);
    let (wait, second) = exponential_wait(center, load, mean_time);
    // Equal jobs that arrive at equal intervals always find a free server, whatever the order of service.
    let regular = arrival_scv == 0.0 && is_constant(center);
    let wait = if regular {
        0.0
    } else {
        wait * arrival_factor(utilization, arrival_scv)
            * variation_factor(utilization, arrival_scv, scv)
    };
    let single = center.speed.is_single();
    let mut jobs = with_waits(center, rates, second, |_| wait);
    if center.discipline != Discipline::Fcfs && center.is_product_form() {
        // Servers with processor sharing, or with last come, first served and interruption, slow all classes by the
        // same factor.
        jobs = shares(center, rates, jobs.iter().sum(), load);
    }
    Visit {
        jobs,
        exact: single && is_one(arrival_scv),
        formula: match (single, is_one(arrival_scv)) {
            (true, true) => "M/G/1",
            (_, true) => "Allen-Cunneen",
            _ => "GI/G/m (Kraemer and Langenbach-Belz)",
        },
        ..Visit::default()
    }
}

/// Returns `true` if all visiting classes have the same constant service time.
fn is_constant(center: &Center) -> bool {
    let first = (center.visitors().next()).map(|class| center.service_time[class]);
    center
        .visitors()
        .all(|class| center.is_constant(class) && Some(center.service_time[class]) == first)
}

/// Returns the factor by which the variation of service times changes the wait, relative to exponential times.
///
/// It is the mean of the squared coefficients of variation of arrivals and service, relative to the same mean for
/// exponential service. The correction of Krämer and Langenbach-Belz (*Approximate formulae for the delay in the
/// queueing system GI/G/1*, 8th International Teletraffic Congress, 1976) is 1 for Poisson arrivals.
fn variation_factor(utilization: f64, arrival_scv: f64, scv: f64) -> f64 {
    let idle = 1.0 - utilization;
    let correction = |scv: f64| {
        let exponent = if arrival_scv < 1.0 {
            -2.0 * idle * (1.0 - arrival_scv).powi(2) / (3.0 * utilization * (arrival_scv + scv))
        } else {
            -idle * (arrival_scv - 1.0) / (arrival_scv + 4.0 * scv)
        };
        exponent.exp()
    };
    let varied = arrival_scv + scv;
    // If arrivals vary less than Poisson ones and the load is very low, hardly any job waits, and the ratio of the
    // corrections has no meaning.
    if varied == 0.0 || correction(1.0) < NEGLIGIBLE {
        return 0.0;
    }
    varied / (arrival_scv + 1.0) * correction(scv) / correction(1.0)
}

/// Returns the factor by which arrivals other than Poisson change the wait with exponential service; exact for one
/// server.
///
/// In GI/M/1 (Kleinrock, *Queueing Systems* I, 1975, section 6.4), a share σ of arrivals waits, for S / (1 − σ) on
/// average with the service time S. The share solves σ = A*((1 − σ)/ρ), where ρ is the utilization and A* the Laplace
/// transform of the times between arrivals, scaled to the mean 1. These times are gamma-distributed if their squared
/// coefficient of variation is below 1, and hyperexponential with balanced means if it is above 1.
fn arrival_factor(utilization: f64, arrival_scv: f64) -> f64 {
    let transform = |rate: f64| -> f64 {
        if arrival_scv == 0.0 {
            (-rate).exp()
        } else if arrival_scv <= 1.0 {
            (1.0 + rate * arrival_scv).powf(-1.0 / arrival_scv)
        } else {
            let part = 0.5 * (1.0 + ((arrival_scv - 1.0) / (arrival_scv + 1.0)).sqrt());
            let branch = |share: f64| share * 2.0 * share / (2.0 * share + rate);
            branch(part) + branch(1.0 - part)
        }
    };
    if is_one(arrival_scv) {
        return 1.0;
    }
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..100 {
        let idle = f64::midpoint(low, high);
        if transform(idle / utilization) < 1.0 - idle {
            low = idle;
        } else {
            high = idle;
        }
    }
    (1.0 - high) / high * (1.0 - utilization) / utilization
}

/// Returns the mean number of jobs of each class, in service and waiting, from the mean wait of a visit. `second` is
/// the elapsed time for one second of service.
pub(crate) fn with_waits(
    center: &Center,
    rates: &[f64],
    second: f64,
    wait: impl Fn(usize) -> f64,
) -> Vec<f64> {
    (0..rates.len())
        .map(|class| {
            rates[class]
                * center.visits[class]
                * (center.service_time[class] * second
                    + if center.demand[class] > 0.0 {
                        wait(class)
                    } else {
                        0.0
                    })
        })
        .collect()
}

/// Returns the mean number of jobs and the loss of M/M/m/K, also if the speed depends on the number of jobs.
pub(crate) fn birth_death(center: &Center, load: f64, capacity: u64) -> (f64, f64) {
    let (mut weight, mut total, mut mean) = (1.0_f64, 1.0_f64, 0.0_f64);
    for jobs in 1..=capacity {
        weight *= load / center.speed.at(jobs);
        total += weight;
        mean += jobs as f64 * weight;
        if total > 1e200 {
            (weight, total, mean) = (weight * 1e-200, total * 1e-200, mean * 1e-200);
        }
        if weight == 0.0 {
            break;
        }
    }
    (mean / total, weight / total)
}

#[cfg(test)]
mod tests;

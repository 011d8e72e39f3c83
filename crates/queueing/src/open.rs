//! Solves stations that only open classes visit and that have no capacity limit, each station separately.

use crate::model::Discipline;
use crate::network::{Center, Speed};
use crate::series::Series;
use crate::special::erlang_c;

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

/// Solves a station to which transactions of each class arrive at `rates`. `arrival_scv` is the squared coefficient of
/// variation of the times between arrivals, 1 for Poisson arrivals.
///
/// The caller must ensure that a steady state exists.
#[must_use]
pub fn solve(center: &Center, rates: &[f64], arrival_scv: f64) -> Visit {
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
            interrupting(center, rates)
        } else {
            waiting_by_rank(center, rates, arrival_scv)
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
    let wait = wait
        * arrival_factor(utilization, arrival_scv)
        * variation_factor(utilization, arrival_scv, scv);
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
    if varied == 0.0 {
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

/// Solves non-preemptive priorities (Cobham, Operations Research 2(1), 1954): the wait of rank r is W_r = W_0 / ((1 −
/// σ_{r−1}) (1 − σ_r)), where σ_r is the utilization by all ranks up to r.
///
/// W_0 is the wait without ranks times 1 − ρ, with the utilization ρ. This is exact for one server, and for m servers
/// if all classes have the same exponential service time.
fn waiting_by_rank(center: &Center, rates: &[f64], arrival_scv: f64) -> Visit {
    let load = load(center, rates);
    let (mean_time, scv) = mixture(center, rates);
    let (wait, second) = exponential_wait(center, load, mean_time);
    let utilization = load / center.speed.limit();
    let first = wait
        * arrival_factor(utilization, arrival_scv)
        * variation_factor(utilization, arrival_scv, scv)
        * (1.0 - utilization);
    let by_rank = |class: usize| {
        let (better, all) = before(center, rates, class);
        first / ((1.0 - better) * (1.0 - all))
    };
    let servers = matches!(center.speed, Speed::Servers(_));
    Visit {
        jobs: with_waits(center, rates, second, by_rank),
        exact: is_one(arrival_scv)
            && (center.speed.is_single() || servers && center.is_uniform_exponential()),
        formula: if center.speed.is_single() {
            "M/G/1 priority"
        } else {
            "M/G/m priority"
        },
        ..Visit::default()
    }
}

/// Solves preemptive priorities, where jobs of worse ranks have no effect on jobs of better ranks.
fn interrupting(center: &Center, rates: &[f64]) -> Visit {
    let single = center.speed.is_single();
    let jobs = if single {
        one_server_interrupting(center, rates)
    } else {
        servers_interrupting(center, rates)
    };
    Visit {
        jobs,
        exact: single || center.is_uniform_exponential(),
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
fn one_server_interrupting(center: &Center, rates: &[f64]) -> Vec<f64> {
    (0..rates.len())
        .map(|class| {
            let (better, all) = before(center, rates, class);
            let residual = residual_work(center, rates, |other| {
                center.rank[other] <= center.rank[class]
            });
            let stay = center.service_time[class] / (1.0 - better)
                + residual / ((1.0 - better) * (1.0 - all));
            rates[class] * center.visits[class] * stay
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
fn servers_interrupting(center: &Center, rates: &[f64]) -> Vec<f64> {
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
            served + (exponential - served).max(0.0) * by_variation(center, rates, class, servers)
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
    let service = center.service_time[class] / fast;
    let residual = residual_work(center, rates, |other| {
        center.rank[other] <= center.rank[class]
    }) / fast.powi(2);
    let beside = service * better / (1.0 - better) + residual / ((1.0 - better) * (1.0 - all));
    let one_server = between(|load| load / (1.0 - load), better, all);
    let exponential = (one_server / (all - better) - 1.0) * service;
    if exponential > 0.0 {
        beside / exponential
    } else {
        1.0
    }
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
mod tests {
    use super::*;

    fn center(speed: Speed, service_time: &[f64], discipline: Discipline) -> Center {
        let classes = service_time.len();
        Center {
            name: "one".into(),
            discipline,
            speed,
            capacity: None,
            preemptive: false,
            visits: vec![1.0; classes],
            service_time: service_time.to_vec(),
            demand: service_time.to_vec(),
            scv: vec![1.0; classes],
            form: Vec::new(),
            rank: (1..).take(classes).collect(),
        }
    }

    /// Conservation of work in M/G/1 without interruption (Kleinrock 1965): the sum of utilization times wait over all
    /// ranks, Σ ρ_r W_r, is the same as with first come, first served.
    #[test]
    fn ranks_conserve_work() {
        let rates = [0.3, 0.2, 0.1];
        let waits = |discipline| {
            let center = center(Speed::Servers(1), &[0.5, 1.0, 2.5], discipline);
            let visit = solve(&center, &rates, 1.0);
            let wait = |class: usize| visit.jobs[class] / rates[class] - center.service_time[class];
            (0..3)
                .map(|class| rates[class] * center.demand[class] * wait(class))
                .sum::<f64>()
        };
        assert!((waits(Discipline::Priority) - waits(Discipline::Fcfs)).abs() < 1e-13);
    }

    /// If all classes have the same exponential service time, ranks only change the order of service. The mean wait
    /// over all classes is then that of M/M/m, C S / (m (1 − ρ)).
    #[test]
    fn ranks_of_many_servers_conserve_the_wait_of_erlang() {
        for servers in 1..=8 {
            let scale = f64::from(servers);
            let rates = [0.4 * scale, 0.3 * scale, 0.2 * scale];
            let center = center(Speed::Servers(servers), &[1.0; 3], Discipline::Priority);
            let visit = solve(&center, &rates, 1.0);
            assert!(visit.exact);
            let total: f64 = visit.jobs.iter().sum();
            let load = 0.9 * scale;
            let erlang = load + erlang_c(servers, load) * load / (scale - load);
            assert!((total / erlang - 1.0).abs() < 1e-12, "{servers} servers");
        }
    }

    /// Two classes of rate 0.8 at two servers, S = 1 s, by Cobham: W_0 = C / m = 0.64 / 1.8, W_1 = W_0 / 0.6, W_2 = W_0
    /// / (0.6 · 0.2). Erlang's C is ρ² 2 / (1 + ρ) = 0.7111 at ρ = 0.8.
    #[test]
    fn two_ranks_of_two_servers_wait_as_cobham_says() {
        let center = center(Speed::Servers(2), &[1.0, 1.0], Discipline::Priority);
        let visit = solve(&center, &[0.8, 0.8], 1.0);
        let first = 0.64 / 1.8;
        assert!((visit.jobs[0] / 0.8 - (1.0 + first / 0.6)).abs() < 1e-12);
        assert!((visit.jobs[1] / 0.8 - (1.0 + first / 0.12)).abs() < 1e-12);
    }

    #[test]
    fn variation_near_one_joins_the_exact_answer() {
        for speed in [
            Speed::Servers(1),
            Speed::Servers(2),
            Speed::Servers(8),
            Speed::Servers(64),
            Speed::Rates(vec![1.0, 2.0]),
            Speed::Rates(vec![0.5, 3.0, 2.0]),
        ] {
            let rate = 0.8 * speed.limit();
            let mut center = center(speed, &[1.0], Discipline::Fcfs);
            let exact = solve(&center, &[rate], 1.0).jobs[0];
            for change in [-1e-9, 1e-9] {
                center.scv = vec![1.0 + change];
                let service = solve(&center, &[rate], 1.0).jobs[0];
                center.scv = vec![1.0];
                let arrivals = solve(&center, &[rate], 1.0 + change).jobs[0];
                assert!((service / exact - 1.0).abs() < 1e-6, "{center:?}");
                assert!((arrivals / exact - 1.0).abs() < 1e-6, "{center:?}");
            }
        }
    }

    /// Sixteen servers at a utilization of 0.9, service times with scv 2, by Allen and Cunneen: R = S + C S / (m (1 −
    /// ρ)) (1 + 2) / 2 = 1.554 s.
    #[test]
    fn sixteen_servers_wait_a_sixteenth() {
        let mut center = center(Speed::Servers(16), &[1.0], Discipline::Fcfs);
        center.scv = vec![2.0];
        let response = solve(&center, &[14.4], 1.0).jobs[0] / 14.4;
        let erlang = erlang_c(16, 14.4) / 1.6 * 1.5;
        assert!((response - 1.0 - erlang).abs() < 1e-12);
        assert!((response - 1.554).abs() < 5e-4);
    }

    /// Hyperexponential arrivals of scv 4 with balanced means at one exponential server, ρ = 0.8: σ = 0.907572 solves
    /// the equation of GI/M/1, and R = S / (1 − σ) = 10.8192 s.
    ///
    /// Regular arrivals at ρ = 1/2: σ = exp(−2 (1 − σ)) = 0.203188.
    #[test]
    fn the_variation_of_arrivals_makes_an_exponential_server_wait() {
        for discipline in [Discipline::Fcfs, Discipline::Ps, Discipline::LcfsPr] {
            let center = center(Speed::Servers(1), &[1.0], discipline);
            let bursts = solve(&center, &[0.8], 4.0);
            assert!(!bursts.exact);
            assert!((bursts.jobs[0] / 0.8 - 10.819_192_77).abs() < 1e-6);
            let regular = solve(&center, &[0.5], 0.0).jobs[0] / 0.5;
            assert!((regular - 1.0 / (1.0 - 0.203_187_87)).abs() < 1e-6);
        }
    }

    #[test]
    fn regular_arrivals_of_equal_jobs_never_wait() {
        let mut center = center(Speed::Servers(2), &[1.0], Discipline::Fcfs);
        center.scv = vec![0.0];
        assert!((solve(&center, &[1.9], 0.0).jobs[0] - 1.9).abs() < 1e-12);
    }

    /// Two ranks with the same exponential service time S: R_1 = S/(1−ρ_1), R_2 = S/((1−ρ_1)(1−ρ_1−ρ_2)).
    #[test]
    fn interrupting_ranks_of_one_service_time_have_a_closed_form() {
        for speed in [Speed::Servers(1), Speed::Rates(vec![1.0])] {
            let mut center = center(speed, &[1.0, 1.0], Discipline::Priority);
            center.preemptive = true;
            let visit = solve(&center, &[0.4, 0.3], 1.0);
            assert!((visit.jobs[0] / 0.4 - 1.0 / 0.6).abs() < 1e-13);
            assert!((visit.jobs[1] / 0.3 - 1.0 / (0.6 * 0.3)).abs() < 1e-12);
        }
    }
}

//! Stations that only open classes visit, one by one.

use crate::model::Discipline;
use crate::network::{Center, Speed};
use crate::series::Series;
use crate::special::erlang_c;

/// What open arrivals make of a station.
#[derive(Clone, Debug, Default)]
pub struct Visit {
    /// Mean number of jobs of each class.
    pub jobs: Vec<f64>,
    /// Share of arrivals that find the station full.
    pub loss: f64,
    /// Whether the formula is exact for Poisson arrivals.
    pub exact: bool,
    /// Name of the formula.
    pub formula: &'static str,
}

/// Solves a station for arrivals of transactions at `rates`; `arrival_scv` is 1 for Poisson arrivals.
///
/// The caller has seen to it that there is a steady state.
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
            loss: 0.0,
            exact: true,
            formula: "delay",
        };
    }
    if let Some(capacity) = center.capacity {
        return finite(center, rates, capacity);
    }
    if center.discipline == Discipline::Priority {
        return if center.preemptive {
            interrupting(center, rates)
        } else {
            waiting_by_rank(center, rates)
        };
    }
    if center.is_product_form() {
        let total = Series::open_jobs(&center.speed, load);
        let formula = if center.speed.is_single() {
            "M/M/1"
        } else {
            "M/M/m"
        };
        return Visit {
            jobs: shares(center, rates, total, load),
            loss: 0.0,
            exact: true,
            formula,
        };
    }
    first_come(center, rates, arrival_scv)
}

/// Work that arrives per second, in servers.
fn load(center: &Center, rates: &[f64]) -> f64 {
    rates
        .iter()
        .zip(&center.demand)
        .map(|(rate, need)| rate * need)
        .sum()
}

/// Jobs by class where each job in the queue is of a class with the probability of its load.
fn shares(center: &Center, rates: &[f64], total: f64, load: f64) -> Vec<f64> {
    rates
        .iter()
        .zip(&center.demand)
        .map(|(rate, need)| total * rate * need / load)
        .collect()
}

/// Arrivals of visits per second, and of work seen as residual: Σ λ E[S²] / 2 over the given classes.
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

/// Factor by which waiting is shorter than with one server of the same total speed.
fn pooling(center: &Center, load: f64) -> f64 {
    match center.speed {
        Speed::Servers(servers) => {
            let utilization = load / f64::from(servers);
            erlang_c(servers, load) / utilization / f64::from(servers)
        }
        // The speed at the mean load stands for the whole table.
        _ => 1.0 / center.speed.limit(),
    }
}

/// First come first served: Pollaczek and Khinchine for one server; Allen and Cunneen for more, an approximation.
fn first_come(center: &Center, rates: &[f64], arrival_scv: f64) -> Visit {
    let load = load(center, rates);
    let utilization = load / center.speed.limit();
    let residual = residual_work(center, rates, |_| true);
    let mean_time = load
        / rates
            .iter()
            .zip(&center.visits)
            .map(|(rate, count)| rate * count)
            .sum::<f64>();
    let scv = 2.0 * residual / (load * mean_time) - 1.0;
    let wait =
        residual * pooling(center, load) / (1.0 - utilization) * (arrival_scv + scv) / (1.0 + scv);
    let single = center.speed.is_single();
    Visit {
        jobs: with_waits(center, rates, |_| wait),
        loss: 0.0,
        exact: single,
        formula: if single { "M/G/1" } else { "Allen-Cunneen" },
    }
}

/// Jobs in service and waiting, from the wait of a visit.
fn with_waits(center: &Center, rates: &[f64], wait: impl Fn(usize) -> f64) -> Vec<f64> {
    (0..rates.len())
        .map(|class| {
            rates[class]
                * center.visits[class]
                * (center.service_time[class]
                    + if center.demand[class] > 0.0 {
                        wait(class)
                    } else {
                        0.0
                    })
        })
        .collect()
}

/// Utilization of classes that go before a class, without and with those of its own rank.
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

/// Ranks without interruption: Cobham, Operations Research 2(1), 1954: W_r = W_0 / ((1 − σ_{r−1}) (1 − σ_r)).
fn waiting_by_rank(center: &Center, rates: &[f64]) -> Visit {
    let residual = residual_work(center, rates, |_| true) * pooling(center, load(center, rates));
    let wait = |class: usize| {
        let (better, all) = before(center, rates, class);
        residual / ((1.0 - better) * (1.0 - all))
    };
    Visit {
        jobs: with_waits(center, rates, wait),
        loss: 0.0,
        exact: center.speed.is_single() || center.is_uniform_exponential(),
        formula: "M/G/1 priority",
    }
}

/// Ranks with interruption: worse ranks do not exist for better ones.
fn interrupting(center: &Center, rates: &[f64]) -> Visit {
    let single = center.speed.is_single();
    let jobs = if single {
        one_server_interrupting(center, rates)
    } else {
        servers_interrupting(center, rates)
    };
    Visit {
        jobs,
        loss: 0.0,
        exact: single || center.is_uniform_exponential(),
        formula: "M/G/1 preemptive priority",
    }
}

/// R_r = S_r / (1 − σ_{r−1}) + W_0(classes up to r) / ((1 − σ_{r−1}) (1 − σ_r)); Jaiswal, *Priority Queues*, 1968.
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

/// All classes up to a rank together are an M/M/m of their own; exact for equal exponential service times.
fn servers_interrupting(center: &Center, rates: &[f64]) -> Vec<f64> {
    let load_up_to = |counts: &dyn Fn(u32) -> bool| -> f64 {
        (0..rates.len())
            .filter(|&other| counts(center.rank[other]))
            .map(|other| rates[other] * center.demand[other])
            .sum()
    };
    (0..rates.len())
        .map(|class| {
            let rank = center.rank[class];
            let (better, all) = (
                load_up_to(&|other| other < rank),
                load_up_to(&|other| other <= rank),
            );
            let own = all - better;
            if own == 0.0 {
                return 0.0;
            }
            let jobs = Series::open_jobs(&center.speed, all)
                - if better > 0.0 {
                    Series::open_jobs(&center.speed, better)
                } else {
                    0.0
                };
            jobs * rates[class] * center.demand[class] / own
        })
        .collect()
}

/// A bounded number of jobs, by the birth and death process: M/M/m/K and its load-dependent forms.
fn finite(center: &Center, rates: &[f64], capacity: u64) -> Visit {
    let load = load(center, rates);
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
    Visit {
        jobs: shares(center, rates, mean / total, load),
        loss: weight / total,
        exact: center.discipline != Discipline::Priority && center.is_product_form(),
        formula: "M/M/m/K",
    }
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
            rank: (1..).take(classes).collect(),
        }
    }

    /// Work is conserved: Σ ρ_r W_r of M/G/1 without interruption is that of first come first served (Kleinrock 1965).
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

    /// Two ranks of one exponential service time: R_1 = S/(1−ρ_1), R_2 = S/((1−ρ_1)(1−ρ_1−ρ_2)).
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

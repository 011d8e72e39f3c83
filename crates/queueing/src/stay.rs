//! Time that a job stays at a station, given the state that it finds there: the core of approximate mean value
//! analysis.

use crate::model::Discipline;
use crate::network::{Center, Speed};
use crate::special::erlang_c;

/// Returns the probability that all servers are busy, for Poisson arrivals; 1 if the load is at least the number of
/// servers.
#[must_use]
pub fn all_busy(servers: u32, load: f64) -> f64 {
    if load >= f64::from(servers) {
        1.0
    } else {
        erlang_c(servers, load)
    }
}

/// Numbers of jobs that an arriving job finds at a station, by class.
pub struct Found<'a> {
    /// Mean number of jobs present, including those in service, by class.
    pub queue: &'a [f64],
    /// Mean number of jobs in service, by class.
    pub busy: &'a [f64],
    /// Share of the users of a class that can still arrive while one of its jobs is at the station: (N − 1) / N for N
    /// users, 1 for an open class.
    pub others: &'a [f64],
}

/// Returns the residence time of a class at a station: the time of all its visits together. [s]
#[must_use]
pub fn residence(center: &Center, class: usize, found: &Found<'_>, enough: bool) -> f64 {
    let (queue, busy) = (found.queue, found.busy);
    let demand = center.demand[class];
    if demand == 0.0 || !center.is_queue() || enough {
        return demand;
    }
    let jobs: f64 = queue.iter().sum();
    let Speed::Servers(servers) = center.speed else {
        return demand * (1.0 + jobs) / speed_between(&center.speed, 1.0 + jobs);
    };
    if servers == 1 && center.is_product_form() {
        return demand * (1.0 + jobs);
    }
    let load: f64 = busy.iter().sum();
    let all = all_busy(servers, load);
    let servers = f64::from(servers);
    if center.is_product_form() {
        return demand * (1.0 + ((jobs - load).max(0.0) + all) / servers);
    }
    // The load is limited, since throughputs may exceed the capacity of the servers in the first iterations and with
    // reduced populations.
    let most = (servers / load).min(1.0);
    let busy: Vec<f64> = busy.iter().map(|jobs| jobs * most).collect();
    let within = Found {
        busy: &busy,
        ..*found
    };
    by_order(center, class, &within, all)
}

/// Returns the residence time at a first-come-first-served station with different service times, or at a station with
/// ranks. It is computed from the work that is served before an arriving job.
fn by_order(center: &Center, class: usize, found: &Found<'_>, all: f64) -> f64 {
    let (queue, busy) = (found.queue, found.busy);
    let ranks = center.discipline == Discipline::Priority;
    let (rank, servers) = (center.rank[class], center.speed.limit());
    let load: f64 = busy.iter().sum();
    let (mut waiting, mut residual, mut better, mut coming) = (0.0, 0.0, 0.0, 0.0);
    for other in 0..queue.len() {
        let time = center.service_time[other];
        let goes_before = !ranks || center.rank[other] <= rank;
        if goes_before {
            waiting += time * (queue[other] - busy[other]).max(0.0);
        }
        if goes_before || !center.preemptive {
            residual += busy[other] * time * (1.0 + center.scv[other]) / 2.0;
        }
        if ranks && center.rank[other] < rank {
            better += busy[other];
            coming += busy[other] * found.others[other];
        }
    }
    let (seen, all) = if center.preemptive && ranks {
        // Jobs of worse ranks have no effect on a job that interrupts them.
        let seen: f64 = (0..busy.len())
            .filter(|&other| center.rank[other] <= rank)
            .map(|other| busy[other])
            .sum();
        (seen, all_busy(servers as u32, seen))
    } else {
        (load, all)
    };
    let residual = if seen > 0.0 {
        residual / seen * all
    } else {
        0.0
    };
    let ahead = (waiting + residual) / servers;
    // Closed classes of better ranks cannot block another class forever, so the utilization by better ranks is limited
    // to less than 1. The limit only takes effect in the first iterations.
    let left = (1.0 - better / servers).max(1e-3);
    // A user of a better rank sends no further job while its previous job is present, so `coming` counts only the other
    // users.
    let wait = ahead / (1.0 - coming / servers).max(1e-3);
    let time = center.service_time[class];
    let stay = if center.preemptive && better > 0.0 {
        // A job is interrupted if jobs of better ranks occupy all servers. At one server, the probability of this is
        // their utilization.
        let interrupted = all_busy(servers as u32, better) / (better / servers);
        time + time * (1.0 / left - 1.0) * interrupted + wait
    } else {
        time + wait
    };
    center.visits[class] * stay
}

/// Returns the speed of a station for a mean number of jobs, interpolated between the entries of the table of speeds.
fn speed_between(speed: &Speed, jobs: f64) -> f64 {
    let (below, share) = (jobs.floor(), jobs.fract());
    speed.at(below as u64) * (1.0 - share) + speed.at(below as u64 + 1) * share
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use serde_json::{Value, json};

    fn near(found: f64, exact: f64) {
        assert!((found - exact).abs() < 1e-9, "{found} must be {exact}");
    }

    /// Two classes with ranks 1 and 2, service times of 0.2 and 0.6 s and squared coefficients of variation 0 and 2. The
    /// first class makes two visits.
    fn center(station: &Value) -> Center {
        let mut station = station.clone();
        station["name"] = json!("s");
        station["services"] = json!([
            {"class": "a", "service_time_s": 0.2, "visits": 2.0, "variation": {"scv": 0.0}},
            {"class": "b", "service_time_s": 0.6, "variation": {"scv": 2.0}}]);
        let model = json!({
            "classes": [{"name": "a", "users": 9, "priority": 1}, {"name": "b", "users": 9, "priority": 2}],
            "stations": [station]});
        let model = serde_json::from_value(model).expect("the model is right");
        let network = Network::of(&model).expect("the model is right");
        let mut center = network.centers[0].clone();
        // The variation as given, not that for visits in a row.
        center.scv = vec![0.0, 2.0];
        center
    }

    fn stays(station: &Value, queue: [f64; 2], busy: [f64; 2]) -> [f64; 2] {
        let center = center(station);
        let found = Found {
            queue: &queue,
            busy: &busy,
            others: &[0.8, 0.9],
        };
        [0, 1].map(|class| residence(&center, class, &found, false))
    }

    /// Erlang's C for two servers and the load a is a² / (2 + a).
    fn both_busy(load: f64) -> f64 {
        load * load / (2.0 + load)
    }

    #[test]
    fn a_server_of_product_form_serves_those_found_first() {
        let ps = json!({"discipline": "ps"});
        let [first, second] = stays(&ps, [1.5, 0.8], [0.3, 0.4]);
        near(first, 0.4 * 3.3);
        near(second, 0.6 * 3.3);
        let two = json!({"discipline": "ps", "servers": 2});
        let [first, second] = stays(&two, [1.5, 0.8], [0.6, 0.9]);
        let factor = 1.0 + f64::midpoint(0.8, both_busy(1.5));
        near(first, 0.4 * factor);
        near(second, 0.6 * factor);
        let [first, _] = stays(&two, [1.5, 0.8], [1.2, 0.8]);
        near(first, 0.4 * 1.65);
    }

    /// With 2.5 jobs, the speed is half way between 1.5 and 3.
    #[test]
    fn speeds_are_interpolated_between_the_entries_of_the_table() {
        let rates = json!({"discipline": "ps", "rates": [1.0, 1.5, 3.0]});
        let [first, _] = stays(&rates, [1.0, 0.5], [0.3, 0.4]);
        near(first, 0.4 * 2.5 / 2.25);
        let [first, _] = stays(&rates, [1.0, 0.25], [0.3, 0.4]);
        near(first, 0.4 * 2.25 / 1.875);
    }

    /// The work before an arriving job is 1.2 x 0.2 s + 0.4 x 0.6 s of waiting jobs, and of jobs in service 0.3 x 0.2 s /
    /// 2 + 0.4 x 0.6 s x 3 / 2 = 0.39 s.
    #[test]
    fn in_order_of_arrival_a_job_waits_for_all_work_that_it_finds() {
        let [first, second] = stays(&json!({}), [1.5, 0.8], [0.3, 0.4]);
        near(first, 2.0 * (0.2 + 0.48 + 0.39));
        near(second, 0.6 + 0.48 + 0.39);
        let [first, second] = stays(&json!({"servers": 2}), [1.5, 0.8], [0.3, 0.4]);
        let work = 0.48 + 0.39 / 0.7 * both_busy(0.7);
        let wait = work / 2.0;
        near(first, 2.0 * (0.2 + wait));
        near(second, 0.6 + wait);
        // The load of 1.8 exceeds the server, so that it is taken as 1, half of it by each class.
        let [first, _] = stays(&json!({}), [2.0, 3.0], [0.9, 0.9]);
        near(first, 2.0 * (0.2 + 1.8 + 0.5));
    }

    #[test]
    fn a_job_of_a_worse_rank_waits_for_better_ranks_that_come_later() {
        let [first, second] = stays(&json!({"discipline": "priority"}), [1.5, 0.8], [0.3, 0.4]);
        near(first, 2.0 * (0.2 + 0.24 + 0.39));
        near(second, 0.6 + 0.87 / (1.0 - 0.8 * 0.3));
    }

    #[test]
    fn a_job_of_a_better_rank_interrupts() {
        let one = json!({"discipline": "priority", "preemptive": true});
        let [first, second] = stays(&one, [1.5, 0.8], [0.3, 0.4]);
        near(first, 2.0 * (0.2 + 0.24 + 0.03));
        near(second, 0.6 / 0.7 + 0.87 / (1.0 - 0.8 * 0.3));
        let two = json!({"discipline": "priority", "preemptive": true, "servers": 2});
        let [first, second] = stays(&two, [1.5, 0.8], [0.3, 0.4]);
        let better = 0.24 + 0.03 / 0.3 * both_busy(0.3);
        near(first, 2.0 * (0.2 + better / 2.0));
        let work = 0.48 + 0.39 / 0.7 * both_busy(0.7);
        let wait = work / 2.0 / (1.0 - 0.8 * 0.3 / 2.0);
        let interrupted = both_busy(0.3) / 0.15;
        near(second, 0.6 + 0.6 * (1.0 / 0.85 - 1.0) * interrupted + wait);
    }

    #[test]
    fn a_class_that_never_waits_stays_for_its_service() {
        let center = center(&json!({}));
        let found = Found {
            queue: &[3.0, 3.0],
            busy: &[0.5, 0.5],
            others: &[1.0, 1.0],
        };
        near(residence(&center, 0, &found, true), 0.4);
        near(all_busy(2, 2.0), 1.0);
        near(all_busy(2, 1.0), 1.0 / 3.0);
    }
}

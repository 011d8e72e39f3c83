//! Compares the solver with published and exact results, to find wrong signs or factors that operational laws would not
//! reveal.

mod support;

use serde_json::{Value, json};
use support::{model, run, service, single};
use towtank_queueing::answer::Answer;
use towtank_queueing::bounds::Single;
use towtank_queueing::convolution::{self, Queue};
use towtank_queueing::mva::{self, Closed};
use towtank_queueing::network::Speed;
use towtank_queueing::solve::{Method, solve};

#[track_caller]
fn near(found: f64, exact: f64, within: f64) {
    assert!(
        (found / exact - 1.0).abs() <= within,
        "{found} must be {exact}"
    );
}

fn solved(value: Value, method: Method) -> Answer {
    solve(&model(value), method).expect("the model is right")
}

/// For N = 2 users, a think time of Z = 1 and two demands of 1, the throughput is at least 2 / (2 + 1 + 1 / (1 + 1/4))
/// and at most 2 / (2 + 1 + 1 / (1 + 1/2)).
#[test]
fn balanced_job_bounds_of_two_users() {
    let found = Single {
        users: 2.0,
        think_time: 1.0,
        demand: vec![1.0, 1.0],
    }
    .balanced_job();
    near(found[0], 2.0 / 3.8, 1e-12);
    near(found[1], 2.0 / (3.0 + 2.0 / 3.0), 1e-12);
}

/// Without think time and with K equal demands, both bounds equal the exact throughput, N / (D (N + K - 1) / K), where
/// D is the sum of the demands. For N = 7 users and three demands of 0.2, this is 7 / (0.2 · 9).
#[test]
fn balanced_job_bounds_of_a_balanced_network_meet() {
    let found = Single {
        users: 7.0,
        think_time: 0.0,
        demand: vec![0.2; 3],
    }
    .balanced_job();
    near(found[0], 7.0 / (0.2 * 9.0), 1e-12);
    near(found[1], 7.0 / (0.2 * 9.0), 1e-12);
}

/// Demands of 0.2 and 0.3 s and a think time of 2 s: the asymptotes of the throughput meet at N* = (0.5 + 2) / 0.3
/// users.
#[test]
fn the_knee_is_where_the_asymptotes_meet() {
    let value = json!({"classes": [{"name": "jobs", "users": 5, "think_time_s": 2.0}],
        "stations": [{"name": "a", "services": service(0.2)}, {"name": "b", "services": service(0.3)}]});
    let answer = solved(value, Method::Exact);
    let bounds = answer.bounds.get("jobs").unwrap();
    near(bounds.knee_users.unwrap(), 2.5 / 0.3, 1e-12);
    assert_eq!(bounds.bottleneck, "b");
}

fn two_classes(stations: usize) -> (Value, Closed) {
    let demand: Vec<Vec<f64>> = (0..2)
        .map(|class| {
            (0..stations)
                .map(|station| 0.01 * (1 + (station * (3 + class) + class) % 7) as f64)
                .collect()
        })
        .collect();
    let named = (0..stations)
        .map(|station| {
            json!({"name": format!("s{station}"), "discipline": "ps", "services": [
                {"class": "a", "service_time_s": demand[0][station]},
                {"class": "b", "service_time_s": demand[1][station]}]})
        })
        .collect::<Vec<_>>();
    let value = json!({"classes": [
        {"name": "a", "users": 6, "think_time_s": 0.5}, {"name": "b", "users": 9, "think_time_s": 0.1}],
        "stations": named});
    let closed = Closed {
        users: vec![6, 9],
        think_time: vec![0.5, 0.1],
        demand,
    };
    (value, closed)
}

/// Checks N = X (R + Z), where R is the sum of the residence times, for networks of 1 to 70 stations. The recursion
/// computes several stations at once, so the larger networks need several groups of stations.
#[test]
fn residence_times_of_wide_networks_make_up_the_response_time() {
    for stations in [1, 3, 8, 9, 17, 40, 70] {
        let closed = two_classes(stations).1;
        let means = mva::solve(&closed);
        for class in 0..2 {
            let response: f64 = means.residence[class].iter().sum();
            near(
                means.throughput[class] * (response + closed.think_time[class]),
                closed.users[class] as f64,
                1e-12,
            );
        }
        for (first, second) in (7..stations).map(|station| (station - 7, station)) {
            near(means.residence[0][first], means.residence[0][second], 1e-12);
        }
    }
}

/// The error of the Linearizer is less than a tenth of the error of the method of Bard and Schweitzer (Chandy and
/// Neuse, Comm. ACM 25(2), 1982).
#[test]
fn the_linearizer_is_near_the_exact_answer() {
    let (value, closed) = two_classes(3);
    let exact = mva::solve(&closed);
    let miss = |method| {
        let answer = solved(value.clone(), method);
        ["a", "b"]
            .iter()
            .enumerate()
            .map(|(class, name)| {
                let found = answer.classes.get(name).unwrap().throughput_per_s;
                (found / exact.throughput[class] - 1.0).abs()
            })
            .fold(0.0, f64::max)
    };
    let (rough, fine) = (miss(Method::BardSchweitzer), miss(Method::Linearizer));
    assert!(rough > 5e-3, "{rough}");
    assert!(fine < 2e-3 && fine < rough / 10.0, "{fine} {rough}");
}

/// M/G/1 with two classes and first come, first served. By Pollaczek and Khinchine, both classes have the same mean
/// wait: the sum over the classes of lambda S^2 (1 + scv) / 2, divided by 1 - rho.
#[test]
fn classes_of_different_services_wait_the_same() {
    let value = json!({"classes": [
        {"name": "short", "arrival_rate_per_s": 2.0}, {"name": "long", "arrival_rate_per_s": 0.5}],
        "stations": [{"name": "s", "discipline": "fcfs", "services": [
            {"class": "short", "service_time_s": 0.1, "variation": {"scv": 0.5}},
            {"class": "long", "service_time_s": 0.8, "variation": {"scv": 2.0}}]}]});
    let answer = solved(value, Method::Auto);
    let wait = (2.0 * 0.01 * 1.5 / 2.0 + 0.5 * 0.64 * 3.0 / 2.0) / (1.0 - 0.6);
    for (name, time) in [("short", 0.1), ("long", 0.8)] {
        near(
            answer.classes.get(name).unwrap().response_time_s,
            wait + time,
            1e-6,
        );
    }
}

/// The cost of a convolution is its approximate number of operations. Nine users make ten populations (0 to 9). Each
/// population needs two operations for each coefficient of the polynomial of the queue, and one for the station. The
/// polynomial has one coefficient for each server, but at most ten. An open load adds 20 operations for each of the 20
/// servers and ten coefficients.
#[test]
fn the_cost_of_a_convolution_counts_its_steps() {
    let queue = |open_load: f64, speed: Speed| Queue {
        speed,
        open_load,
        demand: vec![0.1],
    };
    let cost = |queues: Vec<Queue>| {
        convolution::cost(&convolution::Closed {
            users: vec![9],
            think_time: vec![1.0],
            queues,
            estimate: vec![1.0],
        })
    };
    let near = |found: f64, exact: f64| near(found, exact, 1e-12);
    near(
        cost(vec![queue(0.0, Speed::Servers(20))]),
        10.0 * (10.0 * 2.0 + 1.0),
    );
    near(
        cost(vec![queue(0.0, Speed::Servers(4))]),
        10.0 * (4.0 * 2.0 + 1.0),
    );
    near(
        cost(vec![queue(0.0, Speed::Rates(vec![1.0; 30]))]),
        10.0 * (10.0 * 2.0 + 1.0),
    );
    near(
        cost(vec![queue(0.5, Speed::Servers(20))]),
        10.0 * (10.0 * 2.0 + 1.0) + 20.0 * 20.0 * 10.0,
    );
}

#[test]
fn what_has_no_steady_state_names_its_busiest_station() {
    let mut value = single(2.0, json!({"services": service(1.0)}));
    value["stations"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "idle", "services": [{"class": "jobs", "service_time_s": 0.01}]}));
    let answer = run(value, 200_000);
    assert!(
        answer.warnings[0].contains("the busiest station is s with a utilization of 100"),
        "{:?}",
        answer.warnings
    );
}

/// The asymptotic bounds assume the highest speed, with a service time of 0.6 s / 3 = 0.2 s: X <= 6 / (2 s + 0.2 s) and
/// N* = (2 s + 0.2 s) / 0.2 s.
#[test]
fn bounds_of_a_station_with_rates_take_the_highest() {
    let value = json!({"classes": [{"name": "jobs", "users": 6, "think_time_s": 2.0}],
        "stations": [{"name": "s", "rates": [1.0, 2.0, 3.0], "services": service(0.6)}]});
    let answer = solved(value, Method::Exact);
    let bounds = answer.bounds.get("jobs").unwrap();
    near(bounds.throughput_per_s.upper.unwrap(), 6.0 / 2.2, 1e-12);
    near(bounds.knee_users.unwrap(), 11.0, 1e-12);
}

/// The server is always busy, so X = 1 / 0.5 s = 2/s. By Little's law, R = N / X = 3 / 2 s = 1.5 s. This includes the
/// wait of two jobs for the pool.
#[test]
fn jobs_before_a_pool_belong_to_the_response_time() {
    let value = json!({"classes": [{"name": "jobs", "users": 3}],
        "stations": [{"name": "s", "services": service(0.5)}],
        "pools": [{"name": "p", "size": 1, "holds": ["s"]}]});
    let answer = solved(value, Method::Auto);
    near(answer.classes["jobs"].throughput_per_s, 2.0, 1e-9);
    near(answer.pools["p"].waiting, 2.0, 1e-9);
    near(answer.classes["jobs"].response_time_s, 1.5, 1e-9);
}

/// Each of two pools around a delay of 1 s behaves as a separate M/M/m queue, whose servers are the units of the pool.
#[test]
fn each_pool_has_its_own_wait() {
    let station = |name: &str| json!({"name": name, "discipline": "delay", "services": [{"class": "a", "service_time_s": 1.0}]});
    let value = json!({"classes": [{"name": "a", "arrival_rate_per_s": 3.0}],
        "stations": [station("d"), station("e")],
        "pools": [{"name": "tight", "size": 4, "holds": ["d"]}, {"name": "wide", "size": 12, "holds": ["e"]}]});
    let answer = run(value, 4_000_000);
    // In the pool of 4 units, Erlang's C for 3 erlang and 4 servers is 0.5094, so 3 C / (4 - 3) jobs wait on average.
    // In the pool of 12 units, almost none wait.
    near(answer.pools["tight"].waiting, 3.0 * 0.5094, 0.05);
    assert!(answer.pools["wide"].waiting < 1e-3);
    near(answer.pools["tight"].held, 3.0, 0.01);
    near(answer.pools["wide"].held, 3.0, 0.01);
}

/// With both disciplines, the response time of a class is proportional to its service time: 0.5 and 1.5 s. The expected
/// response times are from an independently written event simulation (three runs of 400,000 jobs).
#[test]
fn bursts_slow_the_classes_of_a_shared_server_by_one_factor() {
    for discipline in ["ps", "lcfs-pr"] {
        let class =
            |name: &str| json!({"name": name, "arrival_rate_per_s": 0.4, "arrivals": {"scv": 4.0}});
        let value = json!({"classes": [class("short"), class("long")],
            "stations": [{"name": "cpu", "discipline": discipline, "services": [
                {"class": "short", "service_time_s": 0.5}, {"class": "long", "service_time_s": 1.5}]}]});
        let times = solved(value, Method::Auto).classes;
        near(times["short"].response_time_s, 4.96, 0.04);
        near(times["long"].response_time_s, 15.6, 0.04);
    }
}

/// The times at a CPU that two classes share, behind a disk with scv 4 or 0 (squared coefficient of variation of its
/// times), must agree with an independently written event simulation within 6 %.
#[test]
fn classes_of_a_shared_server_behind_a_disk_keep_their_proportion() {
    for (scv, short, long) in [(4.0, 1.28, 11.0), (0.0, 0.92, 8.6)] {
        let class = |name: &str| json!({"name": name, "arrival_rate_per_s": 0.4});
        let at = |name: &str, time: f64, scv: f64| json!({"class": name, "service_time_s": time, "variation": {"scv": scv}});
        let value = json!({"classes": [class("short"), class("long")],
            "stations": [{"name": "disk", "services": [at("short", 0.8, scv), at("long", 0.8, scv)]},
                {"name": "cpu", "discipline": "ps", "services": [at("short", 0.2, 1.0), at("long", 1.8, 1.0)]}]});
        let cpu = solved(value, Method::Auto).stations["cpu"]
            .residence_time_s
            .clone();
        near(cpu["short"], short, 0.06);
        near(cpu["long"], long, 0.06);
    }
}

/// A station with 64 servers, a limited capacity and priorities is refused, with the advice to simulate the model. An
/// approximation that ignores the priorities would be wrong by a large factor.
#[test]
fn ranks_at_a_large_full_station_are_refused() {
    let class =
        |name: &str, rank: u32| json!({"name": name, "arrival_rate_per_s": 16.0, "priority": rank});
    let at = |name: &str, time: f64| json!({"class": name, "service_time_s": time, "variation": {"scv": 4.0}});
    let value = json!({"classes": [class("first", 1), class("second", 2)],
        "stations": [{"name": "cpu", "servers": 64, "capacity": 200, "discipline": "priority",
            "services": [at("first", 1.0), at("second", 3.0)]}]});
    let faults = solve(&model(value), Method::Auto).unwrap_err();
    assert_eq!(faults[0].path, ["stations", "cpu", "capacity"]);
    assert!(faults[0].message.ends_with("simulate"));
}

/// The solution by the method of Bard and Schweitzer must satisfy its equations: R = D (1 + Q - q / N) at each station.
/// Q is the number of jobs of all classes at the station, q that of the class itself, and N the number of its users. By
/// Little's law, q = X R and N = X (Z + sum of R).
#[test]
fn bard_and_schweitzer_satisfy_their_equations() {
    let (value, closed) = two_classes(3);
    let answer = solved(value, Method::BardSchweitzer);
    let names = ["a", "b"];
    let rate = |class: usize| answer.classes[names[class]].throughput_per_s;
    let stay = |class: usize, station: usize| {
        answer.stations[&format!("s{station}")].residence_time_s[names[class]]
    };
    for class in 0..2 {
        let users = closed.users[class] as f64;
        let mut cycle = closed.think_time[class];
        for station in 0..3 {
            let jobs = |other: usize| rate(other) * stay(other, station);
            let seen = jobs(0) + jobs(1) - jobs(class) / users;
            near(
                stay(class, station),
                closed.demand[class][station] * (1.0 + seen),
                1e-9,
            );
            cycle += stay(class, station);
        }
        near(rate(class) * cycle, users, 1e-9);
    }
}

/// The open class uses 4/s · 0.1 s = 40 % of the server. Fifty users without think time use all that is left: X = 0.6 /
/// 0.03 s = 20/s.
#[test]
fn users_take_what_the_open_class_leaves() {
    for discipline in ["ps", "fcfs"] {
        for method in [Method::BardSchweitzer, Method::Linearizer, Method::Auto] {
            let value = json!({"classes": [{"name": "users", "users": 50},
                {"name": "open", "arrival_rate_per_s": 4.0}],
                "stations": [{"name": "s", "discipline": discipline, "services": [
                    {"class": "users", "service_time_s": 0.03}, {"class": "open", "service_time_s": 0.1}]}]});
            let answer = solved(value, method);
            // The approximations are up to 3 % too low, and never use more than the whole server.
            near(answer.classes["users"].throughput_per_s, 20.0, 0.03);
            assert!(answer.stations["s"].utilization <= 1.0 + 1e-9);
        }
    }
}

/// At three servers, three users (two of class a, one of class b) never wait, so the time at the station is the service
/// time. With a fourth user, some wait.
#[test]
fn as_many_servers_as_users_never_wait() {
    let stay = |users: u64| {
        let value = json!({"classes": [{"name": "a", "users": users, "think_time_s": 0.01},
            {"name": "b", "users": 1, "think_time_s": 0.01}],
            "stations": [{"name": "s", "servers": 3, "services": [
                {"class": "a", "service_time_s": 0.2}, {"class": "b", "service_time_s": 0.7}]}]});
        solved(value, Method::Linearizer).stations["s"].residence_time_s["a"]
    };
    near(stay(2), 0.2, 1e-12);
    assert!(stay(3) > 0.21);
}

/// At one exponential server without a waiting place, the loss is the Laplace transform of the interarrival time at the
/// service rate: an arrival is lost if the service lasts longer than the time since the last arrival. With equal means,
/// the loss is 1/e for constant interarrival times (scv 0) and 1/2 for Poisson arrivals (scv 1). For a mixture of two
/// exponential times with a squared coefficient of variation (scv) of 4, it is 0.588.
#[test]
fn the_variation_of_arrivals_changes_the_loss_of_a_full_station() {
    let part = 0.5 * (1.0 + 0.6_f64.sqrt());
    let branch = |share: f64| share * 2.0 * share / (2.0 * share + 1.0);
    let varied = branch(part) + branch(1.0 - part);
    for (scv, loss) in [(0.0, (-1.0_f64).exp()), (1.0, 0.5), (4.0, varied)] {
        let value = json!({
            "classes": [{"name": "jobs", "arrival_rate_per_s": 1.0, "arrivals": {"scv": scv}}],
            "stations": [{"name": "s", "capacity": 1, "services": [{"class": "jobs", "service_time_s": 1.0}]}]});
        let answer = solve(&model(value), Method::Auto).expect("the model is right");
        let found = answer.stations["s"].loss_probability;
        assert!(
            answer.exact && (found - loss).abs() < 1e-9,
            "{scv}: {found} must be {loss}"
        );
    }
}

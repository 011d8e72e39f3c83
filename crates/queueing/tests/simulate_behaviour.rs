//! Tests behaviour that only the simulator supports: balancers, failures, time-outs, caches, feedback.

mod support;

use serde_json::{Value, json};
use support::{check, model, run, service, single};
use towtank_queueing::simulate::answer::Answer;
use towtank_queueing::simulate::{Settings, simulate};
use towtank_queueing::solve::{Method, solve};

fn with_behaviour(mut value: Value, behaviour: Value) -> Value {
    value["behaviour"] = behaviour;
    value
}

#[test]
fn a_balancer_at_random_is_what_analysis_says_and_the_shortest_queue_is_better() {
    let group = |policy: &str| {
        let station = |name: &str| json!({"name": name, "services": [{"class": "jobs", "service_time_s": 1.0, "visits": 0.5}]});
        let value = json!({"classes": [{"name": "jobs", "arrival_rate_per_s": 1.4}], "stations": [station("x"), station("y")]});
        run(
            with_behaviour(
                value,
                json!({"balancers": [{"name": "b", "policy": policy, "stations": ["x", "y"]}]}),
            ),
            6_000_000,
        )
    };
    let random = group("random");
    check(&random, "jobs", "response_time_s", 1.0 / 0.3, 0.02);
    let mean = |answer: &Answer| answer.classes["jobs"].response_time_s;
    let [turns, two, shortest] =
        ["round-robin", "power-of-two", "shortest-queue"].map(|policy| mean(&group(policy)));
    // Response times fall from random choice to round robin, and from round robin to the shortest queue. With only two
    // servers, the shorter of two random queues is the shortest queue, except for ties.
    assert!(
        mean(&random) > turns && turns > shortest,
        "{turns} {shortest}"
    );
    assert!((two / shortest - 1.0).abs() < 0.03, "{two} {shortest}");
    // No policy is better than two servers with one common queue, M/M/2, whose response time is 1 / (1 - 0.49).
    assert!(shortest > 1.0 / 0.51, "{shortest}");
}

#[test]
fn round_robin_makes_erlang_arrivals() {
    let station = |name: &str| json!({"name": name, "services": [{"class": "jobs", "service_time_s": 1.0, "visits": 0.5}]});
    let value = json!({"classes": [{"name": "jobs", "arrival_rate_per_s": 1.4}], "stations": [station("x"), station("y")]});
    let balancers =
        json!({"balancers": [{"name": "b", "policy": "round-robin", "stations": ["x", "y"]}]});
    // Each server gets every second arrival of a Poisson stream, so its interarrival times are Erlang-2 distributed.
    // E2/M/1 has R = 1 / (1 - s), where s is the root below 1 of s = (1.4 / (1.4 + 1 - s))^2.
    let root = (0..200).fold(0.5_f64, |s, _| (1.4 / (2.4 - s)).powi(2));
    check(
        &run(with_behaviour(value, balancers), 8_000_000),
        "jobs",
        "response_time_s",
        1.0 / (1.0 - root),
        0.02,
    );
}

#[test]
fn a_station_that_fails_serves_as_long_as_it_is_up() {
    let (rate, up, down) = (0.5, 50.0, 5.0);
    let value = with_behaviour(
        single(rate, json!({"services": service(1.0)})),
        json!({"failures": [{"station": "s", "up_s": up, "down_s": down}]}),
    );
    let answer = run(value, 10_000_000);
    let station = &answer.stations["s"];
    assert!(
        (station.availability - 10.0 / 11.0).abs() < 0.003,
        "{}",
        station.availability
    );
    check(
        &answer,
        "jobs",
        "response_time_s",
        mean_with_failures(rate, 1.0, 1.0 / up, 1.0 / down) / rate,
        0.03,
    );
}

/// Returns the mean number of jobs in an M/M/1 queue with failures. Its Markov chain has the states up and down for
/// each of 0 to 399 jobs. The uniformized chain makes 60,000 steps, after which it no longer changes.
fn mean_with_failures(arrivals: f64, service: f64, fail: f64, repair: f64) -> f64 {
    const LEVELS: usize = 400;
    let rate = arrivals + service + fail + repair;
    let mut now = vec![[0.0_f64; 2]; LEVELS];
    now[0][1] = 1.0;
    for _ in 0..60_000 {
        let mut next = vec![[0.0_f64; 2]; LEVELS];
        for (level, [down, up]) in now.iter().copied().enumerate() {
            let above = (level + 1).min(LEVELS - 1);
            next[above][0] += down * arrivals / rate;
            next[above][1] += up * arrivals / rate;
            next[level][1] += down * repair / rate;
            next[level][0] += up * fail / rate;
            next[level.saturating_sub(1)][1] += up * service / rate;
            next[level][0] += down * (service + fail) / rate;
            next[level][1] += up * repair / rate;
        }
        now = next;
    }
    now.iter()
        .enumerate()
        .map(|(level, [down, up])| level as f64 * (down + up))
        .sum()
}

#[test]
fn failover_takes_who_comes_meanwhile() {
    let station = |name: &str, visits: f64| json!({"name": name, "discipline": "delay", "services": [{"class": "jobs", "service_time_s": 1.0, "visits": visits}]});
    let mut main = station("main", 1.0);
    main["discipline"] = json!("ps");
    let value = json!({"classes": [{"name": "jobs", "arrival_rate_per_s": 0.3}], "stations": [main, station("spare", 0.0)]});
    let failures = json!({"failures": [{"station": "main", "up_s": 30.0, "down_s": 10.0, "failover": "spare"}]});
    let answer = run(with_behaviour(value, failures), 4_000_000);
    let share = answer.stations["spare"].throughput_per_s / 0.3;
    assert!((share - 0.25).abs() < 0.01, "{share}");
}

#[test]
fn impatience_at_a_delay_is_exact() {
    // A stay at a delay is only a service time, which is exponential with mean 1. A share of e^-T of the stays is
    // longer than the time limit T.
    let value = json!({"classes": [{"name": "jobs", "arrival_rate_per_s": 2.0}],
        "stations": [{"name": "d", "discipline": "delay", "services": [{"class": "jobs", "service_time_s": 1.0}]}]});
    for on_timeout in ["cancel", "continue"] {
        let behaviour =
            json!({"patience": [{"class": "jobs", "timeout_s": 1.5, "on_timeout": on_timeout}]});
        let answer = run(with_behaviour(value.clone(), behaviour), 3_000_000);
        check(
            &answer,
            "jobs",
            "failed_per_s",
            2.0 * (-1.5_f64).exp(),
            0.02,
        );
        // Work that continues after the time limit does not change the mean number of jobs at the delay, 2. A cancelled
        // visit lasts the minimum of service time and time limit.
        let jobs = if on_timeout == "continue" {
            2.0
        } else {
            2.0 * (1.0 - (-1.5_f64).exp())
        };
        assert!(
            (answer.stations["d"].queue_length / jobs - 1.0).abs() < 0.01,
            "{on_timeout}"
        );
    }
    let behaviour = json!({"patience": [{"class": "jobs", "timeout_s": 1.5, "retries": 2, "retry_delay_s": 0.5, "on_timeout": "cancel"}]});
    let answer = run(with_behaviour(value, behaviour), 3_000_000);
    let late = (-1.5_f64).exp();
    check(
        &answer,
        "jobs",
        "retried_per_s",
        2.0 * (late + late * late),
        0.02,
    );
    check(&answer, "jobs", "failed_per_s", 2.0 * late.powi(3), 0.05);
}

#[test]
fn timeouts_at_every_kind_of_station_keep_the_books() {
    for discipline in ["fcfs", "ps", "lcfs-pr", "priority"] {
        let value = json!({"classes": [{"name": "jobs", "users": 30, "think_time_s": 10.0}],
            "stations": [{"name": "s", "discipline": discipline, "services": service(0.5)},
                         {"name": "t", "discipline": discipline, "rates": if discipline == "priority" { json!([]) } else { json!([1.0, 1.5]) },
                          "services": service(0.5)}],
            "pools": [{"name": "p", "size": 5, "holds": ["s", "t"]}]});
        let behaviour = json!({"patience": [{"class": "jobs", "timeout_s": 4.0, "retries": 1, "on_timeout": "cancel"}]});
        let answer = run(with_behaviour(value, behaviour), 1_000_000);
        let class = &answer.classes["jobs"];
        // The numbers of thinking users and of users in the system add up to N = (X + failed) Z + users in system.
        let users = (class.throughput_per_s + class.failed_per_s) * 10.0 + class.users_in_system;
        assert!((users / 30.0 - 1.0).abs() < 0.01, "{discipline}: {users}");
        assert!(class.timed_out_per_s > 0.0 && answer.pools["p"].held <= 5.0);
        let inside: f64 = ["s", "t"]
            .iter()
            .map(|name| answer.stations[*name].queue_length)
            .sum();
        let held = answer.pools["p"].held;
        assert!(
            (inside / held - 1.0).abs() < 0.01,
            "{discipline}: {inside} {held}"
        );
    }
}

#[test]
fn retries_of_work_that_goes_on_feed_an_overload() {
    let value = |retries: u32| {
        with_behaviour(
            single(0.9, json!({"capacity": 50, "services": service(1.0)})),
            json!({"patience": [{"class": "jobs", "timeout_s": 8.0, "retries": retries}]}),
        )
    };
    let (patient, pushing) = (run(value(0), 2_000_000), run(value(3), 2_000_000));
    let (less, more) = (&patient.stations["s"], &pushing.stations["s"]);
    assert!(
        more.utilization > less.utilization + 0.05,
        "{} {}",
        less.utilization,
        more.utilization
    );
    // The throughput of completed transactions falls although the station is busier.
    assert!(pushing.classes["jobs"].throughput_per_s < patient.classes["jobs"].throughput_per_s);
}

#[test]
fn a_cache_answers_its_share() {
    let value = single(0.8, json!({"services": service(2.0)}));
    let behaviour = json!({"caches": [{"station": "s", "hit_ratio": 0.75, "hit_time_s": 0.1}]});
    let answer = run(with_behaviour(value.clone(), behaviour), 4_000_000);
    // A quarter of the 0.8 jobs/s are misses. They form an M/M/1 queue with rate 0.2 and service time 2, so their
    // response time is 2 / (1 - 0.4) = 2 / 0.6.
    check(
        &answer,
        "jobs",
        "response_time_s",
        0.75 * 0.1 + 0.25 * 2.0 / 0.6,
        0.02,
    );
    // All keys are equally popular, so each is among the last 300 of 1000 keys with a probability of 0.3.
    let behaviour = json!({"caches": [{"station": "s", "items": 300, "keys": 1000, "skew": 0.0}]});
    let answer = run(
        with_behaviour(single(0.1, json!({"services": service(2.0)})), behaviour),
        2_000_000,
    );
    assert!(
        (answer.stations["s"].hit_ratio - 0.3).abs() < 0.005,
        "{}",
        answer.stations["s"].hit_ratio
    );
}

/// Hit ratio of a least-recently-used cache by Che's approximation, which is accurate for many keys (Fricker et al.
/// 2012).
#[test]
fn a_cache_under_zipf_is_near_che() {
    let (items, keys, skew) = (100.0_f64, 10_000, 0.8);
    let weights: Vec<f64> = (1..=keys).map(|rank| f64::from(rank).powf(-skew)).collect();
    let total: f64 = weights.iter().sum();
    let within = |time: f64| {
        weights
            .iter()
            .map(move |weight| 1.0 - (-weight / total * time).exp())
    };
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if within(middle).sum::<f64>() < items {
            low = middle;
        } else {
            high = middle;
        }
    }
    let ratio: f64 = weights
        .iter()
        .zip(within(low))
        .map(|(weight, share)| weight / total * share)
        .sum();
    let behaviour = json!({"caches": [{"station": "s", "items": 100, "keys": keys, "skew": skew}]});
    let answer = run(
        with_behaviour(single(0.1, json!({"services": service(2.0)})), behaviour),
        4_000_000,
    );
    assert!(
        (answer.stations["s"].hit_ratio / ratio - 1.0).abs() < 0.02,
        "{} {ratio}",
        answer.stations["s"].hit_ratio
    );
}

#[test]
fn many_levels_of_a_small_quantum_favour_short_jobs() {
    let services = json!([{"class": "jobs", "service_time_s": 1.0, "variation": {"scv": 8.0}}]);
    let value = single(0.7, json!({ "services": services }));
    let plain = run(value.clone(), 4_000_000);
    check(
        &plain,
        "jobs",
        "response_time_s",
        1.0 + 0.7 * 9.0 / 0.6,
        0.05,
    );
    // A single level with a small quantum (time slice) is processor sharing: R = S / (1 - U) for any variation of
    // service times.
    let turns = json!({"feedback": [{"station": "s", "quantum_s": 0.01, "levels": 1}]});
    let shared = run(with_behaviour(value.clone(), turns), 40_000_000);
    check(&shared, "jobs", "response_time_s", 1.0 / 0.3, 0.06);
    // With many levels, the job with the least service so far is served first. This is better than sharing if jobs that
    // have run long have long remaining times.
    let levels = json!({"feedback": [{"station": "s", "quantum_s": 0.5, "levels": 6}]});
    let feedback = run(with_behaviour(value, levels), 6_000_000);
    assert!(
        feedback.classes["jobs"].response_time_s < 0.9 / 0.3,
        "{}",
        feedback.classes["jobs"].response_time_s
    );
}

#[test]
fn measured_times_have_their_variation() {
    let behaviour =
        json!({"samples": [{"station": "s", "class": "jobs", "values_s": [1.0, 1.0, 4.0]}]});
    let answer = run(
        with_behaviour(single(0.6, json!({"services": service(1.0)})), behaviour),
        6_000_000,
    );
    // The values 1, 1, 4 have a squared coefficient of variation of 0.5. By Pollaczek and Khinchine, the mean wait is
    // 0.6 * 1.5 / 0.8.
    check(
        &answer,
        "jobs",
        "response_time_s",
        1.0 + 0.6 * 1.5 / 0.8,
        0.02,
    );
}

#[test]
fn behaviour_that_is_wrong_is_told_all_at_once() {
    let value = with_behaviour(
        single(0.6, json!({"services": service(1.0)})),
        json!({"patience": [{"class": "nobody", "timeout_s": -1.0}],
               "failures": [{"station": "s", "up_s": 0.0, "down_s": 1.0, "failover": "s"}],
               "balancers": [{"name": "b", "stations": ["s"]}],
               "caches": [{"station": "s", "hit_ratio": 1.5}],
               "weights": [{"station": "s", "class": "jobs", "weight": 2.0}]}),
    );
    let right = single(0.6, json!({"services": service(1.0)}));
    let refused = simulate(&[model(right), model(value)], &Settings::default())
        .err()
        .expect("the second model is wrong");
    assert!(refused.iter().all(|refusal| refusal.model == 1));
    let text: Vec<String> = refused
        .iter()
        .map(|refusal| refusal.fault.to_string())
        .collect();
    for part in [
        "nobody",
        "above 0, got -1",
        "above 0, got 0",
        "another station",
        "two stations",
        "1.5",
        "discipline 'ps'",
    ] {
        assert!(
            text.iter().any(|fault| fault.contains(part)),
            "{part} in {text:#?}"
        );
    }
}

#[test]
fn analysis_refuses_what_it_cannot_know() {
    let value = with_behaviour(
        single(0.6, json!({"services": service(1.0)})),
        json!({"patience": [{"class": "jobs", "timeout_s": 1.0}]}),
    );
    let faults = solve(&model(value), Method::Auto).unwrap_err();
    assert!(
        faults[0].to_string().contains("model simulate"),
        "{faults:?}"
    );
}

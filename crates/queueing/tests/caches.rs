//! Checks the solutions of networks that contain caches against closed-form results, equivalent networks without
//! caches, and the simulator.

mod support;

use serde_json::{Value, json};
use support::{check, model, run, service, single};
use towtank_queueing::answer::Answer;
use towtank_queueing::model::Fault;
use towtank_queueing::solve::{Method, solve};

fn cached(mut value: Value, cache: Value) -> Value {
    let mut cache = cache;
    cache["station"] = json!("s");
    value["behaviour"] = json!({"caches": [cache]});
    value
}

fn solved(value: Value) -> Answer {
    solve(&model(value), Method::Auto).expect("the model is right")
}

fn refused(value: Value, method: Method) -> Vec<Fault> {
    solve(&model(value), method).expect_err("there is something wrong")
}

fn near(found: f64, exact: f64) {
    assert!(
        (found - exact).abs() <= 1e-9 * exact.abs().max(1e-3),
        "{found} must be {exact}"
    );
}

#[test]
fn misses_alone_need_the_server() {
    let value = single(0.8, json!({"services": service(2.0)}));
    let answer = solved(cached(value, json!({"hit_ratio": 0.75, "hit_time_s": 0.1})));
    // A quarter of the 0.8 jobs/s are misses. They form an M/M/1 queue with rate 0.2 and service time 2, so their
    // response time is 2 / (1 - 0.4) = 2 / 0.6.
    let response = 0.75 * 0.1 + 0.25 * 2.0 / 0.6;
    let station = &answer.stations["s"];
    assert!(answer.exact && answer.warnings.is_empty());
    near(answer.classes["jobs"].response_time_s, response);
    near(station.residence_time_s["jobs"], response);
    near(station.queue_length, 0.8 * response);
    near(station.utilization, 0.4);
    near(station.throughput_per_s, 0.8);
    near(station.hit_ratio, 0.75);
    assert_eq!(answer.stations.0.len(), 1);
    assert!(answer.checks.within_bounds && answer.checks.little < 1e-9);
}

#[test]
fn a_station_that_always_hits_is_a_delay() {
    let value = single(5.0, json!({"services": service(2.0)}));
    let answer = solved(cached(value, json!({"hit_ratio": 1.0, "hit_time_s": 0.5})));
    near(answer.classes["jobs"].response_time_s, 0.5);
    near(answer.stations["s"].residence_time_s["jobs"], 0.5);
    near(answer.stations["s"].utilization, 0.0);
}

#[test]
fn a_route_parts_before_the_station() {
    // A job goes from the CPU to the disk with probability 0.5, and then back to the CPU. On average it makes one visit
    // to the disk, which is a hit with probability 0.6.
    let mut value = json!({
        "classes": [{"name": "jobs", "users": 8, "think_time_s": 1.0}],
        "stations": [
            {"name": "cpu", "services": [{"class": "jobs", "service_time_s": 0.05}]},
            {"name": "s", "services": [{"class": "jobs", "service_time_s": 0.4}]}],
        "routing": [{"class": "jobs", "start": {"cpu": 1.0}, "next": {"cpu": {"s": 0.5}, "s": {"cpu": 1.0}}}]});
    let routed = solved(cached(
        value.clone(),
        json!({"hit_ratio": 0.6, "hit_time_s": 0.01}),
    ));
    value["routing"] = json!([]);
    value["stations"] = json!([
        {"name": "cpu", "services": [{"class": "jobs", "visits": 2.0, "service_time_s": 0.05}]},
        {"name": "s", "services": [{"class": "jobs", "visits": 0.4, "service_time_s": 0.4}]},
        {"name": "hits", "discipline": "delay", "services": [{"class": "jobs", "visits": 0.6, "service_time_s": 0.01}]}]);
    let written = solved(value);
    assert!(routed.exact);
    near(
        routed.classes["jobs"].throughput_per_s,
        written.classes["jobs"].throughput_per_s,
    );
    let hits = written.stations["hits"].residence_time_s["jobs"];
    near(
        routed.stations["s"].residence_time_s["jobs"],
        written.stations["s"].residence_time_s["jobs"] + hits,
    );
    near(
        routed.stations["s"].throughput_per_s,
        routed.classes["jobs"].throughput_per_s,
    );
}

#[test]
fn closed_classes_with_a_pool_agree_with_the_simulator() {
    let value = json!({
        "classes": [{"name": "jobs", "users": 12, "think_time_s": 2.0}],
        "stations": [
            {"name": "cpu", "discipline": "ps", "services": [{"class": "jobs", "service_time_s": 0.1}]},
            {"name": "s", "services": [{"class": "jobs", "visits": 2.0, "service_time_s": 0.3}]}],
        "pools": [{"name": "threads", "size": 4, "holds": ["cpu", "s"]}]});
    let value = cached(value, json!({"hit_ratio": 0.7, "hit_time_s": 0.02}));
    let answer = solved(value.clone());
    let simulated = run(value, 4_000_000);
    let pairs = [
        (
            answer.classes["jobs"].throughput_per_s,
            simulated.classes["jobs"].throughput_per_s,
        ),
        (
            answer.stations["s"].utilization,
            simulated.stations["s"].utilization,
        ),
        (
            answer.stations["s"].hit_ratio,
            simulated.stations["s"].hit_ratio,
        ),
        (
            answer.stations["s"].throughput_per_s,
            simulated.stations["s"].throughput_per_s,
        ),
        (
            answer.pools["threads"].held,
            simulated.pools["threads"].held,
        ),
    ];
    for (number, (solved, simulated)) in pairs.into_iter().enumerate() {
        // Pools are solved by decomposition. Its error is a few per cent for the number of units held, and less for
        // other results (background/queueing.md).
        let within = if number == 4 { 0.03 } else { 0.01 };
        assert!(
            (solved / simulated - 1.0).abs() < within,
            "{number}: {solved} {simulated}"
        );
    }
}

#[test]
fn classes_in_a_product_form_are_exact_and_simulate_so() {
    let value = json!({
        "classes": [{"name": "jobs", "users": 6, "think_time_s": 1.0}, {"name": "batch", "arrival_rate_per_s": 0.5}],
        "stations": [{"name": "s", "discipline": "ps", "servers": 1, "services": [
            {"class": "jobs", "service_time_s": 0.4}, {"class": "batch", "service_time_s": 1.0}]}]});
    let value = cached(value, json!({"hit_ratio": 0.5, "hit_time_s": 0.05}));
    let answer = solved(value.clone());
    assert!(answer.exact);
    let simulated = run(value, 6_000_000);
    for class in ["jobs", "batch"] {
        check(
            &simulated,
            class,
            "response_time_s",
            answer.classes[class].response_time_s,
            0.02,
        );
    }
}

#[test]
fn entries_under_zipf_are_near_the_simulator_and_said_to_be_approximate() {
    let value = single(0.5, json!({"services": service(1.5)}));
    let value = cached(
        value,
        json!({"items": 300, "keys": 20_000, "skew": 0.9, "hit_time_s": 0.01}),
    );
    let answer = solved(value.clone());
    assert!(
        !answer.exact && answer.warnings[0].contains("Che's approximation"),
        "{:?}",
        answer.warnings
    );
    let simulated = run(value.clone(), 4_000_000);
    let (one, other) = (
        answer.stations["s"].hit_ratio,
        simulated.stations["s"].hit_ratio,
    );
    assert!((one - other).abs() < 0.005, "{one} {other}");
    let (one, other) = (
        answer.classes["jobs"].response_time_s,
        simulated.classes["jobs"].response_time_s,
    );
    assert!((one / other - 1.0).abs() < 0.05, "{one} {other}");
    assert!(answer.method.ends_with("hit ratios estimated"));
    let faults = refused(value, Method::Exact);
    assert_eq!(faults[0].path, ["stations", "s", "cache"]);
    assert!(faults[0].message.contains("'hit_ratio'"));
}

#[test]
fn what_a_cache_cannot_be_solved_with_is_refused() {
    let value = single(0.8, json!({"services": service(2.0), "capacity": 5}));
    let faults = refused(cached(value, json!({"hit_ratio": 0.5})), Method::Auto);
    assert_eq!(faults[0].path, ["stations", "s", "cache"]);
    // All visits hit, and a hit takes no time, so no job needs any service.
    let value = single(0.8, json!({"services": service(2.0)}));
    let faults = refused(cached(value, json!({"hit_ratio": 1.0})), Method::Auto);
    assert_eq!(faults[0].path, ["classes", "jobs"]);
    // The misses alone exceed the capacity of the station, so there is no steady state.
    let value = single(3.0, json!({"services": service(2.0)}));
    let faults = refused(cached(value, json!({"hit_ratio": 0.5})), Method::Auto);
    assert!(
        faults[0].message.contains("utilization below 1"),
        "{faults:?}"
    );
}

/// The values of a station with a cache include the hits, and so do their ranges.
#[test]
fn ranges_of_a_station_with_a_cache_count_the_hits() {
    let mut value = single(0.8, json!({"services": service(2.0)}));
    value["classes"][0]["arrivals"] = json!({"scv": 4.0});
    let answer = solved(cached(value, json!({"hit_ratio": 0.75, "hit_time_s": 3.0})));
    let within = answer.within.expect("the answer is approximate");
    assert_eq!(within.stations.0.len(), 1);
    let (ranges, station) = (&within.stations["s"], &answer.stations["s"]);
    for (quantity, found) in [
        ("queue_length", station.queue_length),
        ("residence_time_s.jobs", station.residence_time_s["jobs"]),
        ("utilization", station.utilization),
    ] {
        let [low, high] = ranges[quantity];
        assert!(
            low <= found && found <= high,
            "{quantity}: {low} to {high}, {found}"
        );
    }
}

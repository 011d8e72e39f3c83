//! Tests work after the response: stations that a job visits while its user goes on.

mod support;

use serde_json::{Value, json};
use support::{check, covers, model, run, service};
use towtank_queueing::solve::{Method, solve};

/// Creates a model of the stations `s` (before the response) and `t` (after it), with `jobs` at both.
fn two(class: Value, before_s: f64, after_s: f64) -> Value {
    let mut class = class;
    class["name"] = json!("jobs");
    json!({"classes": [class],
        "stations": [{"name": "t", "services": service(after_s)}, {"name": "s", "services": service(before_s)}],
        "behaviour": {"after": [{"class": "jobs", "stations": ["t"]}]}})
}

fn without_after(mut value: Value) -> Value {
    value["behaviour"]["after"] = json!([]);
    value
}

#[test]
fn the_response_of_an_open_class_is_that_of_the_stations_before() {
    let value = two(json!({"arrival_rate_per_s": 0.6}), 1.0, 1.2);
    let answer = run(value, 6_000_000);
    // The response ends at the first of two M/M/1 stations in a row, so R = 1 / (1 - 0.6) s. By Burke's theorem,
    // arrivals at the second are Poisson as well, so it has the utilization 0.6 · 1.2 = 0.72.
    check(&answer, "jobs", "response_time_s", 1.0 / 0.4, 0.02);
    check(&answer, "jobs", "users_in_system", 0.6 / 0.4, 0.02);
    check(&answer, "jobs", "throughput_per_s", 0.6, 0.01);
    // The response time of M/M/1 is exponential.
    let p90 = answer.classes["jobs"].confidence_interval["p90"];
    assert!(covers(p90, 10.0_f64.ln() / 0.4), "{p90:?}");
    let after = &answer.stations["t"];
    let of = |figure: &str| after.confidence_interval[figure];
    assert!(covers(of("utilization"), 0.72), "{:?}", of("utilization"));
    assert!(
        (after.queue_length / (0.72 / 0.28) - 1.0).abs() < 0.04,
        "{}",
        after.queue_length
    );
    assert!(
        answer.classes["jobs"]
            .little
            .as_ref()
            .is_some_and(|law| law.holds)
    );
}

#[test]
fn users_of_a_closed_class_do_not_wait_for_the_work_after() {
    let value = two(json!({"users": 12, "think_time_s": 8.0}), 1.0, 0.9);
    let answer = run(value.clone(), 8_000_000);
    // The expected values are those of the same users without the station after the response (machine repair model).
    let mut alone = without_after(value);
    alone["stations"] = json!([{"name": "s", "services": service(1.0)}]);
    let exact = solve(&model(alone), Method::Exact).unwrap();
    let (rate, response) = (
        exact.classes["jobs"].throughput_per_s,
        exact.classes["jobs"].response_time_s,
    );
    check(&answer, "jobs", "throughput_per_s", rate, 0.01);
    check(&answer, "jobs", "response_time_s", response, 0.01);
    check(
        &answer,
        "jobs",
        "throughput_per_s",
        12.0 / (response + 8.0),
        0.01,
    );
    let busy = answer.stations["t"].confidence_interval["utilization"];
    assert!(covers(busy, 0.9 * rate), "{busy:?}");
    // The work after the response is not among the users in the system.
    check(&answer, "jobs", "users_in_system", rate * response, 0.02);
    assert!(answer.steady);
}

#[test]
fn work_after_the_response_delays_other_classes() {
    let other = json!({"name": "other", "arrival_rate_per_s": 0.3});
    let mut value = two(json!({"arrival_rate_per_s": 0.4}), 0.5, 1.0);
    value["classes"].as_array_mut().unwrap().push(other.clone());
    value["stations"][0]["services"]
        .as_array_mut()
        .unwrap()
        .push(json!({"class": "other", "service_time_s": 1.0}));
    let shared = run(value, 8_000_000);
    // At station `t`, work after the response (0.4/s) and the other class (0.3/s) share an M/M/1 queue: R = 1 / (1 -
    // 0.7).
    check(&shared, "other", "response_time_s", 1.0 / 0.3, 0.02);
    check(&shared, "jobs", "response_time_s", 0.5 / 0.8, 0.02);
    // The other class must wait as long as if the work were ordinary jobs, not work after a response.
    let streams = json!({"classes": [{"name": "jobs", "arrival_rate_per_s": 0.4}, other],
        "stations": [{"name": "t", "services": [{"class": "jobs", "service_time_s": 1.0},
                                                {"class": "other", "service_time_s": 1.0}]}]});
    let plain = run(streams, 8_000_000).classes["other"].response_time_s;
    let with_after = shared.classes["other"].response_time_s;
    assert!(
        (with_after / plain - 1.0).abs() < 0.03,
        "{with_after} {plain}"
    );
}

#[test]
fn a_pool_on_both_sides_of_the_response_is_held_until_the_last_station() {
    let mut value = two(json!({"arrival_rate_per_s": 0.5}), 0.6, 0.8);
    value["pools"] = json!([{"name": "lock", "size": 1, "holds": ["s", "t"]}]);
    let answer = run(value, 8_000_000);
    // The pool of one unit is M/G/1, whose service is the sum of the times S at `s` and T at `t`. For exponential times
    // with means s = 0.6 and t = 0.8, E[(S + T)^2] = 2 (s^2 + s t + t^2). The response ends with S, after wait + 0.6.
    let square = 2.0 * (0.36 + 0.48 + 0.64);
    let wait = 0.5 * square / (2.0 * (1.0 - 0.7));
    check(&answer, "jobs", "response_time_s", wait + 0.6, 0.03);
    assert!((answer.pools["lock"].held - 0.7).abs() < 0.01);
}

#[test]
fn a_pool_before_the_response_is_released_with_it() {
    let mut value = two(json!({"arrival_rate_per_s": 0.5}), 0.6, 0.8);
    value["pools"] = json!([{"name": "lock", "size": 1, "holds": ["s"]}]);
    let answer = run(value, 4_000_000);
    check(&answer, "jobs", "response_time_s", 0.6 / 0.7, 0.02);
    assert!((answer.pools["lock"].held - 0.3).abs() < 0.01);
}

#[test]
fn attempts_beyond_their_time_limit_do_the_work_after_too() {
    let mut value = two(json!({"arrival_rate_per_s": 2.0}), 1.0, 0.2);
    value["stations"][1]["discipline"] = json!("delay");
    value["behaviour"]["patience"] = json!([{"class": "jobs", "timeout_s": 1.5}]);
    let answer = run(value, 4_000_000);
    // The fraction e^-1.5 of the stays at the delay is longer than the time limit. These attempts fail, but their work
    // goes on. So all 2/s reach station `t`, with a utilization of 2 · 0.2 = 0.4.
    let late = (-1.5_f64).exp();
    check(
        &answer,
        "jobs",
        "throughput_per_s",
        2.0 * (1.0 - late),
        0.01,
    );
    check(&answer, "jobs", "failed_per_s", 2.0 * late, 0.02);
    let busy = answer.stations["t"].confidence_interval["utilization"];
    assert!(covers(busy, 0.4), "{busy:?}");
}

#[test]
fn nobody_gives_up_after_the_response() {
    let given_up = |value: Value| run(value, 4_000_000).classes["jobs"].failed_per_s;
    let mut value = two(json!({"arrival_rate_per_s": 0.8}), 1.0, 1.2);
    value["behaviour"]["patience"] = json!([{"class": "jobs", "patience_s": 3.0}]);
    let mut alone = without_after(value.clone());
    alone["stations"] = json!([{"name": "s", "services": service(1.0)}]);
    let (found, expected) = (given_up(value), given_up(alone));
    assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
}

#[test]
fn work_after_that_piles_up_has_no_steady_state() {
    let mut value = two(json!({"users": 5, "think_time_s": 1.0}), 0.1, 1.0);
    assert!(!run(value.clone(), 400_000).steady);
    // Jobs that wait for a pool after their response are noticed as well.
    value["stations"][0]["discipline"] = json!("delay");
    value["pools"] = json!([{"name": "p", "size": 1, "holds": ["t"]}]);
    assert!(!run(value, 400_000).steady);
}

#[test]
fn work_after_that_a_model_cannot_have_is_refused() {
    let value = two(json!({"arrival_rate_per_s": 0.5}), 0.5, 0.5);
    let faults = |change: &dyn Fn(&mut Value)| {
        let mut value = value.clone();
        change(&mut value);
        let faults = model(value).check();
        let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
        texts.join("\n")
    };
    let after = |stations: Value| {
        move |value: &mut Value| value["behaviour"]["after"][0]["stations"] = stations.clone()
    };
    assert_eq!(faults(&after(json!(["t"]))), "");
    for (change, message) in [
        (
            faults(&after(json!(["x", "t"]))),
            "classes.jobs.after: must be stations that the class visits (t, s), got \"x\" instead",
        ),
        (
            faults(&after(json!(["t", "t"]))),
            "classes.jobs.after: must have each station once, got \"t\" twice",
        ),
        (
            faults(&after(json!([]))),
            "classes.jobs.after: must have at least one station, got none",
        ),
        (
            faults(&after(json!(["s", "t"]))),
            "classes.jobs.after: must leave a station with service time before the response, got none",
        ),
        (
            faults(&|value| value["stations"][0]["services"][0]["visits"] = json!(0.0)),
            "classes.jobs.after: must be stations that the class visits (s), got \"t\" instead",
        ),
        (
            faults(&|value| {
                value["forks"] = json!([{"name": "f", "branches": [["s"], ["t"]]}]);
            }),
            "classes.jobs.after: must be stations outside of forks, got \"t\" instead",
        ),
        (
            faults(&|value| {
                value["behaviour"]["balancers"] = json!([{"name": "b", "stations": ["s", "t"]}]);
            }),
            "classes.jobs.after: must be stations that no balancer has, got \"t\" instead",
        ),
        (
            faults(&|value| {
                value["routing"] =
                    json!([{"class": "jobs", "start": {"s": 1.0}, "next": {"s": {"t": 1.0}}}]);
            }),
            "classes.jobs.after: must be left out for a class with routing: its last station is not known in advance",
        ),
    ] {
        assert_eq!(change, message);
    }
}

#[test]
fn analysis_refuses_work_after_the_response() {
    let faults = solve(
        &model(two(json!({"arrival_rate_per_s": 0.5}), 0.5, 0.5)),
        Method::Auto,
    );
    assert_eq!(
        faults.unwrap_err()[0].to_string(),
        "classes.jobs.after: must be left out for solving: only 'towtank model simulate' supports it"
    );
}

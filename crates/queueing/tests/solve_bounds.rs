//! Regression tests for answers that violated their bounds, or for which the checks wrongly reported a contradiction.

mod support;

use serde_json::{Value, json};
use support::model;
use towtank_queueing::answer::Answer;
use towtank_queueing::solve::{Method, solve};

fn answer(value: Value) -> Answer {
    solve(&model(value), Method::Auto).expect("the model has an answer")
}

/// Two classes of 25 users without think time have service times of 30 and 50 ms, in order of arrival. The throughput
/// of each class is 25 / (25 (30 + 50) ms) = 12.5/s.
#[test]
fn a_saturated_server_does_what_it_can() {
    let found = answer(json!({
        "classes": [{"name": "a", "users": 25}, {"name": "b", "users": 25}],
        "stations": [{"name": "s", "services":
            [{"class": "a", "service_time_s": 0.03}, {"class": "b", "service_time_s": 0.05}]}]}));
    for class in ["a", "b"] {
        assert!((found.classes[class].throughput_per_s / 12.5 - 1.0).abs() < 0.01);
    }
    assert!((found.stations["s"].utilization - 1.0).abs() < 1e-9);
    assert!(found.checks.within_bounds && found.checks.population < 1e-9);
}

#[test]
fn no_station_is_used_beyond_its_servers() {
    for (servers, scv, think, method) in [
        (1, 0.0, 0.0, Method::BardSchweitzer),
        (1, 0.25, 0.5, Method::Linearizer),
        (4, 0.9, 0.0, Method::Linearizer),
        (4, 0.0, 1.0, Method::BardSchweitzer),
        (64, 4.0, 0.0, Method::Linearizer),
    ] {
        for discipline in ["fcfs", "priority"] {
            let services = json!([{"class": "a", "service_time_s": 0.03, "variation": {"scv": scv}},
                {"class": "b", "service_time_s": 0.5, "variation": {"scv": scv}}]);
            let value = json!({
                "classes": [{"name": "a", "users": 90, "think_time_s": think, "priority": 1},
                    {"name": "b", "users": 70, "priority": 2}],
                "stations": [{"name": "s", "servers": servers, "discipline": discipline, "services": services}]});
            let found = solve(&model(value), method).expect("the model has an answer");
            assert!(
                found.stations["s"].utilization <= 1.0 + 1e-9,
                "{servers} {discipline}"
            );
            assert!(found.checks.within_bounds, "{servers} {discipline}");
        }
    }
}

/// If the think time is 10⁹ times the demand or more, the response time is lost in rounding. The answer is still exact.
#[test]
fn rounding_is_no_reason_to_distrust_an_exact_answer() {
    for (think, time) in [(1.0, 1e-9), (1e12, 1.0)] {
        let found = answer(
            json!({"classes": [{"name": "a", "users": 2, "think_time_s": think}],
            "stations": [{"name": "s", "services": [{"class": "a", "service_time_s": time}]}]}),
        );
        assert!(found.exact && found.checks.within_bounds && found.warnings.is_empty());
        let range = found.bounds["a"].response_time_s;
        assert!(range.lower >= 0.0 && range.upper.is_none_or(|upper| upper >= range.lower));
    }
}

/// Simulation gives response times of 1.39 and 2.94 s, which no formula of the solver reproduces.
#[test]
fn last_come_first_served_at_several_servers_is_refused() {
    let value = |time: f64| {
        json!({
            "classes": [{"name": "a", "arrival_rate_per_s": 0.8}, {"name": "b", "arrival_rate_per_s": 0.8}],
            "stations": [{"name": "s", "servers": 3, "discipline": "lcfs-pr", "services":
                [{"class": "a", "service_time_s": 1.0}, {"class": "b", "service_time_s": time}]}]})
    };
    let faults = solve(&model(value(2.0)), Method::Auto).unwrap_err();
    assert_eq!(faults[0].path, ["stations", "s", "discipline"]);
    assert!(solve(&model(value(1.0)), Method::Exact).is_ok());
}

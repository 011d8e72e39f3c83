//! Tests forks inside of forks.

mod support;

use serde_json::{Value, json};
use support::{check, model, run};
use towtank_queueing::solve::{Method, solve};

/// Creates a model of delays, by name and mean service time, with forks by name and branches.
fn forked(rate: f64, delays: &[(&str, f64)], scv: f64, forks: &Value) -> Value {
    let stations: Vec<Value> = (delays.iter())
        .map(|(name, time)| {
            json!({"name": name, "discipline": "delay",
                "services": [{"class": "jobs", "service_time_s": time, "variation": {"scv": scv}}]})
        })
        .collect();
    let forks: Vec<Value> = (forks.as_object().expect("a mapping").iter())
        .map(|(name, branches)| json!({"name": name, "branches": branches}))
        .collect();
    json!({"classes": [{"name": "jobs", "arrival_rate_per_s": rate}], "stations": stations, "forks": forks})
}

#[test]
fn constant_times_add_up_in_branches_and_the_longest_branch_counts() {
    let delays = [
        ("a", 0.3),
        ("x", 0.5),
        ("y", 0.4),
        ("z", 0.3),
        ("c", 0.2),
        ("end", 0.1),
    ];
    let forks = json!({"outer": [["a"], ["inner", "c"]], "inner": [["x"], ["y", "z"]]});
    let answer = run(forked(0.5, &delays[..5], 0.0, &forks), 400_000);
    // A fork ends with its longest branch, and stations of a branch follow each other: max(0.3, max(0.5, 0.4 + 0.3) +
    // 0.2) = 0.9.
    check(&answer, "jobs", "response_time_s", 0.9, 1e-6);
    for (station, time) in &delays[..5] {
        let length = answer.stations[*station].queue_length;
        assert!(
            (length / (0.5 * time) - 1.0).abs() < 0.02,
            "{station}: {length}"
        );
    }
}

#[test]
fn exponential_times_have_the_mean_of_their_maximum() {
    let ones = [("a", 1.0), ("x", 1.0), ("y", 1.0), ("c", 1.0)];
    // The maximum of n exponential times of mean 1 has the mean 1 + 1/2 + ... + 1/n.
    let three = json!({"outer": [["a"], ["inner"]], "inner": [["x"], ["y"]]});
    let answer = run(forked(0.5, &ones[..3], 1.0, &three), 3_000_000);
    check(&answer, "jobs", "response_time_s", 11.0 / 6.0, 0.01);
    let four = json!({"f": [["a"], ["g"]], "g": [["x"], ["h"]], "h": [["y"], ["c"]]});
    let answer = run(forked(0.5, &ones, 1.0, &four), 3_000_000);
    check(&answer, "jobs", "response_time_s", 25.0 / 12.0, 0.01);
    // The response time is max(A, max(X, Y) + C), with exponential times of mean 1. max(X, Y) + C has the distribution
    // function G(t) = 1 - 2 t e^-t - e^-2t. So the mean is the integral of 1 - (1 - e^-t) G(t), which is 8/3.
    let row = json!({"outer": [["a"], ["inner", "c"]], "inner": [["x"], ["y"]]});
    let answer = run(forked(0.5, &ones, 1.0, &row), 3_000_000);
    check(&answer, "jobs", "response_time_s", 8.0 / 3.0, 0.01);
}

#[test]
fn a_job_that_is_dropped_inside_drops_the_transaction() {
    let delays = [("a", 1.0), ("x", 1.0), ("y", 1.0)];
    let forks = json!({"outer": [["a"], ["inner"]], "inner": [["x"], ["y"]]});
    let mut value = forked(0.5, &delays, 1.0, &forks);
    value["stations"][1]["discipline"] = json!("fcfs");
    value["stations"][1]["capacity"] = json!(1);
    // Station `x` is M/M/1/1. It loses a / (1 + a) = 1/3 of 0.5/s, with the offered load a = 0.5, and a lost job drops
    // the whole transaction. The others take the maximum of three exponential times of mean 1: 1 + 1/2 + 1/3.
    let answer = run(value, 3_000_000);
    check(&answer, "jobs", "dropped_per_s", 0.5 / 3.0, 0.02);
    check(&answer, "jobs", "throughput_per_s", 1.0 / 3.0, 0.01);
    check(&answer, "jobs", "response_time_s", 11.0 / 6.0, 0.02);
}

#[test]
fn a_pool_around_a_fork_is_held_over_all_inner_branches() {
    let delays = [("a", 1.0), ("x", 1.0), ("y", 1.0)];
    let forks = json!({"outer": [["a"], ["inner"]], "inner": [["x"], ["y"]]});
    let mut value = forked(0.3, &delays, 1.0, &forks);
    value["pools"] = json!([{"name": "lock", "size": 1, "holds": ["a", "x", "y"]}]);
    let answer = run(value, 4_000_000);
    // M/G/1 whose service is the maximum of three exponential times: mean 11/6, variance 1 + 1/4 + 1/9.
    let (mean, variance) = (11.0 / 6.0, 1.0 + 0.25 + 1.0 / 9.0);
    let wait = 0.3 * (mean * mean + variance) / (2.0 * (1.0 - 0.3 * mean));
    check(&answer, "jobs", "response_time_s", wait + mean, 0.03);
}

#[test]
fn a_class_forks_where_it_is_concerned() {
    let delays = [("a", 1.0), ("x", 1.0), ("y", 1.0)];
    let forks = json!({"outer": [["a"], ["inner"]], "inner": [["x"], ["y"]]});
    let mut value = forked(0.5, &delays, 1.0, &forks);
    let stations = value["stations"].as_array_mut().unwrap();
    for station in &mut stations[1..] {
        let services = station["services"].as_array_mut().unwrap();
        services.push(json!({"class": "other", "service_time_s": 1.0}));
    }
    let classes = value["classes"].as_array_mut().unwrap();
    classes.push(json!({"name": "other", "users": 3, "think_time_s": 2.0}));
    let outer = value["forks"].as_array_mut().unwrap();
    for fork in outer.iter_mut().filter(|fork| fork["name"] == "outer") {
        fork["classes"] = json!(["jobs"]);
    }
    let answer = run(value, 3_000_000);
    check(&answer, "jobs", "response_time_s", 11.0 / 6.0, 0.01);
    check(&answer, "other", "response_time_s", 1.5, 0.01);
    check(&answer, "other", "throughput_per_s", 3.0 / 3.5, 0.01);
}

#[test]
fn nested_forks_that_are_wrong_are_refused() {
    let delays = [("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1.0)];
    let faults = |forks: Value| {
        let faults = model(forked(0.5, &delays, 1.0, &forks)).check();
        let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
        texts.join("\n")
    };
    assert_eq!(
        faults(json!({"f": [["a"], ["g"]], "g": [["b"], ["c"]]})),
        ""
    );
    let found = faults(json!({"f": [["a"], ["g"]], "g": [["b"], ["f"]]}));
    for name in ["f", "g"] {
        let message =
            format!("forks.{name}.branches: must not lead back to the fork itself, got a cycle");
        assert!(found.contains(&message), "{found}");
    }
    let found = faults(json!({"f": [["a"], ["f"]]}));
    assert!(
        found.contains("must not lead back to the fork itself"),
        "{found}"
    );
    let found = faults(json!({"f": [["a"], ["h"]], "g": [["b"], ["h"]], "h": [["c"], ["d"]]}));
    assert!(
        found.contains("forks.g.branches: must have stations of no other fork, got \"h\" instead"),
        "{found}"
    );
    let found = faults(json!({"f": [["a"], ["g"]], "g": [["a"], ["b"]]}));
    assert!(
        found.contains("forks.g.branches: must have stations of no other fork, got \"a\" instead"),
        "{found}"
    );
    let found = faults(json!({"f": [["a"], ["g"]]}));
    assert_eq!(
        found,
        "forks.f.branches: must be stations or forks of the model, got \"g\" instead"
    );
    let mut value = forked(
        0.5,
        &delays,
        1.0,
        &json!({"f": [["a"], ["g"]], "g": [["b"], ["c"]]}),
    );
    value["pools"] = json!([{"name": "p", "size": 1, "holds": ["b", "c"]}]);
    let text = model(value.clone()).check()[0].to_string();
    assert_eq!(
        text,
        "forks.f.branches: must have all of its stations in the pool \"p\", or none of them"
    );
    value["pools"] = json!([]);
    value["classes"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "other", "arrival_rate_per_s": 1.0}));
    let services = value["stations"][0]["services"].as_array_mut().unwrap();
    services.push(json!({"class": "other", "service_time_s": 1.0}));
    for fork in value["forks"].as_array_mut().unwrap() {
        if fork["name"] == "g" {
            fork["classes"] = json!(["jobs"]);
        }
    }
    let text = model(value).check()[0].to_string();
    assert_eq!(
        text,
        "forks.f.branches: must have inner forks of all its classes, got \"g\" without \"other\""
    );
}

#[test]
fn forks_inside_of_each_other_have_a_limit() {
    let nested = |depth: usize| {
        let names: Vec<String> = (0..=depth).map(|index| format!("s{index}")).collect();
        let delays: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
        let mut forks = serde_json::Map::new();
        for index in 0..depth {
            let last = if index + 1 == depth {
                names[depth].clone()
            } else {
                format!("f{}", index + 1)
            };
            forks.insert(format!("f{index}"), json!([[names[index]], [last]]));
        }
        model(forked(0.1, &delays, 1.0, &Value::Object(forks))).check()
    };
    assert!(nested(16).is_empty());
    let found = nested(17);
    assert_eq!(
        found[0].to_string(),
        "forks.f16.branches: must be at most 16 forks inside of each other, got 17 instead"
    );
}

#[test]
fn analysis_refuses_forks_inside_of_forks() {
    let forks = json!({"f": [["a"], ["g"]], "g": [["b"], ["c"]]});
    let value = forked(0.5, &[("a", 1.0), ("b", 1.0), ("c", 1.0)], 1.0, &forks);
    assert_eq!(
        solve(&model(value), Method::Auto).unwrap_err()[0].to_string(),
        "forks.f.branches: must have stations only for solving, got the fork \"g\": only 'towtank model simulate' \
         supports forks inside of forks"
    );
}

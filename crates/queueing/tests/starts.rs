//! Networks whose mean values depend on their start. If nothing is random, the distances between jobs stay as they were
//! at the start. Or the jobs that are served first interrupt all others, which are then never served.

mod support;

use serde_json::{Value, json};
use support::{model, run};
use towtank_queueing::answer::Answer;
use towtank_queueing::simulate::{Settings, simulate};
use towtank_queueing::solve::{Method, solve};

fn solved(value: &Value) -> Answer {
    solve(&model(value.clone()), Method::Auto).expect("the model is right")
}

/// Returns a model of users at one station, with the given squared coefficients of variation of think and service
/// times.
fn users(count: u32, think_s: f64, scv: [f64; 2], discipline: &str) -> Value {
    json!({
        "classes": [{"name": "jobs", "users": count, "think_time_s": think_s, "think": {"scv": scv[0]}}],
        "stations": [{"name": "s", "discipline": discipline, "services":
            [{"class": "jobs", "service_time_s": 0.4, "variation": {"scv": scv[1]}}]}]})
}

/// Two users share a server with a service time of 0.4 s. If they start d < 0.4 s apart, they stay d apart, and the
/// response time is 0.8 s − d. So the stated range is 0.4 to 0.8 s, and a warning states the reason.
#[test]
fn constant_times_keep_the_distance_between_users() {
    let value = users(2, 1.0, [0.0, 0.0], "ps");
    let found = solved(&value);
    let [low, high] = found.within.expect("a range").classes["jobs"]["response_time_s"];
    assert!(!found.exact && (low - 0.4).abs() < 1e-12 && (high - 0.8).abs() < 1e-12);
    assert!(found.warnings[0].contains("jobs keep the distances"));
    assert!(solve(&model(value.clone()), Method::Exact).is_err());
    let settings = Settings {
        replications: 100,
        ..Settings::default()
    };
    let outcome = simulate(&[model(value)], &settings).expect("the model is right");
    let answer = &outcome.answers[0];
    let time = answer.classes["jobs"].response_time_s;
    let [least, most] = answer.classes["jobs"].confidence_interval["response_time_s"];
    // In the simulation, both users start at random within 1 s, so their distance d has the density 2 (1 − d). The mean
    // response time over all starts is 0.4 + ∫ (0.4 − d) 2 (1 − d) dd = 0.539 s, with a standard deviation of 0.139 s.
    // The mean of 100 replications thus has a standard error of 0.014 s.
    assert!((0.49..0.59).contains(&time), "{time}");
    assert!(most - least > 0.02 && answer.simulation.stopped == "events");
    assert!(
        answer
            .warnings
            .iter()
            .any(|text| text.contains("use more replications"))
    );
}

#[test]
fn one_random_time_forgets_the_distance() {
    for scv in [[1.0, 0.0], [0.0, 1.0]] {
        assert!(solved(&users(2, 1.0, scv, "ps")).exact);
    }
}

/// Five users who do not think are always at the station, whatever their distance. So the response time is 5 · 0.4 s =
/// 2 s, and the answer is exact.
#[test]
fn distances_do_not_matter_if_the_bounds_agree() {
    let found = solved(&users(5, 0.0, [0.0, 0.0], "ps"));
    assert!(found.exact && (found.classes["jobs"].response_time_s - 2.0).abs() < 1e-12);
}

/// Three users are served in the order of arrival, with constant times. After each has waited once for those ahead,
/// they are far enough apart never to wait again. So the true response time is the service time, 0.4 s.
#[test]
fn users_in_turn_with_constant_times_are_within_their_range() {
    let value = users(3, 1.0, [0.0, 0.0], "fcfs");
    let within = solved(&value).within.expect("a range");
    let [low, high] = within.classes["jobs"]["response_time_s"];
    let time = run(value, 20_000).classes["jobs"].response_time_s;
    assert!((time - 0.4).abs() < 0.004 && low < 0.4 + 1e-9 && 0.4 < high);
}

/// Arrivals of both classes are 2 s apart, with a service time of 0.9 s. If both classes arrive at different times, no
/// job ever waits, so the range begins at 0.9 s. It has no upper end, because the solver has no bound for the wait if
/// they meet.
#[test]
fn two_streams_of_equal_distances_have_no_upper_end() {
    let class = |name| json!({"name": name, "arrival_rate_per_s": 0.5, "arrivals": {"scv": 0.0}});
    let service = |name| json!({"class": name, "service_time_s": 0.9, "variation": {"scv": 0.0}});
    let found = solved(&json!({
        "classes": [class("a"), class("b")],
        "stations": [{"name": "s", "services": [service("a"), service("b")]}]}));
    let [low, high] = found.within.expect("a range").classes["b"]["response_time_s"];
    assert!((low - 0.9).abs() < 1e-12 && high.is_infinite());
}

/// At a preemptive last-come-first-served station, a user without think time returns at once and interrupts all others,
/// who are never served. The solver refuses the model. The simulator warns that some transactions do not end.
#[test]
fn users_who_come_back_at_once_interrupt_others_for_ever() {
    let value = users(4, 0.0, [1.0, 1.0], "lcfs-pr");
    let faults = solve(&model(value.clone()), Method::Auto).expect_err("it is refused");
    assert_eq!(faults[0].path, ["stations", "s", "discipline"]);
    assert!(
        faults[0]
            .message
            .contains("jobs that it interrupts are never served")
    );
    let settings = Settings {
        precision: 0.05,
        ..Settings::default()
    };
    let outcome = simulate(&[model(value)], &settings).expect("the model is right");
    let answer = &outcome.answers[0];
    assert!(!answer.steady && answer.simulation.stopped == "precision");
    let warnings = answer.warnings.join("; ");
    assert!(
        warnings.contains("some transactions do not end"),
        "{warnings}"
    );
    // Jobs of an open class interrupt the only user without think time, and are served. Only the jobs that this user
    // interrupts are never served.
    let mut open = users(1, 0.0, [1.0, 1.0], "lcfs-pr");
    let classes = open["classes"].as_array_mut().expect("a list");
    classes.push(json!({"name": "open", "arrival_rate_per_s": 1.0}));
    let services = open["stations"][0]["services"]
        .as_array_mut()
        .expect("a list");
    services.push(json!({"class": "open", "service_time_s": 0.5}));
    let faults = solve(&model(open.clone()), Method::Auto).expect_err("it is refused");
    assert!(
        faults[0]
            .message
            .contains("jobs that it interrupts are never served")
    );
    let time = run(open, 2_000_000).classes["open"].response_time_s;
    assert!((time - 1.0).abs() < 0.02, "{time}");
    // A single user has nobody to interrupt, so the answer is exact. Users who think let others be served; their
    // response time is that of processor sharing, by the theorem of Baskett, Chandy, Muntz and Palacios (BCMP).
    assert!(solved(&users(1, 0.0, [1.0, 1.0], "lcfs-pr")).exact);
    let [last, shared] = ["lcfs-pr", "ps"].map(|discipline| {
        solved(&users(4, 1.0, [1.0, 4.0], discipline)).classes["jobs"].response_time_s
    });
    assert!((last - shared).abs() < 1e-12);
}

/// At two preemptive last-come-first-served stations with constant times, it depends on the start which jobs are ever
/// served. So the model is refused. With random times (scv 0.5) it has an exact answer.
#[test]
fn constant_times_at_two_stacks_are_refused() {
    let stations = |scv: f64| {
        [("fast", 0.2), ("slow", 2.0)].map(|(name, time_s)| {
            json!({"name": name, "discipline": "lcfs-pr", "services":
                [{"class": "jobs", "service_time_s": time_s, "variation": {"scv": scv}}]})
        })
    };
    let value = |scv| json!({"classes": [{"name": "jobs", "users": 8}], "stations": stations(scv)});
    let faults = solve(&model(value(0.0)), Method::Auto).expect_err("it is refused");
    assert!(faults.len() == 2 && faults[0].message.contains("may never be served"));
    assert!(solved(&value(0.5)).exact);
}

/// Adds a class at a station of its own to a model.
fn beside(mut value: Value, class: Value, station: Value) -> Value {
    for (key, more) in [("classes", class), ("stations", station)] {
        value[key].as_array_mut().expect("a list").push(more);
    }
    value
}

fn exponential_neighbour() -> [Value; 2] {
    [
        json!({"name": "other", "users": 3, "think_time_s": 1.0}),
        json!({"name": "t", "discipline": "ps", "services": [{"class": "other", "service_time_s": 0.5}]}),
    ]
}

/// Two users keep their distance, so their response time has a range. A class at another station changes nothing for
/// them, and its own times stay exact.
#[test]
fn a_class_elsewhere_does_not_change_distances() {
    let [class, station] = exponential_neighbour();
    let found = solved(&beside(users(2, 1.0, [0.0, 0.0], "ps"), class, station));
    let within = found.within.expect("a range");
    let [low, high] = within.classes["jobs"]["response_time_s"];
    assert!(!found.exact && (low - 0.4).abs() < 1e-12 && (high - 0.8).abs() < 1e-12);
    assert!(found.warnings[0].contains("for class \"jobs\""));
    let [low, high] = within.classes["other"]["response_time_s"];
    let time = found.classes["other"].response_time_s;
    assert!((low - time).abs() < 1e-12 && (high - time).abs() < 1e-12);
}

/// Two users with constant times meet a class with random times at a shared station, which changes their distance at
/// random. So they do not keep their distance, except if they have the better rank: they then interrupt the other
/// class, and are not delayed by it.
#[test]
fn a_class_that_others_meet_changes_their_distances() {
    let [class, _] = exponential_neighbour();
    let mut value = users(2, 1.0, [0.0, 0.0], "ps");
    let classes = value["classes"].as_array_mut().expect("a list");
    classes.push(class);
    let services = &mut value["stations"][0]["services"];
    let service = json!({"class": "other", "service_time_s": 0.5});
    services.as_array_mut().expect("a list").push(service);
    assert_eq!(model(value.clone()).keeps_distances(), [false, false]);
    assert!(solved(&value).exact);
    value["stations"][0]["discipline"] = json!("priority");
    value["stations"][0]["preemptive"] = json!(true);
    value["classes"][0]["priority"] = json!(1);
    assert_eq!(model(value.clone()).keeps_distances(), [true, true]);
    value["classes"][0]["priority"] = json!(null);
    value["classes"][1]["priority"] = json!(1);
    assert_eq!(model(value).keeps_distances(), [false, false]);
}

/// A route without a choice is not random, and neither are measured times that are all equal. So users keep their
/// distance, and the answer is not exact. With a choice, or with times that differ, the answer is exact.
#[test]
fn routes_without_a_choice_and_equal_measured_times_are_not_random() {
    let value = users(2, 1.0, [0.0, 0.0], "ps");
    let route = |again: f64| json!([{"class": "jobs", "start": {"s": 1.0}, "next": {"s": {"s": again, "end": 1.0 - again}}}]);
    for (again, keeps) in [(0.0, true), (0.5, false)] {
        let mut routed = value.clone();
        routed["routing"] = route(again);
        assert_eq!(model(routed.clone()).keeps_distances(), [keeps]);
        assert_eq!(solved(&routed).exact, !keeps);
    }
    for (last, keeps) in [(0.4, true), (0.5, false)] {
        let mut measured = users(2, 1.0, [0.0, 1.0], "ps");
        let samples = json!([{"station": "s", "class": "jobs", "values_s": [0.4, 0.4, last]}]);
        measured["behaviour"] = json!({"samples": samples});
        assert_eq!(model(measured.clone()).keeps_distances(), [keeps]);
        assert_eq!(solved(&measured).exact, !keeps);
    }
}

/// A model of constant times must be simulated for at least 50 rounds of all users in each of two replications. A round
/// of 20,000 users has 40,000 events. With a service time of 10 s the server is always busy, so the response time is
/// 20,000 · 10 s less the think time of 1,000 s.
#[test]
fn constant_times_are_simulated_for_many_rounds() {
    let settings = Settings {
        replications: 2,
        ..Settings::default()
    };
    let mut value = users(20_000, 1000.0, [0.0, 0.0], "fcfs");
    value["stations"][0]["services"][0]["service_time_s"] = json!(10.0);
    let outcome = simulate(&[model(value)], &settings).expect("the model is right");
    let answer = &outcome.answers[0];
    assert!(answer.simulation.events >= 2 * 50 * 40_000);
    let time = answer.classes["jobs"].response_time_s;
    assert!((time / 199_000.0 - 1.0).abs() < 0.01, "{time}");
}

/// The simulation of a model of constant times stops after a number of events, because its precision never improves. It
/// must not stop the simulation of other models, or of random classes in the same model, before they are precise.
#[test]
fn constant_times_do_not_limit_other_models_and_classes() {
    let constant = users(2, 1.0, [0.0, 0.0], "ps");
    let random = users(2, 1.0, [1.0, 1.0], "ps");
    let [class, station] = exponential_neighbour();
    let both = beside(constant.clone(), class, station);
    let models = [constant, random, both].map(model);
    let outcome = simulate(&models, &Settings::default()).expect("the models are right");
    let stopped = |index: usize| outcome.answers[index].simulation.stopped;
    let events = |index: usize| outcome.answers[index].simulation.events;
    assert_eq!(
        [stopped(0), stopped(1), stopped(2)],
        ["events", "precision", "events"]
    );
    assert!(events(0) < 300_000 && events(1) > 300_000 && events(2) > 300_000);
    let other = &outcome.answers[2].classes["other"];
    let [low, high] = other.confidence_interval["response_time_s"];
    assert!(high - low <= 0.02 * other.response_time_s);
}

/// Two streams of arrivals, each at exactly 2.5 s intervals, meet at one server with exponential times of 1 s. The
/// stated range must contain the time at any distance between the streams.
///
/// At a distance of 1.25 s, they are one even stream of 0.8/s (D/M/1): the fraction σ = exp(−(1 − σ) / 0.8) waits, and
/// the mean wait is σ / (1 − σ) s = 1.69 s. If both arrive almost together, the second of each pair also waits for the
/// first.
#[test]
fn even_streams_before_a_random_station_are_within_their_range_at_any_distance() {
    let class = |name| json!({"name": name, "arrival_rate_per_s": 0.4, "arrivals": {"scv": 0.0}});
    let service = |name| json!({"class": name, "service_time_s": 1.0});
    let value = json!({
        "classes": [class("a"), class("b")],
        "stations": [{"name": "s", "services": [service("a"), service("b")]}]});
    let found = solved(&value);
    let [low, high] = found.within.expect("a range").stations["s"]["residence_time_s.b"];
    let mut times = Vec::new();
    for shift in [0.0, 0.001, 1.25, 2.499] {
        let mut shifted = value.clone();
        let delay = json!({"name": "before", "discipline": "delay", "services":
            [{"class": "b", "service_time_s": shift, "variation": {"scv": 0.0}}]});
        shifted["stations"]
            .as_array_mut()
            .expect("a list")
            .insert(0, delay);
        let time = run(shifted, 2_000_000).stations["s"].residence_time_s["b"];
        assert!(
            low < time && time < high,
            "{low} to {high}, {time} after {shift} s"
        );
        times.push(time);
    }
    assert!(
        (times[2] / 2.69 - 1.0).abs() < 0.02 && times[1] > times[2] + 0.4,
        "{times:?}"
    );
}

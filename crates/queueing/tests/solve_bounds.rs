//! Regression tests for answers that violated their bounds, or for which the checks wrongly reported a contradiction.

mod support;

use serde_json::{Value, json};
use support::{covers, model, run};
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

/// Poisson arrivals at a disk with varying times (scv 4), behind it a CPU that both classes share. The times at the CPU
/// are those of an event simulation.
#[test]
fn stated_ranges_hold_the_times_behind_a_station_with_varying_times() {
    let both = |short: f64, long: f64, scv: f64| {
        json!([{"class": "short", "service_time_s": short, "variation": {"scv": scv}},
            {"class": "long", "service_time_s": long, "variation": {"scv": scv}}])
    };
    for (scv, short, long) in [(4.0, 1.28, 11.0), (0.0, 0.92, 8.6)] {
        let found = answer(json!({
            "classes": [{"name": "short", "arrival_rate_per_s": 0.4}, {"name": "long", "arrival_rate_per_s": 0.4}],
            "stations": [{"name": "disk", "services": both(0.8, 0.8, scv)},
                {"name": "cpu", "discipline": "ps", "services": both(0.2, 1.8, 1.0)}]}));
        let within = found.within.as_ref().expect("the answer is approximate");
        for (class, time) in [("short", short), ("long", long)] {
            let [low, high] = within.stations["cpu"][&*format!("residence_time_s.{class}")];
            assert!(
                low <= time && time <= high,
                "{scv} {class}: {low} to {high}"
            );
            assert!(high < 4.0 * time && low > time / 4.0);
        }
        // The disk is M/G/1, which is exact also if the network is not.
        let [low, high] = within.stations["disk"]["residence_time_s.short"];
        assert!((low - high).abs() < 1e-12);
        assert!(within.stations["cpu"]["loss_probability"][1] <= 0.0);
    }
}

/// Losses, throughput and utilization of a full station have ranges that agree with each other.
#[test]
fn stated_ranges_of_a_full_station_hold_its_loss() {
    let found = answer(json!({
        "classes": [{"name": "jobs", "arrival_rate_per_s": 0.8, "arrivals": {"scv": 0.3}}],
        "stations": [{"name": "s", "capacity": 10, "services":
            [{"class": "jobs", "service_time_s": 1.0, "variation": {"scv": 0.3}}]}]}));
    let within = found.within.expect("the answer is approximate");
    let [least, most] = within.classes["jobs"]["dropped_per_s"];
    let lost = found.classes["jobs"].dropped_per_s;
    assert!(0.0 < lost && least < lost && lost < most);
    let [low, high] = within.classes["jobs"]["throughput_per_s"];
    assert!((low - (0.8 - most)).abs() < 1e-12 && (high - (0.8 - least)).abs() < 1e-12);
    let used = within.stations["s"]["utilization"];
    assert!((used[0] - low).abs() < 1e-12 && (used[1] - high).abs() < 1e-12);
    let [low, high] = within.classes["jobs"]["response_time_s"];
    let time = found.classes["jobs"].response_time_s;
    let stated = found.approximate_within.expect("the answer is approximate");
    assert!((stated - (high / time - 1.0).max(1.0 - low / time)).abs() < 1e-12);
}

/// Eight users interrupt three others at one server, which they use almost all of the time. The time of the three is
/// 3,550 s by simulation, and 83 s by mean value analysis.
#[test]
fn a_class_that_is_overtaken_for_ever_has_no_upper_end() {
    let services =
        json!([{"class": "hi", "service_time_s": 1.0}, {"class": "lo", "service_time_s": 1.0}]);
    let found = answer(json!({
        "classes": [{"name": "hi", "users": 8, "think_time_s": 2.0, "priority": 1},
            {"name": "lo", "users": 3, "think_time_s": 2.0, "priority": 2}],
        "stations": [{"name": "cpu", "discipline": "priority", "preemptive": true, "services": services}]}));
    let within = found.within.expect("the answer is approximate");
    let [low, high] = within.classes["lo"]["response_time_s"];
    assert!(low < 3550.0 && high.is_infinite());
    assert!(within.classes["lo"]["throughput_per_s"][0] == 0.0);
    assert!(found.approximate_within.is_some_and(|error| error >= 1.0));
}

/// Exact answers state no ranges.
#[test]
fn exact_answers_have_no_ranges() {
    let found = answer(json!({
        "classes": [{"name": "jobs", "arrival_rate_per_s": 0.8}],
        "stations": [{"name": "s", "services": [{"class": "jobs", "service_time_s": 1.0}]}]}));
    assert!(found.exact && found.within.is_none() && found.approximate_within.is_none());
}

/// A time at a station is that of its visits per completed transaction. M/M/1 with Q = 1 is before M/M/1/1, which drops
/// a third of 0.5/s, so that 1/3 of a transaction per second is completed.
#[test]
fn times_at_a_station_are_those_per_completed_transaction() {
    let services = json!([{"class": "jobs", "service_time_s": 1.0}]);
    let value = json!({
        "classes": [{"name": "jobs", "arrival_rate_per_s": 0.5}],
        "stations": [{"name": "first", "services": services},
            {"name": "full", "services": services, "capacity": 1}]});
    let found = answer(value.clone());
    let time = found.stations["first"].residence_time_s["jobs"];
    assert!((time - 3.0).abs() < 1e-9, "{time}");
    let simulated = run(value, 2_000_000);
    let ends = simulated.stations["first"].confidence_interval["residence_time_s.jobs"];
    assert!(covers(ends, 3.0), "{ends:?}");
}

/// The range of such a time counts the losses behind the station.
#[test]
fn ranges_of_times_at_a_station_count_the_losses_behind_it() {
    let services = json!([{"class": "jobs", "service_time_s": 1.0, "variation": {"scv": 0.25}}]);
    let value = json!({
        "classes": [{"name": "jobs", "arrival_rate_per_s": 0.5, "arrivals": {"scv": 4.0}}],
        "stations": [{"name": "first", "services": services},
            {"name": "full", "services": services, "capacity": 2}]});
    let found = answer(value.clone());
    let time = found.stations["first"].residence_time_s["jobs"];
    let [low, high] = found.within.expect("a range").stations["first"]["residence_time_s.jobs"];
    let simulated = run(value, 2_000_000);
    let [least, most] = simulated.stations["first"].confidence_interval["residence_time_s.jobs"];
    assert!(low <= time && time <= high);
    assert!(
        low <= most && least <= high,
        "{low} to {high}, {least} to {most}"
    );
}

/// Jobs leave the first station at distances of 1 s or more, and never meet at the second, to which they come from there
/// again and again: 0.75 of its time it has one job.
#[test]
fn constant_times_on_a_route_with_a_loop_may_never_wait() {
    let service =
        |time_s| json!([{"class": "jobs", "service_time_s": time_s, "variation": {"scv": 0.0}}]);
    let value = json!({
        "classes": [{"name": "jobs", "arrival_rate_per_s": 0.36, "arrivals": {"scv": 4.0}}],
        "stations": [{"name": "first", "services": service(1.0)},
            {"name": "second", "discipline": "ps", "services": service(5.0 / 6.0)}],
        "routing": [{"class": "jobs", "start": {"first": 1.0},
            "next": {"first": {"second": 1.0}, "second": {"first": 0.6, "end": 0.4}}}]});
    let [low, high] = answer(value).within.expect("a range").stations["second"]["queue_length"];
    assert!(low < 0.751 && 0.75 < high, "{low} to {high}");
}

/// A pool of one unit makes a shared server with constant times M/D/1, which waits half as long as M/M/1, and with a squared
/// coefficient of variation of 4 two and a half times as long.
#[test]
fn the_wait_for_a_pool_depends_on_the_variation_inside() {
    for (scv, wait) in [(0.0, 0.75), (4.0, 3.75)] {
        let services = json!([{"class": "jobs", "service_time_s": 1.0, "variation": {"scv": scv}}]);
        let found = answer(json!({
            "classes": [{"name": "jobs", "arrival_rate_per_s": 0.6}],
            "stations": [{"name": "s", "discipline": "ps", "services": services}],
            "pools": [{"name": "p", "size": 1, "holds": ["s"]}]}));
        let within = found.within.expect("a range");
        let [low, high] = within.pools["p"]["waiting_time_s.jobs"];
        assert!(low <= wait && wait <= high, "{scv}: {low} to {high}");
        let [low, high] = within.classes["jobs"]["response_time_s"];
        assert!(
            low <= wait + 1.0 && wait + 1.0 <= high,
            "{scv}: {low} to {high}"
        );
    }
}

/// A chance of one half to come back at once: M/D/1 with 0.4/s and 1, 2, 3, ... visits of 1 s. Takács gives the mean of
/// all visits at once, 2 s + 0.4/s (2 s)² (1 + 1/2) / (2 · 0.2).
#[test]
fn a_loop_at_one_station_is_exact_and_states_no_range() {
    let found = answer(json!({
        "classes": [{"name": "jobs", "arrival_rate_per_s": 0.4}],
        "stations": [{"name": "s", "services":
            [{"class": "jobs", "service_time_s": 1.0, "variation": {"scv": 0.0}}]}],
        "routing": [{"class": "jobs", "start": {"s": 1.0}, "next": {"s": {"s": 0.5}}}]}));
    assert!(found.exact && found.within.is_none() && found.warnings.is_empty());
    let time = found.classes["jobs"].response_time_s;
    assert!((time - 8.0).abs() < 1e-9, "{time}");
}

/// Returns the response time of a class that comes `rate` times per second to one server with constant times of service,
/// and the station of a class without a route beside it.
fn rows(rate: f64, time_s: f64, visits: Option<f64>, again: Option<f64>) -> Answer {
    let mut value = json!({
        "classes": [{"name": "jobs", "arrival_rate_per_s": rate}],
        "stations": [{"name": "s", "services": [{"class": "jobs", "service_time_s": time_s, "variation": {"scv": 0.0}}]}]});
    if let Some(visits) = visits {
        value["stations"][0]["services"][0]["visits"] = json!(visits);
    }
    if let Some(again) = again {
        value["routing"] =
            json!([{"class": "jobs", "start": {"s": 1.0}, "next": {"s": {"s": again}}}]);
    }
    answer(value)
}

/// One class needs no equation for each visit, however many these are: M/G/1 with the time of all visits at once, 2 s, at
/// a utilization of 0.8. A loop with a chance of 0.95 has a squared coefficient of variation of 0.95 (Takács). For 400
/// visits of each transaction that of one visit counts (1 + ρ) / (V + ρ) times (Simon).
#[test]
fn one_class_with_many_visits_in_a_row_is_exact() {
    let mean = |scv: f64| 2.0 + 0.4 * 4.0 * (1.0 + scv) / (2.0 * 0.2);
    let cases = [
        (rows(0.4, 0.1, None, Some(0.95)), mean(0.95)),
        (rows(0.4, 0.002, None, Some(0.999)), mean(0.999)),
        (rows(0.4, 0.005, Some(400.0), None), mean(1.0 - 1.8 / 400.8)),
    ];
    for (found, expected) in cases {
        assert!(
            found.exact && found.within.is_none(),
            "{:?}",
            found.warnings
        );
        let time = found.classes["jobs"].response_time_s;
        assert!(
            (time / expected - 1.0).abs() < 1e-9,
            "{time} must be {expected}"
        );
    }
}

/// The route of another class changes nothing for three visits of each transaction.
#[test]
fn a_route_elsewhere_changes_nothing_for_visits_in_a_row() {
    let alone = rows(0.3, 0.5, Some(3.0), None).classes["jobs"].response_time_s;
    let service = |class, visits: Option<f64>| json!({"class": class, "service_time_s": 0.5, "visits": visits, "variation": {"scv": 0.0}});
    let found = answer(json!({
        "classes": [{"name": "jobs", "arrival_rate_per_s": 0.3}, {"name": "other", "arrival_rate_per_s": 0.3}],
        "stations": [{"name": "s", "services": [service("jobs", Some(3.0))]},
            {"name": "t", "services": [service("other", None)]}],
        "routing": [{"class": "other", "start": {"t": 1.0}, "next": {"t": {"end": 1.0}}}]}));
    let time = found.classes["jobs"].response_time_s;
    assert!((time - alone).abs() < 1e-9, "{time} must be {alone}");
}

/// A pool of one unit around a delay is M/G/1, also for many users who seldom come: the wait varies with the delay as with a
/// service. Twenty users who think 30 s wait 0.703 s for a constant delay of 1 s, and 2.31 s for a squared coefficient of
/// variation of 4, as simulated with intervals of 3 % and 8 %. An exponential delay has product form: 1.5 and 1.26 s.
#[test]
fn the_wait_for_a_pool_depends_on_the_variation_of_a_delay_inside() {
    let open = json!({"name": "jobs", "arrival_rate_per_s": 0.6});
    let closed = json!({"name": "jobs", "users": 20, "think_time_s": 30.0});
    let cases = [
        (&open, 0.0, 0.75),
        (&open, 1.0, 1.5),
        (&open, 4.0, 3.75),
        (&closed, 0.0, 0.703),
        (&closed, 1.0, 1.262),
        (&closed, 4.0, 2.31),
    ];
    for (class, scv, wait) in cases {
        let services = json!([{"class": "jobs", "service_time_s": 1.0, "variation": {"scv": scv}}]);
        let found = answer(json!({
            "classes": [class],
            "stations": [{"name": "d", "discipline": "delay", "services": services}],
            "pools": [{"name": "p", "size": 1, "holds": ["d"]}]}));
        let solved = found.pools["p"].waiting_time_s["jobs"];
        if (scv - 1.0_f64).abs() < 1e-9 {
            assert!((solved - wait).abs() < 1e-3, "{solved}");
        }
        let within = found.within.expect("a range");
        for (place, least) in [
            (&within.pools["p"]["waiting_time_s.jobs"], 0.0),
            (&within.classes["jobs"]["response_time_s"], 1.0),
        ] {
            let [low, high] = *place;
            assert!(
                low <= wait + least && wait + least <= high,
                "{scv}: {low} to {high}"
            );
        }
    }
}

/// Long constant times of a worse rank use all servers at once: jobs of the better rank wait 0.95 s, 1.44 s and 4.5 s, as
/// simulated with intervals of 3 %, and the formula gives 0.61 s, 0.68 s and 1.95 s.
#[test]
fn better_ranks_wait_for_long_constant_times_at_several_servers() {
    // Servers, utilization, share of the load of the better rank, its squared coefficient of variation, time of the worse
    // rank, and response time of the better rank. [1], [ratio], [ratio], [1], [s], [s]
    let cases = [
        (4.0, 0.8, 0.25, 1.0, 8.087, 1.97),
        (4.0, 0.9, 0.1, 0.0, 6.914, 2.457),
        (4.0, 0.9, 0.1, 1.0, 19.787, 5.48),
    ];
    for (servers, utilization, share, scv, long_s, simulated) in cases {
        let rate = utilization * servers;
        let found = answer(json!({
            "classes": [{"name": "better", "arrival_rate_per_s": rate * share, "priority": 1},
                {"name": "worse", "arrival_rate_per_s": rate * (1.0 - share) / long_s, "priority": 2}],
            "stations": [{"name": "s", "servers": servers as u32, "discipline": "priority", "services": [
                {"class": "better", "service_time_s": 1.0, "variation": {"scv": scv}},
                {"class": "worse", "service_time_s": long_s, "variation": {"scv": 0.0}}]}]}));
        let [low, high] = found.within.expect("a range").classes["better"]["response_time_s"];
        assert!(
            low <= simulated && simulated <= high,
            "{low} to {high}, {simulated}"
        );
    }
}

/// A pool of one unit lets one job at a time to a station, where it never waits. Two open classes before a delay whose
/// squared coefficient of variation is 4 wait as in M/G/1: 0.6/s (1 s)² (1 + 4) / (2 · 0.4) = 3.75 s.
#[test]
fn pools_of_several_classes_are_within_their_ranges() {
    let value = |classes: Value, discipline: &str, scv: f64| {
        let service =
            |class| json!({"class": class, "service_time_s": 1.0, "variation": {"scv": scv}});
        answer(json!({
            "classes": classes,
            "stations": [{"name": "s", "discipline": discipline, "services": [service("a"), service("b")]}],
            "pools": [{"name": "p", "size": 1, "holds": ["s"]}]}))
    };
    let users =
        |name, users, think_s| json!({"name": name, "users": users, "think_time_s": think_s});
    let closed = json!([users("a", 10, 20.0), users("b", 10, 20.0)]);
    let within = value(closed, "fcfs", 1.0).within.expect("a range");
    let [low, high] = within.stations["s"]["residence_time_s.a"];
    assert!(low <= 1.0 && 1.0 <= high, "{low} to {high}");
    let open = |name| json!({"name": name, "arrival_rate_per_s": 0.3});
    let within = value(json!([open("a"), open("b")]), "delay", 4.0)
        .within
        .expect("a range");
    let [low, high] = within.pools["p"]["waiting_time_s.a"];
    assert!(low <= 3.75 && 3.75 <= high, "{low} to {high}");
    let [low, high] = within.classes["a"]["response_time_s"];
    assert!(low <= 4.75 && 4.75 <= high, "{low} to {high}");
}

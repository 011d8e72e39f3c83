//! Regression tests for answers that violated their bounds, or for which the checks wrongly reported a contradiction.

mod support;

use serde_json::{Value, json};
use support::{covers, model, run};
use towtank_queueing::answer::Answer;
use towtank_queueing::solve::{Method, solve};

fn answer(value: Value) -> Answer {
    solve(&model(value), Method::Auto).expect("the model has an answer")
}

/// Two classes of 25 users without think time have service times of 30 and 50 ms, in order of arrival. All 50 users
/// wait in one queue, and one round of the queue takes 25 (30 + 50) ms = 2 s. So each class has a throughput of 25 / 2
/// s = 12.5/s, and the server is always busy.
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

/// The think time is 10⁹ times the demand or more, so the response time is lost in rounding. The checks must not report
/// this as a contradiction: the answer is exact.
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

/// If the service times differ between the classes, the model is refused, because no formula of the solver gives the
/// response times of a simulation, 1.39 and 2.94 s. With equal service times, the model is solved.
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

/// Two classes visit a disk, and then share a CPU. The scv (squared coefficient of variation) of the disk times is 4 or
/// 0, so arrivals at the CPU are not Poisson. The stated ranges must contain the times at the CPU of an event
/// simulation.
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
        // The disk is M/G/1, whose times are exact although the network is not, so their range has no width.
        let [low, high] = within.stations["disk"]["residence_time_s.short"];
        assert!((low - high).abs() < 1e-12);
        assert!(within.stations["cpu"]["loss_probability"][1] <= 0.0);
    }
}

/// Losses, throughput and utilization of a full station have ranges that agree: jobs that are not dropped are served.
/// The stated error is that of the farther end of the range of the response time.
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

/// Eight users interrupt three others at one server, which the eight use almost all of the time. The response time of
/// the three is 3,550 s by simulation, but 83 s by mean value analysis. So its stated range must have no upper end.
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

#[test]
fn exact_answers_have_no_ranges() {
    let found = answer(json!({
        "classes": [{"name": "jobs", "arrival_rate_per_s": 0.8}],
        "stations": [{"name": "s", "services": [{"class": "jobs", "service_time_s": 1.0}]}]}));
    assert!(found.exact && found.within.is_none() && found.approximate_within.is_none());
}

/// The time at a station is the mean number of jobs there, divided by the rate of completed transactions. The first
/// station, M/M/1 at a utilization of 0.5, has 1 job. The second, M/M/1/1, drops a third of 0.5/s, so 1/3 of a
/// transaction is completed per second. The time at the first station is thus 1 / (1/3 per s) = 3 s.
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

/// The time at a station counts losses at later stations, since it is the number of jobs divided by the rate of
/// completed transactions. The range of this time must include the error of these losses, and so must overlap the
/// simulated interval.
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

/// Jobs leave the first station at least 1 s apart and spend 5/6 s at the second, so they never meet there. Each job
/// makes 1 / 0.4 = 2.5 rounds. So the mean number of jobs at the second station is its utilization, 0.36/s · 2.5 · 5/6
/// s = 0.75, which the stated range must contain.
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

/// With a pool of one unit, only one job at a time is at the shared server, so jobs wait for the pool as in M/G/1. In
/// M/M/1 at 0.6/s and 1 s, they would wait 0.6 / 0.4 = 1.5 s. Constant times make this half as long, 0.75 s, and times
/// with a squared coefficient of variation of 4 make it (1 + 4) / 2 times as long, 3.75 s. The stated ranges must
/// contain this.
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

/// After each visit of 1 s, a job returns at once with probability 1/2, so it makes 2 visits on average. The mean
/// response time is that of M/G/1 if all visits were made at once (Takács). These take 2 s on average, with a squared
/// coefficient of variation of 1/2: 2 s + 0.4/s (2 s)² (1 + 1/2) / (2 · 0.2) = 8 s.
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

/// Solves one class at one server with constant service times. A transaction makes `visits` visits; or, if `again` is
/// given, a job returns to the server with this probability after each visit.
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

/// The mean response time is that of an M/G/1 queue in which a job has one service instead of many visits. The service
/// time has a mean of 2 s, the total of all visits, and a squared coefficient of variation (scv) that depends on the
/// case. If a job returns with probability p, the scv is p (Takács). With exactly V = 400 constant visits, it is
/// 1 − (1 + ρ) / (V + ρ) (Simon). With 0.4 jobs/s, the utilization ρ is 0.4/s · 2 s = 0.8, and the wait is
/// 0.4/s · (2 s)² (1 + scv) / (2 (1 − ρ)).
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

/// The response time of a class with three visits stays the same if another class, at another station, has a route.
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

/// A pool of one unit around a delay of 1 s is a single server, so the wait for the pool depends on the squared
/// coefficient of variation (scv) of the delay. The stated ranges must contain the true wait.
///
/// Open arrivals at 0.6/s wait as in M/G/1: 1.5 (1 + scv) / 2 s. Twenty users who think for 30 s wait 0.703 s with a
/// constant delay and 2.31 s with scv 4, by simulations with intervals of 3 % and 8 %. With an exponential delay, the
/// waits of 1.5 and 1.262 s are exact (product form), and must be the solved values.
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

/// The worse rank (class of lower priority) has long constant service times, which often occupy all servers together.
/// So the better rank waits longer than the formula of the solver gives, 0.61, 0.68 and 1.95 s. The stated range must
/// contain the response time of a simulation with intervals of 3 %, of which 1 s is service.
#[test]
fn better_ranks_wait_for_long_constant_times_at_several_servers() {
    // Columns: servers, utilization, fraction of the load that the better rank has, its squared coefficient of
    // variation, service time of the worse rank, and response time of the better rank. [1], [ratio], [ratio], [1], [s],
    // [s]
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

/// A pool of one unit admits one job at a time, so no job waits at the station inside: its time there is the service
/// time, 1 s. Two open classes with 0.6/s together wait for the pool as in M/G/1. With a squared coefficient of
/// variation of 4, this is 0.6/s (1 s)² (1 + 4) / (2 · 0.4) = 3.75 s. The stated ranges must contain these times.
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

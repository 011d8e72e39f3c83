//! Compares the simulator with exact results, and checks the coverage of its intervals and the reproducibility of its
//! runs.

mod support;

use serde_json::json;
use support::{check, covers, fixed, model, run, service, single};
use towtank_queueing::simulate::{Outcome, Settings, simulate};
use towtank_queueing::solve::{Method, solve};

#[test]
fn single_server_has_its_mean_and_percentiles() {
    let answer = run(single(0.8, json!({"services": service(1.0)})), 20_000_000);
    // M/M/1 with service time 1 and utilization 0.8: the response time is exponential with mean 1 / (1 - 0.8) = 5.
    check(&answer, "jobs", "response_time_s", 5.0, 0.02);
    check(&answer, "jobs", "throughput_per_s", 0.8, 0.005);
    for (name, share) in [("p50", 0.5_f64), ("p95", 0.95), ("p99", 0.99)] {
        check(&answer, "jobs", name, -5.0 * (1.0 - share).ln(), 0.03);
    }
    let station = &answer.stations["s"];
    assert!((station.utilization - 0.8).abs() < 0.005 && (station.queue_length - 4.0).abs() < 0.1);
    assert!((station.utilization_by_class["jobs"] - station.utilization).abs() < 1e-3);
    assert!(answer.steady);
}

#[test]
fn several_servers_follow_erlang() {
    let answer = run(
        single(3.2, json!({"servers": 4, "services": service(1.0)})),
        8_000_000,
    );
    let exact = solve(
        &model(single(3.2, json!({"servers": 4, "services": service(1.0)}))),
        Method::Exact,
    )
    .unwrap();
    check(
        &answer,
        "jobs",
        "response_time_s",
        exact.classes["jobs"].response_time_s,
        0.02,
    );
}

#[test]
fn constant_service_halves_the_wait() {
    let services = json!([{"class": "jobs", "service_time_s": 1.0, "variation": {"scv": 0.0}}]);
    let answer = run(single(0.8, json!({ "services": services })), 8_000_000);
    // Pollaczek and Khinchine: the mean wait is U S (1 + scv) / (2 (1 - U)), with utilization U and service time S. For
    // U = 0.8, S = 1 and scv = 0, this is 2, so the response time is 2 + 1 = 3.
    check(&answer, "jobs", "response_time_s", 3.0, 0.02);
}

#[test]
fn service_of_any_variation_follows_pollaczek_and_khinchine() {
    for (distribution, scv) in [
        ("hyperexponential", 4.0),
        ("gamma", 0.5),
        ("lognormal", 2.0),
        ("erlang", 0.25),
    ] {
        let services = json!([{"class": "jobs", "service_time_s": 1.0,
            "variation": {"scv": scv, "distribution": distribution}}]);
        let answer = run(single(0.6, json!({ "services": services })), 8_000_000);
        check(
            &answer,
            "jobs",
            "response_time_s",
            1.0 + 0.6 * (1.0 + scv) / 0.8,
            0.04,
        );
    }
}

#[test]
fn sharing_does_not_feel_the_variation() {
    for scv in [0.0, 1.0, 5.0] {
        let services = json!([{"class": "jobs", "service_time_s": 1.0, "variation": {"scv": scv}}]);
        for discipline in ["ps", "lcfs-pr"] {
            let answer = run(
                single(0.7, json!({"discipline": discipline, "services": services})),
                6_000_000,
            );
            check(&answer, "jobs", "response_time_s", 1.0 / 0.3, 0.04);
        }
    }
}

#[test]
fn full_stations_lose_what_erlang_says() {
    let station = json!({"servers": 2, "capacity": 5, "services": service(1.0)});
    let answer = run(single(2.4, station.clone()), 6_000_000);
    let exact = solve(&model(single(2.4, station)), Method::Exact).unwrap();
    check(
        &answer,
        "jobs",
        "dropped_per_s",
        exact.classes["jobs"].dropped_per_s,
        0.02,
    );
    check(
        &answer,
        "jobs",
        "response_time_s",
        exact.classes["jobs"].response_time_s,
        0.02,
    );
}

#[test]
fn priorities_follow_cobham() {
    // Two classes have a rate of 0.4 and a mean service time of 1 each. By Cobham's formulas, their waits are W1 = W0 /
    // (1 - 0.4) and W2 = W0 / ((1 - 0.4) (1 - 0.8)), where W0 = 0.8 is the mean rest of the service in progress.
    let stations = |preemptive: bool| {
        json!({"classes": [{"name": "first", "arrival_rate_per_s": 0.4, "priority": 1},
                           {"name": "last", "arrival_rate_per_s": 0.4, "priority": 2}],
               "stations": [{"name": "s", "discipline": "priority", "preemptive": preemptive, "services":
                   [{"class": "first", "service_time_s": 1.0}, {"class": "last", "service_time_s": 1.0}]}]})
    };
    let answer = run(stations(false), 10_000_000);
    check(&answer, "first", "response_time_s", 1.0 + 0.8 / 0.6, 0.02);
    check(&answer, "last", "response_time_s", 1.0 + 0.8 / 0.12, 0.04);
    let answer = run(stations(true), 10_000_000);
    // If the first class interrupts the second, its response time is as if it were alone, R1 = S / (1 - 0.4). That of
    // the second class is R2 = S / (1 - 0.4) + 0.8 / ((1 - 0.4) (1 - 0.8)).
    check(&answer, "first", "response_time_s", 1.0 / 0.6, 0.02);
    check(
        &answer,
        "last",
        "response_time_s",
        1.0 / 0.6 + 0.8 / 0.12,
        0.04,
    );
}

#[test]
fn closed_networks_agree_with_the_solver() {
    let value = json!({
        "classes": [{"name": "a", "users": 20, "think_time_s": 5.0}, {"name": "b", "users": 5, "think_time_s": 1.0}],
        "stations": [
            {"name": "cpu", "discipline": "ps", "servers": 2, "services":
                [{"class": "a", "service_time_s": 0.3, "visits": 1.5}, {"class": "b", "service_time_s": 0.5}]},
            {"name": "disk", "services": [{"class": "a", "service_time_s": 0.2}, {"class": "b", "service_time_s": 0.2}]},
            {"name": "lan", "discipline": "delay", "services":
                [{"class": "a", "service_time_s": 0.4}, {"class": "b", "service_time_s": 0.1}]}]});
    let answer = run(value.clone(), 10_000_000);
    let exact = solve(&model(value), Method::Exact).unwrap();
    for class in ["a", "b"] {
        check(
            &answer,
            class,
            "throughput_per_s",
            exact.classes[class].throughput_per_s,
            0.01,
        );
        check(
            &answer,
            class,
            "response_time_s",
            exact.classes[class].response_time_s,
            0.01,
        );
    }
    for station in ["cpu", "disk", "lan"] {
        let (found, exact) = (&answer.stations[station], &exact.stations[station]);
        assert!(
            (found.queue_length / exact.queue_length - 1.0).abs() < 0.02,
            "{station}"
        );
        assert!(
            (found.utilization - exact.utilization).abs() < 0.01,
            "{station}"
        );
        for class in ["a", "b"] {
            assert!(
                (found.residence_time_s[class] / exact.residence_time_s[class] - 1.0).abs() < 0.02,
                "{station}"
            );
        }
    }
}

#[test]
fn speeds_that_depend_on_load_agree_with_the_solver() {
    for discipline in ["ps", "fcfs", "lcfs-pr"] {
        let value = json!({"classes": [{"name": "a", "users": 8, "think_time_s": 1.0}],
            "stations": [{"name": "s", "discipline": discipline, "rates": [1.0, 1.6, 2.0, 1.8],
                          "services": [{"class": "a", "service_time_s": 0.5}]}]});
        let answer = run(value.clone(), 4_000_000);
        let exact = solve(&model(value), Method::Exact).unwrap();
        check(
            &answer,
            "a",
            "response_time_s",
            exact.classes["a"].response_time_s,
            0.01,
        );
        assert!((answer.stations["s"].utilization - exact.stations["s"].utilization).abs() < 0.01);
    }
}

#[test]
fn routes_agree_with_the_traffic_equations() {
    let value = json!({"classes": [{"name": "a", "arrival_rate_per_s": 1.0}],
        "stations": [{"name": "x", "services": [{"class": "a", "service_time_s": 0.3}]},
                     {"name": "y", "services": [{"class": "a", "service_time_s": 0.5}]}],
        "routing": [{"class": "a", "start": {"x": 1.0},
                     "next": {"x": {"y": 0.6, "end": 0.4}, "y": {"x": 0.5}}}]});
    let answer = run(value.clone(), 6_000_000);
    let exact = solve(&model(value), Method::Exact).unwrap();
    check(
        &answer,
        "a",
        "response_time_s",
        exact.classes["a"].response_time_s,
        0.02,
    );
}

#[test]
fn forks_of_two_follow_nelson_and_tantawi() {
    let value = json!({"classes": [{"name": "a", "arrival_rate_per_s": 0.6}],
        "stations": [{"name": "x", "services": [{"class": "a", "service_time_s": 1.0}]},
                     {"name": "y", "services": [{"class": "a", "service_time_s": 1.0}]}],
        "forks": [{"name": "both", "branches": [["x"], ["y"]]}]});
    // Nelson and Tantawi, IEEE Trans. Computers 37(6), 1988: R = (12 - U)/8 R1 is exact for two branches of utilization
    // U, each with the response time R1. Here U = 0.6 and R1 = 1 / (1 - 0.6).
    check(
        &run(value, 10_000_000),
        "a",
        "response_time_s",
        11.4 / 8.0 / 0.4,
        0.02,
    );
}

#[test]
fn a_pool_over_a_delay_is_a_station_of_as_many_servers() {
    let value = json!({"classes": [{"name": "a", "arrival_rate_per_s": 3.0}],
        "stations": [{"name": "d", "discipline": "delay", "services": [{"class": "a", "service_time_s": 1.0}]}],
        "pools": [{"name": "threads", "size": 4, "holds": ["d"]}]});
    let answer = run(value, 6_000_000);
    let exact = solve(
        &model(single(3.0, json!({"servers": 4, "services": service(1.0)}))),
        Method::Exact,
    )
    .unwrap();
    check(
        &answer,
        "a",
        "response_time_s",
        exact.classes["jobs"].response_time_s,
        0.02,
    );
    assert!((answer.pools["threads"].utilization - 0.75).abs() < 0.01);
}

/// The intervals should contain the exact value in 95 % of cases. Of 200 short runs, 180 to 198 must. With a coverage
/// of exactly 95 %, P(<180) + P(>198) = 0.0016 for each of the four figures (mean, p50, p95 and p99).
#[test]
fn intervals_cover_as_often_as_they_promise() {
    let plan = model(single(0.6, json!({"services": service(1.0)})));
    let mut covered = [0; 4];
    for seed in 0..200 {
        let settings = Settings {
            seed: 1000 + seed,
            threads: Some(1),
            ..fixed(200_000)
        };
        let outcome = simulate(std::slice::from_ref(&plan), &settings).unwrap();
        let class = &outcome.answers[0].classes["jobs"];
        let figures = [
            ("response_time_s", 2.5),
            ("p50", 2.5 * 2.0_f64.ln()),
            ("p95", -2.5 * 0.05_f64.ln()),
            ("p99", -2.5 * 0.01_f64.ln()),
        ];
        for (count, (figure, exact)) in covered.iter_mut().zip(figures) {
            let ends = class.confidence_interval[figure];
            *count += u32::from(ends[0] <= exact && exact <= ends[1]);
        }
    }
    assert!(
        covered.iter().all(|count| (180..=198).contains(count)),
        "{covered:?}"
    );
}

/// Checks the coverage of intervals for runs that stop when they reach a precision of 2 %. Most of these runs stop
/// after the second to fourth round.
#[test]
fn intervals_of_runs_that_end_with_their_precision_cover_as_often_as_they_promise() {
    let plan = model(single(0.5, json!({"services": service(1.0)})));
    let mut covered = [0; 3];
    for seed in 0..200 {
        let settings = Settings {
            precision: 0.02,
            seed: 7000 + seed,
            threads: Some(1),
            ..Settings::default()
        };
        let outcome = simulate(std::slice::from_ref(&plan), &settings).unwrap();
        let answer = &outcome.answers[0];
        assert_eq!(answer.simulation.stopped, "precision");
        assert!(answer.simulation.precision_reached <= 0.02);
        let class = &answer.classes["jobs"];
        let figures = [
            ("response_time_s", 2.0),
            ("users_in_system", 1.0),
            ("p99", -2.0 * 0.01_f64.ln()),
        ];
        for (count, (figure, exact)) in covered.iter_mut().zip(figures) {
            let ends = class.confidence_interval[figure];
            *count += u32::from(ends[0] <= exact && exact <= ends[1]);
        }
    }
    assert!(
        covered.iter().all(|count| (180..=198).contains(count)),
        "{covered:?}"
    );
}

/// A run with very variable service times must continue until long times have occurred often enough, so that its
/// interval contains the exact response time. Lognormal service with a squared coefficient of variation of 8 at a
/// utilization of 0.6 has R = 1 + 0.6 · 9 / 0.8 = 7.75. If runs stopped as soon as their replications agree, only 77 %
/// of the intervals would contain R, since long service times would be missing.
#[test]
fn a_run_of_heavy_tails_goes_on_until_they_were_met() {
    let services = json!([{"class": "jobs", "service_time_s": 1.0,
        "variation": {"scv": 8.0, "distribution": "lognormal"}}]);
    let plan = model(single(0.6, json!({ "services": services })));
    let mut covered = 0;
    for seed in 0..40 {
        let settings = Settings {
            precision: 0.2,
            seed: 100 + seed,
            ..Settings::default()
        };
        let outcome = simulate(std::slice::from_ref(&plan), &settings).unwrap();
        let answer = &outcome.answers[0];
        // The relative half-width of the interval is √((9⁴ - 1) / n) for n service times, times t at 95 % confidence,
        // times the share of waiting in the response time, 6.75 / 7.75. It is at most 20 % from about n = 480,000 on.
        let drawn = answer.simulation.simulated_time_s * 0.6;
        assert!(drawn > 400_000.0, "{drawn}");
        let ends = answer.classes["jobs"].confidence_interval["response_time_s"];
        covered += u32::from(ends[0] <= 7.75 && 7.75 <= ends[1]);
    }
    // If intervals contain R with a probability of 93 %, fewer than 34 of 40 do so in one of a hundred tests.
    assert!(covered >= 34, "{covered}");
    let short = simulate(std::slice::from_ref(&plan), &fixed(400_000)).unwrap();
    let warnings = short.answers[0].warnings.join("; ");
    assert!(
        warnings.contains("occurred too seldom") || warnings.contains("few long times"),
        "{warnings}"
    );
}

#[test]
fn service_times_without_a_fourth_moment_are_told() {
    let services = json!([{"class": "jobs", "service_time_s": 1.0,
        "variation": {"scv": 5.0, "distribution": "pareto"}}]);
    let warnings_of = |station: serde_json::Value| {
        let settings = Settings {
            precision: 0.1,
            events_at_most: 5_000_000,
            ..Settings::default()
        };
        let outcome = simulate(&[model(single(0.5, station))], &settings).unwrap();
        outcome.answers[0].warnings.join("; ")
    };
    let text = warnings_of(json!({ "services": services }));
    assert!(
        text.contains("service times at s have no fourth moment"),
        "{text}"
    );
    // With processor sharing, a job is not delayed by the variation of other jobs, so there is no warning.
    let text = warnings_of(json!({"discipline": "ps", "services": services}));
    assert!(!text.contains("fourth moment"), "{text}");
}

/// Jobs hardly wait at the second station, whose service times have no fourth moment. The run must still continue until
/// the long service times of the first station occur often enough.
#[test]
fn tails_of_which_little_is_waited_for_hide_no_others() {
    let services = |time: f64, scv: f64, distribution: &str| {
        json!([{"class": "jobs", "service_time_s": time,
            "variation": {"scv": scv, "distribution": distribution}}])
    };
    let plan = model(json!({
        "classes": [{"name": "jobs", "arrival_rate_per_s": 0.6}],
        "stations": [
            {"name": "first", "services": services(1.0, 8.0, "lognormal")},
            {"name": "second", "services": services(0.001, 5.0, "pareto")},
        ],
    }));
    for seed in 0..5 {
        let settings = Settings {
            precision: 0.2,
            seed: 100 + seed,
            ..Settings::default()
        };
        let outcome = simulate(std::slice::from_ref(&plan), &settings).unwrap();
        let answer = &outcome.answers[0];
        assert_eq!(answer.simulation.stopped, "precision");
        let drawn = answer.simulation.simulated_time_s * 0.6;
        assert!(drawn > 400_000.0, "{drawn}");
        let warnings = answer.warnings.join("; ");
        assert!(!warnings.contains("fourth moment"), "{warnings}");
    }
}

#[test]
fn the_answer_does_not_depend_on_threads() {
    let plan = model(single(
        0.8,
        json!({"discipline": "ps", "services": service(1.0)}),
    ));
    let text = |threads: usize, seed: u64| {
        let settings = Settings {
            precision: 0.03,
            threads: Some(threads),
            seed,
            ..Settings::default()
        };
        serde_json::to_string(
            &simulate(std::slice::from_ref(&plan), &settings)
                .unwrap()
                .answers,
        )
        .unwrap()
    };
    assert_eq!(text(1, 5), text(7, 5));
    assert_ne!(text(1, 5), text(1, 6));
}

#[test]
fn it_stops_when_it_knows_enough_and_says_why() {
    let plan = model(single(0.5, json!({"services": service(1.0)})));
    let settings = Settings {
        precision: 0.02,
        ..Settings::default()
    };
    let answer = simulate(std::slice::from_ref(&plan), &settings)
        .unwrap()
        .answers
        .remove(0);
    assert_eq!(answer.simulation.stopped, "precision");
    assert!(answer.simulation.precision_reached <= 0.02 && answer.warnings.is_empty());
    let answer = simulate(&[plan], &fixed(50_000)).unwrap().answers.remove(0);
    assert_eq!(
        (answer.simulation.stopped, answer.warnings.len()),
        ("events", 1)
    );
}

#[test]
fn common_random_numbers_make_differences_sharp() {
    let plans = [0.80, 0.76].map(|time| model(single(1.0, json!({"services": service(time)}))));
    let Outcome { comparisons, .. } = simulate(&plans, &fixed(4_000_000)).unwrap();
    let response = &comparisons[0].figures["classes.jobs.response_time_s"];
    // The arrival rate is 1/s, so M/M/1 at the utilization U has the response time U / (1 - U). The exact response
    // times differ by 0.76 / 0.24 - 0.8 / 0.2 = -0.8333.
    assert!(
        covers(response.confidence_interval, 0.76 / 0.24 - 4.0),
        "{response:?}"
    );
    assert!(
        response.differs && response.variance_ratio < 0.2,
        "{response:?}"
    );
}

#[test]
fn what_has_no_steady_state_is_told() {
    let answer = run(single(1.2, json!({"services": service(1.0)})), 2_000_000);
    assert!(
        !answer.steady && answer.warnings[0].contains("no steady state"),
        "{:?}",
        answer.warnings
    );
}

/// 1,141 users keep one server always busy, so R = N / X - Z = 1141 * 0.01732 - 7.5 s = 12.3 s. Values change so slowly
/// here that the run must last for 24 relaxation times (the time in which the influence of the past decays).
#[test]
fn a_saturated_closed_network_is_measured_for_many_response_times() {
    let plan = json!({
        "classes": [{"name": "web", "users": 1141, "think_time_s": 7.5}],
        "stations": [{"name": "cpu", "discipline": "ps", "services": [{"class": "web", "service_time_s": 0.01732}]}]});
    let exact = 1141.0 * 0.01732 - 7.5;
    let mut worst: f64 = 0.0;
    for seed in 0..8 {
        let settings = Settings {
            precision: 0.02,
            seed,
            ..Settings::default()
        };
        let answer = simulate(&[model(plan.clone())], &settings)
            .unwrap()
            .answers
            .remove(0);
        let run = &answer.simulation;
        assert!(run.measured_relaxations > 23.99, "{run:?}");
        // At a saturated station, the relaxation time is the time in the system plus the think time.
        assert!(
            (run.relaxation_s / (exact + 7.5) - 1.0).abs() < 0.05,
            "{run:?}"
        );
        let web = &answer.classes["web"];
        let little = web.little.as_ref().expect("nothing is given up");
        assert!(little.holds && answer.warnings.is_empty(), "{answer:?}");
        worst = worst.max((web.response_time_s / exact - 1.0).abs());
    }
    assert!(worst < 0.015, "{worst}");
}

#[test]
fn a_run_that_is_too_short_for_its_response_time_says_so() {
    let plan = json!({
        "classes": [{"name": "web", "users": 1141, "think_time_s": 7.5}],
        "stations": [{"name": "cpu", "discipline": "ps", "services": [{"class": "web", "service_time_s": 0.01732}]}]});
    let answer = run(plan, 60_000);
    let little = answer.classes["web"]
        .little
        .as_ref()
        .expect("nothing is given up");
    assert!(!little.holds && little.difference > 0.0, "{little:?}");
    let warnings = answer.warnings.join("; ");
    assert!(
        warnings.contains("in which the influence of the initial state disappears")
            && warnings.contains("Little's law does not hold"),
        "{warnings}"
    );
}

/// With two replications at a high load, the t-interval of a percentile reaches 12.7 standard errors to each side. Its
/// lower end must not be negative.
#[test]
fn intervals_of_few_replications_keep_the_bounds_of_nature() {
    let plan = model(single(0.97, json!({"services": service(1.0)})));
    let (mut none, mut bounded) = (0, 0);
    for seed in 0..20 {
        let settings = Settings {
            replications: 2,
            seed,
            ..fixed(40_000)
        };
        let answer = simulate(std::slice::from_ref(&plan), &settings)
            .unwrap()
            .answers
            .remove(0);
        assert!(
            answer
                .warnings
                .iter()
                .any(|text| text.starts_with("only 2 replications"))
        );
        let class = &answer.classes["jobs"].confidence_interval;
        let station = &answer.stations["s"].confidence_interval;
        for [low, high] in class.0.iter().chain(&station.0).map(|(_, ends)| *ends) {
            assert!(
                low.is_nan() == high.is_nan() && (low.is_nan() || low >= 0.0),
                "{low} {high}"
            );
            none += u32::from(low.is_nan());
        }
        let [_, high] = station["utilization"];
        assert!(high <= 1.0, "{high}");
        bounded += u32::from(high > 0.999_999 || station["queue_length"][0] == 0.0);
    }
    assert!(none > 0 && bounded > 0, "{none} {bounded}");
}

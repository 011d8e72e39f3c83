//! Tests models whose mean response time is precise early in the run, while other results are not: percentiles,
//! balanced stations and rare failures.

mod support;

use serde_json::{Value, json};
use support::{covers, fixed, model, run, service, single};
use towtank_queueing::simulate::answer::Answer;
use towtank_queueing::simulate::{Settings, simulate};

fn with_precision(value: &Value, precision: f64, seed: u64) -> Answer {
    let settings = Settings {
        precision,
        seed,
        ..Settings::default()
    };
    let outcome = simulate(&[model(value.clone())], &settings).unwrap();
    outcome.answers.into_iter().next().unwrap()
}

/// Returns a model of `users` users without think time at the stations `app` and `db`, each with a service time of 10
/// ms.
fn balanced(users: u64) -> Value {
    let station = |name: &str| json!({"name": name, "discipline": "ps", "services": [{"class": "web", "service_time_s": 0.01}]});
    json!({"classes": [{"name": "web", "users": users, "think_time_s": 0.0}],
           "stations": [station("app"), station("db")]})
}

fn failing(up_s: f64, down_s: f64) -> Value {
    let mut value = single(0.5, json!({"services": service(1.0)}));
    value["behaviour"] = json!({"failures": [{"station": "s", "up_s": up_s, "down_s": down_s}]});
    value
}

#[test]
fn percentiles_lie_within_their_intervals() {
    let heavy = json!([{"class": "jobs", "service_time_s": 1.0, "variation": {"scv": 9.0}}]);
    let saturated = json!({
        "classes": [{"name": "jobs", "users": 500, "think_time_s": 5.0}],
        "stations": [{"name": "s", "services": [{"class": "jobs", "service_time_s": 0.02}]}]});
    let mut two = balanced(50);
    two["classes"][0]["name"] = json!("jobs");
    for station in two["stations"].as_array_mut().unwrap() {
        station["services"][0]["class"] = json!("jobs");
    }
    let models = [
        single(0.8, json!({"services": service(1.0)})),
        single(0.95, json!({"services": service(1.0)})),
        single(0.6, json!({"services": heavy})),
        single(
            0.5,
            json!({"discipline": "delay", "services": service(1.0)}),
        ),
        saturated,
        two,
        failing(200.0, 20.0),
    ];
    let mut known = 0;
    for (plan, events) in models
        .iter()
        .flat_map(|plan| [(plan, 20_000), (plan, 100_000)])
    {
        for (replications, seed) in (2..11).zip(0..) {
            let settings = Settings {
                replications,
                seed,
                ..fixed(events)
            };
            let outcome = simulate(&[model(plan.clone())], &settings).unwrap();
            let class = &outcome.answers[0].classes["jobs"];
            for (name, value) in &class.response_time_percentiles_s.0 {
                let [low, high] = class.confidence_interval[name.as_str()];
                assert!(low.is_nan() == high.is_nan());
                known += u32::from(low.is_finite());
                assert!(
                    low.is_nan() || (low <= *value && *value <= high),
                    "{plan}, {name}: {value} [{low}, {high}]"
                );
            }
        }
    }
    assert!(known > 400, "{known}");
}

/// Both stations are equal, so the mean number of jobs at each is half of the users. But the number at a station is a
/// random walk between 0 and N, which takes (N + 1)^2 / pi^2 services to settle. The run must estimate this time, and
/// must last until the interval of the number of jobs contains the exact value.
#[test]
fn balanced_stations_are_measured_until_their_queues_settle() {
    for (users, seeds) in [(100_u32, 8), (400, 2)] {
        let half = 0.5 * f64::from(users);
        for seed in 0..seeds {
            let answer = with_precision(&balanced(u64::from(users)), 0.05, seed);
            let settle_s = 0.01 * (f64::from(users) + 1.0).powi(2) / std::f64::consts::PI.powi(2);
            let run = &answer.simulation;
            assert!((run.relaxation_s / settle_s - 1.0).abs() < 0.1, "{run:?}");
            assert_eq!(run.stopped, "precision");
            for station in ["app", "db"] {
                let station = &answer.stations[station];
                let ends = station.confidence_interval["queue_length"];
                assert!(covers(ends, half), "{users}: {station:?}");
                assert!(
                    (station.queue_length / half - 1.0).abs() < 0.25,
                    "{users}: {station:?}"
                );
            }
        }
    }
}

#[test]
fn balanced_stations_that_have_not_settled_give_a_warning() {
    let answer = run(balanced(400), 450_000);
    let warnings = answer.warnings.join("; ");
    assert!(
        warnings.contains("in which the influence of the initial state disappears"),
        "{warnings}"
    );
}

/// A warning states that a station never failed in the run (mean time to a failure: 100 million services), or that it
/// failed only a few times (100,000 services). With many failures, there is no such warning.
#[test]
fn a_station_that_never_failed_gives_a_warning() {
    let warnings = run(failing(1e8, 3600.0), 500_000).warnings.join("; ");
    assert!(
        warnings.contains("station s failed 0 times: no figure includes its failures"),
        "{warnings}"
    );
    let warnings = run(failing(1e5, 3600.0), 1_000_000).warnings.join("; ");
    assert!(warnings.contains("depend on few failures"), "{warnings}");
    assert!(
        run(failing(100.0, 10.0), 1_000_000).warnings.len() == 1,
        "that of the events only"
    );
}

/// A run must last until failures have occurred, although its mean is precise before. The exact value is from White and
/// Christie, Operations Research 6(1), 1958: M/M/1 with arrival rate l, service rate m, failures at the rate f and
/// repairs at the rate r has R = ((f + r)^2 + m f) / ((f + r) (m r - l (f + r))), here 12.0 s.
#[test]
fn a_run_meets_failures_before_it_is_precise() {
    let (arrive, serve, fail, repair) = (0.5, 1.0, 5e-6_f64, 1e-3_f64);
    let both = fail + repair;
    let exact = (both * both + serve * fail) / (both * (serve * repair - arrive * both));
    for seed in 0..4 {
        let answer = with_precision(&failing(1.0 / fail, 1.0 / repair), 0.3, seed);
        assert_eq!(answer.simulation.stopped, "precision");
        assert!(answer.warnings.is_empty(), "{:?}", answer.warnings);
        let ends = answer.classes["jobs"].confidence_interval["response_time_s"];
        assert!(covers(ends, exact), "{ends:?} {exact}");
    }
}

#[test]
fn a_warning_counts_failures_in_words() {
    let mut warnings = Vec::new();
    for seed in 0..40 {
        let settings = Settings {
            seed,
            ..fixed(200_000)
        };
        let outcome = simulate(&[model(failing(1e5, 100.0))], &settings).unwrap();
        warnings.extend(outcome.answers[0].warnings.clone());
    }
    let has = |text: &str| warnings.iter().any(|warning| warning.contains(text));
    assert!(
        has("failed once: the figures") && has("failed 2 times"),
        "{warnings:?}"
    );
    assert!(!has("failed 1 times"), "{warnings:?}");
}

/// The interval of a difference of percentiles must contain the exact difference in 88 to 99 of 100 runs of 200,000
/// events.
///
/// The models are M/M/1 at utilizations of 0.8 and 0.72, so response times are exponential with means of 1 / 0.2 = 5 s
/// and 0.9 / 0.28 s.
#[test]
fn percentiles_of_alternatives_are_those_of_their_answers() {
    let models = [1.0, 0.9].map(|time| model(single(0.8, json!({"services": service(time)}))));
    let runs = 100;
    for events in [40_000, 200_000] {
        let mut held = [0, 0];
        for seed in 0..runs {
            let settings = Settings {
                seed,
                ..fixed(events)
            };
            let outcome = simulate(&models, &settings).unwrap();
            for (place, (name, share)) in [("p95", 0.95), ("p99", 0.99_f64)].into_iter().enumerate()
            {
                let found =
                    &outcome.comparisons[0].figures[format!("classes.jobs.{name}").as_str()];
                let [first, second] = [0, 1].map(|at: usize| {
                    outcome.answers[at].classes["jobs"].response_time_percentiles_s[name]
                });
                assert!((found.first - first).abs() <= 1e-12 * first, "{found:?}");
                assert!((found.second - second).abs() <= 1e-12 * second, "{found:?}");
                assert!(
                    (found.difference - (second - first)).abs() < 1e-9,
                    "{found:?}"
                );
                let exact = -(0.9 / 0.28 - 5.0) * (1.0 - share).ln();
                let [low, high] = found.confidence_interval;
                held[place] += u32::from(low <= exact && exact <= high);
            }
        }
        for count in held.into_iter().filter(|_| events > 100_000) {
            let coverage = f64::from(count) / runs as f64;
            assert!((0.88..=0.99).contains(&coverage), "{events}: {coverage}");
        }
    }
}

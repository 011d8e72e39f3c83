//! The simulator against exact answers, its intervals against their promise, and that seeds make runs.

use serde_json::{Value, json};
use towtank_queueing::model::Model;
use towtank_queueing::simulate::answer::Answer;
use towtank_queueing::simulate::{Outcome, Settings, simulate};
use towtank_queueing::solve::{Method, solve};

fn model(value: Value) -> Model {
    serde_json::from_value(value).expect("the model is right")
}

/// One open class `jobs` at one station `s`.
fn single(rate: f64, station: Value) -> Value {
    let mut station = station;
    station["name"] = json!("s");
    json!({"classes": [{"name": "jobs", "arrival_rate_per_s": rate}], "stations": [station]})
}

fn service(time: f64) -> Value {
    json!([{"class": "jobs", "service_time_s": time}])
}

fn fixed(events: u64) -> Settings {
    Settings { precision: 1e-12, events_at_most: events, ..Settings::default() }
}

fn run(value: Value, events: u64) -> Answer {
    let outcome = simulate(&[model(value)], &fixed(events)).expect("the model is right");
    outcome.answers.into_iter().next().expect("there is one answer")
}

/// Whether a value lies in an interval that is stretched: six half-widths and a hundredth of a per cent, which chance
/// leaves once in a thousand tests of ten replications.
fn covers(ends: [f64; 2], exact: f64) -> bool {
    let (middle, half) = (f64::midpoint(ends[0], ends[1]), 0.5 * (ends[1] - ends[0]));
    (middle - exact).abs() <= 2.2 * half + 1e-4 * exact.abs()
}

#[track_caller]
fn check(answer: &Answer, class: &str, figure: &str, exact: f64, within: f64) {
    let ends = answer.classes[class].confidence_interval[figure];
    assert!(covers(ends, exact), "{class}.{figure}: {ends:?} must cover {exact}");
    let middle = f64::midpoint(ends[0], ends[1]);
    assert!((middle / exact - 1.0).abs() < within, "{class}.{figure}: {middle} must be near {exact}");
}

#[test]
fn single_server_has_its_mean_and_percentiles() {
    let answer = run(single(0.8, json!({"services": service(1.0)})), 20_000_000);
    // M/M/1: R is exponential with mean 1 / (1 - 0.8) = 5.
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
    let answer = run(single(3.2, json!({"servers": 4, "services": service(1.0)})), 8_000_000);
    let exact = solve(&model(single(3.2, json!({"servers": 4, "services": service(1.0)}))), Method::Exact).unwrap();
    check(&answer, "jobs", "response_time_s", exact.classes["jobs"].response_time_s, 0.02);
}

#[test]
fn constant_service_halves_the_wait() {
    let services = json!([{"class": "jobs", "service_time_s": 1.0, "variation": {"scv": 0.0}}]);
    let answer = run(single(0.8, json!({ "services": services })), 8_000_000);
    // Pollaczek and Khinchine: W = U S (1 + scv) / (2 (1 - U)) = 2.
    check(&answer, "jobs", "response_time_s", 3.0, 0.02);
}

#[test]
fn service_of_any_variation_follows_pollaczek_and_khinchine() {
    for (distribution, scv) in [("hyperexponential", 4.0), ("gamma", 0.5), ("lognormal", 2.0), ("erlang", 0.25)] {
        let services = json!([{"class": "jobs", "service_time_s": 1.0,
            "variation": {"scv": scv, "distribution": distribution}}]);
        let answer = run(single(0.6, json!({ "services": services })), 8_000_000);
        check(&answer, "jobs", "response_time_s", 1.0 + 0.6 * (1.0 + scv) / 0.8, 0.04);
    }
}

#[test]
fn sharing_does_not_feel_the_variation() {
    for scv in [0.0, 1.0, 5.0] {
        let services = json!([{"class": "jobs", "service_time_s": 1.0, "variation": {"scv": scv}}]);
        for discipline in ["ps", "lcfs-pr"] {
            let answer = run(single(0.7, json!({"discipline": discipline, "services": services})), 6_000_000);
            check(&answer, "jobs", "response_time_s", 1.0 / 0.3, 0.04);
        }
    }
}

#[test]
fn full_stations_lose_what_erlang_says() {
    let station = json!({"servers": 2, "capacity": 5, "services": service(1.0)});
    let answer = run(single(2.4, station.clone()), 6_000_000);
    let exact = solve(&model(single(2.4, station)), Method::Exact).unwrap();
    check(&answer, "jobs", "dropped_per_s", exact.classes["jobs"].dropped_per_s, 0.02);
    check(&answer, "jobs", "response_time_s", exact.classes["jobs"].response_time_s, 0.02);
}

#[test]
fn priorities_follow_cobham() {
    // Two classes of rate 0.4 and mean service 1: W0 = 0.8, W1 = W0 / (1 - 0.4), W2 = W0 / ((1 - 0.4) (1 - 0.8)).
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
    // Preemptive resume: R1 as if alone; R2 = S / (1 - 0.4) + 0.8 / ((1 - 0.4) (1 - 0.8)).
    check(&answer, "first", "response_time_s", 1.0 / 0.6, 0.02);
    check(&answer, "last", "response_time_s", 1.0 / 0.6 + 0.8 / 0.12, 0.04);
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
        check(&answer, class, "throughput_per_s", exact.classes[class].throughput_per_s, 0.01);
        check(&answer, class, "response_time_s", exact.classes[class].response_time_s, 0.01);
    }
    for station in ["cpu", "disk", "lan"] {
        let (found, exact) = (&answer.stations[station], &exact.stations[station]);
        assert!((found.queue_length / exact.queue_length - 1.0).abs() < 0.02, "{station}");
        assert!((found.utilization - exact.utilization).abs() < 0.01, "{station}");
        for class in ["a", "b"] {
            assert!((found.residence_time_s[class] / exact.residence_time_s[class] - 1.0).abs() < 0.02, "{station}");
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
        check(&answer, "a", "response_time_s", exact.classes["a"].response_time_s, 0.01);
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
    check(&answer, "a", "response_time_s", exact.classes["a"].response_time_s, 0.02);
}

#[test]
fn forks_of_two_follow_nelson_and_tantawi() {
    let value = json!({"classes": [{"name": "a", "arrival_rate_per_s": 0.6}],
        "stations": [{"name": "x", "services": [{"class": "a", "service_time_s": 1.0}]},
                     {"name": "y", "services": [{"class": "a", "service_time_s": 1.0}]}],
        "forks": [{"name": "both", "branches": [["x"], ["y"]]}]});
    // IEEE Trans. Computers 37(6), 1988: R = (12 - U)/8 R1, exact for two branches.
    check(&run(value, 10_000_000), "a", "response_time_s", 11.4 / 8.0 / 0.4, 0.02);
}

#[test]
fn a_pool_over_a_delay_is_a_station_of_as_many_servers() {
    let value = json!({"classes": [{"name": "a", "arrival_rate_per_s": 3.0}],
        "stations": [{"name": "d", "discipline": "delay", "services": [{"class": "a", "service_time_s": 1.0}]}],
        "pools": [{"name": "threads", "size": 4, "holds": ["d"]}]});
    let answer = run(value, 6_000_000);
    let exact = solve(&model(single(3.0, json!({"servers": 4, "services": service(1.0)}))), Method::Exact).unwrap();
    check(&answer, "a", "response_time_s", exact.classes["jobs"].response_time_s, 0.02);
    assert!((answer.pools["threads"].utilization - 0.75).abs() < 0.01);
}

/// Intervals promise 95 %: of 200 short runs 180 to 198 must cover, which a true 95 % leaves once in some thousands.
#[test]
fn intervals_cover_as_often_as_they_promise() {
    let plan = model(single(0.6, json!({"services": service(1.0)})));
    let mut covered = [0; 2];
    for seed in 0..200 {
        let settings = Settings { seed: 1000 + seed, threads: Some(1), ..fixed(200_000) };
        let outcome = simulate(std::slice::from_ref(&plan), &settings).unwrap();
        let class = &outcome.answers[0].classes["jobs"];
        for (count, (figure, exact)) in covered.iter_mut().zip([("response_time_s", 2.5), ("p95", -2.5 * 0.05_f64.ln())]) {
            let ends = class.confidence_interval[figure];
            *count += u32::from(ends[0] <= exact && exact <= ends[1]);
        }
    }
    assert!(covered.iter().all(|count| (180..=198).contains(count)), "{covered:?}");
}

#[test]
fn the_answer_does_not_depend_on_threads() {
    let plan = model(single(0.8, json!({"discipline": "ps", "services": service(1.0)})));
    let text = |threads: usize, seed: u64| {
        let settings = Settings { precision: 0.03, threads: Some(threads), seed, ..Settings::default() };
        serde_json::to_string(&simulate(std::slice::from_ref(&plan), &settings).unwrap().answers).unwrap()
    };
    assert_eq!(text(1, 5), text(7, 5));
    assert_ne!(text(1, 5), text(1, 6));
}

#[test]
fn it_stops_when_it_knows_enough_and_says_why() {
    let plan = model(single(0.5, json!({"services": service(1.0)})));
    let settings = Settings { precision: 0.02, ..Settings::default() };
    let answer = simulate(std::slice::from_ref(&plan), &settings).unwrap().answers.remove(0);
    assert_eq!(answer.simulation.stopped, "precision");
    assert!(answer.simulation.precision_reached <= 0.02 && answer.warnings.is_empty());
    let answer = simulate(&[plan], &fixed(50_000)).unwrap().answers.remove(0);
    assert_eq!((answer.simulation.stopped, answer.warnings.len()), ("events", 1));
}

#[test]
fn common_random_numbers_make_differences_sharp() {
    let plans = [0.80, 0.76].map(|time| model(single(1.0, json!({"services": service(time)}))));
    let Outcome { comparisons, .. } = simulate(&plans, &fixed(4_000_000)).unwrap();
    let response = &comparisons[0].figures["classes.jobs.response_time_s"];
    // M/M/1: 0.76 / 0.24 - 0.8 / 0.2 = -0.8333.
    assert!(covers(response.confidence_interval, 0.76 / 0.24 - 4.0), "{response:?}");
    assert!(response.differs && response.variance_ratio < 0.2, "{response:?}");
}

#[test]
fn what_has_no_steady_state_is_told() {
    let answer = run(single(1.2, json!({"services": service(1.0)})), 2_000_000);
    assert!(!answer.steady && answer.warnings[0].contains("no steady state"), "{:?}", answer.warnings);
}

fn with_behaviour(mut value: Value, behaviour: Value) -> Value {
    value["behaviour"] = behaviour;
    value
}

#[test]
fn a_balancer_at_random_is_what_analysis_says_and_the_shortest_queue_is_better() {
    let group = |policy: &str| {
        let station = |name: &str| json!({"name": name, "services": [{"class": "jobs", "service_time_s": 1.0, "visits": 0.5}]});
        let value = json!({"classes": [{"name": "jobs", "arrival_rate_per_s": 1.4}], "stations": [station("x"), station("y")]});
        run(with_behaviour(value, json!({"balancers": [{"name": "b", "policy": policy, "stations": ["x", "y"]}]})), 6_000_000)
    };
    let random = group("random");
    check(&random, "jobs", "response_time_s", 1.0 / 0.3, 0.02);
    let mean = |answer: &Answer| answer.classes["jobs"].response_time_s;
    let [turns, two, shortest] = ["round-robin", "power-of-two", "shortest-queue"].map(|policy| mean(&group(policy)));
    // Round robin makes Erlang-2 arrivals; two of two is the shortest of all, up to ties.
    assert!(mean(&random) > turns && turns > shortest, "{turns} {shortest}");
    assert!((two / shortest - 1.0).abs() < 0.03, "{two} {shortest}");
    // Nobody does better than two servers with one queue, M/M/2: 1 / (1 - 0.49).
    assert!(shortest > 1.0 / 0.51, "{shortest}");
}

#[test]
fn round_robin_makes_erlang_arrivals() {
    let station = |name: &str| json!({"name": name, "services": [{"class": "jobs", "service_time_s": 1.0, "visits": 0.5}]});
    let value = json!({"classes": [{"name": "jobs", "arrival_rate_per_s": 1.4}], "stations": [station("x"), station("y")]});
    let balancers = json!({"balancers": [{"name": "b", "policy": "round-robin", "stations": ["x", "y"]}]});
    // E2/M/1: s = (2.8 / (2.8 - 1 + ...))^2 has the root s of s = (1.4 / (1.4 + 1 - s))^2 below 1; R = 1 / (1 - s).
    let root = (0..200).fold(0.5_f64, |s, _| (1.4 / (2.4 - s)).powi(2));
    check(&run(with_behaviour(value, balancers), 8_000_000), "jobs", "response_time_s", 1.0 / (1.0 - root), 0.02);
}

#[test]
fn a_station_that_fails_serves_as_long_as_it_is_up() {
    // M/M/1 with failures at any time, exponential up 1/f and down 1/r (Avi-Itzhak and Naor, Oper. Res. 11, 1963):
    // E[C] = S (1 + f/r), E[C²] = 2 S² (1 + f/r)² + 2 S f/r². With the set-up wait of those who find it idle and down.
    let (rate, up, down) = (0.5, 50.0, 5.0);
    let value = with_behaviour(
        single(rate, json!({"services": service(1.0)})),
        json!({"failures": [{"station": "s", "up_s": up, "down_s": down}]}),
    );
    let answer = run(value, 10_000_000);
    let station = &answer.stations["s"];
    assert!((station.availability - 10.0 / 11.0).abs() < 0.003, "{}", station.availability);
    // White and Christie, Oper. Res. 6, 1958: preemptive resume by failures that arrive at rate f while up and last 1/r.
    // L = rho' / (1 - rho') (1 + ...) is worked out by generating functions of the chain (n, up or down):
    check(&answer, "jobs", "response_time_s", mean_with_failures(rate, 1.0, 1.0 / up, 1.0 / down) / rate, 0.03);
}

/// Mean number in an M/M/1 with failures, from its Markov chain with 2,000 levels by forward substitution of R.
fn mean_with_failures(arrivals: f64, service: f64, fail: f64, repair: f64) -> f64 {
    // Power iteration of the uniformized chain on (n, up), n < 400: slow, plain, independent.
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
    now.iter().enumerate().map(|(level, [down, up])| level as f64 * (down + up)).sum()
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
fn impatience_without_retries_is_a_queue_with_reneging() {
    // M/D-patience: with constant patience T on the whole stay of an M/M/1 the served fraction is known only for waits; a
    // delay has an exact answer: a stay longer than T fails, e^-T of all.
    let value = json!({"classes": [{"name": "jobs", "arrival_rate_per_s": 2.0}],
        "stations": [{"name": "d", "discipline": "delay", "services": [{"class": "jobs", "service_time_s": 1.0}]}]});
    for on_timeout in ["cancel", "continue"] {
        let behaviour = json!({"patience": [{"class": "jobs", "timeout_s": 1.5, "on_timeout": on_timeout}]});
        let answer = run(with_behaviour(value.clone(), behaviour), 3_000_000);
        check(&answer, "jobs", "failed_per_s", 2.0 * (-1.5_f64).exp(), 0.02);
        // Work that goes on keeps its place: 2 jobs; a cancelled stay is min(S, T).
        let jobs = if on_timeout == "continue" { 2.0 } else { 2.0 * (1.0 - (-1.5_f64).exp()) };
        assert!((answer.stations["d"].queue_length / jobs - 1.0).abs() < 0.01, "{on_timeout}");
    }
    let behaviour = json!({"patience": [{"class": "jobs", "timeout_s": 1.5, "retries": 2, "retry_delay_s": 0.5, "on_timeout": "cancel"}]});
    let answer = run(with_behaviour(value, behaviour), 3_000_000);
    let late = (-1.5_f64).exp();
    check(&answer, "jobs", "retried_per_s", 2.0 * (late + late * late), 0.02);
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
        // Users who think and users in the system are all there are: N = (X + failed) Z + users in system.
        let users = (class.throughput_per_s + class.failed_per_s) * 10.0 + class.users_in_system;
        assert!((users / 30.0 - 1.0).abs() < 0.01, "{discipline}: {users}");
        assert!(class.timed_out_per_s > 0.0 && answer.pools["p"].held <= 5.0);
        let inside: f64 = ["s", "t"].iter().map(|name| answer.stations[*name].queue_length).sum();
        let held = answer.pools["p"].held;
        assert!((inside / held - 1.0).abs() < 0.01, "{discipline}: {inside} {held}");
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
    assert!(more.utilization > less.utilization + 0.05, "{} {}", less.utilization, more.utilization);
    // Goodput falls though the station works more.
    assert!(pushing.classes["jobs"].throughput_per_s < patient.classes["jobs"].throughput_per_s);
}

#[test]
fn a_cache_answers_its_share() {
    let value = single(0.8, json!({"services": service(2.0)}));
    let behaviour = json!({"caches": [{"station": "s", "hit_ratio": 0.75, "hit_time_s": 0.1}]});
    let answer = run(with_behaviour(value.clone(), behaviour), 4_000_000);
    // Misses make an M/M/1 of rate 0.2 and service 2: R = 2 / 0.6.
    check(&answer, "jobs", "response_time_s", 0.75 * 0.1 + 0.25 * 2.0 / 0.6, 0.02);
    // Keys all alike: each is among the last 300 of 1000 with that share.
    let behaviour = json!({"caches": [{"station": "s", "items": 300, "keys": 1000, "skew": 0.0}]});
    let answer = run(with_behaviour(single(0.1, json!({"services": service(2.0)})), behaviour), 2_000_000);
    assert!((answer.stations["s"].hit_ratio - 0.3).abs() < 0.005, "{}", answer.stations["s"].hit_ratio);
}

/// Hit ratio of a least-recently-used cache by Che's approximation, which is near for many keys (Fricker et al. 2012).
#[test]
fn a_cache_under_zipf_is_near_che() {
    let (items, keys, skew) = (100.0_f64, 10_000, 0.8);
    let weights: Vec<f64> = (1..=keys).map(|rank| f64::from(rank).powf(-skew)).collect();
    let total: f64 = weights.iter().sum();
    let within = |time: f64| weights.iter().map(move |weight| 1.0 - (-weight / total * time).exp());
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if within(middle).sum::<f64>() < items { low = middle } else { high = middle }
    }
    let ratio: f64 = weights.iter().zip(within(low)).map(|(weight, share)| weight / total * share).sum();
    let behaviour = json!({"caches": [{"station": "s", "items": 100, "keys": keys, "skew": skew}]});
    let answer = run(with_behaviour(single(0.1, json!({"services": service(2.0)})), behaviour), 4_000_000);
    assert!((answer.stations["s"].hit_ratio / ratio - 1.0).abs() < 0.02, "{} {ratio}", answer.stations["s"].hit_ratio);
}

#[test]
fn many_levels_of_a_small_quantum_favour_short_jobs() {
    let services = json!([{"class": "jobs", "service_time_s": 1.0, "variation": {"scv": 8.0}}]);
    let value = single(0.7, json!({ "services": services }));
    let plain = run(value.clone(), 4_000_000);
    check(&plain, "jobs", "response_time_s", 1.0 + 0.7 * 9.0 / 0.6, 0.05);
    // One level in turns of a quantum that is small is processor sharing: R = S / (1 - U), whatever the variation.
    let turns = json!({"feedback": [{"station": "s", "quantum_s": 0.01, "levels": 1}]});
    let shared = run(with_behaviour(value.clone(), turns), 40_000_000);
    check(&shared, "jobs", "response_time_s", 1.0 / 0.3, 0.06);
    // Fewest served first beats sharing where long jobs may yet be longer.
    let levels = json!({"feedback": [{"station": "s", "quantum_s": 0.5, "levels": 6}]});
    let feedback = run(with_behaviour(value, levels), 6_000_000);
    assert!(feedback.classes["jobs"].response_time_s < 0.9 / 0.3, "{}", feedback.classes["jobs"].response_time_s);
}

#[test]
fn measured_times_have_their_variation() {
    let behaviour = json!({"samples": [{"station": "s", "class": "jobs", "values_s": [1.0, 1.0, 4.0]}]});
    let answer = run(with_behaviour(single(0.6, json!({"services": service(1.0)})), behaviour), 6_000_000);
    // Values 1, 1, 4 have scv 0.5: W = 0.6 * 1.5 / 0.8.
    check(&answer, "jobs", "response_time_s", 1.0 + 0.6 * 1.5 / 0.8, 0.02);
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
    let faults = simulate(&[model(value)], &Settings::default()).err().expect("the model is wrong");
    let text: Vec<String> = faults.iter().map(ToString::to_string).collect();
    for part in ["nobody", "above 0, got -1", "above 0, got 0", "another station", "two stations", "1.5", "discipline 'ps'"] {
        assert!(text.iter().any(|fault| fault.contains(part)), "{part} in {text:#?}");
    }
}

#[test]
fn analysis_refuses_what_it_cannot_know() {
    let value = with_behaviour(
        single(0.6, json!({"services": service(1.0)})),
        json!({"patience": [{"class": "jobs", "timeout_s": 1.0}]}),
    );
    let faults = solve(&model(value), Method::Auto).unwrap_err();
    assert!(faults[0].to_string().contains("model simulate"), "{faults:?}");
}

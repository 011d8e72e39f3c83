//! Tests of closed and open loads: the number of users, waiting arrivals, requests that never start, and the end of the
//! run.

mod support;

use serde_json::{Value, json};
use support::{Reply, Server, answer, closed, get, plan_of, run};

fn open(arrivals: &str, rate: f64, seconds: f64, users: u32, backlog: u64) -> Value {
    json!({"kind": "open", "arrivals": arrivals, "users_at_most": users, "backlog_at_most": backlog, "stages": [
        {"name": "hold", "phase": "steady", "level": 0, "duration_s": seconds, "rate": rate}]})
}

fn total(results: &support::Results, key: &str) -> u64 {
    let value = results.engine["totals"].pointer(key);
    value.and_then(Value::as_u64).unwrap_or(0)
}

/// Returns the sum of a number over all interval lines. Lines without this number are left out.
fn sum(results: &support::Results, number: impl Fn(&Value) -> Option<u64>) -> u64 {
    results
        .lines
        .iter()
        .filter(|line| line["k"] == "interval")
        .filter_map(number)
        .sum()
}

/// Returns, from an interval line, the number of times that each transaction was chosen.
fn picks(line: &Value) -> Vec<u64> {
    let series = line["series"].as_array().expect("series");
    series
        .iter()
        .filter_map(|line| line["picked"].as_u64())
        .collect()
}

#[test]
fn an_open_load_offers_every_arrival_with_any_number_of_threads() {
    for threads in [1, 3] {
        let server = Server::start(|_| answer(200, "", ""));
        let mut plan = plan_of(server.address, &json!([get(0, &json!(["/"]))]));
        plan["threads"] = json!(threads);
        plan["load"] = open("constant", 200.0, 0.5, 50, 1000);
        let results = run(plan);
        results.check_identity();
        assert_eq!(total(&results, "/offered"), 100);
        assert_eq!(
            total(&results, "/ok") + total(&results, "/not_started/stopped"),
            100
        );
        let index: Vec<_> = results
            .lines
            .iter()
            .filter(|line| line["k"] == "header")
            .collect();
        assert_eq!(index.len(), threads);
        let arrivals = sum(&results, |line| line["arrivals"][0].as_u64());
        assert_eq!(arrivals, 100);
        // Each gap between arrivals is counted by only one thread. The sum of the gaps is therefore the intended start
        // of the last arrival: `99 * 5 ms = 495 ms`.
        let gaps_ns = sum(&results, |line| line["gaps_sum_ns"].as_u64());
        assert_eq!(gaps_ns, 495_000_000);
        let picked = sum(&results, |line| {
            picks(line).into_iter().reduce(|a, b| a + b)
        });
        assert_eq!(picked, 100 - total(&results, "/not_started/stopped"));
    }
}

#[test]
fn arrivals_beyond_users_and_backlog_overflow_and_those_left_are_stopped() {
    let server = Server::start(|_| Reply::Hang);
    let mut plan = plan_of(server.address, &json!([get(0, &json!(["/"]))]));
    plan["timeouts"]["drain_s"] = json!(0.1);
    plan["load"] = open("constant", 100.0, 0.3, 2, 5);
    let results = run(plan);
    results.check_identity();
    assert_eq!(total(&results, "/offered"), 30);
    assert_eq!(total(&results, "/in_flight"), 2);
    assert_eq!(total(&results, "/not_started/stopped"), 5);
    assert_eq!(total(&results, "/not_started/overflow"), 23);
    assert_eq!(results.count("step", 0, "/not_started/overflow"), 23);
}

#[test]
fn a_waiting_arrival_keeps_its_intended_start() {
    let server = Server::start(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        answer(200, "", "")
    });
    let mut plan = plan_of(server.address, &json!([get(0, &json!(["/"]))]));
    plan["load"] = open("constant", 40.0, 2.0, 1, 100);
    let results = run(plan);
    results.check_identity();
    let ok = total(&results, "/ok");
    assert!(ok >= 2, "{ok}");
    // Arrivals come every 25 ms, but the only user takes 50 ms for each. Arrival k waits at least `50 k - 25 k` ms.
    let waited_ns =
        results.count("step", 0, "/response_sum_ns") - results.count("step", 0, "/exchange_sum_ns");
    assert!(
        waited_ns >= 25_000_000 * ok * (ok - 1) / 2,
        "{waited_ns} {ok}"
    );
}

#[test]
fn requests_that_get_no_answer_in_the_drain_are_in_flight() {
    let server = Server::start(|_| Reply::Hang);
    let mut plan = plan_of(server.address, &json!([get(0, &json!(["/"]))]));
    plan["timeouts"]["drain_s"] = json!(0.1);
    plan["threads"] = json!(2);
    plan["load"] = closed(5, 1.0);
    let results = run(plan);
    results.check_identity();
    assert_eq!(total(&results, "/in_flight"), 5);
    let ends: Vec<_> = results
        .lines
        .iter()
        .filter(|line| line["k"] == "end")
        .collect();
    assert_eq!(ends.len(), 2);
    assert!(ends.iter().all(|line| line["reason"] == "finished"));
}

#[test]
fn intervals_tile_the_run_and_never_span_two_stages() {
    let server = Server::start(|_| answer(200, "", ""));
    let mut plan = plan_of(server.address, &json!([get(0, &json!(["/"]))]));
    plan["groups"][0]["think"] = json!({"dist": "fixed", "mean_s": 0.02});
    plan["load"]["stages"] = json!([
        {"name": "up", "phase": "ramp_up", "level": 0, "duration_s": 0.3, "users": 3},
        {"name": "hold", "phase": "steady", "level": 0, "duration_s": 1.0, "users": 3},
        {"name": "down", "phase": "ramp_down", "level": 0, "duration_s": 0.2, "users": 0}]);
    plan["load"]["users_at_most"] = json!(3);
    let results = run(plan);
    results.check_identity();
    let number = |line: &Value, key: &str| line[key].as_u64().expect("a number");
    let edges: Vec<_> = results
        .intervals()
        .map(|line| {
            (
                number(line, "t0_ns"),
                number(line, "t1_ns"),
                number(line, "stage"),
            )
        })
        .collect();
    let planned = [
        (0, 300_000_000, 0),
        (300_000_000, 1_000_000_000, 1),
        (1_000_000_000, 1_300_000_000, 1),
        (1_300_000_000, 1_500_000_000, 2),
    ];
    assert_eq!(edges[..4], planned);
    assert!(edges.windows(2).all(|pair| pair[0].1 == pair[1].0));
    let all_users = results
        .intervals()
        .find(|line| line["t0_ns"] == 1_000_000_000)
        .expect("an interval");
    // The numbers are checked only if the machine did not stall, as a stall delays the starts of users.
    if results
        .intervals()
        .all(|line| line.get("stalled_ns").is_none())
    {
        assert_eq!(all_users["user_ns"], 3 * 300_000_000_u64);
        assert_eq!(all_users["users"], 3);
    }
    assert_eq!(results.intervals().last().expect("the last")["users"], 0);
}

#[test]
fn pacing_counts_from_intended_start_to_intended_start() {
    let server = Server::start(|_| answer(200, "", ""));
    let mut plan = plan_of(server.address, &json!([get(0, &json!(["/"]))]));
    plan["groups"][0]["think"] = Value::Null;
    plan["groups"][0]["pacing"] = json!({"dist": "fixed", "mean_s": 0.1});
    plan["load"] = closed(1, 0.45);
    let results = run(plan);
    results.check_identity();
    // As long as responses take less than 0.1 s, the intended starts are 0, 0.1, 0.2, 0.3 and 0.4 s. At most
    // 5 transactions are therefore made.
    let (ok, think) = (
        total(&results, "/ok"),
        results
            .intervals()
            .filter_map(|line| line["think"]["sum_ns"].as_u64())
            .sum::<u64>(),
    );
    let spent = results.count("transaction", 0, "/response_sum_ns");
    assert!(
        ok >= 1 && think + spent <= ok * 100_000_000 + spent,
        "{ok} {think} {spent}"
    );
    assert!(ok <= 5);
}

#[test]
fn a_user_without_requests_or_pauses_does_not_stop_the_thread() {
    let server = Server::start(|_| answer(200, "", ""));
    let spin = json!([{"op": "set", "variable": 0, "value": ["x"]}]);
    let mut plan = plan_of(server.address, &json!([get(0, &json!(["/"]))]));
    let mut second = plan["groups"][0].clone();
    second["mix"] = json!([{"transaction": 1, "weight": 1.0}]);
    second["think"] = Value::Null;
    second["share"] = json!(0.5);
    plan["groups"][0]["share"] = json!(0.5);
    plan["groups"] = json!([plan["groups"][0], second]);
    plan["transactions"] = json!([plan["transactions"][0], {"name": "spin", "ops": spin}]);
    plan["load"] = closed(2, 0.2);
    let results = run(plan);
    results.check_identity();
    assert_eq!(total(&results, "/ok"), 1);
    assert!(results.count("transaction", 1, "/ok") > 100);
}

#[test]
fn round_robin_goes_through_the_addresses() {
    let servers = [0, 1].map(|_| Server::start(|_| answer(200, "Connection: close\r\n", "")));
    let request = get(0, &json!(["/"]));
    let mut plan = plan_of(
        servers[0].address,
        &json!([request, request, request, request]),
    );
    plan["targets"][0]["addresses"] = json!([
        servers[0].address.to_string(),
        servers[1].address.to_string()
    ]);
    run(plan).check_identity();
    assert_eq!(servers.each_ref().map(|server| server.seen().len()), [2, 2]);
}

#[test]
fn a_pause_between_transactions_counts_where_it_begins_and_a_pick_before_it_ends() {
    let server = Server::start(|_| answer(200, "", ""));
    let mut plan = plan_of(server.address, &json!([get(0, &json!(["/"]))]));
    plan["groups"][0]["think"] = json!({"dist": "fixed", "mean_s": 60.0});
    plan["load"] = closed(3, 0.3);
    let results = run(plan);
    results.check_identity();
    assert_eq!(sum(&results, |line| line["think"]["count"].as_u64()), 0);
    let begun_ns = sum(&results, |line| line["thinks"][0]["pause_sum_ns"].as_u64());
    assert_eq!(begun_ns, 3 * 60_000_000_000);
    let picked = sum(&results, |line| {
        picks(line).into_iter().reduce(|a, b| a + b)
    });
    assert_eq!(picked, 3);
}

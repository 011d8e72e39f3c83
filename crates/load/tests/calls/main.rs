//! Tests of the behaviour that the calls of all drivers have in common, with a stub server.

#[path = "../support/mod.rs"]
mod support;

mod directory;
mod mysql;
mod stub;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use stub::{DATABASES, PROTOCOLS, Protocol, Reply, Seen, Stub};
use support::{Results, closed, plan_of, run};

fn plan(stub: &Stub, ops: &Value) -> Value {
    let mut plan = plan_of(stub.address, ops);
    plan["targets"] = json!([stub.target()]);
    plan["groups"][0]["think"] = Value::Null;
    plan
}

fn answers(protocol: Protocol) -> Stub {
    Stub::start(protocol, |_| Reply::Row("7".to_owned()))
}

/// Executes the transaction of a plan `times` times per user: once in the load and `times - 1` times in `exit`, which
/// the end of the load does not interrupt. Each execution takes a new row of values.
fn so_often(mut plan: Value, times: usize) -> Value {
    let rows: Vec<Value> = (0..times)
        .map(|number| json!([number.to_string()]))
        .collect();
    plan["pools"] = json!([{"name": "p", "columns": ["n"], "order": "unique", "rows": rows}]);
    let ops = plan["transactions"][0]["ops"]
        .as_array_mut()
        .expect("operations");
    ops.insert(0, json!({"op": "draw", "pool": 0, "variables": [0]}));
    let pause = json!({"op": "think", "pause": {"dist": "fixed", "mean_s": 0.01}});
    let again = json!({"op": "transaction", "transaction": 0});
    plan["groups"][0]["think"] = json!({"dist": "fixed", "mean_s": 100.0});
    plan["groups"][0]["exit"] = json!([{"op": "loop", "count": times - 1, "ops": [pause, again]}]);
    plan
}

/// Returns `true` if an operation of a user caused this call, `false` if the driver sent it on its own.
fn is_asked(seen: &Seen) -> bool {
    seen.text != "ROLLBACK" && !seen.text.starts_with('<')
}

fn asked(stub: &Stub) -> usize {
    stub.seen().into_iter().filter(is_asked).count()
}

fn counted(results: &Results, stub: &Stub) {
    results.check_identity();
    let started = results.engine["totals"]["started"]
        .as_u64()
        .expect("a count");
    assert_eq!(started, asked(stub) as u64);
}

#[test]
fn calls_are_counted_as_the_server_counts_them_and_statements_prepared_once() {
    for protocol in PROTOCOLS {
        let stub = answers(protocol);
        let ops = json!([
            protocol.call(0, "select $1", &json!([[{"variable": 0}]])),
            protocol.call(1, "select 2", &json!([]))
        ]);
        let results = run(so_often(plan(&stub, &ops), 20));
        counted(&results, &stub);
        assert_eq!(results.count("step", 0, "/ok"), 20);
        assert_eq!(results.count("step", 1, "/ok"), 20);
        let values: Vec<String> = stub
            .seen()
            .iter()
            .flat_map(|seen| seen.values.clone())
            .collect();
        let expected: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        assert_eq!(values, expected);
        if DATABASES.contains(&protocol) {
            assert_eq!(stub.prepared.load(Ordering::Relaxed), 2);
        }
        let connections: Vec<usize> = stub.seen().iter().map(|seen| seen.connection).collect();
        assert!(
            connections.iter().all(|count| *count == 0),
            "one session for the user"
        );
    }
}

#[test]
fn a_wait_behind_a_slow_call_counts_from_the_intended_start() {
    for protocol in PROTOCOLS {
        let count = AtomicUsize::new(0);
        let slow = Duration::from_millis(400);
        let stub = Stub::start(protocol, move |_| {
            match count.fetch_add(1, Ordering::Relaxed) {
                2 => Reply::Late(slow, "7".to_owned()),
                _ => Reply::Row("7".to_owned()),
            }
        });
        let mut plan = plan(&stub, &json!([protocol.call(0, "select 1", &json!([]))]));
        plan["load"] = json!({"kind": "open", "arrivals": "constant", "users_at_most": 1, "backlog_at_most": 1000,
            "stages": [{"name": "s", "phase": "steady", "level": 0, "duration_s": 2.0, "rate": 20.0}]});
        let results = run(plan);
        counted(&results, &stub);
        let totals = &results.engine["totals"];
        let stopped = totals["not_started"]["stopped"].as_u64().unwrap_or(0);
        assert_eq!(totals["ok"].as_u64().map(|ok| ok + stopped), Some(40));
        // The next arrival waits for the slow call: `400 - 50 = 350` ms.
        let lag_ms = results.engine["generator"]["lag_p99_ms"]
            .as_f64()
            .expect("a lag");
        assert!(lag_ms > 300.0, "{lag_ms}");
    }
}

#[test]
fn a_call_out_of_time_is_counted_and_the_load_goes_on_over_a_new_session() {
    for protocol in PROTOCOLS {
        let count = AtomicUsize::new(0);
        let stub = Stub::start(protocol, move |_| {
            match count.fetch_add(1, Ordering::Relaxed) {
                2 => Reply::Hang,
                _ => Reply::Row("7".to_owned()),
            }
        });
        let mut select = protocol.call(0, "select 1", &json!([]));
        select["timeout_s"] = json!(1.0);
        let results = run(so_often(plan(&stub, &json!([select])), 6));
        counted(&results, &stub);
        assert_eq!(results.failed()["timeout"], 1);
        assert_eq!(results.count("step", 0, "/ok"), 5);
        assert_eq!(stub.seen().last().map(|seen| seen.connection), Some(1));
    }
}

#[test]
fn a_server_that_closes_in_the_middle_costs_one_call() {
    for protocol in PROTOCOLS {
        let count = AtomicUsize::new(0);
        let stub = Stub::start(protocol, move |_| {
            match count.fetch_add(1, Ordering::Relaxed) {
                2 => Reply::Close,
                _ => Reply::Row("7".to_owned()),
            }
        });
        let results = run(so_often(
            plan(&stub, &json!([protocol.call(0, "select 1", &json!([]))])),
            6,
        ));
        counted(&results, &stub);
        assert_eq!(results.failed()["closed"], 1);
        assert_eq!(results.count("step", 0, "/ok"), 5);
    }
}

#[test]
fn a_server_that_is_not_there_is_a_failure_to_connect_by_its_reason() {
    for protocol in PROTOCOLS {
        let stub = answers(protocol);
        let mut plan = so_often(
            plan(&stub, &json!([protocol.call(0, "select 1", &json!([]))])),
            3,
        );
        // This port was free immediately before, so no server listens at the address.
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        plan["targets"][0]["addresses"] =
            json!([free.local_addr().expect("an address").to_string()]);
        drop(free);
        let results = run(plan);
        results.check_identity();
        assert_eq!(results.failed()["connect"], 3);
        let reasons = results.engine["connect_failures"]
            .as_object()
            .expect("reasons");
        assert!(
            reasons.keys().all(|reason| reason.contains("refused")),
            "{reasons:?}"
        );
    }
}

#[test]
fn what_is_refused_is_counted_by_its_code_and_keeps_the_session() {
    for protocol in PROTOCOLS {
        let stub = Stub::start(protocol, move |_| Reply::Refuse(protocol.refusal().0));
        let results = run(so_often(
            plan(&stub, &json!([protocol.call(0, "select 1", &json!([]))])),
            4,
        ));
        counted(&results, &stub);
        assert_eq!(results.failed()["refused"], 4);
        assert_eq!(results.engine["calls"]["refusals"][protocol.refusal().1], 4);
        assert!(stub.seen().iter().all(|seen| seen.connection == 0));
    }
}

#[test]
fn a_transaction_that_fails_is_rolled_back_at_once() {
    for protocol in DATABASES {
        let stub = Stub::start(protocol, |seen| match seen.text.as_str() {
            "work" => Reply::Refuse("40P01"),
            _ => Reply::Row("7".to_owned()),
        });
        let none = json!([]);
        let ops = json!([
            protocol.call(0, "begin", &none),
            protocol.call(1, "work", &none),
            protocol.call(0, "commit", &none)
        ]);
        let results = run(so_often(plan(&stub, &ops), 2));
        counted(&results, &stub);
        assert_eq!(
            stub.texts(),
            ["begin", "work", "ROLLBACK", "begin", "work", "ROLLBACK"]
        );
    }
}

/// Returns the statements of each session in the order of arrival. Each statement is paired with the user that caused
/// it.
fn by_session(seen: &[Seen]) -> Vec<Vec<(String, String)>> {
    let sessions = seen
        .iter()
        .map(|seen| seen.connection)
        .max()
        .map_or(0, |most| most + 1);
    let of = |number: usize| {
        let own = seen.iter().filter(move |seen| seen.connection == number);
        own.map(|seen| (seen.text.clone(), seen.values.join(",")))
            .collect()
    };
    (0..sessions).map(of).collect()
}

#[test]
fn a_session_of_a_pool_stays_with_its_user_until_the_transaction_ends() {
    for protocol in DATABASES {
        let stub = answers(protocol);
        let who = json!([[{"function": "user"}]]);
        let ops = json!([
            protocol.call(0, "begin", &json!([])),
            protocol.call(1, "select $1", &who),
            protocol.call(1, "select $1", &who),
            protocol.call(0, "commit", &json!([]))
        ]);
        let mut plan = so_often(plan(&stub, &ops), 30);
        plan["connections"] = json!({"mode": "pool", "size": 2});
        plan["load"] = closed(5, 0.3);
        let results = run(plan);
        counted(&results, &stub);
        assert_eq!(results.count("step", 1, "/ok"), 60);
        let sessions = by_session(&stub.seen());
        assert!(sessions.len() <= 2, "{} sessions", sessions.len());
        for session in sessions {
            for transaction in session.chunks(4) {
                let texts: Vec<&str> = transaction.iter().map(|(text, _)| text.as_str()).collect();
                assert_eq!(texts, ["begin", "select $1", "select $1", "commit"]);
                assert_eq!(transaction[1].1, transaction[2].1, "one user");
            }
        }
    }
}

#[test]
fn a_new_session_each_time_lasts_for_one_call_or_one_transaction() {
    for protocol in DATABASES {
        let stub = answers(protocol);
        let none = json!([]);
        let ops = json!([
            protocol.call(0, "one", &none),
            protocol.call(1, "begin", &none),
            protocol.call(1, "two", &none),
            protocol.call(1, "commit", &none)
        ]);
        let mut plan = so_often(plan(&stub, &ops), 2);
        plan["connections"] = json!({"mode": "new_each_time"});
        let results = run(plan);
        counted(&results, &stub);
        let texts: Vec<Vec<String>> = by_session(&stub.seen())
            .into_iter()
            .map(|session| session.into_iter().map(|(text, _)| text).collect())
            .collect();
        let transaction = ["begin", "two", "commit"].map(str::to_owned).to_vec();
        let single = vec!["one".to_owned()];
        assert_eq!(
            texts,
            [single.clone(), transaction.clone(), single, transaction]
        );
    }
}

#[test]
fn checks_and_values_of_answers_work_as_for_requests() {
    for protocol in PROTOCOLS {
        let stub = answers(protocol);
        let mut takes = protocol.call(0, "select 1", &json!([]));
        takes["extract"] = json!([{"into": {"variable": 1}, "column": "v"}]);
        takes["checks"] = json!([{"kind": "rows", "min": 1, "max": 1}]);
        let mut fails = protocol.call(1, "select $1", &json!([[{"variable": 1}]]));
        fails["checks"] = json!([{"kind": "value", "column": "v", "equals": ["8"]}]);
        let results = run(so_often(plan(&stub, &json!([takes, fails])), 3));
        counted(&results, &stub);
        assert_eq!(results.failed()["check"], 3);
        assert_eq!(stub.seen()[1].values, ["7"]);
    }
}

/// Returns the values of the calls of each user, in the order of the calls. The first value of a call is the name of
/// its user.
fn calls_of_users(stub: &Stub) -> BTreeMap<String, Vec<String>> {
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for call in stub.seen().into_iter().filter(is_asked) {
        let [user, value] = call.values.try_into().expect("a user and a value");
        users.entry(user).or_default().push(value);
    }
    users
}

#[test]
fn the_same_seed_asks_the_same_whatever_the_number_of_threads() {
    for protocol in PROTOCOLS {
        let asked = |threads: usize| {
            let stub = answers(protocol);
            let value = json!([[{"function": "user"}], [{"function": "random_int", "min": 1, "max": 1_000_000}]]);
            let mut plan = so_often(
                plan(&stub, &json!([protocol.call(0, "select $1, $2", &value)])),
                10,
            );
            plan["pools"][0]["order"] = json!("sequential");
            plan["threads"] = json!(threads);
            plan["load"] = closed(3, 1.0);
            let results = run(plan);
            counted(&results, &stub);
            calls_of_users(&stub)
        };
        let (one, two) = (asked(1), asked(2));
        assert_eq!(one.keys().collect::<Vec<_>>(), ["0", "1", "2"]);
        assert!(one.values().all(|calls| calls.len() == 10), "{one:?}");
        assert_eq!(one, two);
    }
}

#[test]
fn a_call_that_never_ends_is_in_flight_once_the_drain_is_over() {
    for protocol in PROTOCOLS {
        let stub = Stub::start(protocol, |_| Reply::Hang);
        let mut plan = plan(&stub, &json!([protocol.call(0, "select 1", &json!([]))]));
        plan["timeouts"] = json!({"connect_s": 1.0, "response_s": 30.0, "drain_s": 0.2});
        let results = run(plan);
        counted(&results, &stub);
        assert_eq!(results.engine["totals"]["in_flight"], 1);
    }
}

#[test]
fn think_times_and_calls_beside_requests_stay_as_they_are() {
    for protocol in PROTOCOLS {
        let web = support::Server::start(|_| support::answer(200, "", "x"));
        let stub = answers(protocol);
        let mut request = support::get(0, &json!(["/"]));
        request["target"] = json!(1);
        let think = json!({"op": "think", "pause": {"dist": "fixed", "mean_s": 0.005}});
        let mut plan = so_often(
            plan(
                &stub,
                &json!([protocol.call(1, "select 1", &json!([])), think, request]),
            ),
            8,
        );
        let mut http = plan_of(web.address, &json!([]))["targets"][0].clone();
        http["name"] = json!("web");
        plan["targets"].as_array_mut().expect("targets").push(http);
        let results = run(plan);
        results.check_identity();
        assert_eq!((asked(&stub), web.seen().len()), (8, 8));
    }
}

//! Tests of the LDAP driver: behaviour of its calls that other drivers do not have.

use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::{Value, json};

use crate::stub::ldap::{element, entry, message, result};
use crate::stub::{Protocol, Reply, Seen, Stub};
use crate::support::run;
use crate::{counted, plan, so_often};

const DONE: u8 = 0x65;

fn search(step: usize, text: &str) -> Value {
    Protocol::Ldap.call(step, text, &json!([]))
}

fn start(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Stub {
    Stub::start(Protocol::Ldap, handler)
}

fn answers() -> Stub {
    start(|_| Reply::Row("7".to_owned()))
}

/// Starts a server that answers each message with the bytes from `make`, which gets the number of the message, from 1.
fn answers_with(make: impl Fn(u8) -> Vec<u8> + Send + Sync + 'static) -> Stub {
    let count = AtomicU8::new(0);
    start(move |_| Reply::Bytes(make(count.fetch_add(1, Ordering::Relaxed) + 1)))
}

#[test]
fn what_is_out_of_time_is_abandoned() {
    let stub = start(|_| Reply::Hang);
    let mut query = search(0, "dc=org");
    query["timeout_s"] = json!(0.1);
    let results = run(so_often(plan(&stub, &json!([query])), 2));
    counted(&results, &stub);
    assert_eq!(results.failed()["timeout"], 2);
    let expected = ["dc=org", "<abandon>", "<unbind>"];
    assert_eq!(stub.texts(), [expected, expected].concat());
    // The search is message 1 of its session. It timed out, so message 1 is abandoned.
    let abandoned = stub
        .seen()
        .into_iter()
        .filter(|seen| seen.text == "<abandon>");
    assert!(
        abandoned
            .map(|seen| seen.values)
            .all(|values| values == ["[1]"])
    );
}

#[test]
fn a_session_logs_in_when_it_is_opened_and_says_farewell() {
    let stub = answers();
    let mut plan = so_often(plan(&stub, &json!([search(0, "dc=org")])), 2);
    plan["targets"][0]["driver"]["user"] = json!("cn=reader");
    plan["targets"][0]["driver"]["password"] = json!("secret");
    let results = run(plan);
    counted(&results, &stub);
    assert_eq!(stub.texts(), ["<bind>", "dc=org", "dc=org", "<unbind>"]);
    assert_eq!(stub.seen()[0].values, ["cn=reader", "secret"]);
}

#[test]
fn who_is_not_let_in_has_no_session() {
    let stub = start(|_| Reply::Refuse("49"));
    let mut plan = so_often(plan(&stub, &json!([search(0, "dc=org")])), 2);
    plan["targets"][0]["driver"]["user"] = json!("cn=reader");
    let results = run(plan);
    results.check_identity();
    assert_eq!(results.failed()["connect"], 2);
    assert_eq!(results.engine["connect_failures"]["invalidCredentials"], 2);
}

#[test]
fn a_user_that_leaves_comes_back_over_another_session() {
    let stub = answers();
    let login = json!({"op": "call", "step": 0, "target": 0,
        "do": {"kind": "ldap", "request": {"bind": {}}}, "values": [["cn=a"], ["b"]]});
    let leave = json!({"op": "call", "step": 0, "target": 0,
        "do": {"kind": "ldap", "request": {"unbind": {}}}, "values": []});
    let results = run(so_often(
        plan(&stub, &json!([login, search(1, "dc=org"), leave])),
        2,
    ));
    results.check_identity();
    assert_eq!(results.count("step", 1, "/ok"), 2);
    let seen: Vec<(usize, String)> = stub
        .seen()
        .into_iter()
        .map(|seen| (seen.connection, seen.text))
        .collect();
    let of = |connection: usize| {
        ["<bind>", "dc=org", "<unbind>"].map(|text| (connection, text.to_owned()))
    };
    assert_eq!(seen, [of(0), of(1)].concat());
    assert_eq!(results.engine["totals"]["failed"], json!({}));
}

#[test]
fn values_of_an_attribute_are_all_taken_and_entries_counted_once() {
    let stub = answers_with(|number| {
        let number = &[number][..];
        let first = entry(number, &["a", "b"]);
        [
            first,
            entry(number, &["c"]),
            message(number, DONE, &result(0)),
        ]
        .concat()
    });
    let mut takes = search(0, "dc=org");
    takes["do"]["request"]["search"]["attributes"] = json!(["V"]);
    takes["extract"] = json!([{"into": {"list": 0}, "column": "V", "pick": "all"},
                              {"into": {"variable": 1}, "pick": "count"}]);
    takes["checks"] = json!([{"kind": "rows", "min": 2, "max": 2}]);
    let each = json!({"op": "loop", "count": {"min": 3, "max": 3}, "ops": [
        {"op": "pop", "list": 0, "variable": 0, "pick": "first"},
        Protocol::Ldap.call(1, "dc=org", &json!([[{"variable": 0}, "-", {"variable": 1}]]))]});
    let mut plan = so_often(plan(&stub, &json!([takes, each])), 1);
    plan["variables"] = json!(["n", "count"]);
    plan["lists"] = json!(["found"]);
    let results = run(plan);
    counted(&results, &stub);
    let values: Vec<String> = stub
        .seen()
        .into_iter()
        .flat_map(|seen| seen.values)
        .collect();
    assert_eq!(values, ["a-2", "b-2", "c-2"]);
}

#[test]
fn what_a_server_must_not_say_costs_the_session() {
    let wrong = || message(&[99], DONE, &result(0));
    let notice = || message(&[0], 0x78, &result(52));
    let cases: [(&str, Vec<u8>); 6] = [
        ("protocol", wrong()),
        ("protocol", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        ("protocol", element(0x30, &[])),
        ("protocol", message(&[1], 0x7e, &[])),
        ("protocol", vec![0x30, 0x84, 0xff, 0xff, 0xff, 0xff]),
        ("closed", notice()),
    ];
    for (kind, bytes) in cases {
        let is_first = AtomicU8::new(1);
        let shown = format!("{bytes:02x?}");
        let stub = start(move |_| match is_first.swap(0, Ordering::Relaxed) {
            1 => Reply::Bytes(bytes.clone()),
            _ => Reply::Row("7".to_owned()),
        });
        let results = run(so_often(plan(&stub, &json!([search(0, "dc=org")])), 3));
        counted(&results, &stub);
        assert_eq!(results.failed()[kind], 1, "{shown}");
        assert_eq!(results.count("step", 0, "/ok"), 2, "{shown}");
    }
}

#[test]
fn addresses_of_other_servers_and_news_are_passed_over() {
    let stub = answers_with(|number| {
        let number = &[number][..];
        let elsewhere = message(number, 0x73, &element(4, b"ldap://elsewhere/"));
        let news = message(number, 0x79, &[]);
        [
            elsewhere,
            news,
            entry(number, &["7"]),
            message(number, DONE, &result(0)),
        ]
        .concat()
    });
    let mut query = search(0, "dc=org");
    query["checks"] = json!([{"kind": "rows", "min": 1, "max": 1}]);
    let results = run(so_often(plan(&stub, &json!([query])), 3));
    counted(&results, &stub);
    assert_eq!(results.count("step", 0, "/ok"), 3);
}

#[test]
fn a_limit_that_was_asked_for_is_no_refusal() {
    let limited = |number: u8| {
        let number = &[number][..];
        [entry(number, &["7"]), message(number, DONE, &result(4))].concat()
    };
    let stub = answers_with(limited);
    let mut asked = search(0, "dc=org");
    asked["do"]["request"]["search"]["size_limit"] = json!(1);
    let mut more = search(1, "dc=org");
    more["do"]["request"]["search"]["size_limit"] = json!(2);
    more["on_failure"] = json!("go_on");
    let results = run(so_often(plan(&stub, &json!([asked, more])), 2));
    counted(&results, &stub);
    assert_eq!(results.count("step", 0, "/ok"), 2);
    assert_eq!(results.engine["calls"]["refusals"]["sizeLimitExceeded"], 2);
}

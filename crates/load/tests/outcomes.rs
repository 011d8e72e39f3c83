//! Tests of all outcomes of a request, with a server that misbehaves deliberately.

#![allow(clippy::needless_pass_by_value)] // Callers pass `json!(...)` directly, so the parameters are values.

mod support;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Reply, Results, Server, answer, closed, get, plan_of, run};

/// Runs one user that makes one request. Returns the results, and the kind of failure (empty without a failure).
fn outcome(reply: impl Fn() -> Reply + Send + Sync + 'static, change: Value) -> (Results, String) {
    let server = Server::start(move |_| reply());
    let mut request = get(0, &json!(["/x"]));
    for (key, value) in change.as_object().expect("changes") {
        request[key] = value.clone();
    }
    let plan = plan_of(server.address, &json!([request]));
    let results = run(plan);
    results.check_identity();
    let kinds: Vec<String> = results.failed().into_keys().collect();
    (results, kinds.join(","))
}

fn kind(reply: impl Fn() -> Reply + Send + Sync + 'static) -> String {
    outcome(reply, json!({})).1
}

fn raw(text: &'static str) -> impl Fn() -> Reply + Send + Sync {
    move || Reply::Close(text.as_bytes().to_vec())
}

#[test]
fn a_good_answer_is_ok() {
    let (results, kinds) = outcome(|| answer(200, "", "hello"), json!({}));
    assert_eq!(kinds, "");
    assert_eq!(results.count("step", 0, "/ok"), 1);
    assert_eq!(results.count("transaction", 0, "/ok"), 1);
    assert!(results.count("step", 0, "/bytes_in") > 5);
    assert!(results.count("step", 0, "/bytes_out") > 20);
}

#[test]
fn statuses_fail_by_their_hundred() {
    assert_eq!(kind(|| answer(404, "", "")), "status_4xx");
    assert_eq!(kind(|| answer(503, "", "")), "status_5xx");
    assert_eq!(kind(|| answer(302, "Location: /y\r\n", "")), "");
    let checks = json!({"checks": [{"kind": "status", "in": [200]}]});
    assert_eq!(outcome(|| answer(204, "", ""), checks).1, "status_other");
    let checks = json!({"checks": [{"kind": "status", "min": 400, "max": 499}]});
    assert_eq!(outcome(|| answer(404, "", ""), checks).1, "");
}

#[test]
fn what_is_not_http_is_protocol() {
    assert_eq!(
        kind(raw("\u{1}\u{2}rubbish rubbish rubbish\r\n\r\n")),
        "protocol"
    );
    assert_eq!(
        kind(raw(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
        )),
        "protocol"
    );
}

#[test]
fn half_an_answer_or_none_is_closed() {
    assert_eq!(
        kind(raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")),
        "closed"
    );
    assert_eq!(kind(raw("HTTP/1.1 20")), "closed");
    assert_eq!(kind(raw("")), "closed");
}

#[test]
fn an_endless_head_or_body_is_protocol_and_does_not_swell_the_engine() {
    let head = || {
        Reply::Endless(
            b"HTTP/1.1 200 OK\r\n".to_vec(),
            b"X-Filler: 0123456789\r\n".repeat(1000),
        )
    };
    assert_eq!(kind(head), "protocol");
    let server =
        Server::start(|_| Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 1 << 16]));
    let mut plan = plan_of(server.address, &json!([get(0, &json!(["/"]))]));
    plan["limits"] = json!({"header_bytes": 65536, "body_bytes": 8_000_000, "capture_bytes": 1000});
    let results = run(plan);
    assert_eq!(
        results.failed().into_keys().collect::<Vec<_>>(),
        ["protocol"]
    );
    let peak = results.engine["generator"]["peak_rss_bytes"].as_u64();
    assert!(peak.is_some_and(|bytes| bytes < 200 << 20), "{peak:?}");
}

/// Returns a text of `count` letters, each a pseudo-random `a` or `b`. It is the same in every run.
fn letters(count: usize) -> String {
    let mut state = 1_u32;
    let each = (0..count).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    });
    each.collect()
}

#[test]
fn an_answer_that_came_while_the_thread_stood_still_is_in_time() {
    let asked = AtomicUsize::new(0);
    let long = letters(1 << 20);
    let server = Server::start(move |_| {
        if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            return answer(200, "", &long);
        }
        std::thread::sleep(Duration::from_millis(150));
        answer(200, "", "")
    });
    let mut request = get(0, &json!(["/"]));
    request["timeout_s"] = json!(0.4);
    // This search keeps the thread busy for seconds: a match may begin at every `a`. The text has no repetitions, which
    // would shorten the search.
    request["checks"] = json!([{"kind": "regex", "pattern": "a[ab]{300}[^ab]", "not": true}]);
    let mut plan = plan_of(server.address, &json!([request]));
    plan["load"] = closed(2, 0.1);
    let results = run(plan);
    results.check_identity();
    assert_eq!(results.engine["totals"]["ok"], 2, "{:?}", results.failed());
}

#[test]
fn silence_is_a_timeout_with_the_time_waited() {
    let (results, kinds) = outcome(|| Reply::Hang, json!({"timeout_s": 0.1}));
    assert_eq!(kinds, "timeout");
    let waited: u64 = results.count("step", 0, "/response_sum_ns");
    assert!(waited >= 100_000_000, "{waited}");
}

#[test]
fn nobody_listening_is_connect() {
    let address = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port");
    let results = run(plan_of(address, &json!([get(0, &json!(["/"]))])));
    results.check_identity();
    assert_eq!(
        results.failed().into_keys().collect::<Vec<_>>(),
        ["connect"]
    );
}

#[test]
fn checks_and_extractions_fail_by_their_kind() {
    let body = || answer(200, "ETag: \"7\"\r\n", r#"{"id": "a7", "n": 3}"#);
    let check = |check: Value| outcome(body, json!({"checks": [check]})).1;
    assert_eq!(check(json!({"kind": "size", "min": 5, "max": 100})), "");
    assert_eq!(check(json!({"kind": "size", "max": 5})), "check");
    assert_eq!(check(json!({"kind": "contains", "text": ["a7"]})), "");
    assert_eq!(
        check(json!({"kind": "contains", "text": ["a7"], "not": true})),
        "check"
    );
    assert_eq!(check(json!({"kind": "regex", "pattern": "\"n\": \\d"})), "");
    assert_eq!(check(json!({"kind": "regex", "pattern": "^x"})), "check");
    assert_eq!(
        check(json!({"kind": "json", "expression": "$.n", "equals": ["3"]})),
        ""
    );
    assert_eq!(
        check(json!({"kind": "json", "expression": "$.none"})),
        "check"
    );
    assert_eq!(
        check(json!({"kind": "header", "name": "etag", "contains": ["7"]})),
        ""
    );
    assert_eq!(
        check(json!({"kind": "header", "name": "etag", "contains": ["8"]})),
        "check"
    );
    let extract = |extract: Value| outcome(body, json!({"extract": [extract]})).1;
    let into = |from: &str, expression: &str| json!({"into": {"variable": 0}, "from": from, "expression": expression});
    assert_eq!(extract(into("json", "$.id")), "");
    assert_eq!(extract(into("json", "$.none")), "extract");
    assert_eq!(extract(into("header", "none")), "extract");
    assert_eq!(extract(into("regex", "id=(x)")), "extract");
    let mut optional = into("json", "$.none");
    optional["required"] = json!(false);
    assert_eq!(extract(optional), "");
}

#[test]
fn an_encoded_body_cannot_be_extracted_from() {
    let body = || answer(200, "Content-Encoding: gzip\r\n", r#"{"id": 1}"#);
    let extract =
        json!({"extract": [{"into": {"variable": 0}, "from": "json", "expression": "$.id"}]});
    assert_eq!(outcome(body, extract).1, "extract");
}

#[test]
fn a_unique_pool_that_runs_out_ends_the_transaction_without_a_request() {
    let server = Server::start(|_| answer(200, "", ""));
    let draw = json!({"op": "draw", "pool": 0, "variables": [0]});
    let path = json!(["/", {"variable": 0}]);
    let mut plan = plan_of(server.address, &json!([draw, get(0, &path)]));
    plan["pools"] =
        json!([{"name": "p", "columns": ["a"], "order": "unique", "rows": [["1"], ["2"]]}]);
    plan["groups"][0]["think"] = json!({"dist": "fixed", "mean_s": 0.02});
    let results = run(plan);
    results.check_identity();
    assert_eq!(server.paths(), ["/1", "/2"]);
    assert_eq!(results.count("transaction", 0, "/ok"), 2);
    assert!(results.count("transaction", 0, "/failed/data_exhausted") > 0);
}

#[test]
fn a_value_that_would_break_the_request_apart_is_internal() {
    let server = Server::start(|_| answer(200, "", ""));
    let set = json!({"op": "set", "variable": 0, "value": ["a\r\nX: y"]});
    let mut request = get(0, &json!(["/"]));
    request["headers"] = json!([["X-Value", [{"variable": 0}]]]);
    let results = run(plan_of(server.address, &json!([set, request])));
    results.check_identity();
    assert_eq!(
        results.failed().into_keys().collect::<Vec<_>>(),
        ["internal"]
    );
    assert!(server.paths().is_empty());
    let reported = &results.engine["unsendable"];
    let first = results.failed()["internal"];
    assert_eq!(
        reported,
        &json!({"t0 / one: a header has a line break in its value": first})
    );
}

#[test]
fn an_absolute_url_in_a_path_is_named_with_its_step_and_place() {
    let server = Server::start(|_| answer(200, "", ""));
    let set = json!({"op": "set", "variable": 0, "value": ["http://ada:lovelace@other.example/", {"function": "uuid"}]});
    let request = get(0, &json!([{"variable": 0}]));
    let results = run(plan_of(server.address, &json!([set, request])));
    results.check_identity();
    let reasons = results.engine["unsendable"].as_object().expect("counts");
    let (reason, count) = reasons.iter().next().expect("a reason");
    assert_eq!(reasons.len(), 1);
    assert!(
        reason.starts_with(
            "t0 / one: the path is \"http://other.example\": a path must begin with /"
        ),
        "{reason}"
    );
    assert_eq!(count, results.failed()["internal"]);
}

#[test]
fn connections_are_kept_and_remade_as_the_server_says() {
    let connections_after = |pause_s: f64, reply: fn() -> Reply| {
        let server = Server::start(move |_| reply());
        let pause = json!({"op": "think", "pause": {"dist": "fixed", "mean_s": pause_s}});
        let request = get(0, &json!(["/"]));
        let results = run(plan_of(
            server.address,
            &json!([request, pause, request, pause, request]),
        ));
        assert_eq!(results.count("step", 0, "/ok"), 3);
        server
            .seen()
            .iter()
            .map(|seen| seen.connection)
            .collect::<Vec<_>>()
    };
    let connections = |reply: fn() -> Reply| connections_after(0.05, reply);
    assert_eq!(connections(|| answer(200, "", "x")), [0, 0, 0]);
    assert_eq!(
        connections(|| answer(200, "Connection: close\r\n", "x")),
        [0, 1, 2]
    );
    // After an HTTP/1.0 response the connection closes by default, and the end of the connection is the end of the
    // body.
    assert_eq!(
        connections(|| Reply::Close(b"HTTP/1.0 200 OK\r\n\r\nbody".to_vec())),
        [0, 1, 2]
    );
    // The server closes the connection while it is idle, without announcing it by `Connection: close`. The engine
    // detects this and opens a new connection for the next request.
    let silently = || Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx".to_vec());
    assert_eq!(connections_after(1.0, silently), [0, 1, 2]);
}

#[test]
fn a_failure_ends_the_transaction_unless_told_to_go_on() {
    let paths = |on_failure: &str| {
        let server =
            Server::start(|seen| answer(if seen.path() == "/1" { 500 } else { 200 }, "", ""));
        let mut first = get(0, &json!(["/1"]));
        first["on_failure"] = json!(on_failure);
        let page = json!({"op": "page", "page": 0, "ops": [first, get(1, &json!(["/2"]))]});
        let results = run(plan_of(server.address, &json!([page])));
        results.check_identity();
        let page_failed = results.count("page", 0, "/failed/status_5xx");
        (
            server.paths(),
            page_failed,
            results.count("transaction", 0, "/failed/status_5xx"),
        )
    };
    assert_eq!(paths("end"), (vec!["/1".to_owned()], 1, 1));
    assert_eq!(
        paths("go_on"),
        (vec!["/1".to_owned(), "/2".to_owned()], 0, 0)
    );
}

/// Returns two sums over all intervals: how often data arrived directly after a response (`surplus`), and how often on
/// an idle connection (`unasked`).
fn framing(results: &Results) -> (u64, u64) {
    let count = |key: &str| {
        let found = results
            .intervals()
            .map(|interval| interval["framing"][key].as_u64());
        found.flatten().sum()
    };
    (count("surplus"), count("unasked"))
}

#[test]
fn bytes_behind_an_answer_are_counted_and_the_answer_stands() {
    let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let (results, kinds) = outcome(|| Reply::Send([&whole[..], b"more"].concat()), json!({}));
    assert_eq!(kinds, "");
    assert_eq!(framing(&results), (1, 0));
    let (results, _) = outcome(|| Reply::Send(whole.to_vec()), json!({}));
    assert_eq!(framing(&results), (0, 0));
}

#[test]
fn bytes_between_two_requests_are_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
            std::thread::sleep(std::time::Duration::from_millis(50));
            let _ = stream.write_all(b"more");
            let _ = stream.read(&mut [0; 1024]);
        }
    });
    let pause = json!({"op": "think", "pause": {"dist": "fixed", "mean_s": 1.5}});
    let ops = json!([get(0, &json!(["/1"])), pause]);
    let results = run(plan_of(address, &ops));
    results.check_identity();
    // On a busy machine, the additional bytes may be read together with the response. They then count as `surplus`, not
    // as `unasked`.
    let (surplus, unasked) = framing(&results);
    assert_eq!(surplus + unasked, 1);
}

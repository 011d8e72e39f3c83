//! Tests of runs over HTTP/2 against three kinds of servers: a server that is based on another library, hand-written
//! servers, and nginx.

mod hostile;
mod nginx;
mod server;
mod stream_limits;
#[path = "../support/mod.rs"]
mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use h2::{Reason, server::Builder};
use http::{HeaderMap, Response};
use serde_json::{Value, json};
use server::{Reply, Server};
use support::{Results, closed, get, plan_of, run};

fn ok() -> Response<()> {
    Response::new(())
}

fn status(code: u16) -> Response<()> {
    Response::builder().status(code).body(()).expect("a head")
}

fn empty() -> Reply {
    Reply::Answer(ok(), Vec::new(), None)
}

fn over_http2(address: SocketAddr, ops: &Value, connections: Value) -> Value {
    let mut plan = plan_of(address, ops);
    plan["targets"][0]["http"] = json!("2");
    plan["connections"] = connections;
    plan
}

fn pool(size: usize, streams: u32) -> Value {
    json!({"mode": "pool", "size": size, "streams": streams})
}

/// Changes the load of a plan to a closed load of `users` users without think time.
fn busy(mut plan: Value, users: u32, seconds: f64) -> Value {
    plan["groups"][0]["think"] = Value::Null;
    plan["load"] = closed(users, seconds);
    plan
}

/// Returns the reasons of failed connections, without the part after the colon. Checks that each reason occurred once.
fn reasons_of(results: &Results) -> Vec<String> {
    let reasons = results.engine["connect_failures"]
        .as_object()
        .expect("reasons");
    assert!(reasons.values().all(|count| *count == 1), "{reasons:?}");
    let facts = reasons.keys().filter_map(|reason| reason.split_once(": "));
    facts.map(|(fact, _)| fact.to_owned()).collect()
}

fn checked(results: &Results) -> u64 {
    results.check_identity();
    assert!(
        results.failed().is_empty(),
        "{:?} {}",
        results.failed(),
        results.engine["connect_failures"]
    );
    results.engine["totals"]["ok"].as_u64().expect("a count")
}

fn http2(results: &Results, key: &str) -> u64 {
    results.engine["http2"][key].as_u64().expect("a count")
}

#[test]
fn many_requests_share_connections_up_to_the_cap() {
    for (server_streams, expected) in [(100, 10), (4, 4)] {
        let mut builder = Builder::new();
        builder.max_concurrent_streams(server_streams);
        let server = Server::start(builder, |_| empty());
        let plan = over_http2(
            server.address,
            &json!([get(0, &json!(["/a"]))]),
            pool(2, 10),
        );
        let results = run(busy(plan, 50, 0.5));
        let ok = checked(&results);
        let seen = server.seen();
        assert_eq!(seen.len() as u64, ok);
        assert_eq!(seen.iter().map(|seen| seen.connection).max(), Some(1));
        assert_eq!(server.most_at_once.load(Ordering::SeqCst), expected);
        assert_eq!(http2(&results, "connections"), 2);
        let waits: u64 = results
            .intervals()
            .filter_map(|line| line["connection_wait"]["n"].as_u64())
            .sum();
        assert!(
            waits == 0 || waits == ok,
            "one entry for each request: {waits} of {ok}"
        );
    }
}

#[test]
fn each_model_of_connections_carries_requests() {
    for (model, connections) in [(json!({"mode": "per_user"}), 3), (pool(1, 100), 1)] {
        let server = Server::start(Builder::new(), |_| empty());
        let plan = over_http2(
            server.address,
            &json!([get(0, &json!(["/a"]))]),
            model.clone(),
        );
        let results = run(busy(plan, 3, 1.0));
        assert!(checked(&results) > 10);
        assert_eq!(http2(&results, "connections"), connections, "{model}");
        let alone = server.seen().iter().all(|seen| seen.beside == 0);
        assert!(model["mode"] == "pool" || alone);
    }
    let server = Server::start(Builder::new(), |_| empty());
    let plan = over_http2(
        server.address,
        &json!([get(0, &json!(["/a"]))]),
        json!({"mode": "new_each_time"}),
    );
    let results = run(busy(plan, 3, 0.3));
    assert_eq!(checked(&results), http2(&results, "connections"));
}

#[test]
fn fields_cookies_and_bodies_arrive_as_the_plan_says() {
    let server = Server::start(Builder::new(), |seen| {
        let cookie = Response::builder()
            .header("set-cookie", "id=7; Path=/")
            .body(())
            .expect("a head");
        if seen.request.uri().path() == "/login" {
            Reply::Answer(cookie, b"{\"n\": 5}".to_vec(), None)
        } else {
            empty()
        }
    });
    let mut first = get(0, &json!(["/login"]));
    first["extract"] = json!([{"into": {"variable": 0}, "from": "json", "expression": "$.n"}]);
    let mut second = get(1, &json!(["/item/", {"variable": 0}]));
    second["method"] = json!("POST");
    second["headers"] = json!([["X-Own", ["  v"]], ["Keep-Alive", ["5"]], ["Cookie", ["own=", {"variable": 0}]], ["X-Varies", ["n", {"variable": 0}]]]);
    second["auth"] = json!({"user": ["u"], "password": [{"variable": 0}]});
    second["body"] = json!({"kind": "text", "template": ["n=", {"variable": 0}]});
    let results = run(over_http2(
        server.address,
        &json!([first, second]),
        json!({"mode": "per_user"}),
    ));
    assert_eq!(checked(&results), 2);
    let seen = server.seen();
    let (first, second) = (&seen[0].request, &seen[1].request);
    assert_eq!(first.uri().to_string(), "http://test.example/login");
    assert_eq!(first.headers()["accept-encoding"], "identity");
    assert!(
        first.headers().get("content-length").is_none() && first.headers().get("cookie").is_none()
    );
    assert_eq!(
        (second.method().as_str(), second.uri().path()),
        ("POST", "/item/5")
    );
    for (name, value) in [
        ("x-own", "v"),
        ("x-varies", "n5"),
        ("cookie", "own=5; id=7"),
        ("authorization", "Basic dTo1"),
        ("content-length", "3"),
    ] {
        assert_eq!(second.headers()[name], value);
    }
    assert!(second.headers().get("keep-alive").is_none());
    assert_eq!(seen[1].body, b"n=5");
}

#[test]
fn large_bodies_go_both_ways_within_windows() {
    const BYTES: usize = 10 << 20;
    for window in [65_535, 1 << 20] {
        let mut builder = Builder::new();
        builder
            .initial_window_size(window)
            .initial_connection_window_size(window.max(100_000));
        let server = Server::start(builder, |_| Reply::Answer(ok(), vec![b'd'; 20 << 20], None));
        let mut request = get(0, &json!(["/up"]));
        request["method"] = json!("POST");
        request["body"] = json!({"kind": "multipart", "parts": [
            {"name": "f", "filename": ["f.bin"], "content_type": null, "generated": {"bytes": BYTES, "form": "random"}}]});
        request["checks"] = json!([{"kind": "size", "min": 20 << 20, "max": 20 << 20}]);
        let results = run(over_http2(server.address, &json!([request]), pool(1, 10)));
        assert_eq!(checked(&results), 1);
        let seen = server.seen();
        assert!(seen[0].body.len() > BYTES && seen[0].body.ends_with(b"--\r\n"));
        let announced = seen[0].request.headers()["content-length"]
            .to_str()
            .expect("digits")
            .to_owned();
        assert_eq!(announced, seen[0].body.len().to_string());
        assert!(results.count("step", 0, "/bytes_out") as usize > BYTES);
    }
}

#[test]
fn early_heads_and_trailers_are_passed_over() {
    let server = Server::start(Builder::new(), |seen| {
        if seen.request.uri().path() == "/early" {
            return Reply::Early(status(204));
        }
        let mut trailers = HeaderMap::new();
        trailers.insert("x-after", "1".parse().expect("a value"));
        Reply::Answer(ok(), b"body".to_vec(), Some(trailers))
    });
    let mut first = get(0, &json!(["/early"]));
    first["checks"] = json!([{"kind": "status", "in": [204]}]);
    let mut second = get(1, &json!(["/trailers"]));
    second["checks"] =
        json!([{"kind": "contains", "text": ["body"]}, {"kind": "size", "min": 4, "max": 4}]);
    let results = run(over_http2(
        server.address,
        &json!([first, second]),
        json!({"mode": "per_user"}),
    ));
    assert_eq!(checked(&results), 2);
}

#[test]
fn a_reset_is_closed_and_one_that_was_not_worked_on_goes_out_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&tries);
    let server = Server::start(Builder::new(), move |seen| {
        match seen.request.uri().path() {
            "/reset" => Reply::Reset(Reason::INTERNAL_ERROR),
            // The server calls the handler twice for each request, so 4 calls are two refused requests.
            _ if counter.fetch_add(1, Ordering::SeqCst) < 4 => Reply::Reset(Reason::REFUSED_STREAM),
            _ => empty(),
        }
    });
    let mut reset = get(0, &json!(["/reset"]));
    reset["on_failure"] = json!("go_on");
    for model in [json!({"mode": "per_user"}), pool(1, 10)] {
        tries.store(0, Ordering::SeqCst);
        let ops = json!([reset, get(1, &json!(["/refused"]))]);
        let results = run(over_http2(server.address, &ops, model));
        results.check_identity();
        assert_eq!(
            results.failed().into_iter().collect::<Vec<_>>(),
            [("closed".to_owned(), 1)]
        );
        assert_eq!(
            (
                results.engine["totals"]["ok"].as_u64(),
                http2(&results, "sent_again")
            ),
            (Some(1), 2)
        );
    }
}

#[test]
fn a_server_that_refuses_for_ever_is_asked_a_bounded_number_of_times() {
    let server = Server::start(Builder::new(), |_| Reply::Reset(Reason::REFUSED_STREAM));
    let results = run(over_http2(
        server.address,
        &json!([get(0, &json!(["/a"]))]),
        pool(1, 10),
    ));
    results.check_identity();
    assert_eq!(
        results.failed().into_iter().collect::<Vec<_>>(),
        [("closed".to_owned(), 1)]
    );
    assert_eq!(server.seen().len(), 11);
}

#[test]
fn connections_that_the_server_ends_by_and_by_lose_nothing() {
    let count = AtomicUsize::new(0);
    let server = Server::start(Builder::new(), move |_| {
        if count.fetch_add(1, Ordering::SeqCst) % 50 == 49 {
            Reply::GoAway(ok())
        } else {
            empty()
        }
    });
    for model in [json!({"mode": "per_user"}), pool(2, 10)] {
        let plan = over_http2(server.address, &json!([get(0, &json!(["/a"]))]), model);
        let results = run(busy(plan, 8, 1.0));
        assert!(checked(&results) > 50);
        assert!(
            http2(&results, "goaways") > 0
                && http2(&results, "connections") > http2(&results, "goaways")
        );
    }
}

#[test]
fn a_request_out_of_time_leaves_its_connection_to_the_others() {
    let server = Server::start(Builder::new(), |seen| {
        if seen.request.uri().path() == "/slow" {
            Reply::Hang
        } else {
            empty()
        }
    });
    let mut slow = get(0, &json!(["/slow"]));
    slow["timeout_s"] = json!(0.1);
    slow["on_failure"] = json!("go_on");
    let ops = json!([slow, get(1, &json!(["/fast"]))]);
    let results = run(over_http2(server.address, &ops, pool(1, 10)));
    results.check_identity();
    assert_eq!(
        results.failed().into_iter().collect::<Vec<_>>(),
        [("timeout".to_owned(), 1)]
    );
    assert_eq!(
        (http2(&results, "connections"), http2(&results, "cancelled")),
        (1, 1)
    );
    assert_eq!(
        server
            .seen()
            .last()
            .map(|seen| seen.request.uri().path().to_owned()),
        Some("/fast".to_owned())
    );
}

//! Checks that the outcome of requests is the same for all kinds of connections and for all connection modes (per user,
//! pool, new each time).

mod certificates;
mod secure;
#[path = "../support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use certificates::{BOTH, certificates, server_tls};
use serde_json::{Value, json};
use support::{Folder, Reply, Results, Seen, Server, answer, closed, get, plan_of, run};

/// Transport of a connection to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Tcp,
    Tls,
    Unix,
}

const WAYS: [Way; 3] = [Way::Tcp, Way::Tls, Way::Unix];

fn models() -> [Value; 3] {
    [
        json!({"mode": "per_user"}),
        json!({"mode": "pool", "size": 2}),
        json!({"mode": "new_each_time"}),
    ]
}

/// A server, and a plan that sends requests to it.
struct Case {
    server: Server,
    plan: Value,
    _folder: Folder,
}

fn case(
    way: Way,
    model: &Value,
    ops: &Value,
    handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> Case {
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let path = folder.0.join("s");
    let server = match way {
        Way::Tcp => Server::start(handler),
        Way::Tls => Server::start_tls(server_tls(false, &BOTH), handler),
        Way::Unix => Server::start_unix(&path, handler),
    };
    let mut plan = plan_of(server.address, ops);
    plan["connections"] = model.clone();
    match way {
        Way::Tcp => {}
        Way::Tls => {
            plan["targets"][0]["scheme"] = json!("https");
            plan["targets"][0]["tls"] = json!({"ca": certificates().ca});
        }
        Way::Unix => {
            plan["targets"][0]["addresses"] = json!([format!("unix:{}", path.display())]);
        }
    }
    Case {
        server,
        plan,
        _folder: folder,
    }
}

/// Runs a check for every transport and every connection mode (per user, pool, new each time).
fn each(check: impl Fn(Way, &Value, &str)) {
    for way in WAYS {
        for model in models() {
            check(way, &model, &format!("{way:?} {model}"));
        }
    }
}

/// Returns the operations of a user that makes two requests.
fn twice() -> Value {
    json!([get(0, &json!(["/a"])), get(1, &json!(["/b"]))])
}

fn kinds(results: &Results) -> Vec<String> {
    results.check_identity();
    results.failed().into_keys().collect()
}

fn total(results: &Results, key: &str) -> u64 {
    results.engine["totals"][key].as_u64().expect("a count")
}

#[test]
fn answers_are_ok_and_connections_are_kept_or_not() {
    each(|way, model, name| {
        let case = case(way, model, &twice(), |_| answer(200, "", "hello"));
        let results = run(case.plan);
        assert_eq!(kinds(&results), Vec::<String>::new(), "{name}");
        assert_eq!(total(&results, "ok"), 2, "{name}");
        assert_eq!(case.server.paths(), ["/a", "/b"], "{name}");
        let seen = case.server.seen();
        let is_new = model["mode"] == "new_each_time";
        assert_eq!(seen[0].connection != seen[1].connection, is_new, "{name}");
        assert_eq!(
            seen[0].header("Connection") == Some("close"),
            is_new,
            "{name}"
        );
    });
}

#[test]
fn a_large_answer_comes_whole() {
    each(|way, model, name| {
        let body = "x".repeat(700_000);
        let length = body.len();
        let mut request = get(0, &json!(["/"]));
        request["checks"] = json!([{"kind": "size", "min": length, "max": length}]);
        let case = case(way, model, &json!([request]), move |_| {
            answer(200, "", &body)
        });
        let results = run(case.plan);
        assert_eq!(kinds(&results), Vec::<String>::new(), "{name}");
        assert!(
            results.count("step", 0, "/bytes_in") > length as u64,
            "{name}"
        );
    });
}

#[test]
fn a_large_request_goes_whole() {
    each(|way, model, name| {
        let mut request = get(0, &json!(["/"]));
        request["method"] = json!("POST");
        request["body"] = json!({"kind": "multipart", "parts": [
            {"name": "f", "generated": {"bytes": 600_000, "form": "random"}}]});
        let case = case(way, model, &json!([request]), |_| answer(200, "", ""));
        let results = run(case.plan);
        assert_eq!(kinds(&results), Vec::<String>::new(), "{name}");
        assert!(case.server.seen()[0].body.len() > 600_000, "{name}");
    });
}

/// Accepts two connections and reads a request of `bytes` bytes from each, in alternation. Returns the number of bytes
/// of one request that had arrived before the first byte of the other request. [B]
fn read_by_turns(listener: &TcpListener, bytes: usize) -> usize {
    let mut streams = [(); 2].map(|()| listener.accept().expect("a client").0);
    for stream in &streams {
        stream.set_nonblocking(true).expect("a socket");
    }
    let (mut read, mut ahead) = ([0; 2], 0);
    let mut buffer = vec![0; 1 << 20];
    while read.iter().any(|count| *count < bytes) {
        for (stream, count) in streams.iter_mut().zip(&mut read) {
            *count += stream.read(&mut buffer).unwrap_or(0);
        }
        if read.contains(&0) {
            ahead = read[0].max(read[1]);
        }
    }
    for stream in &mut streams {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
    ahead
}

#[test]
fn a_large_request_does_not_keep_the_thread_from_the_others() {
    const BYTES: usize = 64 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || read_by_turns(&listener, BYTES));
    let mut request = get(0, &json!(["/"]));
    request["method"] = json!("POST");
    request["body"] = json!({"kind": "multipart", "parts": [
        {"name": "f", "generated": {"bytes": BYTES, "form": "text"}}]});
    let mut plan = plan_of(address, &json!([request]));
    plan["load"] = closed(2, 0.1);
    let results = run(plan);
    assert_eq!(kinds(&results), Vec::<String>::new());
    let ahead = server.join().expect("a server");
    assert!(ahead < BYTES / 4, "{ahead}");
}

#[test]
fn silence_is_a_timeout_and_half_an_answer_is_closed() {
    each(|way, model, name| {
        let mut request = get(0, &json!(["/"]));
        request["timeout_s"] = json!(0.2);
        let silent = case(way, model, &json!([request]), |_| Reply::Hang);
        assert_eq!(kinds(&run(silent.plan)), ["timeout"], "{name}");
        let half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
        let cut = case(way, model, &twice(), |_| Reply::Close(half.to_vec()));
        assert_eq!(kinds(&run(cut.plan)), ["closed"], "{name}");
    });
}

#[test]
fn an_answer_that_ends_with_the_connection_is_whole() {
    each(|way, model, name| {
        let bytes = b"HTTP/1.0 200 OK\r\n\r\nhello";
        let mut request = get(0, &json!(["/"]));
        request["checks"] = json!([{"kind": "size", "min": 5, "max": 5}]);
        let case = case(way, model, &json!([request]), |_| {
            Reply::Close(bytes.to_vec())
        });
        assert_eq!(kinds(&run(case.plan)), Vec::<String>::new(), "{name}");
    });
}

#[test]
fn nobody_there_is_connect_with_its_reason() {
    for model in models() {
        let address = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port");
        for place in [address.to_string(), "unix:/nobody/is/here".to_owned()] {
            let mut plan = plan_of(address, &json!([get(0, &json!(["/"]))]));
            plan["connections"] = model.clone();
            plan["targets"][0]["addresses"] = json!([place]);
            plan["load"] = closed(5, 0.2);
            let results = run(plan);
            assert_eq!(kinds(&results), ["connect"], "{model} {place}");
            assert_eq!(total(&results, "ok"), 0);
            let reasons: BTreeMap<String, u64> =
                serde_json::from_value(results.engine["connect_failures"].clone()).expect("counts");
            assert_eq!(reasons.values().sum::<u64>(), results.failed()["connect"]);
            let reason = reasons.keys().next().expect("a reason");
            assert!(
                reason.contains("refused") || reason.contains("No such file"),
                "{reason}"
            );
        }
    }
}

/// The requests of a user must be the same for all connection modes (per user, pool, new each time) and for any number
/// of threads.
#[test]
fn users_do_the_same_with_every_model_and_any_number_of_threads() {
    let paths = |way: Way, model: &Value, threads: usize| {
        let path = json!(["/", {"function": "user"}, "/", {"function": "random_int", "min": 0, "max": 999_999}]);
        let ops = json!([get(0, &path), get(1, &path)]);
        let mut case = case(way, model, &ops, |_| answer(200, "", ""));
        case.plan["threads"] = json!(threads);
        // The load is long enough that all users start, even if a load thread is late.
        case.plan["load"] = closed(6, 4.0);
        let results = run(case.plan);
        assert_eq!(kinds(&results), Vec::<String>::new(), "{way:?} {model}");
        let mut paths = case.server.paths();
        assert_eq!(paths.len(), 12);
        paths.sort();
        paths
    };
    let found: BTreeSet<_> = std::thread::scope(|scope| {
        let mut all = Vec::new();
        for (way, threads) in WAYS.into_iter().flat_map(|way| [(way, 1), (way, 2)]) {
            all.extend(models().map(|model| scope.spawn(move || paths(way, &model, threads))));
        }
        all.into_iter()
            .map(|each| each.join().expect("a run"))
            .collect()
    });
    assert_eq!(found.len(), 1, "{found:?}");
}

/// Returns a handler that records the largest number of concurrent requests in `most`. It answers no request until
/// `size` requests are in progress at the same time.
fn counting(most: &Arc<AtomicUsize>, size: usize) -> impl Fn(&Seen) -> Reply + Send + Sync + use<> {
    let (now, most) = (AtomicUsize::new(0), Arc::clone(most));
    move |_| {
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // Waits at most half a minute until `size` requests are in progress.
        let _ = (0..1500).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            most.load(Ordering::SeqCst) >= size
        });
        now.fetch_sub(1, Ordering::SeqCst);
        answer(200, "", "")
    }
}

#[test]
fn a_pool_has_exactly_its_size_over_all_threads_and_the_wait_is_told_apart() {
    for (size, threads) in [(1, 1), (3, 1), (3, 2), (5, 2)] {
        let most = Arc::new(AtomicUsize::new(0));
        let model = json!({"mode": "pool", "size": size});
        let mut case = case(
            Way::Tcp,
            &model,
            &json!([get(0, &json!(["/"]))]),
            counting(&most, size),
        );
        case.plan["threads"] = json!(threads);
        case.plan["load"] = closed(20, 1.0);
        let results = run(case.plan);
        assert_eq!(kinds(&results), Vec::<String>::new());
        assert_eq!(total(&results, "ok"), 20);
        assert_eq!(most.load(Ordering::SeqCst), size);
        assert_eq!(case.server.peers().len(), size);
        let waits = results
            .intervals()
            .filter(|line| line.get("connection_wait").is_some());
        assert!(waits.count() > 0);
        // The exchanges take `20 * 20 ms`. The response times also include the wait for a connection.
        let waited: u64 = results.count("step", 0, "/response_sum_ns");
        assert!(waited > 20 * 20_000_000, "{waited}");
    }
}

#[test]
fn who_waits_for_a_connection_is_served_in_the_order_of_coming() {
    let model = json!({"mode": "pool", "size": 1});
    let ops = json!([get(0, &json!(["/", {"function": "user"}]))]);
    let mut case = case(Way::Tcp, &model, &ops, |_| {
        std::thread::sleep(Duration::from_millis(20));
        answer(200, "", "")
    });
    // One user starts every 10 ms, and each request takes 20 ms. Users do not think: a user that has received its
    // response joins the end of the queue for the connection immediately.
    case.plan["groups"][0]["think"] = Value::Null;
    case.plan["load"] = closed(5, 2.0);
    case.plan["load"]["stages"][0]["duration_s"] = json!(0.05);
    let results = run(case.plan);
    assert_eq!(kinds(&results), Vec::<String>::new());
    let paths = case.server.paths();
    assert!(paths.len() >= 15, "{paths:?}");
    // Once all five users have started, each of them makes one request in five, always in the same order.
    let rounds: Vec<_> = paths[8..].chunks_exact(5).collect();
    assert!(
        rounds.windows(2).all(|pair| pair[0] == pair[1]),
        "{paths:?}"
    );
    let users: BTreeSet<_> = rounds[0].iter().collect();
    assert_eq!(users.len(), 5, "{paths:?}");
}

/// The first user occupies the only connection for 2 s. All other users time out after 0.2 s, before the connection
/// becomes free.
#[test]
fn who_waits_too_long_times_out_and_leaves_the_queue() {
    let model = json!({"mode": "pool", "size": 1});
    let with = |step: usize, path: &str, timeout_s: f64| {
        let mut request = get(step, &json!([path]));
        request["timeout_s"] = json!(timeout_s);
        json!([request])
    };
    let mut case = case(Way::Tcp, &model, &with(0, "/holds", 2.0), |_| Reply::Hang);
    let plan = &mut case.plan;
    let waiting = json!({"name": "t1", "ops": with(1, "/waits", 0.2)});
    let transactions = plan["transactions"].as_array_mut();
    transactions.expect("a list").push(waiting);
    let mut waits = plan["groups"][0].clone();
    waits["name"] = json!("waits");
    waits["share"] = json!(0.75);
    plan["groups"][0]["share"] = json!(0.25);
    waits["mix"] = json!([{"transaction": 1, "weight": 1.0}]);
    plan["groups"].as_array_mut().expect("a list").push(waits);
    plan["load"] = closed(4, 0.3);
    for stage in plan["load"]["stages"].as_array_mut().expect("a list") {
        stage.as_object_mut().expect("a stage").remove("users");
        stage["users_by_group"] = json!([1, 3]);
    }
    let results = run(case.plan);
    assert_eq!(kinds(&results), ["timeout"]);
    assert_eq!(total(&results, "offered"), 4);
    // Users that timed out left the queue before the connection became free, so the server received no other request.
    assert_eq!(case.server.paths(), ["/holds"]);
}

/// The target's host name has two addresses: first 127.0.0.1 with a port at which no server listens, then the address
/// of the server.
#[test]
fn where_an_address_of_a_name_refuses_the_next_one_is_loaded_and_comes_first_then() {
    let nobody = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port");
    for model in models() {
        let mut case = case(Way::Tcp, &model, &twice(), |_| answer(200, "", ""));
        case.plan["targets"][0]["addresses"] = json!([nobody.to_string()]);
        case.plan["targets"][0]["fallbacks"] = json!([[case.server.address.to_string()]]);
        let results = run(case.plan);
        assert_eq!(kinds(&results), Vec::<String>::new(), "{model}");
        assert_eq!(case.server.paths(), ["/a", "/b"], "{model}");
        assert_eq!(results.engine["connect_failures"], json!({}), "{model}");
    }
    let mut plan = plan_of(nobody, &json!([get(0, &json!(["/"]))]));
    plan["targets"][0]["fallbacks"] = json!([[nobody.to_string(), "127.0.0.9:1"]]);
    let results = run(plan);
    assert_eq!(kinds(&results), ["connect"]);
    let reasons = results.engine["connect_failures"].to_string();
    let tried = format!("at {nobody}, 127.0.0.9:1: connection refused");
    assert!(reasons.contains(&tried), "{reasons}");
}

#[test]
fn a_connection_that_the_server_closed_is_made_again() {
    for way in WAYS {
        let model = json!({"mode": "pool", "size": 1});
        let ops = json!([get(0, &json!(["/a"])), {"op": "think", "pause": {"dist": "fixed", "mean_s": 1.0}}, get(1, &json!(["/b"]))]);
        let case = case(way, &model, &ops, |_| {
            Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec())
        });
        let results = run(case.plan);
        assert_eq!(kinds(&results), Vec::<String>::new(), "{way:?}");
        let connections: Vec<_> = case
            .server
            .seen()
            .iter()
            .map(|seen| seen.connection)
            .collect();
        assert_eq!(connections, [0, 1], "{way:?}");
    }
}

#[test]
fn new_connections_leave_no_port_behind_on_this_side() {
    let request = get(0, &json!(["/"]));
    let model = json!({"mode": "new_each_time"});
    let mut case = case(Way::Tcp, &model, &json!([request]), |_| answer(200, "", ""));
    case.plan["groups"][0]["think"] = json!({"dist": "fixed", "mean_s": 0.01});
    case.plan["load"] = closed(2, 0.5);
    let results = run(case.plan);
    assert_eq!(kinds(&results), Vec::<String>::new());
    let peers = case.server.peers();
    assert!(peers.len() as u64 >= total(&results, "ok"));
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the table of sockets");
    let port = format!(":{:04X}", case.server.address.port());
    let waiting = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    // State 06 in the table is TIME-WAIT. No socket in this state may have the server as its remote end.
    let held = waiting.filter(|line| line.len() > 3 && line[3] == "06" && line[2].ends_with(&port));
    assert_eq!(held.count(), 0);
}

#[test]
fn sources_take_turns() {
    let sources = json!(["127.0.0.2", "127.0.0.3"]);
    let model = json!({"mode": "per_user", "sources": sources});
    let mut case = case(Way::Tcp, &model, &json!([get(0, &json!(["/"]))]), |_| {
        answer(200, "", "")
    });
    case.plan["load"] = closed(6, 0.2);
    let results = run(case.plan);
    assert_eq!(kinds(&results), Vec::<String>::new());
    let mut counts = BTreeMap::new();
    for peer in case.server.peers() {
        *counts.entry(peer.ip().to_string()).or_insert(0) += 1;
    }
    let expected = [("127.0.0.2".to_owned(), 3), ("127.0.0.3".to_owned(), 3)];
    assert_eq!(counts, BTreeMap::from(expected));
}

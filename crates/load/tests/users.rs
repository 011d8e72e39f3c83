//! Tests of the behaviour of users: order of operations, data, variables, and repeatability with the same seed.

mod support;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use support::{Server, answer, closed, get, plan_of, run};

fn ok_server() -> Server {
    Server::start(|_| answer(200, "", "ok"))
}

#[test]
fn a_user_does_once_then_its_mix_then_exit() {
    let server = ok_server();
    let mut plan = plan_of(server.address, &json!([get(0, &json!(["/work"]))]));
    let login = get(1, &json!(["/login"]));
    plan["groups"][0]["once"] = json!([login, {"op": "transaction", "transaction": 0}]);
    plan["groups"][0]["exit"] = json!([get(1, &json!(["/logout"]))]);
    let results = run(plan);
    results.check_identity();
    assert_eq!(server.paths(), ["/login", "/work", "/work", "/logout"]);
    assert_eq!(results.outcome.reason, "finished");
}

/// Each user makes two requests over two new connections, which must go to the same server.
#[test]
fn users_stay_with_one_address_and_each_address_has_its_part_of_each_group() {
    for threads in [1, 2] {
        let servers = [ok_server(), ok_server(), ok_server()];
        let ask = get(0, &json!(["/", {"function": "user"}]));
        let mut plan = plan_of(servers[0].address, &json!([ask, ask]));
        plan["threads"] = json!(threads);
        plan["connections"] = json!({"mode": "new_each_time"});
        let addresses: Vec<_> = servers
            .iter()
            .map(|server| server.address.to_string())
            .collect();
        plan["targets"][0]["addresses"] = json!(addresses);
        plan["targets"][0]["services"] = json!(["a", "b", "c"]);
        plan["targets"][0]["balance"] = json!("user");
        let mut other = plan["groups"][0].clone();
        (plan["groups"][0]["share"], other["share"]) = (json!(0.5), json!(0.5));
        other["name"] = json!("h");
        plan["groups"].as_array_mut().unwrap().push(other);
        plan["load"] = closed(12, 1.0);
        let results = run(plan);
        results.check_identity();
        let mut ended = vec![0; 3];
        for interval in results
            .intervals()
            .filter(|line| line.get("places").is_some())
        {
            let of = |key: &str| interval["places"][key].as_array().unwrap().clone();
            for (sum, count) in ended.iter_mut().zip(of("ok")) {
                *sum += count.as_u64().unwrap();
            }
            assert_eq!(of("failed"), [0, 0, 0]);
        }
        assert_eq!(ended, [4, 4, 4], "one transaction of each user");
        let mut users: Vec<Vec<String>> = servers.iter().map(Server::paths).collect();
        for requests in &mut users {
            requests.sort();
            requests.dedup();
            assert_eq!(requests.len(), 4);
        }
        let met: std::collections::BTreeSet<_> = users.iter().flatten().collect();
        assert_eq!(met.len(), 12, "no user is met at two servers");
    }
}

#[test]
fn values_flow_from_answers_into_requests() {
    let server = Server::start(|seen| match seen.path() {
        "/list" => answer(
            200,
            "X-Token: t&1\r\nSet-Cookie: sid=s9; Path=/\r\n",
            r#"{"objects": [{"id": "a b"}, {"id": "c"}], "page": {"n": 2}}"#,
        ),
        _ => answer(200, "", "<id=77>"),
    });
    let mut list = get(0, &json!(["/list"]));
    list["extract"] = json!([
        {"into": {"list": 0}, "from": "json", "expression": "$.objects[*].id", "pick": "all"},
        {"into": {"variable": 0}, "from": "header", "expression": "x-token"},
        {"into": {"variable": 1}, "from": "json", "expression": "$.objects[*]", "pick": "count"}]);
    let mut second = get(
        1,
        &json!(["/o/", {"variable": 2, "encode": "url"}, "?t=", {"variable": 0, "encode": "url"},
                                    "&n=", {"variable": 1}]),
    );
    second["extract"] =
        json!([{"into": {"variable": 0}, "from": "regex", "expression": "id=(\\d+)"}]);
    second["auth"] = json!({"user": ["u"], "password": [{"variable": 1}]});
    let third = json!({"op": "request", "step": 1, "target": 0, "method": "POST", "path": ["/p"],
        "headers": [["Content-Type", ["application/json"]]],
        "body": {"kind": "text", "template": ["{\"id\": \"", {"variable": 0}, "\"}"]}});
    let ops = json!([list, {"op": "pop", "list": 0, "variable": 2, "pick": "first"}, second, third,
        {"op": "pop", "list": 0, "variable": 2, "pick": "last"}, {"op": "pop", "list": 0, "variable": 2, "pick": "random"},
        {"op": "if", "test": {"variable": 2, "is": "empty"}, "then": [get(0, &json!(["/empty"]))], "else": []}]);
    let results = run(plan_of(server.address, &ops));
    results.check_identity();
    let seen = server.seen();
    assert_eq!(
        server.paths(),
        ["/list", "/o/a%20b?t=t%261&n=2", "/p", "/empty"]
    );
    assert_eq!(seen[0].header("Cookie"), None);
    assert_eq!(seen[1].header("Cookie"), Some("sid=s9"));
    // `dToy` is the base64 encoding of "u:2".
    assert_eq!(seen[1].header("Authorization"), Some("Basic dToy"));
    assert_eq!(seen[1].header("Host"), Some("test.example"));
    assert_eq!(seen[1].header("Accept-Encoding"), Some("identity"));
    assert_eq!(seen[2].body, br#"{"id": "77"}"#);
}

#[test]
fn a_step_s_cookies_and_the_user_s_are_one_header() {
    let server = Server::start(|seen| match seen.path() {
        "/login" => answer(
            200,
            "Set-Cookie: sid=jar; Path=/\r\nSet-Cookie: theme=dark; Path=/\r\n",
            "",
        ),
        _ => answer(200, "", ""),
    });
    let mut varying = get(1, &json!(["/varying"]));
    varying["headers"] =
        json!([["X-A", ["1"]], ["cookie", ["sid=", {"variable": 0}]], ["Cookie", ["b=2"]]]);
    let mut before = get(0, &json!(["/login"]));
    before["headers"] = json!([["Cookie", ["a=1"]]]);
    let set = json!({"op": "set", "variable": 0, "value": ["mine"]});
    let results = run(plan_of(server.address, &json!([set, before, varying])));
    results.check_identity();
    let seen = server.seen();
    let cookies: Vec<Vec<&str>> = seen
        .iter()
        .take(2)
        .map(|request| request.headers("Cookie").collect())
        .collect();
    assert_eq!(cookies, [vec!["a=1"], vec!["sid=mine; b=2; theme=dark"]]);
}

/// Returns the cookies that one user sends before its first transaction, in each request of a transaction, and when it
/// leaves.
fn cookies_sent(kept: &str, open: bool) -> Vec<String> {
    let server = Server::start(|seen| match seen.path() {
        "/login" => answer(200, "Set-Cookie: sid=login; Path=/\r\n", ""),
        "/a" => answer(
            200,
            "Set-Cookie: sid=a; Path=/\r\nSet-Cookie: own=server; Path=/\r\n",
            "",
        ),
        _ => answer(200, "", ""),
    });
    let ops = json!([get(0, &json!(["/a"])), get(1, &json!(["/b"]))]);
    let mut plan = plan_of(server.address, &ops);
    plan["groups"][0]["once"] = json!([get(1, &json!(["/login"]))]);
    plan["groups"][0]["exit"] = json!([get(1, &json!(["/logout"]))]);
    plan["groups"][0]["think"] = json!({"dist": "fixed", "mean_s": 0.02});
    plan["groups"][0]["cookies"] = json!({"kept": kept,
        "given": [{"target": 0, "path": "/", "name": "own", "value": "1"}]});
    plan["load"] = closed(1, 1.0);
    if open {
        plan["load"] = json!({"kind": "open", "arrivals": "constant", "users_at_most": 1, "backlog_at_most": 100,
            "stages": [{"name": "hold", "phase": "steady", "level": 0, "duration_s": 1.0, "rate": 30.0}]});
    }
    let results = run(plan);
    results.check_identity();
    let seen = server.seen();
    let all = seen.iter();
    all.map(|request| {
        format!(
            "{}: {}",
            request.path(),
            request.header("Cookie").unwrap_or("")
        )
    })
    .collect()
}

#[test]
fn cookies_are_kept_as_long_as_the_group_says() {
    for open in [false, true] {
        let later = ["/a: own=server; sid=a", "/b: own=server; sid=a"];
        for (kept, first, second, later, last) in [
            (
                "user",
                "/a: own=1; sid=login",
                "/b: own=server; sid=a",
                later,
                "/logout: own=server; sid=a",
            ),
            (
                "round",
                "/a: own=1; sid=login",
                "/b: own=server; sid=a",
                ["/a: own=1", "/b: own=server; sid=a"],
                "/logout: own=server; sid=a",
            ),
            (
                "never",
                "/a: own=1",
                "/b: own=1",
                ["/a: own=1", "/b: own=1"],
                "/logout: own=1",
            ),
        ] {
            let sent = cookies_sent(kept, open);
            assert_eq!(sent[..3], ["/login: own=1", first, second], "{kept}");
            let rounds = &sent[3..sent.len() - 1];
            assert!(rounds.len() >= 2, "{kept}: a second round");
            for round in rounds.chunks(2) {
                assert_eq!(round, later, "{kept}");
            }
            assert_eq!(sent[sent.len() - 1], last, "{kept}");
        }
    }
}

/// Two users take 20 rows each from a pool of 40 rows and then sleep. Every row is taken exactly once.
#[test]
fn rows_of_a_unique_pool_go_to_whoever_asks() {
    for threads in [1, 2] {
        let server = ok_server();
        let draw = json!({"op": "draw", "pool": 0, "variables": [0]});
        let rows: Vec<_> = (0..40).map(|row| json!([row.to_string()])).collect();
        let step = get(0, &json!(["/", {"variable": 0}]));
        let mut plan = plan_of(server.address, &json!([draw, step]));
        plan["threads"] = json!(threads);
        plan["pools"] = json!([{"name": "p", "columns": ["a"], "order": "unique", "rows": rows}]);
        plan["transactions"][0]["ops"] = json!([
            {"op": "loop", "count": 20, "ops": [draw, step]},
            {"op": "think", "pause": {"dist": "fixed", "mean_s": 60.0}}]);
        plan["load"] = closed(2, 2.0);
        plan["load"]["users_at_most"] = json!(10);
        // The users sleep for 60 s. The drain (the time for users to finish after the load) ends earlier.
        plan["timeouts"]["drain_s"] = json!(5.0);
        let results = run(plan);
        results.check_identity();
        let mut paths = server.paths();
        paths.sort_by_key(|path| path[1..].parse::<u64>().expect("a row"));
        let wanted: Vec<_> = (0..40).map(|row| format!("/{row}")).collect();
        assert_eq!(paths, wanted);
        assert!(results.failed().is_empty(), "{:?}", results.failed());
    }
}

#[test]
fn a_multipart_body_is_whole_and_its_content_is_made_on_the_way() {
    let server = ok_server();
    let size = 3_000_000;
    let request = json!({"op": "request", "step": 0, "target": 0, "method": "POST", "path": ["/up"], "body": {
        "kind": "multipart", "parts": [
            {"name": "title", "content": ["a\"b"]},
            {"name": "file", "filename": ["x", {"function": "user"}, ".bin"], "content_type": "application/x",
             "generated": {"bytes": size, "form": "random"}},
            {"name": "text", "generated": {"bytes": 100, "form": "text"}}]}});
    let bodies: Vec<Vec<u8>> = (0..2)
        .map(|_| {
            let before = server.seen().len();
            run(plan_of(server.address, &json!([request]))).check_identity();
            server.seen()[before].body.clone()
        })
        .collect();
    let seen = &server.seen()[0];
    let kind = seen.header("Content-Type").expect("a content type");
    let boundary = kind
        .strip_prefix("multipart/form-data; boundary=")
        .expect("a boundary");
    let body = &bodies[0];
    let head = String::from_utf8_lossy(&body[..300]);
    assert!(head.starts_with(&format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\na\"b\r\n--{boundary}\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"x0.bin\"\r\nContent-Type: application/x\r\n\r\n"
    )));
    assert!(body.ends_with(format!("\r\n--{boundary}--\r\n").as_bytes()));
    let text = String::from_utf8_lossy(&body[body.len() - 100 - boundary.len() - 8..]).into_owned();
    assert!(
        text.bytes()
            .take(100)
            .all(|byte| byte.is_ascii_lowercase() || b" \n".contains(&byte)),
        "{text}"
    );
    assert!(body.len() > size + 100 && body.len() < size + 700);
    assert_eq!(bodies[0], bodies[1], "the seed decides the content");
}

#[test]
fn loops_and_branches_go_as_often_as_they_say() {
    let server = ok_server();
    let ops = json!([
        {"op": "loop", "count": 2, "ops": [
            {"op": "loop", "count": 3, "ops": [get(0, &json!(["/in"]))]}, get(1, &json!(["/out"]))]},
        {"op": "loop", "count": 0, "ops": [get(0, &json!(["/never"]))]},
        {"op": "branch", "percent": 0, "then": [get(0, &json!(["/never"]))], "else": [get(0, &json!(["/else"]))]},
        {"op": "branch", "percent": 100, "then": [get(0, &json!(["/then"]))], "else": [get(0, &json!(["/never"]))]}]);
    run(plan_of(server.address, &ops)).check_identity();
    let expected = [
        "/in", "/in", "/in", "/out", "/in", "/in", "/in", "/out", "/else", "/then",
    ];
    assert_eq!(server.paths(), expected);
}

/// Returns a plan in which every choice that can be random is random.
fn random_plan(server: &Server, threads: usize) -> Value {
    let user = json!({"function": "user"});
    let tail = json!({"variable": 0});
    let path = |name: &str| {
        json!([format!("/{name}/"), user, "/", tail, "/", {"function": "random_int", "min": 0, "max": 999},
                                   "/", {"function": "uuid"}])
    };
    let draw = json!({"op": "draw", "pool": 0, "variables": [0]});
    let mut plan = plan_of(server.address, &json!([draw, get(0, &path("a"))]));
    plan["threads"] = json!(threads);
    plan["pools"] = json!([{"name": "p", "columns": ["x"], "order": "weighted", "rows": [["p"], ["q"], ["r"]],
                            "weights": [1.0, 2.0, 3.0]}]);
    let second =
        json!([{"op": "loop", "count": {"min": 1, "max": 3}, "ops": [draw, get(1, &path("b"))]}]);
    plan["transactions"] = json!([plan["transactions"][0], {"name": "t1", "ops": second}]);
    plan["groups"][0]["mix"] =
        json!([{"transaction": 0, "weight": 50.0}, {"transaction": 1, "weight": 50.0}]);
    plan["groups"][0]["think"] = json!({"dist": "exponential", "mean_s": 0.01});
    plan["load"] = closed(7, 2.0);
    plan
}

fn by_user(server: &Server) -> BTreeMap<String, Vec<String>> {
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in server.paths() {
        let user = path.split('/').nth(2).expect("a user").to_owned();
        users.entry(user).or_default().push(path);
    }
    users
}

#[test]
fn the_same_seed_gives_every_user_the_same_sequence_with_any_number_of_threads() {
    let runs: Vec<_> = [1, 3]
        .map(|threads| {
            let server = ok_server();
            run(random_plan(&server, threads)).check_identity();
            by_user(&server)
        })
        .into();
    assert_eq!(runs[0].len(), 7);
    for (user, first) in &runs[0] {
        let second = &runs[1][user];
        let both = first.len().min(second.len());
        assert!(both >= 3, "user {user} made {both} requests");
        assert_eq!(first[..both], second[..both]);
    }
    assert_ne!(runs[0]["0"][0][4..], runs[0]["1"][0][4..], "users differ");
}

#[test]
fn the_mix_has_its_proportions() {
    let server = ok_server();
    let mut plan = plan_of(server.address, &json!([get(0, &json!(["/a"]))]));
    plan["transactions"] =
        json!([plan["transactions"][0], {"name": "t1", "ops": [get(1, &json!(["/b"]))]}]);
    plan["groups"][0]["mix"] =
        json!([{"transaction": 0, "weight": 30.0}, {"transaction": 1, "weight": 70.0}]);
    plan["groups"][0]["think"] = Value::Null;
    plan["load"] = closed(4, 0.5);
    let results = run(plan);
    results.check_identity();
    let counts = [0, 1].map(|id| results.count("transaction", id, "/ok") as f64);
    let total = counts[0] + counts[1];
    assert!(total > 200.0, "{total}");
    // The first transaction is expected in about 30 % of the cases. The tolerance is five standard deviations of a
    // binomial count.
    assert!(
        (counts[0] - 0.3 * total).abs() < 5.0 * (0.3 * 0.7 * total).sqrt(),
        "{counts:?}"
    );
}

#[test]
fn users_divide_among_groups_by_share() {
    let server = ok_server();
    let mut plan = plan_of(server.address, &json!([get(0, &json!(["/"]))]));
    let mut second = plan["groups"][0].clone();
    second["name"] = json!("h");
    second["share"] = json!(0.3);
    plan["groups"][0]["share"] = json!(0.7);
    plan["groups"] = json!([plan["groups"][0], second]);
    plan["load"] = closed(10, 1.0);
    plan["threads"] = json!(3);
    let results = run(plan);
    results.check_identity();
    let of_group = |group: usize| -> u64 {
        let series = results
            .series("transaction", 0)
            .filter(|series| series["group"] == group);
        series
            .map(|entry| entry["ok"].as_u64().expect("a count"))
            .sum()
    };
    assert_eq!((of_group(0), of_group(1)), (7, 3));
}

#[test]
fn think_time_is_told_and_is_no_response_time() {
    let server = ok_server();
    let pause = json!({"op": "think", "pause": {"dist": "fixed", "mean_s": 0.1}});
    let page = json!({"op": "page", "page": 0, "ops": [get(0, &json!(["/1"])), pause, get(1, &json!(["/2"]))]});
    let mut plan = plan_of(server.address, &json!([page, pause]));
    plan["groups"][0]["think"] = json!({"dist": "fixed", "mean_s": 0.05});
    plan["load"] = closed(1, 0.4);
    let results = run(plan);
    results.check_identity();
    let transactions = results.count("transaction", 0, "/ok");
    assert!(transactions >= 1);
    let think = |key: &str| -> u64 {
        let counts = results
            .intervals()
            .filter_map(|line| line["think"][key].as_u64());
        counts.sum()
    };
    // Each transaction has two pauses of 0.1 s and is followed by a pause of 0.05 s. The end of the load may cut off
    // the last pause.
    let between = think("count") - 2 * transactions;
    assert!(between == transactions || between + 1 == transactions);
    assert_eq!(
        think("sum_ns"),
        2 * transactions * 100_000_000 + between * 50_000_000
    );
    // The response times and think times of one user cannot overlap, so their sum is at most the duration of the run.
    let wall_s = results.engine["generator"]["wall_s"]
        .as_f64()
        .expect("a time");
    let inside = [("page", 100_000_000), ("transaction", 200_000_000)];
    for (of, think_ns) in inside {
        let spent_ns = results.count(of, 0, "/response_sum_ns") + transactions * think_ns;
        assert!(spent_ns as f64 <= wall_s * 1e9, "{of} {spent_ns}");
    }
}

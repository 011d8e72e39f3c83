//! Tests of plans with faults: each fault is found, and all faults are reported together with their locations.

mod support;

use serde_json::{Value, json};
use support::{get, plan_of};
use towtank_load::plan::read_text;
use towtank_load::run::Prepared;

fn good() -> Value {
    let mut plan = plan_of(
        "127.0.0.1:80".parse().expect("an address"),
        &json!([get(0, &json!(["/"]))]),
    );
    plan["out"] = json!("/tmp/never-made");
    plan
}

fn faults(plan: &Value) -> Vec<String> {
    let result = read_text(&plan.to_string()).and_then(Prepared::new);
    result
        .err()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// Takes a valid plan and replaces the part at a JSON pointer by `value`. Returns the fault of the changed plan, which
/// must have no other fault.
fn fault(pointer: &str, value: Value) -> String {
    let mut plan = good();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let place = plan.pointer_mut(parent).expect("a place");
    match place {
        Value::Array(items) => items[key.parse::<usize>().expect("an index")] = value,
        other => other[key] = value,
    }
    let found = faults(&plan);
    assert_eq!(found.len(), 1, "{pointer}: {found:?}");
    found[0].clone()
}

#[test]
fn what_is_wrong_with_certificates_is_told_at_once() {
    let mut plan = good();
    plan["targets"][0]["scheme"] = json!("https");
    plan["targets"][0]["tls"] = json!({
        "ca": "/no/ca.pem", "client_certificate": "/no/client.pem", "client_key": "/no/client.key",
        "server_name": "not a name"});
    let places: Vec<String> = faults(&plan)
        .iter()
        .filter_map(|fault| fault.split(": ").next().map(str::to_owned))
        .collect();
    assert_eq!(
        places,
        [
            "targets[0].tls.server_name",
            "targets[0].tls.client_certificate",
            "targets[0].tls.client_key",
            "targets[0].tls.ca",
        ]
    );
    plan["targets"][0]["tls"] = json!({"client_key": "x", "versions": []});
    let found = faults(&plan);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("targets[0].tls: must have both"));
    assert!(found[1].starts_with("targets[0].tls.versions: must have"));
}

#[test]
fn a_good_plan_has_none() {
    assert_eq!(faults(&good()), Vec::<String>::new());
}

#[test]
fn connections_that_cannot_be_are_told() {
    let cases: Vec<(&str, Value, &str)> = vec![
        (
            "/connections",
            json!({"mode": "pool"}),
            "connections.size: must be given",
        ),
        (
            "/connections",
            json!({"mode": "pool", "size": 0}),
            "connections.size: must be at least one for each",
        ),
        (
            "/connections",
            json!({"mode": "per_user", "size": 3}),
            "connections.size: is allowed only with mode `pool`",
        ),
        (
            "/connections",
            json!({"mode": "per_user", "sources": ["here"]}),
            "connections.sources[0]: must be an IP address",
        ),
        (
            "/connections",
            json!({"mode": "per_user", "sources": ["192.0.2.1"]}),
            "connections.sources[0]: connections cannot use the source address 192.0.2.1",
        ),
        (
            "/targets/0/addresses",
            json!(["unix:relative"]),
            "targets[0].addresses[0]: must be unix:/path",
        ),
        (
            "/targets/0/tls",
            json!({}),
            "targets[0]: must have scheme `https`",
        ),
    ];
    for (pointer, value, expected) in cases {
        let found = fault(pointer, value);
        assert!(found.starts_with(expected), "{pointer}: {found}");
    }
}

#[test]
fn cookies_that_cannot_be_sent_are_told() {
    let cookie = |path: &str, name: &str, value: &str| json!([{"target": 0, "path": path, "name": name, "value": value}]);
    for given in [
        cookie("x", "a", "1"),
        cookie("/", "", "1"),
        cookie("/", "a=b", "1"),
        cookie("/", "a", "1; b=2"),
        cookie("/", "a", "1\r\nX: 2"),
    ] {
        let found = fault("/groups/0/cookies", json!({"given": given}));
        let expected = "groups[0].cookies.given[0]: must have";
        assert!(found.starts_with(expected), "{given}: {found}");
    }
    let elsewhere = json!([{"target": 1, "path": "/", "name": "a", "value": "1"}]);
    let found = fault("/groups/0/cookies", json!({"given": elsewhere}));
    assert!(
        found.starts_with("groups[0].cookies.given[0].target: must be"),
        "{found}"
    );
    let many: Vec<Value> = (0..51)
        .map(|number| json!({"target": 0, "path": "/", "name": format!("c{number}"), "value": ""}))
        .collect();
    let found = fault("/groups/0/cookies", json!({"given": many}));
    assert!(
        found.starts_with("groups[0].cookies.given: must be at most 50"),
        "{found}"
    );
    let found = fault("/groups/0/cookies", json!({"kept": "always"}));
    assert!(found.starts_with("groups[0]: unknown variant"), "{found}");
}

#[test]
fn each_fault_has_its_place() {
    let cases: Vec<(&str, Value, &str)> = vec![
        ("/schema", json!("towtank/plan/9"), "schema: must be"),
        ("/extra", json!(1), "extra: is not a key"),
        ("/seed", json!(-1), "seed: "),
        ("/threads", json!(0), "threads: must be in"),
        (
            "/targets/0/scheme",
            json!("ftp"),
            "targets[0]: unknown variant `ftp`",
        ),
        (
            "/targets/0/addresses",
            json!(["nowhere"]),
            "targets[0].addresses[0]: must be host:port",
        ),
        (
            "/connections/mode",
            json!("telepathy"),
            "connections: unknown variant",
        ),
        (
            "/timeouts/connect_s",
            json!(0),
            "timeouts.connect_s: must be",
        ),
        (
            "/timeouts/wait_s",
            json!(1),
            "timeouts: unknown field `wait_s`",
        ),
        (
            "/limits",
            json!({"header_bytes": 0}),
            "limits.header_bytes: must be above 0",
        ),
        (
            "/pools",
            json!([{"name": "p", "order": "random"}]),
            "pools[0]: must have either `rows` or `csv`",
        ),
        (
            "/pools",
            json!([{"name": "p", "order": "random", "csv": "/none.csv"}]),
            "pools[0]: \"/none.csv\" cannot",
        ),
        (
            "/pools",
            json!([{"name": "p", "order": "unique", "columns": ["a"], "rows": [["1", "2"]]}]),
            "pools[0].rows[0]",
        ),
        ("/groups/0/share", json!(0.9), "groups: must have shares"),
        (
            "/groups/0/mix/0/transaction",
            json!(7),
            "groups[0].mix[0].transaction: must be the index",
        ),
        (
            "/groups/0/mix/0/weight",
            json!(0),
            "groups[0].mix: must be weights",
        ),
        (
            "/groups/0/think",
            json!({"dist": "gamma"}),
            "groups[0]: unknown variant `gamma`",
        ),
        (
            "/groups/0/think",
            json!({"dist": "uniform", "min_s": 2, "max_s": 1}),
            "groups[0].think: must have min_s",
        ),
        (
            "/groups/0/think",
            json!({"dist": "normal", "mean_s": 1, "sd_s": 0.1, "min_s": 5, "max_s": 6}),
            "groups[0].think: must have an interval from min_s to max_s that begins or ends within three",
        ),
        ("/load/kind", json!("half"), "load: unknown variant"),
        (
            "/load/stages/1/users",
            json!(9),
            "load.stages[1].users: must be at most",
        ),
        (
            "/load/stages/1/duration_s",
            json!(0),
            "load.stages[1].duration_s: must be",
        ),
        (
            "/load/stages/1/rate",
            json!(9),
            "load: unknown field `rate`",
        ),
    ];
    for (pointer, value, expected) in cases {
        let found = fault(pointer, value);
        assert!(found.starts_with(expected), "{pointer}: {found}");
    }
}

#[test]
fn each_fault_of_an_operation_has_its_place() {
    let op = "/transactions/0/ops/0";
    let with = |key: &str, value: Value| {
        let mut request = get(0, &json!(["/"]));
        request[key] = value;
        request
    };
    let at = "transactions[0].ops[0]";
    let cases: Vec<(Value, &str)> = vec![
        (json!({"op": "sleep"}), ": unknown variant `sleep`"),
        (
            json!({"op": "transaction", "transaction": 0}),
            ": `transaction` is allowed only in",
        ),
        (
            json!({"op": "page", "page": 3, "ops": []}),
            ": must be the index of one of 1 pages, got 3",
        ),
        (
            json!({"op": "page", "page": 0, "ops": [{"op": "page", "page": 0, "ops": []}]}),
            ".ops[0]: a page cannot",
        ),
        (
            json!({"op": "set", "variable": 3, "value": []}),
            ": must be the index of one of 3 variables",
        ),
        (
            json!({"op": "draw", "pool": 0, "variables": []}),
            ": must be the index of one of 0 pools",
        ),
        (
            json!({"op": "branch", "percent": 101, "then": []}),
            ": percent must be",
        ),
        (
            json!({"op": "loop", "count": {"min": 3, "max": 2}, "ops": []}),
            ": count must have min <= max",
        ),
        (with("step", json!(2)), ".step: must be the index"),
        (with("target", json!(2)), ".target: must be the index"),
        (
            with("method", json!("GET /")),
            ".method: must be an HTTP method",
        ),
        (with("path", json!(["x"])), ".path: must begin with /"),
        (
            with("path", json!(["/a b"])),
            ".path: must not have a blank",
        ),
        (
            with("path", json!(["/", {"variable": 9}])),
            ".path[1]: must be the index",
        ),
        (
            with("headers", json!([["X", ["a\nb"]]])),
            ".headers[0]: must not have a line break",
        ),
        (
            with("headers", json!([["Content-Length", ["1"]]])),
            ".headers[0]: must not be Content-Length: the engine sets this header",
        ),
        (
            with("body", json!({"kind": "file", "path": "/none"})),
            ".body: \"/none\" cannot be read",
        ),
        (
            with(
                "body",
                json!({"kind": "multipart", "parts": [{"name": "a"}]}),
            ),
            ".body.parts[0]: must have exactly one",
        ),
        (
            with("checks", json!([{"kind": "regex", "pattern": "("}])),
            ".checks[0]: must be a regular expression",
        ),
        (
            with("checks", json!([{"kind": "status"}])),
            ".checks[0]: must have either",
        ),
        (
            with(
                "extract",
                json!([{"into": {"variable": 0}, "from": "json", "expression": "objects"}]),
            ),
            ".extract[0].expression: must be a path",
        ),
        (
            with(
                "extract",
                json!([{"into": {"variable": 0}, "from": "regex", "expression": "x", "pick": "all"}]),
            ),
            ".extract[0]: `all` and `append` require a list",
        ),
        (with("timeout_s", json!(0)), ".timeout_s: must be above 0"),
        (with("retries", json!(3)), ": unknown field `retries`"),
    ];
    for (value, expected) in cases {
        let found = fault(op, value);
        assert!(found.starts_with(&format!("{at}{expected}")), "{found}");
    }
}

#[test]
fn all_faults_come_at_once() {
    let mut plan = good();
    plan["threads"] = json!(0);
    plan["groups"][0]["share"] = json!(2.0);
    plan["load"]["stages"][0]["users"] = json!(50);
    plan["transactions"][0]["ops"] = json!([get(5, &json!(["x"])), get(0, &json!(["/"]))]);
    assert_eq!(faults(&plan).len(), 5, "{:?}", faults(&plan));
    let mut plan = good();
    plan["seed"] = json!("x");
    plan["targets"][0]["extra"] = json!(1);
    plan["transactions"][0]["ops"] = json!([{"op": "x"}, {"op": "y"}]);
    assert_eq!(faults(&plan).len(), 4, "{:?}", faults(&plan));
}

#[test]
fn what_is_no_plan_at_all_is_one_fault() {
    for text in ["", "[]", "{", "null", "\u{0}"] {
        assert_eq!(read_text(text).expect_err("a fault").len(), 1, "{text:?}");
    }
    assert!(!read_text("{}").expect_err("faults").is_empty());
}

#[test]
fn an_open_load_needs_a_user_of_each_group_in_each_thread() {
    let mut plan = good();
    plan["threads"] = json!(3);
    plan["load"] = json!({"kind": "open", "arrivals": "constant", "users_at_most": 2, "backlog_at_most": 1, "stages": [
        {"name": "s", "phase": "steady", "level": 0, "duration_s": 1, "rate": 1}]});
    let found = faults(&plan);
    assert!(
        found.len() == 1
            && found[0].starts_with(
                "load.users_at_most: must be large enough for a user of each group in each"
            ),
        "{found:?}"
    );
}

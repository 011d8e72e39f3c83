//! Tests of the examples of failed exchanges in `engine.json`, with a server whose responses fail the checks.

#![allow(clippy::needless_pass_by_value)] // `json!` at the call is read best as a value.

mod support;

use serde_json::{Value, json};
use support::{Reply, Results, Server, answer, get, plan_of, run};

/// Runs one user that makes one request with these changes.
fn results_of(reply: impl Fn() -> Reply + Send + Sync + 'static, change: Value) -> Results {
    let server = Server::start(move |_| reply());
    let mut request = get(0, &json!(["/x"]));
    for (key, value) in change.as_object().expect("changes") {
        request[key] = value.clone();
    }
    let mut plan = plan_of(server.address, &json!([request]));
    plan["secrets"] = json!(["open sesame"]);
    let results = run(plan);
    results.check_identity();
    results
}

/// Returns the examples of a run.
fn examples(reply: impl Fn() -> Reply + Send + Sync + 'static, change: Value) -> Vec<Value> {
    let results = results_of(reply, change);
    let found = results.engine["failed_exchanges"].as_array();
    found.expect("a list").clone()
}

/// Returns the values of the only example: check, expected value, value found, start of the body.
fn only(reply: impl Fn() -> Reply + Send + Sync + 'static, change: Value) -> [Value; 4] {
    let found = examples(reply, change);
    assert_eq!(found.len(), 1, "{found:?}");
    ["check", "expected", "got", "answer"].map(|key| found[0][key].clone())
}

#[test]
fn a_run_without_failures_has_no_examples() {
    assert!(examples(|| answer(200, "", "hello"), json!({})).is_empty());
}

#[test]
fn an_error_is_shown_with_its_status_and_message() {
    let found = examples(|| answer(503, "", "no idle worker"), json!({}));
    let first = &found[0];
    assert_eq!(found.len(), 1);
    assert_eq!(first["step"], json!("one"));
    assert_eq!(first["transaction"], json!("t0"));
    assert_eq!(first["failure"], json!("status_5xx"));
    assert_eq!(first["status"], json!(503));
    assert_eq!(first["answer_bytes"], json!(14));
    let values = ["check", "expected", "got", "answer"].map(|key| first[key].clone());
    assert_eq!(
        json!(values),
        json!(["status", "200 to 399", "503", "no idle worker"])
    );
}

#[test]
fn each_kind_of_check_states_what_it_expected_and_got() {
    let body = || answer(200, "X-Kind: plain\r\n", r#"{"id": 8, "name": "box"}"#);
    let cases = [
        (
            json!({"kind": "size", "min": 100}),
            json!(["size", "at least 100 B", "24 B"]),
        ),
        (
            json!({"kind": "contains", "text": ["crate"]}),
            json!(["contains", "crate", "not found"]),
        ),
        (
            json!({"kind": "contains", "text": ["box"], "not": true}),
            json!(["contains not", "box", "found"]),
        ),
        (
            json!({"kind": "regex", "pattern": "id.: 7"}),
            json!(["regex", "id.: 7", "not found"]),
        ),
        (
            json!({"kind": "json", "expression": "$.id", "equals": ["7"]}),
            json!(["json $.id", "7", "8"]),
        ),
        (
            json!({"kind": "json", "expression": "$.absent"}),
            json!(["json $.absent", "a value", "none"]),
        ),
        (
            json!({"kind": "header", "name": "X-Kind", "contains": ["rich"]}),
            json!(["header X-Kind", "rich", "plain"]),
        ),
        (
            json!({"kind": "status", "in": [201, 202]}),
            json!(["status", "201 or 202", "200"]),
        ),
    ];
    for (check, expected) in cases {
        let [check, wanted, got, _] = only(body, json!({"checks": [check]}));
        assert_eq!(json!([check, wanted, got]), expected);
    }
}

#[test]
fn a_value_that_cannot_be_extracted_is_shown_with_the_body() {
    let extract =
        json!({"extract": [{"into": {"variable": 0}, "from": "json", "expression": "$.id"}]});
    let [check, expected, got, body] = only(|| answer(200, "", "<html>"), extract);
    assert_eq!(
        json!([check, expected, got, body]),
        json!(["extract json $.id", "a value", "none", "<html>"])
    );
}

#[test]
fn secrets_are_hidden_in_every_text() {
    let reply = || {
        let head = "Set-Cookie: sid=s3cretcookie\r\n";
        let body = r#"{"token": "t0ken-of-ada", "said": "open sesame", "sid": "s3cretcookie"}"#;
        answer(500, head, body)
    };
    let results = results_of(reply, json!({}));
    let found = results.engine["failed_exchanges"].to_string();
    for secret in ["t0ken-of-ada", "open sesame", "s3cretcookie"] {
        assert!(!found.contains(secret), "{found}");
    }
    assert!(found.contains("said"), "{found}");
    let check = json!({"checks": [{"kind": "header", "name": "Set-Cookie", "contains": ["mine"]}]});
    let cookies = || answer(200, "Set-Cookie: a=b\r\n", "");
    let [check, expected, got, _] = only(cookies, check);
    assert_eq!(
        json!([check, expected, got]),
        json!(["header Set-Cookie", "***", "***"])
    );
}

#[test]
fn a_body_that_is_no_text_is_left_out() {
    let body = "\u{1f}\u{8b}\u{8}\u{0}compressed";
    let [_, _, got, shown] = only(move || answer(500, "", body), json!({}));
    assert_eq!((got, shown), (json!("500"), Value::Null));
}

#[test]
fn a_response_that_did_not_come_whole_is_shown_with_its_reason() {
    let cut = || Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".to_vec());
    let [check, expected, got, _] = only(cut, json!({"timeout_s": 2.5}));
    assert_eq!(
        json!([check, expected]),
        json!(["response", "within 2.5 s"])
    );
    assert!(
        got.as_str()
            .expect("a text")
            .contains("within its response")
    );
}

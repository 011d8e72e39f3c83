//! Tests of the MySQL driver: behaviour of its calls that other drivers do not have.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::stub::{Protocol, Reply, Seen, Stub};
use crate::support::run;
use crate::{counted, plan, so_often};

fn call(step: usize, text: &str) -> Value {
    Protocol::Mysql.call(step, text, &json!([]))
}

fn start(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Stub {
    Stub::start(Protocol::Mysql, handler)
}

#[test]
fn what_the_server_does_not_prepare_goes_as_text_each_time() {
    let stub = start(|_| Reply::Row("7".to_owned()));
    let mut select = call(0, "unprepared select");
    select["checks"] = json!([{"kind": "value", "column": "v", "equals": ["7"]},
                           {"kind": "rows", "min": 1, "max": 1}]);
    let results = run(so_often(plan(&stub, &json!([select])), 3));
    counted(&results, &stub);
    assert_eq!(results.count("step", 0, "/ok"), 3);
    assert_eq!(stub.prepared.load(Ordering::Relaxed), 0);
    assert_eq!(stub.texts(), ["unprepared select"; 3]);
}

#[test]
fn a_value_stands_wherever_its_parameter_does_and_may_be_missing() {
    let stub = start(|_| Reply::Row("7".to_owned()));
    let text = "select $2, $1, $2";
    let select = Protocol::Mysql.call(0, text, &json!([["a"], ["b"]]));
    let results = run(so_often(plan(&stub, &json!([select])), 1));
    counted(&results, &stub);
    assert_eq!(stub.seen()[0].values, ["b", "a", "b"]);
}

#[test]
fn what_a_server_must_not_say_costs_the_session() {
    let cases: [(&str, &[u8]); 7] = [
        ("protocol", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        // Cases: a packet of 16 MiB or more, a packet out of sequence, a request for a local file, an invalid column, a
        // truncated OK packet.
        ("protocol", &[0xff, 0xff, 0xff, 1, 0]),
        ("protocol", &[7, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0]),
        ("protocol", &[3, 0, 0, 1, 0xfb, b'/', b'x']),
        ("protocol", &[1, 0, 0, 1, 1, 2, 0, 0, 2, b'x', b'y']),
        ("protocol", &[1, 0, 0, 1, 0]),
        // The server reports that the session was killed (error 1927).
        ("closed", b"\x0b\0\0\x05\xff\x87\x07#70100no"),
    ];
    for (kind, bytes) in cases {
        let count = AtomicUsize::new(0);
        let stub = start(move |_| match count.fetch_add(1, Ordering::Relaxed) {
            0 => Reply::Bytes(bytes.to_vec()),
            _ => Reply::Row("7".to_owned()),
        });
        let results = run(so_often(plan(&stub, &json!([call(0, "select 1")])), 2));
        counted(&results, &stub);
        assert_eq!(results.failed()[kind], 1, "{}", bytes.escape_ascii());
        assert_eq!(results.count("step", 0, "/ok"), 1);
        assert_eq!(stub.seen()[1].connection, 1);
    }
}

#[test]
fn a_statement_with_places_of_the_servers_own_form_is_a_fault_of_the_workload() {
    let stub = start(|_| Reply::Row("7".to_owned()));
    let results = run(so_often(plan(&stub, &json!([call(0, "select ?")])), 2));
    results.check_identity();
    assert_eq!(results.failed()["internal"], 2);
    assert!(stub.seen().is_empty(), "nothing was asked");
}

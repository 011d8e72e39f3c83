//! Tests of the notes (records) of calls that store, overwrite, read and delete files.

mod support;

use serde_json::{Value, json};
use support::{Folder, plan_of, run};
use towtank_load::plan;

fn call(action: &str, path: &str, size: Option<&str>, does: &str) -> Value {
    let size = size.map(|size| json!([size]));
    json!({"op": "call", "step": 0, "target": 0, "do": {"kind": "file", "action": action},
           "values": [[path], null, size, null], "on_failure": "go_on",
           "note": {"does": does, "of": "files", "key": [path]}})
}

fn plan_below(root: &Folder, ops: &Value) -> Value {
    let mut plan = plan_of("127.0.0.1:1".parse().expect("an address"), ops);
    plan["targets"] = json!([{"name": "t", "scheme": "driver", "addresses": [], "balance": "round_robin",
                              "driver": {"kind": "file", "root": root.0, "direct": false}}]);
    plan
}

#[test]
fn what_files_hold_is_told_when_it_is_and_intents_before() {
    let root = Folder::new();
    std::fs::create_dir_all(&root.0).expect("a folder");
    let ops = json!([
        call("put", "one", Some("1000"), "stores"),
        call("put", "one", Some("2000"), "replaces"),
        call("read", "one", None, "reads"),
        call("delete", "one", None, "removes"),
        call("read", "one", None, "reads"),
        call("delete", "one", None, "removes"),
    ]);
    let results = run(plan_below(&root, &ops));
    let is_note = |line: &&Value| line["of"] == "files";
    let notes: Vec<&Value> = results.lines.iter().filter(is_note).collect();
    let kinds: Vec<&str> = notes.iter().filter_map(|note| note["k"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "stored", "begun", "stored", "read", "begun", "removed", "read", "begun", "failed"
        ]
    );
    assert!(notes.iter().all(|note| note["key"] == "one"));
    let sizes: Vec<&Value> = [0, 2, 3].map(|place| &notes[place]["bytes"]).into();
    assert_eq!(sizes, [&json!(1000), &json!(2000), &json!(2000)]);
    assert_ne!(notes[0]["sha256"], notes[2]["sha256"]);
    assert_eq!(notes[2]["sha256"], notes[3]["sha256"]);
    // The note before a change and the note of its outcome must contain the same start time.
    for (begun, ended) in [(1, 2), (4, 5), (7, 8)] {
        assert_eq!(notes[begun]["t_ns"], notes[ended]["begun_ns"]);
    }
    assert_eq!(notes[6]["absent"], true);
    assert_eq!(notes[6]["failure"], "refused");
    assert_eq!(notes[3].get("absent"), None);
    assert!(notes.iter().all(|note| note.get("status").is_none()));
}

#[test]
fn only_whole_contents_can_be_noted() {
    let root = Folder::new();
    let mut part = call("read", "one", None, "reads");
    part["values"][2] = json!(["10"]);
    for wrong in [
        call("append", "one", Some("10"), "stores"),
        call("put", "one", Some("10"), "removes"),
        call("delete", "one", None, "replaces"),
        part,
    ] {
        let mut plan = plan_below(&root, &json!([wrong]));
        plan["out"] = json!("somewhere");
        let text = plan.to_string();
        let faults = plan::read_text(&text).expect_err("a fault");
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].place.ends_with(".note.does"), "{faults:?}");
    }
}

//! Tests `towtank-engine caches` as a program: it reads traces from files and streams, and writes results and faults as
//! JSON.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_towtank-engine"))
        .arg("caches")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the engine starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // If the process refuses its options, it does not read its input. Writing the input then fails, which is ignored.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn a_stream_and_a_file_have_the_same_answer() {
    let trace = "key,bytes\na,10\nb,20\na,10\nc,5\nb,20\n";
    let options = ["--entries", "2,3", "--bytes", "30", "--metadata-bytes", "1"];
    let streamed = run(&options, trace);
    assert_eq!(streamed.status.code(), Some(0));
    let answer = &document(&streamed)["answer"];
    // The second reference to key a hits in a cache of two entries. The second reference to key b hits in a cache of
    // three entries or 35 bytes; with one byte of metadata per entry, `35 + 3 = 38` bytes.
    let limits = answer["limits"].as_array().expect("rows");
    let missed: Vec<f64> = limits
        .iter()
        .filter_map(|row| row["miss_ratio"].as_f64())
        .collect();
    assert_eq!(missed, [1.0, 1.0]);
    let wider = document(&run(
        &["--entries", "2,3", "--bytes", "38", "--metadata-bytes", "1"],
        trace,
    ));
    let missed = &wider["answer"]["limits"];
    assert_eq!(
        [&missed[0]["miss_ratio"], &missed[1]["miss_ratio"]],
        [&json!(0.8), &json!(0.6)]
    );
    let path = std::env::temp_dir().join(format!("towtank-trace-{}.csv", std::process::id()));
    std::fs::write(&path, trace).expect("a file");
    let read = run(
        &[&[path.to_str().expect("a path")], &options[..]].concat(),
        "",
    );
    std::fs::remove_file(&path).expect("it was there");
    assert_eq!(document(&read), document(&streamed));
}

#[test]
fn faults_are_told_with_status_2() {
    let output = run(&[], "key,bytes\na,x\n,1\n");
    assert_eq!(output.status.code(), Some(2));
    let report = document(&output);
    assert_eq!(report["more"], 0);
    let places: Vec<(u64, u64)> = report["faults"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|point| {
            (
                point["line"].as_u64().unwrap(),
                point["column"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(places, [(2, 3), (3, 1)]);
}

#[test]
fn options_that_are_wrong_are_told() {
    let cases: [(&[&str], &str); 9] = [
        (&["--entries", "0"], "--entries must be whole numbers"),
        (&["--shards", "1.5"], "--shards must be a number above 0"),
        (
            &["--samples", "7"],
            "--samples must be a whole number from 8",
        ),
        (&["--warm-up"], "--warm-up needs a value"),
        (&["--zipf", "10"], "--zipf must be KEYS:SKEW"),
        (&["--zipf", "10:1"], "--zipf must be given with --entries"),
        (&["--nonsense", "1"], "--nonsense is not an option"),
        (&["a.csv", "b.csv"], "only one trace"),
        (&["/nonexistent.csv"], "/nonexistent.csv"),
    ];
    for (arguments, expected) in cases {
        let output = run(arguments, "");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
    }
    let many: Vec<String> = (1..=200).map(|size| size.to_string()).collect();
    let many = many.join(",");
    let output = run(&["--entries", &many, "--bytes", &many], "");
    assert!(String::from_utf8_lossy(&output.stderr).contains("at most 10000 pairs"));
}

#[test]
fn a_law_needs_no_trace() {
    let output = run(&["--zipf", "1000:0", "--entries", "250,1000"], "");
    let answer = &document(&output)["answer"];
    assert!((answer[0]["hit_ratio"].as_f64().unwrap() - 0.25).abs() < 1e-12);
    assert_eq!(answer[1], json!({"entries": 1000, "hit_ratio": 1.0}));
}

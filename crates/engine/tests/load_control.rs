//! Tests the subcommand `load` when it is controlled by commands on standard input.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// An engine process that is killed when the value is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn engine(arguments: &[&str]) -> (Running, ChildStdin, BufReader<std::process::ChildStdout>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towtank-engine"));
    command.args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the engine");
    let input = child.stdin.take().expect("its input");
    let output = BufReader::new(child.stdout.take().expect("its output"));
    (Running(child), input, output)
}

/// An engine that runs a plan against a null server.
struct Session {
    folder: PathBuf,
    engine: Running,
    input: Option<ChildStdin>,
    replies: Receiver<Value>,
    server: (Running, ChildStdin),
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Longest time that a test waits for an expected event.
const PATIENCE: Duration = Duration::from_secs(60);

impl Session {
    fn start(load: &Value, threads: usize, server_options: &[&str]) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("towtank-load-control-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let options = [&["null-server", "--until-stdin-closes"], server_options].concat();
        let (server, server_input, mut output) = engine(&options);
        let mut line = String::new();
        output.read_line(&mut line).expect("an address");
        let address = line.trim().rsplit(' ').next().expect("an address");
        let path = folder.join("plan.json");
        let plan = plan(address, &folder, threads, load);
        std::fs::write(&path, plan.to_string()).expect("a plan");
        let path = path.to_str().expect("a path");
        let (engine, input, output) = engine(&["load", path, "--live", "--control"]);
        let (send, replies) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).expect("JSON");
                if send.send(value).is_err() {
                    return;
                }
            }
        });
        Self {
            folder,
            engine,
            input: Some(input),
            replies,
            server: (server, server_input),
        }
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("an open input");
        writeln!(input, "{line}").expect("a command");
    }

    /// Returns the next output line for which `wanted` is true.
    fn await_line(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.replies.recv_timeout(PATIENCE).expect("a line");
            if wanted(&line) {
                return line;
            }
        }
    }

    fn await_kind(&self, kind: &str) -> Value {
        self.await_line(|line| line["k"] == kind)
    }

    fn await_stage(&self, index: usize) -> Value {
        self.await_line(|line| line["k"] == "stage" && line["index"] == index)
    }

    /// Sends a `next` or `append` command that the engine must refuse, and returns the reason that it gives.
    fn refused(&mut self, line: &str) -> String {
        self.send(line);
        let answer = self.await_kind("refused");
        answer["why"].as_str().expect("a reason").to_owned()
    }

    /// Waits for the end of the engine process and reads its results.
    fn end(&mut self) -> Written {
        assert_eq!(self.engine.0.wait().expect("an end").code(), Some(0));
        let text = std::fs::read_to_string(self.folder.join("out/engine.json")).expect("results");
        let mut parts: Vec<(PathBuf, Vec<Value>)> = Vec::new();
        for entry in std::fs::read_dir(self.folder.join("out")).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|found| found == "ndjson") {
                let text = std::fs::read_to_string(&path).expect("a segment");
                let lines = text.lines().map(|line| &line[9..]);
                let lines = lines.map(|line| serde_json::from_str(line).expect("JSON"));
                parts.push((path, lines.collect()));
            }
        }
        parts.sort_by(|one, other| one.0.cmp(&other.0));
        let written = Written {
            engine: serde_json::from_str(&text).expect("JSON"),
            parts: parts.into_iter().map(|(_, lines)| lines).collect(),
        };
        written.check();
        written
    }
}

/// The results of a run: `engine.json`, and the lines of all segments, ordered by thread and then by segment number.
struct Written {
    engine: Value,
    parts: Vec<Vec<Value>>,
}

fn seconds(value: &Value) -> f64 {
    value.as_f64().expect("seconds")
}

impl Written {
    /// Checks the invariants of every run. Counts add up, intervals have no gaps or overlaps, each interval stays
    /// within its stage, and all segments end with the stages of `engine.json`.
    fn check(&self) {
        let holds = json!({"offered_holds": true, "started_holds": true});
        assert_eq!(self.engine["identity"], holds);
        let stages = self.engine["stages"].as_array().expect("stages");
        for worker in 0..self.engine["threads"].as_u64().expect("threads") {
            let own = self.parts.iter().filter(|part| part[0]["worker"] == worker);
            let last = own.clone().next_back().expect("a segment");
            assert_eq!(&last[0]["stages"], &self.engine["stages"]);
            let mut before_ns = 0;
            for line in own.flatten().filter(|line| line["k"] == "interval") {
                assert_eq!(line["t0_ns"], before_ns, "{line}");
                before_ns = line["t1_ns"].as_u64().expect("a time");
                let stage = &stages[line["stage"].as_u64().expect("a stage") as usize];
                let is_drain = stage["name"] == "drain";
                let stop = is_drain && self.engine["reason"] == "stopped";
                let start_ns = seconds(&stage["start_s"]) * 1e9;
                assert!(stop || line["t0_ns"].as_f64() >= Some(start_ns - 0.5));
                let end_ns = seconds(&stage["end_s"]) * 1e9;
                assert!(is_drain || line["t1_ns"].as_f64() <= Some(end_ns + 0.5));
            }
        }
    }

    /// Returns the names of the stages with their actual lengths. [s]
    fn lengths(&self) -> Vec<(String, f64)> {
        let stages = self.engine["stages"].as_array().expect("stages").iter();
        let length = |stage: &Value| seconds(&stage["end_s"]) - seconds(&stage["start_s"]);
        stages
            .map(|stage| {
                (
                    stage["name"].as_str().expect("a name").to_owned(),
                    length(stage),
                )
            })
            .collect()
    }
}

fn plan(address: &str, folder: &std::path::Path, threads: usize, load: &Value) -> Value {
    json!({
        "schema": "towtank/plan/1", "run": "test", "seed": 5, "out": folder.join("out"), "threads": threads,
        "targets": [{"name": "t", "scheme": "http", "addresses": [address], "balance": "round_robin", "host": "h"}],
        "connections": {"mode": "per_user"}, "timeouts": {"connect_s": 2.0, "response_s": 60.0, "drain_s": 60.0},
        "steps": [{"name": "one", "transaction": "t"}], "pages": [],
        "transactions": [{"name": "t", "ops": [
            {"op": "request", "step": 0, "target": 0, "method": "GET", "path": ["/"]}]}],
        "groups": [{"name": "g", "share": 1.0, "mix": [{"transaction": 0, "weight": 1.0}],
                    "think": {"dist": "fixed", "mean_s": 0.01}}],
        "load": load,
    })
}

fn stage(name: &str, phase: &str, duration_s: f64, users: u32) -> Value {
    json!({"name": name, "phase": phase, "duration_s": duration_s, "users": users, "until": "command"})
}

fn closed(stages: &[Value]) -> Value {
    json!({"kind": "closed", "users_at_most": 8, "stages": stages})
}

/// Returns a plan with a settle stage of ten minutes, which a command ends early, and a steady stage.
fn settling() -> Value {
    closed(&[
        stage("up", "ramp_up", 0.0, 4),
        stage("settle", "settle", 600.0, 4),
        stage("hold", "steady", 1.2, 4),
    ])
}

#[test]
fn a_stage_that_is_told_ends_in_all_threads_at_one_instant() {
    for threads in [1, 3] {
        let mut session = Session::start(&settling(), threads, &[]);
        let stage = session.await_stage(1);
        assert_eq!(
            (&stage["name"], &stage["end_s"]),
            (&json!("settle"), &json!(600.0))
        );
        let frame = session.await_line(|line| line["k"] == "live" && line["users"] == 4);
        assert_eq!(frame["stage_index"], 1);
        assert!(frame["transactions"].as_u64() > Some(0));
        assert!(frame["in_flight"].is_u64() && frame["waiting"] == 0 && frame["errors"] == 0);
        session.send(r#"{"do":"next","stage":1}"#);
        let stage = session.await_stage(2);
        let written = session.end();
        assert_eq!(written.engine["reason"], "finished");
        let stages = &written.engine["stages"];
        let cut_s = seconds(&stages[1]["end_s"]);
        assert!(
            cut_s < 60.0 && (cut_s * 1000.0).fract().abs() < 1e-6,
            "{cut_s}"
        );
        assert_eq!(stages[2]["start_s"], stages[1]["end_s"]);
        assert!((seconds(&stage["end_s"]) - cut_s - 1.2).abs() < 1e-6);
        assert!((written.lengths()[2].1 - 1.2).abs() < 1e-9);
        let edits = json!([{"t_s": cut_s, "do": "next", "stage": 1}]);
        assert_eq!(written.engine["edits"], edits);
        let parts: Vec<_> = written.parts.iter().map(|part| &part[0]).collect();
        assert_eq!(parts.len(), 2 * threads);
        for pair in parts.chunks(2) {
            assert_eq!(pair[0]["stages"][1]["end_s"], 600.0);
            assert!(pair[0].get("edits").is_none() && pair[1]["edits"] == 1);
        }
    }
}

#[test]
fn appended_stages_follow_the_last_one() {
    let mut session = Session::start(&closed(&[stage("only", "steady", 600.0, 2)]), 2, &[]);
    session.await_stage(0);
    let more = [
        stage("up", "ramp_up", 0.2, 8),
        stage("more", "steady", 0.5, 8),
    ];
    session.send(&json!({"do": "append", "stages": more}).to_string());
    let answer = session.await_kind("appended");
    assert_eq!((&answer["first"], &answer["count"]), (&json!(1), &json!(2)));
    assert!((seconds(&answer["end_s"]) - 600.7).abs() < 1e-6);
    // Stage 0 is ended, so that the appended stages begin without a wait of 600 s.
    session.send(r#"{"do":"next","stage":0}"#);
    session.await_stage(2);
    let written = session.end();
    let lengths = written.lengths();
    let names: Vec<_> = lengths.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["only", "up", "more", "drain"]);
    assert!((lengths[2].1 - 0.5).abs() < 1e-9);
    let edits = written.engine["edits"].as_array().expect("edits");
    assert_eq!(edits[0]["do"], "append");
    assert_eq!(
        (&edits[0]["first"], &edits[0]["count"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(edits[1]["do"], "next");
    let most = written
        .parts
        .iter()
        .flatten()
        .filter_map(|line| line["users"].as_u64());
    assert_eq!(most.max(), Some(4), "half of eight users in each thread");
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason_and_changes_nothing() {
    let mut session = Session::start(&settling(), 2, &[]);
    session.await_stage(1);
    let wrong = [
        (
            r#"{"do":"next","stage":2}"#,
            "stage 2 is not the current stage, stage 1 is",
        ),
        (
            r#"{"do":"next","stage":7}"#,
            "no stage 7: there are 3 stages",
        ),
        (
            r#"{"do":"append","stages":[]}"#,
            "stages: must have at least one entry",
        ),
    ];
    for (line, why) in wrong {
        assert_eq!(session.refused(line), why);
    }
    let two_faults = json!({"do": "append", "stages": [stage("a", "steady", 0.0, 9)]});
    let why = session.refused(&two_faults.to_string());
    assert!(
        why.contains("stages[0].duration_s: must be")
            && why.contains("; stages[0].users: must be at most"),
        "{why}"
    );
    for line in [
        "{",
        "[1]",
        "3",
        r#"{"do":"dance"}"#,
        r#"{"do":"next","stage":1,"now":true}"#,
    ] {
        assert!(!session.refused(line).is_empty());
    }
    session.send(r#"{"do":"next","stage":1}"#);
    let written = session.end();
    assert_eq!(written.engine["edits"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_stage_that_does_not_wait_to_be_told_goes_on() {
    let mut load = settling();
    load["stages"][1]
        .as_object_mut()
        .expect("a stage")
        .remove("until");
    let mut session = Session::start(&load, 1, &[]);
    session.await_stage(1);
    let why = session.refused(r#"{"do":"next","stage":1}"#);
    assert_eq!(
        why,
        "stage 1 cannot be ended, since it has no until: command"
    );
}

#[test]
fn commands_after_the_drain_began_are_refused() {
    // The server never answers, so the drain (the wait for requests in progress) does not end by itself.
    let load = closed(&[
        stage("only", "ramp_up", 0.0, 2),
        stage("only", "steady", 600.0, 2),
    ]);
    let mut session = Session::start(&load, 2, &["--delay", "600000"]);
    session.await_line(|line| line["k"] == "live" && line["in_flight"] == 2);
    session.send(r#"{"do":"next","stage":1}"#);
    session.await_line(|line| line["k"] == "stage" && line["name"] == "drain");
    for line in [
        r#"{"do":"next","stage":1}"#,
        r#"{"do":"append","stages":[]}"#,
    ] {
        let why = session.refused(line);
        assert!(
            why == "the drain has begun" || why.starts_with("stages: "),
            "{why}"
        );
    }
    session.server.0.0.kill().expect("a server");
    let written = session.end();
    assert_eq!(written.engine["reason"], "finished");
    assert_eq!(written.engine["totals"]["failed"], json!({"closed": 2}));
}

#[test]
fn arrivals_that_wait_are_told_and_carried_over_an_edit() {
    // Transactions arrive at 50/s. Each takes one second, so two users complete only 2/s, and nearly all arrivals must
    // wait.
    let stage = |name: &str| json!({"name": name, "phase": "steady", "duration_s": 600.0, "rate": 50.0, "until": "command"});
    let load = json!({"kind": "open", "arrivals": "poisson", "users_at_most": 2, "backlog_at_most": 1000,
                      "stages": [stage("one"), stage("two")]});
    let mut session = Session::start(&load, 2, &["--delay", "1000"]);
    session.await_line(|line| line["k"] == "live" && line["waiting"].as_u64() > Some(20));
    session.send(r#"{"do":"next","stage":0}"#);
    session.await_stage(1);
    session.send(r#"{"do":"next","stage":1}"#);
    let written = session.end();
    let totals = &written.engine["totals"];
    assert!(
        totals["not_started"]["stopped"].as_u64() > Some(20),
        "{totals}"
    );
    let intervals = written.parts.iter().flatten();
    let waiting: u64 = intervals
        .filter_map(|line| line["waiting"].as_u64())
        .max()
        .unwrap_or(0);
    assert!(waiting > 10, "{waiting}");
}

#[test]
fn the_end_of_the_conductor_in_the_middle_leaves_whole_results() {
    let mut session = Session::start(&settling(), 3, &[]);
    session.await_stage(1);
    session.send(
        r#"{"do":"append","stages":[{"name":"x","phase":"steady","duration_s":5.0,"users":1}]}"#,
    );
    session.send(r#"{"do":"next","stage":1}"#);
    // The end of the input is read no later than the time of the edit.
    drop(session.input.take());
    let written = session.end();
    assert_eq!(written.engine["reason"], "stopped");
}

#[test]
fn a_signal_in_the_middle_of_an_edit_leaves_whole_results() {
    let mut load = settling();
    // The last stage is long, so the run does not end before the signal arrives.
    load["stages"][2]["duration_s"] = json!(600.0);
    for _ in 0..5 {
        let mut session = Session::start(&load, 3, &[]);
        session.await_stage(1);
        session.send(r#"{"do":"next","stage":1}"#);
        let id = session.engine.0.id().to_string();
        let status = Command::new("kill").args(["-s", "TERM", &id]).status();
        assert!(status.expect("kill").success());
        let written = session.end();
        assert_eq!(written.engine["reason"], "stopped");
    }
}

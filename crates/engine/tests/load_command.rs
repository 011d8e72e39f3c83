//! Tests the subcommand `load` as a caller uses it: its exit statuses, the live frames that it prints, and how it
//! stops.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// A folder that is deleted when the value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!(
            "towtank-load-command-{}-{number}",
            std::process::id()
        ));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn engine_json(&self) -> Value {
        let text = std::fs::read_to_string(self.0.join("out/engine.json")).expect("engine.json");
        serde_json::from_str(&text).expect("JSON")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An engine process that is killed when the value is dropped.
struct Engine(Child);

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server. It answers every request if `answers` is `true`, and no request otherwise.
fn server(answers: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream, answers));
        }
    });
    address
}

fn serve(mut stream: TcpStream, answers: bool) {
    let mut buffer = [0; 4096];
    while let Ok(count) = stream.read(&mut buffer) {
        if count == 0 {
            return;
        }
        if answers
            && stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                .is_err()
        {
            return;
        }
    }
}

#[test]
fn plans_are_checked_from_standard_input_and_none_is_driven() {
    let folder = Folder::new();
    let path = plan("127.0.0.1:9".parse().expect("an address"), &folder, 1.0);
    let text = std::fs::read_to_string(path).expect("a plan");
    let good: Value = serde_json::from_str(&text).expect("JSON");
    let mut bad = good.clone();
    bad["threads"] = json!(0);
    let mut engine = Command::new(env!("CARGO_BIN_EXE_towtank-engine"))
        .args(["load", "--check"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map(Engine)
        .expect("starts");
    let mut stdin = engine.0.stdin.take().expect("a pipe");
    write!(stdin, "{good}\n{bad}\nno plan\n").expect("writes");
    drop(stdin);
    let lines: Vec<Value> = BufReader::new(engine.0.stdout.take().expect("a pipe"))
        .lines()
        .map(|line| serde_json::from_str(&line.expect("a line")).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], json!({"faults": []}));
    assert_eq!(lines[1]["faults"][0]["place"], "threads");
    assert!(
        lines[2]["faults"][0]["message"]
            .as_str()
            .expect("text")
            .starts_with("is not JSON")
    );
    assert_eq!(engine.0.wait().expect("ends").code(), Some(0));
    assert!(!folder.0.join("out").exists());
}

fn plan(address: SocketAddr, folder: &Folder, seconds: f64) -> PathBuf {
    let plan = json!({
        "schema": "towtank/plan/1", "run": "test", "seed": 5, "out": folder.0.join("out"), "threads": 2, "cpus": [],
        "targets": [{"name": "t", "scheme": "http", "addresses": [address.to_string()], "balance": "round_robin",
                     "host": "h"}],
        "connections": {"mode": "per_user"}, "timeouts": {"connect_s": 2.0, "response_s": 60.0, "drain_s": 60.0},
        "steps": [{"name": "one", "transaction": "t"}], "pages": [],
        "transactions": [{"name": "t", "ops": [
            {"op": "request", "step": 0, "target": 0, "method": "GET", "path": ["/"]}]}],
        "groups": [{"name": "g", "share": 1.0, "mix": [{"transaction": 0, "weight": 1.0}],
                    "think": {"dist": "fixed", "mean_s": 0.01}}],
        "load": {"kind": "closed", "users_at_most": 4, "stages": [
            {"name": "up", "phase": "ramp_up", "level": 0, "duration_s": 0.1, "users": 4},
            {"name": "hold", "phase": "steady", "level": 0, "duration_s": seconds, "users": 4}]},
    });
    let path = folder.0.join("plan.json");
    std::fs::write(&path, plan.to_string()).expect("a plan");
    path
}

fn start(arguments: &[&str]) -> Engine {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towtank-engine"));
    command.arg("load").args(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Engine(command.spawn().expect("the engine"))
}

/// Reads live frames until a frame shows active users.
fn await_work(engine: &mut Engine) -> Vec<Value> {
    let out = engine.0.stdout.take().expect("frames");
    let mut frames = Vec::new();
    for line in BufReader::new(out).lines() {
        let frame: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let working = frame["k"] == "live" && frame["users"] == 4;
        frames.push(frame);
        if working {
            return frames;
        }
    }
    panic!("the engine ended: {frames:?}");
}

fn signal(engine: &Engine, name: &str) {
    let id = engine.0.id().to_string();
    let status = Command::new("kill")
        .args(["-s", name, &id])
        .status()
        .expect("kill");
    assert!(status.success());
}

fn identity_holds(engine: &Value) -> bool {
    engine["identity"] == json!({"offered_holds": true, "started_holds": true})
}

#[test]
fn a_run_ends_with_results_and_status_0() {
    let folder = Folder::new();
    let path = plan(server(true), &folder, 2.0);
    let mut engine = start(&[path.to_str().expect("a path")]);
    assert_eq!(engine.0.wait().expect("an end").code(), Some(0));
    let summary = folder.engine_json();
    assert_eq!(summary["reason"], "finished");
    assert!(identity_holds(&summary));
    assert!(summary["totals"]["ok"].as_u64() >= Some(4));
    assert!(summary["generator"]["cpu_s"].as_f64() > Some(0.0));
    assert!(summary["generator"]["peak_rss_bytes"].as_u64() > Some(100_000));
}

#[test]
fn a_wrong_plan_is_status_2_and_a_line_for_each_fault() {
    let folder = Folder::new();
    let path = plan(server(true), &folder, 0.3);
    let text = std::fs::read_to_string(&path).expect("the plan");
    let wrong = text
        .replace("\"threads\":2", "\"threads\":0")
        .replace("\"share\":1.0", "\"share\":0.5");
    std::fs::write(&path, wrong).expect("written");
    let mut engine = start(&[path.to_str().expect("a path")]);
    assert_eq!(engine.0.wait().expect("an end").code(), Some(2));
    let mut printed = String::new();
    engine
        .0
        .stderr
        .take()
        .expect("faults")
        .read_to_string(&mut printed)
        .expect("text");
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines.len(), 2, "{printed}");
    assert!(
        lines[0].contains("plan.json: threads: must be"),
        "{printed}"
    );
    assert!(!folder.0.join("out").exists());
}

#[test]
fn wrong_arguments_are_status_2() {
    for arguments in [
        vec![],
        vec!["a.json", "b.json"],
        vec!["a.json", "--fast"],
        vec!["/none.json"],
    ] {
        let mut engine = start(&arguments);
        assert_eq!(
            engine.0.wait().expect("an end").code(),
            Some(2),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_signal_ends_the_run_with_whole_results() {
    for name in ["TERM", "INT"] {
        let folder = Folder::new();
        let path = plan(server(true), &folder, 600.0);
        let mut engine = start(&[path.to_str().expect("a path"), "--live"]);
        let frames = await_work(&mut engine);
        signal(&engine, name);
        assert_eq!(engine.0.wait().expect("an end").code(), Some(0));
        let summary = folder.engine_json();
        assert_eq!(summary["reason"], "stopped");
        assert!(identity_holds(&summary));
        assert_eq!(summary["totals"]["in_flight"], 0);
        assert_eq!(frames[0]["k"], "stage");
        let keys = [
            "t_s",
            "phase",
            "throughput_per_s",
            "requests_per_s",
            "errors",
            "p50_ms",
            "p95_ms",
            "lag_p99_ms",
            "cpu_s",
        ];
        assert!(
            keys.iter()
                .all(|key| !frames.last().expect("a frame")[key].is_null()),
            "{frames:?}"
        );
    }
}

#[test]
fn a_second_signal_leaves_at_once_with_what_is_there() {
    let folder = Folder::new();
    let path = plan(server(false), &folder, 600.0);
    let mut engine = start(&[path.to_str().expect("a path"), "--live"]);
    let _ = await_work(&mut engine);
    signal(&engine, "TERM");
    signal(&engine, "INT");
    assert_eq!(engine.0.wait().expect("an end").code(), Some(0));
    let summary = folder.engine_json();
    assert_eq!(summary["totals"]["in_flight"], 4);
    assert!(identity_holds(&summary));
}

#[test]
fn the_end_of_standard_input_ends_the_run() {
    let folder = Folder::new();
    let path = plan(server(true), &folder, 600.0);
    let mut engine = start(&[
        path.to_str().expect("a path"),
        "--live",
        "--until-stdin-closes",
    ]);
    let _ = await_work(&mut engine);
    drop(engine.0.stdin.take());
    assert_eq!(engine.0.wait().expect("an end").code(), Some(0));
    assert_eq!(folder.engine_json()["reason"], "stopped");
}

#[test]
fn a_full_disk_is_status_74_and_a_message() {
    let folder = Folder::new();
    let path = plan(server(true), &folder, 600.0);
    // The path of the results folder is that of a file, so every write of results fails, as it would on a full disk.
    std::fs::write(folder.0.join("out"), "").expect("written");
    let mut engine = start(&[path.to_str().expect("a path")]);
    assert_eq!(engine.0.wait().expect("an end").code(), Some(74));
    let mut printed = String::new();
    engine
        .0
        .stderr
        .take()
        .expect("a message")
        .read_to_string(&mut printed)
        .expect("text");
    assert!(
        printed.contains("the results cannot be written"),
        "{printed}"
    );
}

/// Writes the plan of a small run with `users` users.
fn crowd(address: SocketAddr, folder: &Folder, users: usize, seconds: f64) -> PathBuf {
    let path = plan(address, folder, seconds);
    let text = std::fs::read_to_string(&path).expect("the plan");
    let mut plan: Value = serde_json::from_str(&text).expect("JSON");
    plan["threads"] = json!(1);
    plan["groups"][0]["think"]["mean_s"] = json!(0.2);
    plan["load"]["users_at_most"] = json!(users);
    for stage in 0..2 {
        plan["load"]["stages"][stage]["users"] = json!(users);
    }
    std::fs::write(&path, plan.to_string()).expect("written");
    path
}

/// Starts the engine with a limit of `open_files` on its open files.
fn start_limited(open_files: usize, path: &std::path::Path) -> Engine {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n \"$0\"; exec \"$@\""]);
    command.args([
        &open_files.to_string(),
        env!("CARGO_BIN_EXE_towtank-engine"),
        "load",
    ]);
    command.arg(path).stderr(Stdio::piped());
    Engine(command.spawn().expect("the engine"))
}

/// Starts a server that answers every request and counts its open connections. Returns its address and the count.
fn counting_server() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let open = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&open);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = Arc::clone(&count);
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || {
                serve(stream, true);
                count.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    (address, open)
}

/// Waits until `are_there` is true, that is, until the server has seen all users. Fails if the engine ends before that.
fn await_all(engine: &mut Engine, are_there: impl Fn() -> bool) {
    while !are_there() {
        assert!(engine.0.try_wait().expect("a state").is_none(), "ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn users_beyond_the_limit_on_open_files_get_threads_with_files_of_their_own() {
    let folder = Folder::new();
    let (address, open) = counting_server();
    let path = crowd(address, &folder, 300, 600.0);
    let mut engine = start_limited(200, &path);
    await_all(&mut engine, || open.load(Ordering::SeqCst) >= 300);
    signal(&engine, "TERM");
    assert_eq!(engine.0.wait().expect("an end").code(), Some(0));
    let summary = folder.engine_json();
    // Files of each thread: users, 64 spare files, and wakers. One thread needs `300 + 64 + 1 = 365`, two need
    // `150 + 64 + 2 = 216`, three need `100 + 64 + 3 = 167`. The limit is 200.
    assert_eq!(summary["threads"], 3);
    let files = json!({"limit": 200, "tables": 3, "connections_at_most": 300});
    assert_eq!(summary["open_files"], files);
    assert!(summary["cores"].as_u64() <= Some(3));
    assert_eq!(summary["connect_failures"], json!({}));
    assert_eq!(summary["totals"]["failed"], json!({}));
    assert!(identity_holds(&summary));
    assert!(folder.0.join("out/worker-02.0000.ndjson").exists());
}

#[test]
fn the_same_users_do_the_same_whatever_holds_their_connections() {
    let paths = |open_files: usize| {
        let folder = Folder::new();
        let (address, seen) = recording_server();
        let path = crowd(address, &folder, 150, 600.0);
        let text = std::fs::read_to_string(&path).expect("the plan");
        // Each user makes one request over its own connection, and then pauses until the end.
        let mut plan: Value = serde_json::from_str(&text).expect("JSON");
        plan["groups"][0]["think"]["mean_s"] = json!(600.0);
        plan["transactions"][0]["ops"][0]["path"] = json!([
            "/", {"function": "user"}, "/", {"function": "random_int", "min": 0, "max": 1_000_000_000}
        ]);
        std::fs::write(&path, plan.to_string()).expect("written");
        let mut engine = start_limited(open_files, &path);
        await_all(&mut engine, || {
            seen.lock().expect("the requests").len() >= 150
        });
        signal(&engine, "TERM");
        assert_eq!(engine.0.wait().expect("an end").code(), Some(0));
        let tables = folder.engine_json()["open_files"]["tables"].as_u64();
        let mut seen = seen.lock().expect("the requests").clone();
        seen.sort();
        (tables, seen)
    };
    let (together, apart) = (paths(1_000), paths(150));
    assert_eq!((together.0, apart.0), (Some(1), Some(2)));
    assert_eq!(together.1.len(), 150);
    assert_eq!(together.1, apart.1);
}

type Requests = Arc<Mutex<Vec<String>>>;

/// Starts a server that answers every request and records the first line of each request.
fn recording_server() -> (SocketAddr, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let seen = Requests::default();
    let log = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let log = Arc::clone(&log);
            std::thread::spawn(move || {
                let mut first = String::new();
                let mut reader = BufReader::new(stream.try_clone().expect("a copy"));
                reader.read_line(&mut first).expect("a request");
                log.lock().expect("the requests").push(first);
                let mut stream = stream;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                serve(stream, true);
            });
        }
    });
    (address, seen)
}

#[test]
fn more_connections_than_ports_is_told_before_the_run_with_what_to_do() {
    let folder = Folder::new();
    let path = crowd(server(true), &folder, 70_000, 1.0);
    let mut engine = start(&[path.to_str().expect("a path")]);
    assert_eq!(engine.0.wait().expect("an end").code(), Some(2));
    let mut printed = String::new();
    let mut errors = engine.0.stderr.take().expect("faults");
    errors.read_to_string(&mut printed).expect("text");
    assert_eq!(printed.lines().count(), 1, "{printed}");
    assert!(
        printed.contains("load.users_at_most: must leave a port"),
        "{printed}"
    );
    assert!(printed.contains("connections.sources"), "{printed}");
    assert!(!folder.0.join("out").exists());
}

#[test]
fn what_no_number_of_threads_can_hold_is_told_before_the_run() {
    let folder = Folder::new();
    let path = crowd(server(true), &folder, 20_000, 1.0);
    let mut engine = start_limited(80, &path);
    assert_eq!(engine.0.wait().expect("an end").code(), Some(2));
    let mut printed = String::new();
    let mut errors = engine.0.stderr.take().expect("faults");
    errors.read_to_string(&mut printed).expect("text");
    assert!(
        printed.contains("80 open files each (ulimit -Hn)"),
        "{printed}"
    );
}

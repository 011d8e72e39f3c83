//! A small HTTP server that responds as a test requires and records the requests, and functions that run a plan.
#![allow(dead_code)] // Each test file uses only some of these items.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use towtank_load::plan;
use towtank_load::run::{Control, Outcome, Prepared, Switches};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    pub connection: usize,
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let all = self.headers.iter();
        all.filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or("")
    }
}

/// Reaction of the test server to a request, which the test chooses.
pub enum Reply {
    /// Sends these bytes and keeps the connection open.
    Send(Vec<u8>),
    /// Sends these bytes and closes the connection.
    Close(Vec<u8>),
    /// Sends the first bytes once, and then repeats the second bytes without end.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends nothing more, and keeps the connection open until the client closes it.
    Hang,
}

/// Returns a reply with this status, these header lines and this body.
pub fn answer(status: u16, headers: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Send(
        format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
            .into_bytes(),
    )
}

pub struct Server {
    pub address: SocketAddr,
    /// Addresses of the connected clients, in the order in which they connected.
    peers: Arc<Mutex<Vec<SocketAddr>>>,
    log: Arc<Mutex<Vec<Seen>>>,
}

type Handler = dyn Fn(&Seen) -> Reply + Send + Sync;

/// Wraps a new connection, for example in TLS, before requests are read from it. Returns `None` on failure.
type Wrap = dyn Fn(TcpStream) -> Option<Box<dyn Stream>> + Send + Sync;

pub trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

impl Server {
    /// Starts a server on TCP. Its threads end with the test process, or earlier.
    pub fn start(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_wrapped(Box::new(|stream| Some(Box::new(stream))), handler)
    }

    pub fn start_tls(
        config: Arc<rustls::ServerConfig>,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let wrap = move |stream| {
            let tls = rustls::ServerConnection::new(Arc::clone(&config)).ok()?;
            Some(Box::new(Secure(rustls::StreamOwned::new(tls, stream))) as Box<dyn Stream>)
        };
        Self::start_wrapped(Box::new(wrap), handler)
    }

    fn start_wrapped(
        wrap: Box<Wrap>,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (log, peers) = (Arc::default(), Arc::<Mutex<Vec<_>>>::default());
        let server = Self {
            address,
            log: Arc::clone(&log),
            peers: Arc::clone(&peers),
        };
        let (handler, wrap) = (
            Arc::<Handler>::from(Box::new(handler) as Box<Handler>),
            Arc::<Wrap>::from(wrap),
        );
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let (log, handler, wrap) =
                    (Arc::clone(&log), Arc::clone(&handler), Arc::clone(&wrap));
                let peer = stream.peer_addr().expect("a client");
                peers.lock().expect("the peers").push(peer);
                std::thread::spawn(move || {
                    if let Some(stream) = wrap(stream) {
                        serve(stream, number, &log, &*handler);
                    }
                });
            }
        });
        server
    }

    pub fn start_unix(
        path: &std::path::Path,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = std::os::unix::net::UnixListener::bind(path).expect("a socket");
        let log = Arc::default();
        let server = Self {
            address: SocketAddr::from(([0, 0, 0, 0], 0)),
            log: Arc::clone(&log),
            peers: Arc::default(),
        };
        let handler = Arc::<Handler>::from(Box::new(handler) as Box<Handler>);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let (log, handler) = (Arc::clone(&log), Arc::clone(&handler));
                std::thread::spawn(move || serve(Box::new(stream), number, &log, &*handler));
            }
        });
        server
    }

    pub fn peers(&self) -> Vec<SocketAddr> {
        self.peers.lock().expect("the peers").clone()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.log.lock().expect("the log").clone()
    }

    /// Returns the paths of all received requests, in the order of arrival.
    pub fn paths(&self) -> Vec<String> {
        self.seen()
            .iter()
            .map(|seen| seen.path().to_owned())
            .collect()
    }
}

/// A TLS connection that sends `close_notify` when it is dropped, like a server that closes the connection.
struct Secure(rustls::StreamOwned<rustls::ServerConnection, TcpStream>);

impl Read for Secure {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Secure {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        self.0.conn.send_close_notify();
        let _ = self.0.flush();
    }
}

fn serve(stream: Box<dyn Stream>, connection: usize, log: &Mutex<Vec<Seen>>, handler: &Handler) {
    let mut reader = BufReader::new(stream);
    while let Some(seen) = read_request(&mut reader, connection) {
        log.lock().expect("the log").push(seen.clone());
        let wants_close = seen.header("Connection") == Some("close");
        let reply = handler(&seen);
        let out = reader.get_mut();
        match reply {
            Reply::Send(bytes) => {
                if out.write_all(&bytes).is_err() || out.flush().is_err() || wants_close {
                    return;
                }
            }
            Reply::Close(bytes) => {
                let _ = out.write_all(&bytes);
                return;
            }
            Reply::Endless(first, again) => {
                let _ = out.write_all(&first);
                while out.write_all(&again).is_ok() {}
                return;
            }
            Reply::Hang => {
                let _ = reader.read_to_end(&mut Vec::new());
                return;
            }
        }
    }
}

fn read_request(reader: &mut BufReader<Box<dyn Stream>>, connection: usize) -> Option<Seen> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(key, _)| key == "Content-Length")
        .map_or(0, |(_, value)| value.parse().expect("a length"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let line = lines[0].clone();
    Some(Seen {
        connection,
        line,
        headers,
        body,
    })
}

/// Returns an operation of a plan that makes a GET request.
pub fn get(step: usize, path: &Value) -> Value {
    json!({"op": "request", "step": step, "target": 0, "method": "GET", "path": path})
}

/// Returns a plan with one group and one transaction, which consists of `ops`. Tests modify this plan.
pub fn plan_of(address: SocketAddr, ops: &Value) -> Value {
    json!({
        "schema": "towtank/plan/1", "run": "test", "seed": 5, "out": "", "threads": 1, "cpus": [],
        "targets": [{"name": "t", "scheme": "http", "addresses": [address.to_string()],
                     "balance": "round_robin", "host": "test.example"}],
        "connections": {"mode": "per_user"},
        "timeouts": {"connect_s": 60.0, "response_s": 60.0, "drain_s": 60.0},
        "pools": [], "variables": ["a", "b", "c"], "lists": ["l"],
        "steps": [{"name": "one", "transaction": "t0"}, {"name": "two", "transaction": "t0"}],
        "pages": [{"name": "page", "transaction": "t0"}],
        "transactions": [{"name": "t0", "ops": ops}],
        "groups": [{"name": "g", "share": 1.0, "once": [], "think": {"dist": "fixed", "mean_s": 100.0},
                    "pacing": null, "mix": [{"transaction": 0, "weight": 1.0}], "exit": []}],
        "load": closed(1, 0.3),
    })
}

/// Returns a closed load of `users` users that lasts `seconds`.
pub fn closed(users: u32, seconds: f64) -> Value {
    json!({"kind": "closed", "users_at_most": users, "stages": [
        {"name": "up", "phase": "ramp_up", "level": 0, "duration_s": 0.0, "users": users},
        {"name": "hold", "phase": "steady", "level": 0, "duration_s": seconds, "users": users}]})
}

/// A folder that is deleted with its content when the value is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("towtank-load-{}-{number}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Results of a run of the load engine.
pub struct Results {
    pub outcome: Outcome,
    pub engine: Value,
    pub lines: Vec<Value>,
}

/// Maximum number of times that a plan is run. A run is repeated if a stall of the machine kept all users from
/// starting.
const TRIES: usize = 5;

/// Runs a plan to its end in this process. The run is repeated if a stall of the machine kept all users from starting.
pub fn run(mut plan: Value) -> Results {
    let mut runs = std::iter::repeat_with(|| run_once(&mut plan)).take(TRIES);
    runs.find(|results| !results.was_missed())
        .expect("a user who comes before the load is over")
}

fn run_once(plan: &mut Value) -> Results {
    let folder = Folder::new();
    plan["out"] = json!(folder.0);
    let read = plan::read_text(&plan.to_string()).expect("a good plan");
    let prepared = Prepared::new(read).expect("prepared");
    let mut control = Control::new(Switches::default(), None).expect("control");
    let outcome = prepared.run(&mut control).expect("a run");
    let text = std::fs::read_to_string(folder.0.join("engine.json")).expect("engine.json");
    let engine = serde_json::from_str(&text).expect("JSON");
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(&folder.0).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "ndjson")
        {
            let text = std::fs::read_to_string(path).expect("a segment");
            lines.extend(
                text.lines()
                    .map(|line| serde_json::from_str::<Value>(&line[9..]).expect("JSON")),
            );
        }
    }
    Results {
        outcome,
        engine,
        lines,
    }
}

impl Results {
    /// Returns `true` if the engine was stalled until the end of the load, so that no user started.
    fn was_missed(&self) -> bool {
        self.intervals().all(|line| line["user_ns"] == 0)
            && self
                .intervals()
                .any(|line| line.get("stalled_ns").is_some())
    }

    /// Returns the sum of a count over all intervals, for one series of the results, such as step 0.
    pub fn count(&self, of: &str, id: usize, key: &str) -> u64 {
        self.series(of, id)
            .filter_map(|series| series.pointer(key))
            .filter_map(Value::as_u64)
            .sum()
    }

    pub fn series(&self, of: &str, id: usize) -> impl Iterator<Item = &Value> {
        let (of, id) = (of.to_owned(), id);
        self.intervals()
            .flat_map(|line| line["series"].as_array().expect("series"))
            .filter(move |series| series["of"] == of && series["id"] == id)
    }

    pub fn intervals(&self) -> impl Iterator<Item = &Value> {
        self.lines.iter().filter(|line| line["k"] == "interval")
    }

    /// Returns the number of failures of the run for each kind of failure.
    pub fn failed(&self) -> BTreeMap<String, u64> {
        serde_json::from_value(self.engine["totals"]["failed"].clone()).expect("counts")
    }

    /// Checks that `offered = started + not_started` and `started = ok + failed + in_flight` hold for the recorded
    /// numbers of requests.
    pub fn check_identity(&self) {
        let totals = &self.engine["totals"];
        let sum = |key: &str| -> u64 {
            let counts: BTreeMap<String, u64> =
                serde_json::from_value(totals[key].clone()).expect("counts");
            counts.values().sum()
        };
        let number = |key: &str| totals[key].as_u64().expect("a number");
        assert_eq!(
            number("offered"),
            number("started") + sum("not_started"),
            "{totals}"
        );
        assert_eq!(
            number("started"),
            number("ok") + sum("failed") + number("in_flight"),
            "{totals}"
        );
        assert_eq!(self.engine["identity"]["offered_holds"], true);
        assert_eq!(self.engine["identity"]["started_holds"], true);
    }
}

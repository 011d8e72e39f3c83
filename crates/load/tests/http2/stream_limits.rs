//! Tests with servers that accept no requests for some time: `SETTINGS_MAX_CONCURRENT_STREAMS` is 0 (RFC 9113, section
//! 5.1.2).

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use towtank_load::http2::frames::{self, ErrorCode, PREFACE, flag, kind, setting};

use crate::support::{Results, get, run};
use crate::{checked, http2, over_http2};

/// Reaction of a server after the time in which it accepts no requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    TakesOne,
    SaysGoodbye,
    NeverTakesAny,
    Closes,
}

/// Time for which a server accepts no requests. It is long enough that requests of a client that ignores the limit
/// arrive within this time.
const PAUSE: Duration = Duration::from_millis(150);

/// A server that answers the first request of its first connection. It then accepts no requests over this connection
/// for some time.
struct Server {
    address: SocketAddr,
    /// Number of requests that arrived after the client had acknowledged that the server accepts none.
    ignoring: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Server {
    fn start(then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = Self {
            address: listener.local_addr().expect("an address"),
            ignoring: Arc::default(),
            requests: Arc::default(),
        };
        let (ignoring, requests) = (Arc::clone(&server.ignoring), Arc::clone(&server.requests));
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let (ignoring, requests) = (Arc::clone(&ignoring), Arc::clone(&requests));
                let then = (number == 0).then_some(then);
                std::thread::spawn(move || serve(Peer::new(stream), then, &ignoring, &requests));
            }
        });
        server
    }
}

/// State of a connection in the server.
struct Peer {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Peer {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            bytes: Vec::new(),
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    fn limit(&mut self, streams: u32) {
        let mut bytes = Vec::new();
        frames::write_settings(&[(setting::MAX_CONCURRENT_STREAMS, streams)], &mut bytes);
        self.say(&bytes);
    }

    /// Returns kind, flags and stream number of the next frame; `None` at the end of the connection or after the
    /// time-out of the socket.
    fn hear(&mut self) -> Option<(u8, u8, u32)> {
        loop {
            if self.bytes.starts_with(PREFACE) {
                self.bytes.drain(..PREFACE.len());
            }
            if self.bytes.len() >= 9 && !PREFACE.starts_with(&self.bytes[..9]) {
                let head = &self.bytes;
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
                let found = (head[3], head[4], stream);
                if head.len() >= 9 + length {
                    self.bytes.drain(..9 + length);
                    return Some(found);
                }
            }
            let mut buffer = [0; 4096];
            let count = self
                .stream
                .read(&mut buffer)
                .ok()
                .filter(|count| *count > 0)?;
            self.bytes.extend_from_slice(&buffer[..count]);
        }
    }
}

fn serve(mut peer: Peer, then: Option<Then>, ignoring: &AtomicUsize, requests: &AtomicUsize) {
    peer.limit(10);
    let (mut answered, mut acknowledgements) = (0, 0);
    while let Some((kind, flags, stream)) = peer.hear() {
        if kind == kind::SETTINGS && flags & flag::ACK == 0 {
            let mut bytes = Vec::new();
            frames::write(kind::SETTINGS, flag::ACK, 0, &[], &mut bytes);
            peer.say(&bytes);
        }
        if kind == kind::SETTINGS && flags & flag::ACK != 0 {
            acknowledgements += 1;
            // The first acknowledgement is for the initial settings, the second one for the limit of 0 requests.
            if acknowledgements == 2 {
                let then = then.expect("only such a server changes its limit");
                pause(&mut peer, ignoring);
                go_on(&mut peer, then, ignoring);
            }
        }
        if kind == kind::HEADERS {
            requests.fetch_add(1, Ordering::SeqCst);
            let mut bytes = Vec::new();
            let ends = flag::END_HEADERS | flag::END_STREAM;
            if answered == 0 && then.is_some() {
                frames::write_settings(&[(setting::MAX_CONCURRENT_STREAMS, 0)], &mut bytes);
            }
            frames::write(kind::HEADERS, ends, stream, &[0x88], &mut bytes);
            peer.say(&bytes);
            answered += 1;
        }
    }
}

/// Counts the requests that arrive within `PAUSE`, while the server accepts no requests.
fn pause(peer: &mut Peer, ignoring: &AtomicUsize) {
    let _ = peer.stream.set_read_timeout(Some(PAUSE));
    while let Some((kind, ..)) = peer.hear() {
        if kind == kind::HEADERS {
            ignoring.fetch_add(1, Ordering::SeqCst);
        }
    }
    let _ = peer.stream.set_read_timeout(None);
}

fn go_on(peer: &mut Peer, then: Then, ignoring: &AtomicUsize) {
    match then {
        Then::TakesOne => peer.limit(1),
        Then::SaysGoodbye => {
            let mut bytes = Vec::new();
            frames::write_goaway(1, ErrorCode::NoError, &mut bytes);
            peer.say(&bytes);
        }
        Then::NeverTakesAny => {
            while let Some((kind, ..)) = peer.hear() {
                if kind == kind::HEADERS {
                    ignoring.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
        Then::Closes => {
            let _ = peer.stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// Runs one user that makes three requests over a single connection. The second and the third request may have to wait;
/// their time limit is `waits_s`.
fn three_requests(server: &Server, waits_s: f64) -> Results {
    let ops: Vec<Value> = [("/a", 60.0), ("/b", waits_s), ("/c", waits_s)]
        .into_iter()
        .map(|(path, timeout_s)| {
            let mut request = get(0, &json!([path]));
            request["timeout_s"] = json!(timeout_s);
            request["on_failure"] = json!("go_on");
            request
        })
        .collect();
    let results = run(over_http2(
        server.address,
        &json!(ops),
        json!({"mode": "per_user"}),
    ));
    results.check_identity();
    assert_eq!(
        server.ignoring.load(Ordering::SeqCst),
        0,
        "requests sent while the server accepted none"
    );
    results
}

#[test]
fn a_user_waits_until_the_server_takes_requests_again() {
    let server = Server::start(Then::TakesOne);
    let results = three_requests(&server, 60.0);
    assert_eq!(checked(&results), 3);
    assert_eq!(server.requests.load(Ordering::SeqCst), 3);
    assert_eq!(http2(&results, "connections"), 1);
}

#[test]
fn what_waited_goes_over_a_new_connection_if_the_server_ends_this_one() {
    let server = Server::start(Then::SaysGoodbye);
    let results = three_requests(&server, 60.0);
    assert_eq!(checked(&results), 3);
    assert_eq!(
        (http2(&results, "connections"), http2(&results, "goaways")),
        (2, 1)
    );
}

#[test]
fn what_waits_runs_out_of_time_and_was_never_sent() {
    let server = Server::start(Then::NeverTakesAny);
    let results = three_requests(&server, 0.5);
    assert_eq!(results.failed().get("timeout"), Some(&2));
    assert_eq!(server.requests.load(Ordering::SeqCst), 1);
    assert_eq!(http2(&results, "cancelled"), 0);
}

#[test]
fn what_waits_fails_with_its_connection() {
    let server = Server::start(Then::Closes);
    let results = three_requests(&server, 60.0);
    assert_eq!(results.failed().get("closed"), Some(&1));
    assert_eq!(results.engine["totals"]["ok"], 2);
    assert_eq!(http2(&results, "connections"), 2);
}

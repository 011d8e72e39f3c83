//! Runs over HTTP/2: against a server of another make, against one written by hand, and against nginx where there is one.

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use h2::{Reason, RecvStream, server};
use http::{HeaderMap, Request, Response};
use serde_json::{Value, json};
use support::{Folder, Results, closed, get, plan_of, run};
use towtank_load::http2::frames::{self, ErrorCode, PREFACE, flag, kind, setting};

/// A request as the server saw it.
#[derive(Debug, Clone)]
struct Seen {
    connection: usize,
    /// Other requests of its connection that were not answered.
    beside: usize,
    request: Request<()>,
    body: Vec<u8>,
}

/// What the server does with a request.
enum Reply {
    /// Answers with this body, and with trailers if there are any.
    Answer(Response<()>, Vec<u8>, Option<HeaderMap>),
    /// Says `103` first, then answers.
    Early(Response<()>),
    /// Resets the stream.
    Reset(Reason),
    /// Answers, and takes no further request over this connection.
    Farewell(Response<()>),
    /// Never answers.
    Hang,
}

type Handler = dyn Fn(&Seen) -> Reply + Send + Sync;

struct Server {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Seen>>>,
    most_at_once: Arc<AtomicUsize>,
}

impl Server {
    /// Starts; its thread ends with the test process.
    fn start(
        builder: server::Builder,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = Self {
            address,
            log: Arc::default(),
            most_at_once: Arc::default(),
        };
        let (log, most) = (Arc::clone(&server.log), Arc::clone(&server.most_at_once));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            let local = tokio::task::LocalSet::new();
            local.block_on(
                &runtime,
                accept(listener, builder, Arc::from(handler), log, most),
            );
        });
        server
    }

    fn seen(&self) -> Vec<Seen> {
        self.log.lock().expect("the log").clone()
    }
}

async fn accept(
    listener: TcpListener,
    builder: server::Builder,
    handler: Arc<Handler>,
    log: Arc<Mutex<Vec<Seen>>>,
    most: Arc<AtomicUsize>,
) {
    listener.set_nonblocking(true).expect("a mode");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    for connection in 0.. {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let (builder, handler) = (builder.clone(), Arc::clone(&handler));
        let (log, most) = (Arc::clone(&log), Arc::clone(&most));
        tokio::task::spawn_local(async move {
            let Ok(mut client) = builder.handshake::<_, Bytes>(stream).await else {
                return;
            };
            let at_once = Arc::new(AtomicUsize::new(0));
            while let Some(Ok((request, respond))) = client.accept().await {
                let beside = at_once.fetch_add(1, Ordering::SeqCst);
                most.fetch_max(beside + 1, Ordering::SeqCst);
                let (head, body) = request.into_parts();
                let seen = Seen {
                    connection,
                    beside,
                    request: Request::from_parts(head, ()),
                    body: Vec::new(),
                };
                if matches!(handler(&seen), Reply::Farewell(_)) {
                    client.graceful_shutdown();
                }
                tokio::task::spawn_local(serve(
                    seen,
                    body,
                    respond,
                    Arc::clone(&handler),
                    Arc::clone(&log),
                    Arc::clone(&at_once),
                ));
            }
        });
    }
}

async fn serve(
    mut seen: Seen,
    mut body: RecvStream,
    mut respond: server::SendResponse<Bytes>,
    handler: Arc<Handler>,
    log: Arc<Mutex<Vec<Seen>>>,
    at_once: Arc<AtomicUsize>,
) {
    while let Some(Ok(piece)) = body.data().await {
        let _ = body.flow_control().release_capacity(piece.len());
        seen.body.extend_from_slice(&piece);
    }
    log.lock().expect("the log").push(seen.clone());
    // Others come meanwhile, as they do with a server that has something to do.
    tokio::time::sleep(Duration::from_millis(1)).await;
    at_once.fetch_sub(1, Ordering::SeqCst);
    match handler(&seen) {
        Reply::Answer(response, body, trailers) => answer(respond, response, body, trailers).await,
        Reply::Farewell(response) => answer(respond, response, Vec::new(), None).await,
        Reply::Early(response) => {
            let early = Response::builder()
                .status(103)
                .header("link", "</style.css>")
                .body(())
                .expect("a head");
            respond.send_informational(early).expect("an early head");
            answer(respond, response, Vec::new(), None).await;
        }
        Reply::Reset(reason) => respond.send_reset(reason),
        Reply::Hang => {
            let _ = std::future::poll_fn(|context| respond.poll_reset(context)).await;
        }
    }
}

async fn answer(
    mut respond: server::SendResponse<Bytes>,
    response: Response<()>,
    body: Vec<u8>,
    trailers: Option<HeaderMap>,
) {
    let ends = body.is_empty() && trailers.is_none();
    let Ok(mut stream) = respond.send_response(response, ends) else {
        return;
    };
    let mut rest = Bytes::from(body);
    while !rest.is_empty() {
        stream.reserve_capacity(rest.len());
        let Some(Ok(room)) = std::future::poll_fn(|context| stream.poll_capacity(context)).await
        else {
            return;
        };
        let piece = rest.split_to(room.min(rest.len()));
        let last = rest.is_empty() && trailers.is_none();
        if stream.send_data(piece, last).is_err() {
            return;
        }
    }
    if let Some(trailers) = trailers {
        let _ = stream.send_trailers(trailers);
    }
}

fn ok() -> Response<()> {
    Response::new(())
}

fn status(code: u16) -> Response<()> {
    Response::builder().status(code).body(()).expect("a head")
}

fn empty() -> Reply {
    Reply::Answer(ok(), Vec::new(), None)
}

fn over_http2(address: SocketAddr, ops: &Value, connections: Value) -> Value {
    let mut plan = plan_of(address, ops);
    plan["targets"][0]["http"] = json!("2");
    plan["connections"] = connections;
    plan
}

fn pool(size: usize, streams: u32) -> Value {
    json!({"mode": "pool", "size": size, "streams": streams})
}

/// Users without think time.
fn busy(mut plan: Value, users: u32, seconds: f64) -> Value {
    plan["groups"][0]["think"] = Value::Null;
    plan["load"] = closed(users, seconds);
    plan
}

fn checked(results: &Results) -> u64 {
    results.check_identity();
    assert!(
        results.failed().is_empty(),
        "{:?} {}",
        results.failed(),
        results.engine["connect_failures"]
    );
    results.engine["totals"]["ok"].as_u64().expect("a count")
}

fn http2(results: &Results, key: &str) -> u64 {
    results.engine["http2"][key].as_u64().expect("a count")
}

#[test]
fn many_requests_share_connections_up_to_the_cap() {
    for (server_streams, expected) in [(100, 10), (4, 4)] {
        let mut builder = server::Builder::new();
        builder.max_concurrent_streams(server_streams);
        let server = Server::start(builder, |_| empty());
        let plan = over_http2(
            server.address,
            &json!([get(0, &json!(["/a"]))]),
            pool(2, 10),
        );
        let results = run(busy(plan, 50, 0.5));
        let ok = checked(&results);
        let seen = server.seen();
        assert_eq!(seen.len() as u64, ok);
        assert_eq!(seen.iter().map(|seen| seen.connection).max(), Some(1));
        assert_eq!(server.most_at_once.load(Ordering::SeqCst), expected);
        assert_eq!(http2(&results, "connections"), 2);
        let waits: u64 = results
            .intervals()
            .filter_map(|line| line["connection_wait"]["n"].as_u64())
            .sum();
        assert!(
            waits == 0 || waits == ok,
            "one entry for each request: {waits} of {ok}"
        );
    }
}

#[test]
fn each_model_of_connections_carries_requests() {
    for (model, connections) in [(json!({"mode": "per_user"}), 3), (pool(1, 100), 1)] {
        let server = Server::start(server::Builder::new(), |_| empty());
        let plan = over_http2(
            server.address,
            &json!([get(0, &json!(["/a"]))]),
            model.clone(),
        );
        let results = run(busy(plan, 3, 0.3));
        assert!(checked(&results) > 10);
        assert_eq!(http2(&results, "connections"), connections, "{model}");
        let alone = server.seen().iter().all(|seen| seen.beside == 0);
        assert!(model["mode"] == "pool" || alone);
    }
    let server = Server::start(server::Builder::new(), |_| empty());
    let plan = over_http2(
        server.address,
        &json!([get(0, &json!(["/a"]))]),
        json!({"mode": "new_each_time"}),
    );
    let results = run(busy(plan, 3, 0.3));
    assert_eq!(checked(&results), http2(&results, "connections"));
}

#[test]
fn fields_cookies_and_bodies_arrive_as_the_plan_says() {
    let server = Server::start(server::Builder::new(), |seen| {
        let cookie = Response::builder()
            .header("set-cookie", "id=7; Path=/")
            .body(())
            .expect("a head");
        if seen.request.uri().path() == "/login" {
            Reply::Answer(cookie, b"{\"n\": 5}".to_vec(), None)
        } else {
            empty()
        }
    });
    let mut first = get(0, &json!(["/login"]));
    first["extract"] = json!([{"into": {"variable": 0}, "from": "json", "expression": "$.n"}]);
    let mut second = get(1, &json!(["/item/", {"variable": 0}]));
    second["method"] = json!("POST");
    second["headers"] = json!([["X-Own", ["  v"]], ["Connection", ["close"]], ["X-Varies", ["n", {"variable": 0}]]]);
    second["auth"] = json!({"user": ["u"], "password": [{"variable": 0}]});
    second["body"] = json!({"kind": "text", "template": ["n=", {"variable": 0}]});
    let results = run(over_http2(
        server.address,
        &json!([first, second]),
        json!({"mode": "per_user"}),
    ));
    assert_eq!(checked(&results), 2);
    let seen = server.seen();
    let (first, second) = (&seen[0].request, &seen[1].request);
    assert_eq!(first.uri().to_string(), "http://test.example/login");
    assert_eq!(first.headers()["accept-encoding"], "identity");
    assert!(
        first.headers().get("content-length").is_none() && first.headers().get("cookie").is_none()
    );
    assert_eq!(
        (second.method().as_str(), second.uri().path()),
        ("POST", "/item/5")
    );
    for (name, value) in [
        ("x-own", "v"),
        ("x-varies", "n5"),
        ("cookie", "id=7"),
        ("authorization", "Basic dTo1"),
        ("content-length", "3"),
    ] {
        assert_eq!(second.headers()[name], value);
    }
    assert!(second.headers().get("connection").is_none());
    assert_eq!(seen[1].body, b"n=5");
}

#[test]
fn large_bodies_go_both_ways_within_windows() {
    const BYTES: usize = 10 << 20;
    for window in [65_535, 1 << 20] {
        let mut builder = server::Builder::new();
        builder
            .initial_window_size(window)
            .initial_connection_window_size(window.max(100_000));
        let server = Server::start(builder, |_| Reply::Answer(ok(), vec![b'd'; 20 << 20], None));
        let mut request = get(0, &json!(["/up"]));
        request["method"] = json!("POST");
        request["body"] = json!({"kind": "multipart", "parts": [
            {"name": "f", "filename": ["f.bin"], "content_type": null, "generated": {"bytes": BYTES, "form": "random"}}]});
        request["checks"] = json!([{"kind": "size", "min": 20 << 20, "max": 20 << 20}]);
        let results = run(over_http2(server.address, &json!([request]), pool(1, 10)));
        assert_eq!(checked(&results), 1);
        let seen = server.seen();
        assert!(seen[0].body.len() > BYTES && seen[0].body.ends_with(b"--\r\n"));
        let told = seen[0].request.headers()["content-length"]
            .to_str()
            .expect("digits")
            .to_owned();
        assert_eq!(told, seen[0].body.len().to_string());
        assert!(results.count("step", 0, "/bytes_out") as usize > BYTES);
    }
}

#[test]
fn early_heads_and_trailers_are_passed_over() {
    let server = Server::start(server::Builder::new(), |seen| {
        if seen.request.uri().path() == "/early" {
            return Reply::Early(status(204));
        }
        let mut trailers = HeaderMap::new();
        trailers.insert("x-after", "1".parse().expect("a value"));
        Reply::Answer(ok(), b"body".to_vec(), Some(trailers))
    });
    let mut first = get(0, &json!(["/early"]));
    first["checks"] = json!([{"kind": "status", "in": [204]}]);
    let mut second = get(1, &json!(["/trailers"]));
    second["checks"] =
        json!([{"kind": "contains", "text": ["body"]}, {"kind": "size", "min": 4, "max": 4}]);
    let results = run(over_http2(
        server.address,
        &json!([first, second]),
        json!({"mode": "per_user"}),
    ));
    assert_eq!(checked(&results), 2);
}

#[test]
fn a_reset_is_closed_and_one_that_was_not_worked_on_goes_out_again() {
    let (refusals, tries) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, tried) = (Arc::clone(&refusals), Arc::clone(&tries));
    let server = Server::start(server::Builder::new(), move |seen| {
        match seen.request.uri().path() {
            "/reset" => Reply::Reset(Reason::INTERNAL_ERROR),
            // The handler is asked twice for each request.
            _ if tried.fetch_add(1, Ordering::SeqCst) < 4 => {
                counted.fetch_add(1, Ordering::SeqCst);
                Reply::Reset(Reason::REFUSED_STREAM)
            }
            _ => empty(),
        }
    });
    let mut reset = get(0, &json!(["/reset"]));
    reset["on_failure"] = json!("go_on");
    for model in [json!({"mode": "per_user"}), pool(1, 10)] {
        tries.store(0, Ordering::SeqCst);
        let ops = json!([reset, get(1, &json!(["/refused"]))]);
        let results = run(over_http2(server.address, &ops, model));
        results.check_identity();
        assert_eq!(
            results.failed().into_iter().collect::<Vec<_>>(),
            [("closed".to_owned(), 1)]
        );
        assert_eq!(
            (
                results.engine["totals"]["ok"].as_u64(),
                http2(&results, "sent_again")
            ),
            (Some(1), 2)
        );
    }
}

#[test]
fn a_server_that_refuses_for_ever_is_asked_a_bounded_number_of_times() {
    let server = Server::start(server::Builder::new(), |_| {
        Reply::Reset(Reason::REFUSED_STREAM)
    });
    let results = run(over_http2(
        server.address,
        &json!([get(0, &json!(["/a"]))]),
        pool(1, 10),
    ));
    results.check_identity();
    assert_eq!(
        results.failed().into_iter().collect::<Vec<_>>(),
        [("closed".to_owned(), 1)]
    );
    assert_eq!(server.seen().len(), 11);
}

#[test]
fn connections_that_the_server_ends_by_and_by_lose_nothing() {
    let count = AtomicUsize::new(0);
    let server = Server::start(server::Builder::new(), move |_| {
        if count.fetch_add(1, Ordering::SeqCst) % 50 == 49 {
            Reply::Farewell(ok())
        } else {
            empty()
        }
    });
    for model in [json!({"mode": "per_user"}), pool(2, 10)] {
        let plan = over_http2(server.address, &json!([get(0, &json!(["/a"]))]), model);
        let results = run(busy(plan, 8, 0.5));
        assert!(checked(&results) > 50);
        assert!(
            http2(&results, "goaways") > 0
                && http2(&results, "connections") > http2(&results, "goaways")
        );
    }
}

#[test]
fn a_request_out_of_time_leaves_its_connection_to_the_others() {
    let server = Server::start(server::Builder::new(), |seen| {
        if seen.request.uri().path() == "/slow" {
            Reply::Hang
        } else {
            empty()
        }
    });
    let mut slow = get(0, &json!(["/slow"]));
    slow["timeout_s"] = json!(0.1);
    slow["on_failure"] = json!("go_on");
    let ops = json!([slow, get(1, &json!(["/fast"]))]);
    let results = run(over_http2(server.address, &ops, pool(1, 10)));
    results.check_identity();
    assert_eq!(
        results.failed().into_iter().collect::<Vec<_>>(),
        [("timeout".to_owned(), 1)]
    );
    assert_eq!(
        (http2(&results, "connections"), http2(&results, "cancelled")),
        (1, 1)
    );
    assert_eq!(
        server
            .seen()
            .last()
            .map(|seen| seen.request.uri().path().to_owned()),
        Some("/fast".to_owned())
    );
}

/// A server that says the same to everybody: once the client has spoken, and never reads again.
fn speaking(bytes: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let bytes = bytes.clone();
            std::thread::spawn(move || speak(&mut stream, &bytes));
        }
    });
    address
}

fn speak(stream: &mut TcpStream, bytes: &[u8]) {
    let mut buffer = [0; 4096];
    let _ = stream.read(&mut buffer);
    let _ = stream.write_all(bytes);
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
}

fn frames_of(all: &[(u8, u8, u32, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames::write_settings(&[(setting::MAX_CONCURRENT_STREAMS, 10)], &mut bytes);
    for (kind, flags, stream, payload) in all {
        frames::write(*kind, *flags, *stream, payload, &mut bytes);
    }
    bytes
}

fn flood(frame: (u8, u8, u32, &[u8])) -> Vec<u8> {
    let mut bytes = frames_of(&[(kind::HEADERS, flag::END_HEADERS, 1, &[0x88])]);
    for _ in 0..10_100 {
        frames::write(frame.0, frame.1, frame.2, frame.3, &mut bytes);
    }
    bytes
}

#[test]
fn servers_that_break_the_rules_are_protocol_failures() {
    let endless: Vec<u8> = (0..40)
        .flat_map(|_| frames_of(&[(kind::CONTINUATION, 0, 1, &[b'x'; 16_000])])[15..].to_vec())
        .collect();
    let mut continuation = frames_of(&[(kind::HEADERS, 0, 1, &[0x88])]);
    continuation.extend(endless);
    let mut large = vec![0x88, 0x00, 1, b'x', 0x7f, 0x81, 0xff, 0x03];
    large.extend([b'v'; 65_535 + 127 + 1]);
    large.truncate(16_000);
    for (name, bytes) in [
        (
            "bad index",
            frames_of(&[(kind::HEADERS, flag::END_HEADERS, 1, &[0xff, 0x20])]),
        ),
        (
            "push",
            frames_of(&[(
                kind::PUSH_PROMISE,
                flag::END_HEADERS,
                1,
                &[0, 0, 0, 2, 0x88],
            )]),
        ),
        (
            "window",
            frames_of(&[(kind::WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff])]),
        ),
        ("settings flood", flood((kind::SETTINGS, 0, 0, &[]))),
        ("empty data", flood((kind::DATA, 0, 1, &[]))),
        ("continuation flood", continuation),
        (
            "truncated fields",
            frames_of(&[(kind::HEADERS, flag::END_HEADERS, 1, &large)]),
        ),
    ] {
        let address = speaking(bytes);
        let results = run(over_http2(
            address,
            &json!([get(0, &json!(["/a"]))]),
            pool(1, 10),
        ));
        results.check_identity();
        let failed: Vec<_> = results.failed().into_iter().collect();
        assert_eq!(failed, [("protocol".to_owned(), 1)], "{name}");
    }
}

#[test]
fn a_server_without_http2_is_a_failure_to_connect() {
    let answer = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec();
    let results = run(over_http2(
        speaking(answer),
        &json!([get(0, &json!(["/a"]))]),
        json!({"mode": "per_user"}),
    ));
    results.check_identity();
    assert_eq!(
        results.failed().into_iter().collect::<Vec<_>>(),
        [("connect".to_owned(), 1)]
    );
    assert_eq!(results.engine["connect_failures"], json!({"no HTTP/2": 1}));
}

#[test]
fn one_that_closes_before_it_says_anything_is_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let results = run(over_http2(
        address,
        &json!([get(0, &json!(["/a"]))]),
        pool(1, 1),
    ));
    results.check_identity();
    assert_eq!(
        results.engine["connect_failures"],
        json!({"closed before the settings of HTTP/2": 1})
    );
}

#[test]
fn the_server_is_bid_farewell() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let answer = frames_of(&[(
            kind::HEADERS,
            flag::END_HEADERS | flag::END_STREAM,
            1,
            &[0x88],
        )]);
        stream.write_all(&answer).expect("an answer");
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        said
    });
    checked(&run(over_http2(
        address,
        &json!([get(0, &json!(["/a"]))]),
        json!({"mode": "per_user"}),
    )));
    let said = server.join().expect("what the client said");
    let mut farewell = Vec::new();
    frames::write_goaway(0, ErrorCode::NoError, &mut farewell);
    assert!(said.starts_with(PREFACE) && said.ends_with(&farewell));
}

struct Nginx {
    child: Child,
    address: SocketAddr,
    folder: Folder,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One that ends a connection after a hundred requests; `None` where it is not installed.
fn nginx(listen: &str) -> Option<Nginx> {
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let here = folder.0.display();
    let certified =
        rcgen::generate_simple_self_signed(vec!["test.example".to_owned()]).expect("a certificate");
    std::fs::write(folder.0.join("c.pem"), certified.cert.pem()).expect("a file");
    std::fs::write(
        folder.0.join("c.key"),
        certified.signing_key.serialize_pem(),
    )
    .expect("a file");
    let address = TcpListener::bind("127.0.0.1:0")
        .and_then(|free| free.local_addr())
        .expect("a port");
    let configuration = format!(
        "daemon off; master_process off; pid {here}/pid; error_log {here}/log crit; events {{}}
         http {{ access_log off; keepalive_requests 100;
           client_body_temp_path {here}/a; proxy_temp_path {here}/b; fastcgi_temp_path {here}/c;
           uwsgi_temp_path {here}/d; scgi_temp_path {here}/e;
           server {{ listen {address} {listen}; ssl_certificate {here}/c.pem; ssl_certificate_key {here}/c.key;
                     location / {{ default_type text/plain; return 200 \"hello\"; }} }} }}"
    );
    let path = folder.0.join("nginx.conf");
    std::fs::write(&path, configuration).expect("a file");
    let child = Command::new("nginx")
        .arg("-c")
        .arg(&path)
        .arg("-p")
        .arg(&folder.0)
        .env(
            "PATH",
            format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()),
        )
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let nginx = Nginx {
        child,
        address,
        folder,
    };
    let there = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        TcpStream::connect(address).is_ok()
    });
    there.then_some(nginx)
}

#[test]
fn nginx_answers_everything_although_it_ends_connections() {
    for listen in ["http2", "ssl http2"] {
        let Some(server) = nginx(listen) else {
            eprintln!("skipped: nginx is not installed");
            return;
        };
        let mut request = get(0, &json!(["/a"]));
        request["checks"] =
            json!([{"kind": "status", "in": [200]}, {"kind": "contains", "text": ["hello"]}]);
        for model in [json!({"mode": "per_user"}), pool(2, 20)] {
            let mut plan = busy(
                over_http2(server.address, &json!([request]), model),
                30,
                0.5,
            );
            if listen.contains("ssl") {
                plan["targets"][0]["scheme"] = json!("https");
                plan["targets"][0]["tls"] = json!({"ca": server.folder.0.join("c.pem")});
            }
            let results = run(plan);
            assert!(checked(&results) > 100);
        }
    }
}

#[test]
fn a_server_that_does_not_choose_http2_is_a_failure_to_connect() {
    let Some(server) = nginx("ssl") else {
        eprintln!("skipped: nginx is not installed");
        return;
    };
    let mut plan = over_http2(
        server.address,
        &json!([get(0, &json!(["/a"]))]),
        json!({"mode": "per_user"}),
    );
    plan["targets"][0]["scheme"] = json!("https");
    plan["targets"][0]["tls"] = json!({"ca": server.folder.0.join("c.pem")});
    let results = run(plan);
    results.check_identity();
    assert_eq!(results.engine["connect_failures"], json!({"no HTTP/2": 1}));
}

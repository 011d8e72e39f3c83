//! Tests with hand-written servers. They violate HTTP/2, or use parts of it that other servers do not use.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use towtank_load::http2::frames::{self, ErrorCode, PREFACE, flag, kind, setting};

use crate::support::{Folder, get, run};
use crate::{checked, over_http2, pool, reasons_of};

/// Starts a server that waits for the first bytes of each client, sends the given bytes, and reads nothing more.
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
    large.resize(16_000, b'v');
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
    assert_eq!(reasons_of(&results), ["no HTTP/2"]);
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
        reasons_of(&results),
        ["the server closed the connection before it had sent its HTTP/2 settings"]
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
    let mut goaway = Vec::new();
    frames::write_goaway(0, ErrorCode::NoError, &mut goaway);
    assert!(said.starts_with(PREFACE) && said.ends_with(&goaway));
}

/// Starts a server that sends the given bytes as early as possible, together with the last bytes of the TLS 1.2
/// handshake.
fn speaking_first(bytes: Vec<u8>) -> (SocketAddr, Folder) {
    let certified =
        rcgen::generate_simple_self_signed(vec!["test.example".to_owned()]).expect("a certificate");
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.0).expect("a folder");
    std::fs::write(folder.0.join("c.pem"), certified.cert.pem()).expect("a file");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(
        certified.signing_key.serialize_der(),
    ));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS12])
        .expect("a version")
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .expect("a configuration");
    config.alpn_protocols = vec![b"h2".to_vec()];
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut tls = rustls::ServerConnection::new(Arc::new(config)).expect("a session");
        tls.writer()
            .write_all(&bytes)
            .expect("what waits for the handshake");
        while tls.complete_io(&mut stream).is_ok_and(|(read, _)| read > 0) {
            let _ = tls.reader().read(&mut [0; 4096]);
        }
    });
    (address, folder)
}

#[test]
fn a_server_may_speak_within_the_handshake() {
    let both = flag::END_HEADERS | flag::END_STREAM;
    let (address, folder) = speaking_first(frames_of(&[(kind::HEADERS, both, 1, &[0x88])]));
    let mut plan = over_http2(
        address,
        &json!([get(0, &json!(["/a"]))]),
        json!({"mode": "per_user"}),
    );
    plan["targets"][0]["scheme"] = json!("https");
    plan["targets"][0]["tls"] = json!({"ca": folder.0.join("c.pem")});
    assert_eq!(checked(&run(plan)), 1);
}

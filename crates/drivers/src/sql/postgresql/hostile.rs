//! Servers that ask for more memory or time than a session gives.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use tokio::runtime::Builder;

use super::*;

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + 4) as u32;
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

fn heard(stream: &mut TcpStream) -> Vec<u8> {
    let mut buffer = [0; 4096];
    let count = stream.read(&mut buffer).expect("a client");
    buffer[..count].to_vec()
}

/// Why there is no session with a server that does this once it was greeted, and then closes.
fn failed(serve: impl FnOnce(&mut TcpStream) + Send + 'static) -> Failed {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let location = Location::Tcp(listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _greeting = heard(&mut stream);
        serve(&mut stream);
    });
    let runtime = Builder::new_current_thread().enable_all().build();
    let opened = runtime
        .expect("a runtime")
        .block_on(open(&location, "u", Some("p"), "d"));
    server.join().expect("the server");
    let Err(failed) = opened else {
        panic!("a session");
    };
    failed
}

#[test]
fn the_length_of_a_message_is_believed_up_to_64_mib() {
    for (length, is_taken) in [
        (64 << 20, true),
        ((64 << 20) + 1, false),
        (i32::MAX as u32, false),
        (u32::MAX, false),
        (3, false),
    ] {
        let mut received = BytesMut::from(&[&[b'D'][..], &length.to_be_bytes()].concat()[..]);
        let taken = take(&mut received);
        assert_eq!(taken.is_ok(), is_taken, "{length}");
        assert!(is_taken || received.capacity() < 64, "{length}");
    }
}

#[test]
fn a_server_that_announces_2_gib_gets_no_session() {
    let failed = failed(|stream| {
        let head = [&[b'S'][..], &i32::MAX.to_be_bytes()].concat();
        stream.write_all(&head).expect("a client");
    });
    assert_eq!(failed.reason, "a message of more than 64 MiB");
}

#[test]
fn a_code_is_kept_as_long_as_codes_are() {
    let failed = failed(|stream| {
        let code = "28P01".repeat(100_000);
        let body = format!("SFATAL\0VFATAL\0C{code}\0Mno\0\0");
        let refusal = message(b'E', body.as_bytes());
        stream.write_all(&refusal).expect("a client");
    });
    assert_eq!(failed.reason, "28P01");
}

#[test]
fn rounds_of_scram_are_bounded() {
    let failed = failed(|stream| {
        let ways = [&10_u32.to_be_bytes()[..], b"SCRAM-SHA-256\0\0"].concat();
        stream.write_all(&message(b'R', &ways)).expect("a client");
        let said = heard(stream);
        let said = String::from_utf8_lossy(&said);
        let (_, nonce) = said.split_once(",r=").expect("a nonce");
        let first = format!("r={nonce}server,s=c2FsdA==,i=1000001");
        let again = [&11_u32.to_be_bytes()[..], first.as_bytes()].concat();
        stream.write_all(&message(b'R', &again)).expect("a client");
        // The client's proof, or its end.
        let _ = stream.read(&mut [0; 4096]);
    });
    assert_eq!(failed.kind, FailureKind::Connect);
    assert!(failed.reason.contains("iteration count"), "{failed:?}");
}

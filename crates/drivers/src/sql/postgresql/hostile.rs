//! Tests with servers that would use more memory or time than a session permits.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use towtank_damaging::{Damaging, rounds};

use super::*;
use crate::testing::Loop;

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + 4) as u32;
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

fn heard(stream: &mut TcpStream) -> Vec<u8> {
    let mut buffer = [0; 4096];
    let count = stream.read(&mut buffer).expect("a client");
    buffer[..count].to_vec()
}

/// Opens a session with a server that runs `serve` after the greeting and then closes the connection. Returns the
/// failure of the session.
fn failed(serve: impl FnOnce(&mut TcpStream) + Send + 'static) -> Failed {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let location = Location::Tcp(listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _greeting = heard(&mut stream);
        serve(&mut stream);
    });
    let around = Loop::new();
    let (opened, _) = around.run(open(&location, &around.turn, "u", Some("p"), "d"));
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
        // Reads the proof that the client sends, or the end of the stream.
        let _ = stream.read(&mut [0; 4096]);
    });
    assert_eq!(failed.kind, FailureKind::Connect);
    assert!(failed.reason.contains("iteration count"), "{failed:?}");
}

/// Returns one message of each kind that a session can read.
fn session() -> Vec<u8> {
    let column = [
        &b"name\0"[..],
        &[0; 6],
        &25_u32.to_be_bytes(),
        &[255; 6],
        &[0; 2],
    ]
    .concat();
    let value = |text: &[u8]| [&(text.len() as u32).to_be_bytes(), text].concat();
    let null = u32::MAX.to_be_bytes();
    [
        message(b'1', b""),
        message(b'2', b""),
        message(b'T', &[&2_u16.to_be_bytes()[..], &column, &column].concat()),
        message(
            b'D',
            &[&2_u16.to_be_bytes()[..], &value(b"ann"), &null].concat(),
        ),
        message(
            b'D',
            &[&2_u16.to_be_bytes()[..], &value(b""), &value(b"17")].concat(),
        ),
        message(b'C', b"UPDATE 3\0"),
        message(b'E', b"SERROR\0VERROR\0C42P01\0Mno table\0\0"),
        message(b'Z', b"I"),
    ]
    .concat()
}

/// Returns the number of responses that a session reads from `bytes`, and `true` if all messages were read.
fn readings(bytes: &[u8]) -> (usize, bool) {
    let task = Task {
        number: 0,
        operation: Operation::Sql {
            text: "select 1".to_owned(),
        },
        keeps_rows: true,
        rows_bytes_at_most: 1 << 20,
        keeps_content: false,
    };
    let (mut received, mut read) = (BytesMut::from(bytes), 0);
    let mut reading = Reading::new(&task, Columns::default());
    loop {
        let (tag, length) = match head(&received) {
            Ok(None) => return (read, received.is_empty()),
            Err(_) => return (read, false),
            Ok(Some(found)) => found,
        };
        let body = &received[HEAD_BYTES..length];
        let made = match tag {
            b'D' => row(&mut reading, body),
            b'C' => {
                affected(body);
                Ok(())
            }
            _ => match take(&mut received.clone()) {
                Ok(Some(Message::RowDescription(body))) => described(&body).map(drop),
                Ok(Some(Message::ErrorResponse(body))) => {
                    assert!(refusal(&body).reason.chars().count() <= CODE_CHARACTERS);
                    Ok(())
                }
                Ok(_) => Ok(()),
                Err(failed) => Err(failed),
            },
        };
        if made.is_err() {
            return (read, false);
        }
        received.advance(length);
        read += 1;
    }
}

#[test]
fn no_bytes_make_it_panic() {
    assert_eq!(readings(&session()), (8, true));
    let mut damaging = Damaging::new();
    let (mut whole, mut refused) = (0_usize, 0_usize);
    for _ in rounds(20_000) {
        let (_, is_whole) = readings(&damaging.one_of(&[session()], 6));
        whole += usize::from(is_whole);
        refused += usize::from(!is_whole);
    }
    assert!(
        whole > 500 && refused > 500,
        "{whole} whole, {refused} refused"
    );
}

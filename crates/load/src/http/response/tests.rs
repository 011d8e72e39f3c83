//! Checks that the scanner never panics and uses no more memory than allowed. Its result must not depend on how the
//! bytes are split.

use super::*;

mod mutations;

const LIMITS: Limits = Limits {
    header_bytes: 400,
    body_bytes: 1_000,
    capture_bytes: 20,
};
const ALL: Wanted = Wanted {
    head: true,
    body: true,
    method_is_head: false,
};
const HEAD: Wanted = Wanted {
    head: true,
    body: true,
    method_is_head: true,
};

/// All properties of a response that a caller can read.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// Length of the response [B], `None` if the response did not end, or the error of the scanner.
    end: Result<Option<usize>, ProtocolError>,
    status: u16,
    fields: Vec<u8>,
    body: Vec<u8>,
    body_bytes: u64,
    truncated: bool,
    keep_alive: bool,
}

/// Passes the pieces of a stream to the scanner, and then the end of the stream. Returns the properties of the
/// response.
fn read<'a>(
    scanner: &mut ResponseScanner,
    wanted: Wanted,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Seen {
    scanner.begin(wanted);
    let mut fed = 0;
    let mut end = Ok(None);
    for piece in pieces {
        match scanner.feed(piece) {
            Ok(Progress::More) => fed += piece.len(),
            Ok(Progress::Complete { consumed }) => {
                end = Ok(Some(fed + consumed));
                break;
            }
            Err(error) => {
                end = Err(error);
                break;
            }
        }
    }
    if end == Ok(None) {
        end = scanner.end_of_stream().map(|_| Some(fed));
    }
    // If parsing fails, the kept part of the response depends on how the bytes were split, so it is not compared.
    let failed = end.is_err();
    Seen {
        end,
        status: if failed { 0 } else { scanner.answer().status() },
        fields: if failed {
            Vec::new()
        } else {
            scanner.answer.fields.clone()
        },
        body: if failed {
            Vec::new()
        } else {
            scanner.answer().body().to_vec()
        },
        body_bytes: if failed {
            0
        } else {
            scanner.answer().body_bytes()
        },
        truncated: !failed && scanner.answer().body_truncated(),
        keep_alive: scanner.keep_alive(),
    }
}

fn whole(bytes: &[u8], wanted: Wanted) -> Seen {
    read(&mut ResponseScanner::new(LIMITS), wanted, [bytes])
}

fn error_of(bytes: &[u8]) -> ProtocolError {
    whole(bytes, ALL).end.expect_err("refused")
}

/// A response, the settings of its request, and the expected result: the number of bytes left over after the response,
/// or the error.
type Sample = (&'static [u8], Wanted, Result<usize, ProtocolError>);

/// Returns valid and invalid responses of every kind, with their expected results.
fn samples() -> Vec<Sample> {
    use ProtocolError::*;
    vec![
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", ALL, Ok(0)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1", ALL, Ok(8)),
        (b"HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", ALL, Ok(0)),
        (b"HTTP/1.0 200 OK\nContent-Length: 2\nConnection: Keep-Alive\n\nhi", ALL, Ok(0)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nContent-Length: 5\r\n\r\nhello", ALL, Ok(0)),
        (b"HTTP/1.1 204 No Content\r\nETag: \"x\"\r\n\r\nrest", ALL, Ok(4)),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 900\r\n\r\n", ALL, Ok(0)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n", HEAD, Ok(0)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HEAD, Ok(0)),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\nHTTP/1.1 201 \r\nContent-Length: 1\r\n\r\n!", ALL, Ok(0)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n", ALL, Ok(0)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n1  \r\nx\r\n00\r\nExpires: now\r\n\r\n", ALL, Ok(0)),
        (b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\nA\r\n0123456789\r\n0\r\n\r\n", ALL, Ok(0)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\n0123456789\r\n0\r\n\r\n", ALL, Err(BadChunk)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\n0\r\n\r\n", ALL, Err(BadChunk)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\n", ALL, Err(BadField)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\r\n", ALL, Err(BadField)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n19\r\n0123456789012345678901234\r\n0\r\n\r\n", ALL, Ok(0)),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the connection is closed", ALL, Ok(0)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nbytes", ALL, Ok(0)),
        (b"HTTP/1.1 200 OK\r\nConnection: x, close\r\nContent-Length: 0\r\n\r\n", ALL, Ok(0)),
        (b"", ALL, Err(Truncated)),
        (b"HTTP/1.1 200 OK\r\nContent-Le", ALL, Err(Truncated)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", ALL, Err(Truncated)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", ALL, Err(Truncated)),
        (b"rubbish that never ends", ALL, Err(NotHttp)),
        (b"\r\nHTTP/1.1 200 OK\r\n\r\n", ALL, Err(NotHttp)),
        (b"HTTP/2.0 200 OK\r\n\r\n", ALL, Err(NotHttp)),
        (b"HTTP/1.1 20 OK\r\n\r\n", ALL, Err(NotHttp)),
        (b"HTTP/1.1 099 OK\r\n\r\n", ALL, Err(NotHttp)),
        (b"HTTP/1.1 200OK\r\n\r\n", ALL, Err(NotHttp)),
        (b"HTTP/1.1  200 OK\r\n\r\n", ALL, Err(NotHttp)),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", ALL, Err(Upgrade)),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", ALL, Err(BadField)),
        (b"HTTP/1.1 200 OK\r\n: no name\r\n\r\n", ALL, Err(BadField)),
        (b"HTTP/1.1 200 OK\r\nName : blank\r\n\r\n", ALL, Err(BadField)),
        (b"HTTP/1.1 200 OK\r\nName: a\r\n folded\r\n\r\n", ALL, Err(BadField)),
        (b"HTTP/1.1 200 OK\r\nName: a\rb\r\n\r\n", ALL, Err(BadField)),
        (b"HTTP/1.1 200 OK\r\nName: a\0b\r\n\r\n", ALL, Err(BadField)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", ALL, Err(BadLength)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n", ALL, Err(BadLength)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", ALL, Err(BadLength)),
        (b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", ALL, Err(BadLength)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n", ALL, Err(BadLength)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", ALL, Err(LengthAndEncoding)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", ALL, Err(BadEncoding)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n", ALL, Err(BadEncoding)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: ,\r\n\r\n", ALL, Err(BadEncoding)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", ALL, Err(BodyTooLarge)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n", ALL, Err(BodyTooLarge)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nffffffffffffffff\r\n", ALL, Err(BodyTooLarge)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n", ALL, Err(BadChunk)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nrubbish", ALL, Err(BadChunk)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", ALL, Err(BadChunk)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n", ALL, Err(BadChunk)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX", ALL, Err(BadChunk)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\rX", ALL, Err(BadChunk)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n", ALL, Err(BadField)),
    ]
}

#[test]
fn every_kind_of_response_ends_where_it_should() {
    for (bytes, wanted, end) in samples() {
        let consumed = end.map(|left_over| Some(bytes.len() - left_over));
        assert_eq!(
            whole(bytes, wanted).end,
            consumed,
            "{}",
            String::from_utf8_lossy(bytes)
        );
    }
}

#[test]
fn every_split_in_three_gives_the_same() {
    let mut scanner = ResponseScanner::new(LIMITS);
    for (bytes, wanted, _) in samples() {
        let expected = whole(bytes, wanted);
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                let seen = read(&mut scanner, wanted, pieces);
                assert_eq!(
                    seen,
                    expected,
                    "{} at {first} and {second}",
                    String::from_utf8_lossy(bytes)
                );
            }
        }
    }
}

#[test]
fn byte_by_byte_gives_the_same() {
    let mut scanner = ResponseScanner::new(LIMITS);
    for (bytes, wanted, _) in samples() {
        assert_eq!(
            read(&mut scanner, wanted, bytes.chunks(1)),
            whole(bytes, wanted)
        );
    }
}

#[test]
fn persistence_follows_version_and_connection_field() {
    for (head, expected) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", true),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n",
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive, CLOSE\r\n",
            false,
        ),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n", false),
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n",
            true,
        ),
        ("HTTP/1.1 204 None\r\n", true),
        ("HTTP/1.1 200 OK\r\n", false),
        ("HTTP/1.7 200 OK\r\nContent-Length: 0\r\n", true),
    ] {
        assert_eq!(
            whole(format!("{head}\r\n").as_bytes(), ALL).keep_alive,
            expected,
            "{head}"
        );
    }
    let chunked_in_old =
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let seen = whole(chunked_in_old, ALL);
    assert_eq!(
        (seen.end, seen.keep_alive),
        (Ok(Some(chunked_in_old.len())), false)
    );
}

#[test]
fn an_unfinished_response_does_not_keep_the_connection() {
    let mut scanner = ResponseScanner::new(LIMITS);
    scanner.begin(ALL);
    assert!(!scanner.started());
    scanner
        .feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")
        .unwrap();
    assert!(scanner.started() && !scanner.keep_alive());
    assert_eq!(
        (scanner.answer().status(), scanner.answer().body_bytes()),
        (200, 3)
    );
}

#[test]
fn only_what_is_wanted_is_kept() {
    let bytes = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX: y\r\nset-cookie: b=2\r\nContent-Length: 25\r\n\r\n0123456789012345678901234";
    let mut scanner = ResponseScanner::new(LIMITS);
    read(&mut scanner, ALL, [bytes.as_slice()]);
    assert_eq!(
        scanner.answer().headers("SET-COOKIE").collect::<Vec<_>>(),
        [b"a=1", b"b=2"]
    );
    assert_eq!(scanner.answer().header("x"), Some(b"y".as_slice()));
    assert_eq!(scanner.answer().header("set"), None);
    assert_eq!(scanner.answer().header(""), None);
    assert_eq!(scanner.answer().body(), b"01234567890123456789");
    assert!(scanner.answer().body_truncated());
    read(&mut scanner, Wanted::default(), [bytes.as_slice()]);
    assert_eq!(
        (
            scanner.answer().header("x"),
            scanner.answer().body(),
            scanner.answer().body_truncated()
        ),
        (None, [].as_slice(), false)
    );
    assert_eq!(scanner.answer().body_bytes(), 25);
}

#[test]
fn fields_of_informational_responses_and_trailers_are_not_those_of_the_answer() {
    let bytes = b"HTTP/1.1 103 Hints\r\nLink: early\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nLate: yes\r\n\r\n";
    let mut scanner = ResponseScanner::new(LIMITS);
    read(&mut scanner, ALL, [bytes.as_slice()]);
    assert_eq!(
        (
            scanner.answer().status(),
            scanner.answer().header("link"),
            scanner.answer().header("late")
        ),
        (200, None, None)
    );
}

#[test]
fn header_floods_end_at_the_limit_in_any_shape() {
    for line in ["X: yyyyyyyyyyyyyyyyyyyy\r\n", "QQQQQQQQQQQQQQQQQQQQQQQQ"] {
        let flood = format!("HTTP/1.1 200 OK\r\n{}", line.repeat(100));
        assert_eq!(error_of(flood.as_bytes()), ProtocolError::HeaderTooLarge);
    }
    let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
    assert_eq!(error_of(interim.as_bytes()), ProtocolError::HeaderTooLarge);
    let trailers = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}",
        "T: y\r\n".repeat(100)
    );
    assert_eq!(error_of(trailers.as_bytes()), ProtocolError::HeaderTooLarge);
    let reason = format!("HTTP/1.1 200 {}", "O".repeat(500));
    assert_eq!(error_of(reason.as_bytes()), ProtocolError::HeaderTooLarge);
    let extension = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;{}",
        "e".repeat(SIZE_LINE_BYTES)
    );
    assert_eq!(error_of(extension.as_bytes()), ProtocolError::BadChunk);
}

#[test]
fn a_head_of_exactly_the_limit_is_read() {
    let head = "HTTP/1.1 204 None\r\nX: y\r\n\r\n";
    for (header_bytes, fits) in [(head.len(), true), (head.len() - 1, false)] {
        for size in [1, 5, head.len()] {
            let mut scanner = ResponseScanner::new(Limits {
                header_bytes,
                ..LIMITS
            });
            let seen = read(&mut scanner, ALL, head.as_bytes().chunks(size));
            assert_eq!(seen.end.is_ok(), fits);
        }
    }
}

#[test]
fn a_body_of_exactly_the_limit_is_read() {
    let until_close = |length: usize| format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(length));
    assert_eq!(whole(until_close(1_000).as_bytes(), ALL).body_bytes, 1_000);
    assert_eq!(
        error_of(until_close(1_001).as_bytes()),
        ProtocolError::BodyTooLarge
    );
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".to_owned() + &"x".repeat(1_000);
    assert_eq!(whole(length.as_bytes(), ALL).body_bytes, 1_000);
}

#[test]
fn rubbish_is_told_at_its_first_byte() {
    let mut scanner = ResponseScanner::new(LIMITS);
    assert_eq!(scanner.feed(b"HTTP/"), Ok(Progress::More));
    assert_eq!(scanner.feed(b"3"), Err(ProtocolError::NotHttp));
    assert_eq!(
        scanner.feed(b"HTTP/1.1 200 OK\r\n\r\n"),
        Err(ProtocolError::NotHttp),
        "an error stays"
    );
    assert_eq!(scanner.end_of_stream(), Err(ProtocolError::NotHttp));
    scanner.begin(ALL);
    scanner
        .feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        .unwrap();
    assert_eq!(scanner.feed(b"g"), Err(ProtocolError::BadChunk));
}

#[test]
fn bytes_after_the_end_are_left_alone() {
    let mut scanner = ResponseScanner::new(LIMITS);
    scanner.begin(ALL);
    let two = b"HTTP/1.1 204 A\r\n\r\nHTTP/1.1 205 B\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(scanner.feed(two), Ok(Progress::Complete { consumed: 18 }));
    assert_eq!(
        scanner.feed(&two[18..]),
        Ok(Progress::Complete { consumed: 0 })
    );
    scanner.begin(ALL);
    assert_eq!(
        scanner.feed(&two[18..]),
        Ok(Progress::Complete {
            consumed: two.len() - 18
        })
    );
    assert_eq!(scanner.answer().status(), 205);
}

#[test]
fn an_idle_connection_holds_no_memory_beyond_the_scanner() {
    let limits = Limits {
        header_bytes: 65_536,
        body_bytes: 1 << 30,
        capture_bytes: 1 << 20,
    };
    let mut scanner = ResponseScanner::new(limits);
    let head = format!(
        "HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 500000\r\n\r\n",
        "y".repeat(50_000)
    );
    let body = vec![b'z'; 500_000];
    read(
        &mut scanner,
        ALL,
        [
            &head.as_bytes()[..30_000],
            &head.as_bytes()[30_000..],
            &body,
        ],
    );
    assert_eq!(scanner.answer().body(), body);
    let kept = |scanner: &ResponseScanner| {
        scanner.answer.body.capacity() + scanner.answer.fields.capacity()
    };
    scanner.begin(ALL);
    assert!(kept(&scanner) <= 2 * KEPT_BYTES);
    scanner.release();
    assert_eq!(kept(&scanner), 0);
    assert!(
        size_of::<ResponseScanner>() <= 256,
        "{}",
        size_of::<ResponseScanner>()
    );
}

#[test]
fn every_error_is_a_failure_of_its_kind_and_has_a_text() {
    assert_eq!(Failure::from(ProtocolError::Truncated), Failure::Closed);
    for (_, _, end) in samples() {
        if let Err(error) = end {
            assert!(!error.to_string().is_empty());
            assert_eq!(
                Failure::from(error) == Failure::Protocol,
                error != ProtocolError::Truncated
            );
        }
    }
}

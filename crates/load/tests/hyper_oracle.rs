//! Compares this project's parser with hyper on responses that are known to confuse HTTP parsers, and on responses
//! found by fuzzing. Both must read the same response, unless the reason for a difference is known.

#[path = "../fuzz/oracle.rs"]
mod oracle;

use std::path::Path;

use towtank_load::http::response::{ProtocolError, ResponseScanner, Wanted};

fn agree(bytes: &[u8]) {
    for head in [false, true] {
        if let Err(disagreement) = oracle::compare(bytes, head) {
            panic!("{} (HEAD: {head}): {disagreement}", bytes.escape_ascii());
        }
    }
}

fn refusal(bytes: &[u8]) -> Option<ProtocolError> {
    let mut scanner = ResponseScanner::new(oracle::LIMITS);
    scanner.begin(Wanted {
        head: true,
        body: true,
        method_is_head: false,
    });
    scanner
        .feed(bytes)
        .and_then(|_| scanner.end_of_stream())
        .err()
}

/// Responses whose end is ambiguous, each with the error for which it must be refused. RFC 9112 (sections 6.1, 6.3, 7.1
/// and 11.1) warns of such messages. Their forms are from C. Linhart et al., "HTTP Request Smuggling" (2005) and J.
/// Kettle, "HTTP Desync Attacks" (2019), applied to responses.
const AMBIGUOUS: &[(&[u8], ProtocolError)] = &[
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ProtocolError::LengthAndEncoding),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", ProtocolError::LengthAndEncoding),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", ProtocolError::BadLength),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello!", ProtocolError::BadLength),
    (b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", ProtocolError::BadLength),
    (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", ProtocolError::BadLength),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello", ProtocolError::BadLength),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\nhello", ProtocolError::BadLength),
    (b"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\nhello", ProtocolError::BadLength),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello", ProtocolError::BadLength),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", ProtocolError::BadEncoding),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", ProtocolError::BadEncoding),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: c\x98unked, chunked\r\n\r\n0\r\n\r\n", ProtocolError::BadEncoding),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked,\r\n\r\n0\r\n\r\n", ProtocolError::BadEncoding),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", ProtocolError::BadField),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", ProtocolError::BadField),
    (b"HTTP/1.1 200 OK\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ProtocolError::BadField),
    (b"HTTP/1.1 200 OK\r\nX: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ProtocolError::BadField),
    (b"HTTP/1.1 200 OK\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ProtocolError::BadField),
    (b"HTTP/1.1 200 OK\r\nX\0: a\r\n\r\n", ProtocolError::BadField),
    (b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", ProtocolError::BadField),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;\r\nhello\r\n0x0\r\n\r\n", ProtocolError::BadChunk),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n", ProtocolError::BadChunk),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n", ProtocolError::BadChunk),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX0\r\n\r\n", ProtocolError::BadChunk),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n", ProtocolError::BadChunk),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nhello\r\n0\r\n\r\n", ProtocolError::BadChunk),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\n", ProtocolError::BadField),
    (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", ProtocolError::Upgrade),
    (b"HTTP/2.0 200 OK\r\n\r\n", ProtocolError::NotHttp),
    (b"http/1.1 200 OK\r\n\r\n", ProtocolError::NotHttp),
    (b"HTTP/1.1  200 OK\r\n\r\n", ProtocolError::NotHttp),
    (b"HTTP/1.1 20 OK\r\n\r\n", ProtocolError::NotHttp),
    (b"HTTP/1.1 2000 OK\r\n\r\n", ProtocolError::NotHttp),
    (b"\r\nHTTP/1.1 200 OK\r\n\r\n", ProtocolError::NotHttp),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", ProtocolError::Truncated),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", ProtocolError::Truncated),
];

/// Unusual but well-defined responses, which must be accepted.
const FINE: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
    b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
    b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
    b"HTTP/1.1 200 OK\r\nX:\r\nY: \t b \t\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;name=value\r\nhello\r\n0;last\r\nTrailer: x\r\n\r\n",
    // The last transfer coding is not `chunked` but `xchunked`, so the body ends when the connection ends (RFC 9112,
    // section 6.3, rule 4.2).
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
];

#[test]
fn ambiguous_answers_are_refused_each_for_its_reason() {
    for (bytes, error) in AMBIGUOUS {
        assert_eq!(refusal(bytes), Some(*error), "{}", bytes.escape_ascii());
        agree(bytes);
    }
}

#[test]
fn odd_but_well_defined_answers_are_read_as_hyper_reads_them() {
    for bytes in FINE {
        assert_eq!(refusal(bytes), None, "{}", bytes.escape_ascii());
        agree(bytes);
    }
}

#[test]
fn the_corpus_of_the_fuzzer_is_read_as_hyper_reads_it() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/oracle");
    let entries = std::fs::read_dir(&corpus).expect("the corpus is part of the crate");
    let mut count = 0;
    for entry in entries {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a file");
        if let Some((_, bytes)) = bytes.split_first() {
            agree(bytes);
            count += 1;
        }
    }
    assert!(count > 50, "only {count} files in {}", corpus.display());
}

//! Checks the HTTP/1 response parser with any bytes, split into pieces anywhere. The parser must not panic or store
//! more than allowed, and the result must not depend on the split.

use towtank_load::http::response::{Limits, Progress, ProtocolError, ResponseScanner, Wanted};

const LIMITS: Limits = Limits {
    header_bytes: 4_096,
    body_bytes: 65_536,
    capture_bytes: 256,
};

fn end_of(wanted: Wanted, pieces: &[&[u8]]) -> Result<usize, ProtocolError> {
    let mut scanner = ResponseScanner::new(LIMITS);
    scanner.begin(wanted);
    let mut fed = 0;
    for piece in pieces {
        match scanner.feed(piece)? {
            Progress::More => fed += piece.len(),
            Progress::Complete { consumed } => return Ok(fed + consumed),
        }
        assert!(scanner.answer().body().len() <= LIMITS.capture_bytes);
    }
    scanner.end_of_stream().map(|_| fed)
}

/// Parses one input and checks the result.
pub fn check(input: (u8, u16, &[u8])) {
    let (flags, split, bytes) = input;
    let wanted = Wanted {
        head: flags & 1 != 0,
        body: flags & 2 != 0,
        method_is_head: flags & 4 != 0,
    };
    let (first, second) = bytes.split_at(usize::from(split).min(bytes.len()));
    assert_eq!(end_of(wanted, &[bytes]), end_of(wanted, &[first, second]));
}

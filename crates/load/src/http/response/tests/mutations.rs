//! Parses responses with randomly changed bytes. The scanner must neither panic nor contradict the parser `httparse`.

use super::*;
use crate::testing::SplitMix;

/// Changes a few bytes: replaces or removes a byte, or repeats a byte or a range.
fn mutated(bytes: &[u8], random: &mut SplitMix) -> Vec<u8> {
    const LIKELY: &[u8] = b"\r\n :;,0159afHTP/.\t\0\x7f\xff";
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] = LIKELY[random.below(LIKELY.len())],
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, LIKELY[random.below(LIKELY.len())]),
            _ => {
                let end = at + random.below(bytes.len() - at + 1);
                let stretch = bytes[at..end].to_vec();
                bytes.splice(at..at, stretch);
            }
        }
    }
    bytes
}

fn random_pieces<'a>(bytes: &'a [u8], random: &mut SplitMix) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(1 + random.below(rest.len().min(40)));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

#[test]
fn a_hundred_thousand_mutations_neither_panic_nor_depend_on_the_split() {
    let samples = samples();
    let mut random = SplitMix::new(20_261_120);
    let mut scanner = ResponseScanner::new(LIMITS);
    let mut accepted = 0;
    for case in 0..100_000 {
        let (sample, wanted, _) = samples[case % samples.len()];
        let bytes = mutated(sample, &mut random);
        let expected = whole(&bytes, wanted);
        let seen = read(&mut scanner, wanted, random_pieces(&bytes, &mut random));
        assert_eq!(seen, expected, "case {case}: {}", bytes.escape_ascii());
        assert!(scanner.answer.body.len() <= LIMITS.capture_bytes);
        assert!(scanner.answer.fields.len() <= LIMITS.header_bytes);
        assert!(scanner.line.len() <= SIZE_LINE_BYTES.max(LIMITS.header_bytes));
        accepted += usize::from(expected.end.is_ok());
    }
    // The test is meaningful only if the scanner refuses some of the changed responses and accepts others.
    assert!((15_000..80_000).contains(&accepted), "{accepted} accepted");
}

/// Parses a response head by `httparse`, the reference. Returns status and fields; `None` if `httparse` refuses the
/// bytes or needs more bytes.
fn by_oracle(bytes: &[u8]) -> Option<(u16, Vec<u8>)> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut fields);
    let complete = response
        .parse(bytes)
        .is_ok_and(|status| status.is_complete());
    complete.then(|| {
        let mut lines = Vec::new();
        for field in &*response.headers {
            lines.extend_from_slice(field.name.as_bytes());
            lines.push(b':');
            lines.extend_from_slice(field.value.trim_ascii());
            lines.push(b'\n');
        }
        (response.code.unwrap_or(0), lines)
    })
}

#[test]
fn heads_are_read_as_httparse_reads_them() {
    let samples = samples();
    let mut random = SplitMix::new(7);
    let (mut both, mut neither) = (0, 0);
    for case in 0..50_000 {
        let bytes = mutated(samples[case % samples.len()].0, &mut random);
        // `httparse` skips empty lines at the start and refuses minor versions above 1, unlike the scanner. These cases
        // are not compared.
        if bytes.starts_with(b"\r")
            || bytes.starts_with(b"\n")
            || matches!(bytes.get(7), Some(b'2'..=b'9'))
        {
            continue;
        }
        // After an informational response, the scanner continues with the next head, whereas `httparse` parses only the
        // first head. These cases are not compared.
        if bytes.starts_with(b"HTTP/1.") && bytes.get(9) == Some(&b'1') {
            continue;
        }
        let ours = whole(&bytes, HEAD);
        match (by_oracle(&bytes), ours.end) {
            (Some((status, fields)), Ok(_)) => {
                assert_eq!(
                    (ours.status, ours.fields),
                    (status, fields),
                    "{}",
                    bytes.escape_ascii()
                );
                both += 1;
            }
            (None, Err(_)) => neither += 1,
            (Some((status, _)), Err(error)) => {
                use ProtocolError::{
                    BadEncoding, BadLength, HeaderTooLarge, LengthAndEncoding, NotHttp,
                };
                let stricter = matches!(
                    error,
                    BadLength | BadEncoding | LengthAndEncoding | HeaderTooLarge
                ) || (error == NotHttp && status < 100);
                assert!(stricter, "{error}: {}", bytes.escape_ascii());
            }
            (None, Ok(_)) => panic!("only we accept {}", bytes.escape_ascii()),
        }
    }
    assert!(both > 10_000 && neither > 5_000, "{both} {neither}");
}

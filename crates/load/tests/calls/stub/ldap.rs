//! A stub of an LDAP directory. It answers each search by the values in the search filter. It records other messages by
//! their kind.

use std::io::{Read, Write};

use serde_json::{Value, json};

use super::{Reply, Session};

/// Returns the operation and the values of a call: a search at the base `text` for entries whose attribute `v` has one
/// of the given values. The base is the first value of the call.
pub fn search(text: &str, values: &Value) -> (Value, Value) {
    let given = values.as_array().expect("values");
    let mut all = vec![json!([text])];
    all.extend_from_slice(given);
    let equal = |place: usize| json!({"equal": {"attribute": "v", "value": place}});
    let filter: Vec<Value> = (1..all.len()).map(equal).collect();
    let request =
        json!({"search": {"scope": "base", "filter": {"or": filter}, "attributes": ["v"]}});
    (
        json!({"kind": "ldap", "request": request}),
        Value::Array(all),
    )
}

/// Encodes an element (BER): tag, length and content.
pub fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len() as u32;
    // The long form of the length is always allowed, even if a shorter form exists.
    [&[tag, 0x84][..], &length.to_be_bytes(), content].concat()
}

/// Returns the tag and the content of each element in a sequence of elements.
fn elements(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    while let [tag, first, rest @ ..] = bytes {
        let (length, behind) = length_at(*first, rest);
        found.push((*tag, &behind[..length]));
        bytes = &behind[length..];
    }
    found
}

/// Decodes the length of an element; `first` is the first byte of the encoded length. Also returns the bytes that
/// follow the length.
fn length_at(first: u8, rest: &[u8]) -> (usize, &[u8]) {
    if first < 0x80 {
        return (first.into(), rest);
    }
    let (bytes, behind) = rest.split_at((first & 0x7f).into());
    let length = bytes
        .iter()
        .fold(0, |length, byte| (length << 8) | usize::from(*byte));
    (length, behind)
}

fn read(session: &mut Session) -> Option<Vec<u8>> {
    let mut head = [0; 2];
    session.stream.read_exact(&mut head).ok()?;
    assert_eq!(head[0], 0x30, "a message");
    let mut more = vec![0; usize::from(head[1] & 0x7f) * usize::from(head[1] >> 7)];
    session.stream.read_exact(&mut more).ok()?;
    let mut body = vec![0; length_at(head[1], &more).0];
    session.stream.read_exact(&mut body).ok()?;
    Some(body)
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Encodes a message with this message number and a single operation.
pub fn message(number: &[u8], tag: u8, content: &[u8]) -> Vec<u8> {
    let inside = [element(2, number), element(tag, content)].concat();
    element(0x30, &inside)
}

/// Encodes a result: error code, name and error text.
pub fn result(code: u8) -> Vec<u8> {
    [
        element(0x0a, &[code]),
        element(4, b""),
        element(4, b"reason"),
    ]
    .concat()
}

/// Encodes an entry of a search result, whose attribute `v` has these values.
pub fn entry(number: &[u8], values: &[&str]) -> Vec<u8> {
    let values: Vec<u8> = values
        .iter()
        .flat_map(|value| element(4, value.as_bytes()))
        .collect();
    let attribute = [element(4, b"v"), element(0x31, &values)].concat();
    let attributes = element(0x30, &element(0x30, &attribute));
    message(number, 0x64, &[element(4, b"cn=x"), attributes].concat())
}

pub(super) fn serve(mut session: Session) {
    while let Some(body) = read(&mut session) {
        let parts = elements(&body);
        let ((_, number), (tag, content)) = (parts[0], parts[1]);
        let inside = |place: usize| elements(content)[place].1;
        let (seen, end) = match tag {
            0x60 => {
                let values = vec![shown(inside(1)), shown(inside(2))];
                (session.saw("<bind>".to_owned(), values), 0x61)
            }
            0x63 => {
                let filter = elements(inside(6));
                let values = filter.iter().map(|(_, pair)| shown(elements(pair)[1].1));
                (session.saw(shown(inside(0)), values.collect()), 0x65)
            }
            0x50 => {
                session.note(&session.saw("<abandon>".to_owned(), vec![format!("{content:?}")]));
                continue;
            }
            0x42 => {
                session.note(&session.saw("<unbind>".to_owned(), Vec::new()));
                return;
            }
            other => panic!("a request {other:#x}"),
        };
        let reply = session.note(&seen);
        let (hangs, closes) = (matches!(reply, Reply::Hang), matches!(reply, Reply::Close));
        let row = |value: &str| {
            let found = if end == 0x65 {
                entry(number, &[value])
            } else {
                Vec::new()
            };
            [found, message(number, end, &result(0))].concat()
        };
        let refusal = |code: &str| message(number, end, &result(code.parse().expect("a code")));
        match reply.bytes(row, refusal) {
            Some(answer) => session.stream.write_all(&answer).expect("a client"),
            None if closes => return,
            None => assert!(hangs),
        }
    }
}

//! Tests the HTTP/2 client with hand-written frames of a server.

use std::sync::Arc;

use super::frames::{
    self, ErrorCode, FRAME_BYTES, FrameHead, FrameReader, HEAD_BYTES, PREFACE, flag, kind, setting,
};
use super::hpack::{Constant, Decoder, Encoder, Name};
use super::*;
use crate::http::response::{Answer, Limits, Wanted};
use crate::outcome::Failure;
use crate::program::body::Outgoing;

mod hostile;
mod windows;

const LIMITS: Limits = Limits {
    header_bytes: 4096,
    body_bytes: 1 << 20,
    capture_bytes: 1 << 20,
};
const BOUNDS: Bounds = Bounds {
    streams: 100,
    stream_window: 1000,
    connection_window: 70_000,
    header_bytes: LIMITS.header_bytes,
};

struct Side {
    exchanges: Vec<(Answer, Outgoing, usize, usize)>,
}

impl Exchanges for Side {
    fn received(&mut self, token: u32, bytes: usize) -> &mut Answer {
        let entry = &mut self.exchanges[token as usize];
        entry.2 += bytes;
        &mut entry.0
    }

    fn sent(&mut self, token: u32, bytes: usize) -> &mut Outgoing {
        let entry = &mut self.exchanges[token as usize];
        entry.3 += bytes;
        &mut entry.1
    }
}

/// A client connection, its open exchanges, and the exchanges that have ended. The methods act as the server.
struct Pair {
    client: Connection,
    side: Side,
    ended: Vec<Ended>,
}

impl Pair {
    /// Creates a pair in which the client has received the server's settings. The output of the client so far is
    /// dropped.
    fn ready() -> Self {
        let mut pair = Self::new();
        pair.server(&settings(&[])).expect("settings");
        pair.said();
        pair
    }

    fn new() -> Self {
        Self {
            client: Connection::new(BOUNDS),
            side: Side {
                exchanges: Vec::new(),
            },
            ended: Vec::new(),
        }
    }

    /// Opens a request without body and returns the number of its stream.
    fn request(&mut self) -> u32 {
        self.request_with(b"", false)
    }

    fn requests(&mut self, count: usize) {
        for _ in 0..count {
            self.request();
        }
    }

    fn request_with(&mut self, body: &[u8], method_is_head: bool) -> u32 {
        let mut answer = Answer::new(LIMITS);
        answer.begin(Wanted {
            head: true,
            body: true,
            method_is_head,
        });
        let mut out = Outgoing::default();
        if !body.is_empty() {
            out.push_shared(Arc::from(body));
        }
        let token = self.side.exchanges.len() as u32;
        self.side.exchanges.push((answer, out, 0, 0));
        self.client.open(token, &mut self.side, |encoder, out| {
            encoder.constant(&Constant::new(0, b":method", b"GET"), out);
            encoder.constant(&Constant::new(1, b"x-own", b"1"), out);
        })
    }

    fn server(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.client.receive(bytes, &mut self.side, &mut self.ended)
    }

    /// Takes the pending output of the client and splits it into frames.
    fn said(&mut self) -> Vec<(FrameHead, Vec<u8>)> {
        let mut all = Vec::new();
        while !self.client.pending().is_empty() {
            let pending = self.client.pending().to_vec();
            self.client.advance(pending.len());
            all.extend(pending);
            self.client.pump(&mut self.side);
        }
        let mut bytes = all.strip_prefix(PREFACE).unwrap_or(&all);
        let (mut reader, mut found) = (FrameReader::default(), Vec::new());
        while let Some((head, payload)) = reader
            .next(&mut bytes, &mut Vec::new())
            .expect("short frames")
        {
            found.push((head, payload.to_vec()));
        }
        found
    }

    /// Takes the pending output of the client and returns the types of its frames.
    fn kinds(&mut self) -> Vec<u8> {
        self.said().iter().map(|(head, _)| head.kind).collect()
    }

    fn answer(&self, token: usize) -> &Answer {
        &self.side.exchanges[token].0
    }

    fn end(&mut self) -> Vec<(u32, End)> {
        self.ended
            .drain(..)
            .map(|ended| (ended.token, ended.end))
            .collect()
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frames::write(kind, flags, stream, payload, &mut out);
    out
}

fn settings(all: &[(u16, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    frames::write_settings(all, &mut out);
    out
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        Encoder::varying(&Name::new(name.as_bytes()), value.as_bytes(), &mut out);
    }
    out
}

fn head(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(
        kind::HEADERS,
        flags | flag::END_HEADERS,
        stream,
        &block(fields),
    )
}

const OK: (&str, &str) = (":status", "200");

#[test]
fn a_connection_begins_with_preface_settings_and_window() {
    let mut pair = Pair::new();
    assert!(pair.client.pending().starts_with(PREFACE));
    let said = pair.said();
    let kinds: Vec<u8> = said.iter().map(|(head, _)| head.kind).collect();
    assert_eq!(kinds, [kind::SETTINGS, kind::WINDOW_UPDATE]);
    let set: Vec<_> = frames::settings(&said[0].1).expect("settings").collect();
    assert!(
        set.contains(&(setting::ENABLE_PUSH, 0))
            && set.contains(&(setting::INITIAL_WINDOW_SIZE, 1000))
    );
    assert_eq!(frames::number(&said[1].1), Some(70_000 - 65_535));
    assert_eq!((pair.client.limit(), pair.client.is_ready()), (1, false));
    pair.server(&settings(&[(setting::MAX_CONCURRENT_STREAMS, 7)]))
        .expect("settings");
    assert_eq!(
        (pair.client.limit(), pair.kinds()),
        (7, vec![kind::SETTINGS])
    );
}

#[test]
fn an_answer_is_the_same_however_it_is_split() {
    let mut stream = head(1, 0, &[(":status", "103"), ("link", "</a>")]);
    stream.extend(head(
        1,
        0,
        &[OK, ("content-length", "5"), ("x-a", "1"), ("x-a", "2")],
    ));
    stream.extend(frame(kind::DATA, flag::PADDED, 1, b"\x03helpad"));
    stream.extend(frame(kind::DATA, 0, 1, b"lo"));
    let trailers = block(&[("x-after", "3")]);
    stream.extend(frame(kind::HEADERS, flag::END_STREAM, 1, &trailers[..2]));
    stream.extend(frame(
        kind::CONTINUATION,
        flag::END_HEADERS,
        1,
        &trailers[2..],
    ));
    for split in 0..=stream.len() {
        let mut pair = Pair::ready();
        assert_eq!(pair.request(), 1);
        pair.server(&stream[..split]).expect("frames");
        pair.server(&stream[split..]).expect("frames");
        assert_eq!(pair.end(), [(0, End::Whole)]);
        let answer = pair.answer(0);
        assert_eq!((answer.status(), answer.body()), (200, b"hello".as_slice()));
        assert_eq!(answer.headers("X-A").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(
            (answer.header("link"), answer.header("x-after")),
            (None, None)
        );
        let overhead = HEAD_BYTES; // header of the CONTINUATION frame, which the client does not count
        assert_eq!(pair.side.exchanges[0].2 + overhead, stream.len());
    }
}

#[test]
fn answers_come_in_any_order() {
    let mut pair = Pair::ready();
    let streams: Vec<u32> = (0..3).map(|_| pair.request()).collect();
    assert_eq!(streams, [1, 3, 5]);
    for stream in [5, 1, 3] {
        pair.server(&head(stream, flag::END_STREAM, &[OK]))
            .expect("an answer");
    }
    assert_eq!(
        pair.end()
            .iter()
            .map(|(token, _)| *token)
            .collect::<Vec<_>>(),
        [2, 0, 1]
    );
    assert_eq!(pair.client.in_hand(), 0);
}

#[test]
fn a_request_is_a_few_bytes_once_its_connection_has_seen_it() {
    let mut pair = Pair::ready();
    pair.request();
    let first: usize = pair.said().iter().map(|(head, _)| head.length).sum();
    pair.request();
    let said = pair.said();
    assert_eq!((first > 2, said[0].0.length), (true, 2));
    assert!(said[0].0.has(flag::END_STREAM) && said[0].0.has(flag::END_HEADERS));
}

#[test]
fn a_smaller_table_is_heeded_from_the_next_request_on() {
    let mut pair = Pair::ready();
    let mut reader = Decoder::new(4096);
    let mut blocks = Vec::new();
    for size in [4096, 0, 100] {
        pair.server(&settings(&[(setting::HEADER_TABLE_SIZE, size)]))
            .expect("settings");
        pair.request();
        pair.request();
        blocks.extend(
            pair.said()
                .into_iter()
                .filter(|(head, _)| head.kind == kind::HEADERS),
        );
    }
    for (_, block) in blocks {
        let mut fields = Vec::new();
        let decoded = reader.decode(&block, |name, value| {
            fields.push((name.to_vec(), value.to_vec()));
        });
        assert_eq!(decoded, Ok(()));
        assert_eq!(
            fields,
            [
                (b":method".to_vec(), b"GET".to_vec()),
                (b"x-own".to_vec(), b"1".to_vec())
            ]
        );
    }
}

#[test]
fn pings_and_settings_are_answered() {
    let mut pair = Pair::ready();
    pair.server(&frame(kind::PING, 0, 0, b"12345678"))
        .expect("a ping");
    pair.server(&frame(kind::PING, flag::ACK, 0, b"12345678"))
        .expect("an acknowledgement without a ping");
    pair.server(&settings(&[(0xf0f0, 1)]))
        .expect("an unknown setting");
    pair.server(&frame(kind::PRIORITY, 0, 1, &[0; 5]))
        .expect("a priority");
    pair.server(&frame(0xee, 0xff, 77, b"what"))
        .expect("an unknown kind of frame");
    let said = pair.said();
    assert_eq!(said.len(), 2);
    assert_eq!(
        (said[0].0.kind, said[0].0.flags, said[0].1.as_slice()),
        (kind::PING, flag::ACK, b"12345678".as_slice())
    );
    assert_eq!(
        (said[1].0.kind, said[1].0.flags),
        (kind::SETTINGS, flag::ACK)
    );
}

#[test]
fn a_farewell_of_the_server_refuses_what_is_above_its_number() {
    let mut pair = Pair::ready();
    pair.requests(3);
    let mut goaway = Vec::new();
    frames::write_goaway(3, ErrorCode::NoError, &mut goaway);
    pair.server(&goaway).expect("a farewell");
    assert_eq!(pair.end(), [(2, End::Refused)]);
    assert_eq!(
        (
            pair.client.limit(),
            pair.client.is_draining(),
            pair.client.in_hand()
        ),
        (0, true, 2)
    );
    pair.server(&head(1, flag::END_STREAM, &[OK]))
        .expect("an answer");
    pair.server(&head(3, flag::END_STREAM, &[OK]))
        .expect("an answer");
    assert_eq!(pair.end(), [(0, End::Whole), (1, End::Whole)]);
}

#[test]
fn a_reset_fails_its_request_or_refuses_it() {
    let mut pair = Pair::ready();
    pair.requests(3);
    pair.server(&head(5, 0, &[OK])).expect("a head");
    for (stream, code) in [(1, 7_u32), (3, 2), (5, 7)] {
        pair.server(&frame(kind::RST_STREAM, 0, stream, &code.to_be_bytes()))
            .expect("a reset");
    }
    let closed = End::Failed(Failure::Closed);
    assert_eq!(pair.end(), [(0, End::Refused), (1, closed), (2, closed)]);
}

#[test]
fn what_comes_for_a_request_given_up_is_passed_over_and_counts_for_windows() {
    let mut pair = Pair::ready();
    let streams: Vec<u32> = (0..40).map(|_| pair.request()).collect();
    pair.said();
    for stream in &streams {
        pair.client.cancel(*stream);
    }
    let said = pair.said();
    assert_eq!(
        (said[0].0.kind, frames::number(&said[0].1)),
        (kind::RST_STREAM, Some(ErrorCode::Cancel as u32))
    );
    for stream in &streams {
        pair.server(&head(*stream, 0, &[OK, ("x", "y")]))
            .expect("a head");
        pair.server(&frame(kind::DATA, 0, *stream, &[0; 1000]))
            .expect("data within the window of the request");
    }
    assert_eq!(
        (pair.kinds(), pair.end()),
        (vec![kind::WINDOW_UPDATE], vec![])
    );
    assert_eq!(pair.answer(0).status(), 0);
}

#[test]
fn an_early_answer_ends_a_body_that_nobody_wants() {
    let mut pair = Pair::ready();
    pair.server(&settings(&[(setting::INITIAL_WINDOW_SIZE, 10)]))
        .expect("settings");
    pair.request_with(&[7; 30], false);
    pair.said();
    pair.server(&head(1, flag::END_STREAM, &[(":status", "413")]))
        .expect("an answer");
    assert_eq!(
        (pair.end(), pair.kinds()),
        (vec![(0, End::Whole)], vec![kind::RST_STREAM])
    );
    assert_eq!(pair.answer(0).status(), 413);
}

#[test]
fn a_body_of_another_length_than_told_fails_its_request_only() {
    let failed = End::Failed(Failure::Protocol);
    for (length, body, method_is_head, end) in [
        ("5", &b"hello"[..], false, End::Whole),
        ("6", b"hello", false, failed),
        ("4", b"hello", false, failed),
        ("5", b"", true, End::Whole),
        ("-5", b"", true, failed),
    ] {
        let mut pair = Pair::ready();
        pair.request_with(b"", method_is_head);
        pair.request();
        pair.server(&head(1, 0, &[OK, ("content-length", length)]))
            .expect("a head");
        pair.server(&frame(kind::DATA, flag::END_STREAM, 1, body))
            .expect("a body");
        pair.server(&head(3, flag::END_STREAM, &[OK]))
            .expect("another answer");
        assert_eq!(pair.end(), [(0, end), (1, End::Whole)], "{length}");
    }
}

#[test]
fn numbers_of_streams_run_out_once() {
    let mut pair = Pair::ready();
    pair.client.skip_to(frames::LAST_STREAM);
    assert!(!pair.client.is_draining());
    assert_eq!(pair.request(), frames::LAST_STREAM);
    assert!(pair.client.is_draining() && pair.client.limit() == 0);
    pair.server(&head(frames::LAST_STREAM, flag::END_STREAM, &[OK]))
        .expect("an answer");
    assert_eq!(pair.end(), [(0, End::Whole)]);
}

//! Compares merged lines with the line of one recorder that recorded all events of the intervals.

use serde_json::Value;

use super::*;
use crate::outcome::{Failure, NotStarted};
use crate::recorder::line::LineBuilder;
use crate::recorder::writer::IntervalEdge;
use crate::recorder::{Exchange, Recorder, Shape};
use crate::testing::SplitMix;
use crate::worker::Gaps;

const SHAPE: Shape = Shape {
    steps: 3,
    pages: 2,
    transactions: 2,
    groups: 2,
    stages: 2,
    places: 2,
};
const SECOND_NS: u64 = 1_000_000_000;

fn edge(second: u64, length: u64, stage: usize) -> IntervalEdge {
    IntervalEdge {
        t0_ns: second * SECOND_NS,
        t1_ns: (second + length) * SECOND_NS,
        stage,
        users: 7,
        user_ns: length * 7 * SECOND_NS,
        in_flight: 3,
        waiting: 2,
        connections: 5,
        cpu_ns: length * 1_000,
        gaps: Gaps {
            longest_ns: 100 * (second + length),
            stalled_ns: length * 11,
        },
    }
}

/// Records one random event in both recorders.
fn event(random: &mut SplitMix, recorders: [&mut Recorder; 2]) {
    let (what, value) = (
        random.next() % 13,
        random.next() >> (20 + random.next() % 40),
    );
    let at = |count: usize, random: &mut SplitMix| (random.next() % count as u64) as usize;
    let (step, page, group) = (at(3, random), at(2, random), at(2, random));
    let failure = (value % 3 == 0).then_some(Failure::ALL[at(Failure::ALL.len(), random)]);
    let result = failure.map_or(Ok(()), Err);
    for recorder in recorders {
        match what {
            0 => recorder.offered(step),
            1 => recorder.started(step, value),
            2 => recorder.not_started(step, NotStarted::Overflow),
            3 | 4 => recorder.finished(
                step,
                Exchange {
                    result,
                    status: Some(if value % 2 == 0 { 200 } else { 404 }),
                    response_ns: value,
                    exchange_ns: value / 2,
                    first_byte_ns: Some(value / 3),
                    bytes_in: value % 1_000,
                    bytes_out: value % 100,
                },
            ),
            5 => recorder.page(page, result, value),
            6 => recorder.transaction(page, group, result, value),
            7 => recorder.at_place(page, result.is_ok()),
            8 => {
                recorder.think(value);
                recorder.rest(group, value);
            }
            9 => recorder.picked(page, group),
            10 => recorder.arrival(group, value),
            11 => {
                recorder.connect(value);
                recorder.connection_wait(value);
                recorder.handshake(value, value % 2 == 0);
            }
            _ => {
                recorder.surplus();
                recorder.unasked();
            }
        }
    }
}

fn line(number: u64, edge: &IntervalEdge, recorder: &Recorder) -> Vec<u8> {
    LineBuilder::default()
        .interval(number, edge, recorder)
        .to_vec()
}

fn merged(segment: &[u8], width_s: u64) -> Vec<u8> {
    let mut out = Vec::new();
    merge(segment, width_s * SECOND_NS, &mut out);
    out
}

/// Returns the documents of lines. The order of series and of pauses does not matter.
fn documents(text: &[u8]) -> Vec<Value> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    lines
        .map(|line| {
            let document = document_of(line).expect("a line with its checksum");
            let mut value: Value = serde_json::from_slice(document).expect("JSON");
            for key in ["series", "thinks"] {
                if let Some(list) = value.get_mut(key).and_then(Value::as_array_mut) {
                    list.sort_by_key(|each| {
                        ["of", "id", "group"].map(|key| each.get(key).map(Value::to_string))
                    });
                }
            }
            value
        })
        .collect()
}

#[test]
fn merged_intervals_equal_one_interval_with_all_events() {
    let mut random = SplitMix::new(5);
    let (mut segment, mut expected) = (Vec::new(), Vec::new());
    for (number, (first, stage)) in [(0, 0), (4, 0), (8, 1)].into_iter().enumerate() {
        let mut whole = Recorder::new(SHAPE);
        for second in first..first + 4 {
            let mut own = Recorder::new(SHAPE);
            for _ in 0..random.next() % 400 {
                event(&mut random, [&mut own, &mut whole]);
            }
            segment.extend(line(second, &edge(second, 1, stage), &own));
        }
        expected.extend(line(number as u64 * 4, &edge(first, 4, stage), &whole));
    }
    let found = merged(&segment, 4);
    let mut read = documents(&found);
    for line in &mut read {
        let t0_ns = line["t0_ns"].as_u64().unwrap();
        let stalls: Vec<[u64; 4]> = (0..4)
            .map(|number| {
                [
                    t0_ns + number * SECOND_NS,
                    t0_ns + (number + 1) * SECOND_NS,
                    11,
                    100 * (t0_ns / SECOND_NS + number + 1),
                ]
            })
            .collect();
        assert_eq!(
            line.as_object_mut().unwrap().remove("stalls"),
            Some(serde_json::json!(stalls))
        );
    }
    assert!(read == documents(&expected), "other sums");
    assert_eq!(
        documents(&merged(&found, 1)),
        documents(&found),
        "nothing is left to merge"
    );
}

#[test]
fn intervals_of_different_stages_are_not_merged() {
    let recorder = Recorder::new(SHAPE);
    let segment: Vec<u8> = (0..6)
        .flat_map(|second| line(second, &edge(second, 1, usize::from(second > 2)), &recorder))
        .collect();
    let spans: Vec<_> = documents(&merged(&segment, 60))
        .iter()
        .map(|line| {
            (
                line["t0_ns"].as_u64().unwrap(),
                line["t1_ns"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(spans, [(0, 3 * SECOND_NS), (3 * SECOND_NS, 6 * SECOND_NS)]);
}

#[test]
fn other_lines_and_lines_that_cannot_be_read_are_copied() {
    let recorder = Recorder::new(SHAPE);
    let good: Vec<Vec<u8>> = (0..4)
        .map(|second| line(second, &edge(second, 1, 0), &recorder))
        .collect();
    let with = |from: &str, to: &str| {
        let text = String::from_utf8(good[1].clone()).unwrap();
        let document = text[PREFIX_BYTES..].trim_end().replace(from, to);
        assert_ne!(document, text[PREFIX_BYTES..].trim_end());
        format!("{:08x} {document}\n", crc32fast::hash(document.as_bytes())).into_bytes()
    };
    let damaged = [
        b"00000000 {\"k\":\"interval\"}\n".to_vec(),
        b"\n".to_vec(),
        with(r#""k":"interval""#, r#""k":"end""#),
        with(r#""users":7"#, r#""users":1000000000000000"#),
        with(r#""users":7"#, r#""users":-7"#),
        with(r#""users":7"#, r#""users":7,"unknown":1"#),
        with(r#""cpu_ns":1000"#, r#""cpu_ns":1000,"lag":"HISTFAAAA""#),
    ];
    for bad in damaged {
        let segment = [&good[0], &bad, &good[2], &good[3]]
            .map(Vec::as_slice)
            .concat();
        let found = merged(&segment, 60);
        let expected = [
            good[0].clone(),
            bad.clone(),
            merged(&[good[2].as_slice(), &good[3]].concat(), 60),
        ]
        .concat();
        assert_eq!(
            String::from_utf8_lossy(&found),
            String::from_utf8_lossy(&expected)
        );
    }
    let torn = [good[0].as_slice(), &good[1][..40]].concat();
    assert_eq!(merged(&torn, 60), good[0], "an incomplete line is left out");
}

#[test]
fn only_the_intervals_of_a_span_and_all_other_lines_are_copied() {
    let recorder = Recorder::new(SHAPE);
    let header = b"00000000 {\"k\":\"header\"}\n".to_vec();
    let lines: Vec<Vec<u8>> = (0..6)
        .map(|second| line(second, &edge(second, 1, 0), &recorder))
        .collect();
    let segment = [header.clone(), lines.concat()].concat();
    let mut out = Vec::new();
    within(&segment, 2 * SECOND_NS, 4 * SECOND_NS, &mut out);
    assert_eq!(out, [header, lines[2..4].concat()].concat());
}

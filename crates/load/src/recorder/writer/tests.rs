//! Reads the lines of result files with an implementation that is independent of the engine, as another program would.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::Deserializer;
use serde_json::{Value, json};

use super::*;
use crate::outcome::{Failure, NotStarted};
use crate::recorder::Exchange;
use crate::testing::{Folder, SHAPE, header};

const EDGE: IntervalEdge = IntervalEdge {
    t0_ns: 0,
    t1_ns: 1_000_000_000,
    stage: 0,
    users: 12,
    user_ns: 11_800_000_000,
    in_flight: 3,
    waiting: 0,
    connections: 11,
    cpu_ns: 31_000_000,
    gaps: crate::worker::Gaps {
        longest_ns: 0,
        stalled_ns: 0,
    },
};

/// Returns the JSON documents in a segment, after comparing the checksum of every line.
fn documents(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'));
    text.lines()
        .map(|line| {
            let (checksum, document) = line.split_once(' ').unwrap();
            assert_eq!(checksum.len(), 8);
            assert_eq!(
                u32::from_str_radix(checksum, 16).unwrap(),
                crc32fast::hash(document.as_bytes())
            );
            serde_json::from_str(document).unwrap()
        })
        .collect()
}

fn values(histogram: &Value) -> hdrhistogram::Histogram<u64> {
    let bytes = STANDARD.decode(histogram.as_str().unwrap()).unwrap();
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .unwrap()
}

fn fill(recorder: &mut Recorder) {
    for (step, failure) in [
        (0, None),
        (1, Some(Failure::Timeout)),
        (1, Some(Failure::Connect)),
    ] {
        recorder.offered(step);
        recorder.started(step, 30_000);
        recorder.finished(
            step,
            Exchange {
                result: failure.map_or(Ok(()), Err),
                status: failure.is_none().then_some(200),
                response_ns: 5_000_000,
                exchange_ns: 4_970_000,
                first_byte_ns: failure.is_none().then_some(4_000_000),
                bytes_in: 100,
                bytes_out: 10,
            },
        );
    }
    recorder.offered(1);
    recorder.not_started(1, NotStarted::Overflow);
    recorder.page(0, Ok(()), 5_000_000);
    recorder.transaction(0, 1, Err(Failure::Timeout), 9_000_000);
    recorder.transaction(1, 0, Ok(()), 1);
    recorder.think(700);
    recorder.think(300);
    recorder.connect(90_000);
    recorder.picked(1, 1);
    recorder.picked(0, 1);
    recorder.picked(0, 1);
    recorder.rest(1, 2_000_000);
    recorder.rest(1, 3_000_000);
    recorder.arrival(1, 400_000);
    recorder.arrival(1, 500_000);
}

#[test]
fn a_run_is_a_header_its_intervals_and_an_end() {
    let folder = Folder::new("whole-run");
    let mut writer =
        SegmentWriter::create(&folder.path().join("engine"), header(0), SHAPE).unwrap();
    let mut recorder = Recorder::new(SHAPE);
    fill(&mut recorder);
    writer.interval(&mut recorder, EDGE).unwrap();
    writer
        .interval(
            &mut recorder,
            IntervalEdge {
                t0_ns: 1_000_000_000,
                t1_ns: 2_000_000_000,
                ..EDGE
            },
        )
        .unwrap();
    let totals = writer.totals().clone();
    let written = writer
        .end(
            EndReason::Stopped,
            Some("as \"asked\""),
            2_000_000_000,
            &totals,
        )
        .unwrap();
    assert_eq!(written.lag.count(), 3);

    let lines = documents(&folder.path().join("engine/worker-00.0000.ndjson"));
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["schema"], "towtank/segment/1");
    assert_eq!(lines[0]["stages"][0]["phase"], "steady");
    assert_eq!(lines[0]["part"], 0);
    assert_eq!(lines[2]["seq"], 1);
    assert_eq!(lines[2]["series"], json!([]));
    assert_eq!(lines[2].get("lag"), None, "an empty histogram is left out");
    let end = json!({
        "k": "end", "t_ns": 2_000_000_000, "reason": "stopped", "message": "as \"asked\"",
        "totals": {"offered": 4, "started": 3, "ok": 1, "failed": {"connect": 1, "timeout": 1},
                   "not_started": {"overflow": 1}, "in_flight": 0},
    });
    assert_eq!(lines[3], end);
}

#[test]
fn an_interval_line_holds_every_count() {
    let folder = Folder::new("interval-line");
    let mut writer = SegmentWriter::create(folder.path(), header(1), SHAPE).unwrap();
    let mut recorder = Recorder::new(SHAPE);
    fill(&mut recorder);
    writer.interval(&mut recorder, EDGE).unwrap();
    drop(writer);

    let lines = documents(&folder.path().join("worker-01.0000.ndjson"));
    let interval = &lines[1];
    for (key, expected) in [
        ("t1_ns", 1_000_000_000_u64),
        ("stage", 0),
        ("users", 12),
        ("user_ns", 11_800_000_000),
        ("in_flight", 3),
        ("connections", 11),
        ("cpu_ns", 31_000_000),
    ] {
        assert_eq!(interval[key], expected, "{key}");
    }
    assert_eq!(interval["think"], json!({"count": 2, "sum_ns": 1_000}));
    let rests = interval["thinks"].as_array().unwrap();
    assert_eq!(rests.len(), 1, "groups without a pause are left out");
    assert_eq!(rests[0]["group"], 1);
    assert_eq!(rests[0]["pause_sum_ns"], 5_000_000);
    assert_eq!(values(&rests[0]["pause"]).len(), 2);
    assert_eq!(interval["arrivals"], json!([0, 2]));
    assert_eq!(interval["gaps_sum_ns"], 900_000);
    assert_eq!(values(&interval["gaps"]).count_at(400_000), 1);
    assert_eq!(values(&interval["lag"]).len(), 3);
    assert_eq!(values(&interval["connect"]).count_at(90_000), 1);

    let series = interval["series"].as_array().unwrap();
    let names: Vec<_> = series
        .iter()
        .map(|note| (note["of"].as_str().unwrap(), note["id"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        names,
        [
            ("step", 0),
            ("step", 1),
            ("page", 0),
            ("transaction", 0),
            ("transaction", 1),
            ("transaction", 1)
        ]
    );
    let step = &series[1];
    assert_eq!(step["failed"], json!({"connect": 1, "timeout": 1}));
    assert_eq!(step["not_started"], json!({"overflow": 1}));
    assert_eq!(
        (&step["offered"], &step["started"], &step["ok"]),
        (&json!(3), &json!(2), &json!(0))
    );
    assert_eq!(
        (&step["bytes_in"], &step["bytes_out"]),
        (&json!(200), &json!(20))
    );
    assert_eq!(
        values(&step["response"]).count_at(5_000_000),
        1,
        "only the time-out has a response time, the refused connection has none"
    );
    assert_eq!(
        (&step["response_sum_ns"], &step["exchange_sum_ns"]),
        (&json!(5_000_000), &json!(4_970_000))
    );
    assert_eq!(step.get("first_byte"), None);
    assert_eq!(values(&series[0]["first_byte"]).count_at(4_000_000), 1);
    assert_eq!(
        (&series[3]["group"], &series[4]["group"]),
        (&json!(1), &json!(0))
    );
    let picked = [3, 4, 5].map(|place: usize| series[place]["picked"].as_u64().unwrap());
    assert_eq!(
        picked,
        [2, 0, 1],
        "choices are written before any transaction has ended"
    );
}

#[test]
fn a_time_beyond_the_range_is_told() {
    let folder = Folder::new("saturated");
    let mut writer = SegmentWriter::create(folder.path(), header(0), SHAPE).unwrap();
    let mut recorder = Recorder::new(SHAPE);
    recorder.page(0, Ok(()), 3_600_000_000_001);
    writer.interval(&mut recorder, EDGE).unwrap();
    drop(writer);
    let lines = documents(&folder.path().join("worker-00.0000.ndjson"));
    assert_eq!(lines[1]["series"][0]["saturated"], 1);
    assert_eq!(
        lines[1]["series"][0]["response_sum_ns"],
        3_600_000_000_001_u64
    );
}

#[test]
fn full_segments_are_followed_by_new_ones() {
    let folder = Folder::new("rotation");
    let mut writer = SegmentWriter::create_limited(folder.path(), header(0), SHAPE, 4_000).unwrap();
    let mut recorder = Recorder::new(SHAPE);
    for _ in 0..20 {
        fill(&mut recorder);
        writer.interval(&mut recorder, EDGE).unwrap();
    }
    writer
        .end(EndReason::Finished, None, 1, &Totals::default())
        .unwrap();
    let mut sequences = Vec::new();
    let mut parts = 0;
    while let path = folder.path().join(format!("worker-00.{parts:04}.ndjson"))
        && path.exists()
    {
        let lines = documents(&path);
        assert_eq!(lines[0]["part"], parts);
        sequences.extend(lines.iter().filter_map(|line| line["seq"].as_u64()));
        assert!(
            fs::metadata(&path).unwrap().len() < 7_000,
            "at most one line above the limit"
        );
        parts += 1;
    }
    assert!(parts > 2);
    assert!(sequences.into_iter().eq(0..20));
}

#[test]
fn a_file_that_cannot_be_written_fails_the_run_with_its_name() {
    let folder = Folder::new("refused");
    let in_the_way = folder.path().join("worker-00.0001.ndjson");
    fs::write(&in_the_way, "").unwrap();
    let mut writer = SegmentWriter::create_limited(folder.path(), header(0), SHAPE, 1).unwrap();
    let mut recorder = Recorder::new(SHAPE);
    writer.interval(&mut recorder, EDGE).unwrap();
    while !writer.thread.as_ref().is_some_and(JoinHandle::is_finished) {
        std::thread::yield_now();
    }
    fill(&mut recorder);
    let failed = writer.interval(&mut recorder, EDGE).unwrap_err();
    assert_eq!(
        recorder.totals().offered,
        4,
        "counts that were not written remain"
    );
    assert!(
        failed
            .to_string()
            .starts_with(&format!("cannot write {}", in_the_way.display())),
        "{failed}"
    );
    let error = writer
        .end(EndReason::Failed, None, 1, &Totals::default())
        .unwrap_err();
    assert_eq!(error.to_string(), failed.to_string());
}

#[test]
fn recorders_take_turns() {
    let folder = Folder::new("turns");
    let mut writer = SegmentWriter::create(folder.path(), header(0), SHAPE).unwrap();
    let mut recorder = Recorder::new(SHAPE);
    for _ in 0..10 {
        fill(&mut recorder);
        writer.interval(&mut recorder, EDGE).unwrap();
        assert_eq!(recorder.totals(), Totals::default());
        while writer.stock.is_empty() {
            let empty = writer.returned.recv().unwrap();
            writer.take_back(empty);
        }
    }
    while writer.behind > 0 {
        let empty = writer.returned.recv().unwrap();
        writer.take_back(empty);
    }
    assert_eq!(writer.stock.len(), STOCK, "no further recorder was created");
    assert_eq!(writer.totals().offered, 40);
}

#[test]
fn a_disk_that_takes_nothing_fails_the_run() {
    let folder = Folder::new("behind");
    let mut writer = SegmentWriter::create(folder.path(), header(0), SHAPE).unwrap();
    writer.behind = BEHIND_AT_MOST;
    writer.last_chance = Duration::ZERO;
    let failed = writer
        .interval(&mut Recorder::new(SHAPE), EDGE)
        .unwrap_err();
    assert!(failed.to_string().contains("behind"), "{failed}");
}

#[test]
fn a_thread_that_is_late_with_many_intervals_does_not_blame_the_disk() {
    let folder = Folder::new("late");
    let mut writer = SegmentWriter::create(folder.path(), header(0), SHAPE).unwrap();
    let mut recorder = Recorder::new(SHAPE);
    for _ in 0..10 * BEHIND_AT_MOST {
        writer.interval(&mut recorder, EDGE).unwrap();
        assert!(writer.behind <= BEHIND_AT_MOST);
    }
    writer
        .end(EndReason::Finished, None, 1, &Totals::default())
        .unwrap();
    assert_eq!(
        documents(&folder.path().join("worker-00.0000.ndjson")).len(),
        10 * BEHIND_AT_MOST + 2
    );
}

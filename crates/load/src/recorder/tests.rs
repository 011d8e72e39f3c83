//! Tests the counts of the recorder for each kind of event.

use super::*;

const SHAPE: Shape = Shape {
    steps: 2,
    pages: 1,
    transactions: 2,
    groups: 2,
    stages: 1,
    places: 0,
};

const EDGE: writer::IntervalEdge = writer::IntervalEdge {
    t0_ns: 0,
    t1_ns: 1,
    stage: 0,
    users: 0,
    user_ns: 0,
    in_flight: 0,
    waiting: 0,
    connections: 0,
    cpu_ns: 0,
    gaps: crate::worker::Gaps {
        longest_ns: 0,
        stalled_ns: 0,
    },
};

const EXCHANGE: Exchange = Exchange {
    result: Ok(()),
    status: Some(200),
    response_ns: 3_000_000,
    exchange_ns: 2_000_000,
    first_byte_ns: Some(1_000_000),
    bytes_in: 300,
    bytes_out: 50,
};

#[test]
fn answers_and_timeouts_have_times_other_failures_have_none() {
    use Failure::{Check, Extract, Status4xx, Status5xx, StatusOther, Timeout};
    let timed = [
        Timeout,
        Status4xx,
        Status5xx,
        StatusOther,
        Check,
        Extract,
        Failure::Refused,
    ];
    for failure in Failure::ALL {
        let mut recorder = Recorder::new(SHAPE);
        recorder.finished(
            1,
            Exchange {
                result: Err(failure),
                ..EXCHANGE
            },
        );
        recorder.page(0, Err(failure), 5);
        recorder.transaction(1, 1, Err(failure), 5);
        let expected = u64::from(timed.contains(&failure));
        let step = &recorder.steps[1];
        let counts = [
            &step.ended.response,
            &step.exchange,
            &step.first_byte,
            &recorder.response,
        ];
        assert_eq!(counts.map(Histogram::count), [expected; 4], "{failure:?}");
        assert_eq!(recorder.pages[0].response.count(), expected);
        assert_eq!(recorder.transactions[3].response.count(), expected);
        assert_eq!(step.bytes_in, 300, "bytes are counted whatever the outcome");
    }
}

#[test]
fn a_timeout_without_any_byte_has_no_first_byte() {
    let mut recorder = Recorder::new(SHAPE);
    recorder.finished(
        0,
        Exchange {
            result: Err(Failure::Timeout),
            first_byte_ns: None,
            ..EXCHANGE
        },
    );
    assert_eq!(recorder.steps[0].first_byte.count(), 0);
    assert_eq!(recorder.steps[0].ended.response.count(), 1);
}

#[test]
fn the_identities_hold_and_break() {
    let mut recorder = Recorder::new(SHAPE);
    for step in [0, 1, 1] {
        recorder.offered(step);
    }
    recorder.started(0, 10);
    recorder.started(1, 10);
    recorder.not_started(1, NotStarted::Overflow);
    recorder.finished(0, EXCHANGE);
    let mut totals = recorder.totals();
    assert!(totals.offered_holds());
    assert!(!totals.started_holds(), "one request is in flight");
    totals.in_flight = 1;
    assert!(totals.started_holds());
    recorder.offered(0);
    assert!(!recorder.totals().offered_holds());
}

#[test]
fn a_snapshot_shows_the_interval_and_merges() {
    let mut first = Recorder::new(SHAPE);
    let mut second = Recorder::new(SHAPE);
    for recorder in [&mut first, &mut second] {
        recorder.offered(0);
        recorder.started(0, 40_000);
        recorder.finished(0, EXCHANGE);
        recorder.transaction(0, 0, Ok(()), 1);
        recorder.transaction(0, 1, Err(Failure::Check), 1);
    }
    second.finished(
        1,
        Exchange {
            result: Err(Failure::Status5xx),
            response_ns: 9_000_000,
            ..EXCHANGE
        },
    );
    let mut live = first.snapshot();
    live.merge(&second.snapshot());
    assert_eq!(
        (
            live.requests_started,
            live.requests_ok,
            live.requests_failed
        ),
        (2, 2, 1)
    );
    assert_eq!((live.transactions_ok, live.transactions_failed), (2, 2));
    let near = |value: Option<u64>, expected: u64| {
        value.unwrap().abs_diff(expected) * 1_000 <= expected + 511_000
    };
    assert!(near(live.response_p50_ns(), 3_000_000));
    assert!(near(live.response_p95_ns(), 9_000_000));
    assert!(near(live.lag_p99_ns(), 40_000));
    assert_eq!(LiveCounts::default().response_p50_ns(), None);
}

#[test]
fn transactions_are_told_by_address_where_users_stay_with_one() {
    let shape = Shape { places: 3, ..SHAPE };
    let mut recorder = Recorder::new(shape);
    let text = |recorder: &Recorder| {
        let mut builder = line::LineBuilder::default();
        let line = builder.interval(0, &EDGE, recorder);
        String::from_utf8(line.to_vec()).unwrap()
    };
    assert!(!text(&recorder).contains("places"));
    recorder.at_place(0, true);
    recorder.at_place(0, true);
    recorder.at_place(2, false);
    let expected = r#","places":{"ok":[2,0,0],"failed":[0,0,1]},"series":["#;
    assert!(text(&recorder).contains(expected));
    recorder.clear();
    assert_eq!(text(&recorder), text(&Recorder::new(shape)));
}

#[test]
fn answers_are_counted_by_status_code_in_the_lines_of_their_step() {
    let mut recorder = Recorder::new(SHAPE);
    let ends = [
        (Ok(()), Some(302)),
        (Ok(()), Some(200)),
        (Ok(()), Some(302)),
        (Err(Failure::Status4xx), Some(404)),
        (Err(Failure::Timeout), None),
    ];
    for (result, status) in ends {
        recorder.finished(
            0,
            Exchange {
                result,
                status,
                ..EXCHANGE
            },
        );
    }
    recorder.finished(
        1,
        Exchange {
            result: Err(Failure::Connect),
            status: None,
            ..EXCHANGE
        },
    );
    let line = line::LineBuilder::default()
        .interval(0, &EDGE, &recorder)
        .to_vec();
    let text = String::from_utf8(line).unwrap();
    assert_eq!(
        text.matches(r#""status_codes":{"302":2,"200":1,"404":1}"#)
            .count(),
        1
    );
    assert_eq!(text.matches(r#""status_codes":{}"#).count(), 1, "{text}");
    recorder.clear();
    assert!(recorder.steps[0].statuses.all().next().is_none());
}

#[test]
fn a_cleared_recorder_is_as_new() {
    let mut recorder = Recorder::new(SHAPE);
    recorder.offered(0);
    recorder.started(0, 1);
    recorder.not_started(1, NotStarted::Stopped);
    recorder.finished(0, EXCHANGE);
    recorder.page(0, Ok(()), 1);
    recorder.transaction(1, 0, Err(Failure::Closed), 1);
    recorder.think(5);
    recorder.connect(6);
    recorder.picked(1, 0);
    recorder.rest(1, 7);
    recorder.arrival(0, 8);
    recorder.clear();
    let cleared = line::LineBuilder::default()
        .interval(0, &EDGE, &recorder)
        .to_vec();
    assert_eq!(
        cleared,
        line::LineBuilder::default().interval(0, &EDGE, &Recorder::new(SHAPE))
    );
}

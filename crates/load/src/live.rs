//! Frames of the live display, one JSON line each.

use serde_json::{Value, json};

use crate::recorder::writer::Stage;
use crate::worker::Published;

/// Content of one frame of the live display: values of all threads together. Counts cover the last `seconds`.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Time since the start of the run. [s]
    pub t_s: f64,
    /// Index of the current load stage.
    pub stage_index: usize,
    /// The current load stage.
    pub stage: &'a Stage,
    /// Values from all threads: gauges at the time of the frame, and counts since the previous frame.
    pub published: &'a Published,
    /// Time since the previous frame. [s]
    pub seconds: f64,
    /// CPU time of the engine since the previous frame. [s]
    pub cpu_s: f64,
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn millis(nanoseconds: Option<u64>) -> Value {
    nanoseconds.map_or(Value::Null, |value| json!(rounded(value as f64 / 1e6)))
}

impl Frame<'_> {
    /// Formats the frame as one line of JSON.
    #[must_use]
    pub fn line(&self) -> String {
        let counts = &self.published.counts;
        let transactions = counts.transactions_ok + counts.transactions_failed;
        let per_second = |count: u64| rounded(count as f64 / self.seconds);
        json!({
            "k": "live",
            "t_s": rounded(self.t_s),
            "stage": self.stage.name,
            "stage_index": self.stage_index,
            "phase": self.stage.phase,
            "users": self.published.users,
            "in_flight": self.published.in_flight,
            "waiting": self.published.waiting,
            "transactions": transactions,
            "throughput_per_s": per_second(transactions),
            "requests_per_s": per_second(counts.requests_ok + counts.requests_failed),
            "errors": counts.requests_failed,
            "p50_ms": millis(counts.response_p50_ns()),
            "p95_ms": millis(counts.response_p95_ns()),
            "lag_p99_ms": millis(counts.lag_p99_ns()),
            "cpu_s": rounded(self.cpu_s),
        })
        .to_string()
    }
}

/// Formats the JSON line that announces a new load stage.
#[must_use]
pub fn stage_line(t_s: f64, index: usize, stage: &Stage) -> String {
    json!({"k": "stage", "t_s": rounded(t_s), "index": index, "name": stage.name, "end_s": rounded(stage.end_s)})
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::LiveCounts;
    use crate::testing::header;

    #[test]
    fn a_frame_has_counts_rates_and_times_of_its_seconds() {
        let mut counts = LiveCounts {
            requests_ok: 30,
            requests_failed: 6,
            transactions_ok: 7,
            transactions_failed: 3,
            ..LiveCounts::default()
        };
        for _ in 0..100 {
            counts.response.record(2_000_000);
            counts.lag.record(500_000);
        }
        let published = Published {
            counts,
            users: 4,
            in_flight: 2,
            waiting: 1,
        };
        let frame = Frame {
            t_s: 12.345_678,
            stage_index: 3,
            stage: &header(0).stages[0],
            published: &published,
            seconds: 4.0,
            cpu_s: 0.250_4,
        };
        let found: Value = serde_json::from_str(&frame.line()).expect("JSON");
        let expected = json!({
            "k": "live", "t_s": 12.346, "stage": "steady", "stage_index": 3, "phase": "steady",
            "users": 4, "in_flight": 2, "waiting": 1, "transactions": 10, "throughput_per_s": 2.5,
            "requests_per_s": 9.0, "errors": 6, "cpu_s": 0.25,
        });
        for (key, value) in expected.as_object().expect("an object") {
            assert_eq!(found[key], *value, "{key}");
        }
        // The buckets of the histogram are less than 1 % wide.
        for (key, ms) in [("p50_ms", 2.0), ("p95_ms", 2.0), ("lag_p99_ms", 0.5)] {
            let value = found[key].as_f64().expect("a number");
            assert!((value / ms - 1.0).abs() < 0.01, "{key}: {value}");
        }
    }

    #[test]
    fn a_stage_is_announced_with_its_end() {
        let line = stage_line(1.000_4, 2, &header(0).stages[0]);
        let found: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(
            found,
            json!({"k": "stage", "t_s": 1.0, "index": 2, "name": "steady", "end_s": 10.0})
        );
    }
}

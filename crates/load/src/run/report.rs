//! Writes `engine.json`: the sums over a run, and the resources that the load engine used.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::outcome::{Failure, NotStarted};
use crate::plan::Plan;
use crate::recorder::writer::Stage;
use crate::recorder::{LiveCounts, Totals};
use crate::sys;
use crate::worker::{CallsEnded, Examples, Http2Counts};

use super::files::Spread;

/// Content of `engine.json`, the report of a run.
#[derive(Debug)]
pub struct Report<'a> {
    /// Reason for the end of the run: `finished`, `stopped` or `failed`.
    pub reason: &'static str,
    /// Error message, if the engine failed.
    pub message: Option<String>,
    /// Sums of requests over all load threads.
    pub totals: &'a Totals,
    /// All counts of the run, summed over the load threads.
    pub counts: &'a LiveCounts,
    /// Number of failed attempts to connect, by reason.
    pub connect_failures: &'a BTreeMap<String, u64>,
    /// Number of requests that could not be sent, by reason.
    pub unsendable: &'a BTreeMap<String, u64>,
    /// Number of responses that ended before they were complete, by reason.
    pub broken: &'a BTreeMap<String, u64>,
    /// Examples of failed exchanges.
    pub examples: &'a Examples,
    /// Counts of HTTP/2 connections.
    pub http2: Http2Counts,
    /// Sums over the driver calls of all load threads.
    pub calls: &'a CallsEnded,
    /// Time from the start of the run to its end. [ns]
    pub end_ns: u64,
    /// The load stages after all edits.
    pub stages: &'a [Stage],
    /// Edits of the load stages during the run.
    pub edits: Vec<Value>,
    /// Division of connections and other open files among load threads.
    pub(super) spread: Spread,
}

fn counted<const N: usize>(names: [&str; N], counts: &[u64; N]) -> Value {
    let filled = names.iter().zip(counts).filter(|(_, count)| **count > 0);
    Value::Object(
        filled
            .map(|(name, count)| ((*name).to_owned(), json!(count)))
            .collect::<Map<_, _>>(),
    )
}

/// Returns the number of CPUs that the load threads can use at the same time.
fn cores(plan: &Plan) -> usize {
    let mut cpus = plan.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    let there = if cpus.is_empty() {
        std::thread::available_parallelism().map_or(1, usize::from)
    } else {
        cpus.len()
    };
    there.min(plan.threads)
}

impl Report<'_> {
    fn document(&self, plan: &Plan) -> Value {
        let usage = sys::usage();
        let cpu_s = usage.user_s + usage.system_s;
        let totals = self.totals;
        let ended = totals.ok + totals.failed_in_all();
        let per_request = (ended > 0).then(|| cpu_s * 1e6 / ended as f64);
        json!({
            "schema": "towtank/engine/1",
            "version": env!("CARGO_PKG_VERSION"),
            "run": plan.run,
            "reason": self.reason,
            "message": self.message,
            "threads": plan.threads,
            "cpus": plan.cpus,
            "cores": cores(plan),
            "open_files": {
                "limit": self.spread.limit,
                "tables": self.spread.tables(),
                "connections_at_most": self.spread.needed,
            },
            "stages": self.stages,
            "edits": self.edits,
            "totals": {
                "offered": totals.offered,
                "started": totals.started,
                "ok": totals.ok,
                "failed": counted(Failure::ALL.map(Failure::name), &totals.failed),
                "not_started": counted(NotStarted::ALL.map(NotStarted::name), &totals.not_started),
                "in_flight": totals.in_flight,
            },
            "identity": {"offered_holds": totals.offered_holds(), "started_holds": totals.started_holds()},
            "connect_failures": self.connect_failures,
            "unsendable": self.unsendable,
            "broken_answers": self.broken,
            "failed_exchanges": self.examples.document(plan),
            "handshakes": {"full": self.counts.handshakes.full, "resumed": self.counts.handshakes.resumed},
            "http2": {
                "connections": self.http2.connections,
                "goaways": self.http2.goaways,
                "cancelled": self.http2.cancelled,
                "sent_again": self.http2.sent_again,
            },
            "calls": {
                "refusals": self.calls.refusals,
                "cpu_working_s": self.calls.costs.working_ns as f64 / 1e9,
            },
            "generator": {
                "cpu_s": cpu_s,
                "cpu_user_s": usage.user_s,
                "cpu_system_s": usage.system_s,
                "peak_rss_bytes": usage.peak_rss_bytes,
                "lag_p99_ms": self.counts.lag_p99_ns().map(|lag_ns| lag_ns as f64 / 1e6),
                "wall_s": self.end_ns as f64 / 1e9,
                "cpu_us_per_request": per_request,
            },
        })
    }

    /// Writes `engine.json` atomically.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, folder: &Path, plan: &Plan) -> std::io::Result<()> {
        let mut text = serde_json::to_vec_pretty(&self.document(plan))?;
        text.push(b'\n');
        let temporary = folder.join(".engine.json.part");
        let mut file = std::fs::File::create(&temporary)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(&temporary, folder.join("engine.json"))
    }
}

//! Writes the results of each interval to disk in a separate thread, as lines with checksums.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use serde::Serialize;

use super::line::LineBuilder;
use super::notes::Notes;
use super::segment::Segments;
use super::{Recorder, Shape, Totals};
use crate::histogram::Histogram;
use crate::worker::Gaps;

/// Length at which a new segment (result file) begins. A file of this length is easy to copy and holds hours of
/// results. [B]
const SEGMENT_BYTES: u64 = 64 << 20;
/// Number of empty recorders that are created at the start. If more intervals wait for the disk, more recorders are
/// created.
pub const STOCK: usize = 3;
/// Limit on the number of intervals that wait for the disk. A disk that accepts nothing for a minute counts as failed,
/// since memory must not grow with the length of the run.
const BEHIND_AT_MOST: usize = 60;
/// Time for which a load thread waits for the disk once [`BEHIND_AT_MOST`] intervals are unwritten. A load thread that
/// was delayed passes many intervals at once; a fast disk writes them within this time.
const LAST_CHANCE: Duration = Duration::from_secs(5);

/// A stage of the load, as listed in the header line.
#[derive(Clone, Debug, Serialize)]
pub struct Stage {
    /// Name of the stage.
    pub name: String,
    /// Purpose of the stage: `ramp_up`, `settle`, `steady` or `ramp_down`.
    pub phase: String,
    /// Index of the load level that the stage belongs to.
    pub level: usize,
    /// Time from the start of the run to the start of the stage. [s]
    pub start_s: f64,
    /// Time from the start of the run to the end of the stage. [s]
    pub end_s: f64,
    /// Number of users at the end of the stage; only in a closed load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<u64>,
    /// Arrival rate at the end of the stage; only in an open load. [1/s]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Number of users of each group at the end of the stage, if the plan gives users by group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users_by_group: Option<Vec<u64>>,
    /// Arrival rate of each group at the end of the stage, if the plan gives arrivals by group. [1/s]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rates_by_group: Option<Vec<f64>>,
}

/// Name of a step or page, and of its transaction.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// Name of the step or page.
    pub name: String,
    /// Name of the transaction that contains the step or page.
    pub transaction: String,
}

/// First line of every segment (result file). Later lines refer to elements of its lists by index.
#[derive(Clone, Debug, Serialize)]
pub struct Header {
    /// Name of the run.
    pub run: String,
    /// Number of this load thread, from 0.
    pub worker: usize,
    /// Number of load threads.
    pub workers: usize,
    /// Reading of `CLOCK_MONOTONIC` at the start of the run. [ns]
    pub monotonic_ns: u64,
    /// System time at the start of the run. [ns since 1970]
    pub wall_ns: u64,
    /// Stages of the load, as known when the segment begins.
    pub stages: Vec<Stage>,
    /// Number of edits that were applied to the planned stages; omitted if zero.
    #[serde(skip_serializing_if = "is_zero")]
    pub edits: usize,
    /// Names of the transactions.
    pub transactions: Vec<String>,
    /// Names of the pages.
    pub pages: Vec<Named>,
    /// Names of the steps.
    pub steps: Vec<Named>,
    /// Names of the user groups.
    pub groups: Vec<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Bounds of an interval, and gauges at its end. Times are measured from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalEdge {
    /// Start of the interval. [ns]
    pub t0_ns: u64,
    /// End of the interval. [ns]
    pub t1_ns: u64,
    /// Index of the load stage.
    pub stage: usize,
    /// Number of active users at the end of the interval.
    pub users: u64,
    /// Integral of the number of active users over the interval. [ns]
    pub user_ns: u64,
    /// Number of requests in flight at the end of the interval.
    pub in_flight: u64,
    /// Number of arrivals that wait for an idle user at the end of the interval.
    pub waiting: u64,
    /// Number of open connections at the end of the interval.
    pub connections: u64,
    /// CPU time that the load thread used in the interval. [ns]
    pub cpu_ns: u64,
    /// Gaps in the load thread's event loop: times between iterations, less the intended waits.
    pub gaps: Gaps,
}

/// Reason why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// All load stages are over.
    Finished,
    /// The person or the program that controls the run stopped it.
    Stopped,
    /// The engine failed.
    Failed,
}

impl EndReason {
    /// Returns the name of the reason in result files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }
}

/// Error: results can no longer be written, so that the run must end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterFailed {
    /// Path of the file that could not be written.
    pub path: PathBuf,
    /// Error message of the operating system.
    pub reason: String,
}

impl fmt::Display for WriterFailed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "cannot write {}: {}",
            self.path.display(),
            self.reason
        )
    }
}

impl std::error::Error for WriterFailed {}

/// Result of a load thread that is known only once the last line is on disk.
#[derive(Debug)]
pub struct Written {
    /// Start lags of all requests of the thread.
    pub lag: Histogram<u64>,
}

/// Receives a filled recorder once per interval and writes its content in a separate thread.
///
/// If it is dropped without [`SegmentWriter::end`], the intervals received so far are written, but no last line.
#[derive(Debug)]
pub struct SegmentWriter {
    shape: Shape,
    totals: Totals,
    path: PathBuf,
    /// Channel to the writing thread; `None` after the thread was ordered to end.
    work: Option<Sender<Work>>,
    thread: Option<JoinHandle<Histogram<u64>>>,
    returned: Receiver<Recorder>,
    /// Empty recorders for later intervals.
    stock: Vec<Recorder>,
    /// Number of recorders whose content is not written yet.
    behind: usize,
    last_chance: Duration,
    failure: Arc<OnceLock<WriterFailed>>,
}

#[derive(Debug)]
enum Work {
    MakeRoom,
    Interval(Box<Recorder>, IntervalEdge),
    Stages(Vec<Stage>, usize),
    End {
        reason: EndReason,
        message: Option<String>,
        t_ns: u64,
        totals: Box<Totals>,
    },
}

impl SegmentWriter {
    /// Creates the first segment of a load thread in `folder`, which is created if missing.
    ///
    /// # Errors
    /// If the folder or the file cannot be made, or a segment of that name exists already: results are never
    /// overwritten.
    pub fn create(folder: &Path, header: Header, shape: Shape) -> io::Result<Self> {
        Self::create_limited(folder, header, shape, SEGMENT_BYTES)
    }

    fn create_limited(
        folder: &Path,
        header: Header,
        shape: Shape,
        segment_bytes: u64,
    ) -> io::Result<Self> {
        let notes = Notes::new(folder, &header.run, header.worker);
        let segments = Segments::create(folder, header, segment_bytes).map_err(io::Error::other)?;
        let path = segments.path().to_path_buf();
        let failure = Arc::new(OnceLock::new());
        let (work, orders) = channel();
        let (give_back, returned) = channel();
        let writing = Writing {
            segments,
            notes,
            line: LineBuilder::default(),
            sequence: 0,
            lag: Histogram::new(),
        };
        let reported = Arc::clone(&failure);
        let thread = Builder::new()
            .name("segment-writer".into())
            .spawn(move || {
                let mut writing = writing;
                if let Err(failed) = writing.work(&orders, &give_back) {
                    // Only this thread sets the cell, so the assignment cannot fail.
                    let _ = reported.set(failed);
                }
                writing.lag
            })?;
        Ok(Self {
            shape,
            totals: Totals::default(),
            path,
            work: Some(work),
            thread: Some(thread),
            returned,
            stock: (0..STOCK).map(|_| Recorder::new(shape)).collect(),
            behind: 0,
            last_chance: LAST_CHANCE,
            failure,
        })
    }

    /// Allocates all memory that the empty recorders may need later, in advance.
    pub fn make_room(&mut self) {
        self.stock.iter_mut().for_each(Recorder::make_room);
        // A send error is ignored. It means that the writing thread has ended; the next call of `interval` returns the
        // reason.
        let _ = self.order(Work::MakeRoom);
    }

    /// Passes the recorder of an interval to the writing thread, and replaces it by an empty one. The call waits for
    /// the disk only if the limit on waiting intervals is reached.
    ///
    /// # Errors
    /// If an earlier interval could not be written, or the disk is too far behind. The recorder is then unchanged.
    pub fn interval(
        &mut self,
        recorder: &mut Recorder,
        edge: IntervalEdge,
    ) -> Result<(), WriterFailed> {
        if let Some(failed) = self.failure.get() {
            return Err(failed.clone());
        }
        while let Ok(empty) = self.returned.try_recv() {
            self.take_back(empty);
        }
        if self.behind >= BEHIND_AT_MOST {
            match self.returned.recv_timeout(self.last_chance) {
                Ok(empty) => self.take_back(empty),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(
                        self.failed(format!("the disk is too slow: {BEHIND_AT_MOST} recorded intervals wait to be written"))
                    );
                }
                // The writing thread has ended; `order` returns the reason.
                Err(RecvTimeoutError::Disconnected) => {}
            }
        }
        self.totals.add(&recorder.totals());
        let empty = self
            .stock
            .pop()
            .unwrap_or_else(|| Recorder::new(self.shape));
        let filled = std::mem::replace(recorder, empty);
        self.behind += 1;
        self.order(Work::Interval(Box::new(filled), edge))
    }

    /// Begins a new segment, whose header line has these stages; `edits` is the number of edits that led to them.
    ///
    /// # Errors
    /// If an earlier interval could not be written.
    pub fn stages(&self, stages: Vec<Stage>, edits: usize) -> Result<(), WriterFailed> {
        self.order(Work::Stages(stages, edits))
    }

    /// Returns the sums over all intervals that were passed to the writing thread so far; `in_flight` is zero.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Writes the last line and waits until everything is on disk.
    ///
    /// # Errors
    /// If anything could not be written; the message names the file.
    pub fn end(
        mut self,
        reason: EndReason,
        message: Option<&str>,
        t_ns: u64,
        totals: &Totals,
    ) -> io::Result<Written> {
        let message = message.map(str::to_owned);
        // A send error is ignored: if the writing thread has ended, its failure is reported below.
        let _ = self.order(Work::End {
            reason,
            message,
            t_ns,
            totals: Box::new(totals.clone()),
        });
        let lag = self.join();
        match (self.failure.get(), lag) {
            (Some(failed), _) => Err(io::Error::other(failed.clone())),
            (None, Some(lag)) => Ok(Written { lag }),
            (None, None) => Err(io::Error::other(
                self.failed("the writer thread panicked".into()),
            )),
        }
    }

    fn take_back(&mut self, empty: Recorder) {
        self.stock.push(empty);
        self.behind -= 1;
    }

    fn order(&self, work: Work) -> Result<(), WriterFailed> {
        let sent = self
            .work
            .as_ref()
            .is_some_and(|orders| orders.send(work).is_ok());
        if sent {
            return Ok(());
        }
        Err(self
            .failure
            .get()
            .cloned()
            .unwrap_or_else(|| self.failed("the writer thread ended".into())))
    }

    fn join(&mut self) -> Option<Histogram<u64>> {
        self.work = None;
        self.thread.take()?.join().ok()
    }

    fn failed(&self, reason: String) -> WriterFailed {
        WriterFailed {
            path: self.path.clone(),
            reason,
        }
    }
}

impl Drop for SegmentWriter {
    fn drop(&mut self) {
        self.join();
    }
}

/// State of the writing thread.
struct Writing {
    segments: Segments,
    notes: Notes,
    line: LineBuilder,
    sequence: u64,
    lag: Histogram<u64>,
}

impl Writing {
    /// Writes until the thread is ordered to end, the channel is closed, or the disk fails.
    fn work(
        &mut self,
        orders: &Receiver<Work>,
        give_back: &Sender<Recorder>,
    ) -> Result<(), WriterFailed> {
        for work in orders {
            match work {
                Work::Interval(mut recorder, edge) => {
                    self.notes.append(&recorder.notes)?;
                    self.segments
                        .append(self.line.interval(self.sequence, &edge, &recorder))?;
                    self.sequence += 1;
                    self.lag.merge(&recorder.lag);
                    recorder.clear();
                    // A send error is ignored: at the end of the run, the receiver may have ended.
                    let _ = give_back.send(*recorder);
                }
                Work::MakeRoom => {
                    self.line.make_room();
                    self.lag.make_room();
                }
                Work::Stages(stages, edits) => self.segments.turn(stages, edits)?,
                Work::End {
                    reason,
                    message,
                    t_ns,
                    totals,
                } => {
                    self.segments.append(self.line.end(
                        reason,
                        message.as_deref(),
                        t_ns,
                        &totals,
                    ))?;
                    break;
                }
            }
        }
        self.notes.sync()?;
        self.segments.sync()
    }
}

#[cfg(test)]
mod tests;

//! Watches the load threads, signals and standard input, and prints the lines (frames) of the live display.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use serde_json::Value;

use crate::live::{Frame, stage_line};
use crate::recorder::writer::Stage;
use crate::schedule::Stages;
use crate::sys::{self, Signals, Waker};
use crate::worker::{LEAVE, Published, STOP, Shared};

use super::commands::{Commander, Input};
use super::timeline::Timeline;

const SECOND_NS: u64 = 1_000_000_000;

/// Delay of each live frame after the full second, so that the load threads can publish their counts first. [ns]
const FRAME_DELAY_NS: u64 = 30_000_000;

/// Time that users have to finish after the end of standard input; then the run ends immediately. [ns]
const INPUT_GRACE_NS: u64 = 5 * SECOND_NS;

/// Longest time between two checks of the control thread for load threads that have ended. [ns]
const LONGEST_WAIT_NS: u64 = 200_000_000;

/// Options of the command line that determine how a run is observed and controlled.
#[derive(Debug, Clone, Copy, Default)]
pub struct Switches {
    /// `true` to print the lines (frames) of the live display on standard output.
    pub live: bool,
    /// `true` if the end of standard input stops the run.
    pub until_stdin_closes: bool,
    /// `true` if lines of standard input are commands. The end of standard input then stops the run.
    pub control: bool,
}

/// State of the thread that controls a run.
#[derive(Debug)]
pub struct Control {
    switches: Switches,
    signals: Option<Signals>,
    waker: Arc<Waker>,
    timeline: Timeline,
    stops: usize,
    leave_at_ns: Option<u64>,
    /// Time at which the run was stopped and users began to finish; `None` if it was not stopped. [ns]
    stopped_at_ns: Option<u64>,
    printed_stage: Option<usize>,
    last_frame_ns: u64,
    last_cpu_s: f64,
}

impl Control {
    /// Creates the control. It must be created before any thread is started.
    ///
    /// # Errors
    /// If the system refuses to provide signals or file descriptors.
    pub fn new(switches: Switches, signals: Option<Signals>) -> std::io::Result<Self> {
        Ok(Self {
            switches,
            signals,
            waker: Arc::new(Waker::new()?),
            timeline: Timeline::default(),
            stops: 0,
            leave_at_ns: None,
            stopped_at_ns: None,
            printed_stage: None,
            last_frame_ns: 0,
            last_cpu_s: 0.0,
        })
    }

    /// Returns the waker of the control thread. A load thread that ends uses it, and so do callers of
    /// [`Control::stop`].
    #[must_use]
    pub fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    /// Returns `true` if the run was stopped by a command or a signal.
    #[must_use]
    pub fn was_stopped(&self) -> bool {
        self.stops > 0
    }

    pub(super) fn begin(&mut self, stages: &Stages, origin_ns: u64) {
        self.timeline = Timeline::new(stages.clone(), origin_ns);
    }

    fn now_ns(&self) -> u64 {
        self.timeline.now_ns()
    }

    /// Returns the current load stages. The last stage is the drain, in which users finish.
    pub(super) fn stages(&self) -> &[Stage] {
        self.timeline.listed()
    }

    /// Returns the edits of the stages made so far, in the form of the result files.
    pub(super) fn edits(&self) -> Vec<Value> {
        self.timeline.edits()
    }

    /// Watches the load threads until all of them have ended.
    pub(super) fn watch(
        &mut self,
        shared: &[Shared],
        commander: &Commander<'_>,
        ended: impl Fn() -> bool,
    ) {
        let mut input =
            (self.switches.until_stdin_closes || self.switches.control).then(Input::default);
        self.print_stage();
        while !ended() {
            let mut files = vec![self.waker.as_raw_fd()];
            files.extend(self.signals.as_ref().map(AsRawFd::as_raw_fd));
            if input.is_some() {
                files.push(0);
            }
            let ready = sys::poll(&files, self.wait_ms()).unwrap_or_default();
            let signals = self.signals.as_ref().map_or(0, Signals::take);
            self.stop(shared, signals);
            if ready.last() == Some(&true) {
                self.take_input(shared, commander, &mut input);
            }
            if self.leave_at_ns.is_some_and(|at_ns| self.now_ns() >= at_ns) {
                self.leave_at_ns = None;
                self.stop(shared, 1);
            }
            self.print_stage();
            self.frame(shared);
        }
    }

    /// Executes the commands on standard input, and stops the run at the end of the input.
    fn take_input(
        &mut self,
        shared: &[Shared],
        commander: &Commander<'_>,
        input: &mut Option<Input>,
    ) {
        let Some((lines, ended)) = input.as_mut().map(Input::read) else {
            return;
        };
        for line in lines {
            if self.switches.control {
                self.obey(shared, commander, &line);
            }
        }
        if ended {
            *input = None;
            self.stop(shared, 1);
            self.leave_at_ns = Some(self.now_ns() + INPUT_GRACE_NS);
        }
    }

    fn obey(&mut self, shared: &[Shared], commander: &Commander<'_>, line: &[u8]) {
        let stopped = self.stopped_at_ns.is_some();
        commander.obey(line, &mut self.timeline, stopped);
        // Load threads may sleep until after the time of the edit, so they are woken.
        for thread in shared {
            thread.waker.wake();
        }
    }

    fn wait_ms(&self) -> u64 {
        if !self.switches.live {
            return LONGEST_WAIT_NS / 1_000_000;
        }
        let now_ns = self.now_ns();
        let frame_ns = self.last_frame_ns + SECOND_NS + FRAME_DELAY_NS;
        let edge_ns = self.timeline.end_ns(self.stage_now());
        let until_ns = frame_ns.min(edge_ns).saturating_sub(now_ns).max(1_000_000);
        until_ns.min(LONGEST_WAIT_NS).div_ceil(1_000_000)
    }

    /// Handles `times` new requests to stop the run. After the first request, users finish their work; after the
    /// second, the run ends immediately.
    fn stop(&mut self, shared: &[Shared], times: usize) {
        if times == 0 {
            return;
        }
        self.stops += times;
        let command = if self.stops > 1 { LEAVE } else { STOP };
        self.stopped_at_ns = self.stopped_at_ns.or(Some(self.now_ns()));
        for thread in shared {
            thread.order(command);
        }
    }

    fn stage_now(&self) -> usize {
        match self.stopped_at_ns {
            Some(_) => self.timeline.drain(),
            None => self.timeline.stage_at(self.now_ns()),
        }
    }

    fn print_stage(&mut self) {
        let index = self.stage_now();
        if self.switches.live && self.printed_stage != Some(index) {
            self.printed_stage = Some(index);
            let t_s = self.now_ns() as f64 / 1e9;
            print_line(&stage_line(t_s, index, &self.stages()[index]));
        }
    }

    fn frame(&mut self, shared: &[Shared]) {
        let second_ns = self.now_ns().saturating_sub(FRAME_DELAY_NS) / SECOND_NS * SECOND_NS;
        if !self.switches.live || second_ns <= self.last_frame_ns {
            return;
        }
        let mut sum = Published::default();
        for thread in shared {
            if let Ok(mut published) = thread.published.lock() {
                sum.take(&mut published);
            }
        }
        let usage = sys::usage();
        let cpu_s = usage.user_s + usage.system_s;
        let index = self.stage_now();
        let frame = Frame {
            t_s: second_ns as f64 / 1e9,
            stage_index: index,
            stage: &self.stages()[index],
            published: &sum,
            seconds: (second_ns - self.last_frame_ns) as f64 / 1e9,
            cpu_s: cpu_s - self.last_cpu_s,
        };
        print_line(&frame.line());
        (self.last_frame_ns, self.last_cpu_s) = (second_ns, cpu_s);
    }
}

/// Prints a line. If standard output is closed, the line is lost but the run continues, since its results are in files.
pub(super) fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

//! The thread that watches the load threads: signals, standard input, live frames.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use crate::live::{Frame, stage_line};
use crate::pause::nanoseconds;
use crate::recorder::LiveCounts;
use crate::recorder::writer::Stage;
use crate::sys::{self, Bell, Signals};
use crate::worker::{LEAVE, STOP, Shared};

const SECOND_NS: u64 = 1_000_000_000;

/// Frames are made a little after the second, when the threads have published theirs. [ns]
const FRAME_DELAY_NS: u64 = 30_000_000;

/// Time between the end of standard input and leaving at once. [ns]
const INPUT_GRACE_NS: u64 = 5 * SECOND_NS;

/// Longest wait before looking again whether the threads have ended. [ns]
const LONGEST_WAIT_NS: u64 = 200_000_000;

/// What was asked for on the command line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Switches {
    /// Frames on standard output.
    pub live: bool,
    /// The end of standard input stops the run.
    pub until_stdin_closes: bool,
}

/// Control of a run.
#[derive(Debug)]
pub struct Control {
    switches: Switches,
    signals: Option<Signals>,
    bell: Arc<Bell>,
    stages: Vec<Stage>,
    origin_ns: u64,
    stops: usize,
    leave_at_ns: Option<u64>,
    /// When the run was stopped: the drain began then.
    stopped_at_ns: Option<u64>,
    told_stage: Option<usize>,
    last_frame_ns: u64,
    last_cpu_s: f64,
}

impl Control {
    /// Made before any thread is.
    ///
    /// # Errors
    /// When the system refuses signals or descriptors.
    pub fn new(switches: Switches, signals: Option<Signals>) -> std::io::Result<Self> {
        Ok(Self {
            switches,
            signals,
            bell: Arc::new(Bell::new()?),
            stages: Vec::new(),
            origin_ns: 0,
            stops: 0,
            leave_at_ns: None,
            stopped_at_ns: None,
            told_stage: None,
            last_frame_ns: 0,
            last_cpu_s: 0.0,
        })
    }

    /// Rung when a thread has ended, or by a caller that wants the run to stop with [`Control::stop`].
    #[must_use]
    pub fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell)
    }

    /// Whether the run was told to stop.
    #[must_use]
    pub fn was_stopped(&self) -> bool {
        self.stops > 0
    }

    pub(super) fn begin(&mut self, stages: &[Stage], origin_ns: u64) {
        stages.clone_into(&mut self.stages);
        self.origin_ns = origin_ns;
    }

    fn now_ns(&self) -> u64 {
        sys::monotonic_ns().saturating_sub(self.origin_ns)
    }

    /// Watches until all threads have ended.
    pub(super) fn watch(&mut self, shared: &[Shared], ended: impl Fn() -> bool) {
        let mut input_open = self.switches.until_stdin_closes;
        self.tell_stage();
        while !ended() {
            let mut files = vec![self.bell.as_raw_fd()];
            files.extend(self.signals.as_ref().map(AsRawFd::as_raw_fd));
            if input_open {
                files.push(0);
            }
            let ready = sys::poll(&files, self.wait_ms()).unwrap_or_default();
            let signals = self.signals.as_ref().map_or(0, Signals::take);
            self.stop(shared, signals);
            if input_open && ready.last() == Some(&true) && sys::input_closed() {
                input_open = false;
                self.stop(shared, 1);
                self.leave_at_ns = Some(self.now_ns() + INPUT_GRACE_NS);
            }
            if self.leave_at_ns.is_some_and(|at_ns| self.now_ns() >= at_ns) {
                self.leave_at_ns = None;
                self.stop(shared, 1);
            }
            self.tell_stage();
            self.frame(shared);
        }
    }

    fn wait_ms(&self) -> u64 {
        if !self.switches.live {
            return LONGEST_WAIT_NS / 1_000_000;
        }
        let next_ns = self.last_frame_ns + SECOND_NS + FRAME_DELAY_NS;
        let until_frame_ns = next_ns.saturating_sub(self.now_ns()).max(1_000_000);
        until_frame_ns.min(LONGEST_WAIT_NS).div_ceil(1_000_000)
    }

    /// So many further requests to stop: the first is graceful, the second is not.
    fn stop(&mut self, shared: &[Shared], times: usize) {
        if times == 0 {
            return;
        }
        self.stops += times;
        let command = if self.stops > 1 { LEAVE } else { STOP };
        self.stopped_at_ns = self.stopped_at_ns.or(Some(self.now_ns()));
        for one in shared {
            one.order(command);
        }
    }

    fn stage_now(&self) -> usize {
        let now_ns = self
            .stopped_at_ns
            .map_or_else(|| self.now_ns(), |_| u64::MAX);
        let planned = self.stages.len().saturating_sub(1);
        self.stages[..planned]
            .iter()
            .position(|stage| now_ns < nanoseconds(stage.end_s))
            .unwrap_or(planned)
    }

    fn tell_stage(&mut self) {
        let stage = self.stage_now();
        if self.switches.live && self.told_stage != Some(stage) {
            self.told_stage = Some(stage);
            say(&stage_line(self.now_ns() as f64 / 1e9, &self.stages[stage]));
        }
    }

    fn frame(&mut self, shared: &[Shared]) {
        let second_ns = self.now_ns().saturating_sub(FRAME_DELAY_NS) / SECOND_NS * SECOND_NS;
        if !self.switches.live || second_ns <= self.last_frame_ns {
            return;
        }
        let mut counts = LiveCounts::default();
        let mut users = 0;
        for one in shared {
            if let Ok(mut published) = one.published.lock() {
                counts.merge(&std::mem::take(&mut published.counts));
                users += published.users;
            }
        }
        let usage = sys::usage();
        let cpu_s = usage.user_s + usage.system_s;
        let frame = Frame {
            t_s: second_ns as f64 / 1e9,
            stage: &self.stages[self.stage_now()],
            users,
            counts: &counts,
            seconds: (second_ns - self.last_frame_ns) as f64 / 1e9,
            cpu_s: cpu_s - self.last_cpu_s,
        };
        say(&frame.line());
        (self.last_frame_ns, self.last_cpu_s) = (second_ns, cpu_s);
    }
}

/// A frame that nobody reads is lost; the run goes on, its results are files.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

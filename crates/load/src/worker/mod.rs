//! A load thread: its users, their connections and their times, in one loop that blocks only in `epoll_wait`.
//!
//! Each iteration of the loop handles the events of the sockets, then the timers that are due. The threads share no
//! results while the load runs; each publishes its counts once per interval.

mod addresses;
mod calls;
mod connections;
mod deadlines;
mod driver_sessions;
mod edits;
mod examples;
mod exchange;
mod gaps;
mod interpret;
mod intervals;
mod keeping;
mod lingering_close;
mod multiplex;
mod notes;
mod pool;
mod population;
mod reasons;
mod revisits;
mod secure;
mod setup;
mod shared;
mod stream_pool;
mod user;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use towtank_drivers::{Edge, SESSION};

use crate::extract::Scratch;
use crate::http::response::Limits;
use crate::http2::Bounds;
use crate::program::Program;
use crate::recorder::Recorder;
use crate::recorder::writer::{EndReason, STOCK, SegmentWriter};
use crate::schedule::{Arrival, Arrivals, Stages, UserChanges};
use crate::start_barrier::Participant;
use crate::sys::{self, Epoll};
use crate::wheel::Wheel;

use connections::Model;
use deadlines::Deadlines;
use driver_sessions::Calls;
use gaps::LONGEST_WAIT_NS;
use intervals::Clock;
use lingering_close::LingeringClose;
use multiplex::Multiplexing;
use reasons::Reasons;
use revisits::{Revisit, Revisits};
use secure::Session;
use setup::{UserTables, shape_of};
use user::{Connection, Exchange, Phase, User};

pub use addresses::{Sources, Ways};
pub use connections::Ownership;
pub use driver_sessions::CallsEnded;
pub use edits::{Edits, Proposal};
pub use examples::Examples;
pub use gaps::{Gaps, STALL_NS};
pub use multiplex::Counts as Http2Counts;
pub use secure::TargetTls;
pub use setup::{Ended, Setup, TargetState, WorkerFailed};
pub use shared::{LEAVE, Published, RUN, STOP, Shared};

/// Limit on the events that one system call returns. It is large enough to save system calls, and small enough that
/// users whose pause is over do not wait long.
const EVENTS_AT_ONCE: usize = 512;

/// Limit on the delay of time-outs in a thread that never finishes processing its events. [ns]
const LOOK_WITHIN_NS: u64 = 1_000_000_000;

/// Limit on the arrivals, or on the users whose pause is over, that are handled between two reads of the sockets.
/// Received responses are therefore recorded soon.
const AT_ONCE: usize = 32;

/// Size of the read buffer; large, so that large bodies need few reads. [B]
const READ_BYTES: usize = 128 * 1024;

/// Limit on the memory that the recorders of all threads may allocate before the load begins. Preallocated recorders do
/// not grow during the run; above this limit, recorders grow. [B]
const ROOM_BYTES: usize = 16 << 20;

/// Memory for this number of concurrent requests, and for this number of waiting arrivals, is allocated before the load
/// begins. The number is for all threads together.
const ROOMY_EXCHANGES: usize = 1024;

#[derive(Debug)]
pub(crate) struct Worker<'a> {
    program: &'a Program,
    shared: &'a Shared,
    number: u32,
    workers: u32,
    open: bool,
    users_at_most: u64,
    users: Vec<User>,
    /// Number of users that have started and not left.
    present: usize,
    ready: VecDeque<u32>,
    stages: Stages,
    user_changes: UserChanges,
    arrivals: Arrivals,
    edits: &'a Edits,
    edits_seen: usize,
    /// Future edits of the stages.
    proposals: VecDeque<Arc<Proposal>>,
    /// Users of each group that wait for an arrival (open load).
    idle: Vec<Vec<u32>>,
    /// Users of each group that have not started yet (open load). The next user to start is at the end.
    fresh: Vec<Vec<u32>>,
    /// Arrivals of each group that wait for an idle user.
    backlog: Vec<VecDeque<Arrival>>,
    waiting: usize,
    backlog_at_most: usize,
    targets: Vec<TargetState>,
    sources: &'a Sources,
    model: Model,
    connections: Vec<Connection>,
    /// TLS sessions of the connections; empty if no target uses TLS.
    sessions: Vec<Option<Box<Session>>>,
    http2: Multiplexing,
    /// Bytes that TLS decrypted in the last read.
    plain: Vec<u8>,
    lingering: LingeringClose,
    reasons: Reasons,
    /// Numbers of requests that could not be sent, by reason.
    unsendable: Reasons,
    /// Numbers of incomplete responses, by reason.
    broken: Reasons,
    examples: Examples,
    /// Number of exchanges that have begun to wait for a connection. It also identifies the last of these exchanges.
    tickets: u64,
    open_connections: u64,
    /// State of the driver calls, if the plan has any.
    calls: Option<Box<Calls>>,
    exchanges: Vec<Exchange>,
    free_exchanges: Vec<u32>,
    revisit: Revisits,
    limits: Limits,
    connect_timeout_ns: u64,
    drain_ns: u64,
    drain_until_ns: Option<u64>,
    wheel: Wheel,
    deadlines: Deadlines,
    /// Time up to which all received bytes have been processed. [ns]
    looked_ns: u64,
    epoll: Epoll,
    buffer: Vec<u8>,
    scratch: Scratch,
    recorder: Recorder,
    clock: Clock,
}

/// Number in the event that wakes a thread. No connection has this number.
const WAKER: u64 = u64::MAX;

/// Runs a load thread to its end.
///
/// # Errors
/// [`WorkerFailed`] if results cannot be written or the system refuses a basic resource.
pub fn work(mut setup: Setup<'_>, participant: Participant<'_>) -> Result<Ended, WorkerFailed> {
    let refused = |what: &str, error: &io::Error| WorkerFailed::System(format!("{what}: {error}"));
    if let Some(cpu) = setup.cpu {
        sys::pin(&[cpu]).map_err(|error| refused(&format!("cannot run on CPU {cpu}"), &error))?;
    }
    if setup.own_files {
        // The thread gets its file table before it opens any file, so that all of its files are in this table.
        let what = "this plan needs more connections than one process may have open files (ulimit -Hn), and the \
                    system does not allow a separate table of open files for each thread";
        sys::own_files().map_err(|error| refused(what, &error))?;
    }
    sys::sharp_timers();
    let shape = shape_of(&setup);
    let roomy = shape
        .full_bytes()
        .saturating_mul((1 + STOCK) * setup.workers)
        <= ROOM_BYTES;
    let tables = UserTables::new(&setup);
    let mut recorder = Recorder::new(shape);
    if roomy {
        recorder.make_room();
    }
    let start = participant.wait();
    (setup.header.monotonic_ns, setup.header.wall_ns) = (start.monotonic_ns, start.wall_ns);
    let mut writer = SegmentWriter::create(&setup.folder, setup.header.clone(), shape)
        .map_err(|error| WorkerFailed::Disk(error.to_string()))?;
    if roomy {
        writer.make_room();
    }
    // The writing thread must not inherit the priority, so it was started before.
    sys::come_first();
    let epoll = Epoll::new(EVENTS_AT_ONCE)
        .map_err(|error| refused("cannot create an epoll instance", &error))?;
    epoll
        .add(&*setup.shared.waker, WAKER)
        .map_err(|error| refused("cannot register the waker", &error))?;
    // The call threads record times. They start now and inherit the priority.
    let registry = epoll
        .registry()
        .map_err(|error| refused("cannot share the epoll instance", &error))?;
    let calls = Calls::new(&setup, tables.users.len(), registry);
    let mut worker = Worker::new(setup, tables, recorder, writer, epoll);
    worker.calls = calls;
    if roomy {
        worker.clock.lifetime.make_room();
        worker.make_room();
    }
    let result = worker.turn_until_done();
    worker.end(result)
}

impl<'a> Worker<'a> {
    fn new(
        setup: Setup<'a>,
        tables: UserTables,
        recorder: Recorder,
        writer: SegmentWriter,
        epoll: Epoll,
    ) -> Self {
        let groups = setup.header.groups.len();
        let places = tables.connections.len();
        let secure = setup.targets.iter().any(|target| target.tls.is_some());
        let http2 = setup.targets.iter().any(|target| target.http2);
        let bounds = Bounds::new(setup.streams, setup.limits.header_bytes);
        Self {
            program: setup.program,
            shared: setup.shared,
            number: setup.worker as u32,
            workers: setup.workers as u32,
            open: setup.open,
            users_at_most: setup.users_at_most,
            users: tables.users,
            present: 0,
            ready: VecDeque::new(),
            user_changes: setup.user_changes,
            arrivals: setup.arrivals,
            edits: setup.edits,
            edits_seen: 0,
            proposals: VecDeque::new(),
            idle: vec![Vec::new(); groups],
            fresh: tables.fresh,
            backlog: vec![VecDeque::new(); groups],
            waiting: 0,
            backlog_at_most: setup.backlog_at_most,
            targets: setup.targets,
            sources: setup.sources,
            model: tables.model,
            connections: tables.connections,
            sessions: (0..if secure { places } else { 0 }).map(|_| None).collect(),
            http2: Multiplexing::new(if http2 { places } else { 0 }, bounds),
            plain: Vec::new(),
            lingering: LingeringClose::new(setup.lingering_at_most),
            reasons: Reasons::default(),
            unsendable: Reasons::default(),
            broken: Reasons::default(),
            examples: Examples::default(),
            tickets: 0,
            open_connections: 0,
            calls: None,
            exchanges: Vec::new(),
            free_exchanges: Vec::new(),
            revisit: Revisits::default(),
            limits: setup.limits,
            connect_timeout_ns: setup.connect_timeout_ns,
            drain_ns: setup.drain_ns,
            drain_until_ns: None,
            wheel: tables.wheel,
            deadlines: tables.deadlines,
            looked_ns: 0,
            epoll,
            buffer: vec![0; READ_BYTES],
            scratch: Scratch::default(),
            recorder,
            clock: Clock::new(setup.header.monotonic_ns, &setup.stages, writer),
            stages: setup.stages,
        }
    }

    /// Allocates memory for as many concurrent requests as occur when the server stalls.
    fn make_room(&mut self) {
        let count = self
            .users
            .len()
            .min(ROOMY_EXCHANGES / self.workers as usize);
        self.exchanges.reserve(count);
        for number in 0..count {
            let mut exchange = Exchange::new(self.limits);
            exchange.make_room();
            self.exchanges.push(exchange);
            self.free_exchanges.push((count - 1 - number) as u32);
        }
        for queue in &mut self.backlog {
            queue.resize_with(ROOMY_EXCHANGES, Arrival::default);
            queue.clear();
        }
        for idle in &mut self.idle {
            idle.resize(count, 0);
            idle.clear();
        }
    }

    /// Returns the time since the start of the run. [ns]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Runs the event loop of the thread until the load is over.
    fn turn_until_done(&mut self) -> Result<EndReason, WorkerFailed> {
        loop {
            let now_ns = self.tick();
            if let Some(failure) = self.clock.failure.take() {
                return Err(failure);
            }
            let command = self.shared.command.load(Ordering::Relaxed);
            if command == LEAVE {
                return Ok(EndReason::Stopped);
            }
            if self.drain_until_ns.is_none() && (command == STOP || self.clock.is_past_stages()) {
                self.begin_drain(now_ns);
            }
            if let Some(until_ns) = self.drain_until_ns
                && (self.present == 0 || now_ns >= until_ns)
            {
                return Ok(if command == STOP {
                    EndReason::Stopped
                } else {
                    EndReason::Finished
                });
            }
            self.take_calls();
            self.admit(now_ns);
            self.fire(now_ns);
            self.take_turns();
            // If this thread stalled, bytes that arrived in time may still be unread. Time-outs are therefore checked
            // only up to the time at which the sockets were last read completely.
            self.sweep(self.looked_ns.max(now_ns.saturating_sub(LOOK_WITHIN_NS)));
            self.lingering.sweep(now_ns);
            self.flush_gathered();
            self.wait()?;
        }
    }

    /// Wakes up to [`AT_ONCE`] users whose pause is over.
    fn fire(&mut self, now_ns: u64) {
        for _ in 0..AT_ONCE {
            let Some(key) = self.wheel.pop(now_ns) else {
                return;
            };
            let user = key as usize;
            self.end_pause(user);
            self.run(user);
        }
    }

    /// Runs each user in the queue of this iteration of the event loop once.
    fn take_turns(&mut self) {
        for _ in 0..self.ready.len() {
            if let Some(user) = self.ready.pop_front() {
                self.run(user as usize);
            }
        }
        for _ in 0..self.revisit.len() {
            let Some(Revisit {
                connection,
                generation,
                closed,
            }) = self.revisit.pop()
            else {
                return;
            };
            let place = &self.connections[connection as usize];
            if place.generation != generation {
                continue;
            }
            match place.phase {
                Phase::Shared => self.go_on_sharing(connection as usize, closed),
                Phase::Busy => self.go_on_exchanging(connection as usize, closed),
                _ => {}
            }
        }
    }

    fn wait(&mut self) -> Result<(), WorkerFailed> {
        let now_ns = self.now_ns();
        let calls = self.calls.as_ref();
        let calls_are_busy = calls.is_some_and(|calls| calls.executor.is_busy());
        let busy = !self.ready.is_empty() || !self.revisit.is_empty() || calls_are_busy;
        let timeout_ns = if busy {
            0
        } else {
            self.next_due_ns()
                .saturating_sub(now_ns)
                .min(LONGEST_WAIT_NS)
        };
        // The intended wait is measured from the last reading of the clock.
        self.clock.meant_to_wait_ns = now_ns + timeout_ns - self.clock.ticked_ns;
        let waited = self.epoll.wait(timeout_ns);
        let count = waited
            .map_err(|error| WorkerFailed::System(format!("cannot wait for sockets: {error}")))?;
        if count > 0 {
            self.tick();
        }
        for index in 0..count {
            let event = self.epoll.event(index);
            if event.data == WAKER {
                continue;
            }
            if event.data & SESSION == 0 {
                self.on_event(event);
            } else if let Some(calls) = &mut self.calls {
                calls.executor.on_edge(Edge {
                    data: event.data,
                    readable: event.readable(),
                    writable: event.writable(),
                    closed: event.closed(),
                });
            }
        }
        if count < EVENTS_AT_ONCE {
            self.looked_ns = now_ns;
        }
        Ok(())
    }

    fn next_due_ns(&mut self) -> u64 {
        let due = [
            Some(self.clock.next_edge_ns()),
            self.drain_until_ns,
            self.wheel.next_deadline(),
            self.deadlines.next_ns(),
            self.lingering.next_ns(),
            self.next_admission_ns(),
        ];
        due.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// Writes the last interval and the last line, and returns the result.
    fn end(mut self, result: Result<EndReason, WorkerFailed>) -> Result<Ended, WorkerFailed> {
        self.forget_backlog();
        let end_ns = self.now_ns();
        let in_flight = self.in_flight();
        self.close_interval(end_ns);
        let (reason, message) = match &result {
            Ok(reason) => (*reason, None),
            Err(WorkerFailed::Disk(message) | WorkerFailed::System(message)) => {
                (EndReason::Failed, Some(message.clone()))
            }
        };
        let mut totals = self.clock.writer.totals().clone();
        totals.in_flight = in_flight;
        let counts = self.clock.lifetime;
        let ended = self
            .clock
            .writer
            .end(reason, message.as_deref(), end_ns, &totals);
        let calls = self.calls.take().map(|calls| calls.end());
        result?;
        if let Some(failure) = self.clock.failure {
            return Err(failure);
        }
        ended.map_err(|error| WorkerFailed::Disk(error.to_string()))?;
        Ok(Ended {
            totals,
            counts,
            end_ns,
            connect_failures: self.reasons.texts(),
            unsendable: self.unsendable.texts(),
            broken: self.broken.texts(),
            examples: self.examples,
            http2: self.http2.counts,
            calls: calls.unwrap_or_default(),
        })
    }
}

//! An executor makes the calls of one load thread to servers that are not reached over HTTP.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::answer::{Answer, Failed, FailureKind, Meter};
use crate::clock::monotonic_ns;
use crate::lending::Lending;
use crate::operation::Task;
use crate::server::{Location, Server};
use crate::session::Value;
use crate::sessions::Sessions;
use crate::turns::{Edge, Watch};

/// A call that a load thread passes to a session.
#[derive(Debug)]
pub struct Call {
    /// Number of the call. The result repeats this number, so that the load thread can match a result with its call.
    pub generation: u32,
    /// Index of the task that the call performs.
    pub task: u32,
    /// Index of the server address to which a session is opened, if none is open.
    pub location: usize,
    /// Values that the call inserts into the operation, such as parameters of a statement.
    pub values: Vec<Value>,
    /// Time at which the call was sent, by the monotonic clock. The executor sets it; before that it is 0. [ns]
    pub left_ns: Arc<AtomicU64>,
    /// Time limit of the whole call. The load thread enforces it; a driver may also pass it to the server. [ns]
    pub timeout_ns: u64,
    /// `true` if the session is to be closed after this call, unless a transaction is open then.
    pub is_single: bool,
}

/// An order that a load thread gives to a session.
#[derive(Debug)]
pub enum Orders {
    /// Make a call. If no session is open, it is opened first.
    Call(Call),
    /// Roll back the open transaction of the session.
    Reset,
    /// Close the session without waiting. The closing message of the protocol is only sent if the socket accepts it
    /// immediately. A session that is executing a call is closed at the end of the call.
    Close,
    /// Discard the session immediately, together with its current call.
    Abandon,
}

/// Result of a call. Times are by the monotonic clock.
#[derive(Debug)]
pub struct Done {
    /// Number that identifies the session within the load thread.
    pub place: u32,
    /// Number of the call, as passed in `Call::generation`.
    pub generation: u32,
    /// Time at which the call was sent. [ns]
    pub left_ns: u64,
    /// Duration of opening the session; `None` if it was already open. [ns]
    pub connect_ns: Option<u64>,
    /// `true` if the previous session was closed before the call, because the server had sent data without a request.
    pub unasked: bool,
    /// Bytes that the call sent and received.
    pub meter: Meter,
    /// Time at which the call ended. [ns]
    pub ended_ns: u64,
    /// Response of the server, or the failure of the call.
    pub result: Result<Answer, Failed>,
    /// `true` if the session is still open after the call.
    pub is_open: bool,
    /// `true` if the session is reserved for the virtual user that made the call, because a transaction is open.
    pub is_held: bool,
    /// Values of the call, returned so that their memory can be reused. Empty if the call ran in a call thread.
    pub values: Vec<Value>,
}

/// CPU time of the threads that execute calls. [ns]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// CPU time of drivers whose work is done in this process, such as SQLite. [ns]
    pub working_ns: u64,
}

/// Queue through which the results of calls reach the load thread.
pub(crate) struct Results {
    done: Mutex<Vec<Done>>,
    wake: Box<dyn Fn() + Send + Sync>,
    pub(crate) working_ns: AtomicU64,
}

impl Results {
    /// Adds the result of a call. Wakes the load thread if the queue was empty; otherwise an earlier result has woken
    /// the thread already.
    pub(crate) fn push(&self, done: Done) {
        let mut all = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(done);
        let was_empty = all.len() == 1;
        drop(all);
        if was_empty {
            (self.wake)();
        }
    }
}

/// State that all threads of an executor share.
pub(crate) struct Known {
    pub(crate) servers: Vec<Option<(Server, Vec<Location>)>>,
    pub(crate) tasks: Arc<[Task]>,
    pub(crate) results: Results,
}

impl Known {
    /// Returns the server, the server address and the task of a call. The check of the plan guarantees that they exist.
    pub(crate) fn find(
        &self,
        target: usize,
        call: &Call,
    ) -> Option<(&Server, Option<&Location>, &Task)> {
        let (server, locations) = self.servers.get(target)?.as_ref()?;
        let task = self.tasks.get(call.task as usize)?;
        Some((server, locations.get(call.location), task))
    }
}

/// Measurements of a call in progress, in the thread that makes the call.
pub(crate) struct Attempt {
    place: u32,
    generation: u32,
    left_ns: u64,
    pub(crate) connect_ns: Option<u64>,
    pub(crate) unasked: bool,
    pub(crate) meter: Meter,
}

impl Attempt {
    /// Records the start of a call.
    pub(crate) fn begin(place: u32, call: &Call) -> Self {
        let left_ns = monotonic_ns();
        call.left_ns.store(left_ns, Ordering::Release);
        Self {
            place,
            generation: call.generation,
            left_ns,
            connect_ns: None,
            unasked: false,
            meter: Meter::default(),
        }
    }

    /// Records that opening the session has succeeded.
    pub(crate) fn opened(&mut self) {
        self.connect_ns = Some(monotonic_ns().saturating_sub(self.left_ns));
    }

    /// Records the end of the call and returns its result.
    pub(crate) fn end(self, result: Result<Answer, Failed>, is_open: bool, is_held: bool) -> Done {
        Done {
            place: self.place,
            generation: self.generation,
            left_ns: self.left_ns,
            connect_ns: self.connect_ns,
            unasked: self.unasked,
            meter: self.meter,
            ended_ns: monotonic_ns(),
            result,
            is_open,
            is_held,
            values: Vec::new(),
        }
    }
}

pub(crate) fn no_such_task() -> Failed {
    Failed::new(FailureKind::Internal, "no such task")
}

/// Makes the calls of one load thread. Sessions that wait for a server over a socket run in the load thread itself.
/// Sessions that compute in this process (SQLite, files) use a call thread during each call. Only calls that need not
/// wait, such as a read from the page cache, run without a call thread.
pub struct Executor {
    known: Arc<Known>,
    sessions: Sessions,
    lending: Option<Lending>,
    /// Results of calls that sessions for SQLite or files completed at once, without a call thread.
    at_once: Vec<Done>,
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Executor").finish_non_exhaustive()
    }
}

impl Executor {
    /// Creates an executor. `servers` has an entry for each target of the plan; the entry is `None` for HTTP targets.
    /// `watch` registers sockets with the poller of the load thread. Call threads invoke `wake` when results are ready.
    pub fn new(
        servers: Vec<Option<(Server, Vec<Location>)>>,
        tasks: Arc<[Task]>,
        watch: impl Watch + 'static,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let lends = servers.iter().flatten().any(|(server, _)| server.works());
        let known = Arc::new(Known {
            servers,
            tasks,
            results: Results {
                done: Mutex::default(),
                wake: Box::new(wake),
                working_ns: AtomicU64::new(0),
            },
        });
        Self {
            sessions: Sessions::new(Arc::clone(&known), watch),
            lending: lends.then(|| Lending::new(Arc::clone(&known))),
            known,
            at_once: Vec::new(),
        }
    }

    /// Gives an order to the session with the number `place`, which always belongs to the same target. A session
    /// carries out its orders one after the other.
    pub fn order(&mut self, target: usize, place: u32, orders: Orders) {
        let works = self.works(target);
        let Some(lending) = self.lending.as_ref().filter(|_| works) else {
            self.sessions.order(target, place, orders);
            return;
        };
        if let Orders::Call(call) = &orders
            && let Some(done) = lending.at_once(target, place, call)
        {
            self.at_once.push(done);
        } else {
            lending.order(target, place, orders);
        }
    }

    /// Returns `true` if the calls of a target run in call threads, and therefore may wait for a free thread.
    #[must_use]
    pub fn works(&self, target: usize) -> bool {
        matches!(self.known.servers.get(target), Some(Some((server, _))) if server.works())
    }

    /// Passes a socket event to the session that owns the socket. The poller marks events of sessions by the flag
    /// [`crate::SESSION`] in their data.
    pub fn on_edge(&mut self, edge: Edge) {
        self.sessions.on_edge(edge);
    }

    /// Continues the sessions that were interrupted in the last pass of the event loop because they had reached their
    /// limit of bytes or time.
    pub fn go_on(&mut self) {
        self.sessions.go_on();
    }

    /// Returns `true` if there is work without a new socket event: a session can continue, or results are ready.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.sessions.is_busy() || !self.at_once.is_empty()
    }

    /// Returns `true` if the current call of the session with the number `place` is still opening the session.
    #[must_use]
    pub fn is_opening(&self, place: u32) -> bool {
        self.sessions.is_opening(place)
    }

    /// Returns the bytes that the current call of a session has sent and received so far. They are zero for calls in
    /// call threads.
    #[must_use]
    pub fn meter(&self, place: u32) -> Meter {
        self.sessions.meter(place)
    }

    /// Moves the available results to the end of `out`.
    pub fn take(&mut self, out: &mut Vec<Done>) {
        self.sessions.take(out);
        out.append(&mut self.at_once);
        if self.lending.is_some() {
            let all = &self.known.results.done;
            out.append(&mut all.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Returns the CPU time that the threads of the executor have used so far.
    #[must_use]
    pub fn costs(&self) -> Costs {
        let results = &self.known.results;
        Costs {
            working_ns: results.working_ns.load(Ordering::Relaxed),
        }
    }
}

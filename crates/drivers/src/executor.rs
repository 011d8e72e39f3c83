//! Executors, which make the calls of a load thread.

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

/// A call that a load thread passes to the session of a slot.
#[derive(Debug)]
pub struct Call {
    /// Number that is repeated in the result, to match the result with the call.
    pub generation: u32,
    /// Index of the task.
    pub task: u32,
    /// Index of the server address to use if a session must be opened.
    pub location: usize,
    /// Values of the operation.
    pub values: Vec<Value>,
    /// Time at which the call was sent, by the monotonic clock. The executor sets it; before that it is 0. [ns]
    pub left_ns: Arc<AtomicU64>,
    /// Time limit of the whole call. The load thread enforces it; a driver may also pass it to the server. [ns]
    pub timeout_ns: u64,
    /// `true` if the session is closed after this call, unless a transaction still holds it.
    pub is_single: bool,
}

/// Orders that a load thread gives to a session.
#[derive(Debug)]
pub enum Orders {
    /// Make a call; opens a session first if the slot has none.
    Call(Call),
    /// Roll back an open transaction.
    Reset,
    /// Close the session without waiting. The closing message of the protocol is only sent if the socket accepts it
    /// immediately. A session that executes a call is closed after the call.
    Close,
    /// Discard the session immediately, together with its current call.
    Abandon,
}

/// Result of a call. Times are by the monotonic clock.
#[derive(Debug)]
pub struct Done {
    /// Slot of the session.
    pub place: u32,
    /// Generation number of the call.
    pub generation: u32,
    /// Time at which the call was sent. [ns]
    pub left_ns: u64,
    /// Time to open a session, if one was opened. [ns]
    pub connect_ns: Option<u64>,
    /// `true` if a session was closed before the call because its server had sent data without a request.
    pub unasked: bool,
    /// Bytes sent and received.
    pub meter: Meter,
    /// Time at which the call ended. [ns]
    pub ended_ns: u64,
    /// Answer of the server.
    pub result: Result<Answer, Failed>,
    /// `true` if the session is open.
    pub is_open: bool,
    /// `true` if a transaction holds the session for its user.
    pub is_held: bool,
    /// Values of the call, so that their memory can be reused; empty if a call thread made the
    /// call.
    pub values: Vec<Value>,
}

/// CPU time of the threads of an executor. [ns]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// CPU time of drivers that do the work in this process, such as SQLite.
    pub working_ns: u64,
}

/// Queue through which results reach the load thread.
pub(crate) struct Results {
    done: Mutex<Vec<Done>>,
    wake: Box<dyn Fn() + Send + Sync>,
    pub(crate) working_ns: AtomicU64,
}

impl Results {
    /// Adds a result, and wakes the load thread unless earlier results already did.
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

/// State shared by all threads of an executor.
pub(crate) struct Known {
    pub(crate) servers: Vec<Option<(Server, Vec<Location>)>>,
    pub(crate) tasks: Arc<[Task]>,
    pub(crate) results: Results,
}

impl Known {
    /// Returns server, address and task of a call. The plan check guarantees that they exist.
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

/// A call in progress, for the thread that makes it.
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

    /// Records that a session was opened.
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
/// Sessions that compute in this process (SQLite, files) borrow a worker thread for each call. Calls that need no wait,
/// such as a read from the page cache, run without a worker thread.
pub struct Executor {
    known: Arc<Known>,
    sessions: Sessions,
    lending: Option<Lending>,
    /// Results of calls that a working session completed without a call thread.
    at_once: Vec<Done>,
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Executor").finish_non_exhaustive()
    }
}

impl Executor {
    /// Creates an executor. `servers` has an entry for each target of the plan, `None` for HTTP targets. `watch`
    /// registers sockets with the poller of this thread, and call threads invoke `wake` when results are ready.
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

    /// Gives an order to the session of a slot. A slot always belongs to the same target; its
    /// orders are carried out one after the other.
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

    /// Passes on a socket event that the poller reported for data with the flag [`crate::SESSION`].
    pub fn on_edge(&mut self, edge: Edge) {
        self.sessions.on_edge(edge);
    }

    /// Continues the sessions that used up their last turn of the event loop.
    pub fn go_on(&mut self) {
        self.sessions.go_on();
    }

    /// Returns `true` if sessions can continue, or results are ready, without a new socket event.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.sessions.is_busy() || !self.at_once.is_empty()
    }

    /// Returns `true` if the current call is opening the session of a slot.
    #[must_use]
    pub fn is_opening(&self, place: u32) -> bool {
        self.sessions.is_opening(place)
    }

    /// Bytes that the current call of a slot has sent and received so far; zero for calls in call threads.
    #[must_use]
    pub fn meter(&self, place: u32) -> Meter {
        self.sessions.meter(place)
    }

    /// Appends the available results to `out`.
    pub fn take(&mut self, out: &mut Vec<Done>) {
        self.sessions.take(out);
        out.append(&mut self.at_once);
        if self.lending.is_some() {
            let all = &self.known.results.done;
            out.append(&mut all.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// CPU time that the threads of the executor have used so far.
    #[must_use]
    pub fn costs(&self) -> Costs {
        let results = &self.known.results;
        Costs {
            working_ns: results.working_ns.load(Ordering::Relaxed),
        }
    }
}

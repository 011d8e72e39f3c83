//! What a load thread hands its calls to.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::answer::{Answer, Failed, FailureKind, Meter};
use crate::clock::monotonic_ns;
use crate::lending::Lending;
use crate::operation::Task;
use crate::server::{Location, Server};
use crate::session::Value;
use crate::waiting::WaitingThread;

/// A call as it is handed over.
#[derive(Debug)]
pub struct Call {
    /// Given back with what comes of it.
    pub generation: u32,
    /// Which of the tasks.
    pub task: u32,
    /// Which address of the server, if a session must be opened.
    pub location: usize,
    /// Its values.
    pub values: Vec<Value>,
    /// Set to the instant at which the call leaves, by the monotonic clock; 0 before. [ns]
    pub left_ns: Arc<AtomicU64>,
    /// Time to open a session. [ns]
    pub connect_timeout_ns: u64,
    /// Time for the whole call; the load thread sees to it, a driver may know what to do with it. [ns]
    pub timeout_ns: u64,
    /// Whether the session is for this call alone, unless it is held by a transaction then.
    pub is_single: bool,
}

/// What can be asked of the session of a place.
#[derive(Debug)]
pub enum Orders {
    /// Make a call, over a session that is opened where there is none.
    Call(Call),
    /// Undo what is open.
    Reset,
    /// End it, after what is under way.
    Close,
    /// Give it up at once, with what is under way.
    Abandon,
}

/// What came of a call. Instants are by the monotonic clock.
#[derive(Debug)]
pub struct Done {
    /// Which place.
    pub place: u32,
    /// As in the call.
    pub generation: u32,
    /// When the call left. [ns]
    pub left_ns: u64,
    /// How long a session took to be opened, if one was. [ns]
    pub connect_ns: Option<u64>,
    /// What was moved.
    pub meter: Meter,
    /// When it ended. [ns]
    pub ended_ns: u64,
    /// What the server answered.
    pub result: Result<Answer, Failed>,
    /// Whether the session is open.
    pub is_open: bool,
    /// Whether the session belongs to its user, by a transaction.
    pub is_held: bool,
}

/// CPU time of the threads of an executor. [ns]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// Of drivers that wait for servers.
    pub waiting_ns: u64,
    /// Of drivers that do the work themselves.
    pub working_ns: u64,
}

/// Where results go.
pub(crate) struct Results {
    done: Mutex<Vec<Done>>,
    wake: Box<dyn Fn() + Send + Sync>,
    pub(crate) waiting_ns: AtomicU64,
    pub(crate) working_ns: AtomicU64,
}

impl Results {
    /// Notes a result, and wakes the load thread unless it is on its way already.
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

/// What all threads of an executor know.
pub(crate) struct Known {
    pub(crate) servers: Vec<Option<(Server, Vec<Location>)>>,
    pub(crate) tasks: Arc<[Task]>,
    pub(crate) results: Results,
}

impl Known {
    /// What is done, and at which address; that there is one was checked when the plan was read.
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

/// A call under way, for whichever thread makes it.
pub(crate) struct Attempt {
    place: u32,
    generation: u32,
    left_ns: u64,
    pub(crate) connect_ns: Option<u64>,
    pub(crate) meter: Meter,
}

impl Attempt {
    /// The call leaves now.
    pub(crate) fn begin(place: u32, call: &Call) -> Self {
        let left_ns = monotonic_ns();
        call.left_ns.store(left_ns, Ordering::Release);
        Self {
            place,
            generation: call.generation,
            left_ns,
            connect_ns: None,
            meter: Meter::default(),
        }
    }

    /// A session was opened.
    pub(crate) fn opened(&mut self) {
        self.connect_ns = Some(monotonic_ns().saturating_sub(self.left_ns));
    }

    /// The call ended now.
    pub(crate) fn end(self, result: Result<Answer, Failed>, is_open: bool, is_held: bool) -> Done {
        Done {
            place: self.place,
            generation: self.generation,
            left_ns: self.left_ns,
            connect_ns: self.connect_ns,
            meter: self.meter,
            ended_ns: monotonic_ns(),
            result,
            is_open,
            is_held,
        }
    }
}

pub(crate) fn no_such_task() -> Failed {
    Failed::new(FailureKind::Internal, "no such task")
}

/// Makes the calls of one load thread: sessions that wait share one further thread, those that work are lent one each
/// while they do.
pub struct Executor {
    known: Arc<Known>,
    waiting: Option<WaitingThread>,
    lending: Lending,
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Executor").finish_non_exhaustive()
    }
}

impl Executor {
    /// Starts one. `servers` has an entry for each target of the plan, `None` for those that speak HTTP; `wake` is called
    /// when there are results to take.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        servers: Vec<Option<(Server, Vec<Location>)>>,
        tasks: Arc<[Task]>,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let waits = |server: &Option<(Server, _)>| {
            server.as_ref().is_some_and(|(server, _)| !server.works())
        };
        let needs_thread = servers.iter().any(waits);
        let known = Arc::new(Known {
            servers,
            tasks,
            results: Results {
                done: Mutex::default(),
                wake: Box::new(wake),
                waiting_ns: AtomicU64::new(0),
                working_ns: AtomicU64::new(0),
            },
        });
        let waiting = needs_thread
            .then(|| WaitingThread::start(Arc::clone(&known)))
            .transpose()?;
        Ok(Self {
            lending: Lending::new(Arc::clone(&known)),
            known,
            waiting,
        })
    }

    /// Hands orders for the session of a place over. A place belongs to one target for ever; its orders are carried out
    /// in turn.
    pub fn order(&self, target: usize, place: u32, orders: Orders) {
        let works =
            matches!(self.known.servers.get(target), Some(Some((server, _))) if server.works());
        match &self.waiting {
            Some(thread) if !works => thread.order(target, place, orders),
            _ => self.lending.order(target, place, orders),
        }
    }

    /// Takes the results there are, behind what is in `out`.
    pub fn take(&self, out: &mut Vec<Done>) {
        let all = &self.known.results.done;
        out.append(&mut all.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What its threads have used so far.
    #[must_use]
    pub fn costs(&self) -> Costs {
        let results = &self.known.results;
        Costs {
            waiting_ns: results.waiting_ns.load(Ordering::Relaxed),
            working_ns: results.working_ns.load(Ordering::Relaxed),
        }
    }
}

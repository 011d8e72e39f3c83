//! State of driver sessions: their users, and the results of their calls.
//!
//! Sessions are stored in slots like connections. In every connection mode, a session with an open database transaction
//! stays with its user. If the user's transaction fails, the database transaction is rolled back.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use towtank_drivers::{Costs, Done, Executor, Orders, Value};

use crate::sys::Registry;

use super::Shared;
use super::connections::Ownership;
use super::pool::Pool;
use super::reasons::Reasons;
use super::setup::Setup;
use super::user::{Connection, Phase};

/// State of a driver session, apart from the state that the executor keeps.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Time at which the current call was sent, by the monotonic clock; 0 if it was not sent yet. [ns]
    pub(super) left_ns: Arc<AtomicU64>,
    /// Time at which the call was passed to the executor. [ns]
    pub(super) handed_ns: u64,
    /// Index of the address to which the session was last opened. If the server closes the idle session, it is opened
    /// to the same address again.
    pub(super) location: usize,
    pub(super) is_open: bool,
    /// `true` while a database transaction is open in the session.
    pub(super) is_held: bool,
}

/// Sums over the driver calls of a load thread.
#[derive(Debug, Clone, Default)]
pub struct CallsEnded {
    /// Counts of operations that servers refused, by reason.
    pub refusals: BTreeMap<String, u64>,
    /// CPU time that the drivers used.
    pub costs: Costs,
}

impl CallsEnded {
    /// Adds the sums of another load thread.
    pub fn add(&mut self, other: &Self) {
        for (reason, count) in &other.refusals {
            *self.refusals.entry(reason.clone()).or_default() += count;
        }
        self.costs.working_ns += other.costs.working_ns;
    }
}

/// Driver sessions of a load thread, and the executor of its calls.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) executor: Executor,
    /// Column of each target: its number among the targets with a driver. `None` for targets without a driver.
    pub(super) columns: Vec<Option<usize>>,
    /// Target index of each column.
    pub(super) targets: Vec<usize>,
    pub(super) ownership: Ownership,
    /// Pool of sessions for each column; only with mode `pool`.
    pub(super) pools: Vec<Pool>,
    /// State and current call of each session, stored like a connection: an idle session is open and has no call.
    pub(super) places: Vec<Connection>,
    pub(super) sessions: Vec<Session>,
    /// Indices of pool sessions in which a user has an open database transaction, by user and column.
    pub(super) kept: HashMap<(u32, usize), u32>,
    pub(super) refusals: Reasons,
    pub(super) done: Vec<Done>,
    /// Parameter values of ended calls, whose memory is reused.
    pub(super) spare: Vec<Vec<Value>>,
    pub(super) connect_timeout_ns: u64,
}

impl Calls {
    /// Creates the state that the plan needs; `None` if no target has a driver. Sockets of drivers are registered with
    /// `registry`.
    pub(super) fn new(setup: &Setup<'_>, users: usize, registry: Registry) -> Option<Box<Self>> {
        let driven = |target: &usize| setup.servers[*target].is_some();
        let targets: Vec<usize> = (0..setup.servers.len()).filter(driven).collect();
        if targets.is_empty() {
            return None;
        }
        let mut columns = vec![None; setup.servers.len()];
        for (column, target) in targets.iter().enumerate() {
            columns[*target] = Some(column);
        }
        let (each, pools) = match setup.ownership {
            Ownership::Pool(size) => {
                let range = |column: usize| (column * size) as u32..((column + 1) * size) as u32;
                (
                    size,
                    (0..targets.len())
                        .map(|column| Pool::new(range(column)))
                        .collect(),
                )
            }
            Ownership::PerUser | Ownership::NewEachTime => (users, Vec::new()),
        };
        let places = each * targets.len();
        let tasks = Arc::clone(&setup.program.tasks);
        let wake = waker(setup.shared);
        Some(Box::new(Self {
            executor: Executor::new(setup.servers.clone(), tasks, registry, wake),
            columns,
            targets,
            ownership: setup.ownership,
            pools,
            places: (0..places).map(|_| Connection::new()).collect(),
            sessions: (0..places).map(|_| Session::default()).collect(),
            kept: HashMap::new(),
            refusals: Reasons::default(),
            done: Vec::new(),
            spare: Vec::new(),
            connect_timeout_ns: setup.connect_timeout_ns,
        }))
    }

    /// Returns the number of calls that were passed to the executor but not sent yet, because no call thread is free.
    pub(super) fn kept_waiting(&self) -> u64 {
        let busy = |place: &Connection| place.phase == Phase::Busy;
        let late =
            |(_, session): &(&Connection, &Session)| session.left_ns.load(Ordering::Relaxed) == 0;
        let both = self.places.iter().zip(&self.sessions);
        both.filter(|(place, _)| busy(place)).filter(late).count() as u64
    }

    /// Ends all sessions and returns the sums over the calls.
    pub(super) fn end(self) -> CallsEnded {
        CallsEnded {
            refusals: self.refusals.texts(),
            costs: self.executor.costs(),
        }
    }

    /// Returns the index of the session that belongs to a user and a column.
    pub(super) fn own_place(&self, user: usize, column: usize) -> usize {
        user * self.targets.len() + column
    }

    /// Returns the index of the target of the session with index `place`.
    fn target_of(&self, place: usize) -> usize {
        let column = match self.ownership {
            Ownership::Pool(size) => place / size,
            Ownership::PerUser | Ownership::NewEachTime => place % self.targets.len(),
        };
        self.targets[column]
    }

    pub(super) fn order(&mut self, place: usize, orders: Orders) {
        let target = self.target_of(place);
        self.executor.order(target, place as u32, orders);
    }

    /// Records whether a session is open. Returns the change in the number of open sessions: 1, -1, or 0.
    pub(super) fn set_open(&mut self, place: usize, is_open: bool) -> i64 {
        self.places[place].phase = if is_open { Phase::Idle } else { Phase::Closed };
        let was_open = std::mem::replace(&mut self.sessions[place].is_open, is_open);
        i64::from(is_open) - i64::from(was_open)
    }

    /// Returns the index of the session through which a user calls a target: the user's own session, or a session of
    /// the pool. Returns `None` if the user must wait.
    pub(super) fn place_for(&mut self, user: usize, column: usize) -> Option<usize> {
        match self.ownership {
            Ownership::PerUser | Ownership::NewEachTime => Some(self.own_place(user, column)),
            Ownership::Pool(_) => {
                let kept = self.kept.get(&(user as u32, column)).copied();
                kept.or_else(|| self.pools[column].take(&self.places))
                    .map(|place| place as usize)
            }
        }
    }
}

fn waker(shared: &Shared) -> impl Fn() + Send + Sync + 'static {
    let waker = Arc::clone(&shared.waker);
    move || waker.wake()
}

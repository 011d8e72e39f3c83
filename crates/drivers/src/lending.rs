//! A pool of call threads for sessions that compute in this process, such as SQLite. Each call in progress has one
//! thread, which is reused for later calls.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::answer::{Answer, Failed};
use crate::clock::thread_cpu_ns;
use crate::executor::{Attempt, Call, Done, Known, Orders, no_such_task};
use crate::session::Working;

/// Largest number of concurrent calls of one load thread. Further calls wait for a thread, and this wait counts as
/// start lag.
const THREADS_AT_MOST: usize = 1024;

#[derive(Default)]
struct State {
    /// Sessions that have orders but no thread yet.
    queue: VecDeque<(u32, u64)>,
    places: HashMap<u32, Slot>,
    /// Serial number of the newest slot entry. It distinguishes a discarded session from a later session in the same
    /// slot.
    serial: u64,
    idle: usize,
    threads: usize,
    is_over: bool,
}

struct Slot {
    serial: u64,
    target: usize,
    orders: VecDeque<Orders>,
    is_busy: bool,
    session: Option<Box<dyn Working>>,
}

struct Shared {
    known: Arc<Known>,
    state: Mutex<State>,
    work: Condvar,
}

/// The call threads of a load thread and the sessions on which they work.
pub(crate) struct Lending(Arc<Shared>);

impl Lending {
    pub(crate) fn new(known: Arc<Known>) -> Self {
        Self(Arc::new(Shared {
            known,
            state: Mutex::default(),
            work: Condvar::new(),
        }))
    }

    pub(crate) fn order(&self, target: usize, place: u32, orders: Orders) {
        let mut state = self.0.lock();
        if matches!(orders, Orders::Abandon) {
            // If a thread is working on this session, the thread discards the session as soon as it finds that the
            // entry was removed.
            state.places.remove(&place);
            return;
        }
        let State { places, serial, .. } = &mut *state;
        let entry = places.entry(place).or_insert_with(|| {
            *serial += 1;
            Slot {
                serial: *serial,
                target,
                orders: VecDeque::new(),
                is_busy: false,
                session: None,
            }
        });
        entry.orders.push_back(orders);
        if entry.is_busy {
            return;
        }
        entry.is_busy = true;
        let waiting = (place, entry.serial);
        state.queue.push_back(waiting);
        // Each waiting call needs a thread of its own, since a call may wait for the effect of another call. A woken
        // thread counts as idle until it holds the lock and takes a call, so `idle` is compared with all waiting calls.
        if state.queue.len() <= state.idle {
            self.0.work.notify_one();
        } else if state.threads < THREADS_AT_MOST {
            self.lend(&mut state);
        }
    }

    /// Makes a call in the calling thread, if the session is idle and the call needs no wait.
    pub(crate) fn at_once(&self, target: usize, place: u32, call: &Call) -> Option<Done> {
        let (_, _, task) = self.0.known.find(target, call)?;
        let mut state = self.0.lock();
        let entry = state.places.get_mut(&place)?;
        if entry.is_busy {
            return None;
        }
        let session = entry.session.as_mut()?;
        let mut attempt = Attempt::begin(place, call);
        let Some(result) = session.at_once(task, call, &mut attempt.meter) else {
            // A call thread will send the call later, so the time of sending is reset.
            call.left_ns.store(0, Ordering::Relaxed);
            return None;
        };
        let is_held = session.is_held();
        let fails = result.as_ref().is_err_and(|failed| !failed.keeps_session());
        let ends = fails || (call.is_single && !is_held);
        if ends {
            entry.session = None;
        }
        Some(attempt.end(result, !ends, is_held))
    }

    /// Starts another call thread. If the operating system refuses, the call waits until an existing thread is free.
    fn lend(&self, state: &mut State) {
        let shared = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("call".to_owned());
        if thread.spawn(move || shared.serve()).is_ok() {
            state.threads += 1;
        }
    }
}

impl Drop for Lending {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_over = true;
        // Sessions without a working call thread end here. A busy session ends with its call thread.
        state.queue.clear();
        state.places.clear();
        drop(state);
        self.0.work.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes calls from the queue and executes them, until the end of the run. This is the main function of a call
    /// thread.
    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if let Some((number, serial)) = state.queue.pop_front() {
                state = self.attend(number, serial, state);
            } else if state.is_over {
                return;
            } else {
                state.idle += 1;
                state = self
                    .work
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }

    /// Carries out the orders of a session until no order is left.
    fn attend<'a>(
        &'a self,
        number: u32,
        serial: u64,
        mut state: MutexGuard<'a, State>,
    ) -> MutexGuard<'a, State> {
        let mut session = match state.places.get_mut(&number) {
            Some(place) if place.serial == serial => place.session.take(),
            // The call was discarded before a call thread took it, so there is nothing to do.
            _ => return state,
        };
        let target = state.places.get(&number).map_or(0, |place| place.target);
        while let Some(orders) = next(&mut state, number, serial) {
            drop(state);
            match orders {
                Orders::Call(call) => self.make(target, number, &call, &mut session),
                Orders::Reset => {
                    if let Some(open) = &mut session
                        && open.reset().is_err()
                    {
                        session = None;
                    }
                }
                Orders::Close | Orders::Abandon => session = None,
            }
            state = self.lock();
        }
        match state.places.get_mut(&number) {
            Some(place) if place.serial == serial => {
                place.is_busy = false;
                place.session = session;
            }
            _ => {
                // The load thread discarded the session. The lock is released first, since closing the session may take
                // time.
                drop(state);
                drop(session);
                state = self.lock();
            }
        }
        state
    }

    fn make(&self, target: usize, place: u32, call: &Call, session: &mut Option<Box<dyn Working>>) {
        let cpu_before_ns = thread_cpu_ns();
        let mut attempt = Attempt::begin(place, call);
        let result = exchange(&self.known, target, call, session, &mut attempt);
        if result.as_ref().is_err_and(|failed| !failed.keeps_session()) {
            *session = None;
        }
        let is_held = session.as_ref().is_some_and(|session| session.is_held());
        let ends = call.is_single && !is_held;
        let done = attempt.end(result, session.is_some() && !ends, is_held);
        let spent_ns = thread_cpu_ns() - cpu_before_ns;
        let results = &self.known.results;
        results.working_ns.fetch_add(spent_ns, Ordering::Relaxed);
        results.push(done);
        if ends {
            *session = None;
        }
    }
}

/// Returns the next order of a session, unless the session has been discarded.
fn next(state: &mut State, number: u32, serial: u64) -> Option<Orders> {
    let place = state.places.get_mut(&number)?;
    if place.serial == serial {
        place.orders.pop_front()
    } else {
        None
    }
}

fn exchange(
    known: &Known,
    target: usize,
    call: &Call,
    session: &mut Option<Box<dyn Working>>,
    attempt: &mut Attempt,
) -> Result<Answer, Failed> {
    let (server, _, task) = known.find(target, call).ok_or_else(no_such_task)?;
    let open = if let Some(open) = session {
        open
    } else {
        let opened = server.open_working()?;
        attempt.opened();
        session.insert(opened)
    };
    open.perform(task, call, &mut attempt.meter)
}

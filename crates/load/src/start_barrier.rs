//! Lets all load threads start at the same time. Each thread first prepares its users, which takes seconds for millions
//! of users. The run starts when all threads are ready.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::sys;

/// Time at which a run started, read from two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Reading of `CLOCK_MONOTONIC`. [ns]
    pub monotonic_ns: u64,
    /// Reading of the system clock. [ns since 1970]
    pub wall_ns: u64,
}

#[derive(Debug)]
struct State {
    /// Number of load threads that are not ready yet.
    pending: usize,
    start: Option<Start>,
}

/// Barrier at which the threads of a run wait for the start.
#[derive(Debug)]
pub struct StartBarrier {
    state: Mutex<State>,
    changed: Condvar,
}

impl StartBarrier {
    /// Creates a barrier for `threads` load threads.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self {
            state: Mutex::new(State {
                pending: threads,
                start: None,
            }),
            changed: Condvar::new(),
        }
    }

    /// Returns the handle with which one load thread takes part in the barrier.
    #[must_use]
    pub fn participant(&self) -> Participant<'_> {
        Participant(self)
    }

    /// Waits until every load thread is ready or has ended, and then starts the run.
    pub fn open(&self) -> Start {
        let mut state = self.lock();
        while state.pending > 0 {
            state = self.wait(state);
        }
        let start = Start {
            monotonic_ns: sys::monotonic_ns(),
            wall_ns: sys::wall_ns(),
        };
        state.start = Some(start);
        self.changed.notify_all();
        start
    }

    // Locks the state even if the lock is poisoned: the counters are correct even after a panic of a thread.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Handle of one load thread. If a thread ends before the start, dropping the handle releases the waiting threads.
#[derive(Debug)]
pub struct Participant<'a>(&'a StartBarrier);

impl Participant<'_> {
    /// Reports that this thread is ready, and waits for the start of the run.
    #[must_use]
    pub fn wait(self) -> Start {
        let barrier = self.0;
        drop(self);
        let mut state = barrier.lock();
        loop {
            if let Some(start) = state.start {
                return start;
            }
            state = barrier.wait(state);
        }
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        self.0.lock().pending -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_start_at_one_time_and_nobody_waits_for_one_that_is_gone() {
        let barrier = StartBarrier::new(3);
        let started = std::thread::scope(|scope| {
            let waiting = [barrier.participant(), barrier.participant()]
                .map(|ticket| scope.spawn(|| ticket.wait()));
            drop(barrier.participant());
            let start = barrier.open();
            let each = waiting.map(|thread| thread.join().expect("no panic"));
            assert!(each.iter().all(|seen| *seen == start));
            start
        });
        assert!(started.monotonic_ns <= sys::monotonic_ns());
    }
}

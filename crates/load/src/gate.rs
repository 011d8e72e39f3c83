//! The start of a run: all threads prepare, then time begins for all at once. Millions of users take seconds to make,
//! which must not be seconds of the run.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::sys;

/// Start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// `CLOCK_MONOTONIC`. [ns]
    pub monotonic_ns: u64,
    /// Wall clock since 1970. [ns]
    pub wall_ns: u64,
}

#[derive(Debug)]
struct State {
    /// Threads that are not ready.
    pending: usize,
    start: Option<Start>,
}

/// Gate at which threads wait for the start.
#[derive(Debug)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

impl Gate {
    /// Creates a gate that is closed until this number of tickets has been handed in.
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

    /// The ticket of one thread.
    #[must_use]
    pub fn ticket(&self) -> Ticket<'_> {
        Ticket(self)
    }

    /// Waits until all threads are ready or gone, and starts the run.
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

    // The counters stay correct even if a thread panicked.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread's place at the gate. A thread that ends before the start drops it, and nobody waits for that thread.
#[derive(Debug)]
pub struct Ticket<'a>(&'a Gate);

impl Ticket<'_> {
    /// Waits for the start.
    #[must_use]
    pub fn hand_in(self) -> Start {
        let gate = self.0;
        drop(self);
        let mut state = gate.lock();
        loop {
            if let Some(start) = state.start {
                return start;
            }
            state = gate.wait(state);
        }
    }
}

impl Drop for Ticket<'_> {
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
        let gate = Gate::new(3);
        let started = std::thread::scope(|scope| {
            let waiting =
                [gate.ticket(), gate.ticket()].map(|ticket| scope.spawn(|| ticket.hand_in()));
            drop(gate.ticket());
            let start = gate.open();
            let each = waiting.map(|thread| thread.join().expect("no panic"));
            assert!(each.iter().all(|seen| *seen == start));
            start
        });
        assert!(started.monotonic_ns <= sys::monotonic_ns());
    }
}

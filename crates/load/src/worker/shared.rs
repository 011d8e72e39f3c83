//! State shared between a load thread and the control thread while the load runs.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crate::recorder::LiveCounts;
use crate::sys::Waker;

/// Value of `Shared::command`: the thread runs the load.
pub const RUN: u32 = 0;
/// Value of `Shared::command`: the thread starts no new work; its users finish their work and leave.
pub const STOP: u32 = 1;
/// Value of `Shared::command`: all users of the thread leave immediately.
pub const LEAVE: u32 = 2;

/// State shared between one load thread and the control thread. In each iteration of its event loop, the load thread
/// reads only the command.
#[derive(Debug)]
pub struct Shared {
    /// Command to the load thread: [`RUN`], [`STOP`] or [`LEAVE`].
    pub command: AtomicU32,
    /// Wakes the load thread, so that it reads the command.
    pub waker: Arc<Waker>,
    /// Counts for the live display. The load thread adds to them once per interval; the control thread reads and resets
    /// them.
    pub published: Mutex<Published>,
}

impl Shared {
    /// Creates the state without a command.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            command: AtomicU32::new(RUN),
            waker: Arc::new(Waker::new()?),
            published: Mutex::default(),
        })
    }

    /// Gives a command to the load thread. Commands can only become stronger: after [`LEAVE`], [`STOP`] has no effect.
    pub fn order(&self, command: u32) {
        self.command.fetch_max(command, Ordering::Relaxed);
        self.waker.wake();
    }
}

/// Counts of a load thread since the control thread last read them, and current values.
#[derive(Debug, Clone, Default)]
pub struct Published {
    /// Counts of requests and transactions.
    pub counts: LiveCounts,
    /// Number of active users.
    pub users: u64,
    /// Number of requests in progress.
    pub in_flight: u64,
    /// Number of arrivals that wait for an idle user.
    pub waiting: u64,
}

impl Published {
    /// Adds the published counts of another load thread, and resets them to zero.
    pub fn take(&mut self, other: &mut Self) {
        self.counts.merge(&std::mem::take(&mut other.counts));
        self.users += other.users;
        self.in_flight += other.in_flight;
        self.waiting += other.waiting;
    }
}

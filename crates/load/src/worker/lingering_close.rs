//! Connections for a single request that wait for the server to close them.

use std::collections::{HashMap, VecDeque};

use crate::sys::{Event, Socket};

/// Limit on the wait for the server to close a connection. When it is reached, the client resets the connection. [ns]
const LINGER_NS: u64 = 1_000_000_000;

/// Connections for a single request that wait for the server to close first. The peer that closes first blocks its port
/// for a minute (TIME-WAIT of RFC 9293), and the load engine needs its ports.
#[derive(Debug)]
pub(super) struct LingeringClose {
    /// Limit on the number of waiting connections. Beyond it, the oldest waiting connection is reset.
    at_most: usize,
    sockets: HashMap<u64, Socket>,
    until_ns: VecDeque<(u64, u64)>,
}

impl LingeringClose {
    pub(super) fn new(at_most: usize) -> Self {
        Self {
            at_most,
            sockets: HashMap::new(),
            until_ns: VecDeque::new(),
        }
    }

    /// Starts to wait for the server to close a connection.
    pub(super) fn begin(&mut self, data: u64, socket: Socket, now_ns: u64) {
        self.sockets.insert(data, socket);
        self.until_ns.push_back((now_ns + LINGER_NS, data));
        while self.sockets.len() > self.at_most {
            self.abort_first();
        }
    }

    fn abort_first(&mut self) {
        if let Some((_, data)) = self.until_ns.pop_front()
            && let Some(socket) = self.sockets.remove(&data)
        {
            socket.abort();
        }
    }

    /// Drops the connection if the event reports that the server has closed it.
    pub(super) fn on_event(&mut self, event: Event) {
        if !self.sockets.is_empty() && event.closed() {
            self.sockets.remove(&event.data);
        }
    }

    /// Resets the connections that have waited for `LINGER_NS`.
    pub(super) fn sweep(&mut self, now_ns: u64) {
        while self.next_ns().is_some_and(|until_ns| until_ns <= now_ns) {
            self.abort_first();
        }
    }

    /// Returns the time at which the next connection must be reset. [ns]
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.until_ns.front().map(|(until_ns, _)| *until_ns)
    }
}

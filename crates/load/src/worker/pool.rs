//! A pool of connections to one target, shared by the users of a load thread.

use std::collections::VecDeque;

use super::stream_pool::StreamPool;
use super::user::{Connection, Exchange, Phase};

/// Free connections, and the queue of the exchanges that wait for a connection, in the order of their arrival.
///
/// While an exchange waits, no connection is free: when a connection becomes free, [`super::Worker`] assigns it to the
/// first waiting exchange before any user runs.
#[derive(Debug)]
pub(super) struct Pool {
    free: Free,
    /// Waiting exchanges, each with its ticket number. An exchange whose ticket has changed no longer waits.
    waiting: VecDeque<(u32, u64)>,
}

/// Connections that can carry another request.
#[derive(Debug)]
enum Free {
    /// Connections without a request, each of which carries one request at a time.
    Single {
        /// Idle connections that are open; the most recently used connection is at the end.
        open: Vec<u32>,
        /// Closed connections.
        closed: Vec<u32>,
    },
    /// Connections that carry several requests at a time (HTTP/2) and accept at least one more.
    Shared(StreamPool),
}

impl Pool {
    /// Creates a pool of connections with these indices, all of them closed.
    pub(super) fn new(places: std::ops::Range<u32>) -> Self {
        Self {
            free: Free::Single {
                open: Vec::new(),
                closed: places.rev().collect(),
            },
            waiting: VecDeque::new(),
        }
    }

    /// Creates a pool of connections that carry many requests at the same time, all of them closed.
    pub(super) fn shared(places: std::ops::Range<u32>) -> Self {
        Self {
            free: Free::Shared(StreamPool::new(places)),
            waiting: VecDeque::new(),
        }
    }

    /// Takes a free connection: the most recently used open connection, or else a closed connection. Thus no more
    /// connections are opened than needed.
    pub(super) fn take(&mut self, connections: &[Connection]) -> Option<u32> {
        let (open, closed) = match &mut self.free {
            Free::Single { open, closed } => (open, closed),
            Free::Shared(pool) => return pool.take(),
        };
        while let Some(place) = open.pop() {
            if connections[place as usize].phase == Phase::Idle {
                return Some(place);
            }
            // The server closed the connection while it was idle.
            closed.push(place);
        }
        closed.pop()
    }

    /// Returns a connection to the pool, as open or as closed. With HTTP/2, records that one of its requests has ended,
    /// or that the connection was closed.
    pub(super) fn put_back(&mut self, place: u32, is_open: bool) {
        match &mut self.free {
            Free::Single { open, .. } if is_open => open.push(place),
            Free::Single { closed, .. } => closed.push(place),
            Free::Shared(pool) if is_open => pool.put_back(place),
            Free::Shared(pool) => pool.closed(place),
        }
    }

    /// Records that a connection was closed, which ended all of its requests.
    pub(super) fn closed(&mut self, place: u32) {
        if let Free::Shared(pool) = &mut self.free {
            pool.closed(place);
        }
    }

    pub(super) fn set_limit(&mut self, place: u32, limit: u32) {
        if let Free::Shared(pool) = &mut self.free {
            pool.set_limit(place, limit);
        }
    }

    /// Puts an exchange at the start of the queue, because the server did not process its request.
    pub(super) fn wait_first(&mut self, exchange: u32, ticket: u64) {
        self.waiting.push_front((exchange, ticket));
    }

    /// Puts an exchange at the end of the queue.
    pub(super) fn wait(&mut self, exchange: u32, ticket: u64) {
        self.waiting.push_back((exchange, ticket));
    }

    /// Takes the first exchange that still waits, and a connection for it; `None` if no exchange waits or no connection
    /// is free. An exchange past its deadline gets no connection, since it is about to time out.
    pub(super) fn serve(
        &mut self,
        now_ns: u64,
        exchanges: &[Exchange],
        connections: &[Connection],
    ) -> Option<(usize, usize)> {
        while let Some((exchange, ticket)) = self.waiting.front().copied() {
            let entry = &exchanges[exchange as usize];
            if entry.ticket == ticket && entry.deadline_ns > now_ns {
                let place = self.take(connections)?;
                self.waiting.pop_front();
                return Some((exchange as usize, place as usize));
            }
            self.waiting.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::response::Limits;

    const LIMITS: Limits = Limits {
        header_bytes: 1,
        body_bytes: 1,
        capture_bytes: 1,
    };

    fn exchanges(tickets: &[u64]) -> Vec<Exchange> {
        let each = tickets.iter().map(|ticket| {
            let mut exchange = Exchange::new(LIMITS);
            exchange.ticket = *ticket;
            exchange.deadline_ns = 100;
            exchange
        });
        each.collect()
    }

    fn connections(phases: &[Phase]) -> Vec<Connection> {
        let each = phases.iter().map(|phase| {
            let mut connection = Connection::new();
            connection.phase = *phase;
            connection
        });
        each.collect()
    }

    #[test]
    fn there_are_as_many_as_asked_for_and_the_last_used_comes_first() {
        let mut pool = Pool::new(3..5);
        let free = connections(&[Phase::Idle; 5]);
        assert_eq!(pool.take(&free), Some(3));
        assert_eq!(pool.take(&free), Some(4));
        assert_eq!(pool.take(&free), None);
        pool.put_back(3, true);
        pool.put_back(4, true);
        assert_eq!(pool.take(&free), Some(4));
    }

    #[test]
    fn an_open_one_is_taken_before_one_that_must_be_made() {
        let mut pool = Pool::new(0..2);
        let one_open = connections(&[Phase::Idle, Phase::Closed]);
        assert_eq!(pool.take(&one_open), Some(0));
        pool.put_back(0, true);
        assert_eq!(pool.take(&one_open), Some(0));
        pool.put_back(0, true);
        let none_open = connections(&[Phase::Closed, Phase::Closed]);
        let both = [pool.take(&none_open), pool.take(&none_open)];
        assert_eq!(both, [Some(0), Some(1)]);
        assert_eq!(pool.take(&none_open), None);
    }

    #[test]
    fn who_came_first_is_served_first_and_who_gave_up_is_passed_over() {
        let mut pool = Pool::new(0..1);
        let free = connections(&[Phase::Idle]);
        let waiting = exchanges(&[11, 0, 13]);
        for (exchange, ticket) in [(0, 11), (1, 12), (2, 13)] {
            pool.wait(exchange, ticket);
        }
        assert_eq!(pool.serve(0, &waiting, &free), Some((0, 0)));
        assert_eq!(pool.serve(0, &waiting, &free), None, "none is free");
        pool.put_back(0, true);
        assert_eq!(pool.serve(0, &waiting, &free), Some((2, 0)));
        pool.put_back(0, true);
        assert_eq!(pool.serve(0, &waiting, &free), None, "nobody waits");
        pool.wait(0, 11);
        assert_eq!(pool.serve(100, &waiting, &free), None, "out of time");
        assert_eq!(pool.take(&free), Some(0));
    }
}

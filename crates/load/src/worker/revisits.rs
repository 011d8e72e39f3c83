//! Queue of connections whose reading or writing must be continued, because they reached the limit on reads or writes
//! per iteration of the event loop. Each connection is queued at most once.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// A connection whose reading or writing must be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revisit {
    pub connection: u32,
    /// Generation of the socket in its connection slot. If the slot has a later generation, this socket is already
    /// closed.
    pub generation: u32,
    /// `true` if the peer has closed the connection.
    pub closed: bool,
}

/// Connections whose reading or writing must be continued, in the order of arrival.
#[derive(Debug, Default)]
pub struct Revisits {
    /// Queued connections: index and generation of each.
    queue: VecDeque<(u32, u32)>,
    /// For each queued connection, `true` if the peer has closed it.
    closed: HashMap<(u32, u32), bool>,
}

impl Revisits {
    /// Queues a connection. A connection that is already queued keeps its position. With one entry for each event, it
    /// would get more time than other connections.
    pub fn push(&mut self, connection: u32, generation: u32, closed: bool) {
        let key = (connection, generation);
        match self.closed.entry(key) {
            Entry::Occupied(mut before) => *before.get_mut() |= closed,
            Entry::Vacant(place) => {
                place.insert(closed);
                self.queue.push_back(key);
            }
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Revisit> {
        let key = self.queue.pop_front()?;
        Some(Revisit {
            connection: key.0,
            generation: key.1,
            closed: self.closed.remove(&key).unwrap_or_default(),
        })
    }

    pub fn len(&self) -> usize {
        self.queue.len()
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_always_come_back_have_equally_many_turns() {
        let mut waiting = Revisits::default();
        for connection in 0..3 {
            waiting.push(connection, 0, false);
        }
        let mut turns = [0; 3];
        for _round in 0..5 {
            for _ in 0..waiting.len() {
                let taken = waiting.pop().unwrap();
                turns[taken.connection as usize] += 1;
                waiting.push(taken.connection, taken.generation, taken.closed);
            }
        }
        assert_eq!(turns, [5, 5, 5]);
        assert!(!waiting.is_empty());
    }

    #[test]
    fn who_waits_and_is_heard_of_again_still_has_one_turn() {
        let mut waiting = Revisits::default();
        for closed in [false, true, false] {
            waiting.push(1, 7, closed);
            waiting.push(2, 7, false);
        }
        // This entry has the same connection slot, but a later socket.
        waiting.push(1, 8, false);
        let turns: Vec<_> = std::iter::from_fn(|| waiting.pop()).collect();
        let turn = |connection, generation, closed| Revisit {
            connection,
            generation,
            closed,
        };
        assert_eq!(
            turns,
            [turn(1, 7, true), turn(2, 7, false), turn(1, 8, false)]
        );
    }
}

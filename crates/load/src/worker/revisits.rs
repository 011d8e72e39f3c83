//! Connections whose turn ended before all that had arrived was read: each waits behind those that came before it.

use std::collections::VecDeque;

/// A connection to be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revisit {
    pub connection: u32,
    /// Generation of the connection; another one by now means that this one has ended.
    pub generation: u32,
    /// Whether the other side has closed.
    pub closed: bool,
}

/// Connections to be read again, first come, first served.
#[derive(Debug, Default)]
pub struct Revisits(VecDeque<Revisit>);

impl Revisits {
    #[inline]
    pub fn push(&mut self, connection: u32, generation: u32, closed: bool) {
        self.0.push_back(Revisit {
            connection,
            generation,
            closed,
        });
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Revisit> {
        self.0.pop_front()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
}

//! Time-outs of requests: a coarse sweep. A user is listed at most once ahead of its deadline, however many requests it
//! makes, so that a request that is answered in time costs nothing here.

use std::collections::VecDeque;

/// Width of a slot: a time-out is detected late by at most this. [ns]
pub const SLOT_NS: u64 = 20_000_000;

/// Not listed.
pub const UNLISTED: u64 = u64::MAX;

/// Users by the slot in which their deadline must be checked.
#[derive(Debug, Default)]
pub struct Deadlines {
    slots: VecDeque<Vec<u32>>,
    /// Number of the first slot.
    first: u64,
    listed: usize,
    spare: Vec<Vec<u32>>,
}

/// Slot at whose end a deadline has passed.
#[must_use]
pub fn slot_of(deadline_ns: u64) -> u64 {
    deadline_ns / SLOT_NS + 1
}

impl Deadlines {
    /// Lists a user in a slot that has not passed.
    pub fn insert(&mut self, now_ns: u64, slot: u64, user: u32) {
        if self.listed == 0 {
            self.spare.extend(self.slots.drain(..));
            self.first = now_ns / SLOT_NS;
        }
        let index = slot.saturating_sub(self.first) as usize;
        while self.slots.len() <= index {
            self.slots.push_back(self.spare.pop().unwrap_or_default());
        }
        self.slots[index].push(user);
        self.listed += 1;
    }

    /// Moves the users of the first passed slot to `out`; returns its number, or `None` if none has passed.
    pub fn pop(&mut self, now_ns: u64, out: &mut Vec<u32>) -> Option<u64> {
        let over = now_ns / SLOT_NS;
        while self.first <= over {
            let mut slot = self.slots.pop_front()?;
            let number = self.first;
            self.first += 1;
            if slot.is_empty() {
                self.spare.push(slot);
                continue;
            }
            self.listed -= slot.len();
            out.append(&mut slot);
            self.spare.push(slot);
            return Some(number);
        }
        None
    }

    /// Time of the next check, if any user is listed. [ns]
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        (self.listed > 0).then_some(self.first * SLOT_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(deadlines: &mut Deadlines, now_ns: u64) -> Vec<u32> {
        let mut out = Vec::new();
        while deadlines.pop(now_ns, &mut out).is_some() {}
        out
    }

    #[test]
    fn users_come_up_once_their_slot_is_over_and_never_early() {
        let mut deadlines = Deadlines::default();
        for (user, deadline) in [(1, 5 * SLOT_NS), (2, 5 * SLOT_NS + 1), (3, 900 * SLOT_NS)] {
            deadlines.insert(0, slot_of(deadline), user);
        }
        assert!(due(&mut deadlines, 5 * SLOT_NS).is_empty());
        assert_eq!(due(&mut deadlines, 6 * SLOT_NS), [1, 2]);
        assert!(due(&mut deadlines, 900 * SLOT_NS).is_empty());
        assert_eq!(due(&mut deadlines, 902 * SLOT_NS), [3]);
        assert_eq!(deadlines.next_ns(), None);
    }

    #[test]
    fn an_earlier_deadline_may_come_after_a_later_one() {
        let mut deadlines = Deadlines::default();
        deadlines.insert(0, slot_of(1000 * SLOT_NS), 1);
        assert!(due(&mut deadlines, 100 * SLOT_NS).is_empty());
        deadlines.insert(101 * SLOT_NS, slot_of(110 * SLOT_NS), 2);
        assert_eq!(due(&mut deadlines, 111 * SLOT_NS), [2]);
        assert_eq!(due(&mut deadlines, 2000 * SLOT_NS), [1]);
    }
}

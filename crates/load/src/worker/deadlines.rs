//! Time-outs of requests. Users are entered in time slots of 1 ms, which are managed by a timing wheel. A user has at
//! most one entry for all of its requests. If a response arrives in time, the wheel need not be changed.

use crate::wheel::Wheel;

/// Width of the time slots for time-outs. A time-out is detected later than its deadline by less than this width. The
/// thread is woken only once for all time-outs of a slot. [ns]
pub const SLOT_NS: u64 = 1_000_000;

/// Slot number of a user without an entry.
pub const UNLISTED: u64 = u64::MAX;

/// The time slot of each user in which the user's deadline must be checked.
#[derive(Debug)]
pub struct Deadlines(Wheel);

/// Returns the first time slot that begins at or after the deadline.
#[must_use]
pub fn slot_of(deadline_ns: u64) -> u64 {
    deadline_ns.div_ceil(SLOT_NS)
}

impl Deadlines {
    /// Creates an empty list with memory for `users` users.
    #[must_use]
    pub fn new(users: usize) -> Self {
        Self(Wheel::new(users))
    }

    /// Enters a user in a time slot, and removes its previous entry.
    pub fn insert(&mut self, slot: u64, user: u32) {
        self.0.insert(user, slot.saturating_mul(SLOT_NS));
    }

    /// Removes and returns a user whose time slot has begun; `None` if there is none.
    pub fn pop(&mut self, now_ns: u64) -> Option<u32> {
        self.0.pop(now_ns)
    }

    /// Returns the time of the next check, if any user has an entry. [ns]
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.0.next_deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Length of the ticks to which the timing wheel rounds up. [ns]
    const TICK_NS: u64 = 1 << 14;

    fn due(deadlines: &mut Deadlines, now_ns: u64) -> Vec<u32> {
        let mut users: Vec<_> = std::iter::from_fn(|| deadlines.pop(now_ns)).collect();
        users.sort_unstable();
        users
    }

    #[test]
    fn a_deadline_is_checked_within_a_millisecond_and_never_early() {
        for deadline_ns in [1, 5_000_000, 5_000_001, 5_999_999, 30_000_000_000] {
            let mut deadlines = Deadlines::new(1);
            deadlines.insert(slot_of(deadline_ns), 0);
            assert!(due(&mut deadlines, deadline_ns - 1).is_empty());
            let late_ns = 1_000_000 + TICK_NS;
            assert_eq!(due(&mut deadlines, deadline_ns + late_ns), [0]);
            assert_eq!(deadlines.next_ns(), None);
        }
    }

    #[test]
    fn deadlines_of_one_slot_share_a_wake_and_far_ones_cost_few() {
        let mut deadlines = Deadlines::new(3);
        for (user, deadline_ns) in [(0, 4_000_001), (1, 5_000_000), (2, 30_000_000_000)] {
            deadlines.insert(slot_of(deadline_ns), user);
        }
        let mut wakes = Vec::new();
        let mut users = Vec::new();
        while let Some(next_ns) = deadlines.next_ns() {
            let found = due(&mut deadlines, next_ns);
            wakes.push(next_ns);
            users.extend(found);
        }
        assert_eq!(users, [0, 1, 2]);
        // The wheel may wake the thread once for each of its seven levels and each of two slots: `2 * 7 = 14`.
        assert!(wakes.len() <= 14, "{wakes:?}");
    }

    #[test]
    fn an_earlier_deadline_takes_the_place_of_a_later_one() {
        let mut deadlines = Deadlines::new(2);
        deadlines.insert(slot_of(1000 * SLOT_NS), 1);
        assert!(due(&mut deadlines, 100 * SLOT_NS).is_empty());
        deadlines.insert(slot_of(110 * SLOT_NS), 1);
        assert_eq!(due(&mut deadlines, 111 * SLOT_NS), [1]);
        assert!(due(&mut deadlines, 2000 * SLOT_NS).is_empty());
    }
}

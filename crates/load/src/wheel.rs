//! A hierarchical timing wheel: deadlines of a million users, constant time to set and to cancel.

/// Deadlines by key. A key has at most one deadline; keys are small numbers, such as those of users.
#[derive(Debug)]
pub struct Wheel {
    scheduled: usize,
}

impl Wheel {
    /// An empty wheel at time zero with room for keys below `capacity`; it grows when larger keys come.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            scheduled: capacity,
        }
    }

    /// Sets the deadline of a key, in place of one it had. [ns]
    pub fn insert(&mut self, _key: u32, _deadline_ns: u64) {
        todo!()
    }

    /// Takes a deadline back; whether there was one.
    pub fn cancel(&mut self, _key: u32) -> bool {
        todo!()
    }

    /// Whether the key has a deadline.
    #[must_use]
    pub fn is_scheduled(&self, _key: u32) -> bool {
        todo!()
    }

    /// Number of keys with a deadline.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scheduled
    }

    /// Whether no key has a deadline.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scheduled == 0
    }

    /// Calls `fired` for every key whose deadline is at or before `now_ns`, and forgets its deadline. Never early,
    /// late by less than one tick.
    pub fn expire(&mut self, now_ns: u64, mut fired: impl FnMut(u32)) {
        while let Some(key) = self.pop(now_ns) {
            fired(key);
        }
    }

    /// One key that is due at `now_ns`, or `None`; like [`Wheel::expire`], for callers that set deadlines meanwhile.
    pub fn pop(&mut self, _now_ns: u64) -> Option<u32> {
        todo!()
    }

    /// When to call [`Wheel::expire`] next; no deadline fires before it. [ns]
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        todo!()
    }
}

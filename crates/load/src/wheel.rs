//! A hierarchical timing wheel: stores the deadlines of a million users, and sets or cancels a deadline in constant
//! time.
//!
//! After G. Varghese and T. Lauck, "Hashed and hierarchical timing wheels", SOSP 1987 (scheme 7). Time is divided into
//! ticks of 16 µs. Each level has 64 slots. A slot of level 0 is one tick, and a slot of any higher level is as long as
//! all 64 slots of the level below.
//!
//! A deadline is stored on the highest level on which its slot differs from the slot of the current time. When the
//! current time enters this slot, the deadline moves to a lower level: at most once per level. Each slot is a list
//! whose links are stored with the keys, 16 bytes per key. Each level has a word with one bit per slot, which is set if
//! the slot is not empty.

/// Length of a tick, as a power of two in ns: 2^14 ns = 16.4 µs, well below the usual start lag of a load thread.
const TICK_MAGNITUDE: u32 = 14;
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
/// Number of levels of the wheel. Seven levels span 2.3 years; later deadlines are set to this limit.
const LEVELS: usize = 7;
const LAST_TICK: u64 = (1 << (SLOT_BITS * LEVELS as u32)) - 1;

/// Number of the list of due keys, which follows the lists of the slots.
const DUE: usize = LEVELS * SLOTS;
const LISTS: usize = DUE + 1;

const NONE: u32 = u32::MAX;
/// Bit in `previous` that marks the first key of a list; the other bits are the number of the list.
const HEAD: u32 = 1 << 31;

#[derive(Clone, Copy, Debug)]
struct Node {
    tick: u64,
    next: u32,
    /// The previous key in the list. The first key has `HEAD | list` instead, and a key without deadline [`NONE`].
    previous: u32,
}

/// Deadlines by key. A key has at most one deadline; keys are small numbers, such as user numbers.
///
/// ```
/// use towtank_load::wheel::Wheel;
///
/// let mut wheel = Wheel::new(8);
/// wheel.insert(3, 1_000_000);
/// assert_eq!(wheel.pop(999_999), None);
/// assert_eq!(wheel.pop(1_020_000), Some(3));
/// ```
#[derive(Debug)]
pub struct Wheel {
    nodes: Vec<Node>,
    heads: [u32; LISTS],
    /// For each level, one bit per slot, set if the slot is not empty.
    occupied: [u64; LEVELS],
    /// The current tick. Keys with a deadline at or before this tick are in the list of due keys.
    now: u64,
    scheduled: usize,
}

impl Wheel {
    /// Creates an empty wheel at time zero with memory for keys below `capacity`; it grows when larger keys are
    /// inserted.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let nodes = vec![
            Node {
                tick: 0,
                next: NONE,
                previous: NONE
            };
            capacity
        ];
        Self {
            nodes,
            heads: [NONE; LISTS],
            occupied: [0; LEVELS],
            now: 0,
            scheduled: 0,
        }
    }

    /// Sets or replaces the deadline of a key below 2^31. [ns]
    ///
    /// # Panics
    /// If the key is 2^31 or above.
    pub fn insert(&mut self, key: u32, deadline_ns: u64) {
        assert!(key < HEAD, "keys are below 2^31");
        if key as usize >= self.nodes.len() {
            self.nodes.resize(
                key as usize + 1,
                Node {
                    tick: 0,
                    next: NONE,
                    previous: NONE,
                },
            );
        }
        self.cancel(key);
        // The deadline is rounded up to a whole tick, so that it never fires early.
        self.nodes[key as usize].tick = deadline_ns.div_ceil(1 << TICK_MAGNITUDE).min(LAST_TICK);
        self.scheduled += 1;
        self.place(key);
    }

    /// Cancels the deadline of a key. Returns `true` if the key had a deadline.
    pub fn cancel(&mut self, key: u32) -> bool {
        if !self.is_scheduled(key) {
            return false;
        }
        self.unlink(key);
        self.scheduled -= 1;
        true
    }

    /// Returns `true` if the key has a deadline that has not fired yet.
    #[must_use]
    pub fn is_scheduled(&self, key: u32) -> bool {
        self.nodes
            .get(key as usize)
            .is_some_and(|node| node.previous != NONE)
    }

    /// Returns the number of keys with a deadline.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scheduled
    }

    /// Returns `true` if no key has a deadline.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scheduled == 0
    }

    /// Calls `fired` for every key whose deadline is at or before `now_ns`, and removes the deadline. A deadline never
    /// fires early, and fires late by less than one tick (16.4 µs).
    pub fn expire(&mut self, now_ns: u64, mut fired: impl FnMut(u32)) {
        while let Some(key) = self.pop(now_ns) {
            fired(key);
        }
    }

    /// Takes one key that is due at `now_ns`. Unlike with [`Wheel::expire`], the caller can set deadlines after each
    /// key.
    pub fn pop(&mut self, now_ns: u64) -> Option<u32> {
        if self.heads[DUE] == NONE {
            self.advance(now_ns >> TICK_MAGNITUDE);
        }
        let key = self.heads[DUE];
        if key == NONE {
            return None;
        }
        self.cancel(key);
        Some(key)
    }

    /// Returns the time at which [`Wheel::expire`] must be called next; no deadline fires before it. [ns]
    ///
    /// This time may be before the first deadline, if the keys of a slot must then move to a lower level. Each slot
    /// causes at most one such call.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        if self.heads[DUE] != NONE {
            return Some(self.now << TICK_MAGNITUDE);
        }
        self.next_slot()
            .map(|(_, _, start)| start << TICK_MAGNITUDE)
    }

    /// Advances the wheel until keys are due or `tick` is reached.
    fn advance(&mut self, tick: u64) {
        while let Some((level, slot, start)) = self.next_slot()
            && start <= tick
        {
            self.now = start;
            self.empty(level, slot);
            if self.heads[DUE] != NONE {
                return;
            }
        }
        // If `tick` is before the current tick, nothing changes.
        self.now = self.now.max(tick.min(LAST_TICK));
    }

    /// Returns level, slot and first tick of the next non-empty slot.
    ///
    /// All keys of a level are due before the keys of higher levels, so this slot is on the lowest level with a key.
    fn next_slot(&self) -> Option<(usize, usize, u64)> {
        let level = self.occupied.iter().position(|&slots| slots != 0)?;
        let slot = self.occupied[level].trailing_zeros() as usize;
        let shift = SLOT_BITS * level as u32;
        let block = self.now >> (shift + SLOT_BITS) << SLOT_BITS;
        Some((level, slot, (block + slot as u64) << shift))
    }

    /// Moves all keys of a slot to their slots on lower levels.
    fn empty(&mut self, level: usize, slot: usize) {
        let list = level * SLOTS + slot;
        let mut key = std::mem::replace(&mut self.heads[list], NONE);
        self.occupied[level] &= !(1 << slot);
        while key != NONE {
            let next = self.nodes[key as usize].next;
            self.place(key);
            key = next;
        }
    }

    fn place(&mut self, key: u32) {
        let tick = self.nodes[key as usize].tick;
        if tick <= self.now {
            self.link(key, DUE);
            return;
        }
        let level = (tick ^ self.now).ilog2() / SLOT_BITS;
        let slot = (tick >> (level * SLOT_BITS)) as usize % SLOTS;
        self.occupied[level as usize] |= 1 << slot;
        self.link(key, level as usize * SLOTS + slot);
    }

    fn link(&mut self, key: u32, list: usize) {
        let first = std::mem::replace(&mut self.heads[list], key);
        if first != NONE {
            self.nodes[first as usize].previous = key;
        }
        let node = &mut self.nodes[key as usize];
        node.next = first;
        node.previous = HEAD | list as u32;
    }

    fn unlink(&mut self, key: u32) {
        let Node { next, previous, .. } = self.nodes[key as usize];
        if next != NONE {
            self.nodes[next as usize].previous = previous;
        }
        if previous & HEAD == 0 {
            self.nodes[previous as usize].next = next;
        } else {
            let list = (previous & !HEAD) as usize;
            self.heads[list] = next;
            if next == NONE && list < DUE {
                self.occupied[list / SLOTS] &= !(1 << (list % SLOTS));
            }
        }
        self.nodes[key as usize].previous = NONE;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::testing::SplitMix;

    const TICK_NS: u64 = 1 << TICK_MAGNITUDE;

    fn fired_at(wheel: &mut Wheel, now_ns: u64) -> Vec<u32> {
        let mut keys = Vec::new();
        wheel.expire(now_ns, |key| keys.push(key));
        keys.sort_unstable();
        keys
    }

    #[test]
    fn a_deadline_is_never_early_and_less_than_a_tick_late() {
        let mut random = SplitMix::new(1);
        for _ in 0..2_000 {
            let deadline = random.next() >> (random.next() % 40 + 10);
            let mut wheel = Wheel::new(1);
            wheel.insert(0, deadline);
            if deadline > 0 {
                assert_eq!(wheel.pop(deadline - 1), None, "early: {deadline}");
            }
            assert_eq!(
                wheel.pop(deadline + TICK_NS - 1),
                Some(0),
                "late: {deadline}"
            );
            assert!(wheel.is_empty());
        }
    }

    #[test]
    fn agrees_with_a_sorted_map_under_random_use() {
        let mut random = SplitMix::new(2);
        let mut wheel = Wheel::new(0);
        let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
        let mut now = 0;
        for _ in 0..20_000 {
            match random.next() % 8 {
                0..=4 => {
                    let key = random.below(300) as u32;
                    let deadline = now + (random.next() >> (random.next() % 35 + 22));
                    wheel.insert(key, deadline);
                    expected.insert(key, deadline.div_ceil(TICK_NS));
                }
                5 => {
                    let key = random.below(300) as u32;
                    assert_eq!(wheel.cancel(key), expected.remove(&key).is_some());
                }
                _ => {
                    now += random.next() >> (random.next() % 35 + 26);
                    let due: Vec<u32> = expected
                        .iter()
                        .filter(|(_, tick)| **tick <= now / TICK_NS)
                        .map(|(key, _)| *key)
                        .collect();
                    expected.retain(|key, _| !due.contains(key));
                    assert_eq!(fired_at(&mut wheel, now), due);
                }
            }
            assert_eq!(wheel.len(), expected.len());
            if let Some(tick) = expected.values().min() {
                let next = wheel.next_deadline().expect("a deadline is set");
                assert!(
                    next <= tick * TICK_NS,
                    "sleeping until {next} would miss tick {tick}"
                );
            } else {
                assert_eq!(wheel.next_deadline(), None);
            }
        }
    }

    #[test]
    fn sleeping_from_deadline_to_deadline_takes_few_wakes() {
        let mut wheel = Wheel::new(1);
        let deadline = 3_600_000_000_000;
        wheel.insert(0, deadline);
        let mut wakes = 0;
        let mut now = 0;
        while !wheel.is_empty() {
            let next = wheel.next_deadline().expect("a deadline is set");
            assert!(next > now, "a wake must make progress");
            now = next;
            wakes += 1;
            wheel.expire(now, |_| {});
        }
        assert_eq!(now, deadline.next_multiple_of(TICK_NS));
        assert!(wakes <= LEVELS);
    }

    #[test]
    fn a_key_set_again_fires_once_at_its_new_time() {
        let mut wheel = Wheel::new(4);
        wheel.insert(1, 10 * TICK_NS);
        wheel.insert(1, 20 * TICK_NS);
        assert_eq!(wheel.len(), 1);
        assert!(fired_at(&mut wheel, 19 * TICK_NS).is_empty());
        assert_eq!(fired_at(&mut wheel, 20 * TICK_NS), [1]);
        assert!(!wheel.is_scheduled(1));
    }

    #[test]
    fn a_deadline_in_the_past_is_due_at_once() {
        let mut wheel = Wheel::new(4);
        wheel.expire(1_000 * TICK_NS, |_| {});
        wheel.insert(2, 5);
        assert_eq!(wheel.next_deadline(), Some(1_000 * TICK_NS));
        assert_eq!(wheel.pop(1_000 * TICK_NS), Some(2));
    }

    #[test]
    fn a_key_that_is_due_can_be_cancelled_before_it_is_fetched() {
        let mut wheel = Wheel::new(4);
        for key in 0..3 {
            wheel.insert(key, TICK_NS);
        }
        let first = wheel.pop(TICK_NS).expect("three are due");
        let second = (first + 1) % 3;
        assert!(wheel.cancel(second));
        assert_eq!(fired_at(&mut wheel, TICK_NS), [3 - first - second]);
    }

    #[test]
    fn deadlines_may_be_set_while_others_fire() {
        let mut wheel = Wheel::new(1);
        wheel.insert(0, 0);
        let mut fired = 0;
        let mut now = 0;
        while fired < 1_000 {
            now += TICK_NS;
            while let Some(key) = wheel.pop(now) {
                fired += 1;
                wheel.insert(key, now + 1);
            }
        }
        assert_eq!(now, 1_000 * TICK_NS);
    }

    #[test]
    fn the_farthest_future_waits_at_the_rim() {
        let mut wheel = Wheel::new(2);
        wheel.insert(0, u64::MAX);
        assert_eq!(wheel.pop(1 << 55), None);
        assert!(wheel.cancel(0));
    }

    #[test]
    fn a_key_takes_sixteen_bytes() {
        assert_eq!(size_of::<Node>(), 16);
    }
}

//! Stack of keys in the order of their last references, and the depth of a key in this stack.
//!
//! Mattson, Gecsei, Slutz and Traiger, *IBM Systems Journal* 9(2), 1970: a cache that evicts the least recently used
//! key holds the top of this stack, whatever the size of the cache. The depth at which a reference finds its key
//! therefore determines for all cache sizes whether the reference hits.
//!
//! The depth is found in O(log n). Every reference takes the next slot, and each key has a mark at the slot of its last
//! reference. Marks are counted by blocks in a tree of partial sums (Fenwick, *Software: Practice and Experience*
//! 24(3), 1994). When all slots are used, the marks are compacted.
//!
//! In the same way, the depth in bytes determines the hits for cache sizes in bytes, provided that no key shrinks. An
//! entry therefore keeps its largest size.

/// Number of slots in a block: each slot has a mark, which is one bit of a 64-bit word.
const BLOCK: usize = 64;
/// Minimum number of slots, one for each reference. With fewer slots, the marks would often have to be compacted.
const SLOTS_AT_LEAST: usize = 1024;
const NOWHERE: u32 = u32::MAX;

/// Stack distance: the depth at which a reference finds its key in the stack, including the key itself. The reference
/// hits in all caches of at least this size.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Distance {
    /// Number of different keys since the previous reference to this key, including this key. [1]
    pub entries: u64,
    /// Sum of the sizes of the keys counted in `entries`; 0 if the trace has no sizes. [byte]
    pub bytes: u64,
}

/// Keys in the order of the last references to them. Keys are small integers that the caller assigns.
#[derive(Debug)]
pub struct Recency {
    weighted: bool,
    /// Slot of the last reference to each key.
    slot_of: Vec<u32>,
    /// Key of each slot with a mark.
    key_at: Vec<u32>,
    /// Size of the key of each slot with a mark; empty if the trace has no sizes. [byte]
    bytes_at: Vec<u64>,
    /// One bit per slot, which is set if the reference of the slot is the last one to its key.
    marks: Vec<u64>,
    sums: Sums,
    /// Number of the slot that the next reference takes.
    next: usize,
    keys: usize,
    bytes: u64,
}

impl Recency {
    /// Creates an empty stack. `weighted` is `true` if references have sizes.
    #[must_use]
    pub fn new(weighted: bool) -> Self {
        let mut recency = Self {
            weighted,
            slot_of: Vec::new(),
            key_at: Vec::new(),
            bytes_at: Vec::new(),
            marks: Vec::new(),
            sums: Sums::default(),
            next: 0,
            keys: 0,
            bytes: 0,
        };
        recency.compact();
        recency
    }

    /// Returns the number of keys in the stack. [1]
    #[must_use]
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// Returns the sum of the sizes of all keys in the stack. [byte]
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Records a reference to a key. Returns the depth of the key in the stack, or `None` for a key that was not in the
    /// stack.
    pub fn refer(&mut self, key: u32, size: u64) -> Option<Distance> {
        let place = key as usize;
        if place >= self.slot_of.len() {
            self.slot_of.resize(place + 1, NOWHERE);
        }
        if self.slot_of[place] == NOWHERE {
            self.put(key, size);
            return None;
        }
        let slot = self.slot_of[place] as usize;
        let found = self.distance(slot);
        let kept = if self.weighted {
            self.bytes_at[slot]
        } else {
            0
        };
        self.clear(slot);
        self.put(key, size.max(kept));
        Some(found)
    }

    /// Returns the size of a key in the stack; 0 if the trace has no sizes. [B]
    #[must_use]
    pub fn size(&self, key: u32) -> u64 {
        match self.slot_of.get(key as usize) {
            Some(&slot) if slot != NOWHERE && self.weighted => self.bytes_at[slot as usize],
            _ => 0,
        }
    }

    /// Removes a key from the stack. The number of the key may then be used for another key.
    pub fn forget(&mut self, key: u32) {
        let slot = self.slot_of[key as usize];
        if slot != NOWHERE {
            self.clear(slot as usize);
            self.slot_of[key as usize] = NOWHERE;
        }
    }

    fn distance(&self, slot: usize) -> Distance {
        let (block, bit) = (slot / BLOCK, slot % BLOCK);
        let mut above = (self.marks[block] >> bit) >> 1;
        let (keys, bytes) = self.sums.up_to(block);
        let mut distance = Distance {
            entries: self.keys as u64 - u64::from(keys) + u64::from(above.count_ones()) + 1,
            bytes: 0,
        };
        if self.weighted {
            distance.bytes = self.bytes - bytes + self.bytes_at[slot];
            while above != 0 {
                distance.bytes += self.bytes_at[slot + 1 + above.trailing_zeros() as usize];
                above &= above - 1;
            }
        }
        distance
    }

    fn put(&mut self, key: u32, size: u64) {
        if self.next == self.key_at.len() {
            self.compact();
        }
        let slot = self.next;
        self.next += 1;
        self.slot_of[key as usize] = slot as u32;
        self.key_at[slot] = key;
        self.marks[slot / BLOCK] |= 1 << (slot % BLOCK);
        self.keys += 1;
        let size = if self.weighted { size } else { 0 };
        if self.weighted {
            self.bytes_at[slot] = size;
            self.bytes += size;
        }
        self.sums.add(slot / BLOCK, 1, size);
    }

    fn clear(&mut self, slot: usize) {
        self.marks[slot / BLOCK] &= !(1 << (slot % BLOCK));
        self.keys -= 1;
        let size = if self.weighted {
            self.bytes_at[slot]
        } else {
            0
        };
        self.bytes -= size;
        // Additions wrap around, so adding the wrapped negative value subtracts.
        self.sums
            .add(slot / BLOCK, 1_u32.wrapping_neg(), size.wrapping_neg());
    }

    /// Moves the marks to the first slots without changing their order. At least half of the slots become free, so the
    /// amortized cost per reference is constant.
    fn compact(&mut self) {
        let slots = (2 * self.keys).max(SLOTS_AT_LEAST).next_multiple_of(BLOCK);
        let mut key_at = Vec::with_capacity(slots);
        let mut bytes_at = Vec::with_capacity(if self.weighted { slots } else { 0 });
        for (block, &word) in self.marks.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                let slot = block * BLOCK + word.trailing_zeros() as usize;
                let key = self.key_at[slot];
                self.slot_of[key as usize] = key_at.len() as u32;
                key_at.push(key);
                if self.weighted {
                    bytes_at.push(self.bytes_at[slot]);
                }
                word &= word - 1;
            }
        }
        self.next = key_at.len();
        key_at.resize(slots, NOWHERE);
        bytes_at.resize(if self.weighted { slots } else { 0 }, 0);
        (self.key_at, self.bytes_at) = (key_at, bytes_at);
        self.marks = (0..slots / BLOCK)
            .map(|block| match self.next.saturating_sub(block * BLOCK) {
                rest if rest >= BLOCK => u64::MAX,
                rest => (1 << rest) - 1,
            })
            .collect();
        self.sums = Sums::of(&self.marks, &self.bytes_at);
    }
}

/// Partial sums over the blocks of slots, stored as a Fenwick tree. Additions wrap around, so that a negative number
/// can be added.
#[derive(Debug, Default)]
struct Sums {
    keys: Vec<u32>,
    /// Partial sums of the sizes of keys; empty if the trace has no sizes. [byte]
    bytes: Vec<u64>,
}

impl Sums {
    fn of(marks: &[u64], bytes_at: &[u64]) -> Self {
        let mut keys = vec![0_u32; marks.len() + 1];
        let mut bytes = Vec::new();
        for (block, word) in marks.iter().enumerate() {
            keys[block + 1] = word.count_ones();
        }
        if !bytes_at.is_empty() {
            // The sum may include slots without a mark: their size is 0 after compaction.
            bytes.push(0);
            bytes.extend(
                bytes_at
                    .chunks(BLOCK)
                    .map(|block| block.iter().sum::<u64>()),
            );
        }
        for at in 1..keys.len() {
            let above = at + (at & at.wrapping_neg());
            if above < keys.len() {
                keys[above] += keys[at];
                if !bytes.is_empty() {
                    bytes[above] += bytes[at];
                }
            }
        }
        Self { keys, bytes }
    }

    fn add(&mut self, block: usize, keys: u32, bytes: u64) {
        let mut at = block + 1;
        while at < self.keys.len() {
            self.keys[at] = self.keys[at].wrapping_add(keys);
            if let Some(sum) = self.bytes.get_mut(at) {
                *sum = sum.wrapping_add(bytes);
            }
            at += at & at.wrapping_neg();
        }
    }

    /// Returns the sum over all blocks from the first one to `block`, inclusive.
    fn up_to(&self, block: usize) -> (u32, u64) {
        let (mut keys, mut bytes) = (0_u32, 0_u64);
        let mut at = block + 1;
        while at > 0 {
            keys = keys.wrapping_add(self.keys[at]);
            bytes = bytes.wrapping_add(self.bytes.get(at).copied().unwrap_or(0));
            at &= at - 1;
        }
        (keys, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_counts_the_keys_since_and_itself() {
        let mut recency = Recency::new(true);
        let found: Vec<_> = [(0, 10), (1, 5), (2, 1), (0, 10), (0, 10), (1, 7)]
            .map(|(key, size)| recency.refer(key, size))
            .to_vec();
        let deep = |entries, bytes| Some(Distance { entries, bytes });
        assert_eq!(
            found,
            [None, None, None, deep(3, 16), deep(1, 10), deep(3, 16)]
        );
        // Key 1 has grown to 7 bytes and keeps this size, although its later reference has only 2 bytes.
        recency.refer(1, 2);
        assert_eq!((recency.keys(), recency.bytes()), (3, 18));
    }

    #[test]
    fn a_key_that_is_forgotten_is_new() {
        let mut recency = Recency::new(true);
        recency.refer(0, 4);
        recency.refer(1, 4);
        recency.forget(0);
        assert_eq!((recency.keys(), recency.bytes()), (1, 4));
        assert_eq!(recency.refer(0, 4), None);
    }

    #[test]
    fn slots_that_are_used_up_are_used_again() {
        let mut recency = Recency::new(false);
        for round in 0..100_u32 {
            for key in 0..777 {
                let found = recency.refer(key, 0).map(|distance| distance.entries);
                assert_eq!(found, (round > 0).then_some(777));
            }
        }
        assert!(recency.key_at.len() < 2000);
    }
}

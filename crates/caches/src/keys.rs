//! Maps keys of a trace to consecutive integers, and to hashes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are hashes, which it does not hash again.
pub type ByHash = HashMap<u64, u32, BuildHasherDefault<Mixed>>;
const NONE: u32 = u32::MAX;

/// A hasher for values that are already hashes: returns the value unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(bytes);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Makes every bit of the result depend on all bits of `value`, by the finalizer of MurmurHash3.
#[must_use]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let value = (value ^ (value >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}

/// Returns the hash of a key. It determines whether the key is in the sample, and is the same in every run.
#[must_use]
pub fn hash(key: &[u8]) -> u64 {
    let mut state = mix(key.len() as u64 ^ 0x9e37_79b9_7f4a_7c15);
    for chunk in key.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = mix(state.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from_le_bytes(word));
    }
    state
}

/// Assigns consecutive numbers to keys, in the order of the first references to them. Different keys with the same hash
/// get different numbers.
#[derive(Debug, Default)]
pub struct Numbers {
    first: ByHash,
    keys: Vec<Key>,
    text: Vec<u8>,
}

#[derive(Debug)]
struct Key {
    begin: usize,
    end: usize,
    /// Number of the next key with the same hash (linked list).
    next: u32,
}

impl Numbers {
    /// Returns the number of different keys. [1]
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns `true` if there is no key yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the sum of the lengths of the texts of all keys. [byte]
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns the number of a key. A new key is assigned the next number.
    pub fn number(&mut self, key: &[u8]) -> u32 {
        let new = self.keys.len() as u32;
        let first = *self.first.entry(hash(key)).or_insert(new);
        let mut at = first;
        while at != new {
            let known = &mut self.keys[at as usize];
            if self.text[known.begin..known.end] == *key {
                return at;
            }
            if known.next == NONE {
                known.next = new;
            }
            at = known.next;
        }
        let begin = self.text.len();
        self.text.extend_from_slice(key);
        self.keys.push(Key {
            begin,
            end: self.text.len(),
            next: NONE,
        });
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart_by_their_bytes() {
        let mut numbers = Numbers::default();
        let assigned =
            ["a", "b", "a", "", "a\0", "ab", "b"].map(|key| numbers.number(key.as_bytes()));
        assert_eq!(assigned, [0, 1, 0, 2, 3, 4, 1]);
        assert_eq!(numbers.len(), 5);
    }

    #[test]
    fn keys_of_one_hash_are_told_apart() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.number(b"one"), 0);
        // The map is changed so that it looks as if three keys had the same hash.
        numbers.first.insert(hash(b"two"), 0);
        numbers.first.insert(hash(b"three"), 0);
        let assigned =
            ["two", "three", "one", "three", "two"].map(|key| numbers.number(key.as_bytes()));
        assert_eq!(assigned, [1, 2, 0, 2, 1]);
    }

    #[test]
    fn hashes_of_numbered_keys_are_even() {
        // 100,000 hashes are distributed over 256 buckets. If all buckets are equally likely, chi-squared with 255
        // degrees of freedom is below 347 in 9,999 of 10,000 cases.
        for shift in [0, 28, 56] {
            let mut counts = [0_u32; 256];
            for number in 0..100_000 {
                let key = format!("/data/file-{number}");
                counts[(hash(key.as_bytes()) >> shift) as usize & 255] += 1;
            }
            let expected = 100_000.0 / 256.0;
            let squared: f64 = counts
                .iter()
                .map(|&count| (f64::from(count) - expected).powi(2) / expected)
                .sum();
            assert!(squared < 347.0, "shift {shift}: {squared}");
        }
    }
}

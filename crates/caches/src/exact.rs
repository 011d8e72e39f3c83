//! Computes exact stack distances from the references to all keys, without sampling.

use crate::keys::Numbers;
use crate::recency::Recency;
use crate::tally::{Plan, Seen, Tally};

/// Upper bound on the memory per key, apart from the text of the key. While a table doubles its capacity, its old copy
/// still exists; the bound includes such copies. [byte]
const BYTES_OF_A_KEY: usize = 256;

/// Exact stack distances of the references to all keys of a trace.
#[derive(Debug)]
pub struct Exact {
    numbers: Numbers,
    recency: Recency,
    /// Number of hits for each cache size.
    pub tally: Tally,
    /// Number of references to each key. [1]
    references: Vec<u64>,
    /// Number of references whose size differs from the largest size of their key so far. [1]
    pub resized: u64,
}

impl Exact {
    /// Creates the state before the first reference.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            numbers: Numbers::default(),
            recency: Recency::new(plan.weighted),
            tally: Tally::new(plan),
            references: Vec::new(),
            resized: 0,
        }
    }

    /// Records a reference to `key`. `counted` is `false` during the warm-up: the reference then counts neither as a
    /// hit nor as a miss.
    pub fn refer(&mut self, plan: &Plan, key: &[u8], size: u64, counted: bool) {
        let held = self.recency.keys() as u64;
        let number = self.numbers.number(key);
        let known = self.recency.size(number);
        let distance = self.recency.refer(number, size);
        if number as usize == self.references.len() {
            self.references.push(0);
        } else if plan.weighted && known != size {
            self.resized += 1;
        }
        if counted {
            self.references[number as usize] += 1;
            let seen = Seen {
                distance,
                size,
                weight: 1.0,
                held,
            };
            self.tally.add(plan, &seen);
        }
    }

    /// Returns an upper bound on the memory in use. [byte]
    #[must_use]
    pub fn memory(&self) -> usize {
        self.numbers.text_bytes() + BYTES_OF_A_KEY * self.numbers.len()
    }

    /// Returns the number of different keys so far. [1]
    #[must_use]
    pub fn keys(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the sum of the sizes of all keys so far. [byte]
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.recency.bytes()
    }

    /// Returns pairs `(n, keys)`: `keys` keys have exactly `n` references.
    #[must_use]
    pub fn counts(&self) -> Vec<(u64, u64)> {
        let mut sorted: Vec<u64> = self.references.iter().copied().filter(|&n| n > 0).collect();
        sorted.sort_unstable();
        sorted
            .chunk_by(|one, other| one == other)
            .map(|alike| (alike[0], alike.len() as u64))
            .collect()
    }
}

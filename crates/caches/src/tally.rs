//! Hits by size of the cache, for the curves and the table of limits.
//!
//! A cache with two limits, on bytes B and on the number of entries F, evicts the least recently used entries until
//! both limits are met. As long as no entry shrinks, an entry is always evicted before the entries above it in the
//! stack. The cache then holds the longest part from the top of the stack that fits into both limits. Therefore a
//! reference hits if its distance is at most F entries *and* at most B bytes, and one pass gives a whole table of
//! limits.
//!
//! Metadata in the same memory reduces the space for bytes. It is kept for up to F entries, even if their bytes are no
//! longer cached. Since metadata only grows, the same argument holds.

use crate::ladder::Ladder;
use crate::recency::Distance;

/// Limits of one cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Limit on entries; `None` without a limit. [1]
    pub entries: Option<u64>,
    /// Limit on bytes, including metadata; `None` without a limit. [byte]
    pub bytes: Option<u64>,
}

impl Limits {
    /// Bytes of metadata after references to `held` different keys. [byte]
    #[must_use]
    pub fn metadata(&self, bytes_of_an_entry: u64, held: u64) -> u64 {
        let entries = self.entries.map_or(held, |most| most.min(held));
        bytes_of_an_entry.saturating_mul(entries)
    }
}

/// Sizes and limits for which hits are counted.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sizes in entries.
    pub entries: Ladder,
    /// Sizes in bytes.
    pub bytes: Ladder,
    /// Rows of the table of limits.
    pub limits: Vec<Limits>,
    /// Size of the metadata of an entry, which reduces the memory that is left for cached bytes. [byte]
    pub metadata_bytes: u64,
    /// `true` if references have sizes.
    pub weighted: bool,
}

/// A reference and the depth of its key in the stack.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Depth of its key; `None` for the first reference to it.
    pub distance: Option<Distance>,
    /// Requested bytes. [B]
    pub size: u64,
    /// Number of references that this one represents. [1]
    pub weight: f64,
    /// Number of different keys referenced before. [1]
    pub held: u64,
}

/// Hits of one cache size, or of one row of the table of limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hits {
    /// References whose bytes are in the cache. [1]
    pub references: f64,
    /// Bytes that are in the cache. [byte]
    pub bytes: f64,
    /// References whose entry is in the cache, with or without its bytes. [1]
    pub entries: f64,
}

/// Hits over all references so far.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Totals over all references, hits and misses.
    pub all: Hits,
    /// First references to a key. [1]
    pub first: f64,
    /// Longest distance in entries, and longest distance in bytes.
    pub longest: Distance,
    by_entries: Vec<f64>,
    by_bytes: Vec<Hits>,
    by_limits: Vec<Hits>,
}

impl Tally {
    /// Creates empty counts.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            all: Hits::default(),
            first: 0.0,
            longest: Distance::default(),
            by_entries: vec![0.0; plan.entries.sizes().len() + 1],
            by_bytes: vec![Hits::default(); plan.bytes.sizes().len() + 1],
            by_limits: vec![Hits::default(); plan.limits.len()],
        }
    }

    /// Counts a reference.
    pub fn add(&mut self, plan: &Plan, seen: &Seen) {
        let bytes = seen.weight * seen.size as f64;
        self.all.references += seen.weight;
        self.all.bytes += bytes;
        let Some(distance) = seen.distance else {
            self.first += seen.weight;
            return;
        };
        self.longest.entries = self.longest.entries.max(distance.entries);
        self.longest.bytes = self.longest.bytes.max(distance.bytes);
        self.by_entries[plan.entries.place(distance.entries)] += seen.weight;
        if plan.weighted {
            let hits = &mut self.by_bytes[plan.bytes.place(distance.bytes)];
            hits.references += seen.weight;
            hits.bytes += bytes;
        }
        for (hits, limits) in self.by_limits.iter_mut().zip(&plan.limits) {
            if limits.entries.is_some_and(|most| distance.entries > most) {
                continue;
            }
            hits.entries += seen.weight;
            let metadata = limits.metadata(plan.metadata_bytes, seen.held);
            let needed = distance.bytes.saturating_add(metadata);
            if limits.bytes.is_none_or(|most| needed <= most) {
                hits.references += seen.weight;
                hits.bytes += bytes;
            }
        }
    }

    /// Hits for each cache size of `Plan::entries`.
    #[must_use]
    pub fn hits_by_entries(&self) -> Vec<f64> {
        let sums = self.by_entries.iter().scan(0.0, |sum, hits| {
            *sum += hits;
            Some(*sum)
        });
        sums.collect()
    }

    /// Hits for each cache size of `Plan::bytes`.
    #[must_use]
    pub fn hits_by_bytes(&self) -> Vec<Hits> {
        let sums = self.by_bytes.iter().scan(Hits::default(), |sum, hits| {
            sum.references += hits.references;
            sum.bytes += hits.bytes;
            Some(*sum)
        });
        sums.collect()
    }

    /// Hits for each row of the table of limits.
    #[must_use]
    pub fn hits_by_limits(&self) -> &[Hits] {
        &self.by_limits
    }
}

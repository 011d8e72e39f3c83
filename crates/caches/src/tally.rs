//! Counts hits by cache size, for miss-ratio curves and for caches with two limits.
//!
//! A cache with two limits, on bytes B and on the number of entries F, evicts the least recently used entries until
//! both limits are met. As long as no entry shrinks, an entry is always evicted before the entries above it in the
//! stack. Therefore a reference hits if its distance is at most F entries *and* at most B bytes. One pass over the
//! trace thus gives the hits for all pairs of limits.
//!
//! Metadata in the same memory reduces the space for content. A cache keeps the metadata of up to F entries, even if
//! their content is no longer cached. Metadata only grows, so entries are still evicted in the order of the stack.

use crate::ladder::Ladder;
use crate::recency::Distance;

/// Limits of one cache, on the number of entries and on bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Limit on entries; `None` without a limit. [1]
    pub entries: Option<u64>,
    /// Limit on bytes of content and metadata together; `None` without a limit. [byte]
    pub bytes: Option<u64>,
}

impl Limits {
    /// Returns the memory that metadata occupy after references to `held` different keys. [byte]
    #[must_use]
    pub fn metadata(&self, bytes_of_an_entry: u64, held: u64) -> u64 {
        let entries = self.entries.map_or(held, |most| most.min(held));
        bytes_of_an_entry.saturating_mul(entries)
    }
}

/// Cache sizes, and pairs of limits, for which hits are counted.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Cache sizes in entries.
    pub entries: Ladder,
    /// Cache sizes in bytes.
    pub bytes: Ladder,
    /// Caches with two limits.
    pub limits: Vec<Limits>,
    /// Size of the metadata of each entry. Metadata reduce the memory that is left for content. [byte]
    pub metadata_bytes: u64,
    /// `true` if the references of the trace have sizes.
    pub weighted: bool,
}

/// A reference and the depth of its key in the stack.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Depth of the key in the stack; `None` for the first reference to the key.
    pub distance: Option<Distance>,
    /// Requested bytes of this reference. [B]
    pub size: u64,
    /// Number of references of the trace that this sampled reference represents. [1]
    pub weight: f64,
    /// Number of different keys referenced before this reference. [1]
    pub held: u64,
}

/// Hits of one cache: of one size, or with one pair of limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hits {
    /// Number of references whose content is in the cache. [1]
    pub references: f64,
    /// Sum of the requested bytes that are in the cache. [byte]
    pub bytes: f64,
    /// Number of references whose entry (the metadata of a key) is in the cache, with or without its content. [1]
    pub entries: f64,
}

/// Numbers of hits for each cache size, over all references so far.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Totals over all references, whether they hit or miss.
    pub all: Hits,
    /// Number of references that are the first to their key. [1]
    pub first: f64,
    /// Largest stack distance so far, in entries and in bytes. The two values may belong to different references.
    pub longest: Distance,
    by_entries: Vec<f64>,
    by_bytes: Vec<Hits>,
    by_limits: Vec<Hits>,
}

impl Tally {
    /// Creates the counts of a plan, all 0.
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

    /// Adds a reference to the counts of all cache sizes in which it hits.
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

    /// Returns the number of hits for each cache size in `Plan::entries`.
    #[must_use]
    pub fn hits_by_entries(&self) -> Vec<f64> {
        let sums = self.by_entries.iter().scan(0.0, |sum, hits| {
            *sum += hits;
            Some(*sum)
        });
        sums.collect()
    }

    /// Returns the number of hits for each cache size in `Plan::bytes`.
    #[must_use]
    pub fn hits_by_bytes(&self) -> Vec<Hits> {
        let sums = self.by_bytes.iter().scan(Hits::default(), |sum, hits| {
            sum.references += hits.references;
            sum.bytes += hits.bytes;
            Some(*sum)
        });
        sums.collect()
    }

    /// Returns the number of hits for each cache in `Plan::limits`.
    #[must_use]
    pub fn hits_by_limits(&self) -> &[Hits] {
        &self.by_limits
    }
}

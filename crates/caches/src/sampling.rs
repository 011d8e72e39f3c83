//! Stack distances from a sample of the keys: SHARDS.
//!
//! Waldspurger, Park, Garthwaite and Ahmad, *13th USENIX Conference on File and Storage Technologies*, 2015: a key and
//! all of its references are in the sample if its hash is below a threshold. A distance among sampled keys, divided by
//! the share R of sampled keys, estimates the distance among all keys. With a limit on the number of sampled keys, the
//! threshold decreases as keys arrive, so that memory is constant for a trace of any length.
//!
//! A reference in the sample stands for 1/R references. The sum over the sample may be smaller or larger than the number
//! of all references, mainly because some of the most popular keys are, or are not, in the sample. References to popular
//! keys hit in a cache of any size. The difference (actual number minus sum) is therefore added to the hits of the
//! smallest cache (SHARDS_adj). The miss ratio is then the sum over sampled misses, divided by the number of *all*
//! references.
//!
//! The error is estimated from the sample. A second hash divides the sampled keys into [`GROUPS`] groups, each of which
//! is a sample at the rate R/[`GROUPS`]. The variance between the curves of the groups gives an interval for their mean
//! (random groups; Wolter, *Introduction to Variance Estimation*, 2nd edition, 2007, chapter 2).

use std::collections::BinaryHeap;

use crate::keys::{ByHash, hash, mix};
use crate::recency::{Distance, Recency};
use crate::tally::{Plan, Seen, Tally};

/// Number of random groups of sampled keys, from which confidence intervals are computed.
pub const GROUPS: usize = 8;
/// 0.975 quantile of Student's t distribution with `GROUPS - 1` degrees of freedom.
const STUDENT: f64 = 2.364_624_251_592_784;
/// Number of possible hashes, 2^64. The sampling rate is the threshold divided by this number.
const HASHES: f64 = 18_446_744_073_709_551_616.0;

/// Settings of the sampling of keys.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Share of the keys that are sampled at the start, in (0, 1].
    pub rate: f64,
    /// Maximum number of sampled keys: the sampling rate decreases so that the number stays within this limit. [1]
    pub keys_at_most: Option<usize>,
}

/// Stack distances from the references to a sample of the keys of a trace.
#[derive(Debug)]
pub struct Sampled {
    /// Keys are sampled if their hash is at most this number.
    threshold: u64,
    keys_at_most: usize,
    /// Stack and counts of all sampled keys.
    pub all: Part,
    groups: Vec<Part>,
    /// Hashes of the sampled keys as a heap with the largest hash on top; empty if the sampling rate is fixed.
    largest: BinaryHeap<u64>,
    /// Number of counted references to sampled keys. [1]
    pub references: u64,
    /// Number of references to sampled keys whose size differs from the largest size of their key so far. [1]
    pub resized: u64,
}

/// Stack and counts of all sampled keys, or of one random group of them.
#[derive(Debug)]
pub struct Part {
    numbers: ByHash,
    /// Numbers of keys that were removed from the sample, for reuse by other keys.
    free: Vec<u32>,
    recency: Recency,
    /// Number of hits for each cache size.
    pub tally: Tally,
}

impl Sampled {
    /// Creates an empty sample.
    #[must_use]
    pub fn new(plan: &Plan, sampling: Sampling) -> Self {
        Self {
            // At a rate of 1 the product is 2^64, which does not fit into 64 bits. The conversion then gives the
            // largest integer, which selects all hashes.
            threshold: (sampling.rate * HASHES) as u64,
            keys_at_most: sampling.keys_at_most.unwrap_or(usize::MAX),
            all: Part::new(plan),
            groups: (0..GROUPS).map(|_| Part::new(plan)).collect(),
            largest: BinaryHeap::new(),
            references: 0,
            resized: 0,
        }
    }

    /// Returns the current share of all keys that are sampled.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.threshold as f64 / HASHES
    }

    /// Records a reference if its key is sampled. `counted` is `false` during the warm-up: the reference then counts
    /// neither as a hit nor as a miss.
    pub fn refer(&mut self, plan: &Plan, key: &[u8], size: u64, counted: bool) {
        let hash = hash(key);
        if hash > self.threshold {
            return;
        }
        self.references += u64::from(counted);
        let rate = self.rate();
        let known = self.all.size(hash);
        let new = self.all.refer(plan, hash, size, rate, counted);
        self.resized += u64::from(plan.weighted && !new && known != size);
        self.groups[group(hash)].refer(plan, hash, size, rate / GROUPS as f64, counted);
        if new && self.keys_at_most < usize::MAX {
            self.largest.push(hash);
            if self.all.keys() > self.keys_at_most {
                self.lower();
            }
        }
    }

    /// Removes the key with the largest hash from the sample, and lowers the threshold below this hash.
    fn lower(&mut self) {
        if let Some(hash) = self.largest.pop() {
            self.threshold = hash - 1;
            self.all.forget(hash);
            self.groups[group(hash)].forget(hash);
        }
    }

    /// Applies `hits` to the counts of each random group of sampled keys.
    pub fn of_groups<T>(&self, hits: impl Fn(&Tally) -> T) -> Vec<T> {
        self.groups.iter().map(|part| hits(&part.tally)).collect()
    }
}

/// Returns the half-width of the 95 % confidence interval of a mean, from one value for each random group.
#[must_use]
pub fn half_width(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    STUDENT * (squares / (count - 1.0) / count).sqrt()
}

fn group(hash: u64) -> usize {
    (mix(hash ^ 0x9e37_79b9_7f4a_7c15) % GROUPS as u64) as usize
}

impl Part {
    fn new(plan: &Plan) -> Self {
        Self {
            numbers: ByHash::default(),
            free: Vec::new(),
            recency: Recency::new(plan.weighted),
            tally: Tally::new(plan),
        }
    }

    /// Returns the number of keys in this part of the sample. [1]
    #[must_use]
    pub fn keys(&self) -> usize {
        self.recency.keys()
    }

    /// Returns the sum of the sizes of the keys in this part of the sample. [byte]
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.recency.bytes()
    }

    fn size(&self, hash: u64) -> u64 {
        let number = self.numbers.get(&hash);
        number.map_or(0, |&number| self.recency.size(number))
    }

    /// Records a reference to a sampled key; returns `true` if the key is new.
    fn refer(&mut self, plan: &Plan, hash: u64, size: u64, rate: f64, counted: bool) -> bool {
        let held = (self.keys() as f64 / rate) as u64;
        let own = self.size(hash);
        let next = self.numbers.len() as u32;
        let free = &mut self.free;
        let number = *self
            .numbers
            .entry(hash)
            .or_insert_with(|| free.pop().unwrap_or(next));
        let distance = self.recency.refer(number, size);
        if counted {
            let seen = Seen {
                distance: distance.map(|distance| scaled(distance, own, rate)),
                size,
                weight: 1.0 / rate,
                held,
            };
            self.tally.add(plan, &seen);
        }
        distance.is_none()
    }

    fn forget(&mut self, hash: u64) {
        if let Some(number) = self.numbers.remove(&hash) {
            self.recency.forget(number);
            self.free.push(number);
        }
    }
}

/// Estimates the stack distance among all keys from a distance among sampled keys. The referenced key itself counts as
/// one key of `own` bytes; the number of other keys is divided by `rate`.
fn scaled(distance: Distance, own: u64, rate: f64) -> Distance {
    Distance {
        entries: 1 + ((distance.entries - 1) as f64 / rate).round() as u64,
        bytes: own.saturating_add(((distance.bytes - own) as f64 / rate).round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::Ladder;

    fn plan() -> Plan {
        Plan {
            entries: Ladder::new(&[]),
            bytes: Ladder::new(&[]),
            limits: Vec::new(),
            metadata_bytes: 0,
            weighted: true,
        }
    }

    #[test]
    fn a_sample_of_constant_size_stays_so() {
        let sampling = Sampling {
            rate: 1.0,
            keys_at_most: Some(64),
        };
        let (plan, mut sampled) = (plan(), Sampled::new(&plan(), sampling));
        for number in 0..100_000_u64 {
            let key = (number % 50_000).to_le_bytes();
            sampled.refer(&plan, &key, 10, true);
            assert!(sampled.all.keys() <= 64);
        }
        let of_groups: usize = sampled.groups.iter().map(Part::keys).sum();
        assert_eq!((sampled.all.keys(), of_groups), (64, 64));
        // 64 of the 50,000 keys are below the threshold. The tolerance 0.0008 is five standard errors of this share
        // (binomial distribution).
        assert!((sampled.rate() - 64.0 / 50_000.0).abs() < 0.0008);
        assert_eq!(sampled.all.bytes(), 640);
    }

    #[test]
    fn all_keys_are_the_whole_trace() {
        let sampling = Sampling {
            rate: 1.0,
            keys_at_most: None,
        };
        let (plan, mut sampled) = (plan(), Sampled::new(&plan(), sampling));
        for number in [1_u64, 2, 3, 1, 2, 3, 3] {
            sampled.refer(&plan, &number.to_le_bytes(), 5, true);
        }
        assert_eq!(sampled.all.keys(), 3);
        assert!((sampled.all.tally.all.references - 7.0).abs() < 1e-12);
        let longest = Distance {
            entries: 3,
            bytes: 15,
        };
        assert_eq!(sampled.all.tally.longest, longest);
    }

    #[test]
    fn an_interval_is_that_of_student() {
        // The eight values have the mean 2 and a sum of squared deviations of 20. The quantile t(0.975, 7) is from a
        // table of Student's t distribution.
        let values = [0.0, 4.0, 0.0, 4.0, 1.0, 3.0, 1.0, 3.0];
        let exact = 2.364_624_251_592_784 * (20.0_f64 / 7.0 / 8.0).sqrt();
        assert!((half_width(&values) - exact).abs() < 1e-12);
    }
}

//! Cache sizes at which miss ratios are reported. They are fixed before the trace is read, so that hits can be counted
//! exactly at each size.

use std::collections::BTreeSet;

/// All cache sizes from 1 to this number are reported.
const SINGLY_AT_MOST: u64 = 32;
/// Number of reported cache sizes from each power of two to the next one, above `SINGLY_AT_MOST`.
const STEPS_OF_A_DOUBLING: u32 = 8;
/// The largest cache size is 2 to the power of this number. Integers up to 2^53 are exact as floating-point numbers.
const LARGEST: u32 = 53;

/// Cache sizes at which miss ratios are reported, in ascending order.
#[derive(Clone, Debug)]
pub struct Ladder(Vec<u64>);

impl Ladder {
    /// Creates the cache sizes 1 to 32, then eight sizes per doubling up to 2^53, and adds the requested sizes.
    #[must_use]
    pub fn new(asked: &[u64]) -> Self {
        let from = SINGLY_AT_MOST.ilog2() * STEPS_OF_A_DOUBLING;
        let steps = (from..=LARGEST * STEPS_OF_A_DOUBLING).map(|step| {
            2_f64
                .powf(f64::from(step) / f64::from(STEPS_OF_A_DOUBLING))
                .round() as u64
        });
        let all: BTreeSet<u64> = (1..=SINGLY_AT_MOST)
            .chain(steps)
            .chain(asked.iter().copied())
            .collect();
        Self(all.into_iter().collect())
    }

    /// Returns the cache sizes in ascending order.
    #[must_use]
    pub fn sizes(&self) -> &[u64] {
        &self.0
    }

    /// Returns the index of the smallest cache size that is at least `distance`. If all sizes are smaller, returns the
    /// number of sizes.
    #[must_use]
    pub fn place(&self, distance: u64) -> usize {
        self.0.partition_point(|&size| size < distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_finds_the_smallest_size_that_is_enough() {
        let ladder = Ladder::new(&[1000, 7]);
        let enough = |distance| ladder.sizes()[ladder.place(distance)];
        assert_eq!([1, 32, 33, 999, 1000].map(enough), [1, 32, 35, 1000, 1000]);
        assert_eq!(ladder.place((1 << 53) + 1), ladder.sizes().len());
        assert_eq!(*ladder.sizes().last().unwrap(), 1 << 53);
    }
}

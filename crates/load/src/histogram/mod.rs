//! Log-linear histograms that agree bit for bit with `HdrHistogram` (lowest discernible value 1,000 ns, highest
//! trackable 3.6e12 ns, three significant digits).
//!
//! A full histogram has 24,576 counters. A plan has dozens of series, and the values of most series fill a narrow
//! range. Counters are therefore stored in pages of 256, which are allocated on first use.
//!
//! Clearing a histogram keeps the memory of its pages. Once values of every range have occurred, recording therefore
//! allocates no memory.

mod decode;
mod encode;

pub use decode::{Decoder, Entries};
pub use encode::Encoder;

/// Lowest value that is distinguished from zero. [ns]
pub const LOWEST_DISCERNIBLE_NS: u64 = 1_000;
/// Highest value that is recorded without being reduced to a limit; see [`Histogram::saturated`]. [ns]
pub const HIGHEST_TRACKABLE_NS: u64 = 3_600_000_000_000;
/// Number of significant decimal digits to which values are recorded.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// Values are counted in units of `2^UNIT_MAGNITUDE` ns. This unit is the largest power of two that is not above the
/// lowest discernible value.
const UNIT_MAGNITUDE: u32 = LOWEST_DISCERNIBLE_NS.ilog2();
/// Each octave (range from a value to its double) has `2^HALF_COUNT_MAGNITUDE` counters: the smallest power of two that
/// resolves three significant digits.
const HALF_COUNT_MAGNITUDE: u32 = 10;
const HALF_COUNT: usize = 1 << HALF_COUNT_MAGNITUDE;
const SUB_BUCKET_MASK: u64 = ((2 * HALF_COUNT as u64) - 1) << UNIT_MAGNITUDE;

const PAGE_BITS: u32 = 8;
const PAGE_COUNTERS: usize = 1 << PAGE_BITS;
/// Memory of the counters of a histogram if all are allocated, at four bytes per counter. [B]
pub const FULL_BYTES: usize = PAGES * PAGE_COUNTERS * size_of::<u32>();
const PAGES: usize = (index_of(HIGHEST_TRACKABLE_NS) >> PAGE_BITS) + 1;
/// Entry of `Histogram::table` for a page of counters that is not allocated. Every page number is smaller than this
/// value.
const NO_PAGE: u8 = u8::MAX;
const _: () = assert!(PAGES < NO_PAGE as usize);

/// Returns the index of the counter that counts a value; the value is at most [`HIGHEST_TRACKABLE_NS`].
const fn index_of(value_ns: u64) -> usize {
    let bucket = u64::BITS
        - UNIT_MAGNITUDE
        - HALF_COUNT_MAGNITUDE
        - 1
        - (value_ns | SUB_BUCKET_MASK).leading_zeros();
    let sub_bucket = (value_ns >> (bucket + UNIT_MAGNITUDE)) as usize;
    ((bucket as usize) << HALF_COUNT_MAGNITUDE) + sub_bucket
}

/// Returns the lowest value of the counter at `index`, and the width of its range. [ns]
const fn range_of(index: usize) -> (u64, u64) {
    let octave = index >> HALF_COUNT_MAGNITUDE;
    let bucket = octave.saturating_sub(1);
    let sub_bucket = index - (bucket << HALF_COUNT_MAGNITUDE);
    let shift = bucket as u32 + UNIT_MAGNITUDE;
    ((sub_bucket as u64) << shift, 1 << shift)
}

/// Integer type of the counters in a histogram: `u32` for a short interval, `u64` for a whole run.
pub trait Counter: Copy + Default + Into<u64> {
    /// Returns the counter increased by `more`.
    #[must_use]
    fn plus(self, more: u64) -> Self;
}

impl Counter for u32 {
    fn plus(self, more: u64) -> Self {
        self.wrapping_add(more as u32)
    }
}

impl Counter for u64 {
    fn plus(self, more: u64) -> Self {
        self.wrapping_add(more)
    }
}

/// Counts times in nanoseconds.
///
/// A default counter (`u32`) counts up to 4 billion values, more than occur in a second; histograms of a whole run
/// use `u64`.
///
/// ```
/// use towtank_load::histogram::Histogram;
///
/// let mut histogram: Histogram = Histogram::new();
/// for milliseconds in 1..=100 {
///     histogram.record(milliseconds * 1_000_000);
/// }
/// assert_eq!(histogram.value_at_quantile(0.5), Some(50_003_967));
/// assert_eq!(histogram.sum_ns(), 5_050_000_000);
/// ```
#[derive(Clone, Debug)]
pub struct Histogram<C: Counter = u32> {
    /// Position of each page of counters in `counters`, or [`NO_PAGE`] if the page is not allocated.
    table: [u8; PAGES],
    /// Counters of the allocated pages, in the order of first use. Counters beyond the first `used` pages are zero.
    counters: Vec<C>,
    /// Number of pages of counters in use.
    used: u8,
    count: u64,
    saturated: u64,
    sum_ns: u128,
}

impl<C: Counter> Default for Histogram<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Counter> Histogram<C> {
    /// Creates an empty histogram, which allocates counters when values are recorded.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            table: [NO_PAGE; PAGES],
            counters: Vec::new(),
            used: 0,
            count: 0,
            saturated: 0,
            sum_ns: 0,
        }
    }

    /// Allocates all counters now, so that recording a value never allocates.
    pub fn make_room(&mut self) {
        self.counters.resize(PAGES * PAGE_COUNTERS, C::default());
    }

    /// Counts a value. A value above [`HIGHEST_TRACKABLE_NS`] is counted as that limit, and also in
    /// [`Histogram::saturated`].
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(value_ns);
        let index = if value_ns <= HIGHEST_TRACKABLE_NS {
            index_of(value_ns)
        } else {
            self.saturated += 1;
            index_of(HIGHEST_TRACKABLE_NS)
        };
        let counter = self.counter(index);
        *counter = counter.plus(1);
    }

    /// Adds all values of another histogram to this one.
    pub fn merge<D: Counter>(&mut self, other: &Histogram<D>) {
        for (index, count) in other.counts() {
            let counter = self.counter(index);
            *counter = counter.plus(count);
        }
        self.count += other.count;
        self.saturated += other.saturated;
        self.sum_ns += other.sum_ns;
    }

    /// Removes all values, but keeps the allocated memory.
    pub fn clear(&mut self) {
        let used = usize::from(self.used) * PAGE_COUNTERS;
        self.counters[..used].fill(C::default());
        self.table.fill(NO_PAGE);
        self.used = 0;
        self.count = 0;
        self.saturated = 0;
        self.sum_ns = 0;
    }

    /// Returns the number of recorded values.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of values that were above [`HIGHEST_TRACKABLE_NS`].
    #[must_use]
    pub const fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Returns the exact sum of the recorded values. [ns]
    #[must_use]
    pub const fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Returns `true` if the histogram has no values.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the smallest value v such that at least the fraction `quantile` of the recorded values is <= v; `None`
    /// if there are no values. [ns]
    ///
    /// `quantile` is in [0, 1]. Like `HdrHistogram`, this returns the highest value that the counter of v counts.
    #[must_use]
    pub fn value_at_quantile(&self, quantile: f64) -> Option<u64> {
        let wanted = ((quantile.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        self.counts().find_map(|(index, count)| {
            seen += count;
            let (lowest, width) = range_of(index);
            (seen >= wanted).then_some(lowest + width - 1)
        })
    }

    /// Returns index and count of all counters that are not zero, in ascending order of value.
    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.pages().flat_map(|(page, counters)| {
            let first = page << PAGE_BITS;
            counters
                .iter()
                .enumerate()
                .filter_map(move |(slot, &count)| {
                    let count: u64 = count.into();
                    (count != 0).then_some((first + slot, count))
                })
        })
    }

    /// Returns number and counters of each page in use, in ascending order of value.
    fn pages(&self) -> impl Iterator<Item = (usize, &[C])> {
        self.table
            .iter()
            .enumerate()
            .filter(|&(_, &place)| place != NO_PAGE)
            .map(|(page, &place)| {
                let start = usize::from(place) << PAGE_BITS;
                (page, &self.counters[start..start + PAGE_COUNTERS])
            })
    }

    #[inline]
    fn counter(&mut self, index: usize) -> &mut C {
        let page = index >> PAGE_BITS;
        let mut place = self.table[page];
        if place == NO_PAGE {
            place = self.add_page(page);
        }
        &mut self.counters[(usize::from(place) << PAGE_BITS) + (index & (PAGE_COUNTERS - 1))]
    }

    #[cold]
    fn add_page(&mut self, page: usize) -> u8 {
        let place = self.used;
        self.table[page] = place;
        self.used += 1;
        let needed = usize::from(self.used) * PAGE_COUNTERS;
        if self.counters.len() < needed {
            self.counters.resize(needed, C::default());
        }
        place
    }
}

#[cfg(test)]
mod tests;

//! Record of one replication: cumulative sums at the ends of slices of equal length.
//!
//! The sums over any part of the run are the difference of two rows, so that the warm-up can be chosen after the run.
//! When the number of rows reaches its limit, every second row is dropped and slices become twice as long. A long run
//! of any length therefore has between 256 and 512 rows. Response times are counted in a histogram. A copy of the
//! histogram is kept at every sixteenth row.

/// Limit on the number of rows of a record. It is even, so that every second row can be dropped.
const ROWS: usize = 512;
/// Number of rows between two copies of the histograms.
pub const BLOCK: usize = 16;
/// Number of leading mantissa bits of a time that select its histogram bucket. A bucket is at most 0.8 % wide.
const FINE_BITS: u32 = 7;
/// Binary exponents of the times that the histogram distinguishes. Times below 2^-30 s (1 ns) are counted in the first
/// bucket, and times from 2^24 s (194 days) on in the last bucket.
const EXPONENTS: (i32, i32) = (-30, 24);
const BUCKETS: usize = ((EXPONENTS.1 - EXPONENTS.0) as usize) << FINE_BITS;

/// A quantity that changes at events, such as a number of jobs, with its integral over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    pub value: f64,
    since: f64,
    area: f64,
}

impl Level {
    #[inline]
    pub fn set(&mut self, now: f64, value: f64) {
        self.area += self.value * (now - self.since);
        self.since = now;
        self.value = value;
    }

    #[inline]
    pub fn add(&mut self, now: f64, more: f64) {
        self.set(now, self.value + more);
    }
}

/// Returns the index of the histogram bucket that contains a time.
#[inline]
fn bucket(time: f64) -> usize {
    let first = ((1023 + EXPONENTS.0) as usize) << FINE_BITS;
    let place = (time.to_bits() >> (52 - FINE_BITS)) as usize;
    place.saturating_sub(first).min(BUCKETS - 1)
}

/// Returns the lower end of a histogram bucket. [s]
fn edge(bucket: usize) -> f64 {
    let first = ((1023 + EXPONENTS.0) as u64) << FINE_BITS;
    f64::from_bits((first + bucket as u64) << (52 - FINE_BITS))
}

/// Returns a quantile of the times in a histogram; `None` if it is empty. Times are taken as uniformly distributed
/// within a bucket. [s]
pub fn quantile(counts: &[u64], share: f64) -> Option<f64> {
    let total: u64 = counts.iter().sum();
    let rank = share * total as f64;
    let mut below = 0.0;
    for (index, &count) in counts.iter().enumerate() {
        if count > 0 && below + count as f64 >= rank {
            let within = ((rank - below) / count as f64).clamp(0.0, 1.0);
            return Some(edge(index) + within * (edge(index + 1) - edge(index)));
        }
        below += count as f64;
    }
    None
}

/// Returns the number of counted times below `time`. Times are taken as uniformly distributed within a bucket.
pub fn below(counts: &[u64], time: f64) -> f64 {
    let own = bucket(time);
    let within = ((time - edge(own)) / (edge(own + 1) - edge(own))).clamp(0.0, 1.0);
    counts[..own].iter().sum::<u64>() as f64 + within * counts[own] as f64
}

/// The cumulative sums and histograms of a replication.
pub struct Record {
    pub levels: Vec<Level>,
    pub counts: Vec<f64>,
    histogram: Vec<u32>,
    rows: Vec<f64>,
    copies: Vec<Vec<u32>>,
    slice_s: f64,
    filled: usize,
    /// Time at which the current slice ends. [s]
    pub slice_end_s: f64,
    now_s: f64,
}

/// Sums and histograms of a part of a run.
pub struct Part {
    /// Duration of the part. [s]
    pub duration_s: f64,
    /// Integrals of the levels over the part, followed by the increases of the counts.
    pub sums: Vec<f64>,
    /// Histogram of the response times of each class.
    pub histograms: Vec<Vec<u64>>,
}

impl Record {
    /// Creates an empty record; `slice_s` is the initial length of a slice, which grows with the run.
    pub fn new(levels: usize, counts: usize, classes: usize, slice_s: f64) -> Self {
        Self {
            levels: vec![Level::default(); levels],
            counts: vec![0.0; counts],
            histogram: vec![0; classes * BUCKETS],
            rows: Vec::with_capacity(ROWS * (levels + counts)),
            copies: Vec::with_capacity(ROWS / BLOCK),
            slice_s,
            filled: 0,
            slice_end_s: slice_s,
            now_s: 0.0,
        }
    }

    fn width(&self) -> usize {
        self.levels.len() + self.counts.len()
    }

    /// Counts a response time in the histogram of its class.
    #[inline]
    pub fn response(&mut self, class: usize, time: f64) {
        self.histogram[class * BUCKETS + bucket(time)] += 1;
    }

    /// Ends all slices that end at or before the time `now`.
    #[cold]
    pub fn pass(&mut self, now: f64) {
        while now >= self.slice_end_s {
            let end = self.slice_end_s;
            let row = self.row(end);
            self.rows.extend(row);
            self.filled += 1;
            if self.filled.is_multiple_of(BLOCK) {
                self.copies.push(self.histogram.clone());
            }
            if self.filled == ROWS {
                self.halve();
            }
            self.slice_end_s = (self.filled + 1) as f64 * self.slice_s;
        }
    }

    /// Returns the cumulative sums at the time `now`.
    fn row(&mut self, now: f64) -> Vec<f64> {
        let areas = self.levels.iter_mut().map(|level| {
            level.set(now, level.value);
            level.area
        });
        areas.chain(self.counts.iter().copied()).collect()
    }

    fn halve(&mut self) {
        let width = self.width();
        for row in 0..ROWS / 2 {
            let from = (2 * row + 1) * width;
            self.rows.copy_within(from..from + width, row * width);
        }
        self.rows.truncate(ROWS / 2 * width);
        let mut index = 0;
        self.copies.retain(|_| {
            index += 1;
            index % 2 == 0
        });
        self.filled = ROWS / 2;
        self.slice_s *= 2.0;
    }

    /// Adds the sums up to the time `now` to the record.
    pub fn stop(&mut self, now: f64) {
        self.pass(now);
        self.now_s = now;
    }

    /// Returns the number of complete slices of the record.
    pub fn slices(&self) -> usize {
        self.filled
    }

    /// Returns the length of a slice. [s]
    pub fn slice_s(&self) -> f64 {
        self.slice_s
    }

    /// Returns the increase of a cumulative sum over each slice, divided by the length of the slice. For an integral
    /// this is the mean of the quantity, and for a count the rate.
    pub fn series(&self, index: usize) -> Vec<f64> {
        let width = self.width();
        let value = |row: usize| self.rows[row * width + index];
        (0..self.filled)
            .map(|row| (value(row) - if row == 0 { 0.0 } else { value(row - 1) }) / self.slice_s)
            .collect()
    }

    /// Divides the run after the first `blocks` blocks into equal batches of whole slices, without histograms. The list
    /// is empty if there are too few slices.
    pub fn batches(&self, blocks: usize, count: usize) -> Vec<Part> {
        let (start, width) = (blocks * BLOCK, self.width());
        let each = self.filled.saturating_sub(start) / count.max(1);
        if each == 0 {
            return Vec::new();
        }
        let sum = |slices: usize, index: usize| match slices {
            0 => 0.0,
            _ => self.rows[(slices - 1) * width + index],
        };
        let part = |batch: usize| {
            let (from, to) = (start + batch * each, start + (batch + 1) * each);
            Part {
                duration_s: each as f64 * self.slice_s,
                sums: (0..width)
                    .map(|index| sum(to, index) - sum(from, index))
                    .collect(),
                histograms: Vec::new(),
            }
        };
        (0..count).map(part).collect()
    }

    /// Returns the part of the run after the first `blocks` blocks of slices. [`Record::stop`] must be called before.
    pub fn since_block(&mut self, blocks: usize) -> Part {
        let mut sums = self.row(self.now_s);
        let width = self.width();
        let start = blocks * BLOCK;
        if start > 0 {
            let row = &self.rows[(start - 1) * width..start * width];
            sums.iter_mut()
                .zip(row)
                .for_each(|(sum, before)| *sum -= before);
        }
        let before = (blocks > 0).then(|| &self.copies[blocks - 1]);
        let counts = self.histogram.iter().enumerate().map(|(index, &count)| {
            // Counts of the histogram may wrap around; their difference is still correct.
            u64::from(count.wrapping_sub(before.map_or(0, |copy| copy[index])))
        });
        let counts: Vec<u64> = counts.collect();
        Part {
            duration_s: self.now_s - start as f64 * self.slice_s,
            sums,
            histograms: counts.chunks(BUCKETS).map(<[u64]>::to_vec).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records a level that equals the time t, a count of the seconds, and a response every second, so that every part
    /// of the run is known.
    #[test]
    fn any_part_of_a_run_is_what_it_was() {
        let mut record = Record::new(1, 1, 1, 0.37);
        for second in 0..10_000_u32 {
            let now = f64::from(second);
            if now >= record.slice_end_s {
                record.pass(now);
            }
            record.levels[0].set(now, now);
            record.counts[0] += 1.0;
            record.response(0, 1.0);
        }
        record.stop(9_999.0);
        assert!((ROWS / 2..ROWS).contains(&record.slices()));
        let start = (3 * BLOCK) as f64 * record.slice_s;
        let part = record.since_block(3);
        assert!((part.duration_s - (9_999.0 - start)).abs() < 1e-6);
        // The count increases once per second, and the recorded level is up to 1 below the time t.
        assert!(
            (part.sums[1] - part.duration_s).abs() <= 1.5,
            "{}",
            part.sums[1]
        );
        assert_eq!(part.histograms[0].iter().sum::<u64>(), part.sums[1] as u64);
        let batches = record.batches(3, 7);
        let each_s = batches[0].duration_s;
        assert_eq!(batches.len(), 7);
        assert!(7.0 * each_s > part.duration_s - 8.0 * record.slice_s());
        for (number, batch) in batches.iter().enumerate() {
            // The recorded level is on average half a step below the time, so the mean of a batch is the middle of the
            // batch minus 0.5.
            let middle = start + (number as f64 + 0.5) * each_s;
            assert!((batch.sums[0] / each_s - middle + 0.5).abs() < 1.0);
            assert!((batch.sums[1] - each_s).abs() <= 1.5);
        }
        assert!(record.batches(3, 600).is_empty());
        let area = (9_999.0 * 9_998.0 - (start.floor() * (start.floor() - 1.0))) / 2.0;
        assert!((part.sums[0] / area - 1.0).abs() < 1e-3);
    }

    #[test]
    fn quantiles_lie_within_a_bucket_of_the_true_ones() {
        let mut counts = vec![0_u64; BUCKETS];
        (1..=100_000).for_each(|index| counts[bucket(f64::from(index) * 1e-5)] += 1);
        for share in [0.01, 0.5, 0.9, 0.999] {
            let found = quantile(&counts, share).unwrap();
            assert!((found / share - 1.0).abs() < 1e-3, "{share}: {found}");
            assert!((below(&counts, found) - share * 1e5).abs() < 1e-6);
        }
        assert_eq!(quantile(&[0; 4], 0.5), None);
    }

    #[test]
    fn times_out_of_range_are_counted_at_the_ends() {
        assert_eq!(
            (bucket(0.0), bucket(1e-12), bucket(1e12)),
            (0, 0, BUCKETS - 1)
        );
    }
}

//! Records the gaps in a thread's event loop. A gap is the time between two iterations, less the intended wait. Events
//! within a gap are handled late.

use std::ops::Range;

/// Longest intended wait of the event loop; a longer wait could hide a stall of the thread. [ns]
pub const LONGEST_WAIT_NS: u64 = 50_000_000;

/// Shortest gap that counts as a stall of the thread. It is several scheduler time slices long, so that a late wake-up
/// is not a stall. [ns]
pub const STALL_NS: u64 = 100_000_000;

/// Gaps in the event loop during one interval: times between iterations, less the intended waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Length of the longest gap that lies at least partly in the interval. Its part outside the interval is included.
    /// [ns]
    pub longest_ns: u64,
    /// Time of the interval that is covered by gaps of at least [`STALL_NS`]. [ns]
    pub stalled_ns: u64,
}

impl Gaps {
    /// Counts a gap of length `whole_ns`; `within` is its part inside the interval.
    #[inline]
    pub fn note(&mut self, whole_ns: u64, within: Range<u64>) {
        if within.is_empty() {
            return;
        }
        self.longest_ns = self.longest_ns.max(whole_ns);
        if whole_ns >= STALL_NS {
            self.stalled_ns += within.end - within.start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_counts_as_long_as_it_lies_in_the_interval() {
        let mut gaps = Gaps::default();
        gaps.note(STALL_NS - 1, 0..STALL_NS - 1);
        assert_eq!(gaps.stalled_ns, 0, "a wait is no stall");
        assert_eq!(gaps.longest_ns, STALL_NS - 1);
        gaps.note(3_000_000_000, 400_000_000..1_000_000_000);
        assert_eq!(gaps.stalled_ns, 600_000_000);
        assert_eq!(gaps.longest_ns, 3_000_000_000);
    }

    #[test]
    fn a_stretch_outside_of_the_interval_is_none_of_it() {
        let mut gaps = Gaps::default();
        gaps.note(3_000_000_000, 5..5);
        assert_eq!(gaps, Gaps::default());
    }
}

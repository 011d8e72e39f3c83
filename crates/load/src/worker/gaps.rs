//! Stretches of time in which the loop of a thread did not turn though it was to: what happened meanwhile was noticed
//! late.

use std::ops::Range;

/// The loop turns at least once in this time, whatever there is to do, so that a stall is hidden by no long wait. [ns]
pub const LONGEST_WAIT_NS: u64 = 50_000_000;

/// Stretches from this length on are stalls: some time slices of a scheduler, so that a late wake-up is none. [ns]
pub const STALL_NS: u64 = 100_000_000;

/// How late the loop turned, within one interval; what it meant to wait is no part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// The longest one, whole, even where it reaches beyond the interval. [ns]
    pub longest_ns: u64,
    /// Time of the interval that lies in stretches of [`STALL_NS`] and more. [ns]
    pub stalled_ns: u64,
}

impl Gaps {
    /// Counts one stretch, and the part of it that lies in the interval.
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

//! Sampling times: multiples of the interval on `CLOCK_MONOTONIC`, so that delays do not accumulate.

/// Computes the sampling times one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    interval_ns: u64,
    next_ns: u64,
}

impl Schedule {
    /// Creates a schedule that begins with the first multiple of the interval after `now_ns`.
    ///
    /// # Panics
    ///
    /// If the interval is zero.
    #[must_use]
    pub fn new(interval_ns: u64, now_ns: u64) -> Self {
        assert!(interval_ns > 0, "an interval must be above 0");
        Self {
            interval_ns,
            next_ns: (now_ns / interval_ns + 1) * interval_ns,
        }
    }

    /// Returns the next sampling time. [ns]
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Advances past the current sampling time and returns the delay of `now_ns` after this time. [ns]
    ///
    /// Skips sampling times that were missed because the host slept or the probe got no CPU. Samples are therefore
    /// never taken in quick succession.
    pub fn take(&mut self, now_ns: u64) -> u64 {
        let late_ns = now_ns.saturating_sub(self.next_ns);
        self.next_ns += (late_ns / self.interval_ns + 1) * self.interval_ns;
        late_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_told_and_never_adds_up() {
        let mut schedule = Schedule::new(1000, 12_345);
        assert_eq!(schedule.next_ns(), 13_000);
        assert_eq!(schedule.take(13_000), 0);
        assert_eq!(schedule.take(14_900), 900);
        assert_eq!(schedule.next_ns(), 15_000);
        assert_eq!(schedule.take(18_200), 3_200);
        assert_eq!(schedule.next_ns(), 19_000);
    }

    #[test]
    fn an_instant_on_the_grid_is_not_used_twice() {
        let mut schedule = Schedule::new(1000, 13_000);
        assert_eq!(schedule.next_ns(), 14_000);
        assert_eq!(schedule.take(15_000), 1000);
        assert_eq!(schedule.next_ns(), 16_000);
    }
}

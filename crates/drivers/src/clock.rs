//! The clock of a run, which all load threads read.

use nix::time::{ClockId, clock_gettime};

fn read_ns(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |time| {
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
    })
}

/// Time of `CLOCK_MONOTONIC`. [ns]
#[must_use]
pub fn monotonic_ns() -> u64 {
    read_ns(ClockId::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread. [ns]
pub(crate) fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

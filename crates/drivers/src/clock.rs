//! The clocks that all load threads read: monotonic time and CPU time.

use nix::time::{ClockId, clock_gettime};

fn read_ns(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |time| {
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
    })
}

/// Returns the time of `CLOCK_MONOTONIC`. [ns]
#[must_use]
pub fn monotonic_ns() -> u64 {
    read_ns(ClockId::CLOCK_MONOTONIC)
}

/// Returns the CPU time that the calling thread has used. [ns]
pub(crate) fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

//! Linux interfaces shared by load engine, probe and null server: clocks, CPU pinning, and the limit on open files.
//!
//! ```
//! let start_ns = towtank_linux::monotonic_ns();
//! assert!(towtank_linux::monotonic_ns() >= start_ns);
//! ```

#![forbid(unsafe_code)]

use std::io;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

/// Reads a clock of the system. Reading cannot fail, since all clocks used here exist on every Linux system.
fn read_ns(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |time| {
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
    })
}

/// Returns the time of the clock `CLOCK_MONOTONIC`. [ns]
#[must_use]
pub fn monotonic_ns() -> u64 {
    read_ns(ClockId::CLOCK_MONOTONIC)
}

/// Returns the time of the wall clock, since the start of 1970. [ns]
#[must_use]
pub fn wall_ns() -> u64 {
    read_ns(ClockId::CLOCK_REALTIME)
}

/// Returns the CPU time that the calling thread has used. [ns]
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns the CPU time that all threads of this process have used. [ns]
#[must_use]
pub fn process_cpu_ns() -> u64 {
    read_ns(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// Pins the calling thread to one CPU, and also all threads and processes that this thread starts later.
///
/// # Errors
/// If the machine has no such CPU, or this process is not allowed to use it.
pub fn pin_thread(cpu: usize) -> io::Result<()> {
    let mut only = CpuSet::new();
    only.set(cpu)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &only)?)
}

/// Raises this process's limit on open files as far as the system permits.
///
/// # Errors
/// If the system refuses. A caller that continues gets an error when it opens too many files.
pub fn raise_open_files() -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_pinned_to_a_cpu_that_there_is() {
        // A separate thread is pinned, so that the CPUs of the other threads of this process do not change.
        let pinned =
            std::thread::spawn(|| (pin_thread(usize::MAX).is_err(), pin_thread(1023).is_err()));
        assert_eq!(pinned.join().ok(), Some((true, true)));
    }

    #[test]
    fn wall_time_is_that_of_the_standard_library() {
        let since_1970 = || {
            let now = std::time::SystemTime::now();
            now.duration_since(std::time::UNIX_EPOCH)
                .expect("after 1970")
                .as_nanos()
        };
        let (before, ours, after) = (since_1970(), u128::from(wall_ns()), since_1970());
        assert!(before <= ours && ours <= after);
    }

    #[test]
    fn a_thread_uses_no_more_than_its_process() {
        let thread_ns = thread_cpu_ns();
        assert!(0 < thread_ns && thread_ns <= process_cpu_ns());
    }

    #[test]
    fn the_limit_of_open_files_is_then_the_highest() {
        raise_open_files().expect("the limit may be raised to the hard limit");
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
        assert_eq!(soft, hard);
    }
}

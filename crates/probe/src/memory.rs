//! Memory of a group without double counting: proportional sets, measured at a limited cost.
//!
//! If processes share pages, the sum of their resident sets counts a shared page once for each process. Examples are
//! PostgreSQL, servers that fork workers, and children of any process after a `fork`. The proportional set (Pss) of a
//! process divides each page by the number of processes that map it, so the sum over these processes counts it once.
//!
//! For `/proc/PID/smaps_rollup` the kernel walks the page tables of the process: about 10 µs for a small process, and
//! milliseconds for each GiB. Therefore all members of a group are read in one round. The next round waits for a
//! multiple of the CPU time that the last rounds of all groups took.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::sys;
use crate::text;

const KIB: u64 = 1024;
/// Pause between measurements of a steady group, as a multiple of the CPU time that the last measurements took. It
/// limits the cost to 0.1 % of one CPU. [1]
const REST_WHEN_STEADY: u64 = 1000;
/// Pause between measurements of a changing group, as a multiple of the CPU time that the last measurements took. It
/// limits the cost to 0.5 % of one CPU. [1]
const REST_WHEN_CHANGED: u64 = 200;
/// Pause before the measurement in the last sample, as a multiple of the CPU time that the last measurements took. [1]
const REST_BEFORE_END: u64 = 20;
/// Reciprocal of the relative change of memory or processes above which a group counts as changed: 1/10. [1]
const CHANGE: u64 = 10;

/// Proportional set size of one process, or the sum over several processes. [bytes]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Proportional {
    /// Proportional size of all pages.
    pub all: u64,
    /// Proportional size of the pages that are not backed by a file on a disk: anonymous and shared memory.
    pub anonymous: u64,
}

impl Proportional {
    /// Parses the content of `/proc/PID/smaps_rollup`.
    #[must_use]
    pub fn parse(content: &[u8]) -> Option<Self> {
        let of = |key| text::keyed(content, key).map(|value| value * KIB);
        Some(Self {
            all: of("Pss")?,
            anonymous: of("Pss_Anon")? + of("Pss_Shmem")?,
        })
    }
}

/// Time of the last measurement of a group's memory, and the size of the group at that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Round {
    at_ns: u64,
    took_ns: u64,
    resident: u64,
    processes: u64,
}

/// Samples in which the proportional sets of groups are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// In no sample, since the kernel does not provide proportional sets.
    Never,
    /// In each sample for which [`Pace`] determines that a measurement is due.
    WhenDue,
    /// In this sample, since the probe ends after it, unless a measurement was made just before it.
    AtEnd,
}

/// Determines when the memory of a group is to be measured again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    last: Option<Round>,
}

impl Pace {
    /// Returns `true` if a measurement of the group is due. `resident` is the sum of the resident sets of the group,
    /// and `all_took_ns` the CPU time that the last measurements of all groups took.
    ///
    /// Readers of the samples estimate the memory between two measurements from the resident sets, so the last sample
    /// has a measurement, too.
    #[must_use]
    pub fn is_due(
        &self,
        now_ns: u64,
        resident: u64,
        processes: u64,
        all_took_ns: u64,
        rounds: Rounds,
    ) -> bool {
        if rounds == Rounds::Never {
            return false;
        }
        let Some(last) = self.last else { return true };
        let differs = |now: u64, then: u64| now.abs_diff(then) > then / CHANGE;
        let changed = differs(resident, last.resident) || differs(processes, last.processes);
        let rest = match (rounds, changed) {
            (Rounds::AtEnd, _) => REST_BEFORE_END,
            (_, true) => REST_WHEN_CHANGED,
            (_, false) => REST_WHEN_STEADY,
        };
        now_ns.saturating_sub(last.at_ns) >= all_took_ns.saturating_mul(rest)
    }

    /// Returns the CPU time that the last measurement took; 0 before the first measurement.
    #[must_use]
    pub fn took_ns(&self) -> u64 {
        self.last.map_or(0, |last| last.took_ns)
    }

    /// Records the time, the cost and the size of the group for a measurement.
    pub fn note(&mut self, at_ns: u64, took_ns: u64, resident: u64, processes: u64) {
        self.last = Some(Round {
            at_ns,
            took_ns,
            resident,
            processes,
        });
    }
}

/// Returns `true` if the kernel provides the proportional set size of a process (Linux 4.14 and later).
#[must_use]
pub fn is_offered(proc: &Path) -> bool {
    proc.join("self/smaps_rollup").exists()
}

/// Returns the sum of the proportional sets of processes, or `None` if this process may not read one of them.
///
/// The files are opened each time, since an open file remains bound to the memory that the process had before an
/// `exec`.
#[must_use]
pub fn measure(proc: &Path, pids: impl Iterator<Item = u32>) -> Option<Proportional> {
    let mut sum = Proportional::default();
    let mut content = Vec::new();
    for pid in pids {
        content.clear();
        match read(&proc.join(pid.to_string()), &mut content) {
            Ok(()) => {
                let process = Proportional::parse(&content)?;
                sum.all += process.all;
                sum.anonymous += process.anonymous;
            }
            // The process has ended, so it has no memory and adds nothing.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => {}
            Err(_) => return None,
        }
    }
    Some(sum)
}

fn read(folder: &Path, content: &mut Vec<u8>) -> io::Result<()> {
    File::open(folder.join("smaps_rollup"))?.read_to_end(content)?;
    Ok(())
}

/// Measures the proportional sets of a group, and records the CPU time that this took.
pub fn round(
    pace: &mut Pace,
    proc: &Path,
    pids: impl Iterator<Item = u32>,
    resident: u64,
    processes: u64,
) -> Option<Proportional> {
    let (at_ns, before_ns) = (sys::monotonic_ns(), sys::process_cpu_ns());
    let found = measure(proc, pids);
    let took_ns = sys::process_cpu_ns() - before_ns;
    pace.note(at_ns, took_ns, resident, processes);
    found
}

#[cfg(test)]
mod tests {
    use super::Rounds::{AtEnd, WhenDue};
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_rollup_is_read() {
        let content = b"5631-7ffd ---p 00000000 00:00 0    [rollup]\nRss:  1760 kB\nPss:  200 kB\n\
                        Pss_Dirty: 112 kB\nPss_Anon: 112 kB\nPss_File: 58 kB\nPss_Shmem: 30 kB\n";
        let found = Proportional {
            all: 200 * KIB,
            anonymous: 142 * KIB,
        };
        assert_eq!(Proportional::parse(content), Some(found));
        assert_eq!(Proportional::parse(b"Rss: 1760 kB\n"), None);
    }

    #[test]
    fn a_round_waits_for_a_multiple_of_what_the_last_one_took() {
        let mut pace = Pace::default();
        assert!(pace.is_due(0, 1000, 5, 0, WhenDue));
        // After a measurement of 0.1 s of CPU time: 1000 x 0.1 s = 100 s for a steady group, 200 x 0.1 s = 20 s for a
        // changed group, 20 x 0.1 s = 2 s before the last sample.
        pace.note(0, SECOND_NS / 10, 1000, 5);
        let is_due = |seconds, resident, processes, rounds| {
            let all_ns = pace.took_ns();
            pace.is_due(seconds * SECOND_NS, resident, processes, all_ns, rounds)
        };
        assert!(!is_due(99, 1100, 5, WhenDue) && is_due(100, 1100, 5, WhenDue));
        assert!(!is_due(19, 1101, 5, WhenDue) && is_due(20, 1101, 5, WhenDue));
        assert!(is_due(20, 1000, 6, WhenDue));
        assert!(!pace.is_due(u64::MAX, 1101, 5, pace.took_ns(), Rounds::Never));
        assert!(!is_due(1, 1000, 5, AtEnd) && is_due(2, 1000, 5, AtEnd));
    }

    #[test]
    fn all_groups_share_the_rest_whatever_each_of_them_takes() {
        let mut large = Pace::default();
        let mut small = [Pace::default(); 11];
        let (large_ns, small_ns) = (SECOND_NS / 50, SECOND_NS / 20_000);
        large.note(0, large_ns, 1000, 5);
        for pace in &mut small {
            pace.note(0, small_ns, 1000, 5);
        }
        let all_ns = large.took_ns() + small.iter().map(Pace::took_ns).sum::<u64>();
        for pace in small.iter().chain([&large]) {
            assert!(!pace.is_due(20 * SECOND_NS, 1000, 5, all_ns, WhenDue));
            assert!(pace.is_due(21 * SECOND_NS, 1000, 5, all_ns, WhenDue));
        }
    }

    #[test]
    fn our_own_proportional_set_is_no_more_than_our_resident_set() {
        let proc = Path::new("/proc");
        assert!(is_offered(proc));
        let found = measure(proc, std::iter::once(std::process::id())).expect("our own");
        let statm = std::fs::read("/proc/self/statm").expect("our own");
        let resident = text::fields(&statm).nth(1).and_then(text::number);
        assert!(found.all > 0 && found.anonymous <= found.all);
        assert!(found.all <= 2 * resident.expect("a number") * sys::page_bytes());
        assert_eq!(
            measure(proc, std::iter::once(u32::MAX)),
            Some(Proportional::default()),
            "a process that has ended has no memory"
        );
    }
}

//! The process and the thread of a group that used the CPUs most since the previous reading.
//!
//! A server may do all its work in one thread, or in one process with an interpreter lock. Then a single CPU limits it
//! while the other CPUs are idle. The CPU time summed over the group does not show this.

use std::fs;
use std::path::Path;

use crate::json::Json;

/// Increase of CPU time and of run-queue wait of one process or thread between two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the unit ends each name")]
pub struct Growth {
    /// Increase of the CPU time of the process or thread. [ns]
    pub cpu_ns: u64,
    /// Increase of the time during which the process or thread was ready to run and waited for a CPU. [ns]
    pub wait_ns: u64,
    /// Time between the readings, which is never 0. [ns]
    pub in_ns: u64,
}

impl Growth {
    /// Returns the increase between two readings. Each reading consists of the CPU time, the wait for a CPU and the
    /// time of the reading. Returns `None` if no time has passed.
    #[must_use]
    pub fn between(before: (u64, u64, u64), now: (u64, u64, u64)) -> Option<Self> {
        let in_ns = now.2.checked_sub(before.2).filter(|ns| *ns > 0)?;
        Some(Self {
            cpu_ns: now.0.saturating_sub(before.0),
            wait_ns: now.1.saturating_sub(before.1),
            in_ns,
        })
    }

    /// Returns the increase between two readings of a CPU time in clock ticks, or `None` if no time has passed. The
    /// wait for a CPU is unknown and reported as 0.
    #[must_use]
    pub fn of_ticks(before: u64, now: u64, in_ns: u64, ticks_per_s: u64) -> Option<Self> {
        let tick_ns = 1_000_000_000 / ticks_per_s.max(1);
        Self::between((0, 0, 0), (now.saturating_sub(before) * tick_ns, 0, in_ns))
    }

    fn is_more_than(self, other: Self) -> bool {
        u128::from(self.cpu_ns) * u128::from(other.in_ns)
            > u128::from(other.cpu_ns) * u128::from(self.in_ns)
    }

    fn share(self, part_ns: u64) -> f64 {
        part_ns as f64 / self.in_ns as f64
    }
}

/// The process or thread whose CPU time increased most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busiest {
    /// Process id of the process, or of the process of the thread.
    pub pid: u32,
    /// Thread id of the thread. For a whole process, the process id.
    pub tid: u32,
    /// Increase of CPU time and run-queue wait of this process or thread.
    pub growth: Growth,
}

impl Busiest {
    /// Returns the process or thread whose CPU time increased more.
    #[must_use]
    pub fn busier(best: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (best, other) {
            (Some(best), Some(other)) if other.growth.is_more_than(best.growth) => Some(other),
            (best, other) => best.or(other),
        }
    }
}

/// Number of threads whose names are remembered, so that names are not read again when several threads alternate as the
/// busiest thread.
const REMEMBERED: usize = 16;
/// Number of uses after which a name is read again, since a thread may change its name, and its id may be reused.
const USES_AT_MOST: u32 = 32;

/// Name of a thread, with the number of times that it was used.
#[derive(Debug)]
struct Name {
    tid: u32,
    text: String,
    uses: u32,
}

/// Names of the busiest processes and threads. The name of a process is that of its first thread.
#[derive(Debug, Default)]
pub struct Names {
    known: Vec<Name>,
}

impl Names {
    /// Writes the objects `busiest_process` and `busiest_thread`, each only if the process or thread is known.
    pub fn write(
        &mut self,
        proc: &Path,
        process: Option<Busiest>,
        thread: Option<Busiest>,
        json: &mut Json,
    ) {
        if let Some(found) = process {
            json.object("busiest_process");
            json.count("pid", u64::from(found.pid));
            json.text("name", self.name(proc, found.pid, found.pid));
            json.number("cpus", found.growth.share(found.growth.cpu_ns));
            json.end_object();
        }
        if let Some(found) = thread {
            json.object("busiest_thread");
            json.count("pid", u64::from(found.pid));
            json.count("tid", u64::from(found.tid));
            json.text("name", self.name(proc, found.pid, found.tid));
            json.number("cpus", found.growth.share(found.growth.cpu_ns));
            json.number("waits", found.growth.share(found.growth.wait_ns));
            json.end_object();
        }
    }

    /// Returns the name of a thread, or `None` if the thread has just ended.
    fn name(&mut self, proc: &Path, pid: u32, tid: u32) -> Option<&str> {
        self.known
            .retain(|name| name.tid != tid || name.uses < USES_AT_MOST);
        let place = self.known.iter().position(|name| name.tid == tid);
        let place = if let Some(place) = place {
            place
        } else {
            let text = fs::read(proc.join(format!("{pid}/task/{tid}/comm"))).ok()?;
            let text = String::from_utf8_lossy(&text).trim_end().to_owned();
            if self.known.len() == REMEMBERED {
                self.known.remove(0);
            }
            self.known.push(Name { tid, text, uses: 0 });
            self.known.len() - 1
        };
        let name = &mut self.known[place];
        name.uses += 1;
        Some(&name.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busiest(pid: u32, cpu_ns: u64, in_ns: u64) -> Option<Busiest> {
        let growth = Growth::between((7, 1, 100), (7 + cpu_ns, 3, 100 + in_ns))?;
        Some(Busiest {
            pid,
            tid: pid,
            growth,
        })
    }

    #[test]
    fn the_busiest_has_the_largest_share_of_its_own_interval() {
        let candidates = [
            busiest(1, 300, 1000),
            busiest(2, 400, 2000),
            busiest(3, 0, 10),
            None,
        ];
        let found = candidates.into_iter().fold(None, Busiest::busier);
        assert_eq!(found.map(|found| found.pid), Some(1));
        let busier = |best, other| Busiest::busier(best, other).map(|found| found.pid);
        assert_eq!(
            busier(busiest(1, 300, 1000), busiest(2, 601, 2000)),
            Some(2)
        );
        assert_eq!(
            busier(busiest(1, 300, 1000), busiest(2, 600, 2000)),
            Some(1)
        );
        assert_eq!(
            busier(busiest(1, 3000, 100), busiest(2, 600, 2000)),
            Some(1)
        );
    }

    #[test]
    fn ticks_are_cpu_time() {
        let growth = Growth::of_ticks(40, 90, 1_000_000_000, 100).expect("time has passed");
        assert_eq!((growth.cpu_ns, growth.in_ns), (500_000_000, 1_000_000_000));
        assert_eq!(growth.wait_ns, 0);
        let slow = Growth::of_ticks(1, 3, 5, 1).expect("time has passed");
        assert_eq!(slow.cpu_ns, 2_000_000_000);
        assert_eq!(Growth::of_ticks(40, 90, 0, 100), None);
    }

    #[test]
    fn no_time_is_no_growth() {
        assert_eq!(Growth::between((1, 0, 5), (2, 0, 5)), None);
        assert_eq!(Growth::between((1, 0, 5), (2, 0, 4)), None);
    }

    #[test]
    fn a_counter_that_falls_is_no_growth() {
        let growth = Growth::between((9, 9, 5), (2, 3, 6)).expect("time has passed");
        assert_eq!((growth.cpu_ns, growth.wait_ns), (0, 0));
    }

    #[test]
    fn a_name_is_kept_while_threads_take_turns() {
        let mut names = Names::default();
        let nowhere = Path::new("/no/such/proc");
        let own = std::process::id();
        assert_eq!(names.name(nowhere, own, own), None);
        let read = names.name(Path::new("/proc"), own, own).map(str::to_owned);
        assert!(read.is_some());
        for _ in 1..USES_AT_MOST {
            assert_eq!(names.name(nowhere, 70, 78), None);
            assert_eq!(names.name(nowhere, own, own).map(str::to_owned), read);
        }
        assert_eq!(names.name(nowhere, own, own), None, "it is read again");
    }

    #[test]
    fn only_the_last_names_are_kept() {
        let mut names = Names::default();
        let folder = std::env::temp_dir().join(format!("towtank-names-{}", std::process::id()));
        for tid in 0..=REMEMBERED {
            let thread = folder.join(format!("7/task/{tid}"));
            fs::create_dir_all(&thread).expect("a folder");
            fs::write(thread.join("comm"), format!("worker-{tid}\n")).expect("a file");
            let tid = u32::try_from(tid).expect("a small number");
            let name = names.name(&folder, 7, tid).map(str::to_owned);
            assert_eq!(name, Some(format!("worker-{tid}")));
        }
        fs::remove_dir_all(&folder).expect("our own folder");
        assert_eq!(names.known.len(), REMEMBERED);
        assert_eq!(names.name(&folder, 7, 0), None, "the first was forgotten");
        assert_eq!(names.name(&folder, 7, 1), Some("worker-1"));
    }
}

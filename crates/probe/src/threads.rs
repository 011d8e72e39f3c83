//! Context switches and time waiting for a CPU, summed over all threads of a process.
//!
//! The kernel reports these two values only per thread. `/proc/PID/task/TID/schedstat` is one short line; `status`,
//! which contains the context switches, costs several times as much. Therefore `schedstat` is read for every thread,
//! and `status` only for threads that ran since the last sample. A thread that did not run has no new context switches.

use std::fs;
use std::path::PathBuf;

use crate::busy::Growth;
use crate::procfile::{Buffer, ProcFile, Reading};
use crate::sys;
use crate::text;

/// Context switches and waiting time, summed over threads. Values that the kernel does not report are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    /// Context switches that occurred because the thread had to wait.
    pub voluntary: Option<u64>,
    /// Context switches that occurred because another thread got the CPU.
    pub involuntary: Option<u64>,
    /// Time during which threads were ready to run but had no CPU. [ns]
    pub wait_ns: Option<u64>,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            voluntary: Some(0),
            involuntary: Some(0),
            wait_ns: Some(0),
        }
    }
}

impl Switches {
    const UNKNOWN: Self = Self {
        voluntary: None,
        involuntary: None,
        wait_ns: None,
    };

    /// Adds the values of `other`. A value that is unknown in either summand is unknown in the result.
    pub fn add(&mut self, other: &Self) {
        let sum = |left: Option<u64>, right: Option<u64>| {
            left.zip(right).map(|(left, right)| left + right)
        };
        self.voluntary = sum(self.voluntary, other.voluntary);
        self.involuntary = sum(self.involuntary, other.involuntary);
        self.wait_ns = sum(self.wait_ns, other.wait_ns);
    }

    /// Adds the values of a thread or process that has ended. Its unknown values are ignored.
    pub fn carry(&mut self, ended: &Self) {
        let sum =
            |left: Option<u64>, right: Option<u64>| left.map(|left| left + right.unwrap_or(0));
        self.voluntary = sum(self.voluntary, ended.voluntary);
        self.involuntary = sum(self.involuntary, ended.involuntary);
        self.wait_ns = sum(self.wait_ns, ended.wait_ns);
    }
}

#[derive(Debug)]
struct Thread {
    number: u32,
    schedstat: ProcFile,
    status: ProcFile,
    /// CPU time and number of time slices from `schedstat`. They are unchanged if the thread did not run.
    ran: Option<(u64, u64)>,
    sum: Switches,
    /// Values of the last reading of the thread: CPU time, time waiting for a CPU, and time of the reading. [ns]
    seen: Option<(u64, u64, u64)>,
    growth: Option<Growth>,
}

/// All threads of one process.
#[derive(Debug)]
pub struct Threads {
    folder: PathBuf,
    live: Vec<Thread>,
    ended: Switches,
    /// Values of the last reading: CPU time and waiting time of all living threads, and time of the reading. [ns]
    seen: Option<(u64, u64, u64)>,
    /// Times of the last reading and the reading before it. [ns]
    read_at_ns: (Option<u64>, Option<u64>),
    growth: Option<Growth>,
}

impl Threads {
    /// Creates the reader for the threads in the folder `/proc/PID/task`.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            live: Vec::new(),
            ended: Switches::default(),
            seen: None,
            read_at_ns: (None, None),
            growth: None,
        }
    }

    /// Returns the time between the last two readings. [ns]
    #[must_use]
    pub fn interval_ns(&self) -> Option<u64> {
        let (before, now) = self.read_at_ns;
        now.zip(before)
            .map(|(now, before)| now.saturating_sub(before))
    }

    /// Returns the increase of the CPU time of all threads together between the last two readings. Returns `None` if
    /// the kernel does not report it, or if a thread ended between the readings. Only the counters of the process
    /// contain the last CPU time of an ended thread.
    #[must_use]
    pub fn growth(&self) -> Option<Growth> {
        self.growth
    }

    /// Returns the id of the thread whose CPU time increased most between the last two readings, with the increase.
    #[must_use]
    pub fn busiest(&self) -> Option<(u32, Growth)> {
        self.live
            .iter()
            .filter_map(|thread| Some((thread.number, thread.growth?)))
            .max_by_key(|(_, growth)| growth.cpu_ns)
    }

    /// Reads all threads and returns the sums, including threads that have ended. `expected` is the expected number of
    /// threads.
    pub fn read(&mut self, buffer: &mut Buffer, expected: u64) -> Switches {
        let at_ns = sys::monotonic_ns();
        self.read_at_ns = (self.read_at_ns.1, Some(at_ns));
        let known = self.live.len();
        let ended = &mut self.ended;
        self.live.retain_mut(|thread| {
            let lives = thread.read(buffer);
            if !lives {
                ended.carry(&thread.sum);
            }
            lives
        });
        let is_whole = self.live.len() == known;
        if self.live.len() as u64 != expected {
            self.find_new(buffer);
        }
        self.grow(at_ns, is_whole);
        if self.live.is_empty() && expected > 0 {
            return Switches::UNKNOWN;
        }
        let mut total = self.ended;
        for thread in &self.live {
            total.add(&thread.sum);
        }
        total
    }

    fn grow(&mut self, at_ns: u64, is_whole: bool) {
        let sum = |left: (u64, u64), right: (u64, u64, u64)| (left.0 + right.0, left.1 + right.1);
        let now = self
            .live
            .iter()
            .try_fold((0, 0), |total, thread| Some(sum(total, thread.seen?)))
            .map(|(cpu_ns, wait_ns)| (cpu_ns, wait_ns, at_ns));
        self.growth = self
            .seen
            .zip(now)
            .filter(|_| is_whole)
            .and_then(|(before, now)| Growth::between(before, now));
        self.seen = now;
    }

    fn find_new(&mut self, buffer: &mut Buffer) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        for entry in entries.flatten() {
            let Some(number) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<u32>().ok())
            else {
                continue;
            };
            if self.live.iter().any(|thread| thread.number == number) {
                continue;
            }
            let mut thread = Thread::new(&self.folder.join(entry.file_name()), number);
            if thread.read(buffer) {
                self.live.push(thread);
            }
        }
    }
}

impl Thread {
    fn new(folder: &std::path::Path, number: u32) -> Self {
        Self {
            number,
            schedstat: ProcFile::of_one_record(folder.join("schedstat")),
            status: ProcFile::of_one_record(folder.join("status")),
            ran: None,
            sum: Switches::UNKNOWN,
            seen: None,
            growth: None,
        }
    }

    /// Reads the counters of a thread; returns `false` if the thread has ended.
    fn read(&mut self, buffer: &mut Buffer) -> bool {
        let ran = match self.schedstat.read(buffer) {
            Reading::Ended => return false,
            Reading::Unknown => None,
            Reading::Whole => parse_schedstat(buffer.text()),
        };
        let now = ran.map(|(cpu_ns, wait_ns, _)| (cpu_ns, wait_ns, sys::monotonic_ns()));
        let before = std::mem::replace(&mut self.seen, now);
        self.growth = before
            .zip(now)
            .and_then(|(before, now)| Growth::between(before, now));
        if ran.is_some() && ran.map(|(cpu, _, slices)| (cpu, slices)) == self.ran {
            self.sum.wait_ns = ran.map(|(_, wait, _)| wait);
            return true;
        }
        match self.status.read(buffer) {
            Reading::Ended => return false,
            Reading::Unknown => self.sum = Switches::UNKNOWN,
            Reading::Whole => {
                self.sum.voluntary = text::keyed(buffer.text(), "voluntary_ctxt_switches");
                self.sum.involuntary = text::keyed(buffer.text(), "nonvoluntary_ctxt_switches");
            }
        }
        self.ran = ran.map(|(cpu, _, slices)| (cpu, slices));
        self.sum.wait_ns = ran.map(|(_, wait, _)| wait);
        true
    }
}

/// Returns CPU time [ns], time waiting for a CPU [ns], and number of time slices of one thread.
fn parse_schedstat(content: &[u8]) -> Option<(u64, u64, u64)> {
    let mut numbers = text::fields(content).map(text::number);
    let mut next = || numbers.next().flatten();
    Some((next()?, next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn schedstat_has_three_numbers() {
        assert_eq!(
            parse_schedstat(b"69337 42308 2\n"),
            Some((69_337, 42_308, 2))
        );
        assert_eq!(parse_schedstat(b"69337 42308\n"), None);
    }

    #[test]
    fn an_unknown_part_makes_the_sum_unknown() {
        let mut sum = Switches {
            voluntary: Some(1),
            involuntary: Some(2),
            wait_ns: Some(3),
        };
        sum.add(&Switches {
            voluntary: Some(10),
            involuntary: None,
            wait_ns: Some(30),
        });
        assert_eq!(
            sum,
            Switches {
                voluntary: Some(11),
                involuntary: None,
                wait_ns: Some(33)
            }
        );
    }

    #[test]
    fn switches_of_an_ended_thread_stay_counted() {
        let (report, ready) = mpsc::channel();
        let (release, wait) = mpsc::channel::<()>();
        let worker = std::thread::spawn(move || {
            let folder = fs::read_link("/proc/thread-self").expect("our own thread");
            // A sleep only counts as a voluntary switch if the thread was not preempted just before it.
            let voluntary = loop {
                std::thread::sleep(std::time::Duration::from_micros(100));
                let status =
                    fs::read_to_string("/proc/thread-self/status").expect("our own status");
                let voluntary = text::keyed(status.as_bytes(), "voluntary_ctxt_switches")
                    .expect("a thread has it");
                if voluntary >= 50 {
                    break voluntary;
                }
            };
            report.send((voluntary, folder)).expect("the test listens");
            let _ = wait.recv();
        });
        let (voluntary, folder) = ready.recv().expect("the worker reports");
        let number = folder
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a number")
            .parse()
            .expect("a number");
        let mut buffer = Buffer::default();
        let mut threads = Threads::new(PathBuf::from("/proc/self/task"));
        threads
            .live
            .push(Thread::new(&PathBuf::from("/proc").join(folder), number));
        let before = threads.read(&mut buffer, 1).voluntary.expect("known");
        assert!(before >= voluntary);
        drop(release);
        worker.join().expect("the worker ends");
        let after = threads.read(&mut buffer, 0).voluntary.expect("known");
        assert!(after >= before && threads.live.is_empty());
    }
}

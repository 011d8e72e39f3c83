//! Reads the files of one process under `/proc/PID`. The files are kept open.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::busy::Growth;
use crate::kin::Trace;
use crate::procfile::{Buffer, ProcFile, Reading};
use crate::sys;
use crate::text;
use crate::threads::{Switches, Threads};

/// Memory layout of a program: the start of code, stack, heap and arguments. The kernel randomizes the layout at each
/// `exec`.
///
/// `fork` copies the layout. Two processes with the same layout therefore descend from the same `exec`, whatever their
/// current parents are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Image([u64; 4]);

impl Image {
    /// Returns `true` if the kernel reported all addresses. It reports zeros for processes that this process may not
    /// read.
    #[must_use]
    pub fn is_known(self) -> bool {
        !self.0.contains(&0)
    }
}

/// Content of `/proc/PID/stat`. CPU times cover all threads, including ended threads, and are in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stat {
    /// Letter of the process state; `Z` for a process that has ended but was not reaped.
    pub state: u8,
    /// Process id of the current parent of the process.
    pub parent: u32,
    /// Process id of the leader of the session that contains the process.
    pub session: u32,
    /// Usage of the process itself: user time, system time, minor page faults, major page faults.
    pub own: [u64; 4],
    /// Usage of reaped children and their reaped descendants: user time, system time, minor page faults, major page
    /// faults.
    pub children: [u64; 4],
    /// Number of living threads of the process.
    pub threads: u64,
    /// Start time of the process after boot. Together with the process id it identifies the process. [clock ticks]
    pub start_ticks: u64,
    /// Memory layout that the process got at its last `exec`.
    pub image: Image,
}

/// Number of the last field that a line of `/proc/PID/stat` must have: the start time.
const LAST_NEEDED: usize = 22;
/// Number of the last field that is read from a line of `/proc/PID/stat`. The line may be shorter.
const LAST_READ: usize = 48;

impl Stat {
    /// Parses the content of `/proc/PID/stat`. The name in parentheses may contain any characters, including
    /// parentheses and blanks.
    #[must_use]
    pub fn parse(content: &[u8]) -> Option<Self> {
        let close = content.iter().rposition(|byte| *byte == b')')?;
        let mut stat = Self::default();
        let mut number = 2;
        for field in text::fields(&content[close + 1..]).take(LAST_READ - 2) {
            number += 1;
            stat.take(number, field)?;
        }
        (number >= LAST_NEEDED).then_some(stat)
    }

    /// Stores one field of `/proc/PID/stat`, numbered as in proc(5).
    fn take(&mut self, number: usize, field: &[u8]) -> Option<()> {
        match number {
            3 => self.state = field[0],
            4 => self.parent = text::number(field)? as u32,
            6 => self.session = text::number(field)? as u32,
            10 => self.own[2] = text::number(field)?,
            11 => self.children[2] = text::number(field)?,
            12 => self.own[3] = text::number(field)?,
            13 => self.children[3] = text::number(field)?,
            14 => self.own[0] = text::number(field)?,
            15 => self.own[1] = text::number(field)?,
            16 => self.children[0] = text::number(field)?,
            17 => self.children[1] = text::number(field)?,
            20 => self.threads = text::number(field)?,
            22 => self.start_ticks = text::number(field)?,
            26 => self.image.0[0] = text::number(field)?,
            28 => self.image.0[1] = text::number(field)?,
            47 => self.image.0[2] = text::number(field)?,
            48 => self.image.0[3] = text::number(field)?,
            _ => {}
        }
        Some(())
    }

    /// Returns the properties (traces) of the process by which other processes of its group are recognized.
    #[must_use]
    pub fn trace(&self) -> Trace {
        Trace {
            session: self.session,
            start_ticks: self.start_ticks,
            image: self.image,
        }
    }

    /// Returns user and system time of all threads, including ended ones. [clock ticks]
    #[must_use]
    pub fn cpu_ticks(&self) -> u64 {
        self.own[0] + self.own[1]
    }

    /// Returns `true` if the process still runs, that is, if it has not ended.
    #[must_use]
    pub fn alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// Parses `/proc/PID/io`: the bytes read from and written to disks, and the numbers of read and write calls. All four
/// numbers include reaped children.
#[must_use]
pub fn parse_io(content: &[u8]) -> Option<[u64; 4]> {
    let value = |name| text::keyed(content, name);
    Some([
        value("read_bytes")?,
        value("write_bytes")?,
        value("syscr")?,
        value("syscw")?,
    ])
}

/// Parses a soft limit (`Max open files`, `Max processes`) from the content of `/proc/PID/limits`. Returns `None` for
/// `unlimited`, and for a limit that the content does not state.
#[must_use]
pub fn parse_limit(content: &[u8], name: &str) -> Option<u64> {
    let line = text::lines(content).find(|line| line.starts_with(name.as_bytes()))?;
    text::fields(&line[name.len()..])
        .next()
        .and_then(text::number)
}

/// Resource usage of one process; `None` for values that the kernel does not report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Values from `/proc/PID/stat`.
    pub stat: Stat,
    /// Input and output in the order of [`parse_io`]; `None` if this process may not read them.
    pub io: Option<[u64; 4]>,
    /// Size of the resident set. [pages]
    pub resident_pages: Option<u64>,
    /// Number of open files of the process.
    pub open_files: Option<u64>,
    /// Soft limit on the number of open files of the process.
    pub open_files_limit: Option<u64>,
    /// Soft limit on the number of processes and threads of the operating-system user of the process. The limit does
    /// not apply if the process is exempt.
    pub processes_limit: Option<u64>,
    /// Context switches, and time during which threads were ready to run but had no CPU.
    pub switches: Switches,
    /// Increase of the CPU time of the process since the previous reading.
    pub growth: Option<Growth>,
    /// Id of the thread whose CPU time increased most since the previous reading, with the increase.
    pub busiest_thread: Option<(u32, Growth)>,
}

/// Method by which the open files of a process are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCount {
    /// Read the size of `/proc/PID/fd`, which is the number of open files in Linux 6.2 and later. This takes one system
    /// call.
    Size,
    /// Count the entries of the folder `/proc/PID/fd`.
    Entries,
}

impl FileCount {
    /// Chooses the method by a test on this process, which always has open files.
    #[must_use]
    pub fn detect(proc: &Path) -> Self {
        let reported = fs::metadata(proc.join("self/fd")).is_ok_and(|metadata| metadata.len() > 0);
        if reported { Self::Size } else { Self::Entries }
    }

    /// Counts the open files of a process. Returns 0 if the process has just ended, and `None` if this process may not
    /// read the folder.
    fn count(self, folder: &Path) -> Option<u64> {
        let counted = match self {
            Self::Size => fs::metadata(folder).map(|metadata| metadata.len()),
            Self::Entries => fs::read_dir(folder).map(|entries| entries.count() as u64),
        };
        counted
            .or_else(|error| if ended(&error) { Ok(0) } else { Err(error) })
            .ok()
    }
}

/// Number of samples in a row in which the threads of a quiet process are not read. [1]
const QUIET_AT_MOST: u32 = 3;

fn ended(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}

/// Reads the values of one process from its open files.
#[derive(Debug)]
pub struct ProcessReader {
    stat: ProcFile,
    statm: ProcFile,
    io: ProcFile,
    fd: PathBuf,
    limits: ProcFile,
    open_files_limit: Option<u64>,
    processes_limit: Option<u64>,
    threads: Threads,
    /// Number of samples in a row in which the threads were not read.
    quiet: u32,
    /// Time of the last sample. [ns]
    at_ns: u64,
}

impl ProcessReader {
    /// Creates a reader for the process with this id.
    #[must_use]
    pub fn new(proc: &Path, pid: u32) -> Self {
        let folder = proc.join(pid.to_string());
        Self {
            stat: ProcFile::of_one_record(folder.join("stat")),
            statm: ProcFile::of_one_record(folder.join("statm")),
            io: ProcFile::of_one_record(folder.join("io")),
            fd: folder.join("fd"),
            limits: ProcFile::of_one_record(folder.join("limits")),
            open_files_limit: None,
            processes_limit: None,
            threads: Threads::new(folder.join("task")),
            quiet: 0,
            at_ns: 0,
        }
    }

    /// Reads all values of the process, or returns `None` if it has ended. `last` is the previous reading of the same
    /// process.
    pub fn read(
        &mut self,
        buffer: &mut Buffer,
        count: FileCount,
        last: Option<&Usage>,
    ) -> Option<Usage> {
        let stat =
            (self.stat.read(buffer) == Reading::Whole).then(|| Stat::parse(buffer.text()))??;
        let io = (self.io.read(buffer) == Reading::Whole)
            .then(|| parse_io(buffer.text()))
            .flatten();
        // If a process has ended but was not reaped, its counters may be hidden. They no longer change, so the last
        // values are used.
        let io = io.or_else(|| {
            if stat.alive() {
                None
            } else {
                last.and_then(|usage| usage.io)
            }
        });
        let resident = (self.statm.read(buffer) == Reading::Whole)
            .then(|| text::fields(buffer.text()).nth(1).and_then(text::number))
            .flatten();
        let open_files = count.count(&self.fd);
        let open_files_limit = self.limit_for(open_files, buffer);
        let usage = Usage {
            stat,
            io,
            resident_pages: resident,
            open_files,
            open_files_limit,
            processes_limit: self.processes_limit,
            ..Usage::default()
        };
        let before_ns = std::mem::replace(&mut self.at_ns, sys::monotonic_ns());
        if let Some(last) = last.filter(|last| self.is_quiet(last, &stat)) {
            let growth = Growth::between((0, 0, before_ns), (0, 0, self.at_ns));
            return Some(Usage {
                switches: last.switches,
                growth,
                busiest_thread: last.busiest_thread.map(|(tid, _)| tid).zip(growth),
                ..usage
            });
        }
        let switches = self.threads.read(buffer, stat.threads);
        Some(Usage {
            switches,
            growth: self
                .threads
                .growth()
                .or_else(|| self.growth_in_ticks(&last?.stat, &stat)),
            busiest_thread: self.threads.busiest(),
            ..usage
        })
    }

    /// Returns `true` if the threads of the process need not be read, because the process used less than a clock tick
    /// of CPU time since the last sample. Reading the threads is the largest part of the cost of a group. The counters
    /// of threads never decrease, so a later sample includes the usage that is missing in this sample.
    fn is_quiet(&mut self, last: &Usage, now: &Stat) -> bool {
        let before = &last.stat;
        let is_same = before.cpu_ticks() == now.cpu_ticks()
            && before.threads == now.threads
            && last.growth.is_some();
        self.quiet = if is_same && self.quiet < QUIET_AT_MOST {
            self.quiet + 1
        } else {
            0
        };
        self.quiet > 0
    }

    /// Returns the increase of the CPU time of the process from `before` to `now`, including threads that ended in
    /// between. Only the counters of the process contain the time of these threads.
    fn growth_in_ticks(&self, before: &Stat, now: &Stat) -> Option<Growth> {
        let in_ns = self.threads.interval_ns()?;
        Growth::of_ticks(
            before.cpu_ticks(),
            now.cpu_ticks(),
            in_ns,
            sys::clock_ticks(),
        )
    }

    /// Returns the limit on open files. The limit is read again only while more than half of it is in use, since
    /// servers usually change it only soon after their start.
    fn limit_for(&mut self, open_files: Option<u64>, buffer: &mut Buffer) -> Option<u64> {
        let in_use = open_files.unwrap_or(0);
        let plenty = self
            .open_files_limit
            .is_some_and(|limit| in_use <= limit / 2);
        if !plenty && self.limits.read(buffer) == Reading::Whole {
            self.open_files_limit = parse_limit(buffer.text(), "Max open files");
            self.processes_limit = parse_limit(buffer.text(), "Max processes");
        }
        self.open_files_limit
    }
}

#[cfg(test)]
mod tests;

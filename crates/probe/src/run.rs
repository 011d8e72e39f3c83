//! The main loop of the probe. It waits for the next sampling time, samples and writes, and executes commands in
//! between.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use crate::control::{Command, Lines};
use crate::group::{Group, Reader, Standing};
use crate::host::{HostSampler, facts};
use crate::json::Json;
use crate::line::LineWriter;
use crate::memory;
use crate::pace::Pace;
use crate::ports::Networks;
use crate::process::{FileCount, Stat};
use crate::procfile::{Buffer, ProcFile, Reading};
use crate::rested_memory::RestedMemory;
use crate::schedule::Schedule;
use crate::sys::{self, Wake};
use crate::text;
use crate::tree::Table;

const SECOND_NS: u64 = 1_000_000_000;

/// Name and root process of a group of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRoot {
    /// Name of the group in the samples.
    pub name: String,
    /// Process id of the root of the process tree.
    pub pid: u32,
}

/// Folders of the kernel's file systems; tests use recorded copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Process file system, usually `/proc`.
    pub proc: PathBuf,
    /// Device file system, usually `/sys`.
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            proc: PathBuf::from("/proc"),
            sys: PathBuf::from("/sys"),
        }
    }
}

/// Options with which the probe runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Groups of processes that are sampled from the start.
    pub groups: Vec<GroupRoot>,
    /// Interval between samples, which must be greater than 0. [ns]
    pub interval_ns: u64,
    /// Duration after which the probe ends. Without it, the probe only ends by a command or a signal. [ns]
    pub duration_ns: Option<u64>,
    /// `true` if the probe ends when standard input is closed. SIGINT is then ignored: the parent process receives it
    /// too, and closes the input.
    pub until_stdin_closes: bool,
    /// Process id of the process that conducts the run. Its CPU time is reported as a cost of observation.
    pub observer: Option<u32>,
    /// `true` to time a fixed piece of work on each CPU five times a second, and accesses to pages of memory once a
    /// second. The work takes about 0.6 ms of CPU time per second and CPU. The accesses take some microseconds per second,
    /// and up to 0.5 ms if the host of a virtual machine takes pages away. To spread the pages, 8 MiB of memory are
    /// accessed once at the start: a few milliseconds of CPU time, and up to 0.1 s on such a host.
    pub has_pace: bool,
    /// Folders of the file systems of the kernel (`/proc` and `/sys`).
    pub roots: Roots,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            interval_ns: SECOND_NS,
            duration_ns: None,
            until_stdin_closes: false,
            observer: None,
            has_pace: false,
            roots: Roots::default(),
        }
    }
}

/// Reason why the probe ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// The duration given in the options has passed.
    Duration,
    /// Standard input was closed.
    InputClosed,
    /// SIGTERM or SIGINT was received.
    Signal,
}

/// Creates the documents (header and samples) that the probe writes.
pub struct Sampler {
    roots: Roots,
    interval_ns: u64,
    host: HostSampler,
    table: Table,
    groups: Vec<Group>,
    networks: Networks,
    own_memory: ProcFile,
    observer: Option<ProcFile>,
    pace: Option<Pace>,
    rested_memory: Option<RestedMemory>,
    memory_rounds: memory::Rounds,
    images_are_drawn: bool,
    count: FileCount,
    tick_ns: u64,
    page_bytes: u64,
    buffer: Buffer,
    json: Json,
}

impl Sampler {
    /// Creates the sampler. No files are read yet.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        let roots = options.roots.clone();
        let tick_ns = SECOND_NS / sys::clock_ticks();
        let groups = options
            .groups
            .iter()
            .map(|root| Group::new(&root.name, root.pid, &roots.proc))
            .collect();
        Self {
            interval_ns: options.interval_ns,
            host: HostSampler::new(&roots, tick_ns),
            table: Table::new(roots.proc.clone()),
            groups,
            networks: Networks::new(&roots.proc),
            own_memory: ProcFile::new(roots.proc.join("self/statm")),
            observer: options
                .observer
                .map(|pid| ProcFile::new(roots.proc.join(format!("{pid}/stat")))),
            pace: options.has_pace.then(Pace::start),
            rested_memory: options.has_pace.then(RestedMemory::start),
            memory_rounds: if memory::is_offered(&roots.proc) {
                memory::Rounds::WhenDue
            } else {
                memory::Rounds::Never
            },
            images_are_drawn: images_are_drawn(&roots.proc),
            count: FileCount::detect(&roots.proc),
            tick_ns,
            page_bytes: sys::page_bytes(),
            buffer: Buffer::default(),
            json: Json::default(),
            roots,
        }
    }

    /// Returns the document with the header, which is the first line of the output.
    pub fn header(&mut self, groups: &[GroupRoot]) -> &str {
        let json = &mut self.json;
        json.clear();
        json.begin();
        json.text("k", "header");
        json.text("schema", "towtank/probe/1");
        json.count("t_ns", sys::monotonic_ns());
        json.count("wall_ns", sys::wall_ns());
        facts::write(&self.roots, json);
        json.seconds("interval_s", self.interval_ns);
        json.object("groups");
        for group in groups {
            json.object(&group.name);
            json.count("pid", u64::from(group.pid));
            json.end_object();
        }
        json.end_object();
        json.end_object();
        json.as_str()
    }

    /// Takes one sample and returns its document. `late_ns` is the delay after the intended time of the sample.
    pub fn sample(&mut self, late_ns: u64) -> &str {
        let (t_ns, wall_ns) = (sys::monotonic_ns(), sys::wall_ns());
        self.json.clear();
        self.json.begin();
        self.json.text("k", "sample");
        self.json.count("t_ns", t_ns);
        self.json.count("wall_ns", wall_ns);
        self.host.sample(&mut self.buffer, &mut self.json);
        self.sample_groups();
        self.json.object("probe");
        self.json.seconds("cpu_s_total", sys::process_cpu_ns());
        if self.own_memory.read(&mut self.buffer) == Reading::Whole {
            let pages = text::fields(self.buffer.text())
                .nth(1)
                .and_then(text::number);
            self.json
                .count("resident_bytes", pages.map(|pages| pages * self.page_bytes));
        }
        self.write_observer();
        if let Some(pace) = &self.pace {
            pace.write(&mut self.json);
        }
        if let Some(memory) = &self.rested_memory {
            memory.write(&mut self.json);
        }
        self.json.seconds("late_s", late_ns);
        self.json.seconds("took_s", sys::monotonic_ns() - t_ns);
        self.json.end_object();
        self.json.end_object();
        self.json.as_str()
    }

    /// Takes the last sample immediately, without waiting for the next sampling time, and returns its document.
    pub fn last_sample(&mut self) -> &str {
        if self.memory_rounds == memory::Rounds::WhenDue {
            self.memory_rounds = memory::Rounds::AtEnd;
        }
        self.sample(0)
    }

    fn sample_groups(&mut self) {
        let refreshed = !self.groups.is_empty() && self.table.refresh(&mut self.buffer);
        self.networks.begin();
        let roots: Vec<u32> = self.groups.iter().map(Group::root).collect();
        let mut reader = Reader {
            buffer: &mut self.buffer,
            table: &self.table,
            refreshed,
            users: &mut None,
            networks: &mut self.networks,
            count: self.count,
            tick_ns: self.tick_ns,
            page_bytes: self.page_bytes,
            now_ns: sys::monotonic_ns(),
            roots: &roots,
            memory_rounds: self.memory_rounds,
            memory_took_ns: self.groups.iter().map(Group::memory_took_ns).sum(),
            images_are_drawn: self.images_are_drawn,
        };
        // All groups are read before any of them is written. Measuring the memory of a group may take long, so it
        // happens after the reads.
        let standings: Vec<Standing> = self
            .groups
            .iter_mut()
            .map(|group| group.read(&mut reader))
            .collect();
        self.json.object("groups");
        for (group, standing) in self.groups.iter_mut().zip(&standings) {
            group.write(&mut reader, standing, &mut self.json);
        }
        self.json.end_object();
    }

    /// Writes the CPU time of the process that conducts the run (the observer), without its children.
    fn write_observer(&mut self) {
        let Some(file) = &mut self.observer else {
            return;
        };
        if file.read(&mut self.buffer) == Reading::Whole {
            let own = Stat::parse(self.buffer.text()).map(|stat| stat.own[0] + stat.own[1]);
            let used_ns = own.map(|ticks| ticks * self.tick_ns);
            self.json.seconds("observer_cpu_s_total", used_ns);
        }
    }

    /// Executes a command, which takes effect with the next sample.
    pub fn follow(&mut self, command: &Command) {
        match command {
            Command::Group(root) => self.watch(root),
            Command::Drop(name) => self.groups.retain(|group| group.name != *name),
        }
    }

    fn watch(&mut self, root: &GroupRoot) {
        if let Some(group) = self.groups.iter_mut().find(|group| group.name == root.name) {
            self.table.refresh(&mut self.buffer);
            group.replace_root(root.pid, &self.table);
        } else {
            self.groups
                .push(Group::new(&root.name, root.pid, &self.roots.proc));
        }
    }
}

/// Returns `true` if the kernel randomizes the addresses of each program, including its heap.
fn images_are_drawn(proc: &Path) -> bool {
    std::fs::read_to_string(proc.join("sys/kernel/randomize_va_space"))
        .is_ok_and(|level| level.trim() == "2")
}

/// Standard input, which is read when data is available.
struct Input {
    lines: Lines,
    open: bool,
}

impl Input {
    /// Reads the commands that are available, and reports invalid lines on standard error.
    fn take(&mut self) -> Vec<Command> {
        let mut input = io::stdin().lock();
        let length = input.fill_buf().map_or(0, <[u8]>::len);
        self.open = length > 0;
        let parsed = input
            .fill_buf()
            .map(|bytes| self.lines.push(bytes))
            .unwrap_or_default();
        input.consume(length);
        let good = |command: Result<Command, String>| {
            command
                .map_err(|error| eprintln!("towtank-engine probe: {error}"))
                .ok()
        };
        parsed.into_iter().filter_map(good).collect()
    }
}

/// Samples until the probe is requested to end, and writes header and samples to `stream`.
///
/// At the request to end, the probe takes its last sample immediately, without waiting for the next sampling time. A
/// measurement up to that time therefore has samples before and after it.
///
/// # Errors
///
/// Errors of the stream; lines written before the error are kept.
pub fn run(options: &Options, stream: &mut dyn Write) -> io::Result<EndReason> {
    sys::install_signals(options.until_stdin_closes);
    // Files of `/proc` are kept open, so the limit on open files is raised. If the system refuses, the limit remains
    // unchanged.
    let _ = sys::raise_open_files();
    let mut writer = LineWriter::new(stream);
    let mut sampler = Sampler::new(options);
    writer.write(sampler.header(&options.groups))?;
    let start_ns = sys::monotonic_ns();
    let end_ns = options
        .duration_ns
        .map_or(u64::MAX, |duration| start_ns.saturating_add(duration));
    let mut schedule = Schedule::new(options.interval_ns, start_ns);
    let mut input = Input {
        lines: Lines::default(),
        open: true,
    };
    loop {
        match sys::wait_until(schedule.next_ns().min(end_ns), input.open) {
            Wake::Signal => {
                writer.write(sampler.last_sample())?;
                return Ok(EndReason::Signal);
            }
            Wake::Deadline if schedule.next_ns() > end_ns => return Ok(EndReason::Duration),
            Wake::Deadline => {
                let late_ns = schedule.take(sys::monotonic_ns());
                writer.write(sampler.sample(late_ns))?;
            }
            Wake::Input => {
                for command in input.take() {
                    sampler.follow(&command);
                }
                if !input.open && options.until_stdin_closes {
                    writer.write(sampler.last_sample())?;
                    return Ok(EndReason::InputClosed);
                }
            }
        }
    }
}

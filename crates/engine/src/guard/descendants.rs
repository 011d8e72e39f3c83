//! Finds the descendants of this process from the parents listed in `/proc`.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

/// A process, identified by process id, start time and name. The start time distinguishes it from a later process with
/// the same process id.
///
/// The name distinguishes programs that the same process runs one after the other. A shell that got `SIGTERM` just
/// before it executed another program no longer reacts to the signal, so the new program needs a signal of its own.
///
/// Processes are ordered by age, so that a process that started others is ended first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    start_ticks: u64,
    pid: i32,
    /// Name of the program, in parentheses as in `/proc/PID/stat`.
    name: Vec<u8>,
}

/// All descendants of this process, except those that have ended and are waiting to be reaped.
#[derive(Debug, Default)]
pub struct Descendants {
    processes: BTreeSet<Process>,
}

impl Descendants {
    /// Examines all processes of the machine and returns the descendants. Processes that detached from their parents
    /// become children of this process, which is their reaper, so no descendant is missed.
    pub fn of_this_process() -> Self {
        let own = getpid().as_raw();
        let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
        for stat in all_stats() {
            if !(stat.parent == own && stat.is_zombie) {
                children.entry(stat.parent).or_default().push(stat.process);
            }
        }
        let mut processes = BTreeSet::new();
        let mut parents = vec![own];
        while let Some(parent) = parents.pop() {
            for process in children.remove(&parent).unwrap_or_default() {
                parents.push(process.pid);
                processes.insert(process);
            }
        }
        Self { processes }
    }

    /// Sends `SIGTERM` to the processes that are not in `asked`. Processes that are stopped are continued, so that they
    /// can react to the signal.
    pub fn ask_to_end(&self, asked: &Self) {
        for process in self.processes.difference(&asked.processes) {
            send(process, Signal::SIGTERM);
            send(process, Signal::SIGCONT);
        }
    }

    /// Stops all processes, so that none of them can start another process, and then kills them.
    pub fn kill(&self) {
        for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
            for process in &self.processes {
                send(process, signal);
            }
        }
    }
}

impl fmt::Display for Descendants {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pids: Vec<i32> = self.processes.iter().map(|process| process.pid).collect();
        pids.sort_unstable();
        let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
        write!(formatter, "process {}", pids.join(", "))
    }
}

fn send(process: &Process, signal: Signal) {
    // The process may have ended already, so a failure is ignored. It is unlikely that another process has got its
    // process id since the search.
    let _ = kill(Pid::from_raw(process.pid), signal);
}

/// The fields of `/proc/PID/stat` that the search for descendants needs.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    process: Process,
    parent: i32,
    is_zombie: bool,
}

fn all_stats() -> impl Iterator<Item = Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        // The process may end between the listing of `/proc` and the reading of its file, so a failure is ignored.
        let stat = fs::read(entry.path().join("stat")).ok()?;
        parse_stat(pid, &stat)
    })
}

/// Parses `/proc/PID/stat`. The name in parentheses may contain any bytes, including blanks and parentheses.
fn parse_stat(pid: i32, stat: &[u8]) -> Option<Stat> {
    let end_of_name = stat.iter().rposition(|&byte| byte == b')')?;
    let fields = std::str::from_utf8(&stat[end_of_name + 1..]).ok()?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // Fields 3, 4 and 22 of `/proc/PID/stat` (see proc(5)): state, parent and start time. They are counted from the end
    // of the name.
    let name = stat[stat.iter().position(|&byte| byte == b'(')?..=end_of_name].to_vec();
    let process = Process {
        pid,
        start_ticks: fields.get(19)?.parse().ok()?,
        name,
    };
    let is_zombie = matches!(*fields.first()?, "Z" | "X");
    Some(Stat {
        process,
        parent: fields.get(1)?.parse().ok()?,
        is_zombie,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_whatever_the_name() {
        let line =
            b"42 (a) Z 7 (\xff) S 17 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 10 11";
        let name = b"(a) Z 7 (\xff)".to_vec();
        let process = Process {
            pid: 42,
            start_ticks: 987_654,
            name,
        };
        assert_eq!(
            parse_stat(42, line),
            Some(Stat {
                process,
                parent: 17,
                is_zombie: false
            })
        );
        assert_eq!(parse_stat(42, b"42 (cut off) S 1"), None);
        assert_eq!(parse_stat(42, b""), None);
    }

    #[test]
    fn this_process_is_among_all() {
        let own = getpid().as_raw();
        assert!(all_stats().any(|stat| stat.process.pid == own));
    }
}

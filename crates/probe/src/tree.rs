//! The processes of the host and their parents.
//!
//! Listing `/proc` is the most expensive part of observing process trees, so it is done only after a process was
//! started. The last field of `/proc/loadavg` is the process id assigned last, and changes with every new process or
//! thread. A process is examined once, when it first appears. When process ids start again from the lowest, all
//! processes are examined again, because only then can an id belong to another process than before.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::kin::Trace;
use crate::process::{Image, Stat};
use crate::procfile::{Buffer, ProcFile, Reading};
use crate::text;

/// Properties of a process at the time when it was first seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Process id of the parent of the process.
    pub parent: u32,
    /// Process id of the leader of the session that contains the process.
    pub session: u32,
    /// Start time of the process. [clock ticks]
    pub start_ticks: u64,
    /// Memory layout of the program that the process runs.
    pub image: Image,
    /// `true` if the last refresh of the table added the process.
    pub new: bool,
}

impl Entry {
    /// Returns the properties (traces) of the process by which other processes of its group are recognized.
    #[must_use]
    pub fn trace(&self) -> Trace {
        Trace {
            session: self.session,
            start_ticks: self.start_ticks,
            image: self.image,
        }
    }
}

/// Largest length of a chain of parents that is followed. A longer chain can only be a loop caused by reused process
/// ids.
const DEEPEST: usize = 256;

/// Table of all processes of the host, with their parents.
#[derive(Debug)]
pub struct Table {
    proc: PathBuf,
    loadavg: ProcFile,
    last_number: Option<u64>,
    tasks: Option<u64>,
    processes: BTreeMap<u32, Entry>,
}

impl Table {
    /// Creates an empty table for this `/proc` folder; the first refresh fills it.
    #[must_use]
    pub fn new(proc: PathBuf) -> Self {
        let loadavg = ProcFile::of_one_record(proc.join("loadavg"));
        Self {
            proc,
            loadavg,
            last_number: None,
            tasks: None,
            processes: BTreeMap::new(),
        }
    }

    /// Finds new processes. The list of processes is only read if there can be new processes. Returns `true` if the
    /// list was read.
    pub fn refresh(&mut self, buffer: &mut Buffer) -> bool {
        // `loadavg` is read before the list of processes. A process that starts between the two reads is either in this
        // list, or causes the list to be read at the next refresh.
        let known = self.loadavg.read(buffer) == Reading::Whole;
        let content = if known { buffer.text() } else { &[] };
        let number = text::fields(content).nth(4).and_then(text::number);
        self.tasks = text::fields(content).nth(3).and_then(behind_slash);
        if number.is_some() && number == self.last_number {
            return false;
        }
        let anew = number.is_none() || number < self.last_number;
        self.last_number = number;
        self.list(anew);
        true
    }

    fn list(&mut self, anew: bool) {
        let mut before = std::mem::take(&mut self.processes);
        let Ok(entries) = fs::read_dir(&self.proc) else {
            return;
        };
        for entry in entries.flatten() {
            let Some(pid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<u32>().ok())
            else {
                continue;
            };
            let known = before.remove(&pid).map(|entry| Entry {
                new: false,
                ..entry
            });
            let found = match known {
                Some(known) if !anew => Some(known),
                // The same start time means the same process. Its entry, which has the original parent, is kept.
                Some(known) => self.look(pid).map(|now| {
                    if now.start_ticks == known.start_ticks {
                        known
                    } else {
                        now
                    }
                }),
                None => self.look(pid),
            };
            if let Some(found) = found {
                self.processes.insert(pid, found);
            }
        }
        self.look_again_at_orphans();
    }

    /// Reads new processes again if their parent ended while the list was read, because the kernel has then assigned
    /// another parent.
    fn look_again_at_orphans(&mut self) {
        let orphans: Vec<u32> = self
            .processes(true)
            .filter(|(_, entry)| !self.processes.contains_key(&entry.parent))
            .map(|(pid, _)| pid)
            .collect();
        for pid in orphans {
            if let Some(now) = self.look(pid) {
                self.processes.insert(pid, now);
            }
        }
    }

    fn look(&self, pid: u32) -> Option<Entry> {
        let content = fs::read(self.proc.join(pid.to_string()).join("stat")).ok()?;
        let stat = Stat::parse(&content)?;
        Some(Entry {
            parent: stat.parent,
            session: stat.session,
            start_ticks: stat.start_ticks,
            image: stat.image,
            new: true,
        })
    }

    /// Returns the number of processes and threads of the whole host, including those not visible to this process.
    /// Returns `None` if the kernel does not report the number.
    #[must_use]
    pub fn tasks(&self) -> Option<u64> {
        self.tasks
    }

    /// Returns the entry of the process with this id.
    #[must_use]
    pub fn get(&self, pid: u32) -> Option<&Entry> {
        self.processes.get(&pid)
    }

    /// Returns all processes, or only those that the last refresh added.
    pub fn processes(&self, only_new: bool) -> impl Iterator<Item = (u32, &Entry)> {
        self.processes
            .iter()
            .filter(move |(_, entry)| entry.new || !only_new)
            .map(|(pid, entry)| (*pid, entry))
    }

    /// Returns the ancestors of a process: its parent, the parent of its parent, and so on.
    #[must_use]
    pub fn ancestors(&self, pid: u32) -> Vec<u32> {
        let parent = |pid: &u32| Some(self.get(*pid)?.parent).filter(|parent| *parent > 0);
        std::iter::successors(parent(&pid), parent)
            .take(DEEPEST)
            .collect()
    }

    /// Returns `true` if a process descends from `root` or from any member.
    ///
    /// The chain of parents is broken if a parent ended before it was sampled. If `root` leads a session, the session
    /// also identifies descendants: they inherit it, and other processes cannot join it.
    pub fn descends(&self, pid: u32, root: u32, member: impl Fn(u32) -> bool) -> bool {
        let mut current = pid;
        for _ in 0..DEEPEST {
            let Some(entry) = self.get(current) else {
                return false;
            };
            if entry.session == root || entry.parent == root || member(entry.parent) {
                return true;
            }
            current = entry.parent;
        }
        false
    }
}

/// Returns the number after the slash in a field such as `2/345` (running tasks and all tasks).
fn behind_slash(field: &[u8]) -> Option<u64> {
    let slash = field.iter().position(|byte| *byte == b'/')?;
    text::number(&field[slash + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("towtank-probe-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }

        fn process(&self, pid: u32, parent: u32, session: u32, ticks: u64) {
            let folder = self.0.join(pid.to_string());
            fs::create_dir_all(&folder).expect("a folder");
            let stat = format!(
                "{pid} (x) S {parent} 1 {session} 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 {ticks} 0 0\n"
            );
            fs::write(folder.join("stat"), stat).expect("a file");
        }

        fn last_number(&self, pid: u32) {
            fs::write(
                self.0.join("loadavg"),
                format!("0.00 0.01 0.05 1/99 {pid}\n"),
            )
            .expect("a file");
        }

        fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        let folder = Folder::new("reuse");
        let mut buffer = Buffer::default();
        folder.process(1, 0, 1, 1);
        folder.process(300, 1, 300, 50);
        folder.last_number(300);
        let mut table = Table::new(folder.path().to_owned());
        assert!(table.refresh(&mut buffer));
        assert_eq!(table.tasks(), Some(99));
        assert!(!table.refresh(&mut buffer), "nothing was started");
        // Process ids were assigned again from the lowest, so id 300 now belongs to another process, a child of process
        // 7.
        folder.process(7, 1, 7, 90);
        folder.process(300, 7, 7, 95);
        folder.last_number(299);
        assert!(table.refresh(&mut buffer));
        assert_eq!(
            table
                .get(300)
                .map(|entry| (entry.parent, entry.start_ticks, entry.new)),
            Some((7, 95, true))
        );
        assert_eq!(table.get(1).map(|entry| entry.new), Some(false));
    }

    #[test]
    fn descent_goes_through_parents_and_sessions() {
        let folder = Folder::new("descent");
        let mut buffer = Buffer::default();
        for (number, parent, session) in [
            (1, 0, 1),
            (10, 1, 10),
            (11, 10, 10),
            (12, 11, 10),
            (13, 1, 10),
            (14, 1, 14),
        ] {
            folder.process(number, parent, session, u64::from(number));
        }
        folder.process(20, 21, 20, 20);
        folder.process(21, 20, 20, 21);
        folder.last_number(21);
        let mut table = Table::new(folder.path().to_owned());
        table.refresh(&mut buffer);
        let descends = |pid, root| table.descends(pid, root, |_| false);
        assert!(descends(11, 10) && descends(12, 10) && descends(12, 11));
        assert!(
            descends(13, 10),
            "its parent is gone, its session identifies it"
        );
        assert!(!descends(13, 11), "11 leads no session");
        assert!(!descends(14, 10) && !descends(1, 10));
        assert!(!descends(20, 10), "a loop of numbers ends the search");
    }
}

//! A control group that contains only the processes of one group, such as the group of a systemd unit, a container or a
//! host.
//!
//! Processes cannot leave the control group by detaching from their parents. Its CPU time includes ended processes that
//! no process of the group reaped. Its memory counts shared pages once.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cgroup::mount;
use crate::json::Json;
use crate::procfile::{Buffer, ProcFile, Reading};
use crate::text;

const MICROSECOND_NS: u64 = 1000;

/// Counters of a control group, and their files. Version 1 has a separate hierarchy for each controller.
#[derive(Debug)]
pub struct OwnCgroup {
    /// Folder of the control group. Files in it and in its subfolders list the processes.
    folder: PathBuf,
    cpu: Option<Cpu>,
    memory: Option<Memory>,
}

#[derive(Debug)]
struct Cpu {
    version: u64,
    /// File with the CPU usage: `cpu.stat` of version 2, or `cpuacct.usage` of version 1.
    usage: ProcFile,
    /// File with the CPU usage in user mode: `cpuacct.usage_user` of version 1.
    user: ProcFile,
}

#[derive(Debug)]
struct Memory {
    version: u64,
    current: ProcFile,
    stat: ProcFile,
}

/// CPU time that a control group has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTime {
    /// CPU time in user mode and in the kernel. [ns]
    pub total_ns: u64,
    /// CPU time in user mode; `None` if the kernel does not report it. [ns]
    pub user_ns: Option<u64>,
}

/// A line of `/proc/PID/cgroup`.
struct Line<'a> {
    controllers: &'a str,
    path: &'a str,
}

fn lines(membership: &str) -> impl Iterator<Item = Line<'_>> {
    membership.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some(Line {
            controllers: parts.next()?,
            path: parts.next()?,
        })
    })
}

/// Returns `true` if the control group `other` is the control group `path` or is below it.
fn is_within(other: &str, path: &str) -> bool {
    Path::new(other).starts_with(path)
}

/// A hierarchy whose control group contains only processes of the group.
struct Tree<'a> {
    controllers: &'a str,
    folder: PathBuf,
}

/// Finds the hierarchies whose control group contains only processes of the group.
fn own_trees<'a>(membership: &'a str, mounts: &str, strangers: &[String]) -> Vec<Tree<'a>> {
    let is_own = |line: &Line<'_>| {
        line.path != "/"
            && !strangers
                .iter()
                .flat_map(|stranger| lines(stranger))
                .any(|other| {
                    other.controllers == line.controllers && is_within(other.path, line.path)
                })
    };
    lines(membership)
        .filter(is_own)
        .filter_map(|line| {
            let folder = folder(&line, mounts)?;
            Some(Tree {
                controllers: line.controllers,
                folder,
            })
        })
        .collect()
}

fn folder(line: &Line<'_>, mounts: &str) -> Option<PathBuf> {
    let (kind, option) = match line.controllers.split(',').next() {
        None | Some("") => ("cgroup2", None),
        Some(first) => ("cgroup", Some(first)),
    };
    let (root, point) = mounts
        .lines()
        .find_map(|mounted| mount(mounted, kind, option))?;
    let below = Path::new(line.path).strip_prefix(root).ok()?;
    let inside = !below
        .components()
        .any(|part| part == std::path::Component::ParentDir);
    inside.then(|| Path::new(point).join(below))
}

impl OwnCgroup {
    /// Finds the control group of the process `root`. Returns `None` if it also contains a process of `strangers`, or
    /// if there is no control group.
    ///
    /// `strangers` are processes that do not belong to the group: the probe, ancestors of the root, and roots of other
    /// groups.
    #[must_use]
    pub fn find(proc: &Path, root: u32, strangers: &[u32]) -> Option<Self> {
        let read = |pid: &str| fs::read_to_string(proc.join(pid).join("cgroup")).ok();
        let membership = read(&root.to_string())?;
        let mut others = vec![read("self")?];
        others.extend(strangers.iter().filter_map(|pid| read(&pid.to_string())));
        let mounts = fs::read_to_string(proc.join("self/mountinfo")).ok()?;
        Self::open(&own_trees(&membership, &mounts, &others))
    }

    fn open(trees: &[Tree<'_>]) -> Option<Self> {
        let has = |tree: &&Tree<'_>, controller: &str| {
            tree.controllers.split(',').any(|name| name == controller)
        };
        let unified = trees.iter().find(|tree| tree.controllers.is_empty());
        let file = |folder: &Path, name: &str| ProcFile::new(folder.join(name));
        let cpu = trees.iter().find(|tree| has(tree, "cpuacct"));
        let cpu = cpu.map(|tree| (1, tree)).or(unified.map(|tree| (2, tree)));
        let memory = trees.iter().find(|tree| has(tree, "memory"));
        let memory = memory
            .map(|tree| (1, tree))
            .or(unified.map(|tree| (2, tree)));
        let names = |version| {
            if version == 1 {
                ("cpuacct.usage", "memory.usage_in_bytes")
            } else {
                ("cpu.stat", "memory.current")
            }
        };
        Some(Self {
            folder: unified.or(trees.first())?.folder.clone(),
            cpu: cpu.map(|(version, tree)| Cpu {
                version,
                usage: file(&tree.folder, names(version).0),
                user: file(&tree.folder, "cpuacct.usage_user"),
            }),
            memory: memory.map(|(version, tree)| Memory {
                version,
                current: file(&tree.folder, names(version).1),
                stat: file(&tree.folder, "memory.stat"),
            }),
        })
    }

    /// Returns the ids of all processes in the control group and in the control groups below it.
    #[must_use]
    pub fn processes(&self) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            if let Ok(content) = fs::read(folder.join("cgroup.procs")) {
                let numbers = text::fields(&content).filter_map(text::number);
                found.extend(numbers.filter_map(|number| u32::try_from(number).ok()));
            }
            let below = fs::read_dir(&folder).into_iter().flatten().flatten();
            folders.extend(
                below
                    .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                    .map(|entry| entry.path()),
            );
        }
        found
    }

    /// Returns the CPU time of all processes that ever ran in the control group, or `None` if no controller counts it.
    pub fn cpu(&mut self, buffer: &mut Buffer) -> Option<CpuTime> {
        let cpu = self.cpu.as_mut()?;
        if cpu.version == 2 {
            (cpu.usage.read(buffer) == Reading::Whole).then_some(())?;
            let of = |key| text::keyed(buffer.text(), key).map(|value| value * MICROSECOND_NS);
            let (total_ns, user_ns) = (of("usage_usec")?, of("user_usec"));
            return Some(CpuTime { total_ns, user_ns });
        }
        Some(CpuTime {
            total_ns: number(&mut cpu.usage, buffer)?,
            user_ns: number(&mut cpu.user, buffer),
        })
    }

    /// Writes the object `own_cgroup` of a group.
    pub fn write(&mut self, buffer: &mut Buffer, json: &mut Json) {
        json.object("own_cgroup");
        json.text("folder", self.folder.to_string_lossy().as_ref());
        json.seconds("cpu_s_total", self.cpu(buffer).map(|used| used.total_ns));
        if let Some((memory, cache)) = self.memory(buffer) {
            json.count("memory_bytes", memory);
            json.count("memory_cache_bytes", cache);
        }
        json.end_object();
    }

    /// Returns the memory that the kernel cannot reclaim immediately, and the memory that it can: page cache and
    /// reclaimable slabs. [B]
    fn memory(&mut self, buffer: &mut Buffer) -> Option<(u64, u64)> {
        let memory = self.memory.as_mut()?;
        let current = number(&mut memory.current, buffer)?;
        (memory.stat.read(buffer) == Reading::Whole).then_some(())?;
        let of = |key| text::keyed(buffer.text(), key);
        let cache = if memory.version == 1 {
            of("total_inactive_file")? + of("total_active_file")?
        } else {
            of("inactive_file")? + of("active_file")? + of("slab_reclaimable").unwrap_or(0)
        };
        // The files are read one after the other. If the cache grows between the two reads, it may exceed the total; no
        // memory is reported then.
        Some((current.checked_sub(cache)?, cache))
    }
}

fn number(file: &mut ProcFile, buffer: &mut Buffer) -> Option<u64> {
    (file.read(buffer) == Reading::Whole)
        .then(|| text::fields(buffer.text()).next().and_then(text::number))?
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "25 21 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
                          31 25 0:27 / /cg/memory rw - cgroup cgroup rw,memory\n";

    fn own(membership: &str, strangers: &[&str]) -> Vec<PathBuf> {
        let strangers: Vec<String> = strangers
            .iter()
            .map(|stranger| (*stranger).to_owned())
            .collect();
        own_trees(membership, MOUNTS, &strangers)
            .into_iter()
            .map(|tree| tree.folder)
            .collect()
    }

    #[test]
    fn a_unit_has_a_control_group_of_its_own() {
        let unit = "0::/system.slice/web.service\n";
        let folder = PathBuf::from("/sys/fs/cgroup/system.slice/web.service");
        assert_eq!(own(unit, &["0::/init.scope\n"]), vec![folder.clone()]);
        assert_eq!(
            own(unit, &["0::/system.slice/web.service-2\n"]),
            vec![folder],
            "another name that begins alike"
        );
    }

    #[test]
    fn a_control_group_with_a_stranger_is_nobodys_own() {
        let session = "0::/user.slice/session-3.scope\n";
        assert!(own(session, &["0::/user.slice/session-3.scope\n"]).is_empty());
        assert!(own(session, &["0::/user.slice/session-3.scope/below\n"]).is_empty());
        assert!(own("0::/\n", &["0::/init.scope\n"]).is_empty());
    }

    #[test]
    fn trees_of_version_1_are_judged_each_for_itself() {
        let membership = "4:memory:/box\n1:cpu:/\n0::/shared\n";
        assert_eq!(
            own(membership, &["4:memory:/\n1:cpu:/\n0::/shared\n"]),
            vec![PathBuf::from("/cg/memory/box")]
        );
    }

    #[test]
    fn recorded_memory_of_both_versions_is_without_its_cache() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let mut buffer = Buffer::default();
        for (controllers, name) in [("", "cgroup2"), ("memory,cpuacct", "cgroup1")] {
            let folder = data.join(name);
            let mut group = OwnCgroup::open(&[Tree {
                controllers,
                folder,
            }])
            .expect("a folder");
            assert_eq!(group.memory(&mut buffer), Some((700, 300)), "{name}");
            let used = group.cpu(&mut buffer).expect("recorded");
            assert!(
                used.user_ns.is_some_and(|user| user <= used.total_ns),
                "{name}"
            );
            assert_eq!(group.processes(), BTreeSet::from([11, 12]), "{name}");
        }
    }
}

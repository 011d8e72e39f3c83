//! Numbers of processes and threads in the control groups of a process, and the limit `pids.max` of each control group.
//!
//! The limits of all enclosing control groups apply as well, such as the limit of a container or of a systemd slice.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::cgroup::mount;
use crate::json::Json;
use crate::procfile::{Buffer, ProcFile, Reading};
use crate::text;

/// Returns the folders of the control groups of a process that have the controller `pids`, the innermost first.
///
/// `membership` is the content of `/proc/PID/cgroup`, and `mounts` the content of `/proc/self/mountinfo`. The result is
/// `None` if the controller is not visible to this process.
#[must_use]
pub fn folders(membership: &str, mounts: &str) -> Option<Vec<PathBuf>> {
    let first = membership.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        controllers
            .split(',')
            .any(|name| name == "pids")
            .then_some(("cgroup", Some("pids"), path))
    });
    let second = || {
        let path = membership
            .lines()
            .find_map(|line| line.strip_prefix("0::"))?;
        Some(("cgroup2", None, path))
    };
    let (kind, option, path) = first.or_else(second)?;
    let (root, point) = mounts.lines().find_map(|line| mount(line, kind, option))?;
    let below = Path::new(path).strip_prefix(root).ok()?;
    if below.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    let innermost = Path::new(point).join(below);
    let within = innermost
        .ancestors()
        .take_while(|folder| folder.starts_with(point));
    Some(within.map(Path::to_path_buf).collect())
}

/// The control groups of a process that have a limit on processes and threads.
#[derive(Debug)]
pub struct CgroupTasks {
    levels: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    tasks: ProcFile,
    limit: ProcFile,
}

impl CgroupTasks {
    /// Finds the control groups of a process, or returns `None` if the controller `pids` is not visible.
    #[must_use]
    pub fn of_process(proc: &Path, pid: u32) -> Option<Self> {
        let membership = fs::read_to_string(proc.join(pid.to_string()).join("cgroup")).ok()?;
        let mounts = fs::read_to_string(proc.join("self/mountinfo")).ok()?;
        folders(&membership, &mounts).map(|folders| Self::open(&folders))
    }

    /// Opens the control groups that currently have a limit on processes and threads.
    #[must_use]
    pub fn open(folders: &[PathBuf]) -> Self {
        let is_limited = |folder: &&PathBuf| {
            fs::read(folder.join("pids.max")).is_ok_and(|content| {
                text::fields(&content)
                    .next()
                    .and_then(text::number)
                    .is_some()
            })
        };
        let level = |folder: &PathBuf| Level {
            tasks: ProcFile::new(folder.join("pids.current")),
            limit: ProcFile::new(folder.join("pids.max")),
        };
        Self {
            levels: folders.iter().filter(is_limited).map(level).collect(),
        }
    }

    /// Writes the object `pids` of a group: the number of processes and threads and the limit, for the control group
    /// that is closest to its limit.
    pub fn write(&mut self, buffer: &mut Buffer, json: &mut Json) {
        json.object("pids");
        json.count("levels", self.levels.len() as u64);
        let shares = self.levels.iter_mut().filter_map(|level| {
            Some((
                number(&mut level.tasks, buffer)?,
                number(&mut level.limit, buffer)?,
            ))
        });
        let share = |(tasks, limit): &(u64, u64)| *tasks as f64 / (*limit).max(1) as f64;
        if let Some((tasks, limit)) =
            shares.max_by(|one, other| share(one).total_cmp(&share(other)))
        {
            json.count("tasks", tasks);
            json.count("limit", limit);
        }
        json.end_object();
    }
}

fn number(file: &mut ProcFile, buffer: &mut Buffer) -> Option<u64> {
    (file.read(buffer) == Reading::Whole)
        .then(|| text::fields(buffer.text()).next().and_then(text::number))?
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "25 21 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    const V1: &str = "30 25 0:26 /docker/12ab /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn written(folders: &[PathBuf]) -> String {
        let mut json = Json::default();
        json.begin();
        CgroupTasks::open(folders).write(&mut Buffer::default(), &mut json);
        json.end_object();
        json.as_str().to_owned()
    }

    #[test]
    fn every_control_group_above_counts() {
        let root = PathBuf::from("/sys/fs/cgroup");
        let slice = root.join("system.slice");
        assert_eq!(
            folders("0::/system.slice/web.service\n", V2),
            Some(vec![slice.join("web.service"), slice, root.clone()])
        );
        assert_eq!(
            folders("0::/\n", V2),
            Some(vec![root]),
            "the root of a container has a limit of its own"
        );
        assert_eq!(folders("0::/../other\n", V2), None);
    }

    #[test]
    fn version_1_goes_by_the_controller() {
        let membership = "8:pids:/docker/12ab/inner\n1:cpu:/\n0::/x\n";
        let point = PathBuf::from("/sys/fs/cgroup/pids");
        assert_eq!(
            folders(membership, V1),
            Some(vec![point.join("inner"), point])
        );
        assert_eq!(folders("8:pids:/elsewhere\n0::/x\n", V1), None);
        assert_eq!(folders(membership, ""), None);
    }

    #[test]
    fn the_control_group_closest_to_its_limit_is_told() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pids");
        let (inner, free) = (data.join("inner"), data.join("free"));
        assert_eq!(
            written(&[inner, free.clone(), data]),
            "{\"pids\":{\"levels\":2,\"tasks\":95,\"limit\":100}}"
        );
        assert_eq!(written(&[free]), "{\"pids\":{\"levels\":0}}");
    }
}

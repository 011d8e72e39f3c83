//! CPU accounting of the control group (cgroup) that contains the root process of a group, for cgroup versions 1 and 2.
//!
//! The root cgroup is left out: it contains the whole host, which is sampled separately, and has no limits.

use std::fs;
use std::path::{Path, PathBuf};

use crate::json::Json;
use crate::procfile::{Buffer, ProcFile, Reading};
use crate::text;

const MICROSECOND_NS: u64 = 1000;

/// Control group that counts the CPU time of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountingGroup {
    /// Version 1: the folders of the controllers `cpu` and `cpuacct`, which may be identical.
    V1 {
        /// Folder of the controller `cpu`, with the files of limits and throttling.
        cpu: Option<PathBuf>,
        /// Folder of the controller `cpuacct`, with the files of CPU usage.
        cpuacct: Option<PathBuf>,
        /// Path of the cgroup in the hierarchy of cgroups.
        path: String,
    },
    /// Version 2: a single folder for all controllers.
    V2 {
        /// Folder with all files of the cgroup.
        folder: PathBuf,
        /// Path of the cgroup in the hierarchy of cgroups.
        path: String,
    },
}

/// Finds the control group of a process from the content of `/proc/PID/cgroup` and `/proc/self/mountinfo`.
///
/// If both versions are mounted, version 1 is used if it has the CPU controller.
#[must_use]
pub fn locate(membership: &str, mounts: &str) -> Option<AccountingGroup> {
    let v1 = |controller: &str| {
        let path = membership.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            controllers
                .split(',')
                .any(|name| name == controller)
                .then_some(path)
        })?;
        let mount = mounts
            .lines()
            .find_map(|line| mount(line, "cgroup", Some(controller)))?;
        Some((folder(&mount, path)?, path.to_owned()))
    };
    let (cpu, cpuacct) = (v1("cpu"), v1("cpuacct"));
    if let Some((_, path)) = cpu.as_ref().or(cpuacct.as_ref()) {
        let path = path.clone();
        return Some(AccountingGroup::V1 {
            cpu: cpu.map(|(folder, _)| folder),
            cpuacct: cpuacct.map(|(folder, _)| folder),
            path,
        });
    }
    let has_v1 = mounts
        .lines()
        .any(|line| mount(line, "cgroup", Some("cpu")).is_some());
    let path = membership
        .lines()
        .find_map(|line| line.strip_prefix("0::"))?;
    let mount = mounts
        .lines()
        .find_map(|line| mount(line, "cgroup2", None))
        .filter(|_| !has_v1)?;
    Some(AccountingGroup::V2 {
        folder: folder(&mount, path)?,
        path: path.to_owned(),
    })
}

/// Returns root and mount point from a line of mountinfo. Returns `None` if the line has another file system type, or
/// lacks the option (if an option is given).
pub(crate) fn mount<'a>(
    line: &'a str,
    kind: &str,
    option: Option<&str>,
) -> Option<(&'a str, &'a str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    let fits = after.next() == Some(kind);
    let mut options = after.nth(1).unwrap_or_default().split(',');
    let wanted = option.is_none_or(|option| options.any(|name| name == option));
    let mut before = before.split(' ').skip(3);
    (fits && wanted).then(|| Some((before.next()?, before.next()?)))?
}

/// Returns the folder of a cgroup below its mount point. Returns `None` for the root cgroup and for a cgroup that is
/// not mounted.
fn folder((root, point): &(&str, &str), path: &str) -> Option<PathBuf> {
    let below = Path::new(path).strip_prefix(root).ok()?;
    let inside = !below
        .components()
        .any(|part| part == std::path::Component::ParentDir);
    (path != "/" && inside).then(|| Path::new(point).join(below))
}

/// The open files of one cgroup that describe its CPU usage.
#[derive(Debug)]
pub struct CgroupCpu {
    version: u64,
    path: String,
    stat: Option<ProcFile>,
    usage: Option<ProcFile>,
    limit: Option<ProcFile>,
    period: Option<ProcFile>,
}

impl CgroupCpu {
    /// Finds the cgroup of a process. Returns `None` if the process is in the root cgroup or no cgroups are mounted.
    #[must_use]
    pub fn of_process(proc: &Path, pid: u32) -> Option<Self> {
        let membership = fs::read_to_string(proc.join(pid.to_string()).join("cgroup")).ok()?;
        let mounts = fs::read_to_string(proc.join("self/mountinfo")).ok()?;
        locate(&membership, &mounts).map(Self::open)
    }

    /// Opens the files of a cgroup.
    #[must_use]
    pub fn open(place: AccountingGroup) -> Self {
        let file = |folder: &PathBuf, name: &str| Some(ProcFile::new(folder.join(name)));
        match place {
            AccountingGroup::V2 { folder, path } => Self {
                version: 2,
                path,
                stat: file(&folder, "cpu.stat"),
                usage: None,
                limit: file(&folder, "cpu.max"),
                period: None,
            },
            AccountingGroup::V1 { cpu, cpuacct, path } => Self {
                version: 1,
                path,
                stat: cpu.as_ref().and_then(|folder| file(folder, "cpu.stat")),
                usage: cpuacct
                    .as_ref()
                    .and_then(|folder| file(folder, "cpuacct.usage")),
                limit: cpu
                    .as_ref()
                    .and_then(|folder| file(folder, "cpu.cfs_quota_us")),
                period: cpu
                    .as_ref()
                    .and_then(|folder| file(folder, "cpu.cfs_period_us")),
            },
        }
    }

    /// Writes the object `cgroup` in the sample of a group.
    pub fn write(&mut self, buffer: &mut Buffer, json: &mut Json) {
        json.object("cgroup");
        json.count("version", self.version);
        json.text("path", self.path.as_str());
        if read(&mut self.usage, buffer) {
            json.seconds(
                "cpu_s_total",
                text::fields(buffer.text()).next().and_then(text::number),
            );
        }
        if read(&mut self.stat, buffer) {
            self.write_stat(buffer.text(), json);
        }
        json.number("cpu_limit", self.limit(buffer));
        json.end_object();
    }

    /// Writes the counters of `cpu.stat`. Version 1 counts throttled time in nanoseconds; version 2 counts all times in
    /// microseconds.
    fn write_stat(&self, content: &[u8], json: &mut Json) {
        let microseconds = |key| text::keyed(content, key).map(|value| value * MICROSECOND_NS);
        if self.version == 2 {
            json.seconds("cpu_s_total", microseconds("usage_usec"));
            json.seconds("cpu_user_s_total", microseconds("user_usec"));
            json.seconds("cpu_system_s_total", microseconds("system_usec"));
        }
        json.count("periods_total", text::keyed(content, "nr_periods"));
        json.count(
            "throttled_periods_total",
            text::keyed(content, "nr_throttled"),
        );
        let throttled = if self.version == 2 {
            microseconds("throttled_usec")
        } else {
            text::keyed(content, "throttled_time")
        };
        json.seconds("throttled_s_total", throttled);
    }

    /// Returns the number of CPUs that the cgroup may use, or `None` if it has no limit. [1]
    fn limit(&mut self, buffer: &mut Buffer) -> Option<f64> {
        let first = |buffer: &Buffer, place| {
            text::fields(buffer.text())
                .nth(place)
                .and_then(text::number)
        };
        let quota = read(&mut self.limit, buffer)
            .then(|| first(buffer, 0))
            .flatten()?;
        let period = if self.version == 2 {
            first(buffer, 1)
        } else {
            read(&mut self.period, buffer)
                .then(|| first(buffer, 0))
                .flatten()
        };
        period
            .filter(|period| *period > 0)
            .map(|period| quota as f64 / period as f64)
    }
}

fn read(file: &mut Option<ProcFile>, buffer: &mut Buffer) -> bool {
    file.as_mut()
        .is_some_and(|file| file.read(buffer) == Reading::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2_MOUNT: &str =
        "25 21 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1_MOUNTS: &str = "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
                             31 25 0:27 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n\
                             32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn written(mut cgroup: CgroupCpu) -> String {
        let mut json = Json::default();
        json.begin();
        cgroup.write(&mut Buffer::default(), &mut json);
        json.end_object();
        json.as_str().to_owned()
    }

    #[test]
    fn version_2_is_one_folder() {
        let place = locate("0::/system.slice/web.service\n", V2_MOUNT);
        let folder = PathBuf::from("/sys/fs/cgroup/system.slice/web.service");
        assert_eq!(
            place,
            Some(AccountingGroup::V2 {
                folder,
                path: "/system.slice/web.service".into()
            })
        );
        assert_eq!(
            locate("0::/\n", V2_MOUNT),
            None,
            "the root cgroup is the host"
        );
        assert_eq!(
            locate("0::/../other\n", V2_MOUNT),
            None,
            "outside of our namespace"
        );
    }

    #[test]
    fn version_1_goes_by_controller_and_mount_root() {
        let membership = "5:memory:/a\n4:cpu,cpuacct:/docker/12ab/inner\n0::/x\n";
        let folder = PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/docker/12ab/inner");
        let path = "/docker/12ab/inner".to_owned();
        let both = AccountingGroup::V1 {
            cpu: Some(folder.clone()),
            cpuacct: Some(folder),
            path: path.clone(),
        };
        assert_eq!(locate(membership, V1_MOUNTS), Some(both));
        let mounted_below = V1_MOUNTS.replace("0:26 / /sys", "0:26 /docker/12ab /sys");
        let folder = PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/inner");
        let both = AccountingGroup::V1 {
            cpu: Some(folder.clone()),
            cpuacct: Some(folder),
            path,
        };
        assert_eq!(locate(membership, &mounted_below), Some(both));
        assert_eq!(locate("4:cpu,cpuacct:/\n0::/x\n", V1_MOUNTS), None);
    }

    #[test]
    fn a_path_may_hold_colons_and_other_controllers_may_come_first() {
        let mounts = "31 25 0:27 / /cg/memory rw shared:10 - cgroup cgroup rw,memory\n\
                      30 25 0:26 / /cg/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";
        let place = locate("5:memory:/a\n4:cpu:/box:1/b\n", mounts);
        let cpu = AccountingGroup::V1 {
            cpu: Some("/cg/cpu/box:1/b".into()),
            cpuacct: None,
            path: "/box:1/b".into(),
        };
        assert_eq!(place, Some(cpu));
    }

    #[test]
    fn the_limit_of_version_1_is_the_quota_of_a_period() {
        let folder = std::env::temp_dir().join(format!("towtank-quota-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let limit = |quota: &str, period: &str| {
            fs::write(folder.join("cpu.cfs_quota_us"), quota).expect("a file");
            fs::write(folder.join("cpu.cfs_period_us"), period).expect("a file");
            let place = AccountingGroup::V1 {
                cpu: Some(folder.clone()),
                cpuacct: None,
                path: "/box".into(),
            };
            CgroupCpu::open(place).limit(&mut Buffer::default())
        };
        let found = [
            limit("150000\n", "100000\n"),
            limit("3\n", "1\n"),
            limit("150000\n", "0\n"),
            limit("-1\n", "100000\n"),
        ];
        fs::remove_dir_all(&folder).expect("our own folder");
        assert_eq!(found, [Some(1.5), Some(3.0), None, None]);
    }

    #[test]
    fn recorded_files_of_both_versions() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let path = "/box".to_owned();
        let v2 = CgroupCpu::open(AccountingGroup::V2 {
            folder: data.join("cgroup2"),
            path: path.clone(),
        });
        assert_eq!(
            written(v2),
            "{\"cgroup\":{\"version\":2,\"path\":\"/box\",\"cpu_s_total\":12.345678,\"cpu_user_s_total\":10.0,\
             \"cpu_system_s_total\":2.345678,\"periods_total\":120,\"throttled_periods_total\":30,\
             \"throttled_s_total\":1.5,\"cpu_limit\":1.5}}"
        );
        let folder = Some(data.join("cgroup1"));
        let v1 = CgroupCpu::open(AccountingGroup::V1 {
            cpu: folder.clone(),
            cpuacct: folder,
            path,
        });
        assert_eq!(
            written(v1),
            "{\"cgroup\":{\"version\":1,\"path\":\"/box\",\"cpu_s_total\":2.000000001,\"periods_total\":8,\
             \"throttled_periods_total\":3,\"throttled_s_total\":0.25}}"
        );
    }
}

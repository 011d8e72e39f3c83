//! A group: a root process and all its descendants, sampled together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::busy::{Busiest, Names};
use crate::cgroup::CgroupCpu;
use crate::json::Json;
use crate::kin::{Kin, Trace};
use crate::ledger::{Balance, CpuTotal, Ledger, add};
use crate::memory::{self, Pace, Rounds};
use crate::own_cgroup::{CpuTime, OwnCgroup};
use crate::pids::CgroupTasks;
use crate::ports::Networks;
use crate::process::{FileCount, ProcessReader, Usage};
use crate::procfile::Buffer;
use crate::threads::Switches;
use crate::tree::{Entry, Table};
use crate::users::Users;

/// Data that all groups use during a sample.
pub struct Reader<'a> {
    /// Buffer for reading files, shared by all groups.
    pub buffer: &'a mut Buffer,
    /// Table of all processes of the host.
    pub table: &'a Table,
    /// `true` if the table of processes has been refreshed since the last sample.
    pub refreshed: bool,
    /// Number of processes of each operating-system user. It is counted at most once in a sample; `None` before that.
    pub users: &'a mut Option<Users>,
    /// Sockets of the host, by network namespace.
    pub networks: &'a mut Networks,
    /// Method by which open files of a process are counted.
    pub count: FileCount,
    /// Length of a clock tick, the unit of CPU times in `/proc`. [ns]
    pub tick_ns: u64,
    /// Size of a memory page of the kernel. [bytes]
    pub page_bytes: u64,
    /// Time at which the sample started, on `CLOCK_MONOTONIC`. [ns]
    pub now_ns: u64,
    /// Process ids of the root processes of all groups.
    pub roots: &'a [u32],
    /// Rounds in which the proportional set sizes of processes (PSS) are measured.
    pub memory_rounds: Rounds,
    /// CPU time that the last measurements of the memory of all groups took. [ns]
    pub memory_took_ns: u64,
    /// `true` if the kernel randomizes the memory layout of each program.
    pub images_are_drawn: bool,
}

/// Processes are counted by operating-system user only if the processes of the whole host reach this share of a user's
/// limit on processes. Below it, no user can be near the limit. [percent]
const USERS_FROM: u64 = 90;

/// A process id that no process has, since the largest process id of Linux is 2^22.
const NOBODY: u32 = u32::MAX;

#[derive(Debug)]
struct Member {
    reader: ProcessReader,
    start_ticks: u64,
    last: Option<Usage>,
}

/// State of one sampled group of processes.
#[derive(Debug)]
pub struct Group {
    /// Name of the group in the samples.
    pub name: String,
    root: u32,
    root_start_ticks: Option<u64>,
    proc: PathBuf,
    /// `true` after the root process was set, until its descendants have been searched for. Until then, processes of
    /// any age may be descendants.
    unexplored: bool,
    members: BTreeMap<u32, Member>,
    ledger: Ledger,
    switches_carried: Switches,
    cgroup: Option<CgroupCpu>,
    pids: Option<CgroupTasks>,
    kin: Kin,
    cpu: CpuTotal,
    pace: Pace,
    /// Root processes of all groups at the time when the membership of processes was last determined.
    settled_with: Vec<u32>,
    names: Names,
}

/// Values summed over the living processes of the group.
#[derive(Debug, Default)]
pub struct Standing {
    balance: Balance,
    of_cgroup: Option<CpuTime>,
    io_known: bool,
    resident_pages: Option<u64>,
    open_files: Option<u64>,
    fullest: Option<Fullest>,
    busiest_process: Option<Busiest>,
    busiest_thread: Option<Busiest>,
    switches: Switches,
    threads: u64,
    alive: u64,
}

/// Open files and limit on open files of the process of the group that is closest to its own limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fullest {
    open: u64,
    limit: u64,
}

impl Fullest {
    fn of(usage: &Usage) -> Option<Self> {
        let (open, limit) = usage.open_files.zip(usage.open_files_limit)?;
        Some(Self { open, limit })
    }

    fn is_fuller(self, other: Self) -> bool {
        u128::from(self.open) * u128::from(other.limit)
            > u128::from(other.open) * u128::from(self.limit)
    }
}

impl Group {
    /// Creates the group of the process tree below `root`.
    #[must_use]
    pub fn new(name: &str, root: u32, proc: &Path) -> Self {
        Self {
            name: name.to_owned(),
            root,
            root_start_ticks: None,
            proc: proc.to_owned(),
            unexplored: true,
            members: BTreeMap::new(),
            ledger: Ledger::default(),
            switches_carried: Switches::default(),
            cgroup: None,
            pids: None,
            kin: Kin::default(),
            cpu: CpuTotal::default(),
            pace: Pace::default(),
            settled_with: Vec::new(),
            names: Names::default(),
        }
    }

    /// Returns the process id of the root process of the group.
    #[must_use]
    pub fn root(&self) -> u32 {
        self.root
    }

    /// Returns the CPU time that the last measurement of the group's memory took. [ns]
    #[must_use]
    pub fn memory_took_ns(&self) -> u64 {
        self.pace.took_ns()
    }

    /// Replaces the root process of the group, for example after a service was restarted. The totals of the group
    /// continue.
    ///
    /// If the new root is older than the old root, the totals start from zero. The new root may then be an ancestor of
    /// the old root, so its counters may include usage that is already in the totals.
    pub fn replace_root(&mut self, root: u32, table: &Table) {
        let older = |new: u64| self.root_start_ticks.is_some_and(|old| new < old);
        if table
            .get(root)
            .is_some_and(|entry| older(entry.start_ticks))
        {
            *self = Self::new(&self.name, root, &self.proc);
            return;
        }
        let still = |pid: u32| pid == root || table.descends(pid, root, |_| false);
        let mut dropped = Balance::default();
        let leaving: Vec<u32> = self
            .members
            .keys()
            .copied()
            .filter(|pid| !still(*pid))
            .collect();
        for pid in leaving {
            self.vanish(pid, &mut dropped);
        }
        self.ledger.close(&dropped);
        self.cpu.leave_cgroup();
        (self.kin, self.settled_with) = (Kin::default(), Vec::new());
        (
            self.root,
            self.root_start_ticks,
            self.unexplored,
            self.cgroup,
            self.pids,
        ) = (root, None, true, None, None);
        if let Some(start_ticks) = self.members.get(&root).map(|member| member.start_ticks) {
            self.recognize_root(start_ticks);
        }
    }

    /// Stores the start time of the root process, and finds its control groups.
    fn recognize_root(&mut self, start_ticks: u64) {
        self.root_start_ticks = Some(start_ticks);
        self.cgroup = CgroupCpu::of_process(&self.proc, self.root);
        self.pids = CgroupTasks::of_process(&self.proc, self.root);
    }

    /// Reads all members of the group and, at the same time, the CPU time of the control group.
    pub fn read(&mut self, with: &mut Reader<'_>) -> Standing {
        let mut standing = Standing {
            io_known: true,
            resident_pages: Some(0),
            open_files: Some(0),
            switches: self.switches_carried,
            ..Standing::default()
        };
        let is_settled = self.settled_with == with.roots && !self.kin.is_news();
        if with.refreshed || self.unexplored || !is_settled {
            self.settle_kinship(with);
            while self.discover(with, &mut standing.balance) {}
        }
        self.read_members(with, &mut standing);
        let cgroup = self.kin.cgroup.as_mut();
        standing.of_cgroup = cgroup.and_then(|cgroup| cgroup.cpu(with.buffer));
        standing
    }

    /// Writes the object of this group in the sample.
    pub fn write(&mut self, with: &mut Reader<'_>, standing: &Standing, json: &mut Json) {
        json.object(&self.name);
        // If the root process never existed, the group has no values.
        if self.root_start_ticks.is_some() || !self.members.is_empty() {
            self.write_sums(with, standing, json);
        }
        json.flag("alive", self.alive());
        json.end_object();
    }

    fn alive(&self) -> bool {
        let root = self.members.get(&self.root);
        root.and_then(|member| member.last)
            .is_some_and(|usage| usage.stat.alive())
    }

    /// Determines again which control group and which memory layouts show that a process is a member, if the root
    /// process of any group has changed.
    fn settle_kinship(&mut self, with: &Reader<'_>) {
        if self.settled_with != with.roots {
            let others = with.roots.iter().filter(|pid| **pid != self.root);
            let others: Vec<u32> = others.copied().collect();
            let mut strangers = with.table.ancestors(self.root);
            strangers.extend(&others);
            self.kin.exclude(self.root, &others, with.table);
            self.kin.cgroup = OwnCgroup::find(&self.proc, self.root, &strangers);
            self.cpu.leave_cgroup();
            self.settled_with = with.roots.to_vec();
        }
        self.kin.refresh(with.table);
    }

    /// Adds processes that belong to the group, and drops members whose process id was reused. Returns `true` if any
    /// process was added, since an added process may show that further processes belong to the group.
    fn discover(&mut self, with: &Reader<'_>, balance: &mut Balance) -> bool {
        let table = with.table;
        let root = self.root_that_is_meant(table);
        let is_old_enough = self.unexplored || self.kin.has_learned();
        let found: Vec<(u32, Trace)> = table
            .processes(!is_old_enough)
            .filter(|(pid, entry)| !self.is_member(*pid, entry.start_ticks))
            .filter(|(pid, entry)| self.belongs(*pid, entry, root, with))
            .map(|(pid, entry)| (pid, entry.trace()))
            .collect();
        for (pid, trace) in &found {
            self.vanish(*pid, balance);
            self.take_in(*pid, trace.start_ticks, root);
            self.kin.learn(*pid, *trace, with.images_are_drawn);
        }
        self.unexplored = false;
        !found.is_empty()
    }

    /// Returns the process id of the root process. If the kernel has reused this id for another process, returns an id
    /// that no process has.
    fn root_that_is_meant(&self, table: &Table) -> u32 {
        let is_another = self.root_start_ticks.is_some_and(|start| {
            table
                .get(self.root)
                .is_none_or(|entry| entry.start_ticks != start)
        });
        if is_another { NOBODY } else { self.root }
    }

    fn is_member(&self, pid: u32, start_ticks: u64) -> bool {
        self.members
            .get(&pid)
            .is_some_and(|member| member.start_ticks == start_ticks)
    }

    fn belongs(&self, pid: u32, entry: &Entry, root: u32, with: &Reader<'_>) -> bool {
        let table = with.table;
        // The kernel may reuse a process id, so a process only counts as a member if it also has the start time of the
        // member.
        let member = |pid: u32| {
            table
                .get(pid)
                .is_some_and(|entry| self.is_member(pid, entry.start_ticks))
        };
        let claimed = |start: u64| self.kin.claims(pid, entry, start, table);
        pid == root
            || table.descends(pid, root, member)
            || (!with.roots.contains(&pid) && self.root_start_ticks.is_some_and(claimed))
    }

    fn take_in(&mut self, pid: u32, start_ticks: u64, root: u32) {
        if pid == root {
            self.recognize_root(start_ticks);
        }
        let reader = ProcessReader::new(&self.proc, pid);
        let member = Member {
            reader,
            start_ticks,
            last: None,
        };
        self.members.insert(pid, member);
    }

    /// Removes a member that has ended, and keeps the values of its last sample for the totals.
    fn vanish(&mut self, pid: u32, balance: &mut Balance) {
        let Some(last) = self.members.remove(&pid).and_then(|member| member.last) else {
            return;
        };
        add(&mut balance.vanished, &last.stat.own);
        add(&mut balance.vanished, &last.stat.children);
        add(&mut balance.io_vanished, &last.io.unwrap_or_default());
        self.switches_carried.carry(&last.switches);
    }

    fn read_members(&mut self, with: &mut Reader<'_>, standing: &mut Standing) {
        let mut ended = Vec::new();
        for (pid, member) in &mut self.members {
            let usage = member
                .reader
                .read(with.buffer, with.count, member.last.as_ref());
            match usage.filter(|usage| usage.stat.start_ticks == member.start_ticks) {
                Some(now) => {
                    standing.take(&now, member.last.as_ref());
                    standing.compare(*pid, &now);
                    self.kin
                        .learn(*pid, now.stat.trace(), with.images_are_drawn);
                    member.last = Some(now);
                }
                None => ended.push(*pid),
            }
        }
        for pid in ended {
            if let Some(last) = self.members.get(&pid).and_then(|member| member.last) {
                standing.switches.carry(&last.switches);
            }
            self.vanish(pid, &mut standing.balance);
        }
    }

    fn write_sums(&mut self, with: &mut Reader<'_>, standing: &Standing, json: &mut Json) {
        let (total, io) = self.ledger.settle(&standing.balance);
        let seen_ns = [total[0] * with.tick_ns, total[1] * with.tick_ns];
        let [user_ns, system_ns] = self.cpu.settle(seen_ns, standing.of_cgroup);
        json.seconds("cpu_user_s_total", user_ns);
        json.seconds("cpu_system_s_total", system_ns);
        self.write_memory(with, standing, json);
        json.count("page_faults_total", total[2]);
        json.count("major_page_faults_total", total[3]);
        if standing.io_known {
            for (key, value) in [
                "read_bytes_total",
                "write_bytes_total",
                "read_operations_total",
                "write_operations_total",
            ]
            .iter()
            .zip(io)
            {
                json.count(key, value);
            }
        }
        json.count("voluntary_switches_total", standing.switches.voluntary);
        json.count("involuntary_switches_total", standing.switches.involuntary);
        json.seconds("run_queue_wait_s_total", standing.switches.wait_ns);
        json.count("threads", standing.threads);
        json.count("processes", self.members.len() as u64);
        json.count("processes_alive", standing.alive);
        json.count("open_files", standing.open_files);
        if let Some(fullest) = standing.fullest {
            json.count("open_files_of_fullest", fullest.open);
            json.count("open_files_limit", fullest.limit);
        }
        self.names.write(
            &self.proc,
            standing.busiest_process,
            standing.busiest_thread,
            json,
        );
        self.write_user(with, json);
        json.count("root_pid", u64::from(self.root));
        json.count("root_start_ticks", self.root_start_ticks);
        if let Some(cgroup) = &mut self.cgroup {
            cgroup.write(with.buffer, json);
        }
        if let Some(cgroup) = &mut self.kin.cgroup {
            cgroup.write(with.buffer, json);
        }
        if let Some(pids) = &mut self.pids {
            pids.write(with.buffer, json);
        }
        // The root may be a guard process, which runs outside of the network namespace of its command. A member other
        // than the root is therefore preferred.
        let inside = self.members.keys().rfind(|pid| **pid != self.root);
        if let Some(pid) = inside.or_else(|| self.members.keys().next()) {
            with.networks.write(&self.proc, *pid, json);
        }
    }

    /// Writes the sum of the resident sets of the group, and the proportional sets if their measurement is due.
    fn write_memory(&mut self, with: &Reader<'_>, standing: &Standing, json: &mut Json) {
        let resident = standing.resident_pages.map(|pages| pages * with.page_bytes);
        json.count("resident_sets_bytes", resident);
        let (resident, processes) = (resident.unwrap_or(0), self.members.len() as u64);
        let (took_ns, rounds) = (with.memory_took_ns, with.memory_rounds);
        let is_due = self
            .pace
            .is_due(with.now_ns, resident, processes, took_ns, rounds);
        if !is_due {
            return;
        }
        let pids = self.members.keys().copied();
        let found = memory::round(&mut self.pace, &self.proc, pids, resident, processes);
        json.count("memory_bytes", found.map(|sets| sets.all));
        json.count("memory_anonymous_bytes", found.map(|sets| sets.anonymous));
    }

    /// Writes the number of processes and threads of the operating-system user that is closest to its limit, among the
    /// users that own processes of the group.
    ///
    /// Nothing is counted unless the number of processes on the whole host is near the lowest limit: otherwise no user
    /// can be near its limit.
    fn write_user(&self, with: &mut Reader<'_>, json: &mut Json) {
        let limited = |(pid, member): (&u32, &Member)| Some((*pid, member.last?.processes_limit?));
        let lowest = self
            .members
            .iter()
            .filter_map(limited)
            .map(|(_, limit)| limit)
            .min();
        let near = |(tasks, limit): (u64, u64)| {
            tasks.saturating_mul(100) >= limit.saturating_mul(USERS_FROM)
        };
        if !with.table.tasks().zip(lowest).is_some_and(near) {
            return;
        }
        let pids = with.table.processes(false).map(|(pid, _)| pid);
        let users = with
            .users
            .get_or_insert_with(|| Users::count(&self.proc, pids));
        let shares = self
            .members
            .iter()
            .filter_map(limited)
            .filter_map(|(pid, limit)| {
                let (tasks, exempt) = users.of(pid)?;
                Some((tasks, (!exempt).then_some(limit)))
            });
        let share = |(tasks, limit): &(u64, Option<u64>)| {
            limit.map_or(0.0, |limit| *tasks as f64 / limit.max(1) as f64)
        };
        if let Some((tasks, limit)) =
            shares.max_by(|one, other| share(one).total_cmp(&share(other)))
        {
            json.count("user_tasks", tasks);
            json.count("user_tasks_limit", limit);
        }
    }
}

impl Standing {
    /// Compares a process with the busiest process and the busiest thread so far, and keeps the busier ones.
    fn compare(&mut self, pid: u32, now: &Usage) {
        let process = now.growth.map(|growth| Busiest {
            pid,
            tid: pid,
            growth,
        });
        let thread = now
            .busiest_thread
            .map(|(tid, growth)| Busiest { pid, tid, growth });
        self.busiest_process = Busiest::busier(self.busiest_process, process);
        self.busiest_thread = Busiest::busier(self.busiest_thread, thread);
    }

    fn take(&mut self, now: &Usage, last: Option<&Usage>) {
        add(&mut self.balance.standing, &now.stat.own);
        add(&mut self.balance.standing, &now.stat.children);
        if let Some(last) = last {
            for (place, reaped) in self.balance.reaped.iter_mut().enumerate() {
                *reaped += now.stat.children[place].saturating_sub(last.stat.children[place]);
            }
        }
        self.io_known &= now.io.is_some();
        add(&mut self.balance.io_standing, &now.io.unwrap_or_default());
        let sum = |left: Option<u64>, right: Option<u64>| {
            left.zip(right).map(|(left, right)| left + right)
        };
        self.resident_pages = sum(self.resident_pages, now.resident_pages);
        self.open_files = sum(self.open_files, now.open_files);
        self.fullest = match (self.fullest, Fullest::of(now)) {
            (Some(fullest), Some(another)) if !another.is_fuller(fullest) => Some(fullest),
            (fullest, another) => another.or(fullest),
        };
        self.switches.add(&now.switches);
        self.threads += now.stat.threads;
        self.alive += u64::from(now.stat.alive());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(open: u64, limit: Option<u64>) -> Usage {
        Usage {
            open_files: Some(open),
            open_files_limit: limit,
            ..Usage::default()
        }
    }

    #[test]
    fn the_fullest_process_is_the_closest_to_its_own_limit() {
        let mut standing = Standing::default();
        for (open, limit) in [
            (900, None),
            (30, Some(64)),
            (40, Some(1024)),
            (20, Some(64)),
        ] {
            standing.take(&usage(open, limit), None);
        }
        let fullest = Fullest {
            open: 30,
            limit: 64,
        };
        assert_eq!(standing.fullest, Some(fullest));
        // An equal share does not replace the process that was found first; a larger share does.
        standing.take(&usage(60, Some(128)), None);
        assert_eq!(standing.fullest, Some(fullest));
        standing.take(&usage(61, Some(128)), None);
        assert_eq!(standing.fullest.map(|fullest| fullest.open), Some(61));
    }
}

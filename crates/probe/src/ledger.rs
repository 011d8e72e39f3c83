//! Counts the resource usage of a group, including processes that have ended, without double counting.
//!
//! When a process ends and is reaped, the kernel adds its usage to the process that waited for it. User time, system
//! time and page faults, including those of the ended process's own children, are added to the `children` fields of the
//! waiting process. `io` is added to the `io` of the waiting process itself. The usage is lost if no process waits
//! (because the parent ignores SIGCHLD), or if a process outside of the group reaps the ended process.
//!
//! Let `S` be the sum of own and children's time over all living members, and `V` the last values of the members that
//! ended since the last sample. `R` is the increase of the `children` fields of the members present in both samples. At
//! most `R` of `V` is included in the fields of living members, so `max(0, V − R)` is added to a carried amount:
//!
//! ```text
//! carried  ←  carried + max(0, V − R)        total = S + carried
//! ```
//!
//! The total never decreases. It never exceeds the real usage: `R` plus the carried amount is `max(R, V)`, and both are
//! parts of the real usage. It misses only the usage of ended processes after their last sample, if no process of the
//! group waits for them.

use crate::own_cgroup::CpuTime;

/// Changes between two samples, summed over the members of a group.
///
/// Each array contains user time and system time [clock ticks], minor page faults and major page faults.
#[derive(Debug, Clone, Copy, Default)]
pub struct Balance {
    /// Usage by all living members and by the children for which they waited.
    pub standing: [u64; 4],
    /// Increase of the `children` fields (usage of ended children) of members that lived both at the previous sample
    /// and now.
    pub reaped: [u64; 4],
    /// Usage by members that have ended since the previous sample, and by the children for which they waited, as of
    /// their last sample.
    pub vanished: [u64; 4],
    /// Counters of input and output (`/proc/PID/io`) of all living members.
    pub io_standing: [u64; 4],
    /// Counters of input and output (`/proc/PID/io`) of members that have ended, as of their last sample.
    pub io_vanished: [u64; 4],
}

/// CPU time of a group: the sum over its processes or the time of its own control group, whichever is larger.
///
/// Only the control group counts processes that ended and were reaped outside of the group. Only the sum counts members
/// outside of the control group. The total never decreases.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuTotal {
    /// User and system time that the control group counted in addition to the sum over the processes. [ns]
    surplus: [u64; 2],
    /// CPU time of the control group at the first reading, and the total of the group at that time.
    base: Option<(CpuTime, u64)>,
    last: Option<CpuTime>,
}

impl CpuTotal {
    /// Processes one sample. Returns the total user time and system time of the group. [ns]
    pub fn settle(&mut self, ledger: [u64; 2], cgroup: Option<CpuTime>) -> [u64; 2] {
        let total = [ledger[0] + self.surplus[0], ledger[1] + self.surplus[1]];
        let Some(now) = cgroup else { return total };
        let sum = total[0] + total[1];
        let (base, base_sum) = *self.base.get_or_insert((now, sum));
        let by_cgroup = base_sum + now.total_ns.saturating_sub(base.total_ns);
        let missing = by_cgroup.saturating_sub(sum);
        let system = self.last.map_or(0, |last| system_part(missing, last, now));
        self.surplus[0] += missing - system;
        self.surplus[1] += system;
        self.last = Some(now);
        [total[0] + missing - system, total[1] + system]
    }

    /// Forgets the control group, so that another control group can be used. The times counted so far are kept.
    pub fn leave_cgroup(&mut self) {
        (self.base, self.last) = (None, None);
    }
}

/// Returns the part of `time` that is system time. The control group's usage between the two samples determines the
/// ratio of system time to user time.
fn system_part(time: u64, last: CpuTime, now: CpuTime) -> u64 {
    let whole = now.total_ns.saturating_sub(last.total_ns);
    let Some((before, after)) = last.user_ns.zip(now.user_ns) else {
        return 0;
    };
    let system = whole.saturating_sub(after.saturating_sub(before));
    let part = u128::from(time) * u128::from(system) / u128::from(whole.max(1));
    u64::try_from(part).unwrap_or(time).min(time)
}

const MINOR_FAULTS: usize = 2;

/// Adds the elements of `right` to those of `left`.
pub fn add(left: &mut [u64; 4], right: &[u64; 4]) {
    for (left, right) in left.iter_mut().zip(right) {
        *left += right;
    }
}

/// Usage by members that have ended, and the last reported totals of the group.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ledger {
    carried: [u64; 4],
    io_carried: [u64; 4],
    io_total: [u64; 4],
}

impl Ledger {
    /// Processes one sample. Returns the totals of user time, system time, minor and major page faults, and the totals
    /// of the input and output counters.
    pub fn settle(&mut self, balance: &Balance) -> ([u64; 4], [u64; 4]) {
        let mut total = balance.standing;
        for (place, total) in total.iter_mut().enumerate() {
            self.carried[place] += balance.vanished[place].saturating_sub(balance.reaped[place]);
            *total += self.carried[place];
        }
        self.settle_io(balance);
        (total, self.io_total)
    }

    /// Adds the usage of members that leave the group to the totals. Members that stay are counted with the next
    /// sample.
    pub fn close(&mut self, dropped: &Balance) {
        add(&mut self.carried, &dropped.vanished);
        add(&mut self.io_carried, &dropped.io_vanished);
    }

    /// Computes the totals of input and output (`io`), which never decrease.
    ///
    /// When a parent waits for an ended child, the kernel adds the child's `io` to the parent's `io`. It also adds the
    /// child's page faults to the parent's `children` fields. Every process has page faults, so an increase of these
    /// fields shows that a parent waited. The `io` of ended members is then not added, because the `io` of a living
    /// parent may already include it.
    fn settle_io(&mut self, balance: &Balance) {
        let nobody_waited_for = balance.reaped[MINOR_FAULTS] == 0;
        for place in 0..self.io_total.len() {
            if nobody_waited_for {
                self.io_carried[place] += balance.io_vanished[place];
            }
            let missing = self.io_total[place]
                .saturating_sub(balance.io_standing[place] + self.io_carried[place]);
            self.io_carried[place] += missing;
            self.io_total[place] = balance.io_standing[place] + self.io_carried[place];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(total_ns: u64, user_ns: u64) -> CpuTime {
        let user_ns = Some(user_ns);
        CpuTime { total_ns, user_ns }
    }

    #[test]
    fn a_control_group_adds_what_nobody_of_the_group_waited_for() {
        let mut cpu = CpuTotal::default();
        assert_eq!(cpu.settle([100, 10], Some(used(1000, 800))), [100, 10]);
        // The control group used 80, of which 60 in user mode; the processes used 20. The excess `80 - 20 = 60` is
        // divided like the usage of the control group: 45 user time and 15 system time.
        assert_eq!(cpu.settle([120, 10], Some(used(1080, 860))), [165, 25]);
        // A member outside of the control group works, so the sum over the processes grows by more than the control
        // group.
        assert_eq!(cpu.settle([220, 10], Some(used(1090, 870))), [265, 25]);
        cpu.leave_cgroup();
        assert_eq!(cpu.settle([220, 10], None), [265, 25]);
        assert_eq!(cpu.settle([220, 10], Some(used(5, 5))), [265, 25]);
        assert_eq!(cpu.settle([220, 10], Some(used(15, 15))), [275, 25]);
    }

    #[test]
    fn system_time_of_the_processes_is_part_of_what_the_control_group_counts() {
        let mut cpu = CpuTotal::default();
        cpu.settle([100, 10], Some(used(1000, 800)));
        // Both counters of system time increase by 20, so no usage is missing.
        assert_eq!(cpu.settle([100, 30], Some(used(1020, 800))), [100, 30]);
        // The system time of the control group increases by 7; the system time of the processes does not increase.
        assert_eq!(cpu.settle([100, 30], Some(used(1027, 800))), [100, 37]);
        assert_eq!(cpu.settle([100, 30], Some(used(1027, 800))), [100, 37]);
    }

    #[test]
    fn a_control_group_without_user_time_counts_as_user_time() {
        let total = |total_ns: u64| {
            let user_ns = None;
            Some(CpuTime { total_ns, user_ns })
        };
        let mut cpu = CpuTotal::default();
        cpu.settle([100, 10], total(1000));
        assert_eq!(cpu.settle([100, 10], total(1040)), [140, 10]);
    }

    #[test]
    fn members_that_leave_keep_their_usage_and_the_others_stay() {
        let mut ledger = Ledger::default();
        ledger.settle(&Balance {
            standing: [150; 4],
            io_standing: [7; 4],
            ..Balance::default()
        });
        ledger.close(&Balance {
            vanished: [90; 4],
            io_vanished: [4; 4],
            ..Balance::default()
        });
        let left = Balance {
            standing: [60; 4],
            io_standing: [3; 4],
            ..Balance::default()
        };
        assert_eq!(ledger.settle(&left), ([150; 4], [7; 4]));
    }

    /// A simulated process with the counters that the kernel keeps for a process.
    #[derive(Debug, Clone, Default)]
    struct Simulated {
        parent: Option<usize>,
        own: u64,
        children: u64,
        /// Bytes of input and output of the process and of the children for which it waited. The kernel keeps a single
        /// number for the process and these children.
        io: u64,
        ended: bool,
        gone: bool,
        /// Values at the last sample: usage of the process, usage of its children, and io.
        seen: Option<(u64, u64, u64)>,
    }

    #[derive(Default)]
    struct Kernel {
        processes: Vec<Simulated>,
        used: u64,
        moved: u64,
        random: u64,
    }

    impl Kernel {
        fn random(&mut self, below: u64) -> u64 {
            // The multiplier and increment are those of Knuth's MMIX generator. Only the upper bits of the state are
            // used, since the lower bits are less random.
            self.random = self
                .random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.random >> 33) % below
        }

        fn run(&mut self, process: usize) {
            if self.processes[process].ended {
                return;
            }
            let (time, io) = (self.random(9), self.random(5));
            self.processes[process].own += time;
            self.processes[process].io += io;
            self.used += time;
            self.moved += io;
        }

        fn fork(&mut self, parent: usize) {
            if !self.processes[parent].ended {
                // Every process first uses some time, as a real process has page faults before it can do anything else.
                self.processes.push(Simulated {
                    parent: Some(parent),
                    own: 1,
                    ..Simulated::default()
                });
                self.used += 1;
            }
        }

        /// Ends a process. The children of the process become children of the root if the root is a reaper; otherwise
        /// they leave the group.
        fn exit(&mut self, process: usize, root_reaps: bool) {
            if process == 0 {
                return;
            }
            self.processes[process].ended = true;
            for other in &mut self.processes {
                if other.parent == Some(process) {
                    other.parent = root_reaps.then_some(0);
                }
            }
        }

        /// Removes an ended process. If the parent of the process waits for children, the usage of the process is added
        /// to that of the parent.
        fn take_away(&mut self, process: usize, waits: bool) {
            let ended = self.processes[process].clone();
            if !ended.ended || ended.gone {
                return;
            }
            self.processes[process].gone = true;
            if let Some(parent) = ended.parent.filter(|_| waits) {
                self.processes[parent].children += ended.own + ended.children;
                self.processes[parent].io += ended.io;
            }
        }

        /// Reads the counters of all simulated processes as the sampler does.
        fn sample(&mut self) -> Balance {
            let mut balance = Balance::default();
            for process in &mut self.processes {
                let now = (process.own, process.children, process.io);
                if !process.gone {
                    add(&mut balance.standing, &[now.0 + now.1; 4]);
                    balance.io_standing[0] += now.2;
                    if let Some(seen) = process.seen {
                        add(&mut balance.reaped, &[now.1 - seen.1; 4]);
                    }
                    process.seen = Some(now);
                } else if let Some(seen) = process.seen.take() {
                    add(&mut balance.vanished, &[seen.0 + seen.1; 4]);
                    balance.io_vanished[0] += seen.2;
                }
            }
            balance
        }
    }

    /// Simulates random forks, work, ends, waits and samples. At each sample, `check` gets four totals: measured usage,
    /// true usage, measured io and true io.
    fn simulate(
        seed: u64,
        waits: fn(u64) -> bool,
        root_reaps: bool,
        mut check: impl FnMut(u64, u64, u64, u64),
    ) {
        let mut kernel = Kernel {
            random: seed,
            processes: vec![Simulated::default()],
            ..Kernel::default()
        };
        let mut ledger = Ledger::default();
        for _ in 0..2000 {
            let count = kernel.processes.len() as u64;
            let process = kernel.random(count) as usize;
            match kernel.random(6) {
                0 => kernel.fork(process),
                1 | 2 => kernel.run(process),
                3 => kernel.exit(process, root_reaps),
                4 => {
                    let choice = kernel.random(100);
                    kernel.take_away(process, waits(choice));
                }
                _ => {
                    let balance = kernel.sample();
                    let (total, io) = ledger.settle(&balance);
                    check(total[0], kernel.used, io[0], kernel.moved);
                }
            }
        }
    }

    #[test]
    fn total_is_the_truth_where_everyone_is_waited_for() {
        for seed in 0..200 {
            simulate(
                seed,
                |_| true,
                true,
                |total, truth, io, moved| {
                    assert_eq!(total, truth, "seed {seed}");
                    assert_eq!(io, moved, "seed {seed}");
                },
            );
        }
    }

    #[test]
    fn total_never_exceeds_the_truth_and_never_shrinks() {
        let choices: [fn(u64) -> bool; 3] = [|_| false, |choice| choice < 50, |choice| choice < 90];
        for seed in 0..200 {
            for waits in choices {
                for root_reaps in [true, false] {
                    let (mut last, mut last_io) = (0, 0);
                    simulate(seed, waits, root_reaps, |total, truth, io, moved| {
                        assert!(
                            last <= total && total <= truth,
                            "seed {seed}: {last} <= {total} <= {truth}"
                        );
                        assert!(
                            last_io <= io && io <= moved,
                            "seed {seed}: {last_io} <= {io} <= {moved}"
                        );
                        (last, last_io) = (total, io);
                    });
                }
            }
        }
    }

    #[test]
    fn a_child_that_nobody_waits_for_keeps_what_it_showed_last() {
        let mut ledger = Ledger::default();
        let living = Balance {
            standing: [150; 4],
            io_standing: [7; 4],
            ..Balance::default()
        };
        assert_eq!(ledger.settle(&living).0, [150; 4]);
        let ended = Balance {
            standing: [60; 4],
            vanished: [90; 4],
            io_standing: [3; 4],
            io_vanished: [4; 4],
            ..Balance::default()
        };
        assert_eq!(ledger.settle(&ended), ([150; 4], [7; 4]));
    }

    #[test]
    fn a_child_that_was_waited_for_is_not_counted_twice() {
        let mut ledger = Ledger::default();
        ledger.settle(&Balance {
            standing: [150; 4],
            io_standing: [7; 4],
            ..Balance::default()
        });
        // After its last sample with usage 90, the child used 5 more and ended. The parent's `children` fields grew by
        // `90 + 5 = 95`, and its io by 4.
        let ended = Balance {
            standing: [155; 4],
            reaped: [95; 4],
            vanished: [90; 4],
            io_standing: [7; 4],
            io_vanished: [4; 4],
        };
        assert_eq!(ledger.settle(&ended), ([155; 4], [7; 4]));
    }
}

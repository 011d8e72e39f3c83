//! Numbers of processes and threads of each operating-system user, and the kernel's limit for a user.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::text;

/// Bits of `CAP_SYS_ADMIN` and `CAP_SYS_RESOURCE`. The limit on processes of a user does not apply to a process with
/// one of these capabilities.
const EXEMPTING: u64 = 1 << 21 | 1 << 24;

/// Fields of `/proc/PID/status` about the user of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Real user id of the process. The kernel counts the process for this user.
    pub user: u64,
    /// Number of living threads of the process.
    pub threads: u64,
    /// `true` if the limit on processes of a user does not apply to the process.
    pub exempt: bool,
}

impl Owner {
    /// Parses the content of `/proc/PID/status`.
    #[must_use]
    pub fn parse(content: &[u8]) -> Option<Self> {
        let user = text::keyed(content, "Uid")?;
        let capable = text::lines(content)
            .find_map(|line| line.strip_prefix(b"CapEff:"))
            .and_then(|rest| u64::from_str_radix(&text::owned(rest), 16).ok())
            .unwrap_or(0);
        Some(Self {
            user,
            threads: text::keyed(content, "Threads").unwrap_or(1),
            exempt: user == 0 || capable & EXEMPTING != 0,
        })
    }
}

/// Number of processes and threads of each operating-system user.
#[derive(Debug, Default)]
pub struct Users {
    owners: BTreeMap<u32, Owner>,
    tasks: BTreeMap<u64, u64>,
}

impl Users {
    /// Counts the processes and threads of each operating-system user, which takes about 15 µs per process.
    #[must_use]
    pub fn count(proc: &Path, pids: impl Iterator<Item = u32>) -> Self {
        let mut found = Self::default();
        for pid in pids {
            let status = fs::read(proc.join(pid.to_string()).join("status"));
            if let Some(owner) = status.ok().and_then(|content| Owner::parse(&content)) {
                found.owners.insert(pid, owner);
                *found.tasks.entry(owner.user).or_default() += owner.threads;
            }
        }
        found
    }

    /// Returns the number of processes and threads of the user of a process, and `true` if the process is exempt from
    /// the limit.
    #[must_use]
    pub fn of(&self, pid: u32) -> Option<(u64, bool)> {
        let owner = self.owners.get(&pid)?;
        Some((*self.tasks.get(&owner.user)?, owner.exempt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(user: u64, capable: &str, threads: u64) -> Vec<u8> {
        format!("Name:\tweb\nUid:\t{user}\t33\t33\t33\nThreads:\t{threads}\nCapEff:\t{capable}\n")
            .into_bytes()
    }

    #[test]
    fn the_real_user_counts_and_capabilities_exempt() {
        let plain = Owner::parse(&status(1000, "0000000000000000", 7));
        let owner = Owner {
            user: 1000,
            threads: 7,
            exempt: false,
        };
        assert_eq!(plain, Some(owner));
        for (user, capable) in [
            (0, "0000000000000000"),
            (1000, "0000000000200000"),
            (1000, "0000000001000000"),
        ] {
            let owner = Owner::parse(&status(user, capable, 1)).expect("a whole status");
            assert!(owner.exempt, "{user} {capable}");
        }
        assert_eq!(Owner::parse(b"Name:\tweb\n"), None);
    }

    #[test]
    fn our_own_threads_are_among_those_of_our_user() {
        let us = std::process::id();
        let users = Users::count(Path::new("/proc"), std::iter::once(us));
        let (tasks, _) = users.of(us).expect("we live");
        assert!(tasks >= 1);
        assert_eq!(users.of(u32::MAX), None);
    }
}

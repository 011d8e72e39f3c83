//! Determines how many open files a plan needs, and divides them among threads.
//!
//! The kernel applies the limit on open files to each table of descriptors, and each thread of a process can have its
//! own table. If a plan needs more connections than one table can hold, each load thread gets a separate table, and as
//! many threads as necessary are started.

use std::net::IpAddr;

use crate::plan::{ConnectionMode, Fault, Load, Op, Plan};
use crate::sys::{self, Address};

use super::resolved_targets::ResolvedTarget;

/// Number of open files in a descriptor table that are not connections: standard streams, signals, epoll, result files,
/// and inherited files.
const SPARE: u64 = 64;

/// Limit on the number of load threads; equal to the limit on `threads` in a plan.
const THREADS_AT_MOST: u64 = 1024;

/// Limit on the connections of a load thread that wait for the server to close them. If the limit on open files is low,
/// fewer connections may wait.
const LINGERING_AT_MOST: u64 = 1024;

/// Connections that wait for the server to close them may use at most the fraction 1 / `LINGERING_SHARE` of the open
/// files.
const LINGERING_SHARE: u64 = 4;

/// Division of the connections and other open files among load threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spread {
    /// Limit on the open files in one descriptor table; `None` if the system sets no limit.
    pub(super) limit: Option<u64>,
    /// Maximum number of connections that the plan can have open at the same time.
    pub(super) needed: u64,
    pub(super) threads: u64,
    /// `true` if each load thread has a separate table of file descriptors.
    pub(super) own_tables: bool,
    /// Number of connections per load thread that may wait for the server to close them.
    pub(super) lingering: u64,
}

impl Spread {
    /// Returns the number of separate tables of file descriptors.
    pub(super) fn tables(self) -> u64 {
        if self.own_tables { self.threads } else { 1 }
    }
}

/// Number of connections that a plan needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Need {
    /// Number of users; with a pool, number of connections in the pool of one target.
    owners: u64,
    /// Number of connections of each owner; with pools, number of targets.
    each: u64,
    /// Limit on the number of simultaneous connections of all load threads.
    ceiling: u64,
    /// Number of connections per load thread that may wait for the server to close them.
    lingering: u64,
}

impl Need {
    /// Returns the largest number of connections of a load thread if the plan runs with `threads` load threads.
    fn of_thread(self, threads: u64) -> u64 {
        self.owners.div_ceil(threads) * self.each
    }

    fn in_all(self) -> u64 {
        (self.owners * self.each).min(self.ceiling)
    }
}

fn users_at_most(plan: &Plan) -> u64 {
    let (Load::Closed { users_at_most, .. } | Load::Open { users_at_most, .. }) = plan.load;
    u64::from(users_at_most)
}

fn need(plan: &Plan, places: &[ResolvedTarget], ports: Option<u64>) -> Need {
    let targets = places.len() as u64;
    let mut need = Need {
        owners: users_at_most(plan),
        each: targets,
        ceiling: u64::MAX,
        lingering: 0,
    };
    match plan.connections.mode {
        ConnectionMode::PerUser => {}
        ConnectionMode::Pool => {
            need.owners = plan.connections.size.unwrap_or(plan.threads) as u64;
        }
        ConnectionMode::NewEachTime => {
            need.each = 1;
            need.lingering = LINGERING_AT_MOST;
            let of_place = |place: &ResolvedTarget| reach(plan, place, ports);
            // The number of free ports limits the connections. Connections beyond this limit fail, whatever the number
            // of load threads.
            need.ceiling = places
                .iter()
                .map(of_place)
                .try_fold(0_u64, |sum, one| sum.checked_add(one?))
                .unwrap_or(u64::MAX);
        }
    }
    need
}

/// Returns the limit that the available ports set on connections to a target; `None` if no limit is known.
fn reach(plan: &Plan, place: &ResolvedTarget, ports: Option<u64>) -> Option<u64> {
    if place.addresses.is_empty() {
        // Connections to a target without an IP address use no port.
        return None;
    }
    let sources: Vec<IpAddr> = (plan.connections.sources.iter())
        .filter_map(|text| text.parse().ok())
        .collect();
    // The further addresses of a host name do not raise the limit: they are used only if the first address accepts no
    // connection.
    let first = place.addresses.iter().filter_map(|ways| ways.all().first());
    let each = first.map(|address| match address {
        Address::Tcp(address) => {
            let family = |source: &&IpAddr| source.is_ipv4() == address.is_ipv4();
            let sources = sources.iter().filter(family).count().max(1) as u64;
            Some(ports? * sources)
        }
        Address::Unix(_) => None,
    });
    each.sum()
}

/// Returns the division with the fewest load threads whose descriptor tables can hold all connections. It has at least
/// as many threads as the plan states.
///
/// # Errors
/// If the limit on open files is too low for any allowed number of threads.
pub(super) fn spread(plan: &Plan, places: &[ResolvedTarget]) -> Result<Spread, Fault> {
    let need = need(plan, places, sys::ports());
    divide(need, plan.threads as u64, sys::file_limit()).ok_or_else(|| Fault {
        place: "load.users_at_most".to_owned(),
        message: format!(
            "must be smaller, or the limit of open files higher: {THREADS_AT_MOST} load threads with {} open files each (ulimit -Hn) cannot hold {} connections",
            sys::file_limit().unwrap_or_default(),
            need.in_all()
        ),
    })
}

fn divide(need: Need, asked: u64, limit: Option<u64>) -> Option<Spread> {
    let lingering = limit.map_or(need.lingering, |limit| {
        need.lingering.min(limit / LINGERING_SHARE)
    });
    let together = need.in_all() + asked * (1 + lingering) + SPARE;
    let alone = |threads: &u64| {
        let connections = need
            .of_thread(*threads)
            .min(need.ceiling.div_ceil(*threads));
        // Every descriptor table contains the wakers of all load threads.
        limit.is_none_or(|limit| connections + lingering + threads + SPARE <= limit)
    };
    let own_tables = limit.is_some_and(|limit| together > limit);
    let threads = if own_tables {
        (asked..=THREADS_AT_MOST).find(alone)?
    } else {
        asked
    };
    Some(Spread {
        limit,
        needed: need.in_all(),
        threads,
        own_tables,
        lingering,
    })
}

/// Returns a fault for each target with fewer free ports than users, if each user opens its own connection to a target.
pub(super) fn missing_ports(plan: &Plan, places: &[ResolvedTarget], groups: &[u16]) -> Vec<Fault> {
    let closed = matches!(plan.load, Load::Closed { .. });
    if !closed || plan.connections.mode != ConnectionMode::PerUser {
        return Vec::new();
    }
    let fault = |(number, place): (usize, &ResolvedTarget)| {
        let there = reach(plan, place, sys::ports())?;
        let needed = users_of(plan, number, groups);
        (needed > there).then(|| Fault {
            place: "load.users_at_most".to_owned(),
            message: format!(
                "must leave a port for each connection: {needed} users open connections of their own to target {:?}, but \
                 only {there} ports are available for it (net.ipv4.ip_local_port_range); name further addresses \
                 of this host in connections.sources (127.0.0.2 and so on for a target on loopback), or further \
                 addresses of the target",
                plan.targets[number].name
            ),
        })
    };
    places.iter().enumerate().filter_map(fault).collect()
}

/// Returns the number of users whose operations include a request or call to the target.
fn users_of(plan: &Plan, target: usize, groups: &[u16]) -> u64 {
    let each = plan.groups.iter().map(|group| {
        let mixed = group.mix.iter().filter(|entry| entry.weight > 0.0);
        let mixed = mixed.map(|entry| &plan.transactions[entry.transaction].ops);
        let mut all = mixed.chain([&group.once, &group.exit]);
        all.any(|ops| uses(plan, ops, target))
    });
    let uses: Vec<bool> = each.collect();
    let of_target = groups.iter().filter(|group| uses[usize::from(**group)]);
    of_target.count() as u64
}

fn uses(plan: &Plan, ops: &[Op], target: usize) -> bool {
    ops.iter().any(|op| match op {
        Op::Request(request) => request.target == target,
        Op::Call(call) => call.target == target,
        Op::Transaction { transaction } => uses(plan, &plan.transactions[*transaction].ops, target),
        Op::Page { ops, .. } | Op::Loop { ops, .. } => uses(plan, ops, target),
        Op::Branch {
            then, otherwise, ..
        }
        | Op::If {
            then, otherwise, ..
        } => uses(plan, then, target) || uses(plan, otherwise, target),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PER_USER: Need = Need {
        owners: 1_000_000,
        each: 1,
        ceiling: u64::MAX,
        lingering: 0,
    };

    fn threads(need: Need, asked: u64, limit: u64) -> Option<(u64, bool)> {
        divide(need, asked, Some(limit)).map(|spread| (spread.threads, spread.own_tables))
    }

    #[test]
    fn what_fits_one_table_stays_in_it() {
        let need = Need {
            owners: 19_932,
            ..PER_USER
        };
        // Connections, wakers and other files: `19,932 + 4 + 64 = 20,000`.
        assert_eq!(threads(need, 4, 20_000), Some((4, false)));
        assert_eq!(threads(need, 5, 20_000), Some((5, true)));
        assert_eq!(threads(PER_USER, 1, u64::MAX), Some((1, false)));
        let unlimited = divide(PER_USER, 2, None).map(|spread| (spread.threads, spread.own_tables));
        assert_eq!(unlimited, Some((2, false)));
    }

    #[test]
    fn no_table_is_fuller_than_the_limit_and_no_thread_too_many() {
        // Connections, wakers and other files of each thread: `19,608 + 51 + 64 < 20,000` with 51 threads, but
        // `20,000 + 50 + 64 > 20,000` with 50 threads.
        assert_eq!(threads(PER_USER, 1, 20_000), Some((51, true)));
        assert_eq!(threads(PER_USER, 60, 20_000), Some((60, true)));
        let two_targets = Need {
            each: 2,
            ..PER_USER
        };
        assert_eq!(threads(two_targets, 1, 20_000), Some((101, true)));
    }

    #[test]
    fn new_connections_are_bounded_by_the_ports() {
        let need = Need {
            ceiling: 28_232,
            lingering: 1_024,
            ..PER_USER
        };
        assert_eq!(threads(need, 1, 20_000), Some((2, true)));
        assert_eq!(threads(need, 1, 30_000), Some((1, false)));
    }

    #[test]
    fn new_connections_leave_room_for_themselves_in_a_small_table() {
        let need = Need {
            owners: 16,
            lingering: LINGERING_AT_MOST,
            ..PER_USER
        };
        // The usual limit of a login session is 1,024 files. Connections that wait for the server to close them may use
        // a quarter of it, which leaves enough files for 16 users.
        let spread = divide(need, 1, Some(1_024)).unwrap();
        assert_eq!((spread.threads, spread.lingering), (1, 256));
        assert_eq!(divide(need, 1, None).unwrap().lingering, LINGERING_AT_MOST);
    }

    #[test]
    fn what_no_number_of_threads_can_hold_is_refused() {
        assert_eq!(threads(PER_USER, 1, 1_000), None);
    }
}

//! Input and result of a load thread, and the construction of its state.

use std::collections::BTreeMap;
use std::path::PathBuf;

use towtank_drivers::{Location, Server};

use crate::http::response::Limits;
use crate::plan::Balance;
use crate::program::Program;
use crate::recorder::writer::Header;
use crate::recorder::{LiveCounts, Shape, Totals};
use crate::schedule::{Arrivals, Stages, UserChanges};
use crate::wheel::Wheel;

use super::Shared;
use super::addresses::{Sources, Ways};
use super::connections::{Model, Ownership};
use super::deadlines::Deadlines;
use super::driver_sessions::CallsEnded;
use super::edits::Edits;
use super::examples::Examples;
use super::multiplex::Counts as Http2Counts;
use super::secure::TargetTls;
use super::user::{Connection, User};

/// Addresses and connection settings of a target, for one load thread.
#[derive(Debug, Clone)]
pub struct TargetState {
    /// For each address of the target in the plan, all addresses to which its host name resolves.
    pub addresses: Vec<Ways>,
    /// Rule by which an address is chosen for a new connection.
    pub balance: Balance,
    /// Counter from which the next address is chosen with `RoundRobin`.
    pub next: usize,
    /// TLS state of the thread for this target, if the target uses TLS.
    pub tls: Option<TargetTls>,
    /// `true` if the target speaks HTTP/2.
    pub http2: bool,
}

/// Input from which a load thread is created.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The compiled plan.
    pub program: &'a Program,
    /// Number of this load thread, from 0.
    pub worker: usize,
    /// Number of load threads.
    pub workers: usize,
    /// Seed of all random numbers of the run.
    pub seed: u64,
    /// `true` for an open load.
    pub open: bool,
    /// Limit on the number of users, summed over all load threads.
    pub users_at_most: u64,
    /// Limit on the arrivals that wait for an idle user in this load thread.
    pub backlog_at_most: usize,
    /// Index of the group of every user.
    pub groups: &'a [u16],
    /// The load stages.
    pub stages: Stages,
    /// Times at which the users of a closed load start and leave.
    pub user_changes: UserChanges,
    /// Arrivals of an open load, for all load threads.
    pub arrivals: Arrivals,
    /// Edits of the load stages during the run.
    pub edits: &'a Edits,
    /// Addresses and connection settings of each target.
    pub targets: Vec<TargetState>,
    /// Rule by which the users of this load thread own connections.
    pub ownership: Ownership,
    /// Server settings and addresses of each target with a driver; `None` for other targets.
    pub servers: Vec<Option<(Server, Vec<Location>)>>,
    /// Limit on concurrent requests over one HTTP/2 connection.
    pub streams: u32,
    /// Source addresses from which connections are opened.
    pub sources: &'a Sources,
    /// Limits on the size of responses.
    pub limits: Limits,
    /// Time limit for establishing a connection. [ns]
    pub connect_timeout_ns: u64,
    /// Time that users have to finish after the last stage. [ns]
    pub drain_ns: u64,
    /// CPU to pin the load thread to; `None` if it is not pinned.
    pub cpu: Option<usize>,
    /// `true` if this thread must get a separate table of open files.
    pub own_files: bool,
    /// Limit on connections for a single request that wait for the server to close them. Beyond it, the oldest of these
    /// connections is reset.
    pub lingering_at_most: usize,
    /// Header line of the result files (segments). The start time of the run is filled in once it is known.
    pub header: Header,
    /// Folder of the result files (segments).
    pub folder: PathBuf,
    /// State that this thread shares with the control thread.
    pub shared: &'a Shared,
}

/// Result of a load thread.
#[derive(Debug)]
pub struct Ended {
    /// Sums over all requests of the thread.
    pub totals: Totals,
    /// All counts and times of the run in this thread, including start lags.
    pub counts: LiveCounts,
    /// Time from the start of the run to the end of the thread. [ns]
    pub end_ns: u64,
    /// Numbers of failed connections, by reason.
    pub connect_failures: BTreeMap<String, u64>,
    /// Numbers of requests that could not be sent, by reason.
    pub unsendable: BTreeMap<String, u64>,
    /// Numbers of incomplete responses, by reason.
    pub broken: BTreeMap<String, u64>,
    /// Examples of failed exchanges.
    pub examples: Examples,
    /// Counts of HTTP/2 connections.
    pub http2: Http2Counts,
    /// Sums over the driver calls of the thread.
    pub calls: CallsEnded,
}

/// Reason why a load thread failed.
#[derive(Debug)]
pub enum WorkerFailed {
    /// Results cannot be written.
    Disk(String),
    /// The operating system refused a resource that the engine needs.
    System(String),
}

/// Tables with memory for every user, which take time to create.
pub(super) struct UserTables {
    pub(super) users: Vec<User>,
    /// Users of each group that have not started yet (open load). The next user to start is at the end.
    pub(super) fresh: Vec<Vec<u32>>,
    pub(super) model: Model,
    pub(super) connections: Vec<Connection>,
    pub(super) wheel: Wheel,
    pub(super) deadlines: Deadlines,
}

impl UserTables {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        let mut members = vec![0; setup.header.groups.len()];
        let users: Vec<User> = (0_u32..)
            .zip(setup.groups)
            .map(|(number, group)| {
                let of_group: &mut u32 = &mut members[usize::from(*group)];
                let rank = *of_group;
                *of_group += 1;
                (number, *group, rank)
            })
            .filter(|(number, ..)| *number as usize % setup.workers == setup.worker)
            .map(|(number, group, rank)| User::new(number, group, rank, setup.seed))
            .collect();
        let mut fresh = vec![Vec::new(); setup.header.groups.len()];
        if setup.open {
            for (index, user) in users.iter().enumerate().rev() {
                fresh[usize::from(user.group)].push(index as u32);
            }
        }
        let (model, places) = setup.ownership.model(users.len(), &setup.targets);
        Self {
            fresh,
            model,
            connections: (0..places).map(|_| Connection::new()).collect(),
            wheel: Wheel::new(users.len()),
            deadlines: Deadlines::new(users.len()),
            users,
        }
    }
}

/// Returns the numbers of steps, pages and other elements for which the recorder needs counters.
pub(super) fn shape_of(setup: &Setup<'_>) -> Shape {
    let header = &setup.header;
    Shape {
        steps: header.steps.len(),
        pages: header.pages.len(),
        transactions: header.transactions.len(),
        groups: header.groups.len(),
        stages: header.stages.len(),
        places: setup.targets.iter().map(TargetState::places).sum(),
    }
}

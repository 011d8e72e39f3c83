//! Input, construction and result of a load thread.

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
use super::multiplex::Counts as Http2Counts;
use super::secure::TargetTls;
use super::user::{Connection, User};

/// Address and connection settings of a target.
#[derive(Debug, Clone)]
pub struct TargetState {
    /// Resolved addresses: for each address of the target, all addresses of its name.
    pub addresses: Vec<Ways>,
    /// Choice of an address.
    pub balance: Balance,
    /// Counter for round robin.
    pub next: usize,
    /// State of TLS, if the target uses it.
    pub tls: Option<TargetTls>,
    /// `true` if the target speaks HTTP/2.
    pub http2: bool,
}

/// Input of a load thread.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The plan, compiled.
    pub program: &'a Program,
    /// Number of this thread.
    pub worker: usize,
    /// Number of threads.
    pub workers: usize,
    /// Seed of the run.
    pub seed: u64,
    /// `true` for an open load.
    pub open: bool,
    /// Limit on the users of all threads.
    pub users_at_most: u64,
    /// Limit on the waiting arrivals of this thread.
    pub backlog_at_most: usize,
    /// Group of every user.
    pub groups: &'a [u16],
    /// The stages.
    pub stages: Stages,
    /// Starts and departures of users.
    pub user_changes: UserChanges,
    /// Arrivals of all threads.
    pub arrivals: Arrivals,
    /// Edits of the stages while the load runs.
    pub edits: &'a Edits,
    /// Targets.
    pub targets: Vec<TargetState>,
    /// Ownership of connections.
    pub ownership: Ownership,
    /// Server and addresses of each target with a driver.
    pub servers: Vec<Option<(Server, Vec<Location>)>>,
    /// Limit on concurrent requests over one HTTP/2 connection.
    pub streams: u32,
    /// Source addresses of connections.
    pub sources: &'a Sources,
    /// Limits on responses.
    pub limits: Limits,
    /// Time limit for establishing a connection. [ns]
    pub connect_timeout_ns: u64,
    /// Time limit for users to finish after the last stage. [ns]
    pub drain_ns: u64,
    /// CPU to pin the thread to.
    pub cpu: Option<usize>,
    /// `true` if this thread has a separate table of open files.
    pub own_files: bool,
    /// Limit on connections of a single request that wait for the server to close, beyond which the oldest connection
    /// is reset.
    pub lingering_at_most: usize,
    /// First line of the segments. The start of the run is filled in once it is known.
    pub header: Header,
    /// Folder of the segments.
    pub folder: PathBuf,
    /// State shared with the control thread.
    pub shared: &'a Shared,
}

/// Result of a thread.
#[derive(Debug)]
pub struct Ended {
    /// Sums over the run.
    pub totals: Totals,
    /// All counts of the run, which include the start lag.
    pub counts: LiveCounts,
    /// End of the thread. [ns]
    pub end_ns: u64,
    /// Numbers of failed connections, by reason.
    pub connect_failures: BTreeMap<String, u64>,
    /// Numbers of requests that could not be sent, by reason.
    pub unsendable: BTreeMap<String, u64>,
    /// Numbers of incomplete responses, by reason.
    pub broken: BTreeMap<String, u64>,
    /// Counts of HTTP/2 connections.
    pub http2: Http2Counts,
    /// Sums over driver calls.
    pub calls: CallsEnded,
}

/// Reason why a thread failed.
#[derive(Debug)]
pub enum WorkerFailed {
    /// Results cannot be written.
    Disk(String),
    /// The system refused a resource that the engine needs.
    System(String),
}

/// Tables with memory for every user, which take time to create.
pub(super) struct UserTables {
    pub(super) users: Vec<User>,
    /// Users of each group that have not started (open load), last first.
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

/// Numbers of steps, pages and other names for which the recorder has counters.
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

//! What a load thread is given before it starts, what it makes of that, and how it ended.

use std::collections::BTreeMap;
use std::path::PathBuf;

use towtank_drivers::{Location, Server};

use crate::http::response::Limits;
use crate::plan::Balance;
use crate::program::Program;
use crate::recorder::writer::Header;
use crate::recorder::{LiveCounts, Shape, Totals};
use crate::schedule::{Arrivals, Course, Moves};
use crate::sys::Address;
use crate::wheel::Wheel;

use super::Shared;
use super::addresses::Sources;
use super::connections::{Model, Ownership};
use super::driver_sessions::CallsEnded;
use super::edits::Edits;
use super::multiplex::Counts as Http2Counts;
use super::secure::TargetTls;
use super::user::{Connection, User};

/// Where a target is.
#[derive(Debug, Clone)]
pub struct TargetPlace {
    /// Its addresses, resolved.
    pub addresses: Vec<Address>,
    /// How one is chosen.
    pub balance: Balance,
    /// Counter of the round robin.
    pub next: usize,
    /// How TLS is spoken, if it is.
    pub tls: Option<TargetTls>,
    /// Whether HTTP/2 is spoken.
    pub http2: bool,
}

/// What a thread needs to know before it starts.
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
    /// Whether arrivals rule, not users.
    pub open: bool,
    /// Users of all threads at most.
    pub users_at_most: u64,
    /// Arrivals that wait in this thread at most.
    pub backlog_at_most: usize,
    /// Group of every user.
    pub groups: &'a [u16],
    /// The stages.
    pub course: Course,
    /// Starts and departures of users.
    pub moves: Moves,
    /// Arrivals of all threads.
    pub arrivals: Arrivals,
    /// How the stages change while the load runs.
    pub edits: &'a Edits,
    /// Targets.
    pub targets: Vec<TargetPlace>,
    /// Who owns connections.
    pub ownership: Ownership,
    /// Servers that are spoken to by drivers, by target, with their addresses.
    pub servers: Vec<Option<(Server, Vec<Location>)>>,
    /// Requests at once over one connection (HTTP/2).
    pub streams: u32,
    /// Where connections leave from.
    pub sources: &'a Sources,
    /// Bounds on answers.
    pub limits: Limits,
    /// Time to make a connection. [ns]
    pub connect_timeout_ns: u64,
    /// Time for users to finish after the last stage. [ns]
    pub drain_ns: u64,
    /// CPU to run on.
    pub cpu: Option<usize>,
    /// Whether this thread keeps its open files apart from those of the others.
    pub own_files: bool,
    /// Connections of one request that wait for the server to close; beyond so many the oldest is reset.
    pub parting_at_most: usize,
    /// First line of the segments; the start of the run is filled in when it is known.
    pub header: Header,
    /// Folder of the segments.
    pub folder: PathBuf,
    /// What is shared with the control thread.
    pub shared: &'a Shared,
}

/// How a thread ended.
#[derive(Debug)]
pub struct Ended {
    /// Sums over the run.
    pub totals: Totals,
    /// Everything it counted, for the start lag.
    pub counts: LiveCounts,
    /// When. [ns]
    pub end_ns: u64,
    /// Connections that could not be made, by reason.
    pub connect_failures: BTreeMap<String, u64>,
    /// Requests that could not be sent, by reason.
    pub unsendable: BTreeMap<String, u64>,
    /// Connections that speak HTTP/2.
    pub http2: Http2Counts,
    /// Calls of drivers.
    pub calls: CallsEnded,
}

/// Why a thread could not go on.
#[derive(Debug)]
pub enum WorkerFailed {
    /// Results cannot be written.
    Disk(String),
    /// The system refused something that the engine needs.
    System(String),
}

/// What takes memory for every user, and so takes time to make.
pub(super) struct People {
    pub(super) users: Vec<User>,
    /// Users of each group that have not started (open load), last first.
    pub(super) fresh: Vec<Vec<u32>>,
    pub(super) model: Model,
    pub(super) connections: Vec<Connection>,
    pub(super) wheel: Wheel,
}

impl People {
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
            users,
        }
    }
}

/// Names that the recorder has places for.
pub(super) fn shape_of(setup: &Setup<'_>) -> Shape {
    let header = &setup.header;
    Shape {
        steps: header.steps.len(),
        pages: header.pages.len(),
        transactions: header.transactions.len(),
        groups: header.groups.len(),
        stages: header.stages.len(),
        places: setup.targets.iter().map(TargetPlace::places).sum(),
    }
}

//! Runs a load: starts the load threads, watches and stops them, and checks that their counts are consistent.

mod commands;
mod control;
mod files;
mod report;
mod resolved_targets;
mod timeline;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use towtank_drivers::{Location, Server};

use crate::http::response::Limits;
use crate::pause::nanoseconds;
use crate::plan::{ConnectionMode, Fault, Load, Plan, Target};
use crate::program::{self, Program};
use crate::recorder::writer::{Header, Named};
use crate::recorder::{LiveCounts, Totals};
use crate::schedule::{Arrivals, Stages, UserChanges, assign_groups};
use crate::start_barrier::StartBarrier;
use crate::sys;
use crate::worker::{
    CallsEnded, Edits, Ended, Examples, Http2Counts, LEAVE, Ownership, Setup, Shared, Sources,
    WorkerFailed, work,
};

use commands::Commander;
use files::Spread;
use resolved_targets::ResolvedTarget;

pub use control::{Control, Switches};

/// Default limit on concurrent requests over an HTTP/2 connection of a pool, equal to the usual limit of servers.
const STREAMS: u32 = 100;

/// Result of a run, as written to engine.json.
#[derive(Debug)]
pub struct Outcome {
    /// Reason for the end of the run: `finished`, `stopped` or `failed`.
    pub reason: &'static str,
    /// Sums of requests over all load threads.
    pub totals: Totals,
}

/// Reason why the results of a run are missing or incomplete.
#[derive(Debug)]
pub enum RunFailed {
    /// Results cannot be written.
    Disk(String),
    /// The engine failed.
    Internal(String),
}

/// A plan that is ready to run: its files are loaded, host names are resolved, and operations are compiled.
#[derive(Debug)]
pub struct Prepared {
    plan: Plan,
    program: Program,
    targets: Vec<ResolvedTarget>,
    sources: Sources,
    groups: Vec<u16>,
    stages: Stages,
    arrivals: Arrivals,
    spread: Spread,
    folder: PathBuf,
}

impl Prepared {
    /// Loads the files of a plan, resolves its host names and compiles its operations.
    ///
    /// # Errors
    /// All faults that loading, resolving and compiling find.
    pub fn new(mut plan: Plan) -> Result<Self, Vec<Fault>> {
        let (mut targets, mut faults) = resolved_targets::resolve(&plan);
        let sources = resolved_targets::sources(&plan, &mut targets, &mut faults);
        let program = program::compile(&plan);
        let spread = files::spread(&plan, &targets).map_err(|fault| faults.push(fault));
        if let Ok(spread) = &spread {
            plan.threads = spread.threads as usize;
        }
        let groups = groups_of_users(&plan, &mut faults);
        faults.extend(files::missing_ports(&plan, &targets, &groups));
        match (program, spread) {
            (Ok(program), Ok(spread)) if faults.is_empty() => {
                let stages = Stages::new(&plan);
                let arrivals = Arrivals::new(&plan, &stages);
                let folder = Path::new(&plan.out).to_owned();
                Ok(Self {
                    plan,
                    program,
                    targets,
                    sources,
                    groups,
                    stages,
                    arrivals,
                    spread,
                    folder,
                })
            }
            (Ok(_), _) => Err(faults),
            (Err(more), _) => {
                faults.extend(more);
                Err(faults)
            }
        }
    }

    /// Creates the header line for the result files of a load thread. The start time of the run is filled in later.
    fn header(&self, worker: usize) -> Header {
        let plan = &self.plan;
        let named = |names: &[crate::plan::Named]| {
            let each = names.iter();
            each.map(|part| Named {
                name: part.name.clone(),
                transaction: part.transaction.clone().unwrap_or_default(),
            })
            .collect()
        };
        Header {
            run: plan.run.clone(),
            worker,
            workers: plan.threads,
            monotonic_ns: 0,
            wall_ns: 0,
            stages: self.stages.listed(),
            edits: 0,
            transactions: plan
                .transactions
                .iter()
                .map(|part| part.name.clone())
                .collect(),
            pages: named(&plan.pages),
            steps: named(&plan.steps),
            groups: plan.groups.iter().map(|group| group.name.clone()).collect(),
        }
    }

    fn setup<'a>(&'a self, worker: usize, shared: &'a Shared, edits: &'a Edits) -> Setup<'a> {
        let plan = &self.plan;
        let (open, users_at_most, backlog) = match plan.load {
            Load::Closed { users_at_most, .. } => (false, users_at_most, 0),
            Load::Open {
                users_at_most,
                backlog_at_most,
                ..
            } => (true, users_at_most, backlog_at_most),
        };
        let places = plan.targets.iter().zip(&self.targets);
        let targets = places.map(|(target, place)| place.for_thread(target.balance, worker));
        Setup {
            program: &self.program,
            worker,
            workers: plan.threads,
            seed: plan.seed,
            open,
            users_at_most: u64::from(users_at_most),
            backlog_at_most: backlog.div_ceil(plan.threads as u64) as usize,
            groups: &self.groups,
            stages: self.stages.clone(),
            user_changes: UserChanges::new(&self.stages),
            arrivals: self.arrivals.clone(),
            edits,
            targets: targets.collect(),
            ownership: self.ownership(worker),
            servers: self.servers(),
            streams: self.streams(),
            sources: &self.sources,
            limits: Limits {
                header_bytes: plan.limits.header_bytes,
                body_bytes: plan.limits.body_bytes,
                capture_bytes: plan.limits.capture_bytes,
            },
            connect_timeout_ns: nanoseconds(plan.timeouts.connect_s),
            drain_ns: nanoseconds(plan.timeouts.drain_s),
            cpu: (!plan.cpus.is_empty()).then(|| plan.cpus[worker % plan.cpus.len()]),
            own_files: self.spread.own_tables,
            lingering_at_most: self.spread.lingering as usize,
            header: self.header(worker),
            folder: self.folder.clone(),
            shared,
        }
    }

    /// Returns, for each target with a driver, the server settings and the addresses; `None` for the other targets.
    fn servers(&self) -> Vec<Option<(Server, Vec<Location>)>> {
        let places = self.plan.targets.iter().zip(&self.targets);
        let server = |(target, place): (&Target, &ResolvedTarget)| {
            Some((target.driver.clone()?, place.locations()))
        };
        places.map(server).collect()
    }

    /// Returns the limit on concurrent requests over an HTTP/2 connection.
    fn streams(&self) -> u32 {
        match self.plan.connections.mode {
            ConnectionMode::Pool => self.plan.connections.streams.unwrap_or(STREAMS),
            ConnectionMode::PerUser | ConnectionMode::NewEachTime => 1,
        }
    }

    /// Returns the rule by which the users of one load thread own connections. The pool sizes of all threads sum to the
    /// size in the plan.
    fn ownership(&self, worker: usize) -> Ownership {
        let (connections, threads) = (&self.plan.connections, self.plan.threads);
        match connections.mode {
            ConnectionMode::PerUser => Ownership::PerUser,
            ConnectionMode::NewEachTime => Ownership::NewEachTime,
            ConnectionMode::Pool => {
                let size = connections.size.unwrap_or(threads);
                Ownership::Pool(size / threads + usize::from(worker < size % threads))
            }
        }
    }

    /// Runs the load to its end and writes `engine.json`.
    ///
    /// # Errors
    /// [`RunFailed`]; everything recorded before the failure is on disk.
    pub fn run(&self, control: &mut Control) -> Result<Outcome, RunFailed> {
        // The result is ignored: if the system refuses to raise the limit on open files, connections fail and are
        // counted as failed.
        let _ = sys::raise_open_files();
        if !self.plan.cpus.is_empty() {
            // The control thread does little work, but even this must not be done on a CPU of the system under test.
            sys::pin(&self.plan.cpus).map_err(|error| {
                RunFailed::Internal(format!("cannot run on CPUs {:?}: {error}", self.plan.cpus))
            })?;
        }
        let internal = |error: std::io::Error| RunFailed::Internal(error.to_string());
        let shared = (0..self.plan.threads)
            .map(|_| Shared::new())
            .collect::<Result<Vec<_>, _>>()
            .map_err(internal)?;
        let barrier = StartBarrier::new(shared.len());
        let edits = Edits::default();
        let commander = Commander {
            plan: &self.plan,
            edits: &edits,
        };
        let results = std::thread::scope(|scope| {
            let threads: Vec<_> = shared
                .iter()
                .enumerate()
                .map(|(worker, own)| {
                    let (setup, participant) =
                        (self.setup(worker, own, &edits), barrier.participant());
                    let (shared, waker) = (&shared, control.waker());
                    scope.spawn(move || {
                        let result = work(setup, participant);
                        if result.is_err() {
                            for other in shared {
                                other.order(LEAVE);
                            }
                        }
                        waker.wake();
                        result
                    })
                })
                .collect();
            control.begin(&self.stages, barrier.open().monotonic_ns);
            control.watch(&shared, &commander, || {
                threads
                    .iter()
                    .all(std::thread::ScopedJoinHandle::is_finished)
            });
            threads
                .into_iter()
                .map(|thread| {
                    thread.join().unwrap_or_else(|_| {
                        Err(WorkerFailed::System("a load thread panicked".into()))
                    })
                })
                .collect::<Vec<_>>()
        });
        self.conclude(results, control)
    }

    fn conclude(
        &self,
        results: Vec<Result<Ended, WorkerFailed>>,
        control: &Control,
    ) -> Result<Outcome, RunFailed> {
        let mut totals = Totals::default();
        let mut counts = LiveCounts::default();
        let mut end_ns = 0;
        let mut connect_failures = BTreeMap::<String, u64>::new();
        let mut unsendable = BTreeMap::<String, u64>::new();
        let mut broken = BTreeMap::<String, u64>::new();
        let mut examples = Examples::default();
        let mut http2 = Http2Counts::default();
        let mut calls = CallsEnded::default();
        let mut failure = None;
        for result in results {
            match result {
                Ok(ended) => {
                    totals.add(&ended.totals);
                    counts.merge(&ended.counts);
                    end_ns = end_ns.max(ended.end_ns);
                    http2.add(ended.http2);
                    calls.add(&ended.calls);
                    add_reasons(&mut connect_failures, ended.connect_failures);
                    add_reasons(&mut unsendable, ended.unsendable);
                    add_reasons(&mut broken, ended.broken);
                    examples.merge(ended.examples);
                }
                Err(WorkerFailed::Disk(message)) => failure = Some(RunFailed::Disk(message)),
                Err(WorkerFailed::System(message)) => {
                    failure.get_or_insert(RunFailed::Internal(message));
                }
            }
        }
        let reason = match (&failure, control.was_stopped()) {
            (Some(_), _) => "failed",
            (None, true) => "stopped",
            (None, false) => "finished",
        };
        let message = match &failure {
            Some(RunFailed::Disk(message) | RunFailed::Internal(message)) => Some(message.clone()),
            _ => None,
        };
        let report = report::Report {
            reason,
            message,
            totals: &totals,
            counts: &counts,
            connect_failures: &connect_failures,
            unsendable: &unsendable,
            broken: &broken,
            examples: &examples,
            http2,
            calls: &calls,
            end_ns,
            spread: self.spread,
            stages: control.stages(),
            edits: control.edits(),
        };
        let written = report.write(&self.folder, &self.plan);
        match (failure, written) {
            (Some(failure), _) => Err(failure),
            (None, Err(error)) => Err(RunFailed::Disk(format!(
                "cannot write engine.json: {error}"
            ))),
            (None, Ok(())) if !(totals.offered_holds() && totals.started_holds()) => {
                Err(RunFailed::Internal(format!(
                    "the counts of requests contradict each other: {totals:?}"
                )))
            }
            (None, Ok(())) => Ok(Outcome { reason, totals }),
        }
    }
}

fn add_reasons(all: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    for (reason, count) in more {
        *all.entry(reason).or_default() += count;
    }
}

/// Assigns a group to every user. In an open load, each load thread needs at least one user of each group. Otherwise
/// arrivals of a group would wait for ever in that thread.
fn groups_of_users(plan: &Plan, faults: &mut Vec<Fault>) -> Vec<u16> {
    let shares: Vec<f64> = plan.groups.iter().map(|group| group.share).collect();
    let (Load::Closed { users_at_most, .. } | Load::Open { users_at_most, .. }) = plan.load;
    if plan.load.is_by_group() && matches!(plan.load, Load::Closed { .. }) {
        return groups_in_blocks(&plan.load.users_of_groups(), users_at_most as usize);
    }
    let groups = assign_groups(&shares, users_at_most as usize);
    if matches!(plan.load, Load::Open { .. }) {
        let has = |worker: usize, group: usize| {
            groups
                .iter()
                .skip(worker)
                .step_by(plan.threads)
                .any(|assigned| usize::from(*assigned) == group)
        };
        if !(0..plan.threads).all(|worker| (0..shares.len()).all(|group| has(worker, group))) {
            faults.push(Fault {
                place: "load.users_at_most".to_owned(),
                message: format!(
                    "must be large enough for a user of each group in each of {} threads, got {users_at_most}",
                    plan.threads
                ),
            });
        }
    }
    groups
}

/// Assigns a group to every user if the plan gives users by group. The users of a group have consecutive numbers.
fn groups_in_blocks(users: &[u32], users_at_most: usize) -> Vec<u16> {
    let each = users.iter().zip(0_u16..);
    let mut groups: Vec<u16> = each
        .flat_map(|(users, group)| std::iter::repeat_n(group, *users as usize))
        .collect();
    // Users with higher numbers are never started, so any group can be assigned to them.
    groups.resize(users_at_most, 0);
    groups
}

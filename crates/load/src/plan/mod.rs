//! The engine's plan: the JSON contract `towtank/plan/1` as data.
//!
//! [`read`] turns a file into a [`Plan`] or into every fault it has. Nothing here runs anything.

mod call;
mod connections;
mod cookies;
mod operation;
mod read;
mod request;
mod validate;

use serde::Deserialize;

pub use call::*;
pub use connections::*;
pub use cookies::*;
pub use operation::*;
pub use read::{Fault, read, read_stages, read_text};
pub use request::*;

/// A load, fully resolved for the engine. Times are seconds, sizes are bytes.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Name of the run, copied into the results.
    pub run: String,
    /// Seed of every random sequence of the run.
    pub seed: u64,
    /// Folder for the results.
    pub out: String,
    /// Load threads, at least 1.
    pub threads: usize,
    /// CPUs that the threads are pinned to in turn; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Servers that requests go to.
    pub targets: Vec<Target>,
    /// Assignment of connections to users.
    pub connections: Connections,
    /// Bounds on waiting.
    pub timeouts: Timeouts,
    /// Limits on accepted answers.
    pub limits: PlanLimits,
    /// Data for users.
    pub pools: Vec<Pool>,
    /// Names of the user variables.
    pub variables: Vec<String>,
    /// Names of the user lists.
    pub lists: Vec<String>,
    /// Names of the requests.
    pub steps: Vec<Named>,
    /// Names of the pages.
    pub pages: Vec<Named>,
    /// Transactions.
    pub transactions: Vec<Transaction>,
    /// User groups.
    pub groups: Vec<Group>,
    /// Times at which users act.
    pub load: Load,
}

/// Bounds on waiting. [s]
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// For a connection to be made.
    pub connect_s: f64,
    /// For a whole response, from the actual start of its request.
    pub response_s: f64,
    /// For users to finish after the last stage.
    pub drain_s: f64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect_s: 5.0,
            response_s: 30.0,
            drain_s: 30.0,
        }
    }
}

/// Limits on accepted answers. [B]
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanLimits {
    /// Largest response head.
    pub header_bytes: usize,
    /// Largest response body.
    pub body_bytes: u64,
    /// Number of body bytes that are kept for extraction and content checks.
    pub capture_bytes: usize,
}

impl Default for PlanLimits {
    fn default() -> Self {
        Self {
            header_bytes: 65_536,
            body_bytes: 1 << 30,
            capture_bytes: 1 << 20,
        }
    }
}

/// Rows of data that users draw from.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Name, for display.
    pub name: String,
    /// Names of the columns; taken from the file's first line with `csv`.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Order in which rows are dealt.
    pub order: Order,
    /// The rows, unless `csv` names a file.
    #[serde(default)]
    pub rows: Option<Vec<Vec<String>>>,
    /// A file with the rows.
    #[serde(default)]
    pub csv: Option<String>,
    /// One weight per row, with `weighted`.
    #[serde(default)]
    pub weights: Option<Vec<f64>>,
    /// The column that holds the weights, with `weighted`.
    #[serde(default)]
    pub weight_column: Option<String>,
}

/// Orders in which rows of a pool are dealt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Any row, each as likely.
    Random,
    /// Any row, as likely as its weight.
    Weighted,
    /// Row after row, again from the start at the end.
    Sequential,
    /// Row after row, each once.
    Unique,
}

/// A request or a page, by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// The transaction it belongs to; none for operations of a group outside any.
    #[serde(default)]
    pub transaction: Option<String>,
}

/// Unit of work of a user.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// Its name.
    pub name: String,
    /// Operations, in order.
    pub ops: Vec<Op>,
}

/// Users that behave alike.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Part of all users, in (0, 1].
    pub share: f64,
    /// Done once after the start of a user.
    pub once: Vec<Op>,
    /// Pause between transactions.
    pub think: Option<Pause>,
    /// Time from the intended start of one transaction to that of the next.
    pub pacing: Option<Pause>,
    /// Transactions to pick from.
    pub mix: Vec<Weighted>,
    /// Done once before a user leaves.
    pub exit: Vec<Op>,
    /// Cookies that its users have and keep.
    pub cookies: Cookies,
}

/// One entry of a mix.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weighted {
    /// Index of the transaction.
    pub transaction: usize,
    /// Its weight, >= 0; any scale.
    pub weight: f64,
}

/// A distribution of pauses. [s]
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "dist", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pause {
    /// Always the same.
    Fixed {
        /// The pause.
        mean_s: f64,
    },
    /// Exponential.
    Exponential {
        /// Its mean.
        mean_s: f64,
    },
    /// Uniform over an interval.
    Uniform {
        /// Shortest.
        min_s: f64,
        /// Longest.
        max_s: f64,
    },
    /// Normal, truncated by rejection.
    Normal {
        /// Mean before truncation.
        mean_s: f64,
        /// Standard deviation before truncation.
        sd_s: f64,
        /// Shortest.
        min_s: f64,
        /// Longest.
        max_s: f64,
    },
}

/// Times at which users act.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// A number of users, each starting its next transaction after the previous one.
    Closed {
        /// Most users of any stage.
        users_at_most: u32,
        /// Stages in order.
        stages: Vec<ClosedStage>,
    },
    /// Transactions start at given instants, whether or not earlier ones have ended.
    Open {
        /// Spacing of arrivals.
        arrivals: Arrivals,
        /// Limit on concurrent transactions.
        users_at_most: u32,
        /// Limit on arrivals that wait for an idle user.
        backlog_at_most: u64,
        /// Stages in order.
        stages: Vec<OpenStage>,
    },
}

/// Spacings of arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// As a Poisson process.
    Poisson,
}

/// Purpose of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Load grows.
    RampUp,
    /// Load is held until the system has settled.
    Settle,
    /// Load is held and counts.
    Steady,
    /// Load falls.
    RampDown,
}

impl Phase {
    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::RampUp => "ramp_up",
            Phase::Settle => "settle",
            Phase::Steady => "steady",
            Phase::RampDown => "ramp_down",
        }
    }
}

/// Condition that ends a stage before its duration is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// A command; plans of earlier versions say `told`.
    #[serde(alias = "told")]
    Command,
}

/// A stage of closed load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedStage {
    /// Its name.
    pub name: String,
    /// Purpose of the stage.
    pub phase: Phase,
    /// Index of the load level.
    #[serde(default)]
    pub level: usize,
    /// Duration; an upper limit with `until`. [s]
    pub duration_s: f64,
    /// Condition that may end the stage earlier.
    #[serde(default)]
    pub until: Option<Until>,
    /// Users at its end.
    #[serde(default)]
    pub users: Option<u32>,
    /// Users of each group at its end, in place of `users`.
    #[serde(default)]
    pub users_by_group: Option<Vec<u32>>,
}

impl ClosedStage {
    /// Users at its end: of all groups together, or of each.
    #[must_use]
    pub fn amounts(&self) -> Vec<u32> {
        match (&self.users_by_group, self.users) {
            (Some(by_group), _) => by_group.clone(),
            (None, users) => users.into_iter().collect(),
        }
    }
}

/// A stage of open load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenStage {
    /// Its name.
    pub name: String,
    /// Purpose of the stage.
    pub phase: Phase,
    /// Index of the load level.
    #[serde(default)]
    pub level: usize,
    /// Duration; an upper limit with `until`. [s]
    pub duration_s: f64,
    /// Condition that may end the stage earlier.
    #[serde(default)]
    pub until: Option<Until>,
    /// Arrival rate at its end. [1/s]
    #[serde(default)]
    pub rate: Option<f64>,
    /// Arrival rates over its time, in place of `rate`.
    #[serde(default)]
    pub rates: Option<Knots>,
    /// The same for each group, in place of `rate`.
    #[serde(default)]
    pub rates_by_group: Option<Vec<Rate>>,
}

impl OpenStage {
    /// Rate of all groups together, or of each group.
    #[must_use]
    pub fn amounts(&self) -> Vec<Rate> {
        if let Some(by_group) = &self.rates_by_group {
            return by_group.clone();
        }
        let moving = self.rates.clone().map(Rate::Moving);
        moving.or(self.rate.map(Rate::Plain)).into_iter().collect()
    }
}

/// Times since the start of the stage and rates there, linear between them. [s, 1/s]
pub type Knots = Vec<(f64, f64)>;

/// The rate of arrivals over a stage.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Rate {
    /// At the end of the stage. [1/s]
    Plain(f64),
    /// Piecewise linear, constant after the last knot.
    Moving(Knots),
}

impl Load {
    /// Returns `true` if groups have their own users or arrivals.
    #[must_use]
    pub fn is_by_group(&self) -> bool {
        match self {
            Load::Closed { stages, .. } => {
                stages.iter().any(|stage| stage.users_by_group.is_some())
            }
            Load::Open { stages, .. } => stages.iter().any(|stage| stage.rates_by_group.is_some()),
        }
    }

    /// Most users of each group in any stage, with users by group.
    #[must_use]
    pub fn users_of_groups(&self) -> Vec<u32> {
        let Load::Closed { stages, .. } = self else {
            return Vec::new();
        };
        let mut most = Vec::new();
        for users in stages
            .iter()
            .filter_map(|stage| stage.users_by_group.as_ref())
        {
            most.resize(most.len().max(users.len()), 0);
            for (most, users) in most.iter_mut().zip(users) {
                *most = (*most).max(*users);
            }
        }
        most
    }
}

/// Stages that are appended to a load while it runs.
#[derive(Debug, Clone)]
pub enum StageList {
    /// Of a closed load.
    Closed(Vec<ClosedStage>),
    /// Of an open load.
    Open(Vec<OpenStage>),
}

impl StageList {
    /// Number of stages.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            StageList::Closed(stages) => stages.len(),
            StageList::Open(stages) => stages.len(),
        }
    }

    /// Returns `true` if the list has no stage.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

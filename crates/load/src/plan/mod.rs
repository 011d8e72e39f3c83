//! The plan of the engine, as defined by the JSON schema `towtank/plan/1`.
//!
//! [`read`] converts a file to a [`Plan`], or returns all of its faults. This module runs nothing.

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
    /// CPUs that the threads are pinned to in turn; if empty, threads are not pinned.
    pub cpus: Vec<usize>,
    /// Servers that requests go to.
    pub targets: Vec<Target>,
    /// Assignment of connections to users.
    pub connections: Connections,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Limits on accepted responses.
    pub limits: PlanLimits,
    /// Data pools that users draw rows from.
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
    /// The load: users or arrivals over time.
    pub load: Load,
}

/// Time limits. [s]
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Limit for establishing a connection.
    pub connect_s: f64,
    /// Limit for a complete response, from the actual start of its request.
    pub response_s: f64,
    /// Limit for users to finish after the last stage.
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

/// Limits on accepted responses. [B]
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
    /// Names of the columns. With `csv`, they are taken from the first line of the file.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Order in which users draw the rows.
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

/// Order in which users draw the rows of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Any row, with equal probabilities.
    Random,
    /// Any row, with a probability proportional to its weight.
    Weighted,
    /// Row after row, starting again after the last row.
    Sequential,
    /// Row after row, each row only once.
    Unique,
}

/// A request or a page, by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Name of the request or page.
    pub name: String,
    /// Name of the transaction that contains it; `None` for operations of a group outside of transactions.
    #[serde(default)]
    pub transaction: Option<String>,
}

/// A unit of work of a user.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// Name of the transaction.
    pub name: String,
    /// Operations, in order.
    pub ops: Vec<Op>,
}

/// A group of users with the same behaviour.
#[derive(Debug, Clone)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Share of all users, in (0, 1].
    pub share: f64,
    /// Operations that each user performs once after its start.
    pub once: Vec<Op>,
    /// Pause between transactions.
    pub think: Option<Pause>,
    /// Time from the intended start of one transaction to the intended start of the next.
    pub pacing: Option<Pause>,
    /// Transactions to choose from, with their weights.
    pub mix: Vec<Weighted>,
    /// Operations that each user performs once before it leaves.
    pub exit: Vec<Op>,
    /// Cookies of the users of the group.
    pub cookies: Cookies,
}

/// One entry of a mix.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weighted {
    /// Index of the transaction.
    pub transaction: usize,
    /// Weight, >= 0, on any scale.
    pub weight: f64,
}

/// A distribution of pauses. [s]
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "dist", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pause {
    /// A constant pause.
    Fixed {
        /// Length of the pause.
        mean_s: f64,
    },
    /// Exponential distribution.
    Exponential {
        /// Mean of the distribution.
        mean_s: f64,
    },
    /// Uniform distribution over an interval.
    Uniform {
        /// Shortest pause.
        min_s: f64,
        /// Longest pause.
        max_s: f64,
    },
    /// Normal distribution, truncated by rejection of values outside the limits.
    Normal {
        /// Mean before truncation.
        mean_s: f64,
        /// Standard deviation before truncation.
        sd_s: f64,
        /// Shortest pause.
        min_s: f64,
        /// Longest pause.
        max_s: f64,
    },
}

/// The load of a run.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// Closed load: a number of users, each starting its next transaction after the previous one.
    Closed {
        /// Largest number of users of any stage.
        users_at_most: u32,
        /// Stages in order.
        stages: Vec<ClosedStage>,
    },
    /// Open load: transactions start at given times, whether or not earlier transactions have ended.
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

/// Distribution of the times between arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly spaced.
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
    /// Load is held and measured.
    Steady,
    /// Load falls.
    RampDown,
}

impl Phase {
    /// The name of the phase in files.
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
    /// A command on standard input; plans of earlier versions write `told`.
    #[serde(alias = "told")]
    Command,
}

/// A stage of closed load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedStage {
    /// Name of the stage.
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
    /// Number of users at the end of the stage.
    #[serde(default)]
    pub users: Option<u32>,
    /// Number of users of each group at the end of the stage, instead of `users`.
    #[serde(default)]
    pub users_by_group: Option<Vec<u32>>,
}

impl ClosedStage {
    /// Numbers of users at the end of the stage: one for all groups together, or one for each group.
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
    /// Name of the stage.
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
    /// Arrival rate at the end of the stage. [1/s]
    #[serde(default)]
    pub rate: Option<f64>,
    /// Arrival rates over the stage, instead of `rate`.
    #[serde(default)]
    pub rates: Option<Knots>,
    /// Arrival rates of each group, instead of `rate`.
    #[serde(default)]
    pub rates_by_group: Option<Vec<Rate>>,
}

impl OpenStage {
    /// Rates of the stage: one for all groups together, or one for each group.
    #[must_use]
    pub fn amounts(&self) -> Vec<Rate> {
        if let Some(by_group) = &self.rates_by_group {
            return by_group.clone();
        }
        let moving = self.rates.clone().map(Rate::Moving);
        moving.or(self.rate.map(Rate::Plain)).into_iter().collect()
    }
}

/// Rate over time: pairs of a time since the start of the stage [s] and the rate at this time [1/s]. The rate is linear
/// in between.
pub type Knots = Vec<(f64, f64)>;

/// Arrival rate over a stage.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Rate {
    /// Rate at the end of the stage. [1/s]
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

    /// Largest number of users of each group over all stages; empty if no stage states users by group.
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
    /// Stages of a closed load.
    Closed(Vec<ClosedStage>),
    /// Stages of an open load.
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

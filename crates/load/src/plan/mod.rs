//! The plan that the load engine executes, as defined by the JSON schema `towtank/plan/1`.
//!
//! [`read`] converts a file to a [`Plan`], or returns all faults of the file. This module executes nothing.

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

/// A complete plan for the load engine; it does not refer to other files of the workload. Times are in seconds, sizes
/// in bytes.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Name of the run, copied into the results.
    pub run: String,
    /// Seed from which all random sequences of the run are derived.
    pub seed: u64,
    /// Folder that the results are written to.
    pub out: String,
    /// Number of load threads, at least 1.
    pub threads: usize,
    /// CPUs that the load threads are pinned to, in rotation. If empty, threads are not pinned.
    pub cpus: Vec<usize>,
    /// Servers that requests go to.
    pub targets: Vec<Target>,
    /// Rules by which the users open and share connections.
    pub connections: Connections,
    /// Time limits for connections, responses and the end of the run.
    pub timeouts: Timeouts,
    /// Limits on the size of responses.
    pub limits: PlanLimits,
    /// Data pools: tables whose rows provide input values for users.
    pub pools: Vec<Pool>,
    /// Names of the variables that every user has.
    pub variables: Vec<String>,
    /// Names of the lists that every user has.
    pub lists: Vec<String>,
    /// Names of the steps (requests and calls of drivers) under which results are counted.
    pub steps: Vec<Named>,
    /// Names of the pages under which results are counted.
    pub pages: Vec<Named>,
    /// Transactions that users can execute.
    pub transactions: Vec<Transaction>,
    /// User groups, each with its own behaviour.
    pub groups: Vec<Group>,
    /// Values that results must not contain, such as passwords.
    pub secrets: Vec<String>,
    /// Number of users or arrival rate over time.
    pub load: Load,
}

/// Time limits of a run. [s]
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Limit on the time to establish a connection.
    pub connect_s: f64,
    /// Limit on the time from the actual start of a request to the end of its response.
    pub response_s: f64,
    /// Limit on the time from the end of the last load stage until all users have finished.
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

/// Limits on the size of responses. [B]
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanLimits {
    /// Largest accepted response head.
    pub header_bytes: usize,
    /// Largest accepted response body.
    pub body_bytes: u64,
    /// Number of bytes of each body that are kept for extraction and content checks.
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

/// A data pool: a table from which users take rows as input values.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Name of the pool, for display.
    pub name: String,
    /// Names of the columns. With `csv`, they are taken from the first line of the file.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Order in which the rows are given to users.
    pub order: Order,
    /// The rows, as one list of values each; `None` if `csv` names a file instead.
    #[serde(default)]
    pub rows: Option<Vec<Vec<String>>>,
    /// Path of a CSV file that contains the rows.
    #[serde(default)]
    pub csv: Option<String>,
    /// Weight of each row, for the order `weighted`.
    #[serde(default)]
    pub weights: Option<Vec<f64>>,
    /// Name of the column that contains the weights of the rows, for the order `weighted`.
    #[serde(default)]
    pub weight_column: Option<String>,
}

/// Order in which the rows of a pool are given to users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Random rows, all with equal probabilities.
    Random,
    /// Random rows, with probabilities proportional to their weights.
    Weighted,
    /// Rows in the order of the table, starting again after the last row.
    Sequential,
    /// Rows in the order of the table, each row only once in the run.
    Unique,
}

/// Name of a request, call or page, and name of the transaction that contains it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Name of the request, call or page.
    pub name: String,
    /// Name of the transaction that contains the request, call or page. `None` if it is in `once` or `exit` of a group,
    /// outside of transactions.
    #[serde(default)]
    pub transaction: Option<String>,
}

/// A transaction: a sequence of operations that is measured as one unit of work.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// Name of the transaction.
    pub name: String,
    /// Operations of the transaction, in order.
    pub ops: Vec<Op>,
}

/// A group of users with the same behaviour.
#[derive(Debug, Clone)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Fraction of all users that belong to this group, in (0, 1].
    pub share: f64,
    /// Operations that each user performs once when it starts.
    pub once: Vec<Op>,
    /// Pause of a user between the end of a transaction and the start of the next.
    pub think: Option<Pause>,
    /// Time from the intended start of a transaction to the intended start of the user's next transaction.
    pub pacing: Option<Pause>,
    /// Transactions that users choose from at random, with their weights.
    pub mix: Vec<Weighted>,
    /// Operations that each user performs once before it leaves.
    pub exit: Vec<Op>,
    /// Cookie settings for the users of the group.
    pub cookies: Cookies,
}

/// A transaction in the mix of a group, with its weight.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weighted {
    /// Index of the transaction.
    pub transaction: usize,
    /// Relative frequency of the transaction, >= 0; weights need not sum to 1.
    pub weight: f64,
}

/// A distribution of pauses. [s]
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "dist", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pause {
    /// Every pause has the same length.
    Fixed {
        /// Length of every pause.
        mean_s: f64,
    },
    /// Exponentially distributed pauses.
    Exponential {
        /// Mean length of the pauses.
        mean_s: f64,
    },
    /// Uniformly distributed pauses.
    Uniform {
        /// Shortest pause.
        min_s: f64,
        /// Longest pause.
        max_s: f64,
    },
    /// Normally distributed pauses. Random values outside the limits are discarded and generated again.
    Normal {
        /// Mean of the normal distribution before values outside the limits are discarded.
        mean_s: f64,
        /// Standard deviation of the normal distribution before values outside the limits are discarded.
        sd_s: f64,
        /// Shortest pause.
        min_s: f64,
        /// Longest pause.
        max_s: f64,
    },
}

/// The load of a run: number of users or arrival rate over time.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// Closed load: a number of users, each of which starts a transaction only after the previous one has ended.
    Closed {
        /// Largest number of users in any stage.
        users_at_most: u32,
        /// Load stages, in order of time.
        stages: Vec<ClosedStage>,
    },
    /// Open load: transactions start at times that do not depend on the end of earlier transactions.
    Open {
        /// Distribution of the times between arrivals.
        arrivals: Arrivals,
        /// Limit on concurrent transactions, each of which needs one user.
        users_at_most: u32,
        /// Limit on arrivals that wait for an idle user.
        backlog_at_most: u64,
        /// Load stages, in order of time.
        stages: Vec<OpenStage>,
    },
}

/// Distribution of the times between arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Arrivals are evenly spaced.
    Constant,
    /// Arrivals form a Poisson process: the times between them are exponentially distributed.
    Poisson,
}

/// Purpose of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The load grows.
    RampUp,
    /// The load is constant until the system has reached a steady state; nothing is measured yet.
    Settle,
    /// The load is constant and measured.
    Steady,
    /// The load falls.
    RampDown,
}

impl Phase {
    /// Returns the name of the phase in plans and result files.
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
    /// The stage ends when a command arrives on standard input. Plans of earlier versions write `told`.
    #[serde(alias = "told")]
    Command,
}

/// A stage of closed load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedStage {
    /// Name of the stage.
    pub name: String,
    /// Purpose of the stage, such as ramp-up or steady measurement.
    pub phase: Phase,
    /// Index of the load level that the stage belongs to.
    #[serde(default)]
    pub level: usize,
    /// Duration of the stage. With `until`, this is an upper limit. [s]
    pub duration_s: f64,
    /// Condition that ends the stage before `duration_s` is over.
    #[serde(default)]
    pub until: Option<Until>,
    /// Number of users at the end of the stage, over all groups.
    #[serde(default)]
    pub users: Option<u32>,
    /// Number of users of each group at the end of the stage, instead of `users`.
    #[serde(default)]
    pub users_by_group: Option<Vec<u32>>,
}

impl ClosedStage {
    /// Returns the numbers of users at the end of the stage: a single number for all groups together, or a number for
    /// each group.
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
    /// Purpose of the stage, such as ramp-up or steady measurement.
    pub phase: Phase,
    /// Index of the load level that the stage belongs to.
    #[serde(default)]
    pub level: usize,
    /// Duration of the stage. With `until`, this is an upper limit. [s]
    pub duration_s: f64,
    /// Condition that ends the stage before `duration_s` is over.
    #[serde(default)]
    pub until: Option<Until>,
    /// Arrival rate at the end of the stage. [1/s]
    #[serde(default)]
    pub rate: Option<f64>,
    /// Arrival rate over time within the stage, instead of `rate`.
    #[serde(default)]
    pub rates: Option<Knots>,
    /// Arrival rate of each group, instead of `rate`.
    #[serde(default)]
    pub rates_by_group: Option<Vec<Rate>>,
}

impl OpenStage {
    /// Returns the arrival rates of the stage: a single rate for all groups together, or a rate for each group.
    #[must_use]
    pub fn amounts(&self) -> Vec<Rate> {
        if let Some(by_group) = &self.rates_by_group {
            return by_group.clone();
        }
        let moving = self.rates.clone().map(Rate::Moving);
        moving.or(self.rate.map(Rate::Plain)).into_iter().collect()
    }
}

/// Arrival rate over time: pairs of a time since the start of the stage [s] and the arrival rate at that time [1/s].
/// Between these times, the rate is interpolated linearly.
pub type Knots = Vec<(f64, f64)>;

/// Arrival rate over a stage.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Rate {
    /// Arrival rate at the end of the stage. [1/s]
    Plain(f64),
    /// Arrival rate as a piecewise linear function of time, constant after the last pair of the list.
    Moving(Knots),
}

impl Load {
    /// Returns `true` if the load states users or arrivals separately for each group.
    #[must_use]
    pub fn is_by_group(&self) -> bool {
        match self {
            Load::Closed { stages, .. } => {
                stages.iter().any(|stage| stage.users_by_group.is_some())
            }
            Load::Open { stages, .. } => stages.iter().any(|stage| stage.rates_by_group.is_some()),
        }
    }

    /// Returns the largest number of users of each group over all stages; empty if no stage states users by group.
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
    /// Returns the number of stages in the list.
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

//! A queueing network as data, the input of `solve` and `simulate`.
//!
//! All times are in seconds, all rates per second. Elements of a model refer to each other by name: a service to its
//! class, a pool to its stations. [`Model::check`] reports every fault at once; a model without faults can be solved or
//! simulated.

pub mod behaviour;
mod check;
mod deterministic;
pub(crate) mod forks;
mod routing;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) use routing::eliminate;

/// A network of stations with the jobs that visit them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Kind and version of the format, `towtank/model/1`; may be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Kinds of jobs, each closed or open; at least one.
    pub classes: Vec<Class>,
    /// Stations that serve jobs; at least one.
    pub stations: Vec<Station>,
    /// Pools of threads, connections or locks, whose units a job holds while it is served at stations.
    #[serde(default)]
    pub pools: Vec<Pool>,
    /// Forks, where parts of a transaction run at the same time.
    #[serde(default)]
    pub forks: Vec<Fork>,
    /// Routes of classes through the stations. A class without a route visits the stations in the order of the model,
    /// as often as its services state.
    #[serde(default)]
    pub routing: Vec<Route>,
    /// Further behaviour such as time-outs and failures, most of which only the simulator supports.
    #[serde(default)]
    pub behaviour: behaviour::Behaviour,
}

/// A class of jobs: closed (a number of users, each with one job at a time) or open (arrivals at a rate).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Name of the class, unique among classes.
    pub name: String,
    /// Number of users of a closed class.
    #[serde(default)]
    pub users: Option<u64>,
    /// Mean pause of a user between the end of a job and the next job; closed classes only. [s]
    #[serde(default)]
    pub think_time_s: f64,
    /// Variation of the think time. It does not change mean values in steady state; the simulator generates think times
    /// from this distribution.
    #[serde(default)]
    pub think: Variation,
    /// Rate of arrivals of an open class, > 0. [1/s]
    #[serde(default)]
    pub arrival_rate_per_s: Option<f64>,
    /// Variation of the times between arrivals of an open class; `exponential` makes Poisson arrivals.
    #[serde(default)]
    pub arrivals: Variation,
    /// Rank of the class at stations of discipline `priority`: 1 is served before 2. Classes without a rank are served
    /// last.
    #[serde(default)]
    pub priority: Option<u32>,
}

impl Class {
    /// Returns `true` if the class is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.users.is_some()
    }

    /// Returns the rank of the class, or the default rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.priority.unwrap_or(u32::MAX)
    }
}

/// Type of the distribution of a time.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Exponential distribution, whose squared coefficient of variation (`scv`) is 1.
    #[default]
    Exponential,
    /// Constant: the time always equals the mean.
    Deterministic,
    /// Sum of k equal exponential phases; `scv` is 1/k.
    Erlang,
    /// Hyperexponential: one of two exponential times that contribute equally to the mean; `scv` is above 1.
    Hyperexponential,
    /// Gamma distribution, with any `scv` above 0.
    Gamma,
    /// Lognormal distribution, with any `scv` above 0.
    Lognormal,
    /// Uniform distribution, with any `scv` above 0 and at most 1/3: between 1 − √(3 scv) and 1 + √(3 scv) times the
    /// mean.
    Uniform,
    /// Pareto (Lomax) distribution, which has a heavy tail; `scv` is above 1.
    Pareto,
}

/// Random variation of a time about its mean.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Variation {
    /// Type of the distribution; derived from `scv` if it is not given.
    #[serde(default)]
    pub distribution: Option<Distribution>,
    /// Squared coefficient of variation (variance divided by the squared mean), >= 0. [1]
    #[serde(default)]
    pub scv: Option<f64>,
}

impl Variation {
    /// Returns the stated squared coefficient of variation, or that of the stated distribution; 1 if the model states
    /// neither.
    #[must_use]
    pub fn squared_coefficient(&self) -> f64 {
        self.scv.unwrap_or(match self.distribution {
            Some(Distribution::Deterministic) => 0.0,
            Some(Distribution::Uniform) => 1.0 / 3.0,
            _ => 1.0,
        })
    }

    /// Returns the stated distribution, or a default for `scv`: constant for 0, exponential for 1, gamma below 1,
    /// hyperexponential above 1.
    #[must_use]
    pub fn form(&self) -> Distribution {
        self.distribution.unwrap_or(match self.scv {
            None => Distribution::Exponential,
            Some(0.0) => Distribution::Deterministic,
            Some(scv) if (scv - 1.0).abs() < 1e-12 => Distribution::Exponential,
            Some(scv) if scv < 1.0 => Distribution::Gamma,
            Some(_) => Distribution::Hyperexponential,
        })
    }

    /// Returns `true` if the time is exponential.
    #[must_use]
    pub fn is_exponential(&self) -> bool {
        self.form() == Distribution::Exponential
    }
}

/// Order of service at a station.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// First come, first served: jobs are served in the order of arrival.
    #[default]
    Fcfs,
    /// Processor sharing: all jobs are served at once and share the servers evenly.
    Ps,
    /// Last come, first served: an arriving job interrupts the job in service, which later continues where it stopped.
    LcfsPr,
    /// A delay, which has as many servers as jobs, so that no job waits.
    Delay,
    /// In the order of the ranks of classes; first come, first served within a rank.
    Priority,
}

/// A station: servers with one queue.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Name of the station, unique among stations and pools.
    pub name: String,
    /// Order in which jobs are served.
    #[serde(default)]
    pub discipline: Discipline,
    /// Number of equal servers, at least 1; ignored for `delay`.
    #[serde(default = "one")]
    pub servers: u32,
    /// Speed with 1, 2, ... jobs present, as a multiple of the speed to which service times refer. The last entry also
    /// applies to all larger numbers of jobs. Replaces `servers`. [1]
    #[serde(default)]
    pub rates: Vec<f64>,
    /// Limit on the jobs at the station, including those in service. Arrivals at a full station are dropped. Only for
    /// stations that no closed class visits.
    #[serde(default)]
    pub capacity: Option<u64>,
    /// With discipline `priority`: `true` if a job of a better rank interrupts a job in service.
    #[serde(default)]
    pub preemptive: bool,
    /// Services of classes at the station; a class that is not listed does not visit the station.
    #[serde(default)]
    pub services: Vec<Service>,
}

fn one() -> u32 {
    1
}

/// Service of one class at one station.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Name of the class that is served.
    pub class: String,
    /// Mean number of visits to the station per transaction, >= 0; default 1. Not allowed if the class has a route. [1]
    #[serde(default)]
    pub visits: Option<f64>,
    /// Mean service time of one visit, >= 0. [s]
    pub service_time_s: f64,
    /// Variation of the service time of one visit.
    #[serde(default)]
    pub variation: Variation,
    /// Rank of the class at this station, if it differs from the rank that the class has elsewhere.
    #[serde(default)]
    pub priority: Option<u32>,
}

/// A pool of equal units (threads, connections, a lock). A transaction holds one unit from its first to its last
/// service at the stations that the pool lists.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Name of the pool, unique among stations and pools.
    pub name: String,
    /// Number of units in the pool, at least 1.
    pub size: u64,
    /// Names of the stations and inner pools that a job uses while it holds a unit.
    pub holds: Vec<String>,
    /// Names of the classes that need a unit of the pool; by default, all classes.
    #[serde(default)]
    pub classes: Vec<String>,
}

/// A fork: branches of a transaction that run at the same time. The transaction continues when all branches have ended.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Fork {
    /// Name of the fork, unique among forks.
    pub name: String,
    /// Names of the stations and inner forks of each branch; a name that both have is that of the station. A fork has
    /// at least two branches, and no station or fork is in more than one branch. Only the simulator supports inner
    /// forks.
    pub branches: Vec<Vec<String>>,
    /// Names of the classes whose transactions fork; by default, all classes.
    #[serde(default)]
    pub classes: Vec<String>,
}

/// Probabilities of the next destination of a job, by name of the station or [`END`].
pub type Branching = BTreeMap<String, f64>;

/// Name of the destination outside the network: a job of an open class leaves, and a user of a closed class begins to
/// think.
pub const END: &str = "end";

/// Route of a class through the stations, as transition probabilities.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Name of the class that takes the route.
    pub class: String,
    /// Probabilities of the first station; they add up to 1.
    pub start: Branching,
    /// Probabilities of the next destination, by name of the station that the job leaves. If they add up to less than
    /// 1, the rest leads to [`END`].
    pub next: BTreeMap<String, Branching>,
}

/// A fault of a model, with its location as a path of keys in the model file.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Fault {
    /// Keys that lead to the faulty value, outermost first, such as `["stations", "cpu", "servers"]`.
    pub path: Vec<String>,
    /// The requirement that is violated, and the value that was found.
    pub message: String,
}

impl Fault {
    /// Creates a fault at a path of keys.
    #[must_use]
    pub fn new(path: &[&str], message: impl Into<String>) -> Self {
        Self {
            path: path.iter().map(|&part| part.to_owned()).collect(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path.join("."), self.message)
    }
}

impl Model {
    /// Returns all faults of the model, sorted by location. A model without faults can be solved or simulated.
    #[must_use]
    pub fn check(&self) -> Vec<Fault> {
        check::check(self)
    }

    /// Returns the mean number of visits of one transaction of a class to each station, from its route or its services.
    /// [1]
    ///
    /// # Errors
    ///
    /// If the route of the class does not lead out of the network, which [`Model::check`] reports as well.
    pub fn visits(&self, class: &Class) -> Result<Vec<f64>, Fault> {
        routing::visits(self, class)
    }

    /// Returns the rank of a class at a station. Jobs of rank 1 are served before jobs of rank 2.
    #[must_use]
    pub fn rank(&self, class: &Class, station: &Station) -> u32 {
        station
            .service(&class.name)
            .and_then(|service| service.priority)
            .unwrap_or_else(|| class.rank())
    }
}

impl Station {
    /// Returns the service of the given class at this station, if the class visits the station.
    #[must_use]
    pub fn service(&self, class: &str) -> Option<&Service> {
        self.services.iter().find(|service| service.class == class)
    }
}

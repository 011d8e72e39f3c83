//! Behaviour beyond queueing: time-outs, failures, balancing, caches, feedback, weights, measured times. All but caches is
//! for simulation only.

mod check;

use serde::{Deserialize, Serialize};

use super::Fault;

pub(super) use check::check;

/// Behaviour beyond queueing; a model that can be solved has caches and measured times at most.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviour {
    /// Time limits of transactions, by class.
    pub patience: Vec<Patience>,
    /// Stations that fail.
    pub failures: Vec<Failure>,
    /// Groups of stations of which one is chosen for each visit.
    pub balancers: Vec<Balancer>,
    /// Caches in front of stations.
    pub caches: Vec<Cache>,
    /// Stations where jobs lose rank as they are served.
    pub feedback: Vec<Feedback>,
    /// Shares of classes at stations of discipline `ps`.
    pub weights: Vec<Weight>,
    /// Service times as they were measured.
    pub samples: Vec<Samples>,
}

/// Treatment of an attempt that exceeds its limit.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// The system works on it to its end, though nobody waits for it: as most servers do.
    #[default]
    Continue,
    /// It leaves at once, and releases what it holds.
    Cancel,
}

/// Time limit of a class, and its reaction.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Patience {
    /// Name of the class.
    pub class: String,
    /// Longest time of an attempt, > 0; without one only drops are tried again. [s]
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// Further attempts after the first.
    #[serde(default)]
    pub retries: u32,
    /// Mean pause before the first retry, exponential, twice as long before each further one. [s]
    #[serde(default)]
    pub retry_delay_s: f64,
    /// Treatment of the attempt.
    #[serde(default)]
    pub on_timeout: OnTimeout,
}

/// A station that is up and down in turns, exponential times.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Name of the station.
    pub station: String,
    /// Mean time up, > 0. [s]
    pub up_s: f64,
    /// Mean time down, > 0; jobs at the station wait, and continue from where they were. [s]
    pub down_s: f64,
    /// Station that takes jobs that arrive meanwhile.
    #[serde(default)]
    pub failover: Option<String>,
}

/// Choice among several stations; those that are down are left out while others are up.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Each with the same chance.
    #[default]
    Random,
    /// One after the other.
    RoundRobin,
    /// The station with the fewest jobs; among equals, in turn.
    ShortestQueue,
    /// The shorter queue of two that are chosen at random.
    PowerOfTwo,
}

/// Stations that do the same: a job sent to one of them goes to the one that the policy chooses.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Balancer {
    /// Unique among balancers.
    pub name: String,
    /// Choice of a station.
    #[serde(default)]
    pub policy: Policy,
    /// Two stations at least, each in no other balancer; a class is served at all of them or at none.
    pub stations: Vec<String>,
}

/// A cache in front of a station: a hit takes `hit_time_s` in place of a service.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Name of the station.
    pub station: String,
    /// Share of visits that hit, in [0, 1]; in place of `items` and `keys`.
    #[serde(default)]
    pub hit_ratio: Option<f64>,
    /// Entries that fit, least recently used out first.
    #[serde(default)]
    pub items: Option<u64>,
    /// Number of different keys that are asked for.
    #[serde(default)]
    pub keys: Option<u64>,
    /// Exponent s of Zipf's law: key i is asked for in proportion to i^-s; 0 makes all equal.
    #[serde(default)]
    pub skew: f64,
    /// Time of a hit. [s]
    #[serde(default)]
    pub hit_time_s: f64,
}

/// Levels of service: a job that used up the quantum of its level goes to the end of the next.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// Name of a station of discipline `priority` or `fcfs`.
    pub station: String,
    /// Service before a job loses a rank, > 0. [s]
    pub quantum_s: f64,
    /// Number of levels, at least 1; on the last one jobs take turns of a quantum.
    pub levels: u32,
}

/// Share of a class at a station of discipline `ps`, beside others of 1 (discriminatory processor sharing).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// Name of the station, of one server.
    pub station: String,
    /// Name of the class.
    pub class: String,
    /// Weight, > 0.
    pub weight: f64,
}

/// Measured service times: their shape is used, with the mean of the service.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// Name of the station.
    pub station: String,
    /// Name of the class.
    pub class: String,
    /// The times, at least one above 0. [s]
    pub values_s: Vec<f64>,
}

impl Behaviour {
    /// The first feature that only simulation supports, and its place.
    #[must_use]
    pub fn beyond_analysis(&self) -> Option<Fault> {
        let place = (self
            .patience
            .first()
            .map(|patience| vec!["classes", &patience.class, "timeout"]))
        .or_else(|| {
            self.failures
                .first()
                .map(|failure| vec!["stations", &failure.station, "up"])
        })
        .or_else(|| {
            let chosen = self
                .balancers
                .iter()
                .find(|balancer| balancer.policy != Policy::Random);
            chosen.map(|balancer| vec!["balancers", &balancer.name, "policy"])
        })
        .or_else(|| {
            self.feedback
                .first()
                .map(|feedback| vec!["stations", &feedback.station, "quantum"])
        })
        .or_else(|| {
            self.weights
                .first()
                .map(|weight| vec!["stations", &weight.station, "weights"])
        })?;
        Some(Fault::new(
            &place,
            "must be left out to be solved: only 'towtank model simulate' takes it into account",
        ))
    }
}

//! Further behaviour: time-outs, failures, load balancing, caches, feedback, weights, measured times. Only caches and
//! measured times are supported by the solvers.

mod check;

use serde::{Deserialize, Serialize};

use super::Fault;

pub(super) use check::check;

/// Further behaviour. A model to be solved may only have caches and measured times.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviour {
    /// Time limits of transactions, by class.
    pub patience: Vec<Patience>,
    /// Stations that fail and are repaired.
    pub failures: Vec<Failure>,
    /// Groups of stations; each visit goes to one of them.
    pub balancers: Vec<Balancer>,
    /// Caches in front of stations.
    pub caches: Vec<Cache>,
    /// Stations where jobs lose rank while they are served.
    pub feedback: Vec<Feedback>,
    /// Shares of classes at stations of discipline `ps`.
    pub weights: Vec<Weight>,
    /// Service times as they were measured.
    pub samples: Vec<Samples>,
}

/// Effect of a time limit on an attempt that exceeds it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// The system completes the work although no user waits for it, as most servers do.
    #[default]
    Continue,
    /// The job leaves at once, and releases the units that it holds.
    Cancel,
}

/// Time limit of a class, and the reaction when it is exceeded.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Patience {
    /// Name of the class.
    pub class: String,
    /// Time limit of an attempt, > 0; without it only dropped transactions are retried. [s]
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// Limit on further attempts after the first.
    #[serde(default)]
    pub retries: u32,
    /// Mean pause before the first retry, exponentially distributed; it doubles with each further retry. [s]
    #[serde(default)]
    pub retry_delay_s: f64,
    /// Effect on an attempt that exceeds the limit.
    #[serde(default)]
    pub on_timeout: OnTimeout,
}

/// A station that alternates between up and down; both times are exponentially distributed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Name of the station.
    pub station: String,
    /// Mean time up, > 0. [s]
    pub up_s: f64,
    /// Mean time down, > 0; jobs at the station wait, and continue where they stopped. [s]
    pub down_s: f64,
    /// Station that receives the jobs that arrive while this one is down.
    #[serde(default)]
    pub failover: Option<String>,
}

/// Rule by which a balancer chooses a station. Stations that are down are not chosen while another station is up.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// At random, with equal probabilities.
    #[default]
    Random,
    /// The stations in rotation.
    RoundRobin,
    /// The station with the fewest jobs; if several have equally few, in rotation.
    ShortestQueue,
    /// The station with fewer jobs of two that are chosen at random.
    PowerOfTwo,
}

/// A group of equivalent stations: a job sent to any of them goes to the one that the policy chooses.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Balancer {
    /// Unique among balancers.
    pub name: String,
    /// Rule by which a station is chosen.
    #[serde(default)]
    pub policy: Policy,
    /// At least two stations, each in no other balancer; a class is served at all of them or at none.
    pub stations: Vec<String>,
}

/// A cache in front of a station: a hit takes `hit_time_s` instead of a service.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Name of the station.
    pub station: String,
    /// Share of visits that hit, in [0, 1]; an alternative to `items` and `keys`.
    #[serde(default)]
    pub hit_ratio: Option<f64>,
    /// Number of entries; the least recently used one is evicted first.
    #[serde(default)]
    pub items: Option<u64>,
    /// Number of different keys that are requested.
    #[serde(default)]
    pub keys: Option<u64>,
    /// Exponent s of Zipf's law: key i is requested in proportion to i^-s; 0 makes all keys equally likely.
    #[serde(default)]
    pub skew: f64,
    /// Time of a hit. [s]
    #[serde(default)]
    pub hit_time_s: f64,
}

/// Levels of service: a job that has used up the quantum of its level goes to the end of the queue of the next level.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// Name of a station of discipline `priority` or `fcfs`.
    pub station: String,
    /// Service time after which a job moves to the next level, > 0. [s]
    pub quantum_s: f64,
    /// Number of levels, at least 1; on the last level jobs alternate after each quantum.
    pub levels: u32,
}

/// Weight of a class at a station of discipline `ps`; other classes have weight 1 (discriminatory processor sharing).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// Name of the station, which must have one server.
    pub station: String,
    /// Name of the class.
    pub class: String,
    /// Weight, > 0.
    pub weight: f64,
}

/// Measured service times. Only the shape of their distribution is used; their mean is scaled to the mean service time.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// Name of the station.
    pub station: String,
    /// Name of the class.
    pub class: String,
    /// Measured times, at least one above 0. [s]
    pub values_s: Vec<f64>,
}

impl Behaviour {
    /// Returns the first feature that only the simulator supports, as a fault with its location.
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
            "must be left out for solving: only 'towtank model simulate' supports it",
        ))
    }
}

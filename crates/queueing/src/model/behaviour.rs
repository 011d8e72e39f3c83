//! Further behaviour of a model: time-outs, failures, load balancing, caches, feedback, weights, measured times. The
//! solvers support only caches and measured times.

mod after;
mod check;

use serde::{Deserialize, Serialize};

use super::Fault;

pub(super) use check::check;

/// Further behaviour of a model. The solvers support only caches and measured times.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviour {
    /// Time limits and retries of transactions, by class.
    pub patience: Vec<Patience>,
    /// Stations that fail from time to time and are repaired.
    pub failures: Vec<Failure>,
    /// Groups of equivalent stations; each visit goes to a station that is chosen from the group.
    pub balancers: Vec<Balancer>,
    /// Caches in front of stations.
    pub caches: Vec<Cache>,
    /// Stations where a job moves to a worse feedback level after each quantum of service.
    pub feedback: Vec<Feedback>,
    /// Weights of classes at stations of discipline `ps`, which share the servers by weight.
    pub weights: Vec<Weight>,
    /// Measured service times, by station and class.
    pub samples: Vec<Samples>,
    /// Classes whose jobs arrive in batches.
    pub batches: Vec<Batch>,
    /// Stations that jobs visit after their response.
    pub after: Vec<After>,
}

/// Work after the response: the user goes on, while the job visits further stations.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// Name of the class.
    pub class: String,
    /// Names of the stations that a job visits after its response, in the order of the model.
    pub stations: Vec<String>,
}

/// Distribution of the number of jobs in a batch.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchSizes {
    /// All batches have the same size.
    #[default]
    Constant,
    /// The size is geometrically distributed, from 1.
    Geometric,
}

/// Arrivals of a class in batches: all jobs of a batch arrive at the same time.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Name of the open class. Its arrival rate counts jobs; batches arrive at this rate divided by the mean size.
    pub class: String,
    /// Mean number of jobs in a batch, at least 1; a whole number if the size is constant.
    pub size: f64,
    /// Distribution of the number of jobs in a batch.
    #[serde(default)]
    pub sizes: BatchSizes,
}

/// Effect on an attempt that exceeds the time limit.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// The system completes the attempt although no user waits for it, as most servers do.
    #[default]
    Continue,
    /// The job of the attempt leaves the system at once, and releases the units of pools that it holds.
    Cancel,
}

/// Time limit of a class, and the reaction when it is exceeded.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Patience {
    /// Name of the class that has the time limit.
    pub class: String,
    /// Time limit of an attempt, > 0. Without a time limit, only dropped transactions are retried. [s]
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// Limit on the number of attempts after the first.
    #[serde(default)]
    pub retries: u32,
    /// Mean pause before the first retry; it doubles with each further retry. Pauses are exponentially distributed. [s]
    #[serde(default)]
    pub retry_delay_s: f64,
    /// Effect on an attempt that exceeds the time limit.
    #[serde(default)]
    pub on_timeout: OnTimeout,
    /// Mean time that a job waits in the queue of a station before it gives up, > 0; exponentially distributed. A job
    /// in service does not give up. Excludes `timeout_s`. [s]
    #[serde(default)]
    pub patience_s: Option<f64>,
}

/// A station that alternates between working (up) and failed (down); both times are exponentially distributed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Name of the station that fails.
    pub station: String,
    /// Mean time from a repair to the next failure, > 0. [s]
    pub up_s: f64,
    /// Mean time of a repair, > 0. Jobs at the station wait during the repair, and then continue where they stopped.
    /// [s]
    pub down_s: f64,
    /// Name of the station that receives the jobs that arrive while the failed station is down.
    #[serde(default)]
    pub failover: Option<String>,
}

/// Rule by which a balancer chooses a station. Stations that are down are not chosen while another station is up.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// A station at random, with equal probabilities.
    #[default]
    Random,
    /// The stations one after the other, in rotation.
    RoundRobin,
    /// The station with the fewest jobs; among stations with equally few jobs, in rotation.
    ShortestQueue,
    /// Of two stations that are chosen at random, the station with fewer jobs.
    PowerOfTwo,
}

/// A group of equivalent stations: a job sent to any of them goes to the one that the policy chooses.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Balancer {
    /// Name of the balancer, unique among balancers.
    pub name: String,
    /// Rule by which the balancer chooses a station.
    #[serde(default)]
    pub policy: Policy,
    /// Names of at least two stations, each in no other balancer. A class is served at all of these stations or at
    /// none.
    pub stations: Vec<String>,
}

/// A cache in front of a station. A visit that is a hit takes `hit_time_s` instead of a service at the station.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Name of the station behind the cache.
    pub station: String,
    /// Share of visits that are hits, in [0, 1]; an alternative to `items` and `keys`.
    #[serde(default)]
    pub hit_ratio: Option<f64>,
    /// Number of entries in the cache; the least recently used entry is evicted first.
    #[serde(default)]
    pub items: Option<u64>,
    /// Number of different keys that are requested from the cache.
    #[serde(default)]
    pub keys: Option<u64>,
    /// Exponent s of Zipf's law: key i is requested in proportion to i^-s; 0 makes all keys equally likely.
    #[serde(default)]
    pub skew: f64,
    /// Time of a visit that is a hit. [s]
    #[serde(default)]
    pub hit_time_s: f64,
}

/// Feedback levels of a station: a job that has used up the quantum of its level goes to the end of the queue of the
/// next level.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// Name of the station, whose discipline must be `priority` or `fcfs`.
    pub station: String,
    /// Service time after which a job moves to the next level, > 0. [s]
    pub quantum_s: f64,
    /// Number of levels, at least 1. On the last level, a job goes to the end of the same queue after each quantum.
    pub levels: u32,
}

/// Weight of a class at a station of discipline `ps`; other classes have weight 1 (discriminatory processor sharing).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// Name of the station, which must have one server.
    pub station: String,
    /// Name of the class that has the weight.
    pub class: String,
    /// Weight of the class, > 0. Jobs share the server in proportion to their weights.
    pub weight: f64,
}

/// Measured service times. Only the shape of their distribution is used; their mean is scaled to the mean service time.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// Name of the station where the times were measured.
    pub station: String,
    /// Name of the class whose times were measured.
    pub class: String,
    /// Measured service times; at least one is above 0. [s]
    pub values_s: Vec<f64>,
}

impl Behaviour {
    /// Returns a fault for each feature that only the simulator supports, with its location.
    #[must_use]
    pub fn beyond_analysis(&self) -> Vec<Fault> {
        let mut places: Vec<[&str; 3]> = Vec::new();
        for limits in &self.patience {
            let given = [
                ("timeout", limits.timeout_s.is_some()),
                ("patience", limits.patience_s.is_some()),
                ("retries", limits.retries > 0),
                ("retry_delay", limits.retry_delay_s > 0.0),
                ("on_timeout", limits.on_timeout != OnTimeout::Continue),
            ];
            let keys = given.iter().filter(|(_, is_given)| *is_given);
            places.extend(keys.map(|(key, _)| ["classes", &limits.class, key]));
        }
        places.extend(
            self.batches
                .iter()
                .map(|one| ["classes", &one.class, "batch"]),
        );
        places.extend(
            self.after
                .iter()
                .map(|one| ["classes", &one.class, "after"]),
        );
        places.extend(
            self.failures
                .iter()
                .map(|one| ["stations", &one.station, "up"]),
        );
        let chosen = (self.balancers.iter()).filter(|one| one.policy != Policy::Random);
        places.extend(chosen.map(|one| ["balancers", &one.name, "policy"]));
        places.extend(
            self.feedback
                .iter()
                .map(|one| ["stations", &one.station, "quantum"]),
        );
        places.extend(
            self.weights
                .iter()
                .map(|one| ["stations", &one.station, "weights"]),
        );
        places.dedup();
        let message = "must be left out for solving: only 'towtank model simulate' supports it";
        places
            .iter()
            .map(|place| Fault::new(place, message))
            .collect()
    }
}

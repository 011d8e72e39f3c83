//! Behaviour beyond queueing: time-outs, failures, balancing, caches, feedback, weights, measured times. All but caches is
//! for simulation only.

use serde::{Deserialize, Serialize};

use super::{Discipline, Fault, Model};

/// Behaviour beyond queueing; a model that can be solved has caches and measured times at most.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviour {
    /// How long transactions of classes are waited for.
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

/// What becomes of an attempt that took too long.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// The system works on it to its end, though nobody waits for it: as most servers do.
    #[default]
    Continue,
    /// It leaves at once, and gives up what it holds.
    Cancel,
}

/// How long a class waits, and what it does then.
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
    /// What becomes of the attempt.
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
    /// Mean time down, > 0; who is there waits, and goes on where he was. [s]
    pub down_s: f64,
    /// Station that takes those who come meanwhile.
    #[serde(default)]
    pub failover: Option<String>,
}

/// How one of several stations is chosen; those that are down are left out while others are up.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Each with the same chance.
    #[default]
    Random,
    /// One after the other.
    RoundRobin,
    /// Where the fewest jobs are; the first of equals in turn.
    ShortestQueue,
    /// The shorter queue of two that are chosen at random.
    PowerOfTwo,
}

/// Stations that do the same: who is sent to one of them goes to that which the policy chooses.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Balancer {
    /// Unique among balancers.
    pub name: String,
    /// How one is chosen.
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

/// Most keys of a cache: the table of Zipf's law holds an entry for each.
const KEYS_AT_MOST: u64 = 20_000_000;
/// Most levels of feedback at a station.
const LEVELS_AT_MOST: u32 = 1_000;

impl Behaviour {
    /// The first thing that only simulation can take into account, and where it stands.
    #[must_use]
    pub fn beyond_analysis(&self) -> Option<Fault> {
        let place = (self
            .patience
            .first()
            .map(|one| vec!["classes", &one.class, "timeout"]))
        .or_else(|| {
            self.failures
                .first()
                .map(|one| vec!["stations", &one.station, "up"])
        })
        .or_else(|| {
            let chosen = self
                .balancers
                .iter()
                .find(|one| one.policy != Policy::Random);
            chosen.map(|one| vec!["balancers", &one.name, "policy"])
        })
        .or_else(|| {
            self.feedback
                .first()
                .map(|one| vec!["stations", &one.station, "quantum"])
        })
        .or_else(|| {
            self.weights
                .first()
                .map(|one| vec!["stations", &one.station, "weights"])
        })?;
        Some(Fault::new(
            &place,
            "must be left out to be solved: only 'towtank model simulate' takes it into account",
        ))
    }
}

/// Tells a fault at a place unless something holds.
type Tell<'a> = dyn FnMut(bool, &[&str], String) + 'a;

/// All faults of the behaviour of a model.
pub(super) fn check(model: &Model) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut tell = |right: bool, path: &[&str], message: String| {
        if !right {
            faults.push(Fault::new(path, message));
        }
    };
    let behaviour = &model.behaviour;
    behaviour
        .patience
        .iter()
        .for_each(|one| patience(model, one, &mut tell));
    behaviour
        .failures
        .iter()
        .for_each(|one| failure(model, one, &mut tell));
    behaviour
        .balancers
        .iter()
        .for_each(|one| balancer(model, one, &mut tell));
    behaviour
        .caches
        .iter()
        .for_each(|one| cache(model, one, &mut tell));
    behaviour
        .feedback
        .iter()
        .for_each(|one| feedback(model, one, &mut tell));
    behaviour
        .weights
        .iter()
        .for_each(|one| weight(model, one, &mut tell));
    behaviour
        .samples
        .iter()
        .for_each(|one| samples(model, one, &mut tell));
    faults
}

fn known_station(model: &Model, name: &str, path: &[&str], tell: &mut Tell) {
    let known = model.stations.iter().any(|station| station.name == name);
    tell(
        known,
        path,
        format!("must be a station of the model, got {name:?} instead"),
    );
}

fn positive(value: f64, path: &[&str], tell: &mut Tell) {
    let right = value.is_finite() && value > 0.0;
    tell(
        right,
        path,
        format!("must be a number above 0, got {value} instead"),
    );
}

fn non_negative(value: f64, path: &[&str], tell: &mut Tell) {
    let right = value.is_finite() && value >= 0.0;
    tell(
        right,
        path,
        format!("must be a number of at least 0, got {value} instead"),
    );
}

fn patience(model: &Model, one: &Patience, tell: &mut Tell) {
    let at = |key: &'static str| ["classes", one.class.as_str(), key];
    let known = model.classes.iter().any(|class| class.name == one.class);
    tell(
        known,
        &at("timeout"),
        format!(
            "must be of a class of the model, got {:?} instead",
            one.class
        ),
    );
    if let Some(timeout) = one.timeout_s {
        positive(timeout, &at("timeout"), tell);
    }
    non_negative(one.retry_delay_s, &at("retry_delay"), tell);
    tell(
        one.retries <= 1000,
        &at("retries"),
        format!("must be at most 1000, got {} instead", one.retries),
    );
    let forks = model
        .forks
        .iter()
        .any(|fork| fork.classes.is_empty() || fork.classes.contains(&one.class));
    let cancels = one.on_timeout == OnTimeout::Cancel && one.timeout_s.is_some();
    tell(
        !(forks && cancels),
        &at("on_timeout"),
        "must be 'continue' for a class that forks, got 'cancel' instead".into(),
    );
}

fn failure(model: &Model, one: &Failure, tell: &mut Tell) {
    let at = |key: &'static str| ["stations", one.station.as_str(), key];
    known_station(model, &one.station, &at("up"), tell);
    positive(one.up_s, &at("up"), tell);
    positive(one.down_s, &at("down"), tell);
    let here = model
        .stations
        .iter()
        .find(|station| station.name == one.station);
    tell(
        here.is_none_or(|station| station.discipline != Discipline::Delay),
        &at("up"),
        "must be left out at a delay: it has no servers that could fail".into(),
    );
    let Some(other) = &one.failover else { return };
    known_station(model, other, &at("failover"), tell);
    tell(
        *other != one.station,
        &at("failover"),
        "must be another station, got the station itself".into(),
    );
    let there = model.stations.iter().find(|station| station.name == *other);
    if let (Some(here), Some(there)) = (here, there) {
        for service in &here.services {
            let served = there.service(&service.class).is_some();
            let message = format!(
                "must serve class {:?} too, got {other:?} that does not",
                service.class
            );
            tell(served, &at("failover"), message);
        }
    }
}

fn balancer(model: &Model, one: &Balancer, tell: &mut Tell) {
    let at = ["balancers", one.name.as_str(), "stations"];
    tell(
        one.stations.len() >= 2,
        &at,
        format!(
            "must be two stations at least, got {} instead",
            one.stations.len()
        ),
    );
    for (index, name) in one.stations.iter().enumerate() {
        known_station(model, name, &at, tell);
        let again = one.stations[..index].contains(name)
            || model
                .behaviour
                .balancers
                .iter()
                .any(|other| other.name != one.name && other.stations.contains(name));
        tell(
            !again,
            &at,
            format!("must have each station once in all balancers, got {name:?} again"),
        );
        let forked = model
            .forks
            .iter()
            .any(|fork| fork.branches.iter().flatten().any(|other| other == name));
        tell(
            !forked,
            &at,
            format!("must be stations outside of forks, got {name:?} instead"),
        );
    }
    let group: Vec<_> = model
        .stations
        .iter()
        .filter(|station| one.stations.contains(&station.name))
        .collect();
    for class in &model.classes {
        let count = group
            .iter()
            .filter(|station| station.service(&class.name).is_some())
            .count();
        tell(
            count == 0 || count == group.len(),
            &at,
            format!(
                "must all serve class {:?} or none, got {count} of {} that do",
                class.name,
                group.len()
            ),
        );
    }
    for pool in &model.pools {
        let count = one
            .stations
            .iter()
            .filter(|name| pool.holds.contains(name))
            .count();
        tell(
            count == 0 || count == one.stations.len(),
            &at,
            format!(
                "must be held by the pool {:?} with all stations or none",
                pool.name
            ),
        );
    }
}

fn cache(model: &Model, one: &Cache, tell: &mut Tell) {
    let at = ["stations", one.station.as_str(), "cache"];
    known_station(model, &one.station, &at, tell);
    match (one.hit_ratio, one.items, one.keys) {
        (Some(ratio), None, None) => {
            tell(
                (0.0..=1.0).contains(&ratio),
                &at,
                format!("must have a 'hit_ratio' from 0 to 1, got {ratio} instead"),
            );
        }
        (None, Some(items), Some(keys)) => {
            let right = (1..=KEYS_AT_MOST).contains(&keys) && (1..=keys).contains(&items);
            let message = format!(
                "must have 1 to {KEYS_AT_MOST} 'keys' and 1 to as many 'items', got {keys} keys and {items} items instead"
            );
            tell(right, &at, message);
        }
        _ => tell(
            false,
            &at,
            "must have either 'hit_ratio', or 'items' and 'keys'".into(),
        ),
    }
    non_negative(one.skew, &at, tell);
    non_negative(one.hit_time_s, &at, tell);
}

fn feedback(model: &Model, one: &Feedback, tell: &mut Tell) {
    let at = |key: &'static str| ["stations", one.station.as_str(), key];
    known_station(model, &one.station, &at("quantum"), tell);
    positive(one.quantum_s, &at("quantum"), tell);
    let right = (1..=LEVELS_AT_MOST).contains(&one.levels);
    tell(
        right,
        &at("levels"),
        format!(
            "must be a whole number from 1 to {LEVELS_AT_MOST}, got {} instead",
            one.levels
        ),
    );
    let station = model
        .stations
        .iter()
        .find(|station| station.name == one.station);
    let fits = station.is_none_or(|station| {
        matches!(station.discipline, Discipline::Fcfs | Discipline::Priority)
            && station.rates.is_empty()
    });
    tell(
        fits,
        &at("quantum"),
        "must be at a station of discipline 'fcfs' or 'priority' without 'rates'".into(),
    );
}

fn weight(model: &Model, one: &Weight, tell: &mut Tell) {
    let at = [
        "stations",
        one.station.as_str(),
        "weights",
        one.class.as_str(),
    ];
    positive(one.weight, &at, tell);
    let station = model
        .stations
        .iter()
        .find(|station| station.name == one.station);
    let fits =
        station.is_some_and(|station| station.discipline == Discipline::Ps && station.servers == 1);
    tell(
        fits,
        &at,
        "must be at a station of discipline 'ps' with one server".into(),
    );
    let served = station.is_none_or(|station| station.service(&one.class).is_some());
    tell(
        served,
        &at,
        format!(
            "must be of a class that is served here, got {:?} instead",
            one.class
        ),
    );
}

fn samples(model: &Model, one: &Samples, tell: &mut Tell) {
    let at = [
        "stations",
        one.station.as_str(),
        "samples",
        one.class.as_str(),
    ];
    known_station(model, &one.station, &at, tell);
    for &value in &one.values_s {
        non_negative(value, &at, tell);
    }
    let some = one.values_s.iter().any(|&value| value > 0.0);
    tell(some, &at, "must have at least one time above 0".into());
    let station = model
        .stations
        .iter()
        .find(|station| station.name == one.station);
    let served = station.is_none_or(|station| station.service(&one.class).is_some());
    tell(
        served,
        &at,
        format!(
            "must be of a class that is served here, got {:?} instead",
            one.class
        ),
    );
}

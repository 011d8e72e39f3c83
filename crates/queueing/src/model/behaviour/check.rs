//! Checks the further behaviour (`behaviour`) of a model.

use super::super::{Discipline, Fault, Model, Station};
use super::after::after;
use super::{
    Balancer, Batch, BatchSizes, Cache, Failure, Feedback, OnTimeout, Patience, Samples, Weight,
};

/// Limit on the number of different keys of a cache, since the table of Zipf's law has an entry for each key. [1]
const KEYS_AT_MOST: u64 = 20_000_000;
/// Limit on the feedback levels of a station. [1]
const LEVELS_AT_MOST: u32 = 1_000;

/// Limit on the mean number of jobs in a batch. [1]
const BATCH_AT_MOST: f64 = 100_000.0;

/// Function that adds a fault at a location in the model unless a condition holds.
pub(super) type Require<'a> = dyn FnMut(bool, &[&str], String) + 'a;

/// Returns all faults of the further behaviour of a model.
pub(in crate::model) fn check(model: &Model) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut require = |right: bool, path: &[&str], message: String| {
        if !right {
            faults.push(Fault::new(path, message));
        }
    };
    let behaviour = &model.behaviour;
    behaviour
        .patience
        .iter()
        .for_each(|entry| patience(model, entry, &mut require));
    behaviour
        .failures
        .iter()
        .for_each(|entry| failure(model, entry, &mut require));
    behaviour
        .balancers
        .iter()
        .for_each(|entry| balancer(model, entry, &mut require));
    behaviour
        .caches
        .iter()
        .for_each(|entry| cache(model, entry, &mut require));
    behaviour
        .feedback
        .iter()
        .for_each(|entry| feedback(model, entry, &mut require));
    behaviour
        .weights
        .iter()
        .for_each(|entry| weight(model, entry, &mut require));
    behaviour
        .samples
        .iter()
        .for_each(|entry| samples(model, entry, &mut require));
    behaviour
        .batches
        .iter()
        .for_each(|entry| batch(model, entry, &mut require));
    behaviour
        .after
        .iter()
        .for_each(|entry| after(model, entry, &mut require));
    faults
}

fn station_of<'a>(model: &'a Model, name: &str) -> Option<&'a Station> {
    model.stations.iter().find(|station| station.name == name)
}

fn known_station(model: &Model, name: &str, path: &[&str], require: &mut Require) {
    require(
        station_of(model, name).is_some(),
        path,
        format!("must be a station of the model, got {name:?} instead"),
    );
}

/// Adds a fault unless the class is served at the station. A missing station is reported separately.
fn served_here(station: Option<&Station>, class: &str, path: &[&str], require: &mut Require) {
    let served = station.is_none_or(|station| station.service(class).is_some());
    require(
        served,
        path,
        format!("must be of a class that is served here, got {class:?} instead"),
    );
}

fn positive(value: f64, path: &[&str], require: &mut Require) {
    let right = value.is_finite() && value > 0.0;
    require(
        right,
        path,
        format!("must be a number above 0, got {value} instead"),
    );
}

fn non_negative(value: f64, path: &[&str], require: &mut Require) {
    let right = value.is_finite() && value >= 0.0;
    require(
        right,
        path,
        format!("must be a number of at least 0, got {value} instead"),
    );
}

fn patience(model: &Model, entry: &Patience, require: &mut Require) {
    let at = |key: &'static str| ["classes", entry.class.as_str(), key];
    let known = model.classes.iter().any(|class| class.name == entry.class);
    require(
        known,
        &at("timeout"),
        format!(
            "must be of a class of the model, got {:?} instead",
            entry.class
        ),
    );
    if let Some(timeout) = entry.timeout_s {
        positive(timeout, &at("timeout"), require);
    }
    if let Some(mean) = entry.patience_s {
        positive(mean, &at("patience"), require);
        require(
            entry.timeout_s.is_none(),
            &at("patience"),
            "must not be given together with 'timeout'".to_owned(),
        );
    }
    if entry.patience_s.is_some() {
        for station in (model.stations.iter())
            .filter(|station| station.service(&entry.class).is_some())
            .filter(|station| station.discipline == Discipline::LcfsPr || !station.rates.is_empty())
        {
            require(
                false,
                &["stations", station.name.as_str(), "discipline"],
                format!(
                    "must have 'servers' and a queue, or no queue, as {:?} gives up while it waits",
                    entry.class
                ),
            );
        }
    }
    non_negative(entry.retry_delay_s, &at("retry_delay"), require);
    require(
        entry.retries <= 1000,
        &at("retries"),
        format!("must be at most 1000, got {} instead", entry.retries),
    );
    let forks = model
        .forks
        .iter()
        .any(|fork| fork.classes.is_empty() || fork.classes.contains(&entry.class));
    let cancels = entry.patience_s.is_some()
        || entry.on_timeout == OnTimeout::Cancel && entry.timeout_s.is_some();
    require(
        !(forks && cancels),
        &at("on_timeout"),
        "must be 'continue' for a class that forks, got 'cancel' instead".into(),
    );
}

fn batch(model: &Model, entry: &Batch, require: &mut Require) {
    let at = ["classes", entry.class.as_str(), "batch"];
    let opened = model
        .classes
        .iter()
        .any(|class| class.name == entry.class && class.arrival_rate_per_s.is_some());
    require(
        opened,
        &at,
        format!("must be of an open class, got {:?} instead", entry.class),
    );
    let whole = entry.sizes == BatchSizes::Geometric || entry.size.fract() == 0.0;
    require(
        whole && (1.0..=BATCH_AT_MOST).contains(&entry.size),
        &at,
        format!(
            "must be a mean size from 1 to {BATCH_AT_MOST}, and a whole number if all batches are alike, got {} instead",
            entry.size
        ),
    );
}

fn failure(model: &Model, entry: &Failure, require: &mut Require) {
    let at = |key: &'static str| ["stations", entry.station.as_str(), key];
    known_station(model, &entry.station, &at("up"), require);
    positive(entry.up_s, &at("up"), require);
    positive(entry.down_s, &at("down"), require);
    let here = station_of(model, &entry.station);
    require(
        here.is_none_or(|station| station.discipline != Discipline::Delay),
        &at("up"),
        "must be left out at a delay: it has no servers that could fail".into(),
    );
    let Some(other) = &entry.failover else { return };
    known_station(model, other, &at("failover"), require);
    require(
        *other != entry.station,
        &at("failover"),
        "must be another station, got the station itself".into(),
    );
    let there = station_of(model, other);
    if let (Some(here), Some(there)) = (here, there) {
        for service in &here.services {
            let served = there.service(&service.class).is_some();
            let message = format!(
                "must serve class {:?} too, got {other:?} that does not",
                service.class
            );
            require(served, &at("failover"), message);
        }
    }
}

fn balancer(model: &Model, entry: &Balancer, require: &mut Require) {
    let at = ["balancers", entry.name.as_str(), "stations"];
    require(
        entry.stations.len() >= 2,
        &at,
        format!(
            "must be two stations at least, got {} instead",
            entry.stations.len()
        ),
    );
    for (index, name) in entry.stations.iter().enumerate() {
        known_station(model, name, &at, require);
        let again = entry.stations[..index].contains(name)
            || model
                .behaviour
                .balancers
                .iter()
                .any(|other| other.name != entry.name && other.stations.contains(name));
        require(
            !again,
            &at,
            format!("must have stations that no balancer has already, got {name:?} again"),
        );
        let forked = model
            .forks
            .iter()
            .any(|fork| fork.branches.iter().flatten().any(|other| other == name));
        require(
            !forked,
            &at,
            format!("must be stations outside of forks, got {name:?} instead"),
        );
    }
    let group: Vec<_> = model
        .stations
        .iter()
        .filter(|station| entry.stations.contains(&station.name))
        .collect();
    for class in &model.classes {
        let count = group
            .iter()
            .filter(|station| station.service(&class.name).is_some())
            .count();
        require(
            count == 0 || count == group.len(),
            &at,
            format!(
                "must all serve class {:?}, or none of them, got {count} of {} that do",
                class.name,
                group.len()
            ),
        );
    }
    for pool in &model.pools {
        let count = entry
            .stations
            .iter()
            .filter(|name| pool.holds.contains(name))
            .count();
        require(
            count == 0 || count == entry.stations.len(),
            &at,
            format!(
                "must all be held by the pool {:?}, or none of them",
                pool.name
            ),
        );
    }
}

fn cache(model: &Model, entry: &Cache, require: &mut Require) {
    let at = ["stations", entry.station.as_str(), "cache"];
    known_station(model, &entry.station, &at, require);
    match (entry.hit_ratio, entry.items, entry.keys) {
        (Some(ratio), None, None) => {
            require(
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
            require(right, &at, message);
        }
        _ => require(
            false,
            &at,
            "must have either 'hit_ratio', or 'items' and 'keys'".into(),
        ),
    }
    non_negative(entry.skew, &at, require);
    non_negative(entry.hit_time_s, &at, require);
}

fn feedback(model: &Model, entry: &Feedback, require: &mut Require) {
    let at = |key: &'static str| ["stations", entry.station.as_str(), key];
    known_station(model, &entry.station, &at("quantum"), require);
    positive(entry.quantum_s, &at("quantum"), require);
    let right = (1..=LEVELS_AT_MOST).contains(&entry.levels);
    require(
        right,
        &at("levels"),
        format!(
            "must be a whole number from 1 to {LEVELS_AT_MOST}, got {} instead",
            entry.levels
        ),
    );
    let station = station_of(model, &entry.station);
    let fits = station.is_none_or(|station| {
        matches!(station.discipline, Discipline::Fcfs | Discipline::Priority)
            && station.rates.is_empty()
    });
    require(
        fits,
        &at("quantum"),
        "must be at a station of discipline 'fcfs' or 'priority' without 'rates'".into(),
    );
}

fn weight(model: &Model, entry: &Weight, require: &mut Require) {
    let at = [
        "stations",
        entry.station.as_str(),
        "weights",
        entry.class.as_str(),
    ];
    positive(entry.weight, &at, require);
    let station = station_of(model, &entry.station);
    let fits =
        station.is_some_and(|station| station.discipline == Discipline::Ps && station.servers == 1);
    require(
        fits,
        &at,
        "must be at a station of discipline 'ps' with one server".into(),
    );
    served_here(station, &entry.class, &at, require);
}

fn samples(model: &Model, entry: &Samples, require: &mut Require) {
    let at = [
        "stations",
        entry.station.as_str(),
        "samples",
        entry.class.as_str(),
    ];
    known_station(model, &entry.station, &at, require);
    for &value in &entry.values_s {
        non_negative(value, &at, require);
    }
    let some = entry.values_s.iter().any(|&value| value > 0.0);
    require(some, &at, "must have at least one time above 0".into());
    let station = station_of(model, &entry.station);
    served_here(station, &entry.class, &at, require);
}

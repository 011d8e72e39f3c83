//! What must hold of the behaviour of a model.

use super::super::{Discipline, Fault, Model, Station};
use super::{Balancer, Cache, Failure, Feedback, OnTimeout, Patience, Samples, Weight};

/// Most keys of a cache: the table of Zipf's law holds an entry for each.
const KEYS_AT_MOST: u64 = 20_000_000;
/// Most levels of feedback at a station.
const LEVELS_AT_MOST: u32 = 1_000;

/// Tells a fault at a place unless something holds.
type Tell<'a> = dyn FnMut(bool, &[&str], String) + 'a;

/// All faults of the behaviour of a model.
pub(in crate::model) fn check(model: &Model) -> Vec<Fault> {
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

fn station_of<'a>(model: &'a Model, name: &str) -> Option<&'a Station> {
    model.stations.iter().find(|station| station.name == name)
}

fn known_station(model: &Model, name: &str, path: &[&str], tell: &mut Tell) {
    tell(
        station_of(model, name).is_some(),
        path,
        format!("must be a station of the model, got {name:?} instead"),
    );
}

/// A class must be served at a station; one that is not there has been told.
fn served_here(station: Option<&Station>, class: &str, path: &[&str], tell: &mut Tell) {
    let served = station.is_none_or(|station| station.service(class).is_some());
    tell(
        served,
        path,
        format!("must be of a class that is served here, got {class:?} instead"),
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
    let here = station_of(model, &one.station);
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
    let there = station_of(model, other);
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
    let station = station_of(model, &one.station);
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
    let station = station_of(model, &one.station);
    let fits =
        station.is_some_and(|station| station.discipline == Discipline::Ps && station.servers == 1);
    tell(
        fits,
        &at,
        "must be at a station of discipline 'ps' with one server".into(),
    );
    served_here(station, &one.class, &at, tell);
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
    let station = station_of(model, &one.station);
    served_here(station, &one.class, &at, tell);
}

//! Checks the work after the response (`after`) of a class.

use super::super::Model;
use super::After;
use super::check::Require;

/// Adds a fault for each rule that the work after the response breaks.
pub(super) fn after(model: &Model, entry: &After, require: &mut Require) {
    let at = ["classes", entry.class.as_str(), "after"];
    let known = model.classes.iter().any(|class| class.name == entry.class);
    require(
        known,
        &at,
        format!(
            "must be of a class of the model, got {:?} instead",
            entry.class
        ),
    );
    let same = |other: &&After| other.class == entry.class;
    require(
        model.behaviour.after.iter().filter(same).count() == 1,
        &at,
        "must be given once for a class".into(),
    );
    let routed = (model.routing.iter()).any(|route| route.class == entry.class);
    require(
        !routed,
        &at,
        "must be left out for a class with routing: its last station is not known in advance"
            .into(),
    );
    require(
        !entry.stations.is_empty(),
        &at,
        "must have at least one station, got none".into(),
    );
    let mut all_right = known && !routed && !entry.stations.is_empty();
    for index in 0..entry.stations.len() {
        let fault = not_after(model, entry, index);
        all_right &= fault.is_none();
        if let Some(message) = fault {
            require(false, &at, message);
        }
    }
    let before: f64 = (model.stations.iter())
        .filter(|station| !entry.stations.contains(&station.name))
        .filter_map(|station| station.service(&entry.class))
        .map(|service| service.visits.unwrap_or(1.0) * service.service_time_s)
        .sum();
    require(
        !all_right || before > 0.0,
        &at,
        "must leave a station with service time before the response, got none".into(),
    );
}

/// Returns the rule that a station of the work after the response breaks, if any.
fn not_after(model: &Model, entry: &After, index: usize) -> Option<String> {
    let name = &entry.stations[index];
    if entry.stations[..index].contains(name) {
        return Some(format!("must have each station once, got {name:?} twice"));
    }
    let visited: Vec<&str> = (model.stations.iter())
        .filter(|station| {
            let service = station.service(&entry.class);
            service.is_some_and(|service| service.visits != Some(0.0))
        })
        .map(|station| station.name.as_str())
        .collect();
    if !visited.contains(&name.as_str()) {
        return Some(format!(
            "must be stations that the class visits ({}), got {name:?} instead",
            visited.join(", ")
        ));
    }
    let is_name = |other: &String| other == name;
    if (model.forks.iter()).any(|fork| fork.branches.iter().flatten().any(is_name)) {
        return Some(format!(
            "must be stations outside of forks, got {name:?} instead"
        ));
    }
    let balancers = &model.behaviour.balancers;
    (balancers.iter().any(|group| group.stations.contains(name)))
        .then(|| format!("must be stations that no balancer has, got {name:?} instead"))
}

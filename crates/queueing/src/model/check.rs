//! Checks all conditions that a model must satisfy to be solved or simulated.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    Branching, Class, Discipline, Distribution, END, Fault, Model, Pool, Route, Service, Station,
    Variation,
};

/// Limit on users, servers and units. Integers up to this limit are exact as floating-point numbers, and the product of
/// two of them fits into 64 bits.
const COUNT_AT_MOST: u64 = 1_000_000_000;
/// Limit on the number of servers and on the entries of `rates`, since solvers keep tables of this length.
const SERVERS_AT_MOST: usize = 1_000_000;
/// Allowed deviation of a sum of probabilities from 1.
const SHARE_TOLERANCE: f64 = 1e-9;
/// Limit on the offered load of an open class, beyond which products overflow. [erlang]
const LOAD_AT_MOST: f64 = 1e100;

/// Collects faults.
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn unless(&mut self, right: bool, path: &[&str], message: impl FnOnce() -> String) {
        if !right {
            self.0.push(Fault::new(path, message()));
        }
    }

    fn non_negative(&mut self, value: f64, path: &[&str]) {
        self.unless(value.is_finite() && value >= 0.0, path, || {
            format!("must be a number of at least 0, got {value} instead")
        });
    }

    fn positive(&mut self, value: f64, path: &[&str]) {
        self.unless(value.is_finite() && value > 0.0, path, || {
            format!("must be a number above 0, got {value} instead")
        });
    }

    fn count(&mut self, value: u64, path: &[&str]) {
        self.unless((1..=COUNT_AT_MOST).contains(&value), path, || {
            format!("must be a whole number from 1 to {COUNT_AT_MOST}, got {value} instead")
        });
    }

    fn unique<'a>(
        &mut self,
        names: impl Iterator<Item = &'a String>,
        section: &str,
        seen: &mut HashSet<&'a String>,
    ) {
        for name in names {
            self.unless(!name.is_empty(), &[section], || {
                "must have names that are not empty".into()
            });
            let new = seen.insert(name);
            self.unless(new, &[section, name], || {
                "must have a unique name, got one that is already used".into()
            });
        }
    }
}

/// Returns all faults of a model, sorted by location.
pub(super) fn check(model: &Model) -> Vec<Fault> {
    let mut faults = Faults(Vec::new());
    names(model, &mut faults);
    for declared in &model.classes {
        class(model, declared, &mut faults);
    }
    for declared in &model.stations {
        station(model, declared, &mut faults);
    }
    for declared in &model.pools {
        pool(model, declared, &mut faults);
    }
    pool_nesting(model, &mut faults);
    for declared in &model.forks {
        super::forks::check(model, declared, &mut faults);
    }
    for declared in &model.routing {
        route(model, declared, &mut faults);
    }
    faults.0.extend(super::behaviour::check(model));
    if faults.0.is_empty() {
        demands(model, &mut faults);
    }
    faults.0.sort();
    faults.0.dedup();
    faults.0
}

fn names(model: &Model, faults: &mut Faults) {
    faults.unless(!model.classes.is_empty(), &["classes"], || {
        "must have at least one class, got none".into()
    });
    faults.unless(!model.stations.is_empty(), &["stations"], || {
        "must have at least one station, got none".into()
    });
    faults.unique(
        model.classes.iter().map(|class| &class.name),
        "classes",
        &mut HashSet::new(),
    );
    let mut places = HashSet::new();
    faults.unique(
        model.stations.iter().map(|station| &station.name),
        "stations",
        &mut places,
    );
    faults.unique(
        model.pools.iter().map(|pool| &pool.name),
        "pools",
        &mut places,
    );
    faults.unique(
        model.forks.iter().map(|fork| &fork.name),
        "forks",
        &mut HashSet::new(),
    );
    faults.unless(
        !places.iter().any(|name| *name == END),
        &["stations"],
        || format!("must have no station or pool with the name {END:?}, which stands for leaving the network"),
    );
}

fn class(model: &Model, class: &Class, faults: &mut Faults) {
    let at = |key: &'static str| ["classes", class.name.as_str(), key];
    match (class.users, class.arrival_rate_per_s) {
        (Some(users), None) => {
            faults.count(users, &at("users"));
            faults.non_negative(class.think_time_s, &at("think"));
        }
        (None, Some(rate)) => {
            faults.positive(rate, &at("rate"));
            faults.unless(class.think_time_s == 0.0, &at("think"), || {
                "must be left out: arrivals of an open class do not wait for answers".into()
            });
        }
        _ => faults.unless(false, &["classes", &class.name], || {
            "must have either 'users' (closed) or 'rate' (open), got both or none".into()
        }),
    }
    variation(class.think, &at("think"), faults);
    variation(class.arrivals, &at("arrivals"), faults);
    let comes = model
        .stations
        .iter()
        .any(|station| station.service(&class.name).is_some());
    faults.unless(comes, &["classes", &class.name], || {
        "must be served at one station at least, got none".into()
    });
}

fn variation(variation: Variation, path: &[&str], faults: &mut Faults) {
    if let Some(scv) = variation.scv {
        faults.non_negative(scv, path);
    }
    let scv = variation.squared_coefficient();
    let near = |value: f64| (scv - value).abs() < 1e-9;
    let (fits, needs) = match variation.distribution {
        None => (true, ""),
        Some(Distribution::Exponential) => (near(1.0), "1"),
        Some(Distribution::Deterministic) => (near(0.0), "0"),
        Some(Distribution::Uniform) => {
            (scv > 0.0 && scv < 1.0 / 3.0 + 1e-9, "above 0, at most 1/3")
        }
        Some(Distribution::Erlang) => (
            scv > 0.0 && near(1.0 / (1.0 / scv).round()),
            "1/k for k phases, such as 0.5 or 0.25",
        ),
        Some(Distribution::Hyperexponential | Distribution::Pareto) => (scv > 1.0, "above 1"),
        Some(Distribution::Gamma | Distribution::Lognormal) => (scv > 0.0, "above 0"),
    };
    faults.unless(fits, path, || {
        format!("must have an scv that fits its distribution ({needs}), got {scv} instead")
    });
}

fn station(model: &Model, station: &Station, faults: &mut Faults) {
    let at = |key: &'static str| ["stations", station.name.as_str(), key];
    let delay = station.discipline == Discipline::Delay;
    faults.unless(
        (1..=SERVERS_AT_MOST).contains(&(station.servers as usize)),
        &at("servers"),
        || {
            format!(
                "must be a whole number from 1 to {SERVERS_AT_MOST}, got {} instead",
                station.servers
            )
        },
    );
    if !station.rates.is_empty() {
        for &rate in &station.rates {
            faults.positive(rate, &at("rates"));
        }
        faults.unless(station.rates.len() <= SERVERS_AT_MOST, &at("rates"), || {
            format!(
                "must have at most {SERVERS_AT_MOST} entries, got {} instead",
                station.rates.len()
            )
        });
        faults.unless(station.servers == 1, &at("rates"), || {
            "must not be given together with 'servers'".into()
        });
        faults.unless(
            !delay && station.discipline != Discipline::Priority,
            &at("rates"),
            || "must be left out for the disciplines 'delay' and 'priority'".into(),
        );
    }
    if let Some(capacity) = station.capacity {
        faults.count(capacity, &at("capacity"));
        faults.unless(
            capacity >= u64::from(station.servers) || delay,
            &at("capacity"),
            || {
                format!(
                    "must be at least the {} servers, got {capacity} instead",
                    station.servers
                )
            },
        );
        faults.unless(!delay, &at("capacity"), || {
            "must be left out at a delay, where no job waits".into()
        });
        let closed = model
            .classes
            .iter()
            .find(|class| class.is_closed() && station.service(&class.name).is_some());
        faults.unless(closed.is_none(), &at("capacity"), || {
            format!(
                "must be left out: jobs of the closed class {:?} visit this station and cannot be dropped",
                closed.map_or("", |class| &class.name)
            )
        });
    }
    faults.unless(
        !station.preemptive || station.discipline == Discipline::Priority,
        &at("preemptive"),
        || "must be left out: the discipline is not priority".into(),
    );
    let mut seen = BTreeSet::new();
    for entry in &station.services {
        let new = seen.insert(&entry.class);
        faults.unless(new, &at("services"), || {
            format!("must list class {:?} only once", entry.class)
        });
        service(model, station, entry, faults);
    }
}

fn service(model: &Model, station: &Station, service: &Service, faults: &mut Faults) {
    let at = |key: &'static str| {
        [
            "stations",
            station.name.as_str(),
            key,
            service.class.as_str(),
        ]
    };
    faults.non_negative(service.service_time_s, &at("service_time"));
    if let Some(visits) = service.visits {
        faults.non_negative(visits, &at("visits"));
        let routed = model
            .routing
            .iter()
            .any(|route| route.class == service.class);
        faults.unless(!routed, &at("visits"), || {
            "must be left out: the routing of the class determines its visits".into()
        });
    }
    variation(service.variation, &at("scv"), faults);
    let known = model
        .classes
        .iter()
        .any(|class| class.name == service.class);
    faults.unless(known, &at("service_time"), || {
        format!(
            "must be of a class of the model, got {:?} instead",
            service.class
        )
    });
}

/// Returns `true` if a list of classes includes the class; an empty list includes all.
pub(super) fn concerns(classes: &[String], class: &str) -> bool {
    classes.is_empty() || classes.iter().any(|name| name == class)
}

pub(super) fn known_classes(model: &Model, classes: &[String], path: &[&str], faults: &mut Faults) {
    for name in classes {
        let known = model.classes.iter().any(|class| class.name == *name);
        faults.unless(known, path, || {
            format!("must be classes of the model, got {name:?} instead")
        });
    }
}

fn pool(model: &Model, pool: &Pool, faults: &mut Faults) {
    let at = |key: &'static str| ["pools", pool.name.as_str(), key];
    faults.count(pool.size, &at("size"));
    faults.unless(!pool.holds.is_empty(), &at("holds"), || {
        "must have at least one station or pool, got none".into()
    });
    known_classes(model, &pool.classes, &at("classes"), faults);
    for held in &pool.holds {
        let known = model.stations.iter().any(|station| station.name == *held)
            || model.pools.iter().any(|pool| pool.name == *held);
        faults.unless(known, &at("holds"), || {
            format!("must be stations or pools of the model, got {held:?} instead")
        });
        for class in model
            .classes
            .iter()
            .filter(|class| concerns(&pool.classes, &class.name))
        {
            let other = model.pools.iter().find(|other| {
                other.name != pool.name
                    && other.holds.contains(held)
                    && concerns(&other.classes, &class.name)
            });
            faults.unless(other.is_none(), &at("holds"), || {
                format!(
                    "must be the only pool that holds {held:?} for class {:?}, got the pool {:?} as well",
                    class.name,
                    other.map_or("", |other| &other.name)
                )
            });
        }
    }
}

/// Checks that no pool contains itself, directly or through other pools.
fn pool_nesting(model: &Model, faults: &mut Faults) {
    let pools: HashMap<&String, &Pool> =
        model.pools.iter().map(|pool| (&pool.name, pool)).collect();
    for start in &model.pools {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(pool) = open.pop() {
            for inner in pool.holds.iter().filter_map(|name| pools.get(name)) {
                if reached.insert(&inner.name) {
                    open.push(inner);
                }
            }
        }
        faults.unless(
            !reached.contains(&start.name),
            &["pools", &start.name, "holds"],
            || "must not lead back to the pool itself, got a cycle".into(),
        );
    }
}

fn route(model: &Model, route: &Route, faults: &mut Faults) {
    let path = ["routing", route.class.as_str()];
    let known = model.classes.iter().any(|class| class.name == route.class);
    faults.unless(known, &path, || {
        format!(
            "must be of a class of the model, got {:?} instead",
            route.class
        )
    });
    let twice = model
        .routing
        .iter()
        .filter(|other| other.class == route.class)
        .count()
        > 1;
    faults.unless(!twice, &path, || "must be given once for a class".into());
    let total = branching(
        model,
        &route.class,
        &route.start,
        &["routing", &route.class, "start"],
        faults,
    );
    faults.unless(
        (total - 1.0).abs() < SHARE_TOLERANCE,
        &["routing", &route.class, "start"],
        || format!("must have probabilities that add up to 1, got {total} instead"),
    );
    for (from, next) in &route.next {
        let path = ["routing", route.class.as_str(), from.as_str()];
        let station = model
            .stations
            .iter()
            .find(|candidate| candidate.name == *from);
        faults.unless(station.is_some(), &path, || {
            format!("must be a station of the model, got {from:?} instead")
        });
        let total = branching(model, &route.class, next, &path, faults);
        faults.unless(total <= 1.0 + SHARE_TOLERANCE, &path, || {
            format!("must have probabilities that add up to at most 1, got {total} instead")
        });
    }
}

/// Checks the transitions from one station and returns the sum of their probabilities.
fn branching(
    model: &Model,
    class: &str,
    next: &Branching,
    path: &[&str],
    faults: &mut Faults,
) -> f64 {
    for (name, &share) in next {
        faults.unless((0.0..=1.0).contains(&share), path, || {
            format!("must be probabilities from 0 to 1, got {share} for {name:?} instead")
        });
        let station = model
            .stations
            .iter()
            .find(|candidate| candidate.name == *name);
        let served = station.is_some_and(|station| station.service(class).is_some());
        faults.unless(name == END || served, path, || {
            format!(
                "must lead to stations that serve the class, or to {END:?}, got {name:?} instead"
            )
        });
    }
    next.values().sum()
}

/// Checks values that can only be computed if a model has no other faults, such as the load.
fn demands(model: &Model, faults: &mut Faults) {
    for class in &model.classes {
        match model.visits(class) {
            Err(fault) => faults.0.push(fault),
            Ok(visits) => {
                let demand: f64 = (model.stations.iter().zip(&visits))
                    .filter_map(|(station, count)| {
                        station
                            .service(&class.name)
                            .map(|service| service.service_time_s * count)
                    })
                    .sum();
                faults.positive_demand(demand, &class.name);
                faults.load(
                    class.arrival_rate_per_s.unwrap_or(0.0) * demand,
                    &class.name,
                );
            }
        }
    }
}

impl Faults {
    fn load(&mut self, load: f64, class: &str) {
        self.unless(load <= LOAD_AT_MOST, &["classes", class], || {
            format!("must offer work for at most {LOAD_AT_MOST:e} servers, got {load:e} instead")
        });
    }

    fn positive_demand(&mut self, demand: f64, class: &str) {
        self.unless(
            demand.is_finite() && demand > 0.0,
            &["classes", class],
            || "must need service time at one station at least, got a demand of 0".into(),
        );
    }
}

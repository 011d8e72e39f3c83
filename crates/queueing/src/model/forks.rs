//! Forks and the forks inside of their branches.

use std::collections::BTreeSet;

use super::check::{Faults, concerns, known_classes};
use super::{Fork, Model};

/// Limit on the number of forks inside of each other.
const DEPTH_AT_MOST: usize = 16;

/// Returns the index of the fork that a name in a branch stands for; `None` for a station.
pub fn inner(model: &Model, name: &str) -> Option<usize> {
    if model.stations.iter().any(|station| station.name == name) {
        return None;
    }
    model.forks.iter().position(|fork| fork.name == name)
}

/// Returns the index of the fork that has another fork in a branch, if any.
pub fn outer(model: &Model, fork: usize) -> Option<usize> {
    let has = |candidate: &Fork| {
        let mut names = candidate.branches.iter().flatten();
        names.any(|name| inner(model, name) == Some(fork))
    };
    model.forks.iter().position(has)
}

/// Returns the names of all stations of a fork, with those of the forks inside of it.
pub fn stations<'a>(model: &'a Model, fork: &'a Fork) -> Vec<&'a String> {
    let (mut found, mut open, mut reached) = (Vec::new(), vec![fork], BTreeSet::new());
    while let Some(fork) = open.pop() {
        for name in fork.branches.iter().flatten() {
            match inner(model, name) {
                None => found.push(name),
                Some(index) if reached.insert(index) => open.push(&model.forks[index]),
                Some(_) => {}
            }
        }
    }
    found
}

/// Adds a fault for each rule that a fork breaks.
pub(super) fn check(model: &Model, fork: &Fork, faults: &mut Faults) {
    let path = ["forks", fork.name.as_str(), "branches"];
    known_classes(
        model,
        &fork.classes,
        &["forks", &fork.name, "classes"],
        faults,
    );
    faults.unless((2..=16).contains(&fork.branches.len()), &path, || {
        format!(
            "must have 2 to 16 branches, got {} instead",
            fork.branches.len()
        )
    });
    let mut seen = BTreeSet::new();
    for branch in &fork.branches {
        faults.unless(!branch.is_empty(), &path, || {
            "must have at least one station in each branch".into()
        });
        for name in branch {
            let known = model.stations.iter().any(|station| station.name == *name);
            faults.unless(known || inner(model, name).is_some(), &path, || {
                format!("must be stations or forks of the model, got {name:?} instead")
            });
            faults.unless(seen.insert(name), &path, || {
                format!("must have each station once, got {name:?} twice")
            });
            let elsewhere = model.forks.iter().any(|other| {
                other.name != fork.name && other.branches.iter().any(|branch| branch.contains(name))
            });
            faults.unless(!elsewhere, &path, || {
                format!("must have stations of no other fork, got {name:?} instead")
            });
        }
    }
    nesting(model, fork, faults);
    let stations = stations(model, fork);
    for pool in &model.pools {
        let held = (stations.iter())
            .filter(|name| pool.holds.contains(**name))
            .count();
        faults.unless(held == 0 || held == stations.len(), &path, || {
            format!(
                "must have all of its stations in the pool {:?}, or none of them",
                pool.name
            )
        });
    }
}

/// Checks the forks around and inside of a fork.
fn nesting(model: &Model, fork: &Fork, faults: &mut Faults) {
    let path = ["forks", fork.name.as_str(), "branches"];
    let own = (model.forks.iter()).position(|other| other.name == fork.name);
    let mut around = std::iter::successors(own, |&index| outer(model, index)).skip(1);
    let mut depth = 1;
    let cycle = around.by_ref().take(model.forks.len()).any(|index| {
        depth += 1;
        Some(index) == own
    });
    faults.unless(!cycle, &path, || {
        "must not lead back to the fork itself, got a cycle".into()
    });
    faults.unless(cycle || depth <= DEPTH_AT_MOST, &path, || {
        format!("must be at most {DEPTH_AT_MOST} forks inside of each other, got {depth} instead")
    });
    let names = fork.branches.iter().flatten();
    for within in names.filter_map(|name| inner(model, name)) {
        let within = &model.forks[within];
        for class in model.classes.iter().map(|class| &class.name) {
            let same = !concerns(&fork.classes, class) || concerns(&within.classes, class);
            faults.unless(same, &path, || {
                format!(
                    "must have inner forks of all its classes, got {:?} without {class:?}",
                    within.name
                )
            });
        }
    }
}

//! Reasons for which a network is not solved.

use super::TABLE_AT_MOST;
use crate::model::{Discipline, Fault, Model, forks};
use crate::network::{Center, Load, Network, Speed};
use crate::row;

/// Returns faults for stations that no method of solution supports.
pub(super) fn beyond_methods(network: &Network) -> Vec<Fault> {
    let mut faults = regular(network);
    faults.extend(interrupted_stacks(network));
    faults.extend(endless_stacks(network));
    faults
}

/// Returns a fault for each fork inside of another fork.
pub(super) fn nested_forks(model: &Model) -> Vec<Fault> {
    let within = |name: &&String| forks::inner(model, name).is_some();
    (model.forks.iter())
        .filter_map(|fork| Some((fork, fork.branches.iter().flatten().find(within)?)))
        .map(|(fork, name)| {
            let message = format!(
                "must have stations only for solving, got the fork {name:?}: only 'towtank model simulate' supports \
                 forks inside of forks"
            );
            Fault::new(&["forks", &fork.name, "branches"], message)
        })
        .collect()
}

/// Returns faults for full stations where several classes arrive at equal intervals and have constant service times,
/// since it then depends on the first arrivals of the classes how many jobs are dropped.
fn regular(network: &Network) -> Vec<Fault> {
    let even = |class: usize| matches!(network.loads[class], Load::Open { poisson: false, scv, .. } if scv == 0.0);
    (network.centers.iter())
        .filter(|center| center.capacity.is_some() && center.visitors().count() > 1)
        .filter(|center| (center.visitors()).all(|class| even(class) && center.is_constant(class)))
        .map(|center| {
            let message = "must be left out for solving, since several classes arrive at equal intervals and have constant service times: simulate";
            Fault::new(&["stations", &center.name, "capacity"], message)
        })
        .collect()
}

fn interrupted_stacks(network: &Network) -> Vec<Fault> {
    (network.centers.iter())
        .filter(|center| center.discipline == Discipline::LcfsPr && !center.is_product_form())
        .map(|center| {
            let message = "must not be 'lcfs-pr' for solving if there are several servers, unless all classes have the \
                           same exponential service time: simulate";
            Fault::new(&["stations", &center.name, "discipline"], message)
        })
        .collect()
}

/// Returns faults for stations that serve the last job first, where some jobs may never be served: a user who comes back
/// at once never leaves, and constant times may let the same users be last for ever.
fn endless_stacks(network: &Network) -> Vec<Fault> {
    let stays = |center: &Center, class: usize| {
        matches!(
            network.loads[class],
            Load::Closed {
                think_time: 0.0,
                ..
            }
        ) && network
            .centers
            .iter()
            .filter(|other| other.demand[class] > 0.0)
            .count()
            == 1
            && center.demand[class] > 0.0
            && !network.holds.iter().any(|hold| hold.concerns[class])
    };
    let jobs = |class: usize| match network.loads[class] {
        Load::Closed { users, .. } => users,
        Load::Open { .. } => u64::MAX,
    };
    let why = |center: &Center| match center.visitors().find(|&class| stays(center, class)) {
        Some(class) => Some(format!(
            "users of class {:?} neither think nor visit other stations: such a user is always there, and jobs that it \
             interrupts are never served",
            network.names[class]
        )),
        None => (center.visitors())
            .find(|&class| network.keeps_distances[class] && network.users(class) > 0)
            .map(|class| {
                format!(
                    "no time is random for users of class {:?}, some of whom may never be served",
                    network.names[class]
                )
            }),
    };
    (network.centers.iter())
        .filter(|center| center.discipline == Discipline::LcfsPr)
        .filter(|center| !matches!(center.speed, Speed::Servers(servers) if servers > 1))
        .filter(|center| center.visitors().map(jobs).fold(0, u64::saturating_add) > 1)
        .filter_map(|center| Some((center, why(center)?)))
        .map(|(center, why)| {
            let message = format!("must not be 'lcfs-pr' for solving, since {why}; simulate");
            Fault::new(&["stations", &center.name, "discipline"], message)
        })
        .collect()
}

/// Returns faults for stations that open classes overload, and for stations whose tables would be too long.
pub(super) fn unsteady(network: &Network) -> Vec<Fault> {
    let stops = row::stops(network);
    let mut faults = Vec::new();
    for (index, center) in network.centers.iter().enumerate() {
        let rates = &stops[index].rates;
        let load: f64 = (rates.iter().zip(&center.demand))
            .map(|(rate, need)| rate * need)
            .sum();
        let utilization = load / center.speed.limit();
        if center
            .capacity
            .is_some_and(|capacity| capacity > TABLE_AT_MOST)
        {
            let message = format!(
                "must be at most {TABLE_AT_MOST} for solving, got {} instead",
                center.capacity.unwrap_or(0)
            );
            faults.push(Fault::new(&["stations", &center.name, "capacity"], message));
        } else if center.discipline == Discipline::Priority && stops[index].is_merged() {
            let message = "must be smaller for solving, since ranks differ and the Markov chain of this station is too large: simulate";
            faults.push(Fault::new(&["stations", &center.name, "capacity"], message));
        } else if center.capacity.is_none() && utilization >= 1.0 {
            faults.push(Fault::new(
                &["stations", &center.name],
                overloaded(utilization),
            ));
        }
    }
    faults
}

pub(super) fn overloaded(utilization: f64) -> String {
    format!(
        "must have a utilization below 1 for a steady state, got {utilization:.4} from the arrivals of open classes"
    )
}

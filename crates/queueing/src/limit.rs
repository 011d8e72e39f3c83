//! Keeps the load of every station within its capacity by an additional wait of the closed classes.
//!
//! Approximate mean value analysis only estimates the state that an arriving job finds. In a closed network, throughput
//! times demand can therefore exceed the number of servers. All arriving jobs then wait longer, until the load equals
//! the number of servers.

use crate::model::Discipline;
use crate::network::{Center, Load, Network};

/// Number of bisections that determine the additional wait. It exceeds the number of binary digits of a floating-point
/// number.
const HALVINGS: usize = 60;

/// Closed classes and their response times in the current iteration of the solver.
pub struct Closed<'a> {
    /// Network that is being solved.
    pub network: &'a Network,
    /// Number of users of each class. [1]
    pub users: &'a [f64],
    /// Response time by class. [s]
    pub response: &'a [f64],
}

/// One class at a station: number of users, demand, cycle time without the additional wait, and increase of the cycle
/// time per unit of the additional wait.
struct Term {
    users: f64,
    demand: f64,
    cycle: f64,
    weight: f64,
}

/// Returns the residence time of a class including the additional wait of the station. With ranks, the additional wait
/// is proportional to the wait of the class; otherwise it is the same for every visit.
pub fn with_excess(center: &Center, class: usize, stay: f64, excess: f64) -> f64 {
    if center.demand[class] == 0.0 {
        return stay;
    }
    stay + excess * weight(center, class, stay)
}

fn weight(center: &Center, class: usize, stay: f64) -> f64 {
    if center.discipline == Discipline::Priority {
        (stay - center.demand[class]).max(1e-6 * center.demand[class])
    } else {
        center.visits[class]
    }
}

impl Closed<'_> {
    /// Computes for each station the additional wait that keeps the load within the capacity. Returns the largest
    /// relative change of a cycle time.
    pub fn hold_within(&self, residence: &[Vec<f64>], excess: &mut [f64]) -> f64 {
        let mut cycles: Vec<f64> = (0..self.users.len())
            .map(|class| self.response[class] + self.network.think_time(class))
            .collect();
        let mut moved = 0.0_f64;
        for (station, center) in self.network.centers.iter().enumerate() {
            if !center.is_queue() {
                continue;
            }
            let old = excess[station];
            let weights: Vec<f64> = (residence.iter().enumerate())
                .map(|(class, row)| weight_within(center, class, row[station], old))
                .collect();
            let terms: Vec<Term> = (center.visitors())
                .filter(|&class| matches!(self.network.loads[class], Load::Closed { .. }))
                .filter(|&class| self.users[class] > 0.0)
                .map(|class| Term {
                    users: self.users[class],
                    demand: center.demand[class],
                    cycle: (cycles[class] - old * weights[class]).max(center.demand[class]),
                    weight: weights[class],
                })
                .collect();
            let room = center.speed.highest() - self.network.open_load(center);
            let new = least_excess(&terms, room);
            excess[station] = new;
            for class in center.visitors() {
                let more = (new - old) * weights[class];
                cycles[class] += more;
                moved = moved.max(more.abs() / cycles[class]);
            }
        }
        moved
    }
}

/// Returns the increase of the residence time of a class per unit of the additional wait. `residence` already includes
/// the additional wait.
fn weight_within(center: &Center, class: usize, residence: f64, excess: f64) -> f64 {
    let demand = center.demand[class];
    if center.discipline == Discipline::Priority {
        ((residence - demand) / (1.0 + excess)).max(1e-6 * demand)
    } else {
        center.visits[class]
    }
}

/// Returns the smallest additional wait at which the closed classes use at most `room` servers. [s]
fn least_excess(terms: &[Term], room: f64) -> f64 {
    let load = |excess: f64| -> f64 {
        terms
            .iter()
            .map(|term| term.users * term.demand / (term.cycle + excess * term.weight))
            .sum()
    };
    if load(0.0) <= room {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1e-6);
    while load(high) > room && high < 1e300 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if load(middle) > room {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

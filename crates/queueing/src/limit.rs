//! No station exceeds its capacity: the additional wait of closed classes if a formula lets their users return too
//! fast.
//!
//! The state that a job finds on arrival is an estimate, and in a closed network nothing in the estimate keeps
//! throughput times demand below the number of servers. If it exceeds that, all arriving jobs wait longer, until it
//! does not: that is the only wait that the saturated station can have with these users.

use crate::model::Discipline;
use crate::network::{Center, Load, Network};

/// Halvings of the interval of a wait: as many as a float has digits.
const HALVINGS: usize = 60;

/// Closed classes with their response times in a round.
pub struct Closed<'a> {
    /// The network.
    pub network: &'a Network,
    /// Users by class. [1]
    pub users: &'a [f64],
    /// Response time by class. [s]
    pub response: &'a [f64],
}

/// One class at a station: users, demand, cycle without the excess, and the increase of the cycle per unit of it.
struct Term {
    users: f64,
    demand: f64,
    cycle: f64,
    weight: f64,
}

/// Residence time with the excess of its station: as long for all visits in order of arrival, in proportion to the wait
/// where ranks wait differently.
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
    /// Sets the excess of each station so that it does not exceed its capacity; returns the largest change of a cycle.
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

/// Weight of a class from a residence time that has the excess in it.
fn weight_within(center: &Center, class: usize, residence: f64, excess: f64) -> f64 {
    let demand = center.demand[class];
    if center.discipline == Discipline::Priority {
        ((residence - demand) / (1.0 + excess)).max(1e-6 * demand)
    } else {
        center.visits[class]
    }
}

/// The least excess at which classes bring no more load than there is room for.
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

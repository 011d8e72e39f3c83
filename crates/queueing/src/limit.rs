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

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, exact: f64) {
        assert!((found - exact).abs() < 1e-12, "{found} must be {exact}");
    }

    fn network(value: serde_json::Value) -> Network {
        let model = serde_json::from_value(value).expect("the model is right");
        Network::of(&model).expect("the model is right")
    }

    fn term(users: f64, demand: f64, cycle: f64, weight: f64) -> Term {
        Term {
            users,
            demand,
            cycle,
            weight,
        }
    }

    /// Ten users with a demand of 0.1 s use 1 s / (0.5 s + W) servers, where W is the additional wait.
    #[test]
    fn the_least_wait_uses_the_room_exactly() {
        near(least_excess(&[term(10.0, 0.1, 0.5, 1.0)], 1.0), 0.5);
        near(least_excess(&[term(10.0, 0.1, 0.5, 2.0)], 1.0), 0.25);
        near(least_excess(&[term(10.0, 0.1, 0.5, 1.0)], 2.0), 0.0);
        assert!(least_excess(&[term(10.0, 0.1, 0.5, 1.0)], 1.999) > 0.0);
        let two = [term(10.0, 0.1, 0.5, 1.0), term(4.0, 0.05, 0.1, 2.0)];
        near(least_excess(&two, 1.0 / 0.7 + 0.2 / 0.5), 0.2);
    }

    /// The open class uses 4/s x 0.1 s = 0.4 servers, so that 0.6 are left. Ten users with a demand of 0.03 s use them if
    /// their cycle takes 0.3 s / 0.6 = 0.5 s.
    #[test]
    fn closed_classes_get_what_open_classes_leave() {
        let network = network(serde_json::json!({
            "classes": [{"name": "closed", "users": 10, "think_time_s": 0.1},
                {"name": "open", "arrival_rate_per_s": 4.0}],
            "stations": [{"name": "s", "services": [{"class": "closed", "service_time_s": 0.03},
                {"class": "open", "service_time_s": 0.1}]}]}));
        let held = |response: f64, excess: &mut [f64]| {
            let closed = Closed {
                network: &network,
                users: &[10.0, 0.0],
                response: &[response, 0.3],
            };
            closed.hold_within(&[vec![response], vec![0.3]], excess)
        };
        let mut excess = [0.0];
        // The wait adds 0.2 s to both cycles, which become 0.5 s: 0.1 s + 0.2 s + 0.2 s for the closed class, and 0.3 s
        // + 0.2 s for the open class. The relative change is 0.2 s / 0.5 s = 0.4.
        near(held(0.2, &mut excess), 0.4);
        near(excess[0], 0.2);
        near(held(0.4, &mut excess), 0.0);
        near(excess[0], 0.2);
        // With a response of 0.5 s without the additional wait, the load is below the capacity.
        assert!(held(0.7, &mut excess) > 0.0);
        near(excess[0], 0.0);
    }

    #[test]
    fn the_wait_by_ranks_is_proportional_to_the_wait() {
        let network = network(serde_json::json!({
            "classes": [{"name": "a", "users": 5, "priority": 1}, {"name": "b", "users": 5, "priority": 2},
                {"name": "c", "users": 5, "priority": 2}],
            "stations": [
                {"name": "p", "discipline": "priority", "services": [
                    {"class": "a", "service_time_s": 0.1}, {"class": "b", "service_time_s": 0.1}]},
                {"name": "f", "services": [{"class": "a", "service_time_s": 0.2, "visits": 3.0},
                    {"class": "c", "service_time_s": 0.2}]}]}));
        let [ranks, order] = &network.centers[..] else {
            panic!("the model has two stations")
        };
        near(with_excess(ranks, 0, 0.5, 2.0), 0.5 + 2.0 * 0.4);
        near(weight_within(ranks, 0, 1.3, 2.0), 0.4);
        near(with_excess(ranks, 0, 0.1, 2.0), 0.1 + 2.0 * 1e-7);
        near(weight_within(ranks, 0, 0.1, 2.0), 1e-7);
        near(with_excess(ranks, 2, 0.0, 2.0), 0.0);
        near(with_excess(order, 0, 0.9, 0.2), 0.9 + 3.0 * 0.2);
        near(weight_within(order, 0, 1.5, 0.2), 3.0);
    }
}

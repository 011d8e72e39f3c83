//! Relaxation time of the random walk of jobs between the two busiest stations of a closed class.
//!
//! If two stations are about equally busy and seldom empty, no force restores the balance between their queues. The
//! queue lengths vary over the whole number of users and take long to settle, while throughput and response time hardly
//! change.

use super::layout::Layout;
use super::plan::{Kind, NONE, Plan};
use super::sample::utilization;
use crate::model::behaviour::Policy;

/// Values of a station for one class.
#[derive(Clone, Copy)]
struct Queue {
    utilization: f64,
    /// Number of jobs of the class that wait. [1]
    waiting: f64,
    /// Number of the group to which the station belongs: stations in a group have equal queues because of a balancer.
    group: u32,
}

/// Returns the time in which the queues of a closed class settle at its two busiest stations; 0 if it visits fewer than
/// two. [s]
///
/// `per_s` is the throughput of the class. `mean` returns the value at an index of the record: the mean of a level, or
/// the rate of a count.
pub fn relaxation_s(plan: &Plan, class: usize, per_s: f64, mean: impl Fn(usize) -> f64) -> f64 {
    let layout = Layout::of(plan);
    let queues = (0..layout.stations).filter(|&station| {
        let station_plan = &plan.stations[station];
        station_plan.kind != Kind::Delay && station_plan.services[class].is_some()
    });
    let queues = queues.map(|station| queue(plan, layout, (class, station), &mean));
    let mut queues: Vec<Queue> = queues.filter(|queue| queue.utilization > 0.0).collect();
    queues.sort_by(|a, b| b.utilization.total_cmp(&a.utilization));
    let Some((first, others)) = queues.split_first() else {
        return 0.0;
    };
    let apart = |other: &&Queue| first.group == NONE || other.group != first.group;
    let second = others.iter().find(apart);
    second.map_or(0.0, |second| of_pair(per_s, *first, *second))
}

fn queue(
    plan: &Plan,
    layout: Layout,
    (class, station): (usize, usize),
    mean: &impl Fn(usize) -> f64,
) -> Queue {
    let busy = mean(layout.busy(station));
    let stay = |class| mean(layout.levels() + layout.sojourn(station, class));
    let all: f64 = (0..layout.classes).map(stay).sum();
    let share = if all > 0.0 { stay(class) / all } else { 0.0 };
    let balancer = plan.stations[station].balancer;
    let kept_alike = balancer != NONE
        && matches!(
            plan.balancers[balancer as usize].policy,
            Policy::ShortestQueue | Policy::PowerOfTwo
        );
    Queue {
        utilization: utilization(plan, station, busy),
        waiting: share * (mean(layout.present(station)) - busy).max(0.0),
        group: if kept_alike { balancer } else { NONE },
    }
}

/// Returns the relaxation time of a random walk on 0, 1, ..., N with the rates a up and b down. [s]
///
/// Morse, Operations Research 3(3), 1955: the slowest mode of M/M/1 with capacity N decays at the rate a + b - 2 sqrt(a
/// b) cos(pi / (N + 1)). A station with utilization U completes jobs at the rate X / U while it is not empty, where X
/// is the throughput.
///
/// N is twice the harmonic mean of both queue lengths, and therefore at most four times the shorter one.
fn of_pair(per_s: f64, first: Queue, second: Queue) -> f64 {
    let [up, down] = [first, second].map(|queue| per_s / queue.utilization);
    let both = first.waiting + second.waiting;
    if both == 0.0 || per_s == 0.0 {
        return 0.0;
    }
    let places = 4.0 * first.waiting * second.waiting / both;
    let half = (0.5 * std::f64::consts::PI / (places + 1.0)).sin();
    // The difference a + b - 2 sqrt(a b) cos x is computed without cancellation, by the identities 1 - cos x = 2 sin^2
    // (x / 2) and a + b = (sqrt a - sqrt b)^2 + 2 sqrt(a b).
    let per_s = (up.sqrt() - down.sqrt()).powi(2) + 4.0 * (up * down).sqrt() * half * half;
    1.0 / per_s
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the relaxation time of a Markov chain. The uniformized transition matrix is applied repeatedly to a
    /// function without its constant part, until only the slowest mode remains.
    fn of_chain(places: usize, up: f64, down: f64) -> f64 {
        let step = 0.5 / (up + down);
        let (mut now, mut kept): (Vec<f64>, f64) =
            ((0..=places).map(|level| level as f64).collect(), 1.0);
        for _ in 0..20_000 {
            let rise = |level: usize| now[level + 1] - now[level];
            let next = (0..=places).map(|level| {
                let above = if level < places {
                    up * rise(level)
                } else {
                    0.0
                };
                let below = if level > 0 {
                    down * rise(level - 1)
                } else {
                    0.0
                };
                now[level] + step * (above - below)
            });
            let next: Vec<f64> = next.collect();
            let mean = next.iter().sum::<f64>() / (places + 1) as f64;
            let spread = |values: &[f64]| values[places] - values[0];
            kept = spread(&next) / spread(&now);
            now = next
                .iter()
                .map(|value| (value - mean) / spread(&next))
                .collect();
        }
        step / (1.0 - kept)
    }

    #[test]
    fn a_walk_relaxes_as_its_chain() {
        for (busy, places) in [([1.0, 1.0], 30), ([1.0, 1.0], 60), ([1.0, 0.9], 30)] {
            let queue = |utilization| Queue {
                utilization,
                waiting: 0.5 * f64::from(places),
                group: NONE,
            };
            let found = of_pair(50.0, queue(busy[0]), queue(busy[1]));
            let exact = of_chain(places as usize, 50.0 / busy[0], 50.0 / busy[1]);
            assert!(
                (found / exact - 1.0).abs() < 1e-3,
                "{busy:?}: {found} {exact}"
            );
        }
    }

    #[test]
    fn a_queue_that_is_never_long_leaves_no_walk() {
        let queue = |utilization, waiting| Queue {
            utilization,
            waiting,
            group: NONE,
        };
        // With 1,000 waiting jobs at the first station and hardly any at the second, the relaxation time is about one
        // service time.
        assert!(of_pair(100.0, queue(1.0, 1000.0), queue(0.3, 0.1)) < 0.02);
        assert!(of_pair(100.0, queue(0.5, 0.0), queue(0.3, 0.0)).abs() < 1e-12);
    }
}

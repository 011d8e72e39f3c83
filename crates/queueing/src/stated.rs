//! The ranges that an approximate answer states for its values.
//!
//! The ranges hold the simulated values in random networks of the same kind. `tests/certified/test_certified_grid.py`
//! compares single stations and networks with the simulator. A true value may lie outside for other networks, for
//! example if service times of classes differ by more than a factor of 50; such networks should be simulated.

mod margins;

use serde::Serialize;

use crate::answer::{ClassAnswer, Named, PoolAnswer, StationAnswer};
use crate::network::{Center, Load, Network, Speed};
use crate::solve::Solution;
use margins::{Kind, Margin};

/// Lower and upper end of a range.
pub type Ends = [f64; 2];

/// Ranges that hold the true values, by class, station and pool, and then by value.
#[derive(Clone, Debug, Serialize)]
pub struct Within {
    /// Ranges of `response_time_s`, `throughput_per_s` and `dropped_per_s`, by class.
    pub classes: Named<Named<Ends>>,
    /// Ranges of `utilization`, `queue_length`, `loss_probability` and, for each class, `residence_time_s.CLASS`, by
    /// station.
    pub stations: Named<Named<Ends>>,
    /// Ranges of `utilization` and, for each class, `waiting_time_s.CLASS`, by pool.
    pub pools: Named<Named<Ends>>,
}

/// Values of an answer, by class, station and pool.
pub struct Values<'a> {
    /// Results by class.
    pub classes: &'a Named<ClassAnswer>,
    /// Results by station.
    pub stations: &'a Named<StationAnswer>,
    /// Results by pool.
    pub pools: &'a Named<PoolAnswer>,
    /// Bounds of the response time of each class, which hold for any method. [s]
    pub bounds: Vec<Ends>,
    /// Time of each class without any waiting, including forks. [s]
    pub least: Vec<f64>,
}

/// Returns the ranges of an approximate answer; `None` for an exact answer.
#[must_use]
pub fn within(network: &Network, solution: &Solution, values: &Values<'_>) -> Option<Within> {
    (!solution.exact).then(|| Stated::of(network, solution, values).within())
}

/// Returns the largest relative deviation of a mean response time from its value within its range; at least 1 if a range
/// has no upper end. [ratio]
#[must_use]
pub fn response_error(within: &Within, classes: &Named<ClassAnswer>) -> f64 {
    (within.classes.0.iter().zip(&classes.0))
        .filter_map(|((_, ranges), (_, class))| {
            let [low, high] = *ranges.get("response_time_s")?;
            let time = class.response_time_s;
            let above = if high.is_finite() {
                high / time - 1.0
            } else {
                1.0
            };
            (time > 0.0).then(|| above.max(1.0 - low / time))
        })
        .fold(0.0, f64::max)
}

/// Ranges of the values from which all others follow.
struct Stated<'a> {
    network: &'a Network,
    solution: &'a Solution,
    values: &'a Values<'a>,
    /// Time at each station, by station and class. [s]
    stays: Vec<Vec<Ends>>,
    /// Mean response time, by class. [s]
    responses: Vec<Ends>,
    /// Throughput relative to the answer, by class. [1]
    flows: Vec<Ends>,
    /// Margin of waits for pools.
    pools: Margin,
}

impl<'a> Stated<'a> {
    fn of(network: &'a Network, solution: &'a Solution, values: &'a Values<'a>) -> Self {
        let classes = 0..network.loads.len();
        let kinds: Vec<Kind> = margins::kinds(network, solution);
        let stays: Vec<Vec<Ends>> = (network.centers.iter().enumerate())
            .map(|(station, center)| {
                (classes.clone())
                    .map(|class| {
                        let stay = solution.jobs[class][station] / solution.flow[class][station];
                        let margin = kinds[station].margin(network, solution, station, class);
                        if stay.is_finite() && center.is_queue() {
                            margin.around(without_waiting(center, class), stay)
                        } else {
                            [center.demand[class]; 2]
                        }
                    })
                    .collect()
            })
            .collect();
        let whole: Vec<Option<Margin>> = (classes.clone())
            .map(|class| margins::whole(network, solution, class))
            .collect();
        let responses: Vec<Ends> = (classes.clone())
            .map(|class| {
                let found = match whole[class] {
                    Some(margin) => margin.around(values.least[class], solution.response[class]),
                    None => sum(stays.iter().map(|row| row[class])),
                };
                intersection(found, values.bounds[class])
            })
            .collect();
        let flows = (classes.clone())
            .map(|class| match network.loads[class] {
                Load::Closed { users, think_time } => {
                    let rate = |time: f64| users as f64 / (think_time + time);
                    let now = solution.throughput[class];
                    [
                        rate(responses[class][1]) / now,
                        rate(responses[class][0]) / now,
                    ]
                }
                Load::Open { rate, .. } => {
                    let loss = (1.0 - solution.throughput[class] / rate).max(0.0);
                    let [low, high] = margins::losses(&kinds, loss);
                    [(1.0 - high) / (1.0 - loss), (1.0 - low) / (1.0 - loss)]
                }
            })
            .collect();
        Self {
            network,
            solution,
            values,
            stays,
            responses,
            flows,
            pools: margins::pool_waits(network, solution),
        }
    }

    fn within(&self) -> Within {
        let classes = (self.values.classes.0.iter().enumerate())
            .map(|(class, (name, found))| (name.clone(), Named(self.class(class, found))));
        let stations = (self.values.stations.0.iter().enumerate())
            .map(|(station, (name, found))| (name.clone(), Named(self.station(station, found))));
        let pools = (self.values.pools.0.iter())
            .map(|(name, found)| (name.clone(), Named(self.pool(name, found))));
        Within {
            classes: Named(classes.collect()),
            stations: Named(stations.collect()),
            pools: Named(pools.collect()),
        }
    }

    fn class(&self, class: usize, found: &ClassAnswer) -> Vec<(String, Ends)> {
        let throughput = times(self.flows[class], found.throughput_per_s);
        let dropped = match self.network.loads[class] {
            Load::Open { rate, .. } if found.dropped_per_s > 0.0 => {
                [(rate - throughput[1]).max(0.0), rate - throughput[0]]
            }
            _ => [0.0; 2],
        };
        vec![
            ("response_time_s".into(), self.responses[class]),
            ("throughput_per_s".into(), throughput),
            ("dropped_per_s".into(), dropped),
        ]
    }

    fn station(&self, station: usize, found: &StationAnswer) -> Vec<(String, Ends)> {
        let center = &self.network.centers[station];
        let names = &self.network.names;
        let used = sum(center.visitors().map(|class| {
            let share = found.utilization_by_class.get(&names[class]).copied();
            times(self.flows[class], share.unwrap_or(0.0))
        }));
        let present = sum(center.visitors().map(|class| {
            let (flow, stay) = (self.flows[class], self.stays[station][class]);
            let rate = self.solution.flow[class][station];
            [rate * flow[0] * stay[0], rate * flow[1] * stay[1]]
        }));
        let jobs = center
            .visitors()
            .map(|class| match self.network.loads[class] {
                Load::Closed { users, .. } => users as f64,
                Load::Open { .. } => f64::INFINITY,
            });
        let room = center.capacity.map_or(f64::INFINITY, |jobs| jobs as f64);
        let room = room.min(jobs.sum());
        let mut ranges = vec![
            (
                "utilization".into(),
                [used[0], used[1].min(found.utilization.max(1.0))],
            ),
            ("queue_length".into(), [present[0], present[1].min(room)]),
            (
                "loss_probability".into(),
                self.lost(station, found.loss_probability),
            ),
        ];
        ranges.extend(center.visitors().map(|class| {
            (
                format!("residence_time_s.{}", names[class]),
                self.residence(station, class),
            )
        }));
        ranges
    }

    /// Returns the range of the time of a class at a station per completed transaction, of which others are dropped at
    /// later stations. [s]
    fn residence(&self, station: usize, class: usize) -> Ends {
        let [low, high] = self.stays[station][class];
        let come = self.solution.flow[class][station] / self.solution.throughput[class];
        let [least, most] = self.flows[class];
        if come > 1.0 {
            [low * (come / most).max(1.0), high * come / least]
        } else {
            [low, high]
        }
    }

    /// Returns the range of the share of visits that a station drops.
    fn lost(&self, station: usize, loss: f64) -> Ends {
        let kinds = margins::kinds(self.network, self.solution);
        margins::losses(&kinds[station..=station], loss)
    }

    fn pool(&self, name: &str, found: &PoolAnswer) -> Vec<(String, Ends)> {
        let names = &self.network.names;
        let hold = (self.network.holds.iter()).find(|hold| hold.name == name);
        let mut change: Ends = [1.0, 1.0];
        for (class, flow) in self.flows.iter().enumerate() {
            let inside = hold.map_or(Vec::new(), |hold| hold.stations.clone());
            for station in inside {
                let stay = self.solution.jobs[class][station] / self.solution.flow[class][station];
                if stay > 0.0 {
                    let [low, high] = self.stays[station][class];
                    change = [
                        change[0].min(flow[0] * low / stay),
                        change[1].max(flow[1] * high / stay),
                    ];
                }
            }
        }
        let used = times(change, found.utilization);
        let mut ranges = vec![("utilization".into(), [used[0], used[1].min(1.0)])];
        ranges.extend(found.waiting_time_s.0.iter().map(|(class, wait)| {
            let place = names.iter().position(|other| other == class).unwrap_or(0);
            let least = self.values.least[place];
            let [low, high] = self.pools.around(least, least + wait);
            (
                format!("waiting_time_s.{class}"),
                [(low - least).max(0.0), high - least],
            )
        }));
        ranges
    }
}

/// Returns the time of a class at a station if it never waits. [s]
fn without_waiting(center: &Center, class: usize) -> f64 {
    match center.speed {
        Speed::Rates(_) => center.demand[class] / center.speed.highest(),
        _ => center.demand[class],
    }
}

fn times([low, high]: Ends, value: f64) -> Ends {
    [low * value, high * value]
}

fn sum(ranges: impl Iterator<Item = Ends>) -> Ends {
    ranges.fold([0.0; 2], |[low, high], next| {
        [low + next[0], high + next[1]]
    })
}

/// Returns the part of a range that lies within bounds. A range outside of the bounds is not changed.
fn intersection([low, high]: Ends, [least, most]: Ends) -> Ends {
    if low <= most && least <= high {
        [low.max(least), high.min(most)]
    } else {
        [low, high]
    }
}

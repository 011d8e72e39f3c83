//! Largest observed errors of each kind of approximation.
//!
//! The error of a time is stated as a factor of the part of it that is spent waiting, and the error of a loss as a
//! factor of the loss. The logarithm of the factor is a sum of terms that grow with the variation of arrivals and
//! services, the differences between classes, and the number of servers. Their coefficients are the least whose sums
//! exceed the error of every simulated network (linear programming), rounded up. The factors for several visits, unequal
//! visits, even arrivals and classes that others overtake, and the constants of this file, were set by hand.

mod kinds;
mod open_ends;

use crate::network::{Back, Center, Load, Network, Speed};
use crate::solve::Solution;

use super::Ends;

/// Share of the time without waiting by which a time may be off in addition to the factor of its wait. [ratio]
const MORE: f64 = 0.05;
/// The same for the time at one of several stations. [ratio]
const MORE_OF_SEVERAL: f64 = 0.2;
/// Difference by which a loss may be off in addition to its factor. [ratio]
const MORE_LOSS: f64 = 1e-4;

/// Factor by which waits may be off in addition if the classes of a station differ in their visits in a row. A class that
/// does not come back finds less of the others' variation than its formula assumes, and the others find less of its own.
/// Simulations of V = 10 beside V = 1 at a utilization of 0.8 differ by up to 1.6. [ratio]
const UNEQUAL_ROWS: f64 = 1.7;

/// Quantities on which the error of an approximation depends, in the order of [`Coefficients`]; see [`Traits::list`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traits {
    /// Largest difference of a squared coefficient of variation of times between arrivals from 1.
    arrivals: f64,
    /// Largest difference of a squared coefficient of variation of service times from 1.
    services: f64,
    /// Logarithm of the ratio of the longest to the shortest mean service time.
    times: f64,
    /// 1 − 1 / m for m servers.
    servers: f64,
    /// 1 behind a station whose departures are not Poisson, otherwise 0.
    behind: f64,
    /// Terms of the logarithms of both factors for V visits to a station that has no product form: 1 − 1 / V times the
    /// coefficients of [`kinds::rows`].
    rows: [f64; 2],
    /// `true` if the classes of a station that has no product form differ in their visits in a row.
    unequal: bool,
    /// `true` if the arrivals of a class with several visits in a row vary less than Poisson arrivals.
    even: bool,
}

/// Terms of the logarithm of a factor: a constant, and one coefficient for each of [`Traits`].
pub(super) type Coefficients = [f64; 6];

/// Factors by which a value of the solver may be too large and too small, as coefficients of their logarithms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Factors {
    pub(super) large: Coefficients,
    pub(super) small: Coefficients,
}

/// Factor by which a value may be too large, and factor by which it may be too small.
#[derive(Clone, Copy, Debug)]
pub struct Margin {
    large: f64,
    small: f64,
    more: f64,
    /// Time by which a value may be too small in addition. [s]
    burst: f64,
}

/// Margin of an exact value.
pub const EXACT: Margin = Margin {
    large: 1.0,
    small: 1.0,
    more: 0.0,
    burst: 0.0,
};

/// Margin of a value of which nothing is known.
const UNKNOWN: Margin = Margin {
    large: f64::INFINITY,
    small: f64::INFINITY,
    more: 0.0,
    burst: 0.0,
};

/// Margins of times and losses at a station.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    waits: Margin,
    losses: Option<Margin>,
}

impl Traits {
    fn list(self) -> Coefficients {
        let Self {
            arrivals,
            services,
            times,
            servers,
            behind,
            ..
        } = self;
        [1.0, arrivals, services, times, servers, behind]
    }

    /// Returns the traits of one station. `upstream` are those of the stations before it.
    fn of(network: &Network, center: &Center, upstream: Self) -> Self {
        let visitors: Vec<usize> = center.visitors().collect();
        let largest = |each: &dyn Fn(usize) -> f64| {
            visitors
                .iter()
                .map(|&class| each(class))
                .fold(0.0, f64::max)
        };
        let arrivals = largest(&|class| match network.loads[class] {
            Load::Open {
                scv,
                poisson: false,
                ..
            } => (scv - 1.0).abs(),
            _ => 0.0,
        });
        let times = visitors.iter().map(|&class| center.service_time[class]);
        let (shortest, longest) = times.fold((f64::INFINITY, 0.0_f64), |(least, most), time| {
            (least.min(time), most.max(time))
        });
        let rows = if center.is_product_form() {
            0.0
        } else {
            largest(&|class| {
                let least = if center.back[class] == Back::FromElsewhere {
                    2.0
                } else {
                    1.0
                };
                1.0 - 1.0 / center.visits[class].max(center.in_row[class]).max(least)
            })
        };
        Self {
            arrivals: arrivals.max(upstream.services),
            services: largest(&|class| (center.scv[class] - 1.0).abs()),
            times: if longest > 0.0 {
                (longest / shortest).ln()
            } else {
                0.0
            },
            servers: match center.speed {
                Speed::Servers(servers) => 1.0 - 1.0 / f64::from(servers),
                _ => 0.0,
            },
            behind: upstream.behind,
            rows: kinds::rows(network, center).map(|term| term * rows),
            unequal: !center.is_product_form() && has_unequal_rows(center),
            even: visitors.iter().any(|&class| {
                center.in_row[class] > 1.0
                    && matches!(network.loads[class], Load::Open { scv, poisson: false, .. } if scv < 1.0)
            }),
        }
    }

    /// Returns the largest of each trait of two stations.
    fn or(self, other: Self) -> Self {
        Self {
            arrivals: self.arrivals.max(other.arrivals),
            services: self.services.max(other.services),
            times: self.times.max(other.times),
            servers: self.servers.max(other.servers),
            behind: self.behind.max(other.behind),
            rows: [0, 1].map(|side| self.rows[side].max(other.rows[side])),
            unequal: self.unequal || other.unequal,
            even: self.even || other.even,
        }
    }
}

impl Factors {
    fn margin(&self, traits: Traits, more: f64) -> Margin {
        let factor = |terms: &Coefficients, rows: f64| {
            let sum: f64 = terms
                .iter()
                .zip(traits.list())
                .map(|(term, value)| term * value)
                .sum();
            (sum + rows).exp()
        };
        let [large, small] = traits.rows;
        let unequal = if traits.unequal { UNEQUAL_ROWS } else { 1.0 };
        Margin {
            large: if traits.even {
                f64::INFINITY
            } else {
                factor(&self.large, large) * unequal
            },
            small: factor(&self.small, small) * unequal,
            more,
            burst: 0.0,
        }
    }
}

/// Returns `true` if classes of a station differ in their numbers of visits in a row.
fn has_unequal_rows(center: &Center) -> bool {
    let counts = center.visitors().map(|class| center.in_row[class]);
    let (least, most) = counts.fold((f64::INFINITY, 0.0_f64), |(least, most), count| {
        (least.min(count), most.max(count))
    });
    most > 1.0 && least < most
}

impl Margin {
    /// Returns the range of a time whose part `least` is not spent waiting. [s]
    #[must_use]
    pub fn around(&self, least: f64, time: f64) -> Ends {
        let wait = (time - least).max(0.0);
        let more = self.more * least;
        [
            least + (wait / self.large - more).max(0.0),
            if self.small.is_infinite() {
                f64::INFINITY
            } else {
                least + wait * self.small + more + self.burst
            },
        ]
    }
}

impl Kind {
    /// Returns the margin of the time of a class at the station.
    #[must_use]
    pub fn margin(
        &self,
        network: &Network,
        solution: &Solution,
        station: usize,
        class: usize,
    ) -> Margin {
        let margin = self.waits.limited(network, solution, station, class);
        if open_ends::is_inside(network, solution, station, class) {
            Margin {
                large: f64::INFINITY,
                ..margin
            }
        } else {
            margin
        }
    }
}

/// Returns the range of the share of arrivals that stations of these kinds drop.
#[must_use]
pub fn losses(kinds: &[Kind], loss: f64) -> Ends {
    let known = kinds.iter().filter_map(|kind| kind.losses);
    let (mut large, mut small, mut more) = (1.0_f64, 1.0_f64, 0.0);
    for margin in known {
        large = large.max(margin.large);
        small = small.max(margin.small);
        more += margin.more;
    }
    [
        (loss / large - more).max(0.0),
        if small.is_infinite() {
            1.0
        } else {
            (loss * small + more).min(1.0)
        },
    ]
}

/// Returns the margin of the response time of a class in a network that is not solved station by station; `None` if it
/// is.
#[must_use]
pub fn whole(network: &Network, solution: &Solution, class: usize) -> Option<Margin> {
    let (responses, _) = kinds::network(network, &solution.method)?;
    let margin = if solution.exact_elsewhere {
        EXACT
    } else {
        responses.margin(all(network), MORE)
    };
    let stations = 0..network.centers.len();
    Some(stations.fold(margin, |margin, station| {
        margin.limited(network, solution, station, class)
    }))
}

/// Returns the margin of waits for pools.
#[must_use]
pub fn pool_waits(network: &Network, solution: &Solution) -> Margin {
    kinds::pool_waits(network, &solution.method).margin(all(network), MORE_OF_SEVERAL)
}

/// Returns the kind of each station.
#[must_use]
pub fn kinds(network: &Network, solution: &Solution) -> Vec<Kind> {
    if solution.exact_elsewhere {
        let exact = |_| Kind {
            waits: EXACT,
            losses: None,
        };
        return network.centers.iter().map(exact).collect();
    }
    if let Some((_, stays)) = kinds::network(network, &solution.method) {
        let several = (network.centers.iter())
            .filter(|center| center.is_queue())
            .count()
            > 1;
        let traits = all(network);
        let waits = stays.margin(traits, if several { MORE_OF_SEVERAL } else { MORE });
        let losses = |center: &Center| {
            let (_, losses) = kinds::station(center, &solution.method);
            losses.map(|factors| factors.margin(traits, MORE_LOSS))
        };
        return (network.centers.iter())
            .map(|center| Kind {
                waits,
                losses: losses(center),
            })
            .collect();
    }
    let mut upstream = Traits::default();
    if network.routed {
        // Jobs may come to any station from any other.
        let mut queues = network.centers.iter().filter(|center| center.is_queue());
        let several = queues.clone().count() > 1;
        if several && queues.any(|center| !center.has_poisson_departures()) {
            upstream = all(network);
            upstream.behind = 1.0;
        }
    }
    // `true` once a class whose arrivals are not Poisson has shared a station with others.
    let mut mixed = false;
    let mut found = Vec::new();
    for center in &network.centers {
        let traits = Traits::of(network, center, upstream);
        let mut visitors = center.visitors();
        let poisson = visitors.all(|class| network.loads[class].is_poisson());
        let exact = poisson && !mixed && kinds::is_exact(center);
        let mut kind = one(solution, center, traits, exact);
        if center
            .visitors()
            .any(|class| network.meets_even_streams[class])
        {
            kind.losses = kind.losses.map(|_| UNKNOWN);
        }
        found.push(kind);
        if center.is_queue() {
            mixed |= !poisson;
            upstream.services = upstream.services.max(traits.arrivals);
        }
        if !center.has_poisson_departures() {
            upstream.behind = 1.0;
            upstream.services = upstream.services.max(traits.services);
        }
    }
    found
}

/// Returns the kind of a station of open classes; `exact` if it is solved exactly for Poisson arrivals, which come to it
/// unless it is behind others.
fn one(solution: &Solution, center: &Center, traits: Traits, exact: bool) -> Kind {
    if !center.is_queue() || exact && traits.behind == 0.0 && center.capacity.is_none() {
        return Kind {
            waits: EXACT,
            losses: None,
        };
    }
    let (waits, losses) = kinds::station(center, &solution.method);
    Kind {
        waits: waits.margin(
            traits,
            if traits.behind > 0.0 {
                MORE_OF_SEVERAL
            } else {
                MORE
            },
        ),
        losses: losses.map(|factors| factors.margin(traits, MORE_LOSS)),
    }
}

/// Returns the largest of each trait over all stations with a queue, and of the variation of delays inside pools, whose
/// units are held for the time of the delay.
fn all(network: &Network) -> Traits {
    let held = |index: usize| (network.holds.iter()).any(|hold| hold.stations.contains(&index));
    (network.centers.iter().enumerate())
        .filter(|(index, center)| center.is_queue() || held(*index))
        .map(|(_, center)| {
            let traits = Traits::of(network, center, Traits::default());
            if center.is_queue() {
                traits
            } else {
                Traits {
                    services: traits.services,
                    ..Traits::default()
                }
            }
        })
        .fold(Traits::default(), Traits::or)
}

//! A model converted to numbers: demands by station and class, speeds and ranks. All solvers use this representation.

mod visits;

use crate::model::{Discipline, Distribution, Fault, Model, Station};
use crate::shape::Shape;
pub use crate::speed::Speed;
pub use visits::Back;

/// A station. Lists have one entry per class.
#[derive(Clone, Debug)]
pub struct Center {
    /// Name of the station in the model.
    pub name: String,
    /// Order in which jobs are served; `Priority` only if the ranks of the classes differ.
    pub discipline: Discipline,
    /// Speed of the station for each number of jobs.
    pub speed: Speed,
    /// Limit on the jobs at the station; `None` if there is no limit.
    pub capacity: Option<u64>,
    /// `true` if jobs of better ranks interrupt jobs of worse ranks that are in service.
    pub preemptive: bool,
    /// Mean number of visits of a transaction to the station, by class. [1]
    pub visits: Vec<f64>,
    /// Mean number of visits in a row, without another station between them, by class; at least 1. [1]
    pub in_row: Vec<f64>,
    /// Place from which a job of each class may come back, by its route.
    pub back: Vec<Back>,
    /// Factor by which visits in a row bring the squared coefficient of variation of the service time closer to 1, by
    /// class; see [`visits`]. [ratio]
    pub row_factor: Vec<f64>,
    /// Mean service time of one visit, by class. [s]
    pub service_time: Vec<f64>,
    /// Service demand of a transaction, that is, visits times service time, by class. [s]
    pub demand: Vec<f64>,
    /// Squared coefficient of variation of the service time, by class; see [`visits`] for several. [1]
    pub scv: Vec<f64>,
    /// Type of the distribution of the service time of one visit, by class; missing if only the variation is known.
    pub form: Vec<Option<Distribution>>,
    /// Rank of each class: lower ranks are served first.
    pub rank: Vec<u32>,
}

impl Center {
    /// Returns `true` if the station has a queue.
    #[must_use]
    pub fn is_queue(&self) -> bool {
        self.speed != Speed::Delay
    }

    /// Returns a copy of the station that only one class visits, once.
    #[must_use]
    pub fn only(&self, service_time: f64, scv: f64) -> Self {
        Self {
            visits: vec![1.0],
            in_row: vec![1.0],
            back: vec![Back::Never],
            row_factor: vec![1.0],
            service_time: vec![service_time],
            demand: vec![service_time],
            scv: vec![scv],
            form: Vec::new(),
            rank: vec![0],
            ..self.clone()
        }
    }

    /// Classes that have a demand at this station.
    pub fn visitors(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.demand.len()).filter(|&class| self.demand[class] > 0.0)
    }

    /// Returns `true` if all visiting classes have the same exponential service time.
    #[must_use]
    pub fn is_uniform_exponential(&self) -> bool {
        let Some(first) = self.visitors().next() else {
            return true;
        };
        self.visitors().all(|class| {
            let (one, other) = (self.service_time[class], self.service_time[first]);
            (one - other).abs() <= 1e-12 * other && self.shape(class).is_exponential()
        })
    }

    /// Returns `true` if the station has product form (Baskett, Chandy, Muntz and Palacios, J. ACM 22(2), 1975, with
    /// the multi-server and load-dependent forms of its four types).
    #[must_use]
    pub fn is_product_form(&self) -> bool {
        match self.discipline {
            Discipline::Delay | Discipline::Ps => true,
            Discipline::LcfsPr => self.speed.is_single() || self.is_uniform_exponential(),
            Discipline::Fcfs => self.is_uniform_exponential(),
            Discipline::Priority => false,
        }
    }
}

/// A pool of units. A job holds a unit while it is at the stations of the pool.
#[derive(Clone, Debug)]
pub struct Hold {
    /// Name of the pool in the model.
    pub name: String,
    /// Number of units in the pool.
    pub size: u64,
    /// Indices of the stations that are directly inside the pool, not in an inner pool.
    pub stations: Vec<usize>,
    /// Indices of the pools that are directly inside this pool.
    pub pools: Vec<usize>,
    /// For each class, `true` if its jobs need a unit of the pool.
    pub concerns: Vec<bool>,
}

/// A fork, whose branches run at the same time.
#[derive(Clone, Debug)]
pub struct Split {
    /// Name of the fork in the model.
    pub name: String,
    /// For each branch, the indices of its stations.
    pub branches: Vec<Vec<usize>>,
    /// For each class, `true` if its jobs fork.
    pub concerns: Vec<bool>,
}

/// Load of a class: users who think between jobs, or arrivals at a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// A fixed number of users with a mean think time.
    Closed {
        /// Number of users of the class.
        users: u64,
        /// Mean think time of a user. [s]
        think_time: f64,
    },
    /// Jobs that arrive at a rate.
    Open {
        /// Rate of arrivals. [1/s]
        rate: f64,
        /// `true` if the arrivals are Poisson.
        poisson: bool,
        /// Squared coefficient of variation of the times between arrivals. [1]
        scv: f64,
        /// Type of the distribution of the times between arrivals.
        form: Distribution,
    },
}

impl Load {
    /// Returns `true` for Poisson arrivals.
    #[must_use]
    pub fn is_poisson(&self) -> bool {
        matches!(self, Self::Open { poisson: true, .. })
    }
}

/// A model converted to numbers.
#[derive(Clone, Debug)]
pub struct Network {
    /// Name of each class.
    pub names: Vec<String>,
    /// Load of each class.
    pub loads: Vec<Load>,
    /// Stations, in the order of the model.
    pub centers: Vec<Center>,
    /// Pools, in the order of the model.
    pub holds: Vec<Hold>,
    /// Forks, in the order of the model.
    pub splits: Vec<Split>,
    /// `true` if a class has a route, so that jobs may visit stations in another order than that of the model.
    pub routed: bool,
    /// By class, `true` if its jobs keep the distances with which they begin; see [`Model::keeps_distances`].
    pub keeps_distances: Vec<bool>,
    /// By class, `true` if it meets several streams at equal distances; see [`Model::meets_even_streams`].
    pub meets_even_streams: Vec<bool>,
}

impl Network {
    /// Converts a model to numbers.
    ///
    /// # Errors
    ///
    /// All faults of the model.
    pub fn of(model: &Model) -> Result<Self, Vec<Fault>> {
        Ok(Self::of_visits(model)?.with_rows())
    }

    /// Converts a model to numbers, where the variation of service times is that of each visit.
    ///
    /// # Errors
    ///
    /// All faults of the model.
    pub(crate) fn of_visits(model: &Model) -> Result<Self, Vec<Fault>> {
        let faults = model.check();
        if !faults.is_empty() {
            return Err(faults);
        }
        let visits: Result<Vec<_>, _> = (model.classes.iter())
            .map(|class| model.visits(class))
            .collect();
        let visits = visits.map_err(|fault| vec![fault])?;
        Ok(Self {
            names: (model.classes.iter())
                .map(|class| class.name.clone())
                .collect(),
            loads: model.classes.iter().map(load).collect(),
            centers: (model.stations.iter().enumerate())
                .map(|(index, station)| {
                    center(
                        model,
                        station,
                        visits.iter().map(|of_class| of_class[index]).collect(),
                    )
                })
                .collect(),
            holds: holds(model),
            splits: splits(model),
            routed: !model.routing.is_empty(),
            keeps_distances: model.keeps_distances(),
            meets_even_streams: model.meets_even_streams(),
        })
    }

    /// Returns the indices of closed classes.
    #[must_use]
    pub fn closed(&self) -> Vec<usize> {
        (0..self.loads.len())
            .filter(|&class| matches!(self.loads[class], Load::Closed { .. }))
            .collect()
    }

    /// Returns the indices of open classes.
    #[must_use]
    pub fn open(&self) -> Vec<usize> {
        (0..self.loads.len())
            .filter(|&class| matches!(self.loads[class], Load::Open { .. }))
            .collect()
    }

    /// Returns the number of users of a class; 0 for an open class.
    #[must_use]
    pub fn users(&self, class: usize) -> u64 {
        match self.loads[class] {
            Load::Closed { users, .. } => users,
            Load::Open { .. } => 0,
        }
    }

    /// Returns the think time of a class. [s]
    #[must_use]
    pub fn think_time(&self, class: usize) -> f64 {
        match self.loads[class] {
            Load::Closed { think_time, .. } => think_time,
            Load::Open { .. } => 0.0,
        }
    }

    /// Returns the arrival rate of a class; 0 for a closed class. [1/s]
    #[must_use]
    pub fn rate(&self, class: usize) -> f64 {
        match self.loads[class] {
            Load::Open { rate, .. } => rate,
            Load::Closed { .. } => 0.0,
        }
    }

    /// Returns the load of open classes at a station, as a number of busy servers. [1]
    #[must_use]
    pub fn open_load(&self, center: &Center) -> f64 {
        self.open()
            .iter()
            .map(|&class| self.rate(class) * center.demand[class])
            .sum()
    }

    /// Returns a copy of the network without the pools that have a unit for every user.
    #[must_use]
    pub fn without_idle_pools(&self) -> Self {
        let idle = |hold: &Hold| {
            let needed = (0..self.loads.len())
                .filter(|&class| hold.concerns[class])
                .map(|class| match self.loads[class] {
                    Load::Closed { users, .. } => users,
                    Load::Open { .. } => u64::MAX,
                });
            needed.fold(0, u64::saturating_add) <= hold.size
        };
        let mut network = self.clone();
        let mut kept: Vec<usize> = (0..self.holds.len())
            .filter(|&pool| !idle(&self.holds[pool]))
            .collect();
        for (pool, hold) in self.holds.iter().enumerate().filter(|(_, hold)| idle(hold)) {
            // If the removed pool was inside another pool, its stations and inner pools now belong directly to that
            // pool.
            for outer in &mut network.holds {
                if let Some(place) = outer.pools.iter().position(|&inner| inner == pool) {
                    outer.pools.remove(place);
                    outer.stations.extend(&hold.stations);
                    outer.pools.extend(&hold.pools);
                }
            }
        }
        kept.sort_unstable();
        network.holds = (kept.iter())
            .map(|&pool| network.holds[pool].clone())
            .collect();
        for hold in &mut network.holds {
            hold.pools = (hold.pools.iter())
                .filter_map(|pool| kept.iter().position(|inner| inner == pool))
                .collect();
        }
        network
    }

    /// Returns `true` if the network has product form.
    #[must_use]
    pub fn is_product_form(&self) -> bool {
        let poisson = self
            .loads
            .iter()
            .all(|load| !matches!(load, Load::Open { poisson: false, .. }));
        let plain = self.holds.is_empty() && self.splits.is_empty() && poisson;
        plain
            && self
                .centers
                .iter()
                .all(|center| center.is_product_form() && center.capacity.is_none())
    }
}

fn load(class: &crate::model::Class) -> Load {
    match class.users {
        Some(users) => Load::Closed {
            users,
            think_time: class.think_time_s,
        },
        None => Load::Open {
            rate: class.arrival_rate_per_s.unwrap_or(0.0),
            poisson: class.arrivals.is_exponential(),
            scv: class.arrivals.squared_coefficient(),
            form: class.arrivals.form(),
        },
    }
}

fn center(model: &Model, station: &Station, visits: Vec<f64>) -> Center {
    let service = |class: &crate::model::Class| station.service(&class.name);
    let in_row: Vec<f64> = (model.classes.iter().zip(&visits))
        .map(|(class, &count)| visits::in_row(model, &class.name, station, count))
        .collect();
    let back = (model.classes.iter())
        .map(|class| Back::of(model, &class.name, &station.name))
        .collect();
    let shapes: Vec<Shape> = (model.classes.iter())
        .map(|class| visits::shape_of_one(model, &class.name, station))
        .collect();
    let service_time: Vec<f64> = (model.classes.iter())
        .map(|class| service(class).map_or(0.0, |found| found.service_time_s))
        .collect();
    let rank: Vec<u32> = model
        .classes
        .iter()
        .map(|class| model.rank(class, station))
        .collect();
    let demand: Vec<f64> = visits
        .iter()
        .zip(&service_time)
        .map(|(count, time)| count * time)
        .collect();
    let mut ranks = (0..demand.len())
        .filter(|&class| demand[class] > 0.0)
        .map(|class| rank[class]);
    let first = ranks.next();
    // If all classes have the same rank, jobs are served in the order of arrival.
    let one_rank = ranks.all(|other| Some(other) == first);
    Center {
        name: station.name.clone(),
        discipline: match station.discipline {
            Discipline::Priority if one_rank => Discipline::Fcfs,
            other => other,
        },
        speed: match station.discipline {
            Discipline::Delay => Speed::Delay,
            _ if station.rates.is_empty() => Speed::Servers(station.servers),
            _ => Speed::Rates(station.rates.clone()),
        },
        capacity: station.capacity,
        preemptive: station.preemptive,
        scv: shapes.iter().map(|shape| shape.scv).collect(),
        form: shapes.iter().map(|shape| shape.form).collect(),
        row_factor: vec![1.0; visits.len()],
        visits,
        in_row,
        back,
        service_time,
        demand,
        rank,
    }
}

fn concerned(model: &Model, classes: &[String]) -> Vec<bool> {
    model
        .classes
        .iter()
        .map(|class| classes.is_empty() || classes.contains(&class.name))
        .collect()
}

fn holds(model: &Model) -> Vec<Hold> {
    let station = |name: &String| {
        model
            .stations
            .iter()
            .position(|candidate| candidate.name == *name)
    };
    let inner = |name: &String| {
        model
            .pools
            .iter()
            .position(|candidate| candidate.name == *name)
    };
    (model.pools.iter())
        .map(|pool| Hold {
            name: pool.name.clone(),
            size: pool.size,
            stations: pool.holds.iter().filter_map(station).collect(),
            pools: pool.holds.iter().filter_map(inner).collect(),
            concerns: concerned(model, &pool.classes),
        })
        .collect()
}

fn splits(model: &Model) -> Vec<Split> {
    let station = |name: &String| {
        model
            .stations
            .iter()
            .position(|candidate| candidate.name == *name)
    };
    (model.forks.iter())
        .map(|fork| Split {
            name: fork.name.clone(),
            branches: fork
                .branches
                .iter()
                .map(|branch| branch.iter().filter_map(station).collect())
                .collect(),
            concerns: concerned(model, &fork.classes),
        })
        .collect()
}

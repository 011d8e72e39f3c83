//! The model prepared for simulation: names become indices, classes get routes, and times get distributions.

use std::collections::HashMap;
use std::sync::Arc;

use super::cache::Zipf;
use super::times::Times;
use super::ways::Visits;
use crate::model::behaviour::{BatchSizes, OnTimeout, Policy};
use crate::model::{Class, Discipline, Fault, Model, Pool};

/// Index that represents no station, no pool or no job.
pub const NONE: u32 = u32::MAX;
/// Limit on the number of pools, since a job records the pools whose units it holds as bits of one word.
const POOLS_AT_MOST: usize = 64;

/// A model prepared for simulation.
pub struct Plan {
    pub classes: Vec<ClassPlan>,
    pub stations: Vec<StationPlan>,
    pub pools: Vec<PoolPlan>,
    pub forks: Vec<ForkPlan>,
    pub balancers: Vec<BalancerPlan>,
    /// `true` if jobs of a class give up while they wait.
    pub gives_up: bool,
    /// Number of events in which jobs that keep their distances repeat them many times; `None` if no class has such jobs.
    pub rounds: Option<u64>,
    /// Smallest mean time in the model, used as the initial length of a slice of the record. [s]
    pub shortest_s: f64,
}

/// A class, prepared for simulation.
pub struct ClassPlan {
    pub name: String,
    pub users: u64,
    pub think: Times,
    /// Distribution of the times between arrivals; `None` for a closed class.
    pub arrivals: Option<Times>,
    pub way: Way,
    pub timeout_s: Option<f64>,
    /// Mean time that a job waits at a station before it gives up. [s]
    pub patience_s: Option<f64>,
    /// Sizes of batches; `None` if jobs arrive singly.
    pub batch: Option<(f64, BatchSizes)>,
    pub retries: u32,
    pub retry_delay_s: f64,
    pub on_timeout: OnTimeout,
    /// Stations that a job visits after its response.
    pub after: Vec<u32>,
    /// `true` if jobs keep the distances with which they begin; see [`Model::keeps_distances`].
    pub keeps_distances: bool,
}

/// Route of a class through the network.
pub enum Way {
    /// A fixed sequence of steps, the same for every transaction.
    Steps(Vec<Step>),
    /// Transition probabilities as cumulative sums. There is one row for each station, and a last row for the start.
    /// The last entry of each row leads out of the network.
    Chances(Vec<Vec<(f64, u32)>>),
}

/// One step of the route of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Visits to a station. Their number is `whole`, plus one with the probability `rest`, so that the mean number need
    /// not be an integer.
    Visit {
        station: u32,
        whole: u32,
        rest: f64,
    },
    Acquire(u32),
    Release(u32),
    Fork(u32),
    /// The response: the user goes on, and the job continues without a user.
    Answer,
}

/// A station, prepared for simulation.
pub struct StationPlan {
    pub name: String,
    pub kind: Kind,
    pub servers: u32,
    pub capacity: u32,
    pub preemptive: bool,
    /// Speed with 1, 2, ... jobs at the station; empty for a station whose speed is given by its number of servers.
    pub rates: Vec<f64>,
    pub top_rate: f64,
    /// Number of queues at the station: one for each rank, and one for each feedback level after the first.
    pub ranks: u32,
    /// Service time after which a job moves to the next feedback level. [s]
    pub quantum_s: f64,
    pub levels: u32,
    pub balancer: u32,
    /// `true` if the station admits every arriving job: it has no failover, no cache and no capacity.
    pub takes_all: bool,
    pub failure: Option<(Times, Times, u32)>,
    pub cache: Option<CachePlan>,
    /// Service of each class; `None` if the class does not visit the station.
    pub services: Vec<Option<ServicePlan>>,
}

/// Order of service at a station, as the simulator implements it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// All jobs are served at the same time, each at its own server.
    Delay,
    /// Each server serves one job at a time; there is one queue per rank.
    Servers,
    /// Each server serves one job at a time; the last arrival interrupts a job in service.
    Stack,
    /// All jobs share the servers equally. A common clock adds up the service per job.
    Shared,
    /// One job is served at a time, at a speed that depends on the number of jobs present. The value is `true` if the
    /// last arrival is served first.
    Clocked(bool),
}

/// Service of a class at a station.
pub struct ServicePlan {
    pub times: Times,
    pub rank: u32,
    pub weight: f64,
}

/// A cache, prepared for simulation.
pub struct CachePlan {
    pub hit_time_s: f64,
    pub kind: CacheKind,
}

/// Source of cache hits: a stated hit ratio, or simulated requests for keys.
pub enum CacheKind {
    Ratio(f64),
    Recent { items: usize, keys: Arc<Zipf> },
}

/// A pool, prepared for simulation.
pub struct PoolPlan {
    pub name: String,
    pub size: u64,
    /// For each class, `true` if its jobs need a unit of the pool.
    pub concerns: Vec<bool>,
    /// For each station, `true` if a job holds a unit of the pool while it is at the station.
    pub covers: Vec<bool>,
    /// Number of pools around this pool; 0 if it is not inside another pool.
    pub depth: u32,
}

/// A fork, with the steps of each branch by class.
pub struct ForkPlan {
    pub branches: Vec<Vec<Vec<Step>>>,
}

/// A balancer, prepared for simulation.
pub struct BalancerPlan {
    pub name: String,
    pub policy: Policy,
    pub stations: Vec<u32>,
}

impl Plan {
    /// Prepares a model for simulation.
    ///
    /// # Errors
    ///
    /// All faults of the model, and all features that cannot be simulated.
    pub fn new(model: &Model) -> Result<Self, Vec<Fault>> {
        let mut faults = model.check();
        faults.extend(limits(model));
        if !faults.is_empty() {
            return Err(faults);
        }
        let pools: Vec<PoolPlan> = model
            .pools
            .iter()
            .map(|pool| pool_plan(model, pool))
            .collect();
        let balancers: Vec<BalancerPlan> = (model.behaviour.balancers.iter())
            .map(|balancer| BalancerPlan {
                name: balancer.name.clone(),
                policy: balancer.policy,
                stations: balancer
                    .stations
                    .iter()
                    .map(|name| station_index(model, name))
                    .collect(),
            })
            .collect();
        let stations: Vec<StationPlan> = (0..model.stations.len())
            .map(|index| station_plan(model, index, &balancers))
            .collect();
        let visits = Visits {
            model,
            pools: &pools,
            balancers: &balancers,
        };
        let keeps = model.keeps_distances();
        let classes: Vec<ClassPlan> = (keeps.iter().enumerate())
            .map(|(index, &keeps)| visits.class_plan(index, keeps))
            .collect();
        let forks = (model.forks.iter())
            .map(|fork| ForkPlan {
                branches: (0..model.classes.len())
                    .map(|class| {
                        fork.branches
                            .iter()
                            .map(|branch| visits.branch(class, branch))
                            .collect()
                    })
                    .collect(),
            })
            .collect();
        Ok(Self {
            shortest_s: shortest(model),
            rounds: model.events_of_rounds(&keeps),
            gives_up: classes.iter().any(|class| class.patience_s.is_some()),
            classes,
            stations,
            pools,
            forks,
            balancers,
        })
    }

    /// Returns the number of events after which a replication only repeats itself.
    pub fn events_at_most(&self) -> u64 {
        let repeats = self.classes.iter().all(|class| class.keeps_distances);
        self.rounds.filter(|_| repeats).unwrap_or(u64::MAX)
    }
}

/// Returns a fault for each part of a model that the simulator does not support, such as too many pools.
fn limits(model: &Model) -> Vec<Fault> {
    let mut faults = Vec::new();
    if model.pools.len() > POOLS_AT_MOST {
        let message = format!(
            "must be at most {POOLS_AT_MOST} to be simulated, got {} instead",
            model.pools.len()
        );
        faults.push(Fault::new(&["pools"], message));
    }
    for fork in &model.forks {
        for route in &model.routing {
            if fork.classes.is_empty() || fork.classes.contains(&route.class) {
                let message = format!(
                    "must be of classes without routing to be simulated, got {:?} too",
                    route.class
                );
                faults.push(Fault::new(&["forks", &fork.name, "classes"], message));
            }
        }
    }
    let users: u64 = model.classes.iter().filter_map(|class| class.users).sum();
    if users > super::JOBS_AT_MOST {
        let message = format!(
            "must have at most {} users to be simulated, got {users} instead",
            super::JOBS_AT_MOST
        );
        faults.push(Fault::new(&["classes"], message));
    }
    faults
}

fn shortest(model: &Model) -> f64 {
    let services = model
        .stations
        .iter()
        .flat_map(|station| &station.services)
        .map(|service| service.service_time_s);
    services
        .filter(|&time| time > 0.0)
        .fold(f64::INFINITY, f64::min)
}

pub fn station_index(model: &Model, name: &str) -> u32 {
    model
        .stations
        .iter()
        .position(|station| station.name == name)
        .map_or(NONE, |index| index as u32)
}

fn pool_plan(model: &Model, pool: &Pool) -> PoolPlan {
    let by_name: HashMap<&str, &Pool> = model
        .pools
        .iter()
        .map(|pool| (pool.name.as_str(), pool))
        .collect();
    let mut covers = vec![false; model.stations.len()];
    let mut open = vec![pool];
    while let Some(pool) = open.pop() {
        for name in &pool.holds {
            match by_name.get(name.as_str()) {
                Some(inner) => open.push(inner),
                None => covers[station_index(model, name) as usize] = true,
            }
        }
    }
    let mut depth = 0;
    let mut inner = pool;
    while let Some(outer) = model
        .pools
        .iter()
        .find(|outer| outer.holds.contains(&inner.name))
    {
        depth += 1;
        inner = outer;
    }
    let concerns = |class: &Class| pool.classes.is_empty() || pool.classes.contains(&class.name);
    PoolPlan {
        name: pool.name.clone(),
        size: pool.size,
        concerns: model.classes.iter().map(concerns).collect(),
        covers,
        depth,
    }
}

fn station_plan(model: &Model, index: usize, balancers: &[BalancerPlan]) -> StationPlan {
    let station = &model.stations[index];
    let behaviour = &model.behaviour;
    let feedback = behaviour
        .feedback
        .iter()
        .find(|candidate| candidate.station == station.name);
    let levels = feedback.map_or(1, |found| found.levels);
    let by_rank = station.discipline == Discipline::Priority;
    let mut ranks: Vec<u32> = model
        .classes
        .iter()
        .filter(|class| by_rank && station.service(&class.name).is_some())
        .map(|class| model.rank(class, station))
        .collect();
    ranks.sort_unstable();
    ranks.dedup();
    let failure = behaviour
        .failures
        .iter()
        .find(|candidate| candidate.station == station.name)
        .map(|failure| {
            let other = failure
                .failover
                .as_ref()
                .map_or(NONE, |name| station_index(model, name));
            (
                Times::Exponential(failure.up_s),
                Times::Exponential(failure.down_s),
                other,
            )
        });
    let balancer = balancers
        .iter()
        .position(|balancer| balancer.stations.contains(&(index as u32)));
    let services = model.classes.iter().map(|class| {
        let service = station.service(&class.name)?;
        let matching = |name: &str, other: &str| name == station.name && other == class.name;
        let samples = behaviour
            .samples
            .iter()
            .find(|candidate| matching(&candidate.station, &candidate.class));
        let weight = behaviour
            .weights
            .iter()
            .find(|candidate| matching(&candidate.station, &candidate.class));
        Some(ServicePlan {
            times: samples
                .filter(|_| service.service_time_s > 0.0)
                .map_or_else(
                    || Times::new(service.service_time_s, service.variation),
                    |samples| Times::of_samples(&samples.values_s, service.service_time_s),
                ),
            rank: ranks
                .binary_search(&model.rank(class, station))
                .map_or(0, |rank| rank as u32),
            weight: weight.map_or(1.0, |found| found.weight),
        })
    });
    let cache = cache_plan(model, &station.name);
    StationPlan {
        takes_all: failure.is_none() && cache.is_none() && station.capacity.is_none(),
        name: station.name.clone(),
        kind: kind(station.discipline, !station.rates.is_empty()),
        servers: station.servers,
        capacity: station
            .capacity
            .map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX)),
        preemptive: station.preemptive,
        top_rate: station.rates.iter().copied().fold(0.0, f64::max),
        rates: station.rates.clone(),
        ranks: (ranks.len().max(1) as u32) + levels - 1,
        quantum_s: feedback.map_or(f64::INFINITY, |found| found.quantum_s),
        levels,
        balancer: balancer.map_or(NONE, |index| index as u32),
        failure,
        cache,
        services: services.collect(),
    }
}

fn kind(discipline: Discipline, has_rates: bool) -> Kind {
    match (discipline, has_rates) {
        (Discipline::Delay, _) => Kind::Delay,
        (Discipline::Ps, _) => Kind::Shared,
        (Discipline::LcfsPr, false) => Kind::Stack,
        (Discipline::LcfsPr, true) => Kind::Clocked(true),
        (_, false) => Kind::Servers,
        (_, true) => Kind::Clocked(false),
    }
}

fn cache_plan(model: &Model, station: &str) -> Option<CachePlan> {
    let cache = model
        .behaviour
        .caches
        .iter()
        .find(|candidate| candidate.station == station)?;
    let kind = match (cache.hit_ratio, cache.items, cache.keys) {
        (None, Some(items), Some(keys)) => CacheKind::Recent {
            items: items as usize,
            keys: Arc::new(Zipf::new(keys as usize, cache.skew)),
        },
        (ratio, ..) => CacheKind::Ratio(ratio.unwrap_or(0.0)),
    };
    Some(CachePlan {
        hit_time_s: cache.hit_time_s,
        kind,
    })
}

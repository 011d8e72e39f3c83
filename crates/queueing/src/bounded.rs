//! The Markov chain of a station with a limited capacity.
//!
//! The times between arrivals and the service times consist of exponential phases. Jobs are served in the order of
//! arrival or by rank, or they share the servers.

mod figures;
mod moves;

use std::collections::{HashMap, HashSet};

use crate::levels::{Level, operations, stationary};
use crate::model::Discipline;
use crate::network::{Center, Speed};
use crate::shape::{Phases, Shape};

/// Limit on the operations to solve one station. [1]
const OPERATIONS_AT_MOST: f64 = 3e8;
/// Limit on the states of a level, that is, all states with the same number of jobs. The matrices of a level have one
/// row and one column per state. [1]
const STATES_AT_MOST: usize = 400;

/// A stream of jobs of one class to the station.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Index of the class in the network.
    pub class: usize,
    /// Rate at which the stream visits the station. [1/s]
    pub rate: f64,
    /// Distribution of the times between arrivals of the stream.
    pub gaps: Shape,
}

/// Mean number of jobs and loss of each stream.
#[derive(Clone, Debug)]
pub struct Found {
    /// Mean number of jobs at the station, by stream.
    pub jobs: Vec<f64>,
    /// Share of arrivals that are dropped because the station is full, by stream.
    pub loss: Vec<f64>,
}

/// Order in which jobs are served.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    /// Waiting jobs begin service by rank, and within a rank in the order of arrival.
    Turn,
    /// All jobs are in service at once and share the servers equally.
    Shared,
    /// The jobs with the best ranks are in service; they interrupt jobs with worse ranks. The state does not record
    /// which jobs have begun service, which has no effect with exponential service times.
    Interrupted,
    /// As [`Order::Interrupted`], and the state records the phases of the jobs that have begun service. An interrupted
    /// job continues before other jobs of its rank begin.
    Resumed,
}

/// A station with a limited capacity, as a Markov chain.
struct Bounded<'a> {
    speed: &'a Speed,
    servers: u64,
    capacity: u64,
    order: Order,
    streams: Vec<Incoming>,
    kinds: Vec<Kind>,
    queues: usize,
    /// Share of each stream in the arrivals at its queue.
    shares: Vec<f64>,
}

struct Incoming {
    rate: f64,
    /// Phases of the times between arrivals; `None` for a Poisson process, which needs no phases.
    gaps: Option<Phases>,
    queue: usize,
    kind: usize,
}

/// Jobs that have the same service times. A state of the chain contains the number of these jobs in each phase of
/// service, in entries that begin at index `first`.
struct Kind {
    /// Rank of the jobs, counted from 0 for the best rank; 0 without ranks.
    queue: usize,
    mean: f64,
    phases: Phases,
    first: usize,
}

type State = Vec<u16>;

impl Kind {
    fn count(&self, state: &State) -> u64 {
        (state[self.first..self.first + self.phases.count()].iter())
            .map(|&count| u64::from(count))
            .sum()
    }
}

/// Solves the Markov chain of a station; `None` if the chain is too large. Squared coefficients of variation below
/// `floor` are raised to `floor`.
#[must_use]
pub fn solve(center: &Center, streams: &[Stream], capacity: u64, floor: f64) -> Option<Found> {
    let bounded = Bounded::of(center, streams, capacity, floor);
    let states = bounded.states()?;
    if operations(states.iter().map(Vec::len)) > OPERATIONS_AT_MOST {
        return None;
    }
    let places: Vec<HashMap<&State, usize>> = (states.iter())
        .map(|level| {
            level
                .iter()
                .enumerate()
                .map(|(place, state)| (state, place))
                .collect()
        })
        .collect();
    let levels: Vec<Level> = (0..states.len())
        .map(|number| bounded.level(&states, &places, number))
        .collect();
    Some(bounded.figures(&states, &stationary(&levels)))
}

impl<'a> Bounded<'a> {
    fn of(center: &'a Center, streams: &[Stream], capacity: u64, floor: f64) -> Self {
        let exponential =
            (streams.iter()).all(|stream| center.shape(stream.class).is_exponential());
        let order = match (center.discipline, center.preemptive) {
            (Discipline::Ps | Discipline::LcfsPr, _) => Order::Shared,
            (Discipline::Priority, true) if exponential => Order::Interrupted,
            (Discipline::Priority, true) => Order::Resumed,
            _ => Order::Turn,
        };
        let shape = |class: usize| center.scv[class].max(floor);
        let alike = |class: usize| {
            (
                center.service_time[class].to_bits(),
                shape(class).to_bits(),
                match order {
                    Order::Interrupted | Order::Resumed => center.rank[class],
                    _ => 0,
                },
            )
        };
        let mut classes: Vec<usize> = Vec::new();
        for stream in streams {
            if !classes
                .iter()
                .any(|&other| alike(other) == alike(stream.class))
            {
                classes.push(stream.class);
            }
        }
        let ranked = center.discipline == Discipline::Priority;
        let mut ranks: Vec<u32> = streams
            .iter()
            .filter(|_| ranked)
            .map(|stream| center.rank[stream.class])
            .collect();
        ranks.sort_unstable();
        ranks.dedup();
        let queue = |class: usize| {
            ranks
                .iter()
                .position(|&rank| rank == center.rank[class])
                .unwrap_or(0)
        };
        classes.sort_by_key(|&class| queue(class));
        let incoming: Vec<Incoming> = (streams.iter())
            .map(|stream| Incoming {
                rate: stream.rate,
                gaps: (!stream.gaps.is_exponential())
                    .then(|| Phases::of(stream.gaps.scv.max(floor))),
                queue: queue(stream.class),
                kind: classes
                    .iter()
                    .position(|&other| alike(other) == alike(stream.class))
                    .unwrap_or(0),
            })
            .collect();
        let queues = match order {
            Order::Turn | Order::Resumed => ranks.len().max(1),
            Order::Shared | Order::Interrupted => 0,
        };
        let mut first = incoming.len() + queues;
        let kinds = (classes.iter())
            .map(|&class| {
                let phases = Phases::of(shape(class));
                first += phases.count();
                Kind {
                    queue: queue(class),
                    mean: center.service_time[class],
                    first: first - phases.count(),
                    phases,
                }
            })
            .collect();
        let total = |queue: usize| {
            incoming
                .iter()
                .filter(|each| each.queue == queue)
                .map(|each| each.rate)
                .sum::<f64>()
        };
        let shares = incoming
            .iter()
            .map(|each| each.rate / total(each.queue))
            .collect();
        Self {
            speed: &center.speed,
            servers: match center.speed {
                Speed::Servers(servers) => u64::from(servers),
                _ => 1,
            },
            capacity,
            order,
            streams: incoming,
            kinds,
            queues,
            shares,
        }
    }

    fn present(&self, state: &State) -> u64 {
        state[self.streams.len()..]
            .iter()
            .map(|&count| u64::from(count))
            .sum()
    }

    /// Returns the speed of each job in service: the speed of the station divided by the number of jobs in service.
    fn pace(&self, present: u64) -> f64 {
        let served = match self.order {
            Order::Shared => present,
            _ => present.min(self.servers),
        };
        self.speed.at(present) / served.max(1) as f64
    }

    /// Adds a job of a stream to a state with `present` jobs. Returns the possible next states with their
    /// probabilities.
    fn joined(&self, state: &State, stream: usize, present: u64) -> Vec<(f64, State)> {
        let incoming = &self.streams[stream];
        let waits = match self.order {
            Order::Turn => present >= self.servers,
            Order::Resumed => self.up_to(state, incoming.queue) >= self.servers,
            Order::Shared | Order::Interrupted => false,
        };
        if waits {
            let mut next = state.clone();
            next[self.streams.len() + incoming.queue] += 1;
            return vec![(1.0, next)];
        }
        self.started(state, incoming.kind)
    }

    /// Returns the number of jobs of ranks up to `rank`.
    fn up_to(&self, state: &State, rank: usize) -> u64 {
        let from = self.streams.len();
        let waiting: u64 = (0..=rank).map(|queue| u64::from(state[from + queue])).sum();
        waiting
            + (0..=rank)
                .map(|queue| self.begun(state, queue))
                .sum::<u64>()
    }

    /// Returns the number of jobs of a rank that have begun service.
    fn begun(&self, state: &State, rank: usize) -> u64 {
        (self.kinds.iter())
            .filter(|kind| kind.queue == rank)
            .map(|kind| kind.count(state))
            .sum()
    }

    /// Returns the best rank with a job that begins service when a server becomes free.
    fn next(&self, state: &State) -> Option<usize> {
        let from = self.streams.len();
        let mut left = self.servers;
        for queue in 0..self.queues {
            if self.order == Order::Resumed {
                let begun = self.begun(state, queue);
                if begun >= left {
                    return None;
                }
                left -= begun;
            }
            if state[from + queue] > 0 {
                return Some(queue);
            }
        }
        None
    }

    /// Begins the service of a job of the group `kind`. Returns one next state for each phase in which the service can
    /// begin, with its probability.
    fn started(&self, state: &State, kind: usize) -> Vec<(f64, State)> {
        let Kind { phases, first, .. } = &self.kinds[kind];
        (phases.begin.iter().enumerate())
            .filter(|(_, share)| **share > 0.0)
            .map(|(phase, &share)| {
                let mut next = state.clone();
                next[first + phase] += 1;
                (share, next)
            })
            .collect()
    }

    /// Begins the service of the next waiting job, if there is one. Returns the possible next states with their
    /// probabilities.
    fn followed(&self, state: &State) -> Vec<(f64, State)> {
        let from = self.streams.len();
        let Some(queue) = self.next(state) else {
            return vec![(1.0, state.clone())];
        };
        let mut left = state.clone();
        left[from + queue] -= 1;
        (self.streams.iter().enumerate())
            .filter(|(_, stream)| stream.queue == queue)
            .flat_map(|(number, stream)| {
                let begun = self.started(&left, stream.kind);
                begun
                    .into_iter()
                    .map(move |(share, next)| (share * self.shares[number], next))
            })
            .collect()
    }

    /// Returns all reachable states, grouped by the number of jobs; `None` if a group has more than the allowed number
    /// of states.
    fn states(&self) -> Option<Vec<Vec<State>>> {
        let size = self
            .kinds
            .iter()
            .map(|kind| kind.first + kind.phases.count())
            .max()?;
        let mut found: Vec<Vec<State>> = vec![Vec::new(); self.capacity as usize + 1];
        let mut known: HashSet<State> = HashSet::new();
        let mut open = vec![vec![0_u16; size]];
        while let Some(state) = open.pop() {
            if !known.insert(state.clone()) {
                continue;
            }
            let level = &mut found[self.present(&state) as usize];
            level.push(state.clone());
            if level.len() > STATES_AT_MOST {
                return None;
            }
            open.extend(
                self.moves(&state)
                    .into_iter()
                    .map(|(_, next)| next)
                    .filter(|next| !known.contains(next)),
            );
        }
        Some(found)
    }

    fn level(
        &self,
        states: &[Vec<State>],
        places: &[HashMap<&State, usize>],
        number: usize,
    ) -> Level {
        let zeros = |other: usize| vec![vec![0.0; states[other].len()]; states[number].len()];
        let mut level = Level {
            local: zeros(number),
            ..Level::default()
        };
        if number + 1 < states.len() {
            level.up = zeros(number + 1);
        }
        if number > 0 {
            level.down = zeros(number - 1);
        }
        for (place, state) in states[number].iter().enumerate() {
            for (rate, next) in self.moves(state) {
                let other = self.present(&next) as usize;
                let to = places[other][&next];
                match other.cmp(&number) {
                    std::cmp::Ordering::Less => level.down[place][to] += rate,
                    std::cmp::Ordering::Greater => level.up[place][to] += rate,
                    std::cmp::Ordering::Equal if to != place => level.local[place][to] += rate,
                    std::cmp::Ordering::Equal => {}
                }
            }
        }
        level
    }
}

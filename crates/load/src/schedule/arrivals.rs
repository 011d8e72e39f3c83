//! Generates the arrivals of an open load.

use std::sync::Arc;

use crate::pause::nanoseconds;
use crate::plan::{Arrivals as Spacing, Load, Plan};
use crate::rng::{Alias, Random, Stream};

use super::stages::Stages;

/// Arrival of an open load: the intended start of one transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Number of the arrival in its sequence. The numbers begin with the index of the group, or with 0 if the sequence
    /// is for all groups together.
    pub index: u64,
    /// Intended start of the transaction. [ns]
    pub at_ns: u64,
    /// Time since the previous arrival of the sequence, or since the start of the run for the first arrival. [ns]
    pub gap_ns: u64,
    /// Index of the group whose user executes the transaction.
    pub group: usize,
    /// Index of the transaction to execute.
    pub transaction: usize,
}

/// A period in which the arrival rate changes linearly.
#[derive(Debug, Clone, Copy)]
pub(super) struct RatePiece {
    start_s: f64,
    duration_s: f64,
    from: f64,
    to: f64,
    /// Earlier end of the period, if an edit has shortened it. [ns]
    cut_ns: Option<u64>,
}

impl RatePiece {
    pub(super) fn new(
        start_s: f64,
        duration_s: f64,
        (from, to): (f64, f64),
        cut_ns: Option<u64>,
    ) -> Self {
        Self {
            start_s,
            duration_s,
            from,
            to,
            cut_ns,
        }
    }

    /// Returns the arrival rate at the actual end of the period. [1/s]
    pub(super) fn reached(self) -> f64 {
        self.cut_ns.map_or(self.to, |cut_ns| {
            let share = (cut_ns as f64 / 1e9 - self.start_s) / self.duration_s;
            self.from + (self.to - self.from) * share
        })
    }

    /// Returns the expected number of arrivals in the period: the integral of the arrival rate.
    fn integral(self) -> f64 {
        let length_s = self
            .cut_ns
            .map_or(self.duration_s, |cut_ns| cut_ns as f64 / 1e9 - self.start_s);
        length_s * f64::midpoint(self.from, self.reached())
    }

    /// Returns the time at which the integral of the rate over this period reaches `wanted`; `None` if the integral
    /// stays below `wanted`. [ns]
    ///
    /// An edit that shortens the period does not change the times of earlier arrivals.
    fn instant_of(self, wanted: f64) -> Option<u64> {
        if wanted >= self.duration_s * f64::midpoint(self.from, self.to) {
            return None;
        }
        let at_ns = nanoseconds(self.start_s + self.time_of(wanted));
        (self.cut_ns.is_none_or(|cut_ns| at_ns < cut_ns)).then_some(at_ns)
    }

    /// Returns the time t within the period at which the integral of the arrival rate reaches `wanted`. [s]
    ///
    /// t is the solution of `from` t + (`to` - `from`) t² / (2 duration) = `wanted`, in a form without cancellation.
    fn time_of(self, wanted: f64) -> f64 {
        if wanted <= 0.0 {
            return 0.0;
        }
        let slope = (self.to - self.from) / self.duration_s;
        2.0 * wanted
            / (self.from
                + (self.from * self.from + 2.0 * slope * wanted)
                    .max(0.0)
                    .sqrt())
    }
}

/// Converts times of the unit process (the arrival process with rate 1) to times of the run. As it passes each period
/// only once, the times must be given in increasing order.
#[derive(Debug, Clone)]
struct TimeChange {
    pieces: Arc<[RatePiece]>,
    piece: usize,
    /// Integral of the arrival rate from the start of the run to the start of the current period.
    base: f64,
}

impl TimeChange {
    fn new(pieces: Arc<[RatePiece]>) -> Self {
        Self {
            pieces,
            piece: 0,
            base: 0.0,
        }
    }

    /// Returns the time at which the integral of the arrival rate reaches `target`; `None` if it never does. [ns]
    fn instant_of(&mut self, target: f64) -> Option<u64> {
        loop {
            let piece = *self.pieces.get(self.piece)?;
            if let Some(at_ns) = piece.instant_of(target - self.base) {
                return Some(at_ns);
            }
            self.base += piece.integral();
            self.piece += 1;
        }
    }
}

/// The arrivals of an open load, in order of time.
///
/// Let Λ(t) be the integral of the rate up to the time t. Arrival k is at the time t with Λ(t) = k (constant), or Λ(t)
/// = `E_0` + ... + `E_k` with independent exponential variables `E_i` of mean 1 (Poisson). This is the time change of a
/// unit process (E. Çinlar, *Introduction to Stochastic Processes*, Prentice-Hall, 1975, chapter 4).
///
/// The unit process also determines the transaction of each arrival, so an edit of the stages changes only the times of
/// arrivals. If groups have their own arrivals, each group has a separate sequence. Arrivals at the same time are in
/// the order of their groups.
#[derive(Debug, Clone)]
pub struct Arrivals {
    lanes: Vec<Lane>,
    spacing: Spacing,
    shares: Alias,
    mixes: Vec<(Alias, Vec<usize>)>,
}

/// A sequence of arrivals, for one group or for all groups together.
#[derive(Debug, Clone)]
struct Lane {
    /// Group of the sequence; `None` if the sequence is for all groups together.
    group: Option<usize>,
    time: TimeChange,
    /// The next arrival of the unit process, whose time in the run is not calculated yet.
    next: Unit,
    /// The previous arrival: its time in the unit process, and its time in the run [ns].
    before: Option<(f64, u64)>,
    /// The next arrival with its time in the run; `None` until this time is calculated.
    ahead: Option<Arrival>,
    gaps: Random,
    kinds: Random,
}

/// An arrival of the unit process.
#[derive(Debug, Clone, Copy, Default)]
struct Unit {
    index: u64,
    target: f64,
    group: usize,
    transaction: usize,
}

impl Lane {
    fn new(plan: &Plan, group: Option<usize>, pieces: Arc<[RatePiece]>) -> Self {
        // Number of the random generators: 0 for a sequence of all groups together, otherwise the number of the group
        // from 1.
        let number = group.map_or(0, |group| group as u64 + 1);
        Self {
            group,
            time: TimeChange::new(pieces),
            next: Unit::default(),
            before: None,
            ahead: None,
            gaps: Random::for_stream(plan.seed, number, Stream::Gaps),
            kinds: Random::for_stream(plan.seed, number, Stream::Kinds),
        }
    }

    fn follow(&mut self, pieces: Arc<[RatePiece]>) {
        self.time = TimeChange::new(pieces);
        self.ahead = None;
        if let Some((target, at_ns)) = &mut self.before {
            // The previous arrival may belong to another thread, which has not reached its time yet. An edit may then
            // still delay or cancel it, so its time is calculated again.
            *at_ns = self.time.instant_of(*target).unwrap_or(*at_ns);
        }
    }

    fn peek(&mut self) -> Option<Arrival> {
        if self.ahead.is_none() {
            let Unit {
                index,
                target,
                group,
                transaction,
            } = self.next;
            let at_ns = self.time.instant_of(target)?;
            let before_ns = self.before.map_or(0, |(_, at_ns)| at_ns);
            self.ahead = Some(Arrival {
                // The number of the arrival selects the load thread. The first arrivals of different groups get
                // different numbers, so that they go to different threads.
                index: index + self.group.unwrap_or(0) as u64,
                at_ns,
                gap_ns: at_ns.saturating_sub(before_ns),
                group,
                transaction,
            });
        }
        self.ahead
    }
}

impl Arrivals {
    /// Creates the arrivals of a plan; none for a closed load.
    #[must_use]
    pub fn new(plan: &Plan, stages: &Stages) -> Self {
        let spacing = match &plan.load {
            Load::Open { arrivals, .. } => *arrivals,
            Load::Closed { .. } => Spacing::Constant,
        };
        let shares: Vec<f64> = plan.groups.iter().map(|group| group.share).collect();
        let mixes = plan.groups.iter().map(|group| {
            let weights: Vec<f64> = group.mix.iter().map(|entry| entry.weight).collect();
            (
                Alias::new(&weights),
                group.mix.iter().map(|entry| entry.transaction).collect(),
            )
        });
        let by_group = plan.load.is_by_group();
        let lanes = stages.pieces().into_iter().enumerate();
        let mut arrivals = Self {
            lanes: lanes
                .map(|(number, pieces)| {
                    Lane::new(plan, by_group.then_some(number), pieces.concat().into())
                })
                .collect(),
            spacing,
            shares: Alias::new(&shares),
            mixes: mixes.collect(),
        };
        for lane in 0..arrivals.lanes.len() {
            arrivals.lanes[lane].next = arrivals.unit(lane, 0, 0.0);
        }
        arrivals
    }

    /// Generates the next random arrival of the unit process.
    fn unit(&mut self, lane: usize, index: u64, before: f64) -> Unit {
        let lane = &mut self.lanes[lane];
        let target = match self.spacing {
            Spacing::Constant => index as f64,
            Spacing::Poisson => before + lane.gaps.exponential(),
        };
        let group = lane
            .group
            .unwrap_or_else(|| self.shares.draw(&mut lane.kinds));
        let (mix, transactions) = &self.mixes[group];
        let transaction = transactions[mix.draw(&mut lane.kinds)];
        Unit {
            index,
            target,
            group,
            transaction,
        }
    }

    /// Continues with the stages after an edit. The edit does not change the stages before its time, so arrivals before
    /// it keep their times.
    pub fn follow(&mut self, stages: &Stages) {
        for (lane, pieces) in self.lanes.iter_mut().zip(stages.pieces()) {
            lane.follow(pieces.concat().into());
        }
    }

    fn first(&mut self) -> Option<(usize, Arrival)> {
        let lanes = self.lanes.iter_mut().enumerate();
        let next = lanes.filter_map(|(number, lane)| Some((number, lane.peek()?)));
        next.min_by_key(|(_, arrival)| arrival.at_ns)
    }

    /// Returns the next arrival without removing it.
    #[must_use]
    pub fn peek(&mut self) -> Option<Arrival> {
        self.first().map(|(_, arrival)| arrival)
    }

    /// Removes and returns the next arrival if `take` returns `true` for it.
    pub fn next_if(&mut self, take: impl FnOnce(&Arrival) -> bool) -> Option<Arrival> {
        let (number, next) = self.first().filter(|(_, arrival)| take(arrival))?;
        let lane = &mut self.lanes[number];
        lane.ahead = None;
        lane.before = Some((lane.next.target, next.at_ns));
        let Unit { index, target, .. } = lane.next;
        self.lanes[number].next = self.unit(number, index + 1, target);
        Some(next)
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        self.next_if(|_| true)
    }
}

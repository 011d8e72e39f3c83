//! When users and arrivals start: pure functions of the plan and the seed, the same in every thread.

use crate::pause::nanoseconds;
use crate::plan::{Arrivals as Spacing, Load, Phase, Plan};
use crate::recorder::writer::Stage;
use crate::rng::{Alias, Random, Stream};

/// Name of the stage that the engine appends to those of the plan: users finish what they have in hand.
pub const DRAIN: &str = "drain";

/// Stages of the plan with their times, and the drain behind them, which has no nominal length.
#[must_use]
pub fn stages(plan: &Plan) -> Vec<Stage> {
    let mut start_s = 0.0;
    let mut stages = Vec::new();
    let mut append = |name: &str, phase: Phase, level, duration_s: f64, users, rate| {
        let end_s = start_s + duration_s;
        let phase = phase.name().to_owned();
        stages.push(Stage {
            name: name.to_owned(),
            phase,
            level,
            start_s,
            end_s,
            users,
            rate,
        });
        start_s = end_s;
    };
    match &plan.load {
        Load::Closed { stages, .. } => {
            for one in stages {
                append(
                    &one.name,
                    one.phase,
                    one.level,
                    one.duration_s,
                    Some(u64::from(one.users)),
                    None,
                );
            }
            append(
                DRAIN,
                Phase::RampDown,
                stages.last().map_or(0, |last| last.level),
                0.0,
                Some(0),
                None,
            );
        }
        Load::Open { stages, .. } => {
            for one in stages {
                append(
                    &one.name,
                    one.phase,
                    one.level,
                    one.duration_s,
                    None,
                    Some(one.rate),
                );
            }
            append(
                DRAIN,
                Phase::RampDown,
                stages.last().map_or(0, |last| last.level),
                0.0,
                None,
                Some(0.0),
            );
        }
    }
    stages
}

/// A user starts, or is told to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// When. [ns]
    pub at_ns: u64,
    /// Which user.
    pub user: u32,
    /// Whether it starts.
    pub starts: bool,
}

/// All starts and departures of a closed load, in order of time.
///
/// User i of a ramp from a to b over d starts at d (i - a) / (b - a), i = a ... b - 1; in a ramp from b down to a the
/// users leave in turn from the highest number, at the same instants.
#[derive(Debug, Clone)]
pub struct Moves {
    ramps: Vec<Ramp>,
    ramp: usize,
    step: u32,
}

#[derive(Debug, Clone, Copy)]
struct Ramp {
    start_ns: u64,
    duration_ns: u64,
    from: u32,
    to: u32,
}

impl Moves {
    /// The moves of a plan; none with an open load.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let mut ramps = Vec::new();
        if let Load::Closed {
            stages: planned, ..
        } = &plan.load
        {
            let mut from = 0;
            for (stage, timed) in planned.iter().zip(stages(plan)) {
                let (start_ns, duration_ns) =
                    (nanoseconds(timed.start_s), nanoseconds(stage.duration_s));
                ramps.push(Ramp {
                    start_ns,
                    duration_ns,
                    from,
                    to: stage.users,
                });
                from = stage.users;
            }
        }
        Self {
            ramps,
            ramp: 0,
            step: 0,
        }
    }
}

impl Iterator for Moves {
    type Item = Move;

    fn next(&mut self) -> Option<Move> {
        loop {
            let ramp = self.ramps.get(self.ramp)?;
            let steps = ramp.from.abs_diff(ramp.to);
            if self.step == steps {
                self.ramp += 1;
                self.step = 0;
                continue;
            }
            let offset_ns =
                u128::from(ramp.duration_ns) * u128::from(self.step) / u128::from(steps);
            let starts = ramp.to > ramp.from;
            let user = if starts {
                ramp.from + self.step
            } else {
                ramp.from - 1 - self.step
            };
            self.step += 1;
            return Some(Move {
                at_ns: ramp.start_ns + offset_ns as u64,
                user,
                starts,
            });
        }
    }
}

/// Group of every user, so that any first n users have the shares as exactly as whole users can: each next user goes to
/// the group that is furthest behind its share (largest remainder), among those below their upper quota.
#[must_use]
pub fn assign_groups(shares: &[f64], users: usize) -> Vec<u16> {
    let mut counts = vec![0_u32; shares.len()];
    let mut groups = Vec::with_capacity(users);
    for number in 1..=users {
        let behind = |index: usize| shares[index] * number as f64 - f64::from(counts[index]);
        let mut best = 0;
        for index in 1..shares.len() {
            // Shares such as 0.1 are not exact; a tie within rounding goes to the group named first.
            if behind(index) > behind(best) + 1e-9 {
                best = index;
            }
        }
        counts[best] += 1;
        groups.push(best as u16);
    }
    groups
}

/// One transaction that an open load wants started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Number in the common sequence.
    pub index: u64,
    /// Intended start. [ns]
    pub at_ns: u64,
    /// Time since the arrival before it in the common sequence; of the first, since the start of the run. [ns]
    pub gap_ns: u64,
    /// Group of the user that does it.
    pub group: usize,
    /// What is done.
    pub transaction: usize,
}

/// The arrivals of an open load, in order of time.
///
/// Arrival k is at the time t with Λ(t) = k (constant), or Λ(t) = `E_0` + ... + `E_k` with exponential E of mean 1
/// (Poisson), where Λ is the integral of the rate: the time change of a unit process (E. Çinlar, *Introduction to
/// Stochastic Processes*, Prentice-Hall, 1975, chapter 4).
#[derive(Debug, Clone)]
pub struct Arrivals {
    spacing: Spacing,
    pieces: Vec<RatePiece>,
    piece: usize,
    /// Integral of the rate at the start of the piece in hand.
    base: f64,
    /// Integral of the rate at the next arrival.
    target: f64,
    index: u64,
    /// Intended start of the arrival before. [ns]
    before_ns: u64,
    gaps: Random,
    kinds: Random,
    shares: Alias,
    mixes: Vec<(Alias, Vec<usize>)>,
}

#[derive(Debug, Clone, Copy)]
struct RatePiece {
    start_s: f64,
    duration_s: f64,
    from: f64,
    to: f64,
}

impl RatePiece {
    fn integral(self) -> f64 {
        self.duration_s * f64::midpoint(self.from, self.to)
    }

    /// Time within the piece at which the integral reaches `wanted`: the root of
    /// from t + (to - from) t² / (2 duration) = wanted, in the form that does not cancel.
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

impl Arrivals {
    /// The arrivals of a plan; none with a closed load.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let mut pieces = Vec::new();
        let mut spacing = Spacing::Constant;
        if let Load::Open {
            stages: planned,
            arrivals,
            ..
        } = &plan.load
        {
            spacing = *arrivals;
            let mut before = 0.0;
            for (stage, timed) in planned.iter().zip(stages(plan)) {
                let moves = matches!(stage.phase, Phase::RampUp | Phase::RampDown);
                let from = if moves { before } else { stage.rate };
                pieces.push(RatePiece {
                    start_s: timed.start_s,
                    duration_s: stage.duration_s,
                    from,
                    to: stage.rate,
                });
                before = stage.rate;
            }
        }
        let mut gaps = Random::for_stream(plan.seed, 0, Stream::Gaps);
        let target = if spacing == Spacing::Poisson {
            gaps.exponential()
        } else {
            0.0
        };
        let shares: Vec<f64> = plan.groups.iter().map(|group| group.share).collect();
        let mixes = plan.groups.iter().map(|group| {
            let weights: Vec<f64> = group.mix.iter().map(|entry| entry.weight).collect();
            (
                Alias::new(&weights),
                group.mix.iter().map(|entry| entry.transaction).collect(),
            )
        });
        Self {
            spacing,
            pieces,
            piece: 0,
            base: 0.0,
            target,
            index: 0,
            before_ns: 0,
            gaps,
            kinds: Random::for_stream(plan.seed, 0, Stream::Kinds),
            shares: Alias::new(&shares),
            mixes: mixes.collect(),
        }
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        loop {
            let piece = *self.pieces.get(self.piece)?;
            let integral = piece.integral();
            let wanted = self.target - self.base;
            if wanted >= integral {
                self.base += integral;
                self.piece += 1;
                continue;
            }
            let at_ns = nanoseconds(piece.start_s + piece.time_of(wanted));
            let index = self.index;
            self.index += 1;
            let gap_ns = at_ns.saturating_sub(self.before_ns);
            self.before_ns = at_ns;
            self.target = match self.spacing {
                Spacing::Constant => self.index as f64,
                Spacing::Poisson => self.target + self.gaps.exponential(),
            };
            let group = self.shares.draw(&mut self.kinds);
            let (mix, transactions) = &self.mixes[group];
            let transaction = transactions[mix.draw(&mut self.kinds)];
            return Some(Arrival {
                index,
                at_ns,
                gap_ns,
                group,
                transaction,
            });
        }
    }
}

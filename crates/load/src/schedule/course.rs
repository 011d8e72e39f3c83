//! The stages of a load with their times, and how edits change them while it runs.

use std::fmt;
use std::sync::Arc;

use crate::pause::nanoseconds;
use crate::plan::{ClosedStage, Load, OpenStage, Phase, Plan, StageList, Until};
use crate::recorder::writer::Stage;

use super::arrivals::RatePiece;
use super::moves::Ramp;

/// Name of the stage that the engine appends to those of the plan: users finish what they have in hand.
pub const DRAIN: &str = "drain";

/// A change of the stages.
#[derive(Debug, Clone)]
pub enum Change {
    /// This stage ends.
    Next(usize),
    /// Further stages after the last one.
    Append(StageList),
}

/// A change of the stages and its instant, at which it takes place in all threads.
#[derive(Debug, Clone)]
pub struct Edit {
    /// When, a whole millisecond. What is before it stays as it was. [ns]
    pub at_ns: u64,
    /// What changes.
    pub change: Change,
}

/// Why an edit does not fit the stages as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Stages in order, with their actual times as far as they are known.
#[derive(Debug, Clone, Default)]
pub struct Course {
    stages: Vec<Timed>,
    closed: bool,
    /// Edits that made it what it is.
    edits: usize,
}

#[derive(Debug, Clone)]
struct Timed {
    name: String,
    phase: Phase,
    level: usize,
    told: bool,
    start_s: f64,
    /// Actual end; before `start_s + duration_s` where the stage was cut short. [s]
    end_s: f64,
    duration_s: f64,
    amount: Amount,
}

#[derive(Debug, Clone)]
enum Amount {
    /// Users at the end.
    Users(u32),
    /// Rate at the end. [1/s]
    Rate(f64),
}

impl Timed {
    fn closed(stage: &ClosedStage) -> Self {
        Self::new(
            (&stage.name, stage.phase, stage.level),
            (stage.duration_s, stage.until),
            Amount::Users(stage.users),
        )
    }

    fn open(stage: &OpenStage) -> Self {
        Self::new(
            (&stage.name, stage.phase, stage.level),
            (stage.duration_s, stage.until),
            Amount::Rate(stage.rate),
        )
    }

    fn new(
        (name, phase, level): (&str, Phase, usize),
        (duration_s, until): (f64, Option<Until>),
        amount: Amount,
    ) -> Self {
        Self {
            name: name.to_owned(),
            phase,
            level,
            told: until == Some(Until::Told),
            start_s: 0.0,
            end_s: 0.0,
            duration_s,
            amount,
        }
    }

    /// When it was cut short, if it was. [ns]
    fn cut_ns(&self) -> Option<u64> {
        let short = self.end_s < self.start_s + self.duration_s;
        short.then(|| nanoseconds(self.end_s))
    }
}

impl Course {
    /// The stages of a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let (closed, stages) = match &plan.load {
            Load::Closed { stages, .. } => (true, stages.iter().map(Timed::closed).collect()),
            Load::Open { stages, .. } => (false, stages.iter().map(Timed::open).collect()),
        };
        let mut course = Self {
            stages,
            closed,
            edits: 0,
        };
        course.time_from(0);
        course
    }

    /// Times the stages from this one on: each begins where the one before it ends.
    fn time_from(&mut self, first: usize) {
        let mut start_s = match first {
            0 => 0.0,
            _ => self.stages[first - 1].end_s,
        };
        for stage in &mut self.stages[first..] {
            stage.start_s = start_s;
            stage.end_s = start_s + stage.duration_s;
            start_s = stage.end_s;
        }
    }

    /// Number of stages, the drain not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stages.len()
    }

    /// Whether there is no stage.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// Edits that it went through.
    #[must_use]
    pub fn edits(&self) -> usize {
        self.edits
    }

    /// End of each stage; the drain, behind them, has none. [ns]
    #[must_use]
    pub fn ends_ns(&self) -> Vec<u64> {
        self.stages
            .iter()
            .map(|stage| nanoseconds(stage.end_s))
            .collect()
    }

    /// End of one stage; the drain has none. [ns]
    #[must_use]
    pub fn end_ns(&self, stage: usize) -> Option<u64> {
        self.stages.get(stage).map(|one| nanoseconds(one.end_s))
    }

    /// The stage under way at this time, if not the drain.
    #[must_use]
    pub fn stage_at(&self, now_ns: u64) -> Option<usize> {
        self.stages
            .iter()
            .position(|stage| now_ns < nanoseconds(stage.end_s))
    }

    /// Whether an edit fits, if it was asked for at `now_ns`.
    ///
    /// # Errors
    /// [`Refused`] with the reason.
    pub fn check(&self, edit: &Edit, now_ns: u64) -> Result<(), Refused> {
        let refused = |why: String| Err(Refused(why));
        let Some(current) = self.stage_at(now_ns) else {
            return refused("the drain has begun".to_owned());
        };
        match edit.change {
            Change::Next(stage) if stage >= self.len() => {
                refused(format!("there is no stage {stage} of {}", self.len()))
            }
            Change::Next(stage) if stage != current => refused(format!(
                "stage {stage} is not under way, stage {current} is"
            )),
            Change::Next(stage) if !self.stages[stage].told => {
                refused(format!("stage {stage} has no until: told"))
            }
            Change::Next(stage) if edit.at_ns >= nanoseconds(self.stages[stage].end_s) => {
                refused(format!("stage {stage} is about to end by itself"))
            }
            Change::Append(_) if self.stage_at(edit.at_ns).is_none() => {
                refused("the drain is about to begin".to_owned())
            }
            Change::Next(_) | Change::Append(_) => Ok(()),
        }
    }

    /// Takes an edit in.
    pub fn apply(&mut self, edit: &Edit) {
        self.edits += 1;
        match &edit.change {
            Change::Next(stage) => {
                self.stages[*stage].end_s = edit.at_ns as f64 / 1e9;
                self.time_from(stage + 1);
            }
            Change::Append(more) => {
                let first = self.len();
                match more {
                    StageList::Closed(more) => {
                        self.stages.extend(more.iter().map(Timed::closed));
                    }
                    StageList::Open(more) => self.stages.extend(more.iter().map(Timed::open)),
                }
                self.time_from(first);
            }
        }
    }

    /// The stages as results tell them, and the drain behind them, which has no nominal length.
    #[must_use]
    pub fn stages(&self) -> Vec<Stage> {
        let ramps = self.ramps();
        let pieces = self.pieces();
        let mut told: Vec<Stage> = Vec::with_capacity(self.len() + 1);
        for (number, stage) in self.stages.iter().enumerate() {
            told.push(Stage {
                name: stage.name.clone(),
                phase: stage.phase.name().to_owned(),
                level: stage.level,
                start_s: stage.start_s,
                end_s: stage.end_s,
                users: self.closed.then(|| u64::from(ramps[number].reached())),
                rate: (!self.closed).then(|| pieces[number].reached()),
            });
        }
        let end_s = self.stages.last().map_or(0.0, |last| last.end_s);
        told.push(Stage {
            name: DRAIN.to_owned(),
            phase: Phase::RampDown.name().to_owned(),
            level: self.stages.last().map_or(0, |last| last.level),
            start_s: end_s,
            end_s,
            users: self.closed.then_some(0),
            rate: (!self.closed).then_some(0.0),
        });
        told
    }

    /// How the number of users moves; none with an open load.
    pub(super) fn ramps(&self) -> Vec<Ramp> {
        let mut from = 0;
        let mut ramps = Vec::new();
        for stage in &self.stages {
            if let Amount::Users(to) = stage.amount {
                let ramp = Ramp::new(
                    nanoseconds(stage.start_s),
                    nanoseconds(stage.duration_s),
                    (from, to),
                    stage.cut_ns(),
                );
                from = ramp.reached();
                ramps.push(ramp);
            }
        }
        ramps
    }

    /// How the rate of arrivals moves; none with a closed load.
    pub(super) fn pieces(&self) -> Arc<[RatePiece]> {
        let mut before = 0.0;
        let mut pieces = Vec::new();
        for stage in &self.stages {
            if let Amount::Rate(to) = stage.amount {
                let moves = matches!(stage.phase, Phase::RampUp | Phase::RampDown);
                let from = if moves { before } else { to };
                let piece =
                    RatePiece::new(stage.start_s, stage.duration_s, (from, to), stage.cut_ns());
                before = piece.reached();
                pieces.push(piece);
            }
        }
        pieces.into()
    }
}

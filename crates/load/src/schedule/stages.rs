//! The load stages with their times, and edits that change them during the run.

use std::fmt;
use std::sync::Arc;

use crate::pause::nanoseconds;
use crate::plan::{ClosedStage, Load, OpenStage, Phase, Plan, Rate, StageList, Until};
use crate::recorder::writer::Stage;

use super::arrivals::RatePiece;
use super::user_changes::Ramp;

/// Name of the stage that the engine appends to the planned stages. In it, users finish their current work.
pub const DRAIN: &str = "drain";

/// A change of the load stages.
#[derive(Debug, Clone)]
pub enum Change {
    /// End the stage with this index now.
    Next(usize),
    /// Append these stages after the last stage.
    Append(StageList),
}

/// A change of the load stages, and the time at which all load threads make it.
#[derive(Debug, Clone)]
pub struct Edit {
    /// Time of the change, a multiple of a millisecond. Events before this time stay unchanged. [ns]
    pub at_ns: u64,
    /// The change itself.
    pub change: Change,
}

/// Reason why an edit cannot be applied to the current stages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The load stages in order, with actual times of past stages and planned times of later stages.
#[derive(Debug, Clone, Default)]
pub struct Stages {
    in_order: Vec<Timed>,
    closed: bool,
    /// `true` if each group has its own users or arrivals; `false` if users or arrivals are for all groups together.
    by_group: bool,
    /// Number of the first user of each group, if the plan gives users by group.
    first_users: Vec<u32>,
    /// Number of edits applied to the stages.
    edits: usize,
}

#[derive(Debug, Clone)]
struct Timed {
    name: String,
    phase: Phase,
    level: usize,
    ends_by_command: bool,
    start_s: f64,
    /// Actual end of the stage. It is before `start_s + duration_s` if an edit has shortened the stage. [s]
    end_s: f64,
    duration_s: f64,
    amount: Amount,
}

/// Users or arrival rate of a stage, for all groups together or for each group.
#[derive(Debug, Clone)]
enum Amount {
    /// Numbers of users at the end of the stage.
    Users(Vec<u32>),
    /// Arrival rates over the stage.
    Rates(Arc<[Rate]>),
}

impl Timed {
    fn closed(stage: &ClosedStage) -> Self {
        Self::new(
            (&stage.name, stage.phase, stage.level),
            (stage.duration_s, stage.until),
            Amount::Users(stage.amounts()),
        )
    }

    fn open(stage: &OpenStage) -> Self {
        Self::new(
            (&stage.name, stage.phase, stage.level),
            (stage.duration_s, stage.until),
            Amount::Rates(stage.amounts().into()),
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
            ends_by_command: until == Some(Until::Command),
            start_s: 0.0,
            end_s: 0.0,
            duration_s,
            amount,
        }
    }

    fn plain_piece(&self, before: f64, to: f64) -> RatePiece {
        let moves = matches!(self.phase, Phase::RampUp | Phase::RampDown);
        let from = if moves { before } else { to };
        RatePiece::new(self.start_s, self.duration_s, (from, to), self.cut_ns())
    }

    /// Returns the periods of the stage in which the rate is linear: one between every two consecutive points, and one
    /// with constant rate after the last point.
    fn moving_pieces(&self, knots: &[(f64, f64)]) -> Vec<RatePiece> {
        let last = knots.last().map(|(at_s, rate)| {
            let rest_s = (self.duration_s - at_s).max(0.0);
            ((*at_s, *rate), (at_s + rest_s, *rate))
        });
        let pairs = knots.windows(2).map(|pair| (pair[0], pair[1])).chain(last);
        let end_ns = nanoseconds(self.end_s);
        let mut pieces = Vec::with_capacity(knots.len());
        for ((at_s, from), (until_s, to)) in pairs {
            let start_s = self.start_s + at_s;
            if nanoseconds(start_s) >= end_ns {
                break;
            }
            let cut = nanoseconds(self.start_s + until_s) > end_ns;
            let cut_ns = cut.then_some(end_ns);
            pieces.push(RatePiece::new(start_s, until_s - at_s, (from, to), cut_ns));
        }
        pieces
    }

    /// Returns the end of the stage if an edit has shortened the stage. [ns]
    fn cut_ns(&self) -> Option<u64> {
        let short = self.end_s < self.start_s + self.duration_s;
        short.then(|| nanoseconds(self.end_s))
    }
}

impl Stages {
    /// Creates the load stages of a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let (closed, stages) = match &plan.load {
            Load::Closed { stages, .. } => (true, stages.iter().map(Timed::closed).collect()),
            Load::Open { stages, .. } => (false, stages.iter().map(Timed::open).collect()),
        };
        let most = plan.load.users_of_groups();
        let first_users = most.iter().scan(0, |next, users| {
            let first = *next;
            *next += users;
            Some(first)
        });
        let mut stages = Self {
            in_order: stages,
            closed,
            by_group: plan.load.is_by_group(),
            first_users: first_users.collect(),
            edits: 0,
        };
        stages.time_from(0);
        stages
    }

    /// Calculates the times of the stages from index `first` on. Each stage begins at the end of the previous stage.
    fn time_from(&mut self, first: usize) {
        let mut start_s = match first {
            0 => 0.0,
            _ => self.in_order[first - 1].end_s,
        };
        for stage in &mut self.in_order[first..] {
            stage.start_s = start_s;
            stage.end_s = start_s + stage.duration_s;
            start_s = stage.end_s;
        }
    }

    /// Returns the number of stages without the drain.
    #[must_use]
    pub fn len(&self) -> usize {
        self.in_order.len()
    }

    /// Returns `true` if there is no stage.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.in_order.is_empty()
    }

    /// Returns the number of edits applied.
    #[must_use]
    pub fn edits(&self) -> usize {
        self.edits
    }

    /// Returns the end of each stage except the drain, which has no end. [ns]
    #[must_use]
    pub fn ends_ns(&self) -> Vec<u64> {
        self.in_order
            .iter()
            .map(|stage| nanoseconds(stage.end_s))
            .collect()
    }

    /// Returns the end of a stage; `None` for the drain. [ns]
    #[must_use]
    pub fn end_ns(&self, stage: usize) -> Option<u64> {
        self.in_order
            .get(stage)
            .map(|stage| nanoseconds(stage.end_s))
    }

    /// Returns the index of the stage at the time `now_ns`; `None` during the drain.
    #[must_use]
    pub fn stage_at(&self, now_ns: u64) -> Option<usize> {
        self.in_order
            .iter()
            .position(|stage| now_ns < nanoseconds(stage.end_s))
    }

    /// Checks that an edit requested at `now_ns` can be applied.
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
                refused(format!("no stage {stage}: there are {} stages", self.len()))
            }
            Change::Next(stage) if stage != current => refused(format!(
                "stage {stage} is not the current stage, stage {current} is"
            )),
            Change::Next(stage) if !self.in_order[stage].ends_by_command => refused(format!(
                "stage {stage} cannot be ended, since it has no until: command"
            )),
            Change::Next(stage) if edit.at_ns >= nanoseconds(self.in_order[stage].end_s) => {
                refused(format!("stage {stage} is about to end anyway"))
            }
            Change::Append(_) if self.stage_at(edit.at_ns).is_none() => {
                refused("the drain is about to begin".to_owned())
            }
            Change::Next(_) | Change::Append(_) => Ok(()),
        }
    }

    /// Applies an edit to the stages.
    pub fn apply(&mut self, edit: &Edit) {
        self.edits += 1;
        match &edit.change {
            Change::Next(stage) => {
                self.in_order[*stage].end_s = edit.at_ns as f64 / 1e9;
                self.time_from(stage + 1);
            }
            Change::Append(more) => {
                let first = self.len();
                match more {
                    StageList::Closed(more) => {
                        self.in_order.extend(more.iter().map(Timed::closed));
                    }
                    StageList::Open(more) => self.in_order.extend(more.iter().map(Timed::open)),
                }
                self.time_from(first);
            }
        }
    }

    /// Returns the stages in the form of the result files. The last stage is the drain, whose length is not planned.
    #[must_use]
    pub fn listed(&self) -> Vec<Stage> {
        let ramps: Vec<Vec<Ramp>> = self.ramps();
        let pieces: Vec<Vec<Vec<RatePiece>>> = self.pieces();
        let mut listed: Vec<Stage> = Vec::with_capacity(self.len() + 1);
        for (number, stage) in self.in_order.iter().enumerate() {
            let users = ramps.iter().map(|lane| u64::from(lane[number].reached()));
            let rates = pieces.iter().map(|lane| reached(&lane[number]));
            listed.push(Stage {
                name: stage.name.clone(),
                phase: stage.phase.name().to_owned(),
                level: stage.level,
                start_s: stage.start_s,
                end_s: stage.end_s,
                users: self.closed.then(|| users.clone().sum()),
                rate: (!self.closed).then(|| rates.clone().sum()),
                users_by_group: (self.closed && self.by_group).then(|| users.collect()),
                rates_by_group: (!self.closed && self.by_group).then(|| rates.collect()),
            });
        }
        let end_s = self.in_order.last().map_or(0.0, |last| last.end_s);
        listed.push(Stage {
            name: DRAIN.to_owned(),
            phase: Phase::RampDown.name().to_owned(),
            level: self.in_order.last().map_or(0, |last| last.level),
            start_s: end_s,
            end_s,
            users: self.closed.then_some(0),
            rate: (!self.closed).then_some(0.0),
            users_by_group: None,
            rates_by_group: None,
        });
        listed
    }

    /// Returns the number of the first user of each group, if the plan gives users by group.
    pub(super) fn first_users(&self) -> &[u32] {
        &self.first_users
    }

    /// Returns the number of users over each stage, for all groups together or for each group; empty for an open load.
    pub(super) fn ramps(&self) -> Vec<Vec<Ramp>> {
        let mut lanes: Vec<Vec<Ramp>> = Vec::new();
        for stage in &self.in_order {
            let Amount::Users(users) = &stage.amount else {
                continue;
            };
            lanes.resize_with(users.len(), Vec::new);
            for (lane, to) in lanes.iter_mut().zip(users) {
                let from = lane.last().map_or(0, Ramp::reached);
                lane.push(Ramp::new(
                    nanoseconds(stage.start_s),
                    nanoseconds(stage.duration_s),
                    (from, *to),
                    stage.cut_ns(),
                ));
            }
        }
        lanes
    }

    /// Returns the arrival rate over each stage, for all groups together or for each group; empty for a closed load.
    pub(super) fn pieces(&self) -> Vec<Vec<Vec<RatePiece>>> {
        let mut lanes: Vec<Vec<Vec<RatePiece>>> = Vec::new();
        for stage in &self.in_order {
            let Amount::Rates(rates) = &stage.amount else {
                continue;
            };
            lanes.resize_with(rates.len(), Vec::new);
            for (lane, rate) in lanes.iter_mut().zip(rates.iter()) {
                let before = lane.last().map_or(0.0, |pieces| reached(pieces));
                lane.push(match rate {
                    Rate::Plain(to) => vec![stage.plain_piece(before, *to)],
                    Rate::Moving(knots) => stage.moving_pieces(knots),
                });
            }
        }
        lanes
    }
}

/// Returns the arrival rate at the end of a stage. [1/s]
fn reached(pieces: &[RatePiece]) -> f64 {
    pieces.last().map_or(0.0, |last| last.reached())
}

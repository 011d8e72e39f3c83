//! The load stages and the clock of the control thread.

use serde_json::{Value, json};

use crate::recorder::writer::Stage;
use crate::schedule::{Change, Edit, Stages};
use crate::sys;

/// Load stages with their times, the edits applied to them, and the clock of the run.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    stages: Stages,
    listed: Vec<Stage>,
    edits: Vec<Edit>,
    origin_ns: u64,
}

impl Timeline {
    /// Creates the timeline of a run that began when the monotonic clock showed `origin_ns`.
    pub(super) fn new(stages: Stages, origin_ns: u64) -> Self {
        Self {
            listed: stages.listed(),
            stages,
            edits: Vec::new(),
            origin_ns,
        }
    }

    /// Returns the time since the start of the run. [ns]
    pub(super) fn now_ns(&self) -> u64 {
        sys::monotonic_ns().saturating_sub(self.origin_ns)
    }

    pub(super) fn stages(&self) -> &Stages {
        &self.stages
    }

    /// Returns the stages in the form of the result files. The last stage is the drain, in which users finish.
    pub(super) fn listed(&self) -> &[Stage] {
        &self.listed
    }

    /// Returns the index of the drain, the last stage, in which users finish.
    pub(super) fn drain(&self) -> usize {
        self.stages.len()
    }

    /// Returns the index of the stage at the time `now_ns`. After the planned stages, this is the drain.
    pub(super) fn stage_at(&self, now_ns: u64) -> usize {
        self.stages.stage_at(now_ns).unwrap_or(self.drain())
    }

    /// Returns the time at which a stage ends. The drain has no end. [ns]
    pub(super) fn end_ns(&self, stage: usize) -> u64 {
        self.stages.end_ns(stage).unwrap_or(u64::MAX)
    }

    /// Returns the time of the last edit of the stages; 0 if there is no edit. [ns]
    pub(super) fn last_edit_ns(&self) -> u64 {
        self.edits.last().map_or(0, |edit| edit.at_ns)
    }

    /// Applies an edit to the stages.
    pub(super) fn follow(&mut self, edit: Edit) {
        self.stages.apply(&edit);
        self.listed = self.stages.listed();
        self.edits.push(edit);
    }

    /// Returns all edits of the stages, in the form of the result files.
    pub(super) fn edits(&self) -> Vec<Value> {
        let mut first = self.drain();
        let counts = self.edits.iter().rev().map(|edit| {
            let t_s = edit.at_ns as f64 / 1e9;
            match &edit.change {
                Change::Next(stage) => json!({"t_s": t_s, "do": "next", "stage": stage}),
                Change::Append(stages) => {
                    first -= stages.len();
                    json!({"t_s": t_s, "do": "append", "first": first, "count": stages.len()})
                }
            }
        });
        let mut listed: Vec<Value> = counts.collect();
        listed.reverse();
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::stages;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn stages_follow_one_another_until_the_drain() {
        let timeline = Timeline::new(stages(&[(2.0, 1, false), (3.0, 1, false)]), 0);
        let at = [0, 2 * SECOND - 1, 2 * SECOND, 5 * SECOND - 1, 5 * SECOND];
        assert_eq!(at.map(|ns| timeline.stage_at(ns)), [0, 0, 1, 1, 2]);
        assert_eq!(timeline.drain(), 2);
        let ends = [0, 1, 2].map(|stage| timeline.end_ns(stage));
        assert_eq!(ends, [2 * SECOND, 5 * SECOND, u64::MAX]);
        assert_eq!((timeline.last_edit_ns(), timeline.edits().len()), (0, 0));
    }

    /// The first stage ends at 1.5 s by a command; the second then lasts from 1.5 to 4.5 s.
    #[test]
    fn an_edit_moves_the_later_stages() {
        let mut timeline = Timeline::new(stages(&[(60.0, 1, true), (3.0, 1, false)]), 0);
        timeline.follow(Edit {
            at_ns: SECOND * 3 / 2,
            change: Change::Next(0),
        });
        assert_eq!(timeline.last_edit_ns(), SECOND * 3 / 2);
        assert_eq!(timeline.end_ns(1), SECOND * 9 / 2);
        let times: Vec<_> = (timeline.listed().iter())
            .map(|stage| (stage.start_s, stage.end_s))
            .collect();
        assert_eq!(times, [(0.0, 1.5), (1.5, 4.5), (4.5, 4.5)]);
        assert_eq!(
            timeline.edits(),
            [json!({"t_s": 1.5, "do": "next", "stage": 0})]
        );
    }
}

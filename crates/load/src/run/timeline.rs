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

//! The stages as the control thread knows them, and its clock.

use serde_json::{Value, json};

use crate::recorder::writer::Stage;
use crate::schedule::{Change, Course, Edit};
use crate::sys;

/// Stages with their times, the edits that made them so, and the time of the run.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    course: Course,
    stages: Vec<Stage>,
    edits: Vec<Edit>,
    origin_ns: u64,
}

impl Timeline {
    /// Begins at an instant of the monotonic clock.
    pub(super) fn new(course: Course, origin_ns: u64) -> Self {
        Self {
            stages: course.stages(),
            course,
            edits: Vec::new(),
            origin_ns,
        }
    }

    /// Time of the run. [ns]
    pub(super) fn now_ns(&self) -> u64 {
        sys::monotonic_ns().saturating_sub(self.origin_ns)
    }

    pub(super) fn course(&self) -> &Course {
        &self.course
    }

    /// The stages with the drain, which is the last.
    pub(super) fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Index of the drain.
    pub(super) fn drain(&self) -> usize {
        self.course.len()
    }

    /// Index of the stage at this time; of the drain, behind the others.
    pub(super) fn stage_at(&self, now_ns: u64) -> usize {
        self.course.stage_at(now_ns).unwrap_or(self.drain())
    }

    /// When a stage ends; the drain has no end. [ns]
    pub(super) fn end_ns(&self, stage: usize) -> u64 {
        self.course.end_ns(stage).unwrap_or(u64::MAX)
    }

    /// Instant of the last edit. [ns]
    pub(super) fn last_edit_ns(&self) -> u64 {
        self.edits.last().map_or(0, |edit| edit.at_ns)
    }

    /// An edit is made.
    pub(super) fn follow(&mut self, edit: Edit) {
        self.course.apply(&edit);
        self.stages = self.course.stages();
        self.edits.push(edit);
    }

    /// All edits as results tell them.
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
        let mut told: Vec<Value> = counts.collect();
        told.reverse();
        told
    }
}

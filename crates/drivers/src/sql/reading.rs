//! An answer in the making: rows are counted, and kept where they are looked at and while there is room.

use std::sync::Arc;

use crate::answer::Answer;
use crate::operation::Task;

/// What was read of an answer so far.
pub(super) struct Reading {
    pub(super) answer: Answer,
    keeps_rows: bool,
    room_bytes: usize,
}

impl Reading {
    pub(super) fn new(task: &Task, columns: Arc<[String]>) -> Self {
        Self {
            answer: Answer {
                columns,
                ..Answer::default()
            },
            keeps_rows: task.keeps_rows,
            room_bytes: task.rows_bytes_at_most,
        }
    }

    /// Counts a row of so many bytes; whether it is to be kept.
    pub(super) fn takes(&mut self, bytes: usize) -> bool {
        self.answer.row_count += 1;
        if !self.keeps_rows || self.answer.is_truncated {
            return false;
        }
        self.answer.is_truncated = bytes > self.room_bytes;
        if self.answer.is_truncated {
            return false;
        }
        self.room_bytes -= bytes;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Operation;

    fn reading(keeps_rows: bool) -> Reading {
        let task = Task {
            number: 0,
            operation: Operation::Sql {
                text: "select 1".to_owned(),
            },
            keeps_rows,
            keeps_content: false,
            rows_bytes_at_most: 10,
        };
        Reading::new(&task, Arc::default())
    }

    #[test]
    fn rows_are_kept_until_one_has_no_room_and_counted_all_the_same() {
        let mut reading = reading(true);
        assert_eq!(
            [4, 6, 1, 0].map(|bytes| reading.takes(bytes)),
            [true, true, false, false]
        );
        assert!(reading.answer.is_truncated);
        assert_eq!(reading.answer.row_count, 4);
    }

    #[test]
    fn rows_that_nobody_looks_at_are_counted_alone() {
        let mut reading = reading(false);
        assert!(!reading.takes(100));
        assert!(!reading.answer.is_truncated);
        assert_eq!(reading.answer.row_count, 1);
    }
}

//! A response of an SQL server that is being received. Counts its rows, and keeps them if the task requires this and
//! the memory limit permits.

use std::sync::Arc;

use crate::answer::{Answer, Row};
use crate::operation::Task;

/// The part of a response that has been read so far.
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

    /// Counts a row whose values have the total size `bytes`. Returns `true` if the row is to be kept.
    pub(super) fn takes(&mut self, bytes: usize) -> bool {
        // A row without columns and a NULL value also take memory, so their sizes are added.
        let bytes =
            bytes + size_of::<Row>() + self.answer.columns.len() * size_of::<Option<Vec<u8>>>();
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

    /// Memory that a row without columns takes. [B]
    const ROW: usize = size_of::<Row>();

    fn reading(keeps_rows: bool) -> Reading {
        let task = Task {
            number: 0,
            operation: Operation::Sql {
                text: "select 1".to_owned(),
            },
            keeps_rows,
            keeps_content: false,
            rows_bytes_at_most: 10 + 2 * ROW,
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
    fn rows_of_nothing_have_no_room_without_end() {
        let mut reading = reading(true);
        assert_eq!(
            [0; 4].map(|bytes| reading.takes(bytes)),
            [true, true, false, false]
        );
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

//! Entries as a table.

use std::sync::Arc;

use super::answers::Entry;
use super::ber::Malformed;
use super::request::DirectoryRequest;
use super::{codes, refused};
use crate::answer::{Answer, Failed, Row};
use crate::operation::Task;

/// Column of the name of an entry.
const NAME: &str = "dn";
/// Column of what a comparison gave.
const MATCHES: &str = "matches";
/// Columns of entries whose attributes were not asked for by name, at most.
const COLUMNS_AT_MOST: usize = 1_000;

/// An answer in the making.
pub(super) struct Table {
    columns: Vec<String>,
    /// Whether attributes that were not named have columns, too.
    takes_all: bool,
    keeps_rows: bool,
    room_bytes: usize,
    answer: Answer,
}

impl Table {
    /// Of a request; rows are kept where the task wants them.
    pub(super) fn new(request: &DirectoryRequest, task: Option<&Task>) -> Self {
        let keeps_rows = task.is_some_and(|task| task.keeps_rows);
        let (mut columns, mut takes_all) = (Vec::new(), false);
        if let DirectoryRequest::Search { attributes, .. } = request
            && keeps_rows
        {
            // `*` is all attributes of users, `+` all operational ones, `1.1` none.
            let is_named = |name: &&String| !matches!(name.as_str(), "*" | "+" | "1.1");
            columns.push(NAME.to_owned());
            columns.extend(attributes.iter().filter(is_named).cloned());
            takes_all =
                attributes.is_empty() || attributes.iter().any(|name| name == "*" || name == "+");
        }
        Self {
            columns,
            takes_all,
            keeps_rows,
            room_bytes: task.map_or(0, |task| task.rows_bytes_at_most),
            answer: Answer::default(),
        }
    }

    /// Takes an entry: its name and the first value of each attribute make a row, further values further rows.
    pub(super) fn take(&mut self, entry: &Entry<'_>) -> Result<(), Malformed> {
        self.answer.row_count += 1;
        if !self.keeps_rows || self.answer.is_truncated {
            return Ok(());
        }
        let mut bytes = entry.name.len();
        let mut rows: Vec<Row> = vec![vec![Some(entry.name.to_vec())]];
        entry.values(|name, place, value| {
            let Some(column) = self.column(name) else {
                return;
            };
            bytes += value.len();
            if bytes > self.room_bytes {
                return;
            }
            if place >= rows.len() {
                rows.resize_with(place + 1, Row::new);
            }
            let row = &mut rows[place];
            if column >= row.len() {
                row.resize(column + 1, None);
            }
            row[column] = Some(value.to_vec());
        })?;
        if bytes > self.room_bytes {
            self.answer.is_truncated = true;
        } else {
            self.room_bytes -= bytes;
            self.answer.rows.append(&mut rows);
        }
        Ok(())
    }

    /// Column of an attribute; names of attributes are the same in capitals and small letters (RFC 4512, section 2.5).
    fn column(&mut self, name: &[u8]) -> Option<usize> {
        let mut columns = self.columns.iter();
        let found = columns.position(|column| column.as_bytes().eq_ignore_ascii_case(name));
        if found.is_some() || !self.takes_all || self.columns.len() == COLUMNS_AT_MOST {
            return found;
        }
        self.columns
            .push(String::from_utf8_lossy(name).into_owned());
        Some(self.columns.len() - 1)
    }

    /// The answer, if this code means that there is one.
    pub(super) fn end(mut self, request: &DirectoryRequest, code: u32) -> Result<Answer, Failed> {
        match (request, code) {
            (DirectoryRequest::Compare { .. }, codes::COMPARE_FALSE | codes::COMPARE_TRUE) => {
                let matches = (code == codes::COMPARE_TRUE).to_string();
                self.answer.row_count = 1;
                self.columns = vec![MATCHES.to_owned()];
                self.answer.rows = vec![vec![Some(matches.into_bytes())]];
            }
            // As many as the request asked for, though there are more.
            (DirectoryRequest::Search { size_limit, .. }, codes::SIZE_LIMIT_EXCEEDED)
                if *size_limit > 0 && self.answer.row_count == u64::from(*size_limit) => {}
            (_, codes::SUCCESS) => {}
            _ => return Err(refused(code)),
        }
        let changes = matches!(
            request,
            DirectoryRequest::Add { .. }
                | DirectoryRequest::Modify { .. }
                | DirectoryRequest::Delete {}
        );
        self.answer.affected = u64::from(changes);
        self.answer.columns = Arc::from(self.columns);
        Ok(self.answer)
    }
}

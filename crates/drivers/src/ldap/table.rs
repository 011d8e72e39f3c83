//! Converts the entries that a search found to the table of a response.

use std::sync::Arc;

use super::answers::Entry;
use super::ber::Malformed;
use super::request::DirectoryRequest;
use super::{codes, refused};
use crate::answer::{Answer, Failed, Row};
use crate::operation::Task;

/// Name of the column that holds the names of entries.
const NAME: &str = "dn";
/// Name of the column that holds the result of a comparison.
const MATCHES: &str = "matches";
/// Largest number of columns for a search that does not name the attributes to return.
const COLUMNS_AT_MOST: usize = 1_000;
/// Longest attribute name that gets a column, if the search does not name the attributes to return. Names in schemas
/// are shorter. [B]
const NAME_BYTES_AT_MOST: usize = 1_024;

/// The table of entries, which is built while the response to a search is received.
pub(super) struct Table {
    columns: Vec<String>,
    /// `true` if attributes that the request does not name also get a column.
    takes_all: bool,
    keeps_rows: bool,
    room_bytes: usize,
    answer: Answer,
}

impl Table {
    /// Creates the table of a request; rows are kept if the task needs them.
    pub(super) fn new(request: &DirectoryRequest, task: Option<&Task>) -> Self {
        let keeps_rows = task.is_some_and(|task| task.keeps_rows);
        let (mut columns, mut takes_all) = (Vec::new(), false);
        if let DirectoryRequest::Search { attributes, .. } = request
            && keeps_rows
        {
            // `*` requests all user attributes, `+` all operational ones, and `1.1` none.
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

    /// Adds an entry to the table. The name of the entry and the first value of each attribute form a row; further
    /// values form additional rows. Each cell counts as at least one byte, since empty values also take memory.
    pub(super) fn take(&mut self, entry: &Entry<'_>) -> Result<(), Malformed> {
        self.answer.row_count += 1;
        if !self.keeps_rows || self.answer.is_truncated {
            return Ok(());
        }
        let mut bytes = entry.name.len() + 1;
        let mut rows: Vec<Row> = vec![vec![Some(entry.name.to_vec())]];
        entry.values(|name, place, value| {
            if bytes > self.room_bytes {
                return;
            }
            let Some(column) = self.column(name) else {
                return;
            };
            let places = rows.get(place).map_or(0, Vec::len);
            bytes += value.len() + (column + 1).saturating_sub(places);
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

    /// Returns the column of an attribute. Attribute names are case-insensitive (RFC 4512, section
    /// 2.5).
    fn column(&mut self, name: &[u8]) -> Option<usize> {
        let mut columns = self.columns.iter();
        let found = columns.position(|column| column.as_bytes().eq_ignore_ascii_case(name));
        let is_odd = self.columns.len() == COLUMNS_AT_MOST || name.len() > NAME_BYTES_AT_MOST;
        if found.is_some() || !self.takes_all || is_odd {
            return found;
        }
        self.columns
            .push(String::from_utf8_lossy(name).into_owned());
        Some(self.columns.len() - 1)
    }

    /// Returns the response if the result code means success, otherwise the failure.
    pub(super) fn end(mut self, request: &DirectoryRequest, code: u32) -> Result<Answer, Failed> {
        match (request, code) {
            (DirectoryRequest::Compare { .. }, codes::COMPARE_FALSE | codes::COMPARE_TRUE) => {
                let matches = (code == codes::COMPARE_TRUE).to_string();
                self.answer.row_count = 1;
                self.columns = vec![MATCHES.to_owned()];
                self.answer.rows = vec![vec![Some(matches.into_bytes())]];
            }
            // The server found more entries than the size limit of the request. This is not a failure of the call.
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

#[cfg(test)]
mod tests {
    use super::super::answers::{self, Said};
    use super::super::ber::{self, INTEGER, OCTETS, SEQUENCE, SET};
    use super::super::{Filter, Scope};
    use super::*;
    use crate::operation::Operation;

    const ROOM_BYTES: usize = 10_000;

    /// Returns attributes whose names are numbers. `values` holds the number of values of each attribute.
    fn numbered(values: &[usize]) -> Vec<(String, usize)> {
        let each = values.iter().enumerate();
        each.map(|(number, values)| (number.to_string(), *values))
            .collect()
    }

    /// Returns the table of one entry with these attributes, each with the given number of empty values.
    fn table(attributes: &[(String, usize)]) -> Table {
        let mut message = Vec::new();
        ber::element(&mut message, SEQUENCE, |out| {
            ber::number(out, INTEGER, 1);
            ber::element(out, 0x64, |out| {
                ber::octets(out, OCTETS, b"cn=a");
                ber::element(out, SEQUENCE, |out| {
                    for (name, values) in attributes {
                        ber::element(out, SEQUENCE, |out| {
                            ber::octets(out, OCTETS, name.as_bytes());
                            ber::element(out, SET, |out| {
                                for _ in 0..*values {
                                    ber::octets(out, OCTETS, b"");
                                }
                            });
                        });
                    }
                });
            });
        });
        let request = DirectoryRequest::Search {
            scope: Scope::Base,
            filter: Filter::Present("cn".to_owned()),
            attributes: Vec::new(),
            size_limit: 0,
        };
        let task = Task {
            number: 0,
            operation: Operation::Ldap {
                request: request.clone(),
            },
            keeps_rows: true,
            keeps_content: false,
            rows_bytes_at_most: ROOM_BYTES,
        };
        let Ok(Said::Entry(entry)) = answers::read(&message).map(|message| message.said) else {
            panic!("no entry");
        };
        let mut table = Table::new(&request, Some(&task));
        table.take(&entry).expect("an entry");
        table
    }

    #[test]
    fn values_of_no_length_take_no_more_memory_than_others() {
        let few = table(&numbered(&[1, 3])).answer;
        let lengths: Vec<usize> = few.rows.iter().map(Vec::len).collect();
        assert_eq!((lengths, few.is_truncated), (vec![3, 3, 3], false));
        // Three entries with many empty values: 100,000 values of one attribute; 100 attributes, of which the last has
        // 5,000 values; and one value of each of 20,000 attributes. Each cell must count against the memory limit.
        let mut wide = vec![1; 100];
        wide[99] = 5_000;
        for attributes in [vec![100_000], wide, vec![1; 20_000]] {
            let answer = table(&numbered(&attributes)).answer;
            let places: usize = answer.rows.iter().map(Vec::len).sum();
            assert!(places <= ROOM_BYTES, "{places}");
        }
    }

    #[test]
    fn a_name_that_no_schema_has_gets_no_column() {
        let names = [1_024, 1_025].map(|length| ("x".repeat(length), 1));
        let columns = table(&names).columns;
        assert_eq!(columns, ["dn", &names[0].0]);
    }
}

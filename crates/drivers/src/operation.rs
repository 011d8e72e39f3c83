//! Operations that drivers perform.

use std::ops::Range;

use serde::Deserialize;

use crate::ldap::DirectoryRequest;
use crate::server::Server;

/// One operation of a driver. Values that vary come with each call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// An SQL statement; its parameters are `$1`, `$2` and so on.
    Sql {
        /// The statement.
        text: String,
    },
    /// An operation on a file; its values are a path, an offset, a size and another path.
    File {
        /// Action to perform.
        action: FileAction,
    },
    /// An operation on an LDAP directory.
    Ldap {
        /// The request, which refers to the values of the call by index.
        request: DirectoryRequest,
    },
    /// An exchange of bytes over a connection. Its values are the number of bytes to send, a text to send first, and
    /// the number of bytes to receive.
    Tcp {},
}

/// Operations on files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// Create an empty file and keep it open.
    Create,
    /// Open an existing file and keep it open.
    Open,
    /// Close the file.
    Close,
    /// Read `size` bytes from `offset`, or the whole file.
    Read,
    /// Write `size` bytes at `offset`.
    Write,
    /// Append `size` bytes to the file.
    Append,
    /// Replace the file atomically: write `size` bytes to a temporary file in the same folder, wait until they are on
    /// disk, and rename the temporary file.
    Put,
    /// Wait until the file is on disk.
    Sync,
    /// Read size and kind of the file.
    Stat,
    /// List the names in a folder.
    List,
    /// Rename the file.
    Rename,
    /// Create a folder.
    MakeFolder,
    /// Delete the file.
    Delete,
}

/// An operation with the settings that the plan gives for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Number among all tasks of the plan. A session stores its prepared statement under this number.
    pub number: u32,
    /// Operation to perform.
    pub operation: Operation,
    /// `true` if rows are kept for later inspection.
    pub keeps_rows: bool,
    /// Limit on the bytes of the kept rows. [B]
    pub rows_bytes_at_most: usize,
    /// `true` if the answer contains length and digest of a content that is stored or read completely.
    pub keeps_content: bool,
}

impl Operation {
    /// Returns the fault, if any, of this operation for a server and a number of values.
    #[must_use]
    pub fn fault(&self, server: &Server, values: usize) -> Option<String> {
        match self {
            Self::File { .. } => {
                if !matches!(server, Server::File { .. }) {
                    return Some("must be sent to a target with driver `file`".to_owned());
                }
                wrong_count(4, values)
            }
            Self::Tcp {} => {
                if !matches!(server, Server::Tcp {}) {
                    return Some("must be sent to a target with driver `tcp`".to_owned());
                }
                wrong_count(3, values)
            }
            Self::Ldap { request } => {
                if !matches!(server, Server::Ldap { .. }) {
                    return Some("must be sent to a target with driver `ldap`".to_owned());
                }
                request.fault(values)
            }
            Self::Sql { text } => {
                if !server.speaks_sql() {
                    return Some("must be sent to a target with an SQL driver".to_owned());
                }
                let placed = places(text);
                (placed != values).then(|| {
                    format!("must have one value for each of {placed} parameters ($1 and so on), got {values}")
                })
            }
        }
    }
}

fn wrong_count(wanted: usize, values: usize) -> Option<String> {
    (wanted != values)
        .then(|| format!("must have {wanted} values (null values included), got {values}"))
}

/// Finds the parameters `$n` of a statement outside of quotes and comments: the position of each,
/// and its `n`.
pub(crate) fn parameters(text: &str) -> Vec<(Range<usize>, usize)> {
    let bytes = text.as_bytes();
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"') => at = behind(bytes, at + 1, quote),
            b'-' if bytes.get(at + 1) == Some(&b'-') => at = behind(bytes, at, b'\n'),
            b'$' => {
                let digits = bytes[at + 1..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit());
                let end = at + 1 + digits.count();
                let number = text[at + 1..end].parse().unwrap_or(0);
                if number > 0 {
                    found.push((at..end, number));
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    found
}

/// Returns the highest number of a parameter in a statement.
fn places(text: &str) -> usize {
    let numbers = parameters(text).into_iter().map(|(_, number)| number);
    numbers.max().unwrap_or(0)
}

fn behind(bytes: &[u8], from: usize, end: u8) -> usize {
    let found = bytes[from..].iter().position(|byte| *byte == end);
    found.map_or(bytes.len(), |place| from + place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_counted_outside_of_quotes_and_comments() {
        assert_eq!(places("select 1"), 0);
        assert_eq!(places("select $1, $2 from t where a = $2"), 2);
        assert_eq!(places("select '$9', \"$8\" -- $7\n from t where a = $3"), 3);
        assert_eq!(places("select 'it''s $4' where b = $1"), 1);
        assert_eq!(places("select $, $0, $$ from t"), 0);
    }

    #[test]
    fn a_statement_wants_as_many_values_as_it_has_parameters() {
        let server = Server::Sqlite {
            path: "/x".into(),
            synchronous: crate::Synchronous::Full,
            cache_bytes: None,
        };
        let operation = Operation::Sql {
            text: "select $1".to_owned(),
        };
        assert_eq!(operation.fault(&server, 1), None);
        let fault = operation.fault(&server, 2).expect("a fault");
        assert!(fault.contains("each of 1 parameters"), "{fault}");
    }
}

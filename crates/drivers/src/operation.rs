//! Operations that drivers perform.

use std::ops::Range;

use serde::Deserialize;

use crate::ldap::DirectoryRequest;
use crate::server::Server;

/// One operation of a driver. Values that differ between calls are passed with each call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Execute an SQL statement. Its parameters `$1`, `$2` and so on stand for the values of the call.
    Sql {
        /// Text of the SQL statement.
        text: String,
    },
    /// An operation on a file. The values of the call are a path, an offset, a size and a second path.
    File {
        /// Kind of the operation on the file.
        action: FileAction,
    },
    /// An operation on an LDAP directory.
    Ldap {
        /// Request to the directory, which refers to the values of the call by index.
        request: DirectoryRequest,
    },
    /// An exchange of bytes over a TCP connection. The values of the call are the number of bytes to send, a text to
    /// send first, and the number of bytes to receive.
    Tcp {},
}

/// Kinds of operations on files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// Create an empty file and keep it open.
    Create,
    /// Open an existing file and keep it open.
    Open,
    /// Close a file that was kept open.
    Close,
    /// Read `size` bytes from position `offset`. If the size is not given, read the whole file.
    Read,
    /// Write `size` bytes at position `offset` of the file.
    Write,
    /// Write `size` bytes at the end of the file.
    Append,
    /// Replace the file atomically: write `size` bytes to a temporary file in the same folder, wait until they are on
    /// disk, and rename the temporary file.
    Put,
    /// Wait until the content of the file is on disk.
    Sync,
    /// Read the size and the kind of the file from the file system.
    Stat,
    /// List the names of the entries of a folder.
    List,
    /// Rename the file to the second path.
    Rename,
    /// Create a folder at the path.
    MakeFolder,
    /// Delete the file.
    Delete,
}

/// An operation with the settings that the plan gives for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Number of the task, unique among all tasks of the plan. A session stores its prepared statement under this
    /// number.
    pub number: u32,
    /// Operation that the task performs.
    pub operation: Operation,
    /// `true` if the rows of a response are kept, so that checks can read them after the call.
    pub keeps_rows: bool,
    /// Largest total size of the kept rows of one response; further rows are left out. [B]
    pub rows_bytes_at_most: usize,
    /// `true` if the response shall contain the length and the digest of an object or file that is stored or read
    /// completely.
    pub keeps_content: bool,
}

impl Operation {
    /// Returns a description of the fault if this operation cannot be used with the server or with this number of
    /// values.
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

/// Finds the parameters `$n` of a statement outside of quotes and comments. Returns the position and the number `n` of
/// each parameter.
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

/// Returns the highest `n` among the parameters `$n` of a statement.
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

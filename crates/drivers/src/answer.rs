//! Result of a call: either the response of the server, with its rows, or a failure.

use std::sync::Arc;

use crate::digest::Digest;

/// A row of a table: one text for each column, or `None` if the server returned no value for that column.
pub type Row = Vec<Option<Vec<u8>>>;

/// Response of a server to a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Names of the columns of the returned table.
    pub columns: Arc<[String]>,
    /// Rows of the returned table. Empty if the operation only counts rows.
    pub rows: Vec<Row>,
    /// Number of rows that the server returned, including rows that are not kept in `rows`.
    pub row_count: u64,
    /// Number of rows that the server inserted, updated or deleted.
    pub affected: u64,
    /// `true` if rows were left out because they exceed the memory limit.
    pub is_truncated: bool,
    /// Length and digest of the content that was stored or read, if the task of the call requests them.
    pub content: Option<Content>,
}

/// Length and SHA-256 digest of a complete object or file, as it was stored or read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Length of the object or file. [B]
    pub bytes: u64,
    /// SHA-256 digest of the object or file, in hexadecimal.
    pub sha256: String,
}

impl From<&Digest> for Content {
    fn from(digest: &Digest) -> Self {
        Self {
            bytes: digest.bytes(),
            sha256: digest.hex(),
        }
    }
}

/// Bytes that a call has sent and received. They are counted during the call, and also for failed calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meter {
    /// Bytes that the client received from the server.
    pub bytes_in: u64,
    /// Bytes that the client sent to the server.
    pub bytes_out: u64,
    /// Time on the monotonic clock at which the first byte of the response arrived. [ns]
    pub first_byte_ns: Option<u64>,
}

/// Reason why a call failed, as a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// No session with the server could be opened.
    Connect,
    /// The session ended before the response was complete.
    Closed,
    /// The bytes received from the server violate the protocol.
    Protocol,
    /// The server, or the operating system, reported that it refused the operation.
    Refused,
    /// The driver has a fault, or the values passed by the call are invalid.
    Internal,
}

/// Description of a failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Category of the failure.
    pub kind: FailureKind,
    /// Error code of the server, or error message of the operating system. Failures are counted by this text, so the
    /// number of different texts must be small.
    pub reason: String,
}

impl Failed {
    /// Creates a failure from its category and its reason.
    pub fn new(kind: FailureKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            reason: reason.into(),
        }
    }

    /// Creates the failure of a call during which the session ended; `error` is the error of the socket.
    #[must_use]
    pub fn closed(error: &std::io::Error) -> Self {
        Self::new(FailureKind::Closed, crate::words::sentence_of(error))
    }

    /// Returns `true` if the failure states that the stored object does not exist.
    #[must_use]
    pub fn states_absence(&self) -> bool {
        self.kind == FailureKind::Refused && self.reason == "ENOENT"
    }

    /// Returns `true` if the session can still be used for the next call after this failure.
    #[must_use]
    pub fn keeps_session(&self) -> bool {
        self.kind == FailureKind::Refused
    }
}

//! Results of a call: a table of texts, or a failure.

use std::sync::Arc;

use crate::digest::Digest;

/// A row: a text for each column; `None` if the server returned no value.
pub type Row = Vec<Option<Vec<u8>>>;

/// Answer of a server to a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Arc<[String]>,
    /// Rows, if the operation keeps them.
    pub rows: Vec<Row>,
    /// Number of rows, kept or not.
    pub row_count: u64,
    /// Number of rows that the server changed.
    pub affected: u64,
    /// `true` if rows were left out because they exceed the memory limit.
    pub is_truncated: bool,
    /// Length and digest of the content that was stored or read, if the task requests them.
    pub content: Option<Content>,
}

/// Length and digest of a complete content, as it was stored or read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Length of the content. [B]
    pub bytes: u64,
    /// SHA-256 of the content, in hexadecimal.
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

/// Bytes that a call sent and received, updated while it runs, so that they are available if it
/// fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meter {
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Arrival of the first byte of the answer, by the monotonic clock. [ns]
    pub first_byte_ns: Option<u64>,
}

/// Kind of a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// No session could be opened.
    Connect,
    /// The session ended before the answer was complete.
    Closed,
    /// The bytes received violate the protocol.
    Protocol,
    /// The server refused the operation.
    Refused,
    /// The driver has a fault, or the values of the call are invalid.
    Internal,
}

/// Failure of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// Error code of the server, or error message of the operating system. Failures are counted by this text, so the
    /// number of different texts must be small.
    pub reason: String,
}

impl Failed {
    /// Creates a failure of a kind, with its reason.
    pub fn new(kind: FailureKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            reason: reason.into(),
        }
    }

    /// Creates the failure of a call whose session broke.
    #[must_use]
    pub fn closed(error: &std::io::Error) -> Self {
        Self::new(FailureKind::Closed, crate::words::sentence_of(error))
    }

    /// Returns `true` if the failure states that the stored object does not exist.
    #[must_use]
    pub fn states_absence(&self) -> bool {
        self.kind == FailureKind::Refused && self.reason == "ENOENT"
    }

    /// Returns `true` if the session can be used for the next call.
    #[must_use]
    pub fn keeps_session(&self) -> bool {
        self.kind == FailureKind::Refused
    }
}

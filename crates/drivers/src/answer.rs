//! Results of a call: a table of texts, or a failure.

use std::sync::Arc;

use crate::digest::Digest;

/// A row: a text for each column, `None` where the server has no value.
pub type Row = Vec<Option<Vec<u8>>>;

/// Answer of a server.
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
    /// `true` if rows were left out for lack of room.
    pub is_truncated: bool,
    /// Content of a stored thing, if the task keeps that.
    pub content: Option<Content>,
}

/// The whole of something that is kept: as it was put there, or as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Its length. [B]
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
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

/// Amounts that a call moved, updated while it goes on, so that they are available if the call fails.
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
    /// There was no session.
    Connect,
    /// The session ended before the answer was whole.
    Closed,
    /// The bytes received violate the protocol.
    Protocol,
    /// The server refused.
    Refused,
    /// A fault of the driver, or of the values it was given.
    Internal,
}

/// A call without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Of which kind.
    pub kind: FailureKind,
    /// The server's code, or the message of the system: few different texts, since they are counted.
    pub reason: String,
}

impl Failed {
    /// Of a kind, with its reason.
    pub fn new(kind: FailureKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            reason: reason.into(),
        }
    }

    /// The session broke.
    #[must_use]
    pub fn closed(error: &std::io::Error) -> Self {
        Self::new(FailureKind::Closed, crate::words::sentence_of(error))
    }

    /// Returns `true` if the failure states that the thing does not exist.
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

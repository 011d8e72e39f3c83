//! Recognises one response after the other in the bytes of a connection, however they are split.

use crate::outcome::Failure;

/// What a response may at most take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the status line and all fields, informational responses and trailers included. [B]
    pub header_bytes: usize,
    /// Bytes of the body, decoded from chunks. [B]
    pub body_bytes: u64,
    /// How much of a body is kept for the caller. [B]
    pub capture_bytes: usize,
}

/// What to keep of the next response, and how it was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Keep the fields of the head.
    pub head: bool,
    /// Keep the body, up to [`Limits::capture_bytes`].
    pub body: bool,
    /// The request was a HEAD: the answer has no body, whatever its fields say.
    pub method_is_head: bool,
}

/// How far a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// The response is whole.
    Complete {
        /// How many of the bytes fed last belong to it.
        consumed: usize,
    },
}

/// Why what came is not a response that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The stream ended before the response was whole.
    Truncated,
    /// Not a status line of HTTP/1.x.
    NotHttp,
}

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Self {
        match error {
            ProtocolError::Truncated => Self::Closed,
            ProtocolError::NotHttp => Self::Protocol,
        }
    }
}

/// Reads the responses of one connection; one object serves all of them in turn.
#[derive(Debug)]
pub struct ResponseScanner {
    limits: Limits,
}

impl ResponseScanner {
    /// A scanner with nothing seen; it takes no memory beyond itself before bytes come.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits }
    }

    /// Makes ready for the next response.
    pub fn begin(&mut self, _wanted: Wanted) {
        todo!("{:?}", self.limits)
    }

    /// Takes bytes of the connection.
    ///
    /// # Errors
    /// [`ProtocolError`] as soon as the bytes cannot become a response within the limits; the connection is of no use then.
    pub fn feed(&mut self, _bytes: &[u8]) -> Result<Progress, ProtocolError> {
        todo!()
    }

    /// The other side closed: completes a body that the close delimits.
    ///
    /// # Errors
    /// [`ProtocolError::Truncated`] when the response was not whole.
    pub fn end_of_stream(&mut self) -> Result<Progress, ProtocolError> {
        todo!()
    }

    /// Status of the final response, 0 before its status line was read.
    #[must_use]
    pub fn status(&self) -> u16 {
        todo!()
    }

    /// First value of a field, by name in any case; only when the head was wanted.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers(name).next()
    }

    /// All values of a field, in order; only when the head was wanted.
    pub fn headers<'a>(&'a self, _name: &str) -> impl Iterator<Item = &'a [u8]> {
        std::iter::empty()
    }

    /// The body as far as it was captured; empty when it was not wanted.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        todo!()
    }

    /// Whether the wanted body was longer than what was kept.
    #[must_use]
    pub fn body_truncated(&self) -> bool {
        todo!()
    }

    /// Length of the body so far, decoded from chunks. [B]
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        todo!()
    }

    /// Whether the connection may carry another request after this response.
    #[must_use]
    pub fn keep_alive(&self) -> bool {
        todo!()
    }

    /// Whether any byte of the response was seen.
    #[must_use]
    pub fn started(&self) -> bool {
        todo!()
    }

    /// Gives the memory of captured head and body back; for connections that will idle.
    pub fn release(&mut self) {
        todo!()
    }
}

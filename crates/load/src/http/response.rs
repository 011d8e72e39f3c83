//! Parses the responses on a connection one after the other, however their bytes are split.
//!
//! The parser is designed for a client that holds very many connections. Only requested parts are kept, a head that
//! arrives in one piece is not copied, and an idle connection holds no memory besides the scanner itself. Malformed
//! input is detected at its first wrong byte if the grammar allows it.
//!
//! RFC 9112 leaves some choices open. They are made as follows:
//!
//! * In a head, a lone LF ends a line like CR LF; a CR anywhere else is an error. In chunk sizes and trailers a
//!   lone LF is an error: some parsers take it as a part of the line, and would find another end of the response.
//! * `Content-Length` together with `Transfer-Encoding` is an error; neither overrides the other.
//! * Repeated lengths must agree. Folded fields are errors. Trailers are read, checked and dropped.
//! * Any `1xx` response except `101` is skipped. The client never requests an upgrade, so `101` is an
//!   error.
//! * A response without length or chunks ends with the connection.

use std::fmt;

use super::answer::KEPT_BYTES;
use super::chunks::{self, SIZE_LINE_BYTES};
use super::head::{self, Framing, Head};
use super::lines::{Line, LineBuffer};
use crate::outcome::Failure;

pub use super::answer::{Answer, Limits, Wanted};

/// State of a response after some bytes of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The response is incomplete: more bytes are needed.
    More,
    /// The response is complete.
    Complete {
        /// Number of bytes of the last input that belong to the response.
        consumed: usize,
    },
}

/// Reason why a response cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The stream ended before the response was complete.
    Truncated,
    /// The stream does not begin with a status line of HTTP/1.x.
    NotHttp,
    /// An invalid field line.
    BadField,
    /// The head, or the head and the trailers together, exceed [`Limits::header_bytes`].
    HeaderTooLarge,
    /// A `Content-Length` that is not a number, or two different ones.
    BadLength,
    /// A `Transfer-Encoding` in which `chunked` occurs more than once or is not the last coding.
    BadEncoding,
    /// Both `Content-Length` and `Transfer-Encoding`.
    LengthAndEncoding,
    /// `101 Switching Protocols`, which was not requested.
    Upgrade,
    /// A chunk without a size, or without a line end after its stated size.
    BadChunk,
    /// The body exceeds [`Limits::body_bytes`].
    BodyTooLarge,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Truncated => "the connection ended within the response",
            Self::NotHttp => "not a status line of HTTP/1.x",
            Self::BadField => "a malformed field line",
            Self::HeaderTooLarge => "the header is larger than allowed",
            Self::BadLength => "a malformed or contradictory Content-Length",
            Self::BadEncoding => {
                "a Transfer-Encoding that does not end with a single chunked coding"
            }
            Self::LengthAndEncoding => "both Content-Length and Transfer-Encoding",
            Self::Upgrade => "an upgrade that was not requested",
            Self::BadChunk => "a malformed chunk",
            Self::BodyTooLarge => "the body is larger than allowed",
        })
    }
}

impl std::error::Error for ProtocolError {}

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Self {
        match error {
            ProtocolError::Truncated => Self::Closed,
            _ => Self::Protocol,
        }
    }
}

/// Part of a response that the next byte belongs to. Each state declared before `UntilClose` needs at least one more
/// byte to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    StatusLine,
    Fields,
    Body { remaining: u64 },
    ChunkSize,
    Chunk { remaining: u64 },
    ChunkEnd,
    Trailers,
    UntilClose,
    Complete,
    Failed(ProtocolError),
}

/// Reads the responses of one connection one after the other.
///
/// ```
/// use towtank_load::http::response::{Limits, Progress, ResponseScanner, Wanted};
///
/// let limits = Limits { header_bytes: 65_536, body_bytes: 1 << 30, capture_bytes: 1 << 20 };
/// let mut scanner = ResponseScanner::new(limits);
/// scanner.begin(Wanted { head: true, body: true, ..Wanted::default() });
/// assert_eq!(scanner.feed(b"HTTP/1.1 200 OK\r\nETag: \"7\"\r\nContent-Le"), Ok(Progress::More));
/// assert_eq!(scanner.feed(b"ngth: 2\r\n\r\nhi"), Ok(Progress::Complete { consumed: 13 }));
/// assert_eq!(scanner.answer().status(), 200);
/// assert_eq!(scanner.answer().header("etag"), Some(b"\"7\"".as_slice()));
/// assert_eq!(scanner.answer().body(), b"hi");
/// assert!(scanner.keep_alive());
/// ```
#[derive(Debug)]
pub struct ResponseScanner {
    state: State,
    started: bool,
    /// Head of the final response, once it is complete. Heads of informational (1xx) responses are not kept.
    head: Option<Head>,
    /// Bytes received so far in all heads and trailers of the current response. [B]
    head_bytes: usize,
    line: LineBuffer,
    answer: Answer,
}

impl ResponseScanner {
    /// Creates a scanner for the next response. By default the scanner keeps no part of the response. It allocates no
    /// memory before bytes arrive.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            state: State::StatusLine,
            started: false,
            head: None,
            head_bytes: 0,
            line: LineBuffer::default(),
            answer: Answer::new(limits),
        }
    }

    /// Allocates memory for a response head of `bytes` bytes in advance.
    pub fn make_room(&mut self, bytes: usize) {
        self.answer.fields.reserve(bytes);
    }

    /// Prepares for the next response; `wanted` states which of its parts to keep.
    pub fn begin(&mut self, wanted: Wanted) {
        self.state = State::StatusLine;
        self.started = false;
        self.head = None;
        self.head_bytes = 0;
        self.line.clear_to(KEPT_BYTES);
        self.answer.begin(wanted);
    }

    /// Consumes bytes of the connection. Once the response is complete, further bytes are not touched.
    ///
    /// # Errors
    /// [`ProtocolError`] as soon as the bytes cannot become a response within the limits, and again at every
    /// further call. The connection cannot be used afterwards.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Progress, ProtocolError> {
        self.started |= !bytes.is_empty();
        let mut consumed = 0;
        loop {
            match self.state {
                State::Complete => return Ok(Progress::Complete { consumed }),
                State::Failed(error) => return Err(error),
                _ if consumed == bytes.len() => return Ok(Progress::More),
                _ => {}
            }
            match self.step(&bytes[consumed..]) {
                Ok(taken) => consumed += taken,
                Err(error) => self.state = State::Failed(error),
            }
        }
    }

    /// Handles the end of the stream: completes a body that ends with the connection.
    ///
    /// # Errors
    /// [`ProtocolError::Truncated`] if the response was not complete.
    pub fn end_of_stream(&mut self) -> Result<Progress, ProtocolError> {
        match self.state {
            State::Complete | State::UntilClose => {
                self.state = State::Complete;
                Ok(Progress::Complete { consumed: 0 })
            }
            State::Failed(error) => Err(error),
            _ => {
                self.state = State::Failed(ProtocolError::Truncated);
                Err(ProtocolError::Truncated)
            }
        }
    }

    /// Returns the kept parts of the response, as far as they have arrived.
    #[must_use]
    #[inline]
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// Returns the kept parts of the response for writing, for protocols that have their own parser, such as HTTP/2.
    #[inline]
    pub fn answer_mut(&mut self) -> &mut Answer {
        &mut self.answer
    }

    /// Returns the error that made the response fail; `None` if there is no error so far.
    #[must_use]
    pub fn fault(&self) -> Option<ProtocolError> {
        match self.state {
            State::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Returns `true` if another request may be sent over the connection: the response is complete, and permits that
    /// the connection is used again.
    #[must_use]
    pub fn keep_alive(&self) -> bool {
        self.state == State::Complete
            && self.head.is_some_and(|head| {
                head.persists()
                    && head.framing(self.answer.wanted.method_is_head) != Ok(Framing::UntilClose)
            })
    }

    /// Returns `true` if at least one byte of the response has arrived.
    #[must_use]
    pub fn started(&self) -> bool {
        self.started
    }

    /// Frees the memory of the response head and body. Called for connections that become idle.
    pub fn release(&mut self) {
        self.line.release();
        self.answer.release();
    }

    /// Processes at least one byte of `bytes`, which must not be empty. Returns the number of processed bytes.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        match self.state {
            State::StatusLine => self.status_line(bytes),
            State::Fields => self.field(bytes),
            State::Body { remaining } => {
                let (taken, remaining) = self.take_body(bytes, remaining);
                self.state = if remaining == 0 {
                    State::Complete
                } else {
                    State::Body { remaining }
                };
                Ok(taken)
            }
            State::ChunkSize => self.chunk_size(bytes),
            State::Chunk { remaining } => {
                let (taken, remaining) = self.take_body(bytes, remaining);
                self.state = if remaining == 0 {
                    State::ChunkEnd
                } else {
                    State::Chunk { remaining }
                };
                Ok(taken)
            }
            State::ChunkEnd => self.chunk_end(bytes),
            State::Trailers => self.trailer(bytes),
            State::UntilClose => {
                self.answer.room_for(bytes.len() as u64)?;
                Ok(self.take_body(bytes, bytes.len() as u64).0)
            }
            State::Complete | State::Failed(_) => Ok(0),
        }
    }

    fn status_line(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        if !head::may_be_http(self.line.len(), bytes) {
            return Err(ProtocolError::NotHttp);
        }
        let before = self.line.len();
        match self
            .line
            .take(bytes, self.answer.limits.header_bytes - self.head_bytes)
        {
            Line::Partial(_) => Ok(bytes.len()),
            Line::TooLong => Err(ProtocolError::HeaderTooLarge),
            Line::Whole { line, consumed, .. } => {
                let head = Head::of_status_line(line)?;
                self.answer.set_status(head.status);
                self.head = Some(head);
                self.head_bytes += before + consumed;
                self.line.clear();
                self.state = State::Fields;
                Ok(consumed)
            }
        }
    }

    fn field(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        let before = self.line.len();
        match self
            .line
            .take(bytes, self.answer.limits.header_bytes - self.head_bytes)
        {
            Line::Partial(_) => Ok(bytes.len()),
            Line::TooLong => Err(ProtocolError::HeaderTooLarge),
            Line::Whole {
                line: b"",
                consumed,
                ..
            } => {
                self.head_bytes += before + consumed;
                self.line.clear();
                self.end_of_head()?;
                Ok(consumed)
            }
            Line::Whole { line, consumed, .. } => {
                let (name, value) = head::split_field(line)?;
                if let Some(head) = &mut self.head {
                    head.field(name, value)?;
                }
                self.answer.push_field(name, value);
                self.head_bytes += before + consumed;
                self.line.clear();
                Ok(consumed)
            }
        }
    }

    fn end_of_head(&mut self) -> Result<(), ProtocolError> {
        let Some(head) = self.head else {
            return Err(ProtocolError::NotHttp);
        };
        if head.status == 101 {
            return Err(ProtocolError::Upgrade);
        }
        let framing = head.framing(self.answer.wanted.method_is_head)?;
        if head.is_informational() {
            self.head = None;
            self.answer.forget_head();
            self.state = State::StatusLine;
            return Ok(());
        }
        self.state = match framing {
            Framing::Empty => State::Complete,
            Framing::Length(remaining) => {
                self.answer.room_for(remaining)?;
                State::Body { remaining }
            }
            Framing::Chunked => State::ChunkSize,
            Framing::UntilClose => State::UntilClose,
        };
        Ok(())
    }

    fn chunk_size(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        match self.line.take(bytes, SIZE_LINE_BYTES) {
            Line::Partial(start) if chunks::may_be_size(start) => Ok(bytes.len()),
            Line::Partial(_) | Line::TooLong | Line::Whole { strict: false, .. } => {
                Err(ProtocolError::BadChunk)
            }
            Line::Whole { line, consumed, .. } => {
                let remaining = chunks::size(line)?;
                self.line.clear();
                self.answer.room_for(remaining)?;
                self.state = if remaining == 0 {
                    State::Trailers
                } else {
                    State::Chunk { remaining }
                };
                Ok(consumed)
            }
        }
    }

    fn chunk_end(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        match self.line.take(bytes, 2) {
            Line::Partial(b"\r") => Ok(bytes.len()),
            Line::Whole {
                line: b"",
                consumed,
                strict: true,
            } => {
                self.line.clear();
                self.state = State::ChunkSize;
                Ok(consumed)
            }
            _ => Err(ProtocolError::BadChunk),
        }
    }

    fn trailer(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        let before = self.line.len();
        match self
            .line
            .take(bytes, self.answer.limits.header_bytes - self.head_bytes)
        {
            Line::Partial(_) => Ok(bytes.len()),
            Line::TooLong => Err(ProtocolError::HeaderTooLarge),
            Line::Whole { strict: false, .. } => Err(ProtocolError::BadField),
            Line::Whole { line, consumed, .. } => {
                if line.is_empty() {
                    self.state = State::Complete;
                } else {
                    head::split_field(line)?;
                }
                self.head_bytes += before + consumed;
                self.line.clear();
                Ok(consumed)
            }
        }
    }

    /// Processes bytes of a body; `remaining` is the number of bytes still expected before the call. Returns the number
    /// of bytes processed, and the number still expected afterwards.
    fn take_body(&mut self, bytes: &[u8], remaining: u64) -> (usize, u64) {
        let taken = remaining.min(bytes.len() as u64) as usize;
        self.answer.push_body(&bytes[..taken]);
        (taken, remaining - taken as u64)
    }
}

#[cfg(test)]
mod tests;

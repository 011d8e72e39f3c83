//! Reads the fields of the head or the trailers of a response (RFC 9113, section 8).

use super::hpack::FIELD_OVERHEAD_BYTES;
use crate::http::head::{IS_TOKEN, decimal, is_field_content};
use crate::http::response::Answer;

/// Error: the head of a response is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// Kind of a decoded block of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// The head of an informational (1xx) response; another head follows.
    Informational,
    /// Head of the final response. The value is the `Content-Length`, if the head has this field.
    Final(Option<u64>),
    /// Trailers, that is, fields after the response body.
    Trailers,
}

/// Receives the decoded fields of a head one by one and checks each of them. Kept fields are stored as with HTTP/1.1,
/// so that extractions do not depend on the protocol version.
#[derive(Debug)]
pub(super) struct HeadReader<'a> {
    answer: &'a mut Answer,
    is_trailers: bool,
    status: u16,
    length: Option<u64>,
    has_fields: bool,
    list_bytes: usize,
    malformed: bool,
}

impl<'a> HeadReader<'a> {
    pub(super) fn new(answer: &'a mut Answer, is_trailers: bool) -> Self {
        Self {
            answer,
            is_trailers,
            status: 0,
            length: None,
            has_fields: false,
            list_bytes: 0,
            malformed: false,
        }
    }

    /// Checks and keeps a field. After the first invalid field, no further field is kept.
    #[inline]
    pub(super) fn field(&mut self, name: &[u8], value: &[u8]) {
        self.list_bytes += name.len() + value.len() + FIELD_OVERHEAD_BYTES;
        if self.malformed || self.list_bytes > self.answer.limits().header_bytes {
            self.malformed = true;
        } else if name.first() == Some(&b':') {
            self.pseudo(name, value);
        } else {
            self.has_fields = true;
            self.malformed =
                !is_name(name) || !is_field_content(value) || self.is_misplaced(name, value);
            if !self.malformed && !self.is_trailers {
                self.answer.push_field(name, value);
            }
        }
    }

    /// Processes `:status`, the only pseudo-header field of responses. It must come first and only once.
    fn pseudo(&mut self, name: &[u8], value: &[u8]) {
        let is_status =
            name == b":status" && self.status == 0 && !self.has_fields && !self.is_trailers;
        match value {
            [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] if is_status => {
                let digits = value.iter().map(|digit| u16::from(digit - b'0'));
                self.status = digits.fold(0, |status, digit| 10 * status + digit);
                self.answer.set_status(self.status);
            }
            _ => self.malformed = true,
        }
    }

    /// Returns `true` if the field is allowed only in HTTP/1.1 (RFC 9113, section 8.2.2), or if it is a Content-Length
    /// that contradicts an earlier Content-Length.
    fn is_misplaced(&mut self, name: &[u8], value: &[u8]) -> bool {
        match name.len() {
            7 => name == b"upgrade",
            10 => name == b"connection" || name == b"keep-alive",
            14 if name == b"content-length" && !self.is_trailers => {
                let length = decimal(value);
                let agrees = self.length.is_none() || self.length == length;
                self.length = length;
                length.is_none() || !agrees
            }
            16 => name == b"proxy-connection",
            17 => name == b"transfer-encoding",
            _ => false,
        }
    }

    /// Determines the kind of the block after its last field. `ends` is `true` if the stream ends with the block, so
    /// that no body follows.
    pub(super) fn end(self, ends: bool) -> Result<Head, Malformed> {
        let is_informational = (100..200).contains(&self.status);
        let fits = if self.is_trailers {
            ends
        } else {
            // A head is refused if it has no status, if it is an upgrade (101), or if it is informational and ends the
            // stream.
            self.status != 0 && self.status != 101 && !(is_informational && ends)
        };
        if self.malformed || !fits {
            return Err(Malformed);
        }
        if self.is_trailers {
            return Ok(Head::Trailers);
        }
        if is_informational {
            self.answer.forget_head();
            return Ok(Head::Informational);
        }
        let has_body = !self.answer.wanted().method_is_head && !matches!(self.status, 204 | 304);
        Ok(Head::Final(if has_body { self.length } else { Some(0) }))
    }
}

/// Returns `true` if the name is a token without capital letters (RFC 9113, section 8.2).
fn is_name(name: &[u8]) -> bool {
    const IS_NAME: [bool; 256] = {
        let mut table = IS_TOKEN;
        let mut capital = b'A';
        while capital <= b'Z' {
            table[capital as usize] = false;
            capital += 1;
        }
        table
    };
    !name.is_empty() && name.iter().all(|&byte| IS_NAME[usize::from(byte)])
}

//! Reads the fields of the head or the trailers of a response (RFC 9113, section 8).

use super::hpack::FIELD_OVERHEAD_BYTES;
use crate::http::head::{IS_TOKEN, decimal, is_field_content};
use crate::http::response::Answer;

/// An invalid head of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// Kind of a decoded block of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// Another head follows.
    Informational,
    /// Head of the final response, with the length that it announces, if any.
    Final(Option<u64>),
    /// Fields after a body.
    Trailers,
}

/// Takes fields one by one and checks each, so that the kept fields have the same form as with HTTP/1.1.
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

    /// Takes a field; after an error no further field is kept.
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

    /// Takes `:status`, the only pseudo-header field of responses; it must come first and only once.
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

    /// Returns `true` if the field belongs to HTTP/1.1 connections only (RFC 9113, section 8.2.2), or is a length that
    /// contradicts an earlier length.
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

    /// Classifies the block after its last field. `ends` states that no body follows.
    pub(super) fn end(self, ends: bool) -> Result<Head, Malformed> {
        let is_informational = (100..200).contains(&self.status);
        let fits = if self.is_trailers {
            ends
        } else {
            // No request upgrades to another protocol (101), and an informational head cannot end the stream.
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

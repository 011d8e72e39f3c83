//! Parses the status line and the fields that determine the length of the body (RFC 9112, sections 4, 5 and 6).
//!
//! Where the RFC leaves a choice, this module rejects the response. The cases are a folded field (obs-fold), blanks
//! before the colon, a control character in a value, a `Content-Length` together with a `Transfer-Encoding`, and an
//! unrequested `101`. In each of them two parsers may find different ends of the same response, so the measurement
//! could be wrong.

use super::response::ProtocolError;

/// Start of every status line.
const PROTOCOL: &[u8] = b"HTTP/1.";

/// Properties of a response head that determine where the response ends and if the connection persists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    /// Minor version of HTTP: 0 for HTTP/1.0, 1 for HTTP/1.1, or a larger number for later versions.
    minor_version: u8,
    content_length: Option<u64>,
    /// `None` without a `Transfer-Encoding` field; otherwise `true` if the last coding in the field is `chunked`.
    chunked: Option<bool>,
    says_close: bool,
    says_keep_alive: bool,
}

/// Rule that determines the end of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Empty,
    Length(u64),
    Chunked,
    UntilClose,
}

/// Returns `true` if a valid status line can have these `bytes` from position `offset` on.
pub(super) fn may_be_http(offset: usize, bytes: &[u8]) -> bool {
    bytes
        .iter()
        .zip(PROTOCOL.iter().skip(offset))
        .all(|(have, want)| have == want)
}

impl Head {
    /// Parses a status line: `HTTP/1.x SP 3DIGIT [SP reason]`. The blank before an empty reason may be missing.
    pub(super) fn of_status_line(line: &[u8]) -> Result<Self, ProtocolError> {
        let rest = line.strip_prefix(PROTOCOL).ok_or(ProtocolError::NotHttp)?;
        let Some((&[minor, b' ', hundreds, tens, ones], reason)) = rest.split_first_chunk() else {
            return Err(ProtocolError::NotHttp);
        };
        let digits = [hundreds, tens, ones];
        let fits = minor.is_ascii_digit()
            && digits.iter().all(u8::is_ascii_digit)
            && (b'1'..=b'9').contains(&hundreds)
            && (reason.is_empty() || reason[0] == b' ')
            && is_field_content(reason);
        if !fits {
            return Err(ProtocolError::NotHttp);
        }
        Ok(Self {
            status: digits
                .iter()
                .fold(0, |status, digit| status * 10 + u16::from(digit - b'0')),
            minor_version: minor - b'0',
            content_length: None,
            chunked: None,
            says_close: false,
            says_keep_alive: false,
        })
    }

    /// Processes a header field that affects the end of the response or of the connection; ignores any other field.
    pub(super) fn field(&mut self, name: &[u8], value: &[u8]) -> Result<(), ProtocolError> {
        // The lengths of the names are compared first, because this fast test excludes almost all fields.
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => self.length(value),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.encoding(value),
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in elements(value) {
                    self.says_close |= option.eq_ignore_ascii_case(b"close");
                    self.says_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Stores a `Content-Length`. Equal lengths may be repeated; different lengths are an error.
    fn length(&mut self, value: &[u8]) -> Result<(), ProtocolError> {
        for element in value.split(|&byte| byte == b',') {
            let length = decimal(trimmed(element)).ok_or(ProtocolError::BadLength)?;
            if self.content_length.is_some_and(|before| before != length) {
                return Err(ProtocolError::BadLength);
            }
            self.content_length = Some(length);
        }
        Ok(())
    }

    /// Stores a `Transfer-Encoding`. Chunked must be the last coding and occur once. Parsers disagree about empty
    /// codings and about codings with characters that are not allowed in names, so these are errors.
    fn encoding(&mut self, value: &[u8]) -> Result<(), ProtocolError> {
        for coding in value.split(|&byte| byte == b',').map(trimmed) {
            let end = memchr::memchr(b';', coding).unwrap_or(coding.len());
            let name = trimmed(&coding[..end]);
            let is_name = name.iter().all(|&byte| IS_TOKEN[usize::from(byte)]);
            if self.chunked == Some(true) || name.is_empty() || !is_name || !coding.is_ascii() {
                return Err(ProtocolError::BadEncoding);
            }
            self.chunked = Some(coding.eq_ignore_ascii_case(b"chunked"));
        }
        Ok(())
    }

    /// Returns `true` if the status is informational (1xx), so that another head follows.
    pub(super) fn is_informational(&self) -> bool {
        self.status < 200
    }

    /// Returns the rule that determines the end of the body (RFC 9112, section 6.3).
    pub(super) fn framing(&self, method_is_head: bool) -> Result<Framing, ProtocolError> {
        if self.content_length.is_some() && self.chunked.is_some() {
            return Err(ProtocolError::LengthAndEncoding);
        }
        if method_is_head || matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(Framing::Empty);
        }
        Ok(match (self.chunked, self.content_length) {
            (Some(true), _) => Framing::Chunked,
            (None, Some(0)) => Framing::Empty,
            (None, Some(length)) => Framing::Length(length),
            (Some(false), _) | (None, None) => Framing::UntilClose,
        })
    }

    /// Returns `true` if the connection can be reused after the body (RFC 9112, section 9.3). A response of HTTP/1.0
    /// with a transfer coding has faulty framing (section 6.1): it is read, but its connection is not reused.
    pub(super) fn persists(&self) -> bool {
        !self.says_close
            && (self.minor_version > 0 || (self.says_keep_alive && self.chunked.is_none()))
    }
}

/// Splits a field line into name and value, and removes the blanks around the value.
pub(super) fn split_field(line: &[u8]) -> Result<(&[u8], &[u8]), ProtocolError> {
    // The name ends at the first character that is not allowed in names, and this character must be the colon. A folded
    // line begins with a blank and is therefore rejected, too.
    let end = line
        .iter()
        .position(|&byte| !IS_TOKEN[usize::from(byte)])
        .ok_or(ProtocolError::BadField)?;
    let (name, value) = (&line[..end], &line[end + 1..]);
    if name.is_empty() || line[end] != b':' || !is_field_content(value) {
        return Err(ProtocolError::BadField);
    }
    Ok((name, trimmed(value)))
}

/// Returns `true` if the field value has no control characters except tabs. A CR inside a line is a control character,
/// too.
pub(crate) fn is_field_content(value: &[u8]) -> bool {
    // The loop checks every byte without an early exit, so that the compiler can use vector instructions.
    let controls = value.iter().fold(0, |controls, &byte| {
        controls | u8::from(byte < b' ' && byte != b'\t') | u8::from(byte == 0x7f)
    });
    controls == 0
}

/// Returns the elements of a comma-separated field value, without empty elements (RFC 9110, section 5.6.1).
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',')
        .map(trimmed)
        .filter(|element| !element.is_empty())
}

fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// For each byte, `true` if it is allowed in a token, such as a field name (RFC 9110, section 5.6.2).
pub(crate) const IS_TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let marks = b"!#$%&'*+-.^_`|~";
    let mut index = 0;
    while index < marks.len() {
        table[marks[index] as usize] = true;
        index += 1;
    }
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = true;
        }
        byte += 1;
    }
    table
};

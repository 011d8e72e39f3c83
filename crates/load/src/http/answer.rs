//! Stored parts of a response (status, fields, body), in the same form for all versions of HTTP.

use towtank_drivers::Digest;

use super::response::ProtocolError;

/// Limit on the allocated memory of bodies and heads that is kept for the next response. [B]
pub(super) const KEPT_BYTES: usize = 16 << 10;

/// Length of the kept part of the body if the status is an error. Such a body is often a message. [B]
const MESSAGE_BYTES: usize = 1 << 10;

/// Lowest status code of an error (RFC 9110, section 15).
const LOWEST_ERROR: u16 = 400;

/// Limits on the size of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Limit on the total length of the status line and all fields, including informational responses and trailers. [B]
    pub header_bytes: usize,
    /// Limit on the length of the body, without chunk headers. [B]
    pub body_bytes: u64,
    /// Number of body bytes that are kept for extractions and checks. [B]
    pub capture_bytes: usize,
}

/// Parts of the next response to keep, and method of its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `true` to keep the fields of the response head.
    pub head: bool,
    /// `true` to keep the body, up to [`Limits::capture_bytes`].
    pub body: bool,
    /// `true` for a HEAD request. The response then has no body, whatever its Content-Length states.
    pub method_is_head: bool,
}

/// Kept parts of a response: status, fields and body. The object is reused for the next response.
#[derive(Debug)]
pub struct Answer {
    pub(super) limits: Limits,
    pub(super) wanted: Wanted,
    status: u16,
    body_bytes: u64,
    /// The header fields, if they are kept. Each field is stored as `name:value` followed by a line feed.
    pub(super) fields: Vec<u8>,
    pub(super) body: Vec<u8>,
    /// Digest of the body, if the caller requested one.
    digest: Option<Box<Digest>>,
}

impl Answer {
    /// Creates an object that holds no response yet. It allocates no memory before bytes arrive.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            wanted: Wanted::default(),
            status: 0,
            body_bytes: 0,
            fields: Vec::new(),
            body: Vec::new(),
            digest: None,
        }
    }

    /// Prepares for the next response; `wanted` states which of its parts to keep.
    #[inline]
    pub fn begin(&mut self, wanted: Wanted) {
        self.wanted = wanted;
        self.forget_head();
        self.body_bytes = 0;
        self.body.clear();
        self.digest = None;
        self.fields.shrink_to(KEPT_BYTES);
        self.body.shrink_to(KEPT_BYTES);
    }

    /// Requests a digest of the next response's body. The digest covers the whole body, even if the body is not kept.
    pub fn watch(&mut self) {
        self.digest = Some(Box::default());
    }

    /// Returns the digest of the body received so far; `None` if no digest was requested.
    #[must_use]
    pub fn content(&self) -> Option<&Digest> {
        self.digest.as_deref()
    }

    /// Drops status and fields of an informational response, since another head follows.
    #[inline]
    pub fn forget_head(&mut self) {
        self.status = 0;
        self.fields.clear();
    }

    /// Stores the status code.
    #[inline]
    pub fn set_status(&mut self, status: u16) {
        self.status = status;
    }

    /// Stores a header field. Its value must have no control characters except tabs.
    #[inline]
    pub fn push_field(&mut self, name: &[u8], value: &[u8]) {
        if self.wanted.head {
            self.fields.extend_from_slice(name);
            self.fields.push(b':');
            self.fields.extend_from_slice(value);
            self.fields.push(b'\n');
        }
    }

    /// Returns an error if `more` further bytes would exceed the limit on the body.
    #[inline]
    pub(crate) fn room_for(&self, more: u64) -> Result<(), ProtocolError> {
        match self.body_bytes.checked_add(more) {
            Some(length) if length <= self.limits.body_bytes => Ok(()),
            _ => Err(ProtocolError::BodyTooLarge),
        }
    }

    /// Appends received bytes to the body.
    #[inline]
    pub fn push_body(&mut self, bytes: &[u8]) {
        if self.wanted.body || self.status >= LOWEST_ERROR {
            let at_most = if self.wanted.body {
                self.limits.capture_bytes
            } else {
                self.limits.capture_bytes.min(MESSAGE_BYTES)
            };
            let room = at_most.saturating_sub(self.body.len());
            self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        if let Some(digest) = &mut self.digest {
            digest.update(bytes);
        }
        self.body_bytes += bytes.len() as u64;
    }

    /// Returns the limits on the size of the response.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Returns which parts of this response are to be kept.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// Returns the status of the final response, or 0 before it is known.
    #[must_use]
    #[inline]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the value of the first header field with this case-insensitive name; `None` if there is no such field or
    /// the head is not kept.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers(name).next()
    }

    /// Returns the values of all header fields with this case-insensitive name, in order; none if the head is not kept.
    pub fn headers<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields
            .split(|&byte| byte == b'\n')
            .filter_map(move |field| {
                let (have, value) = field.split_at_checked(name.len())?;
                let value = value.strip_prefix(b":")?;
                have.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
            })
    }

    /// Returns the kept part of the body; empty if the body is not kept. Of an error, the start is always kept.
    #[must_use]
    #[inline]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns `true` if the body was longer than its kept part.
    #[must_use]
    pub fn body_truncated(&self) -> bool {
        self.wanted.body && self.body_bytes > self.body.len() as u64
    }

    /// Returns the length of the body received so far, without chunk headers. [B]
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Frees the memory of the response head and body. Called for connections that become idle.
    pub fn release(&mut self) {
        self.fields = Vec::new();
        self.body = Vec::new();
    }
}

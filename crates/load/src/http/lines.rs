//! Splits a stream of bytes, received in pieces of any length, into lines. A line that arrives in one piece is not
//! copied.

/// Start of an incomplete line.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    partial: Vec<u8>,
}

/// Result of one step of the line reader.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A complete line without its end; `consumed` bytes of the piece belong to the line. `strict` is `true` if the
    /// line ended with CR LF.
    Whole {
        line: &'a [u8],
        consumed: usize,
        strict: bool,
    },
    /// The whole piece belongs to an incomplete line; this is the line so far.
    Partial(&'a [u8]),
    /// The line is longer than allowed.
    TooLong,
}

impl LineBuffer {
    /// Takes the next line of at most `limit` bytes, including its end, from `bytes`. Lines end with LF; a CR before
    /// the LF is part of the end (RFC 9112, section 2.2, allows this).
    pub(super) fn take<'a>(&'a mut self, bytes: &'a [u8], limit: usize) -> Line<'a> {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            if self.partial.len() + bytes.len() >= limit {
                return Line::TooLong;
            }
            self.partial.extend_from_slice(bytes);
            return Line::Partial(&self.partial);
        };
        let consumed = end + 1;
        if self.partial.len() + consumed > limit {
            return Line::TooLong;
        }
        let whole = if self.partial.is_empty() {
            &bytes[..end]
        } else {
            self.partial.extend_from_slice(&bytes[..end]);
            &self.partial
        };
        let without_return = whole.strip_suffix(b"\r");
        Line::Whole {
            line: without_return.unwrap_or(whole),
            consumed,
            strict: without_return.is_some(),
        }
    }

    /// Length of the line so far. [B]
    pub(super) fn len(&self) -> usize {
        self.partial.len()
    }

    /// Drops a processed line, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.partial.clear();
    }

    /// Drops the line, and keeps at most `kept_bytes` of memory.
    pub(super) fn clear_to(&mut self, kept_bytes: usize) {
        self.partial.clear();
        self.partial.shrink_to(kept_bytes);
    }

    /// Frees the memory.
    pub(super) fn release(&mut self) {
        self.partial = Vec::new();
    }
}

//! Splits a stream of bytes, received in pieces of any length, into lines. A line that arrives in one piece is not
//! copied.

/// Buffer for the received start of a line whose end has not arrived yet.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    partial: Vec<u8>,
}

/// Result of reading a line from one received piece of bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A complete line without its line end. The first `consumed` bytes of the piece belong to the line. `strict` is
    /// `true` if the line ended with CR LF, and `false` if it ended with LF alone.
    Whole {
        line: &'a [u8],
        consumed: usize,
        strict: bool,
    },
    /// The line end has not arrived. The whole piece belongs to the line; the value is the part of the line that has
    /// been received so far, including earlier pieces.
    Partial(&'a [u8]),
    /// The line is longer than the limit of the caller.
    TooLong,
}

impl LineBuffer {
    /// Takes the next line from `bytes`; it may have at most `limit` bytes, including its end. Lines end with LF; a CR
    /// before the LF is part of the end (RFC 9112, section 2.2, allows a lone LF).
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

    /// Returns the length of the incomplete line received so far. [B]
    pub(super) fn len(&self) -> usize {
        self.partial.len()
    }

    /// Removes a processed line from the buffer, but keeps the allocated memory for the next line.
    pub(super) fn clear(&mut self) {
        self.partial.clear();
    }

    /// Removes the line from the buffer, and reduces the allocated memory to at most `kept_bytes`.
    pub(super) fn clear_to(&mut self, kept_bytes: usize) {
        self.partial.clear();
        self.partial.shrink_to(kept_bytes);
    }

    pub(super) fn release(&mut self) {
        self.partial = Vec::new();
    }
}

//! Frames of HTTP/2 (RFC 9113, sections 4 and 6): frame headers, types and flags, and the structure of the payloads.

/// Connection preface of a client (RFC 9113, section 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Length of the frame header, which begins every frame. [B]
pub const HEAD_BYTES: usize = 9;

/// Largest payload of a frame by default. The client accepts no longer payloads. [B]
pub const FRAME_BYTES: usize = 16_384;

/// Largest allowed flow-control window. [B]
pub const WINDOW_AT_MOST: i64 = (1 << 31) - 1;

/// Initial flow-control window, if no setting changes it. [B]
pub const DEFAULT_WINDOW: u32 = 65_535;

/// Largest possible stream number.
pub const LAST_STREAM: u32 = (1 << 31) - 1;

/// Numbers of the frame types (RFC 9113, section 6).
pub mod kind {
    #![allow(missing_docs)] // The names are those of RFC 9113.
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Bits of the frame flags (RFC 9113, section 6).
pub mod flag {
    #![allow(missing_docs)] // The names are those of RFC 9113.
    pub const ACK: u8 = 0x1;
    pub const END_STREAM: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
    pub const PRIORITY: u8 = 0x20;
}

/// Numbers of settings (RFC 9113, section 6.5.2).
pub mod setting {
    #![allow(missing_docs)] // The names are those of RFC 9113.
    pub const HEADER_TABLE_SIZE: u16 = 1;
    pub const ENABLE_PUSH: u16 = 2;
    pub const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    pub const MAX_FRAME_SIZE: u16 = 5;
    pub const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// Error codes of `RST_STREAM` and GOAWAY frames (RFC 9113, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names are those of RFC 9113.
pub enum ErrorCode {
    NoError = 0,
    ProtocolError = 1,
    InternalError = 2,
    FlowControlError = 3,
    StreamClosed = 5,
    FrameSizeError = 6,
    RefusedStream = 7,
    Cancel = 8,
    CompressionError = 9,
    EnhanceYourCalm = 11,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// Length of the payload. [B]
    pub length: usize,
    /// Type of the frame, a constant of [`kind`]. Frames of unknown types are ignored.
    pub kind: u8,
    /// Flags of the frame: a combination of the bits in [`flag`].
    pub flags: u8,
    /// Number of the stream that the frame belongs to; 0 stands for the whole connection.
    pub stream: u32,
}

impl FrameHead {
    /// Decodes a frame header.
    #[must_use]
    #[inline]
    pub fn read(bytes: &[u8; HEAD_BYTES]) -> Self {
        let [high, middle, low, kind, flags, stream @ ..] = *bytes;
        Self {
            length: u32::from_be_bytes([0, high, middle, low]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & LAST_STREAM,
        }
    }

    /// Encodes the frame header.
    #[must_use]
    #[inline]
    pub fn bytes(self) -> [u8; HEAD_BYTES] {
        let [_, high, middle, low] = (self.length as u32).to_be_bytes();
        let [first, second, third, fourth] = self.stream.to_be_bytes();
        [
            high, middle, low, self.kind, self.flags, first, second, third, fourth,
        ]
    }

    /// Appends the encoded frame header to `out`.
    #[inline]
    pub fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes());
    }

    /// Returns `true` if the flag is set.
    #[must_use]
    #[inline]
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame with this payload to `out`.
pub fn write(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    let length = payload.len();
    FrameHead {
        length,
        kind,
        flags,
        stream,
    }
    .write(out);
    out.extend_from_slice(payload);
}

/// Appends a SETTINGS frame to `out`.
pub fn write_settings(settings: &[(u16, u32)], out: &mut Vec<u8>) {
    let payload: Vec<u8> = settings
        .iter()
        .flat_map(|(number, value)| number.to_be_bytes().into_iter().chain(value.to_be_bytes()))
        .collect();
    write(kind::SETTINGS, 0, 0, &payload, out);
}

/// Appends a `WINDOW_UPDATE` frame that increases the window by `more` bytes.
pub fn write_window_update(stream: u32, more: u32, out: &mut Vec<u8>) {
    write(kind::WINDOW_UPDATE, 0, stream, &more.to_be_bytes(), out);
}

/// Appends a `RST_STREAM` frame, which closes the stream with an error code.
pub fn write_reset(stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    write(
        kind::RST_STREAM,
        0,
        stream,
        &(code as u32).to_be_bytes(),
        out,
    );
}

/// Appends a GOAWAY frame; `last` is the highest stream number of the peer that was processed.
pub fn write_goaway(last: u32, code: ErrorCode, out: &mut Vec<u8>) {
    let mut payload = [0; 8];
    payload[..4].copy_from_slice(&last.to_be_bytes());
    payload[4..].copy_from_slice(&(code as u32).to_be_bytes());
    write(kind::GOAWAY, 0, 0, &payload, out);
}

/// Turns an encoded block of header fields into a HEADERS frame, followed by CONTINUATION frames if the block is too
/// long. The block is the part of `out` from `start` on; the frame headers are inserted into it.
pub fn frame_block(
    stream: u32,
    end_stream: bool,
    start: usize,
    frame_bytes: usize,
    out: &mut Vec<u8>,
) {
    let length = out.len() - start - HEAD_BYTES;
    let ending = if end_stream { flag::END_STREAM } else { 0 };
    let whole = length <= frame_bytes;
    let flags = if whole {
        ending | flag::END_HEADERS
    } else {
        ending
    };
    let head = FrameHead {
        length: length.min(frame_bytes),
        kind: kind::HEADERS,
        flags,
        stream,
    };
    out[start..start + HEAD_BYTES].copy_from_slice(&head.bytes());
    if whole {
        return;
    }
    let rest = out.split_off(start + HEAD_BYTES + frame_bytes);
    let mut pieces = rest.chunks(frame_bytes).peekable();
    while let Some(piece) = pieces.next() {
        let flags = if pieces.peek().is_none() {
            flag::END_HEADERS
        } else {
            0
        };
        write(kind::CONTINUATION, flags, stream, piece, out);
    }
}

/// Returns the settings in the payload of a SETTINGS frame; `None` if its length is not a multiple of a setting's
/// length.
#[must_use]
pub fn settings(payload: &[u8]) -> Option<impl Iterator<Item = (u16, u32)> + '_> {
    payload.len().is_multiple_of(6).then(|| {
        payload.chunks_exact(6).map(|six| {
            let number = u16::from_be_bytes([six[0], six[1]]);
            (number, u32::from_be_bytes([six[2], six[3], six[4], six[5]]))
        })
    })
}

/// Decodes the first four bytes of a payload as a number; `None` if there are fewer bytes.
#[must_use]
pub fn number(payload: &[u8]) -> Option<u32> {
    payload.first_chunk().map(|four| u32::from_be_bytes(*four))
}

/// Returns the payload of a DATA or HEADERS frame without padding and priority. Returns `None` if the payload is too
/// short to contain them.
#[must_use]
#[inline]
pub fn content(head: FrameHead, payload: &[u8]) -> Option<&[u8]> {
    let mut content = payload;
    let mut padding = 0;
    if head.has(flag::PADDED) {
        let (length, rest) = content.split_first()?;
        (padding, content) = (usize::from(*length), rest);
    }
    if head.kind == kind::HEADERS && head.has(flag::PRIORITY) {
        content = content.get(5..)?;
    }
    content.get(..content.len().checked_sub(padding)?)
}

/// Splits the bytes of a connection, which arrive in pieces of any length, into frames. A frame that arrives in one
/// piece is not copied.
#[derive(Debug, Default)]
pub struct FrameReader {
    partial: Vec<u8>,
}

/// Error: a frame is longer than the limit that the client has announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl FrameReader {
    /// Takes the next complete frame from `bytes`, and advances `bytes` past the frame; `None` if more bytes are
    /// needed. The frame borrows from `bytes` or from `spare`. The memory in `spare` belongs to the reader and must be
    /// returned with [`FrameReader::done`].
    ///
    /// # Errors
    /// [`TooLong`], as soon as the header of a frame states a length above the limit.
    #[inline]
    pub fn next<'a: 'b, 'b>(
        &mut self,
        bytes: &mut &'a [u8],
        spare: &'b mut Vec<u8>,
    ) -> Result<Option<(FrameHead, &'b [u8])>, TooLong> {
        if self.partial.is_empty() {
            let Some(head) = bytes.first_chunk().map(FrameHead::read) else {
                self.keep(bytes);
                return Ok(None);
            };
            check(head)?;
            if let Some((frame, rest)) = bytes.split_at_checked(HEAD_BYTES + head.length) {
                *bytes = rest;
                return Ok(Some((head, &frame[HEAD_BYTES..])));
            }
            self.keep(bytes);
            return Ok(None);
        }
        self.next_of_pieces(bytes, spare)
    }

    fn next_of_pieces<'a>(
        &mut self,
        bytes: &mut &[u8],
        spare: &'a mut Vec<u8>,
    ) -> Result<Option<(FrameHead, &'a [u8])>, TooLong> {
        if !self.fill(HEAD_BYTES, bytes) {
            return Ok(None);
        }
        let Some(head) = self.partial.first_chunk().map(FrameHead::read) else {
            return Ok(None);
        };
        check(head)?;
        if !self.fill(HEAD_BYTES + head.length, bytes) {
            return Ok(None);
        }
        *spare = std::mem::take(&mut self.partial);
        Ok(Some((head, &spare[HEAD_BYTES..])))
    }

    /// Takes back the memory of a processed frame, so that the next frame can use it.
    #[inline]
    pub fn done(&mut self, mut spare: Vec<u8>) {
        if spare.capacity() > 0 && self.partial.capacity() == 0 {
            spare.clear();
            self.partial = spare;
        }
    }

    fn keep(&mut self, bytes: &mut &[u8]) {
        self.partial.extend_from_slice(bytes);
        *bytes = &[];
    }

    /// Moves bytes from `bytes` to the buffer until the buffer holds `length` bytes. Returns `true` once it does.
    fn fill(&mut self, length: usize, bytes: &mut &[u8]) -> bool {
        let missing = length.saturating_sub(self.partial.len());
        let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
        self.partial.extend_from_slice(taken);
        *bytes = rest;
        self.partial.len() >= length
    }
}

fn check(head: FrameHead) -> Result<(), TooLong> {
    if head.length > FRAME_BYTES {
        Err(TooLong)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back() {
        let head = FrameHead {
            length: 16_384,
            kind: kind::HEADERS,
            flags: 5,
            stream: LAST_STREAM,
        };
        let mut out = Vec::new();
        head.write(&mut out);
        assert_eq!(out.first_chunk().map(FrameHead::read), Some(head));
    }

    #[test]
    fn padding_and_priority_are_taken_off_and_bounded() {
        let content_of = |kind, flags, payload: &'static [u8]| {
            content(
                FrameHead {
                    length: payload.len(),
                    kind,
                    flags,
                    stream: 1,
                },
                payload,
            )
        };
        let both = flag::PADDED | flag::PRIORITY;
        assert_eq!(content_of(kind::DATA, 0, b"abc"), Some(b"abc".as_slice()));
        assert_eq!(
            content_of(kind::DATA, flag::PADDED, b"\x02abcd"),
            Some(b"ab".as_slice())
        );
        assert_eq!(
            content_of(kind::HEADERS, both, b"\x01.....ab"),
            Some(b"a".as_slice())
        );
        assert_eq!(content_of(kind::DATA, flag::PADDED, b"\x04abc"), None);
        assert_eq!(content_of(kind::DATA, flag::PADDED, b""), None);
        assert_eq!(content_of(kind::HEADERS, flag::PRIORITY, b"...."), None);
    }

    #[test]
    fn every_split_gives_the_same_frames() {
        let mut stream = Vec::new();
        write(kind::PING, 0, 0, &[7; 8], &mut stream);
        write(kind::SETTINGS, flag::ACK, 0, &[], &mut stream);
        write(kind::DATA, flag::END_STREAM, 3, b"hello", &mut stream);
        let frames = |pieces: &[&[u8]]| {
            let (mut reader, mut found) = (FrameReader::default(), Vec::new());
            for mut piece in pieces.iter().copied() {
                loop {
                    let mut spare = Vec::new();
                    let Some((head, payload)) =
                        reader.next(&mut piece, &mut spare).expect("short frames")
                    else {
                        break;
                    };
                    found.push((head.kind, head.stream, payload.to_vec()));
                    reader.done(spare);
                }
            }
            found
        };
        let whole = frames(&[&stream]);
        assert_eq!(whole.len(), 3);
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                assert_eq!(
                    frames(&[&stream[..first], &stream[first..second], &stream[second..]]),
                    whole
                );
            }
        }
    }

    #[test]
    fn a_block_that_is_too_long_for_one_frame_is_continued() {
        let mut out = b"before".to_vec();
        let start = out.len();
        out.extend_from_slice(&[0; HEAD_BYTES]);
        out.extend((0..25).map(|byte| byte as u8));
        frame_block(5, true, start, 10, &mut out);
        let mut expected = b"before".to_vec();
        let bytes: Vec<u8> = (0..25).collect();
        write(
            kind::HEADERS,
            flag::END_STREAM,
            5,
            &bytes[..10],
            &mut expected,
        );
        write(kind::CONTINUATION, 0, 5, &bytes[10..20], &mut expected);
        write(
            kind::CONTINUATION,
            flag::END_HEADERS,
            5,
            &bytes[20..],
            &mut expected,
        );
        assert_eq!(out, expected);
    }
}

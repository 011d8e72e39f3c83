//! Packets of the MySQL protocol and their fields (<https://mariadb.com/kb/en/0-packet/>,
//! <https://mariadb.com/kb/en/protocol-data-types/>). Numbers are little-endian.

use std::fmt;

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// First byte of an error packet.
pub(super) const REFUSED: u8 = 0xff;

/// Number of bytes of a packet header: three for the length of the content, one for the sequence number.
const HEAD_BYTES: usize = 4;

/// Content of this length or more would be split over several packets, which is not supported. [B]
const LENGTH_CEILING: usize = 0xff_ffff;

/// Returns the first byte of the content of the first packet. This byte states the kind of the packet.
pub(super) fn kind(received: &[u8]) -> Option<u8> {
    received.get(HEAD_BYTES).copied()
}

/// Error: the bytes are not a packet, or are a packet of an unexpected kind. The text describes the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

const CUT_OFF: Malformed = Malformed("an incomplete packet");

/// Removes the next packet from the received bytes if it is complete, and increments the sequence number.
///
/// # Errors
///
/// If the packet is too long, or has an unexpected sequence number.
pub(super) fn take(received: &mut BytesMut, number: &mut u8) -> Result<Option<Bytes>, Malformed> {
    let Some(head) = received.first_chunk::<HEAD_BYTES>() else {
        return Ok(None);
    };
    let [low, middle, high, counted] = *head;
    let length = usize::from(low) | (usize::from(middle) << 8) | (usize::from(high) << 16);
    if length == LENGTH_CEILING {
        return Err(Malformed("a packet of 16 MiB or more"));
    }
    // A server that is about to close the session may send an error with an unexpected sequence number. Error packets
    // are therefore recognized by the first byte of their content alone.
    let first = received.get(HEAD_BYTES);
    let may_be_error = length > 0 && first.is_none_or(|first| *first == REFUSED);
    if counted != *number && !may_be_error {
        return Err(Malformed("a packet out of sequence"));
    }
    if received.len() < HEAD_BYTES + length {
        return Ok(None);
    }
    let mut packet = received.split_to(HEAD_BYTES + length).freeze();
    packet.advance(HEAD_BYTES);
    *number = number.wrapping_add(1);
    Ok(Some(packet))
}

/// Appends a packet to `out` and increments the sequence number. The function `content` appends the content of the
/// packet.
///
/// # Errors
///
/// If the packet is longer than allowed; nothing is written in that case.
pub(super) fn write(
    out: &mut BytesMut,
    number: &mut u8,
    content: impl FnOnce(&mut BytesMut),
) -> Result<(), Malformed> {
    let start = out.len();
    out.put_bytes(0, HEAD_BYTES);
    content(out);
    let length = out.len() - start - HEAD_BYTES;
    if length >= LENGTH_CEILING {
        out.truncate(start);
        return Err(Malformed("a statement or values of 16 MiB or more"));
    }
    out[start..start + 3].copy_from_slice(&length.to_le_bytes()[..3]);
    out[start + 3] = *number;
    *number = number.wrapping_add(1);
    Ok(())
}

/// Appends an integer in the length-encoded form of the protocol.
pub(super) fn put_count(out: &mut BytesMut, count: usize) {
    match count {
        0..=0xfa => out.put_u8(count as u8),
        0xfb..=0xffff => {
            out.put_u8(0xfc);
            out.put_u16_le(count as u16);
        }
        0x1_0000..=0xff_ffff => {
            out.put_u8(0xfd);
            out.put_uint_le(count as u64, 3);
        }
        _ => {
            out.put_u8(0xfe);
            out.put_u64_le(count as u64);
        }
    }
}

/// Appends a text, preceded by the length of the text.
pub(super) fn put_text(out: &mut BytesMut, text: &[u8]) {
    put_count(out, text.len());
    out.put_slice(text);
}

/// Appends a text, followed by a zero byte.
pub(super) fn put_terminated(out: &mut BytesMut, text: &[u8]) {
    out.put_slice(text);
    out.put_u8(0);
}

/// The remaining fields of a packet, as bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// Removes and returns the next `count` bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(CUT_OFF)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Removes and returns an integer of `bytes` bytes, at most eight.
    pub(super) fn number(&mut self, bytes: usize) -> Result<u64, Malformed> {
        let taken = self.take(bytes)?.iter().rev();
        Ok(taken.fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    /// Removes and returns an integer of two bytes.
    pub(super) fn short(&mut self) -> Result<u16, Malformed> {
        Ok(self.number(2)? as u16)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.number(1)? as u8)
    }

    /// Removes and returns a length-encoded integer, or `None` for NULL.
    pub(super) fn value(&mut self) -> Result<Option<u64>, Malformed> {
        Ok(Some(match self.byte()? {
            0xfb => return Ok(None),
            0xfc => self.number(2)?,
            0xfd => self.number(3)?,
            0xfe => self.number(8)?,
            0xff => return Err(Malformed("an invalid length")),
            small => u64::from(small),
        }))
    }

    /// Removes and returns a length-encoded integer.
    pub(super) fn count(&mut self) -> Result<u64, Malformed> {
        self.value()?
            .ok_or(Malformed("NULL in a field that must have a value"))
    }

    /// Removes and returns a text that is preceded by its length, or `None` for NULL.
    pub(super) fn text_or_null(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        let Some(length) = self.value()? else {
            return Ok(None);
        };
        let length = usize::try_from(length).map_err(|_| CUT_OFF)?;
        self.take(length).map(Some)
    }

    /// Removes and returns a text that is preceded by its length.
    pub(super) fn text(&mut self) -> Result<&'a [u8], Malformed> {
        let text = self.text_or_null()?;
        text.ok_or(Malformed("NULL in a field that must have a value"))
    }

    /// Removes and returns a text that ends at a zero byte.
    pub(super) fn terminated(&mut self) -> Result<&'a [u8], Malformed> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(CUT_OFF)?;
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(bytes: &[u8], number: u8) -> Result<Option<Vec<u8>>, Malformed> {
        let (mut received, mut number) = (BytesMut::from(bytes), number);
        let packet = take(&mut received, &mut number)?;
        Ok(packet.map(|packet| packet.to_vec()))
    }

    #[test]
    fn counts_are_as_short_as_they_can_be_and_read_back() {
        // Expected encodings come from the table of length-encoded integers in the protocol reference.
        let cases: [(usize, &[u8]); 7] = [
            (0, &[0]),
            (0xfa, &[0xfa]),
            (0xfb, &[0xfc, 0xfb, 0]),
            (0xffff, &[0xfc, 0xff, 0xff]),
            (0x1_0000, &[0xfd, 0, 0, 1]),
            (0xff_ffff, &[0xfd, 0xff, 0xff, 0xff]),
            (0x100_0000, &[0xfe, 0, 0, 0, 1, 0, 0, 0, 0]),
        ];
        for (count, expected) in cases {
            let mut out = BytesMut::new();
            put_count(&mut out, count);
            assert_eq!(&out[..], expected);
            assert_eq!(Fields(&out).count(), Ok(count as u64));
        }
        assert_eq!(Fields(&[0xfb]).value(), Ok(None));
        assert!(Fields(&[0xff]).value().is_err());
        assert!(Fields(&[0xfc, 1]).value().is_err());
    }

    #[test]
    fn a_packet_is_taken_once_it_is_whole_and_in_turn() {
        let bytes = [2, 0, 0, 1, b'o', b'k'];
        for end in 0..bytes.len() {
            assert_eq!(taken(&bytes[..end], 1), Ok(None), "{end}");
        }
        assert_eq!(taken(&bytes, 1), Ok(Some(b"ok".to_vec())));
        let out_of_turn = Malformed("a packet out of sequence");
        assert_eq!(taken(&bytes, 2), Err(out_of_turn));
        assert_eq!(
            taken(b"HTTP/", 0),
            Err(out_of_turn),
            "before all of it came"
        );
        assert_eq!(taken(&[0, 0, 0, 1], 0), Err(out_of_turn));
        let error = [1, 0, 0, 7, REFUSED];
        assert_eq!(taken(&error, 2), Ok(Some(vec![REFUSED])));
    }

    #[test]
    fn what_does_not_fit_into_a_packet_is_neither_read_nor_written() {
        let too_long = Malformed("a packet of 16 MiB or more");
        assert_eq!(taken(&[0xff, 0xff, 0xff, 0], 0), Err(too_long));
        let (mut out, mut number) = (BytesMut::from(&b"before"[..]), 3);
        let long = |out: &mut BytesMut| out.put_bytes(b'x', LENGTH_CEILING);
        assert!(write(&mut out, &mut number, long).is_err());
        assert_eq!((&out[..], number), (&b"before"[..], 3));
        let fits = |out: &mut BytesMut| out.put_bytes(b'x', LENGTH_CEILING - 1);
        assert_eq!(write(&mut out, &mut number, fits), Ok(()));
        assert_eq!(&out[6..10], [0xfe, 0xff, 0xff, 3]);
    }
}

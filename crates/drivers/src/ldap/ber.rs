//! Encoding and decoding of the part of BER (ITU-T X.690) that LDAP uses: tags of one byte and definite lengths
//! (RFC 4511, section 5.1).

use std::fmt;

/// Tag of the type `BOOLEAN`.
pub(crate) const BOOLEAN: u8 = 0x01;
/// Tag of the type `INTEGER`.
pub(crate) const INTEGER: u8 = 0x02;
/// Tag of the type `OCTET STRING`.
pub(crate) const OCTETS: u8 = 0x04;
/// Tag of the type `ENUMERATED`.
pub(crate) const ENUMERATED: u8 = 0x0a;
/// Tag of the type `SEQUENCE`.
pub(crate) const SEQUENCE: u8 = 0x30;
/// Tag of the type `SET`.
pub(crate) const SET: u8 = 0x31;

/// Bit in the first length byte: if set, the length is encoded in the bytes that follow.
const LONG: u8 = 0x80;
/// Largest accepted number of bytes in a length field. Four bytes allow lengths up to 4 GiB.
const LENGTH_BYTES: usize = 4;

/// Error: the bytes are not valid BER, or contain another element than expected. The text describes the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

/// Appends an element to `out`. The function `content` appends the content of the element.
pub(crate) fn element(out: &mut Vec<u8>, tag: u8, content: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let start = out.len();
    // Most contents are shorter than 128 bytes, so one byte is reserved for the length. A longer content is moved to
    // make space for more length bytes.
    out.push(0);
    content(out);
    let length = out.len() - start - 1;
    if length < usize::from(LONG) {
        out[start] = length as u8;
        return;
    }
    let bytes = length.to_be_bytes();
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(0);
    out[start] = LONG | (bytes.len() - first) as u8;
    let content = start + 1;
    out.splice(content..content, bytes[first..].iter().copied());
}

/// Appends an element with this tag and these bytes as its content.
pub(crate) fn octets(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    element(out, tag, |out| out.extend_from_slice(bytes));
}

/// Appends a non-negative number, with the tag of an integer or of an enumeration.
pub(crate) fn number(out: &mut Vec<u8>, tag: u8, number: u32) {
    // If the highest bit of the first byte were set, the number would be decoded as negative, so a zero byte is put
    // first.
    let bytes = u64::from(number).to_be_bytes();
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(7);
    let first = first - usize::from(bytes[first] >= 0x80);
    octets(out, tag, &bytes[first..]);
}

/// Appends a Boolean value with this tag.
pub(crate) fn boolean(out: &mut Vec<u8>, tag: u8, is_true: bool) {
    octets(out, tag, &[if is_true { 0xff } else { 0 }]);
}

/// Reads the head of the element at the start of `bytes`: tag, length of the head and length of the content. Returns
/// `None` if the head is incomplete.
fn head(bytes: &[u8]) -> Result<Option<(u8, usize, usize)>, Malformed> {
    let [tag, first, rest @ ..] = bytes else {
        return Ok(None);
    };
    if tag & 0x1f == 0x1f {
        return Err(Malformed("a tag of several bytes"));
    }
    if *first < LONG {
        return Ok(Some((*tag, 2, usize::from(*first))));
    }
    let count = usize::from(first & !LONG);
    if count == 0 || count > LENGTH_BYTES {
        return Err(Malformed(
            "an indefinite length, or a length of more than 4 bytes",
        ));
    }
    let Some(bytes) = rest.get(..count) else {
        return Ok(None);
    };
    let length = bytes
        .iter()
        .fold(0_usize, |length, byte| (length << 8) | usize::from(*byte));
    Ok(Some((*tag, 2 + count, length)))
}

/// Returns the length of the element with this tag at the start of `bytes`, or `None` if the head of the element is
/// incomplete.
///
/// # Errors
///
/// If the bytes begin with another tag, or the element has more than `at_most` bytes.
pub(crate) fn frame(bytes: &[u8], tag: u8, at_most: usize) -> Result<Option<usize>, Malformed> {
    let Some((found, head, content)) = head(bytes)? else {
        return Ok(None);
    };
    if found != tag {
        return Err(Malformed("not an LDAP message"));
    }
    if content > at_most {
        return Err(Malformed("a message that is too long"));
    }
    Ok(Some(head + content))
}

/// The remaining elements of a BER encoding, as bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elements<'a>(pub(crate) &'a [u8]);

impl<'a> Elements<'a> {
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the tag and the content of the next element.
    ///
    /// # Errors
    /// If no complete element follows.
    pub(crate) fn any(&mut self) -> Result<(u8, &'a [u8]), Malformed> {
        let (tag, head, content) = head(self.0)?.ok_or(Malformed("an incomplete element"))?;
        let end = head + content;
        let inside = self.0.get(head..end);
        let inside = inside.ok_or(Malformed("an incomplete element"))?;
        self.0 = &self.0[end..];
        Ok((tag, inside))
    }

    /// Returns the content of the next element, which must have this tag.
    ///
    /// # Errors
    ///
    /// If the element has another tag, or is incomplete.
    pub(crate) fn of(&mut self, tag: u8) -> Result<&'a [u8], Malformed> {
        let (found, inside) = self.any()?;
        if found == tag {
            Ok(inside)
        } else {
            Err(Malformed("an element of an unexpected kind"))
        }
    }

    /// Reads the next element, an integer with this tag.
    ///
    /// # Errors
    ///
    /// If the element is not an integer, or is negative, or is larger than LDAP allows.
    pub(crate) fn number(&mut self, tag: u8) -> Result<u32, Malformed> {
        let bytes = self.of(tag)?;
        let in_range = (1..=LENGTH_BYTES).contains(&bytes.len()) && bytes[0] < 0x80;
        if !in_range {
            return Err(Malformed("a number out of range"));
        }
        Ok(bytes
            .iter()
            .fold(0, |number, byte| (number << 8) | u32::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_x690_has_them() {
        // X.690, section 8.3: integers are in two's complement, in the smallest possible number of bytes.
        let cases: [(u32, &[u8]); 6] = [
            (0, &[2, 1, 0]),
            (127, &[2, 1, 127]),
            (128, &[2, 2, 0, 128]),
            (256, &[2, 2, 1, 0]),
            (0x7fff_ffff, &[2, 4, 0x7f, 0xff, 0xff, 0xff]),
            (u32::MAX, &[2, 5, 0, 0xff, 0xff, 0xff, 0xff]),
        ];
        for (value, expected) in cases {
            let mut out = Vec::new();
            number(&mut out, INTEGER, value);
            assert_eq!(out, expected, "{value}");
            if value <= 0x7fff_ffff {
                assert_eq!(Elements(&out).number(INTEGER), Ok(value));
            }
        }
    }

    #[test]
    fn lengths_are_as_short_as_they_can_be_and_read_back() {
        // X.690, section 8.1.3: a length up to 127 takes one byte. For a greater length, the first byte holds the
        // number of length bytes that follow.
        let cases: [(usize, &[u8]); 5] = [
            (0, &[0]),
            (127, &[127]),
            (128, &[0x81, 128]),
            (255, &[0x81, 255]),
            (70_000, &[0x83, 0x01, 0x11, 0x70]),
        ];
        for (length, expected) in cases {
            let mut out = Vec::new();
            octets(&mut out, OCTETS, &vec![7; length]);
            assert_eq!(&out[1..=expected.len()], expected, "{length}");
            assert_eq!(frame(&out, OCTETS, length), Ok(Some(out.len())));
            let mut elements = Elements(&out);
            assert_eq!(elements.of(OCTETS).map(<[u8]>::len), Ok(length));
            assert!(elements.is_empty());
        }
    }

    #[test]
    fn what_is_no_element_of_ldap_is_told() {
        let no_end = [SEQUENCE, 0x80, 0, 0];
        assert!(frame(&no_end, SEQUENCE, 100).is_err());
        assert!(frame(&[SEQUENCE, 0x85, 0, 0, 0, 0, 1], SEQUENCE, 100).is_err());
        assert!(frame(&[SEQUENCE, 101], SEQUENCE, 100).is_err());
        assert!(frame(&[OCTETS, 1], SEQUENCE, 100).is_err());
        assert!(frame(&[0x1f, 1], SEQUENCE, 100).is_err());
        assert_eq!(frame(&[SEQUENCE], SEQUENCE, 100), Ok(None));
        assert_eq!(frame(&[SEQUENCE, 0x82, 1], SEQUENCE, 1000), Ok(None));
        assert!(Elements(&[OCTETS, 2, 0]).any().is_err());
        assert!(Elements(&[INTEGER, 0]).number(INTEGER).is_err());
        assert!(Elements(&[INTEGER, 1, 0x80]).number(INTEGER).is_err());
    }
}

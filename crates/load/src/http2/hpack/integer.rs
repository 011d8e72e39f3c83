//! Encodes and decodes HPACK integers (RFC 7541, section 5.1). An integer begins in the low bits of a byte, which are
//! called the prefix.

use super::HpackError;

/// Limit on the bytes after the prefix. They hold 28 bits, enough for any length or index that this client accepts.
pub const MOST_BYTES: u32 = 4;

/// Appends an integer whose prefix has `bits` bits. `first` holds the bits of the first byte that precede the prefix.
#[inline]
pub(super) fn write(first: u8, bits: u32, value: usize, out: &mut Vec<u8>) {
    let most = (1_usize << bits) - 1;
    if value < most {
        out.push(first | value as u8);
        return;
    }
    out.push(first | most as u8);
    let mut rest = value - most;
    while rest >= 128 {
        out.push(rest as u8 | 128);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Decodes an integer at the start of `bytes`, and advances `bytes` past it.
#[inline]
pub(super) fn read(bytes: &mut &[u8], bits: u32) -> Result<usize, HpackError> {
    let (&first, rest) = bytes.split_first().ok_or(HpackError::Truncated)?;
    *bytes = rest;
    let most = (1_usize << bits) - 1;
    let value = usize::from(first) & most;
    if value < most {
        return Ok(value);
    }
    read_rest(bytes, most)
}

fn read_rest(bytes: &mut &[u8], most: usize) -> Result<usize, HpackError> {
    let mut value = most;
    for place in 0..MOST_BYTES {
        let (&byte, rest) = bytes.split_first().ok_or(HpackError::Truncated)?;
        *bytes = rest;
        value += usize::from(byte & 127) << (7 * place);
        if byte & 128 == 0 {
            return Ok(value);
        }
    }
    Err(HpackError::BadInteger)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples are those of RFC 7541, appendix C.1.
    #[test]
    fn the_examples_of_the_standard() {
        for (value, bits, bytes) in [
            (10, 5, vec![0b0_1010]),
            (1337, 5, vec![0b1_1111, 0b1001_1010, 0b0000_1010]),
            (42, 8, vec![0b0010_1010]),
        ] {
            let mut out = Vec::new();
            write(0, bits, value, &mut out);
            assert_eq!(out, bytes);
            assert_eq!(read(&mut bytes.as_slice(), bits), Ok(value));
        }
    }

    #[test]
    fn every_number_up_to_the_bound_comes_back() {
        for bits in 1..=8 {
            for value in (0..1000).chain([1 << 20, (1 << 28) - 1]) {
                let mut out = Vec::new();
                write(0, bits, value, &mut out);
                out.push(7);
                let mut rest = out.as_slice();
                assert_eq!(read(&mut rest, bits), Ok(value));
                assert_eq!(rest, [7]);
            }
        }
    }

    #[test]
    fn what_is_too_long_or_too_short_is_refused() {
        assert_eq!(read(&mut [].as_slice(), 7), Err(HpackError::Truncated));
        assert_eq!(
            read(&mut [127, 128].as_slice(), 7),
            Err(HpackError::Truncated)
        );
        let endless = [127, 128, 128, 128, 128, 0];
        assert_eq!(
            read(&mut endless.as_slice(), 7),
            Err(HpackError::BadInteger)
        );
    }
}

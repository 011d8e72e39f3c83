//! Parses chunk-size lines. Such a line precedes each chunk of a body (RFC 9112, section 7.1).

use super::head::is_field_content;
use super::response::ProtocolError;

/// Limit on the length of a chunk-size line, including chunk extensions. Extensions are ignored; those of known servers
/// take at most a few dozen bytes. [B]
pub(super) const SIZE_LINE_BYTES: usize = 4096;

/// Parses the line `size [;extensions]` before a chunk. Blanks after the size are allowed, as some servers pad it.
pub(super) fn size(line: &[u8]) -> Result<u64, ProtocolError> {
    let end = memchr::memchr(b';', line).unwrap_or(line.len());
    let mut digits = &line[..end];
    while let [before @ .., b' ' | b'\t'] = digits {
        digits = before;
    }
    let well_formed =
        !digits.is_empty() && digits.len() == digits_at_start(digits) && is_field_content(line);
    if !well_formed {
        return Err(ProtocolError::BadChunk);
    }
    digits
        .iter()
        .try_fold(0_u64, |size, &digit| {
            size.checked_mul(16)?
                .checked_add(u64::from(hexadecimal(digit)?))
        })
        .ok_or(ProtocolError::BadChunk)
}

/// Returns `true` if a line that begins with these bytes can still be a valid chunk-size line. Malformed input is
/// thus detected before the line ends.
pub(super) fn may_be_size(start: &[u8]) -> bool {
    let digits = digits_at_start(start);
    start
        .get(digits)
        .is_none_or(|byte| digits > 0 && matches!(byte, b';' | b' ' | b'\t' | b'\r'))
}

fn digits_at_start(line: &[u8]) -> usize {
    line.iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count()
}

fn hexadecimal(digit: u8) -> Option<u32> {
    char::from(digit).to_digit(16)
}

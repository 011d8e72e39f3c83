//! Parses numbers and fields in text files of the kernel without allocation.

/// Parses a complete field as an unsigned number. Returns `None` if the field is not a number, or the number is too
/// large for 64 bits.
#[must_use]
pub fn number(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Returns the fields of a line, which are separated by blanks and tabs.
pub fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|field| !field.is_empty())
}

/// Returns the non-empty lines of a text.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
}

/// Finds a line that starts with `key` and returns the first number after it, as in `MemTotal:  8031764 kB` or `pgfault
/// 12`.
#[must_use]
pub fn keyed(text: &[u8], key: &str) -> Option<u64> {
    lines(text).find_map(|line| keyed_line(line, key))
}

/// Returns the first number of this line if its first word is exactly `key`, optionally followed by a colon.
#[must_use]
pub fn keyed_line(line: &[u8], key: &str) -> Option<u64> {
    let rest = line.strip_prefix(key.as_bytes())?;
    let rest = rest.strip_prefix(b":").unwrap_or(rest);
    rest.first()
        .is_some_and(u8::is_ascii_whitespace)
        .then(|| fields(rest).next().and_then(number))?
}

/// Converts a field to text. Bytes that are not valid UTF-8 are replaced.
#[must_use]
pub fn owned(field: &[u8]) -> String {
    String::from_utf8_lossy(field).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_takes_digits_only() {
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for wrong in [&b""[..], b"-1", b"1.5", b"18446744073709551616", b"12x"] {
            assert_eq!(number(wrong), None, "{}", owned(wrong));
        }
    }

    #[test]
    fn keyed_does_not_take_a_longer_key() {
        let text = b"SwapCached: 7 kB\nCached:      42 kB\nCachedMore: 1\n";
        assert_eq!(keyed(text, "Cached"), Some(42));
        assert_eq!(keyed(text, "Dirty"), None);
    }
}

//! Parses the dates in the Expires attribute of cookies (RFC 6265, section 5.1.1).

const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// Marker for a well-formed time of day that does not exist, such as 25:00:00. [s]
const IMPOSSIBLE: i64 = -1;

/// First year that a cookie date may have; earlier dates are invalid (RFC 6265, section 5.1.1).
const FIRST_YEAR: i64 = 1601;

/// Converts a cookie date such as `Wed, 21 Oct 2015 07:28:00 GMT` to seconds since 1970; `None` if the text is not a
/// date. The time zone in the text is ignored, because cookie dates are always UTC.
pub(super) fn parse(text: &[u8]) -> Option<i64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    let tokens = text.split(|byte| is_delimiter(*byte));
    for token in tokens.filter(|token| !token.is_empty()) {
        if time.is_none() && take(&mut time, time_of(token))
            || day.is_none() && take(&mut day, number(token, 1, 2))
            || month.is_none() && take(&mut month, month_of(token))
        {
            continue;
        }
        if year.is_none() {
            year = number(token, 2, 4);
        }
    }
    let year = match year? {
        short @ 70..=99 => short + 1900,
        short @ 0..=69 => short + 2000,
        year => year,
    };
    let (month, day, time) = (month?, day?, time?);
    if time == IMPOSSIBLE || year < FIRST_YEAR || day < 1 || day > days_of(month, year) {
        return None;
    }
    Some(days_since_1970(year, month, day) * 86_400 + time)
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, 0x09 | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// Assigns `value` to `place`. Returns `true` if `value` is not `None`.
fn take(place: &mut Option<i64>, value: Option<i64>) -> bool {
    *place = value;
    value.is_some()
}

/// Parses a number of `least` to `most` digits at the start of a token; the character after it must not be a digit.
fn number(token: &[u8], least: usize, most: usize) -> Option<i64> {
    let digits = token.iter().take_while(|byte| byte.is_ascii_digit());
    let length = digits.clone().count();
    (least..=most)
        .contains(&length)
        .then(|| digits.fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

/// Converts `hh:mm:ss` to seconds since midnight; `None` if the token does not have this form. A time that does not
/// exist gives [`IMPOSSIBLE`], which makes the whole date invalid.
fn time_of(token: &[u8]) -> Option<i64> {
    let mut fields = token.splitn(3, |byte| *byte == b':');
    let (hours, minutes, seconds) = (fields.next()?, fields.next()?, fields.next()?);
    let whole = |field: &[u8]| field.iter().all(u8::is_ascii_digit);
    if !whole(hours) || !whole(minutes) {
        return None;
    }
    let (hours, minutes) = (number(hours, 1, 2)?, number(minutes, 1, 2)?);
    let seconds = number(seconds, 1, 2)?;
    let possible = hours <= 23 && minutes <= 59 && seconds <= 59;
    Some(if possible {
        hours * 3600 + minutes * 60 + seconds
    } else {
        IMPOSSIBLE
    })
}

fn month_of(token: &[u8]) -> Option<i64> {
    let start = token.get(..3)?.to_ascii_lowercase();
    let index = MONTHS.iter().position(|name| **name == *start)?;
    Some(index as i64 + 1)
}

fn days_of(month: i64, year: i64) -> i64 {
    let (next_year, next_month) = if month == 12 {
        (year + 1, 1)
    } else {
        (year, month + 1)
    };
    days_since_1970(next_year, next_month, 1) - days_since_1970(year, month, 1)
}

/// Returns the number of days from 1970-01-01 to a date of the Gregorian calendar. The calculation uses the calendar's
/// 400-year cycle and years that begin in March, so that the leap day is the last day of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let days_before_month = (153 * month + 2) / 5;
    365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + days_before_month
        + day
        - 1
        - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected times are the output of `date -u -d DATE +%s`.
    #[test]
    fn dates_are_read_by_the_algorithm_of_cookies() {
        let cases = [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
            ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
            ("1994 november 6th 8:49:37.5 +0900", Some(784_111_777)),
            ("06-NOV-1994T08:49:37", None),
            ("08:49:37 06-NOV-1994", Some(784_111_777)),
            ("08:49:37x 6 11 Nov 1994", Some(1_320_569_377)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 1 Jan 70 0:0:0", Some(0)),
            ("Thu, 31 Dec 69 23:59:59", Some(3_155_759_999)),
            ("Thu, 29 Feb 2024 12:00:00 GMT", Some(1_709_208_000)),
            ("Mon, 01 Jan 1601 00:00:00 GMT", Some(-11_644_473_600)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            ("Wed, 31 Dec 1600 23:59:59 GMT", None),
            ("Wed, 29 Feb 2023 12:00:00 GMT", None),
            ("Wed, 31 Apr 2023 12:00:00 GMT", None),
            ("Wed, 00 Oct 2015 07:28:00 GMT", None),
            ("Wed, 32 Oct 2015 07:28:00 GMT", None),
            ("Wed, 21 Oct 2015 24:00:00 GMT", None),
            ("Wed, 21 Oct 2015 07:60:00 GMT", None),
            ("Wed, 21 Oct 2015 07:28:60 GMT", None),
            ("Wed, 21 Oct 2015 24:00:00 07:28:00 GMT", None),
            ("Wed, 21 Oct 2015 07:28 GMT", None),
            ("Wed, 21 Okt 2015 07:28:00 GMT", None),
            ("Wed, 21 Oct 5 07:28:00 GMT", None),
            ("Wed, 21 Oct 10000 07:28:00 GMT", None),
            ("Wed, 21 Oct 9223372036854775807 07:28:00 GMT", None),
            ("Wed, 21 Oct 2015 9223372036854775807:28:00 GMT", None),
            ("rubbish", None),
            ("", None),
        ];
        for (text, right) in cases {
            assert_eq!(parse(text.as_bytes()), right, "{text:?}");
        }
    }
}

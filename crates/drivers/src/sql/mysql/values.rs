//! Converts values in rows of MySQL to text: <https://mariadb.com/kb/en/resultset-row/>.

use std::fmt::{Display, LowerExp};

use super::packets::{Fields, Malformed};
use crate::answer::Row;

/// Flag of a column whose numbers are unsigned.
const UNSIGNED: u16 = 0x0020;
/// Value in the field for the number of decimals that means: the number of decimals is not fixed.
const NOT_FIXED: u8 = 31;
/// Number of unused bits at the start of the NULL bitmap of a row.
const BITS_BEFORE: usize = 2;
/// Range in which the server writes a floating-point number without an exponent.
const PLAIN: std::ops::Range<f64> = 1e-5..1e15;

/// Encoding of the values of a column, from its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    code: u8,
    is_unsigned: bool,
    decimals: u8,
}

impl Kind {
    pub(super) fn new(code: u8, flags: u16, decimals: u8) -> Self {
        Self {
            code,
            is_unsigned: flags & UNSIGNED != 0,
            decimals,
        }
    }

    /// Reads the next value of a binary row and converts it to the text that the server would send.
    fn read(self, fields: &mut Fields<'_>) -> Result<Vec<u8>, Malformed> {
        let text = match self.code {
            0x01 => self.whole(fields, 1)?,
            0x02 => self.whole(fields, 2)?,
            0x03 | 0x09 => self.whole(fields, 4)?,
            0x08 => self.whole(fields, 8)?,
            0x04 => {
                let value = f32::from_bits(fields.number(4)? as u32);
                self.real(value, f64::from(value))
            }
            0x05 => {
                let value = f64::from_bits(fields.number(8)?);
                self.real(value, value)
            }
            0x0a | 0x0e => date(fields)?.0,
            0x07 | 0x0c => self.moment(fields)?,
            0x0b => self.time(fields)?,
            0x0d => format!("{:04}", fields.short()?),
            _ => return fields.text().map(<[u8]>::to_vec),
        };
        Ok(text.into_bytes())
    }

    fn whole(self, fields: &mut Fields<'_>, bytes: usize) -> Result<String, Malformed> {
        let number = fields.number(bytes)?;
        if self.is_unsigned {
            return Ok(number.to_string());
        }
        let unused_bits = 64 - 8 * bytes;
        let signed = ((number << unused_bits) as i64) >> unused_bits;
        Ok(signed.to_string())
    }

    fn real(self, value: impl Display + LowerExp, as_double: f64) -> String {
        if self.decimals < NOT_FIXED {
            let digits = usize::from(self.decimals);
            return format!("{value:.digits$}");
        }
        if as_double == 0.0 || PLAIN.contains(&as_double.abs()) {
            value.to_string()
        } else {
            format!("{value:e}")
        }
    }

    /// Returns the fractional digits of a time, if the column of the value has fractional digits.
    fn fraction(self, microseconds: u64) -> String {
        let digits = match self.decimals {
            decimals @ 0..=6 => usize::from(decimals),
            _ if microseconds > 0 => 6,
            _ => 0,
        };
        if digits == 0 {
            return String::new();
        }
        format!(".{microseconds:06}")[..=digits].to_owned()
    }

    fn moment(self, fields: &mut Fields<'_>) -> Result<String, Malformed> {
        let (date, mut rest) = date(fields)?;
        let [hour, minute, second] = if rest.0.is_empty() {
            [0; 3]
        } else {
            [rest.number(1)?, rest.number(1)?, rest.number(1)?]
        };
        let microseconds = if rest.0.is_empty() {
            0
        } else {
            rest.number(4)?
        };
        let fraction = self.fraction(microseconds);
        Ok(format!(
            "{date} {hour:02}:{minute:02}:{second:02}{fraction}"
        ))
    }

    fn time(self, fields: &mut Fields<'_>) -> Result<String, Malformed> {
        let length = usize::from(fields.byte()?);
        let mut rest = Fields(fields.take(length)?);
        if length == 0 {
            return Ok(format!("00:00:00{}", self.fraction(0)));
        }
        let sign = if rest.byte()? == 0 { "" } else { "-" };
        let hours = rest.number(4)? * 24 + rest.number(1)?;
        let [minute, second] = [rest.number(1)?, rest.number(1)?];
        let microseconds = if rest.0.is_empty() {
            0
        } else {
            rest.number(4)?
        };
        let fraction = self.fraction(microseconds);
        Ok(format!(
            "{sign}{hours:02}:{minute:02}:{second:02}{fraction}"
        ))
    }
}

/// Reads a date. Returns the date as text and the fields that follow in the same value.
fn date<'a>(fields: &mut Fields<'a>) -> Result<(String, Fields<'a>), Malformed> {
    let length = usize::from(fields.byte()?);
    let mut rest = Fields(fields.take(length)?);
    if length == 0 {
        return Ok(("0000-00-00".to_owned(), rest));
    }
    let (year, month, day) = (rest.short()?, rest.byte()?, rest.byte()?);
    Ok((format!("{year:04}-{month:02}-{day:02}"), rest))
}

/// Reads a row in binary form, as the server sends it for a prepared statement.
pub(super) fn binary_row(packet: &[u8], kinds: &[Kind]) -> Result<Row, Malformed> {
    let mut fields = Fields(packet);
    if fields.byte()? != 0 {
        return Err(Malformed("no row"));
    }
    let nulls = fields.take((kinds.len() + BITS_BEFORE).div_ceil(8))?;
    let is_null = |column: usize| {
        let bit = column + BITS_BEFORE;
        (nulls[bit / 8] >> (bit % 8)) & 1 == 1
    };
    let values = kinds.iter().enumerate().map(|(column, kind)| {
        if is_null(column) {
            return Ok(None);
        }
        kind.read(&mut fields).map(Some)
    });
    values.collect()
}

/// Reads a row in text form, as the server sends it for a statement that was sent as text.
pub(super) fn text_row(packet: &[u8], columns: usize) -> Result<Row, Malformed> {
    let mut fields = Fields(packet);
    let values = (0..columns).map(|_| Ok(fields.text_or_null()?.map(<[u8]>::to_vec)));
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(code: u8, decimals: u8) -> Kind {
        Kind::new(code, 0, decimals)
    }

    fn shown(kind: Kind, bytes: &[u8]) -> String {
        let packet = [&[0, 0][..], bytes].concat();
        let row = binary_row(&packet, &[kind]).expect("a row");
        String::from_utf8(row[0].clone().expect("a value")).expect("text")
    }

    #[test]
    fn numbers_are_shown_with_their_sign() {
        assert_eq!(shown(kind(0x01, 0), &[0xff]), "-1");
        assert_eq!(shown(Kind::new(0x01, UNSIGNED, 0), &[0xff]), "255");
        assert_eq!(shown(kind(0x02, 0), &[0, 0x80]), "-32768");
        assert_eq!(shown(kind(0x03, 0), &[1, 0, 0, 0]), "1");
        assert_eq!(shown(kind(0x09, 0), &[0xff, 0xff, 0xff, 0xff]), "-1");
        assert_eq!(shown(kind(0x08, 0), &[0xff; 8]), "-1");
        assert_eq!(
            shown(Kind::new(0x08, UNSIGNED, 0), &[0xff; 8]),
            "18446744073709551615"
        );
        assert_eq!(shown(kind(0x0d, 0), &[0xe8, 0x07]), "2024");
    }

    #[test]
    fn floating_point_numbers_are_shown_as_the_server_shows_them() {
        let double = |value: f64, decimals| shown(kind(0x05, decimals), &value.to_le_bytes());
        assert_eq!(double(10.2, 31), "10.2");
        assert_eq!(double(102.0, 39), "102");
        assert_eq!(double(1e300, 31), "1e300");
        assert_eq!(double(-2.5e-7, 31), "-2.5e-7");
        assert_eq!(double(0.0, 31), "0");
        assert_eq!(double(1.5, 2), "1.50");
        assert_eq!(shown(kind(0x04, 31), &0.1_f32.to_le_bytes()), "0.1");
    }

    #[test]
    fn dates_and_times_are_shown_as_people_write_them() {
        // The bytes are examples of the protocol reference: 17 October 2010 19:27:30.000001, and minus 120 days
        // 19:27:30.
        let moment = [11, 0xda, 0x07, 0x0a, 0x11, 0x13, 0x1b, 0x1e, 1, 0, 0, 0];
        assert_eq!(shown(kind(0x0c, 6), &moment), "2010-10-17 19:27:30.000001");
        assert_eq!(shown(kind(0x0c, 0), &moment), "2010-10-17 19:27:30");
        assert_eq!(shown(kind(0x07, 3), &moment), "2010-10-17 19:27:30.000");
        assert_eq!(
            shown(kind(0x0a, 0), &[4, 0xda, 0x07, 0x0a, 0x11]),
            "2010-10-17"
        );
        assert_eq!(
            shown(kind(0x0c, 0), &[4, 0xda, 0x07, 0x0a, 0x11]),
            "2010-10-17 00:00:00"
        );
        assert_eq!(shown(kind(0x0c, 0), &[0]), "0000-00-00 00:00:00");
        let time = [12, 1, 0x78, 0, 0, 0, 0x13, 0x1b, 0x1e, 1, 0, 0, 0];
        assert_eq!(shown(kind(0x0b, 6), &time), "-2899:27:30.000001");
        assert_eq!(
            shown(kind(0x0b, 0), &[8, 0, 0, 0, 0, 0, 1, 2, 3]),
            "01:02:03"
        );
        assert_eq!(shown(kind(0x0b, 2), &[0]), "00:00:00.00");
    }

    #[test]
    fn what_has_no_value_is_told_by_its_bit() {
        // The NULL bitmap of nine columns has two bytes and is shifted by two bits. The first, the seventh and the last
        // column are NULL.
        let kinds = [kind(0x01, 0); 9];
        let packet = [0, 0b0000_0100, 0b0000_0101, 2, 3, 4, 5, 6, 8];
        let row = binary_row(&packet, &kinds).expect("a row");
        let shown: Vec<Option<&[u8]>> = row.iter().map(Option::as_deref).collect();
        let some = |text: &'static str| Some(text.as_bytes());
        let expected = [
            None,
            some("2"),
            some("3"),
            some("4"),
            some("5"),
            some("6"),
            None,
            some("8"),
            None,
        ];
        assert_eq!(shown, expected);
        let text = text_row(b"\x01a\xfb\0", 3).expect("a row");
        assert_eq!(text, [Some(b"a".to_vec()), None, Some(Vec::new())]);
    }

    #[test]
    fn rows_that_are_no_rows_are_refused() {
        assert!(binary_row(&[], &[]).is_err());
        assert!(binary_row(&[1, 0], &[]).is_err());
        assert!(binary_row(&[0], &[kind(0x01, 0)]).is_err());
        assert!(binary_row(&[0, 0, 200], &[kind(0xfd, 0)]).is_err());
        assert!(binary_row(&[0, 0, 3, 1, 2, 3], &[kind(0x0c, 0)]).is_err());
        assert!(binary_row(&[0, 0, 5, 0, 0, 0, 0, 0], &[kind(0x0b, 0)]).is_err());
        assert!(text_row(&[2, b'x'], 1).is_err());
    }
}

//! Response messages of a MySQL server: <https://mariadb.com/kb/en/4-server-response-packets/>.

use super::packets::{Fields, Malformed, REFUSED};
use super::values::Kind;
use crate::answer::{Failed, FailureKind};

/// Status flag of a session: a transaction is open.
pub(super) const IN_TRANSACTION: u16 = 0x0001;
/// Status flag of a session: another result of the same statement follows.
pub(super) const MORE_RESULTS: u16 = 0x0008;

const OK: u8 = 0;
const LOCAL_FILE: u8 = 0xfb;
const END: u8 = 0xfe;
/// Only a packet shorter than this can mark the end of rows. A longer packet with the same first byte is a row that
/// begins with a long text. [B]
const END_BYTES_BELOW: usize = 9;
/// Largest number of columns that the client accepts in a table.
const COLUMNS_AT_MOST: u64 = 65_535;
/// Length of the longest accepted column name. Servers truncate column names after 256 characters. [B]
const NAME_BYTES_AT_MOST: usize = 1_024;

/// SQLSTATE for errors without a specific code. It does not identify the cause, so the error number of the server is
/// reported as well.
const GENERAL: &[u8] = b"HY000";
/// First two characters of all SQLSTATEs that mean that the connection has ended.
const COMMUNICATION: &[u8] = b"08";
/// Numbers of errors after which the server closes the session, although their SQLSTATEs do not state this. The session
/// was killed (MariaDB 1927, MySQL 3169), or was idle for too long (4031).
const FATAL: [u16; 3] = [1927, 3169, 4031];

/// An error that the server reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Error number of MySQL or MariaDB.
    pub(super) number: u16,
    /// SQLSTATE of the error; `None` for errors before the session is established.
    pub(super) state: Option<[u8; 5]>,
}

impl Refusal {
    fn read(packet: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(packet);
        fields.byte()?;
        let number = fields.short()?;
        let marked = fields.0.strip_prefix(b"#");
        let state = marked.and_then(|rest| rest.first_chunk().copied());
        Ok(Self { number, state })
    }

    /// Returns the SQLSTATE. For the general SQLSTATE `HY000`, adds the error number.
    pub(super) fn code(&self) -> String {
        match &self.state {
            Some(state) if state != GENERAL => String::from_utf8_lossy(state).into_owned(),
            Some(state) => format!("{}/{}", String::from_utf8_lossy(state), self.number),
            None => self.number.to_string(),
        }
    }

    /// Converts the error to the failure of the call.
    pub(super) fn failed(&self) -> Failed {
        let ends = |state: &[u8; 5]| state.starts_with(COMMUNICATION);
        let kind = if FATAL.contains(&self.number) || self.state.as_ref().is_some_and(ends) {
            FailureKind::Closed
        } else {
            FailureKind::Refused
        };
        Failed::new(kind, self.code())
    }
}

/// First packet of a response to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Beginning {
    /// The statement succeeded and returns no table.
    Done {
        /// Number of rows that the statement changed; for an update, the number of rows that it matched.
        affected: u64,
        /// Status flags of the session.
        status: u16,
    },
    /// The server reports an error.
    Refused(Refusal),
    /// A table with this number of columns follows.
    Table(usize),
}

/// Reads the first packet of a response to a statement.
pub(super) fn beginning(packet: &[u8]) -> Result<Beginning, Malformed> {
    let mut fields = Fields(packet);
    match packet.first() {
        Some(&OK) => {
            fields.byte()?;
            let affected = fields.count()?;
            let _last_number_given = fields.count()?;
            let status = fields.short()?;
            Ok(Beginning::Done { affected, status })
        }
        Some(&REFUSED) => Refusal::read(packet).map(Beginning::Refused),
        Some(&LOCAL_FILE) => Err(Malformed("a request for a file on this machine")),
        _ => match fields.count()? {
            columns @ 1..=COLUMNS_AT_MOST => Ok(Beginning::Table(columns as usize)),
            _ => Err(Malformed("a table with too many columns")),
        },
    }
}

/// A packet that follows the definitions of the columns in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Among<'a> {
    /// A row, as the bytes of its packet.
    Row(&'a [u8]),
    /// The end of the rows, with the status flags of the session.
    End(u16),
    /// An error that the server reports after some of the rows.
    Refused(Refusal),
}

/// Reads a packet that contains a row of a table, or the end of the rows, or an error.
pub(super) fn among(packet: &[u8]) -> Result<Among<'_>, Malformed> {
    match packet.first() {
        Some(&END) if packet.len() < END_BYTES_BELOW => {
            let mut fields = Fields(&packet[1..]);
            let _warnings = fields.short()?;
            fields.short().map(Among::End)
        }
        Some(&REFUSED) => Refusal::read(packet).map(Among::Refused),
        _ => Ok(Among::Row(packet)),
    }
}

/// Returns `true` if the packet ends a list of definitions of columns or parameters.
pub(super) fn is_end(packet: &[u8]) -> bool {
    packet.first() == Some(&END) && packet.len() < END_BYTES_BELOW
}

/// Definition of a column of a table: its name and the encoding of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Definition<'a> {
    pub(super) name: &'a [u8],
    pub(super) kind: Kind,
}

impl<'a> Definition<'a> {
    pub(super) fn read(packet: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(packet);
        // Skips the names of the catalog, the schema, the table, and the original table.
        for _ in 0..4 {
            fields.text()?;
        }
        let name = fields.text()?;
        if name.len() > NAME_BYTES_AT_MOST {
            return Err(Malformed("a column with a name of more than 1,024 bytes"));
        }
        let _original_name = fields.text()?;
        // Skips three fields: the length of the remaining fields, the character set, and the length of the longest
        // value.
        fields.count()?;
        fields.take(2 + 4)?;
        let code = fields.byte()?;
        let flags = fields.short()?;
        let decimals = fields.byte()?;
        Ok(Self {
            name,
            kind: Kind::new(code, flags, decimals),
        })
    }
}

/// A statement that the server has prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prepared {
    /// Number by which later commands refer to the statement.
    pub(super) number: u32,
    /// Number of parameters of the statement.
    pub(super) parameters: usize,
    /// Number of packets with definitions that follow, including end packets.
    pub(super) packets: usize,
}

/// Reads the response to the preparation of a statement.
pub(super) fn prepared(packet: &[u8]) -> Result<Result<Prepared, Refusal>, Malformed> {
    if packet.first() == Some(&REFUSED) {
        return Refusal::read(packet).map(Err);
    }
    let mut fields = Fields(packet);
    if fields.byte()? != OK {
        return Err(Malformed("an unexpected packet"));
    }
    let number = fields.number(4)? as u32;
    let columns = usize::from(fields.short()?);
    let parameters = usize::from(fields.short()?);
    let with_end = |count: usize| if count == 0 { 0 } else { count + 1 };
    Ok(Ok(Prepared {
        number,
        parameters,
        packets: with_end(parameters) + with_end(columns),
    }))
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::super::packets::put_text;
    use super::*;

    #[test]
    fn answers_begin_with_what_was_changed_or_with_a_table() {
        // OK packet of a statement that changed three rows in a transaction. Its bytes: first byte 0, 3 rows, insert
        // number 0, status 1, no warnings.
        assert_eq!(
            beginning(&[0, 3, 0, 1, 0, 0, 0]),
            Ok(Beginning::Done {
                affected: 3,
                status: IN_TRANSACTION
            })
        );
        assert_eq!(beginning(&[2]), Ok(Beginning::Table(2)));
        assert!(beginning(&[]).is_err());
        assert!(beginning(&[0xfb, b'/', b'x']).is_err());
        assert!(beginning(&[0xfe, 0, 0, 0, 1, 0, 0, 0, 0]).is_err());
    }

    #[test]
    fn refusals_are_told_by_their_state_and_by_their_number_where_that_tells_nothing() {
        let said = |number: u16, rest: &[u8]| {
            let bytes = [&[REFUSED][..], &number.to_le_bytes(), rest].concat();
            let Ok(Beginning::Refused(refusal)) = beginning(&bytes) else {
                panic!("{bytes:?}");
            };
            refusal.failed()
        };
        let cases: [(u16, &[u8], FailureKind, &str); 6] = [
            (1213, b"#40001Deadlock found", FailureKind::Refused, "40001"),
            (
                1062,
                b"#23000Duplicate entry",
                FailureKind::Refused,
                "23000",
            ),
            (
                1205,
                b"#HY000Lock wait timeout",
                FailureKind::Refused,
                "HY000/1205",
            ),
            (1040, b"Too many connections", FailureKind::Refused, "1040"),
            (1053, b"#08S01Server shutdown", FailureKind::Closed, "08S01"),
            (
                1927,
                b"#70100Connection was killed",
                FailureKind::Closed,
                "70100",
            ),
        ];
        for (number, rest, kind, code) in cases {
            assert_eq!(said(number, rest), Failed::new(kind, code));
        }
    }

    #[test]
    fn a_long_text_at_the_beginning_of_a_row_is_no_end() {
        assert_eq!(among(&[0xfe, 0, 0, 2, 0]), Ok(Among::End(2)));
        let row = [0xfe, 1, 0, 0, 0, 0, 0, 0, 0, b'x'];
        assert_eq!(among(&row), Ok(Among::Row(&row)));
        assert!(!is_end(&row));
    }

    #[test]
    fn a_preparation_tells_how_many_definitions_follow() {
        // Example of the protocol manual: a statement with one column and two parameters. An end packet follows each
        // list of definitions.
        let packet = [0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0];
        let expected = Prepared {
            number: 1,
            parameters: 2,
            packets: 5,
        };
        assert_eq!(prepared(&packet), Ok(Ok(expected)));
        assert!(prepared(&packet[..8]).is_err());
        assert!(prepared(&[1, 0, 0]).is_err());
    }

    #[test]
    fn a_column_is_told_by_its_name_and_kind() {
        // Definition of the column `col1` in an example of the protocol manual: no table, type 0xfd (text), 31
        // decimals.
        let packet = b"\x03def\0\0\0\x04col1\0\x0c\x3f\0\0\0\0\0\xfd\x80\0\x1f\0\0";
        let expected = Definition {
            name: b"col1",
            kind: Kind::new(0xfd, 0x80, 0x1f),
        };
        assert_eq!(Definition::read(packet), Ok(expected));
        let named = |bytes: usize| {
            let mut out = BytesMut::from(&packet[..7]);
            put_text(&mut out, &vec![b'x'; bytes]);
            out.extend_from_slice(&packet[12..]);
            out
        };
        assert!(Definition::read(&named(1_024)).is_ok());
        assert!(Definition::read(&named(1_025)).is_err());
    }
}

//! Responses of a directory server (RFC 4511, section 4).

use super::ber::{self, ENUMERATED, Elements, INTEGER, Malformed, OCTETS, SEQUENCE, SET};

/// Longest accepted message from the server. [B]
const MESSAGE_CEILING: usize = 64 << 20;

const BIND_RESPONSE: u8 = 0x61;
const SEARCH_ENTRY: u8 = 0x64;
const SEARCH_DONE: u8 = 0x65;
const MODIFY_RESPONSE: u8 = 0x67;
const ADD_RESPONSE: u8 = 0x69;
const DELETE_RESPONSE: u8 = 0x6b;
const COMPARE_RESPONSE: u8 = 0x6f;
const SEARCH_REFERENCE: u8 = 0x73;
const EXTENDED_RESPONSE: u8 = 0x78;
const INTERMEDIATE: u8 = 0x79;

/// Content of one message of the directory server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    /// An entry that the search found.
    Entry(Entry<'a>),
    /// The operation has ended. The number is its LDAP result code.
    Done(u32),
    /// A message without effect on this client: a referral to another server, or the progress of an operation.
    Aside,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// Number of the request to which the message responds; 0 if the server sent the message without a request.
    pub(crate) number: u32,
    pub(crate) said: Said<'a>,
}

/// A directory entry: its name, and its attributes in the order of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a [u8],
    attributes: &'a [u8],
}

/// Returns the length of the message at the start of `bytes`, or `None` if too few bytes have arrived to determine the
/// length.
///
/// # Errors
///
/// If the bytes are not a message, or the message is too long.
pub(crate) fn length(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    ber::frame(bytes, SEQUENCE, MESSAGE_CEILING)
}

/// Reads one complete message.
///
/// # Errors
/// If the bytes are not a message of a server.
pub(crate) fn read(bytes: &[u8]) -> Result<Message<'_>, Malformed> {
    let mut message = Elements(Elements(bytes).of(SEQUENCE)?);
    let number = message.number(INTEGER)?;
    let (tag, inside) = message.any()?;
    // Controls (optional extensions of a message) may follow. They are ignored, since the client requests none.
    let said = match tag {
        SEARCH_ENTRY => {
            let mut entry = Elements(inside);
            Said::Entry(Entry {
                name: entry.of(OCTETS)?,
                attributes: entry.of(SEQUENCE)?,
            })
        }
        BIND_RESPONSE | SEARCH_DONE | MODIFY_RESPONSE | ADD_RESPONSE | DELETE_RESPONSE
        | COMPARE_RESPONSE | EXTENDED_RESPONSE => {
            let mut result = Elements(inside);
            let code = result.number(ENUMERATED)?;
            let _name = result.of(OCTETS)?;
            let _text = result.of(OCTETS)?;
            Said::Done(code)
        }
        SEARCH_REFERENCE | INTERMEDIATE => Said::Aside,
        _ => return Err(Malformed("a message of a kind that servers do not send")),
    };
    Ok(Message { number, said })
}

impl<'a> Entry<'a> {
    /// Passes each value of each attribute to `take`, with the name of the attribute and the index of the value.
    ///
    /// # Errors
    ///
    /// If the entry is malformed.
    pub(crate) fn values(
        &self,
        mut take: impl FnMut(&'a [u8], usize, &'a [u8]),
    ) -> Result<(), Malformed> {
        let mut attributes = Elements(self.attributes);
        while !attributes.is_empty() {
            let mut attribute = Elements(attributes.of(SEQUENCE)?);
            let name = attribute.of(OCTETS)?;
            let mut values = Elements(attribute.of(SET)?);
            let mut place = 0;
            while !values.is_empty() {
                take(name, place, values.of(OCTETS)?);
                place += 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towtank_damaging::{Damaging, rounds};

    fn entry() -> Vec<u8> {
        let mut out = Vec::new();
        ber::element(&mut out, SEQUENCE, |out| {
            ber::number(out, INTEGER, 300);
            ber::element(out, SEARCH_ENTRY, |out| {
                ber::octets(out, OCTETS, b"cn=a");
                ber::element(out, SEQUENCE, |out| {
                    for (name, values) in
                        [("cn", vec!["a"]), ("mail", vec!["x", "y"]), ("sn", vec![])]
                    {
                        ber::element(out, SEQUENCE, |out| {
                            ber::octets(out, OCTETS, name.as_bytes());
                            ber::element(out, SET, |out| {
                                for value in values {
                                    ber::octets(out, OCTETS, value.as_bytes());
                                }
                            });
                        });
                    }
                });
            });
        });
        out
    }

    fn done() -> Vec<u8> {
        let mut out = Vec::new();
        ber::element(&mut out, SEQUENCE, |out| {
            ber::number(out, INTEGER, 2);
            ber::element(out, SEARCH_DONE, |out| {
                ber::number(out, ENUMERATED, 32);
                ber::octets(out, OCTETS, b"dc=org");
                ber::octets(out, OCTETS, b"");
            });
            // Controls (optional extensions of a message) are skipped.
            ber::octets(out, 0xa0, b"");
        });
        out
    }

    /// Reads a whole message, including all values of an entry, and returns the number of values.
    fn whole(bytes: &[u8]) -> Result<usize, Malformed> {
        let mut count = 0;
        if length(bytes)?.is_some_and(|length| length <= bytes.len())
            && let Said::Entry(entry) = read(bytes)?.said
        {
            entry.values(|_, _, _| count += 1)?;
        }
        Ok(count)
    }

    #[test]
    fn entries_give_their_values_in_turn() {
        let bytes = entry();
        let message = read(&bytes).expect("a message");
        assert_eq!(message.number, 300);
        let Said::Entry(entry) = message.said else {
            panic!("{message:?}");
        };
        assert_eq!(entry.name, b"cn=a");
        let mut seen = Vec::new();
        entry
            .values(|name, place, value| seen.push((name, place, value)))
            .expect("values");
        let expected: [(&[u8], usize, &[u8]); 3] =
            [(b"cn", 0, b"a"), (b"mail", 0, b"x"), (b"mail", 1, b"y")];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_result_gives_its_code_whatever_follows() {
        let bytes = done();
        let expected = Message {
            number: 2,
            said: Said::Done(32),
        };
        assert_eq!(read(&bytes), Ok(expected));
    }

    #[test]
    fn a_message_that_is_cut_off_is_waited_for_or_refused() {
        for bytes in [entry(), done()] {
            for end in 0..bytes.len() {
                let cut = &bytes[..end];
                assert!(
                    length(cut)
                        .expect("a beginning")
                        .is_none_or(|length| length > end)
                );
                assert!(read(cut).is_err(), "{end}");
            }
            assert_eq!(length(&bytes), Ok(Some(bytes.len())));
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut damaging = Damaging::new();
        let (mut read, mut refused) = (0_u32, 0_u32);
        for turn in rounds(200_000) {
            let mut bytes = if turn % 2 == 0 { entry() } else { done() };
            damaging.damage(&mut bytes, 3);
            match whole(&bytes) {
                Ok(_) => read += 1,
                Err(_) => refused += 1,
            }
        }
        assert!(
            read > 1_000 && refused > 1_000,
            "{read} read, {refused} refused"
        );
    }
}

//! Requests to a directory as they are in the plan, and their encoding (RFC 4511, section 4).
//!
//! Names of attributes and the form of a filter come from the plan. Each call supplies the values to compare with or to
//! set; the request refers to them by index. Therefore a value cannot change the structure of a request.

use serde::Deserialize;

use super::ber::{self, ENUMERATED, INTEGER, OCTETS, SEQUENCE, SET};
use super::filter::Filter;
use crate::session::Value;

/// Version of LDAP that the bind request states.
const VERSION: u32 = 3;
/// Tag `[APPLICATION 0]` of a bind request, a constructed element.
pub(crate) const BIND: u8 = 0x60;
const UNBIND: u8 = 0x42;
const SEARCH: u8 = 0x63;
const MODIFY: u8 = 0x66;
const ADD: u8 = 0x68;
const DELETE: u8 = 0x4a;
const COMPARE: u8 = 0x6e;
const ABANDON: u8 = 0x50;
/// Tag `simple [0]`, which marks the password in a bind request.
const SIMPLE: u8 = 0x80;
/// Value `neverDerefAliases` in a search request: the server does not follow aliases.
const NEVER: u32 = 0;

/// An operation on a directory. The first value of the call is the name of an entry, except for `unbind`, which has no
/// values.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum DirectoryRequest {
    /// Log in as the entry that the first value names. The second value is the password.
    Bind {},
    /// Search for entries, starting at the entry that the first value names.
    Search {
        /// Depth of the search below its base entry.
        scope: Scope,
        /// Filter that entries must match to be returned.
        filter: Filter,
        /// Names of the attributes to return. If empty, all attributes except operational attributes are returned.
        #[serde(default)]
        attributes: Vec<String>,
        /// Largest number of entries that the server shall return; 0 if the client sets no limit.
        #[serde(default)]
        size_limit: u32,
    },
    /// Check whether the entry has an attribute with the second value of the call.
    Compare {
        /// Name of the attribute to compare.
        attribute: String,
    },
    /// Add an entry with the name that the first value gives.
    Add {
        /// Attributes of the new entry.
        attributes: Vec<Attribute>,
    },
    /// Change attributes of an entry.
    Modify {
        /// Changes of the entry, in the order in which the server applies them.
        changes: Vec<Change>,
    },
    /// Delete the entry that the first value names.
    Delete {},
    /// Close the session. The next call opens another session.
    Unbind {},
}

/// Depth of a search below the entry at which it starts (the base).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Only the base entry of the search.
    Base,
    /// The entries directly below the base entry, without the base entry.
    One,
    /// The base entry and all entries below it.
    Subtree,
}

/// An attribute of a new entry, with its values.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    /// Name of the attribute.
    pub attribute: String,
    /// Indices of the attribute's values among the values of the call.
    pub values: Vec<usize>,
}

/// One change of an attribute of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Kind of the change: add, delete, replace or increment.
    #[serde(rename = "do")]
    pub verb: Verb,
    /// Name of the attribute to change.
    pub attribute: String,
    /// Indices of the attribute values among the values of the call. Without attribute values, `delete` and `replace`
    /// remove all existing values.
    #[serde(default)]
    pub values: Vec<usize>,
}

/// Kind of change to the values of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Add the values to the attribute.
    Add,
    /// Remove the values from the attribute.
    Delete,
    /// Replace all existing values of the attribute by the values of the change.
    Replace,
    /// Add the number in the change to the existing number of the attribute (RFC 4525).
    Increment,
}

impl DirectoryRequest {
    /// Returns a description of the fault if the request is invalid for a call with this number of values.
    pub(crate) fn fault(&self, values: usize) -> Option<String> {
        let own = match self {
            Self::Unbind {} => 0,
            Self::Bind {} | Self::Compare { .. } => 2,
            Self::Search { .. } | Self::Add { .. } | Self::Modify { .. } | Self::Delete {} => 1,
        };
        let mut named = Vec::new();
        match self {
            Self::Search { filter, .. } => filter.places(&mut named),
            Self::Add { attributes } => {
                named.extend(attributes.iter().flat_map(|attribute| &attribute.values));
            }
            Self::Modify { changes } => {
                named.extend(changes.iter().flat_map(|change| &change.values));
            }
            _ => {}
        }
        named.sort_unstable();
        named.dedup();
        let wanted = own + named.len();
        if wanted != values {
            return Some(format!("must have {wanted} values, got {values}"));
        }
        let all_there = named.iter().copied().eq(own..wanted);
        (!all_there).then(|| {
            format!(
                "must use each of the values {own} to {}, got {named:?}",
                wanted - 1
            )
        })
    }

    /// Returns `true` if the request is an unbind request, to which the server does not respond.
    pub(crate) fn is_unbind(&self) -> bool {
        matches!(self, Self::Unbind {})
    }

    /// Appends the request as a message with this number to `out`.
    pub(crate) fn write(&self, number: u32, values: &[Value], out: &mut Vec<u8>) {
        let of = |place: usize| text(values, place);
        message(out, number, |out| match self {
            Self::Bind {} => write_bind(out, of(0), of(1)),
            Self::Search {
                scope,
                filter,
                attributes,
                size_limit,
            } => ber::element(out, SEARCH, |out| {
                ber::octets(out, OCTETS, of(0));
                write_bounds(out, *scope, *size_limit);
                filter.write(values, out);
                ber::element(out, SEQUENCE, |out| {
                    for name in attributes {
                        ber::octets(out, OCTETS, name.as_bytes());
                    }
                });
            }),
            Self::Compare { attribute } => ber::element(out, COMPARE, |out| {
                ber::octets(out, OCTETS, of(0));
                ber::element(out, SEQUENCE, |out| {
                    ber::octets(out, OCTETS, attribute.as_bytes());
                    ber::octets(out, OCTETS, of(1));
                });
            }),
            Self::Add { attributes } => ber::element(out, ADD, |out| {
                ber::octets(out, OCTETS, of(0));
                ber::element(out, SEQUENCE, |out| {
                    for attribute in attributes {
                        write_attribute(out, &attribute.attribute, &attribute.values, values);
                    }
                });
            }),
            Self::Modify { changes } => ber::element(out, MODIFY, |out| {
                ber::octets(out, OCTETS, of(0));
                ber::element(out, SEQUENCE, |out| {
                    for change in changes {
                        ber::element(out, SEQUENCE, |out| {
                            ber::number(out, ENUMERATED, change.verb as u32);
                            write_attribute(out, &change.attribute, &change.values, values);
                        });
                    }
                });
            }),
            Self::Delete {} => ber::octets(out, DELETE, of(0)),
            Self::Unbind {} => ber::octets(out, UNBIND, &[]),
        });
    }
}

/// Returns the value of a call with the index `place`, or an empty text if it is missing.
pub(super) fn text(values: &[Value], place: usize) -> &[u8] {
    values
        .get(place)
        .and_then(|value| value.as_deref())
        .unwrap_or_default()
}

fn message(out: &mut Vec<u8>, number: u32, content: impl FnOnce(&mut Vec<u8>)) {
    ber::element(out, SEQUENCE, |out| {
        ber::number(out, INTEGER, number);
        content(out);
    });
}

fn write_bind(out: &mut Vec<u8>, name: &[u8], password: &[u8]) {
    ber::element(out, BIND, |out| {
        ber::number(out, INTEGER, VERSION);
        ber::octets(out, OCTETS, name);
        ber::octets(out, SIMPLE, password);
    });
}

/// Writes the fields of a search request that stand between its base entry and its filter.
fn write_bounds(out: &mut Vec<u8>, scope: Scope, size_limit: u32) {
    ber::number(out, ENUMERATED, scope as u32);
    ber::number(out, ENUMERATED, NEVER);
    ber::number(out, INTEGER, size_limit);
    // The request states no time limit, since the client itself abandons a call that times out.
    ber::number(out, INTEGER, 0);
    ber::boolean(out, ber::BOOLEAN, false);
}

fn write_attribute(out: &mut Vec<u8>, name: &str, places: &[usize], values: &[Value]) {
    ber::element(out, SEQUENCE, |out| {
        ber::octets(out, OCTETS, name.as_bytes());
        ber::element(out, SET, |out| {
            for place in places {
                ber::octets(out, OCTETS, text(values, *place));
            }
        });
    });
}

/// Appends a request, with the message number `number`, to abandon the request with the message number `given_up`.
pub(crate) fn abandon(number: u32, given_up: u32, out: &mut Vec<u8>) {
    message(out, number, |out| ber::number(out, ABANDON, given_up));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(plan: &serde_json::Value) -> DirectoryRequest {
        serde_json::from_value(plan.clone()).expect("a request")
    }

    fn written(plan: &serde_json::Value, values: &[&str]) -> Vec<u8> {
        let values: Vec<Value> = values
            .iter()
            .map(|text| Some(text.as_bytes().to_vec()))
            .collect();
        let request = request(plan);
        assert_eq!(request.fault(values.len()), None);
        let mut out = Vec::new();
        request.write(5, &values, &mut out);
        out
    }

    /// Converts a text in hexadecimal to bytes.
    fn bytes(hexadecimal: &str) -> Vec<u8> {
        let pairs = hexadecimal.split_whitespace();
        pairs
            .map(|pair| u8::from_str_radix(pair, 16).expect("a byte"))
            .collect()
    }

    #[test]
    fn a_deletion_is_that_of_the_published_example() {
        // Expected bytes: the example of ldap.com, "LDAPv3 Wire Protocol Reference: The LDAP Message", without the
        // control at the end of the message.
        let published = bytes(
            "30 35 02 01 05 4a 11 64 63 3d 65 78 61 6d 70 6c 65 2c 64 63 3d 63 6f 6d \
             a0 1d 30 1b 04 16 31 2e 32 2e 38 34 30 2e 31 31 33 35 35 36 2e 31 2e 34 2e 38 30 35 01 01 ff",
        );
        let control = &published[24..];
        let mut expected = published[..24].to_vec();
        expected[1] -= control.len() as u8;
        assert_eq!(
            written(&json!({"delete": {}}), &["dc=example,dc=com"]),
            expected
        );
    }

    #[test]
    fn a_bind_is_that_of_the_standard() {
        let expected = bytes("30 10 02 01 05 60 0b 02 01 03 04 02 63 6e 80 02 70 77");
        assert_eq!(written(&json!({"bind": {}}), &["cn", "pw"]), expected);
        let unbind = bytes("30 05 02 01 05 42 00");
        assert_eq!(written(&json!({"unbind": {}}), &[]), unbind);
    }

    #[test]
    fn values_must_be_those_that_are_named() {
        let modify = |values: &serde_json::Value| {
            request(
                &json!({"modify": {"changes": [{"do": "replace", "attribute": "sn", "values": values}]}}),
            )
        };
        assert_eq!(modify(&json!([1, 2])).fault(3), None);
        assert_eq!(modify(&json!([])).fault(1), None);
        let fault = modify(&json!([1])).fault(3).expect("a fault");
        assert!(fault.contains("must have 2 values, got 3"), "{fault}");
        let fault = modify(&json!([2])).fault(2).expect("a fault");
        assert!(
            fault.contains("must use each of the values 1 to 1"),
            "{fault}"
        );
        assert!(request(&json!({"bind": {}})).fault(1).is_some());
    }
}

//! Filters of a search (RFC 4511, section 4.5.1.7).

use serde::Deserialize;

use super::ber::{self, OCTETS, SEQUENCE};
use super::request::text;
use crate::session::Value;

/// A filter of an LDAP search. It refers to the values of the call by index.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Filter {
    /// Entries that match all of these filters.
    And(Vec<Filter>),
    /// Entries that match at least one of these filters.
    Or(Vec<Filter>),
    /// Entries that do not match this filter.
    Not(Box<Filter>),
    /// Entries that have the attribute with this name.
    Present(String),
    /// Entries whose attribute has the value of the assertion.
    Equal(Assertion),
    /// Entries whose attribute has the value of the assertion or a greater value.
    GreaterOrEqual(Assertion),
    /// Entries whose attribute has the value of the assertion or a smaller value.
    LessOrEqual(Assertion),
    /// Entries whose attribute has a similar value; the server decides which values are similar.
    Approximate(Assertion),
    /// Entries whose attribute has a value that contains these parts.
    Substrings(Substrings),
    /// Entries that satisfy a matching rule of the server.
    Extensible(Extensible),
}

/// An attribute and the value to compare with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    /// Name of the attribute to compare.
    pub attribute: String,
    /// Index of the value to compare with, among the values of the call.
    pub value: usize,
}

/// Parts that an attribute value must contain, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Substrings {
    /// Name of the attribute to search.
    pub attribute: String,
    /// Index, among the values of the call, of the text with which the attribute value must start; `None` if it may
    /// start with any text.
    #[serde(default)]
    pub initial: Option<usize>,
    /// Indices, among the values of the call, of the texts that the attribute value must contain between its start and
    /// its end, in this order.
    #[serde(default)]
    pub any: Vec<usize>,
    /// Index, among the values of the call, of the text with which the attribute value must end; `None` if it may end
    /// with any text.
    #[serde(default, rename = "final")]
    pub last: Option<usize>,
}

/// A condition that applies a matching rule of the server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extensible {
    /// Name of the matching rule. By default, the rule of the attribute is used.
    #[serde(default)]
    pub rule: Option<String>,
    /// Name of the attribute to compare. By default, all attributes to which the rule applies are compared.
    #[serde(default)]
    pub attribute: Option<String>,
    /// `true` if attributes that occur in the name of an entry are compared as well.
    #[serde(default)]
    pub of_name: bool,
    /// Index of the value to compare with, among the values of the call.
    pub value: usize,
}

/// Returns the context-specific tag `[number]` of a primitive element.
const fn plain(number: u8) -> u8 {
    0x80 | number
}

/// Returns the context-specific tag `[number]` of a constructed element.
const fn constructed(number: u8) -> u8 {
    0xa0 | number
}

impl Filter {
    /// Appends to `found` the index of every value that the filter uses.
    pub(super) fn places(&self, found: &mut Vec<usize>) {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().for_each(|inner| inner.places(found)),
            Self::Not(one) => one.places(found),
            Self::Present(_) => {}
            Self::Equal(one)
            | Self::GreaterOrEqual(one)
            | Self::LessOrEqual(one)
            | Self::Approximate(one) => found.push(one.value),
            Self::Substrings(parts) => {
                found.extend(parts.initial);
                found.extend(&parts.any);
                found.extend(parts.last);
            }
            Self::Extensible(one) => found.push(one.value),
        }
    }

    /// Appends the encoded filter to `out`.
    pub(super) fn write(&self, values: &[Value], out: &mut Vec<u8>) {
        let each = |out: &mut Vec<u8>, tag: u8, all: &[Filter]| {
            ber::element(out, tag, |out| {
                for inner in all {
                    inner.write(values, out);
                }
            });
        };
        match self {
            Self::And(all) => each(out, constructed(0), all),
            Self::Or(all) => each(out, constructed(1), all),
            // The operand is a `CHOICE`, whose tag identifies the alternative. The tag of `not` therefore encloses this
            // tag and does not replace it.
            Self::Not(one) => each(out, constructed(2), std::slice::from_ref(one)),
            Self::Equal(one) => one.write(constructed(3), values, out),
            Self::Substrings(parts) => parts.write(values, out),
            Self::GreaterOrEqual(one) => one.write(constructed(5), values, out),
            Self::LessOrEqual(one) => one.write(constructed(6), values, out),
            Self::Present(attribute) => ber::octets(out, plain(7), attribute.as_bytes()),
            Self::Approximate(one) => one.write(constructed(8), values, out),
            Self::Extensible(one) => one.write(values, out),
        }
    }
}

impl Assertion {
    fn write(&self, tag: u8, values: &[Value], out: &mut Vec<u8>) {
        ber::element(out, tag, |out| {
            ber::octets(out, OCTETS, self.attribute.as_bytes());
            ber::octets(out, OCTETS, text(values, self.value));
        });
    }
}

impl Substrings {
    fn write(&self, values: &[Value], out: &mut Vec<u8>) {
        ber::element(out, constructed(4), |out| {
            ber::octets(out, OCTETS, self.attribute.as_bytes());
            ber::element(out, SEQUENCE, |out| {
                let mut part =
                    |tag: u8, place: usize| ber::octets(out, plain(tag), text(values, place));
                self.initial.iter().for_each(|place| part(0, *place));
                self.any.iter().for_each(|place| part(1, *place));
                self.last.iter().for_each(|place| part(2, *place));
            });
        });
    }
}

impl Extensible {
    fn write(&self, values: &[Value], out: &mut Vec<u8>) {
        ber::element(out, constructed(9), |out| {
            if let Some(rule) = &self.rule {
                ber::octets(out, plain(1), rule.as_bytes());
            }
            if let Some(attribute) = &self.attribute {
                ber::octets(out, plain(2), attribute.as_bytes());
            }
            ber::octets(out, plain(3), text(values, self.value));
            if self.of_name {
                ber::boolean(out, plain(4), true);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(plan: &serde_json::Value, values: &[&str]) -> Vec<u8> {
        let filter: Filter = serde_json::from_value(plan.clone()).expect("a filter");
        let values: Vec<Value> = values
            .iter()
            .map(|text| Some(text.as_bytes().to_vec()))
            .collect();
        let mut out = Vec::new();
        filter.write(&values, &mut out);
        out
    }

    /// Encodes an element from its tag and its content of less than 128 bytes.
    fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
        [&[tag, content.len() as u8], content].concat()
    }

    #[test]
    fn filters_have_the_tags_of_the_standard() {
        let pair = [tagged(4, b"cn"), tagged(4, b"a")].concat();
        let assertion = json!({"attribute": "cn", "value": 0});
        for (name, tag) in [
            ("equal", 0xa3),
            ("greater_or_equal", 0xa5),
            ("less_or_equal", 0xa6),
            ("approximate", 0xa8),
        ] {
            assert_eq!(
                written(&json!({name: assertion}), &["a"]),
                tagged(tag, &pair),
                "{name}"
            );
        }
        let present = tagged(0x87, b"objectClass");
        assert_eq!(written(&json!({"present": "objectClass"}), &[]), present);
        for (name, tag) in [("and", 0xa0), ("or", 0xa1)] {
            let both = json!({name: [{"present": "objectClass"}, {"equal": assertion}]});
            let inside = [present.clone(), tagged(0xa3, &pair)].concat();
            assert_eq!(written(&both, &["a"]), tagged(tag, &inside), "{name}");
        }
        let not = json!({"not": {"present": "objectClass"}});
        assert_eq!(written(&not, &[]), tagged(0xa2, &present));
    }

    #[test]
    fn parts_and_rules_have_the_tags_of_the_standard() {
        let parts =
            json!({"substrings": {"attribute": "cn", "initial": 0, "any": [1, 2], "final": 3}});
        let inside = [
            tagged(0x80, b"a"),
            tagged(0x81, b"b"),
            tagged(0x81, b"c"),
            tagged(0x82, b"d"),
        ];
        let expected = [tagged(4, b"cn"), tagged(0x30, &inside.concat())].concat();
        assert_eq!(
            written(&parts, &["a", "b", "c", "d"]),
            tagged(0xa4, &expected)
        );
        let rule = json!({"extensible": {"rule": "2.5.13.2", "attribute": "cn", "of_name": true, "value": 0}});
        let inside = [
            tagged(0x81, b"2.5.13.2"),
            tagged(0x82, b"cn"),
            tagged(0x83, b"x"),
            tagged(0x84, &[0xff]),
        ];
        assert_eq!(written(&rule, &["x"]), tagged(0xa9, &inside.concat()));
    }
}

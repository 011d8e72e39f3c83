//! Describes requirements on responses that were not met, for the examples of failed exchanges. Nothing here runs while
//! requests succeed.

use serde_json::Value;

use crate::http::response::Answer;
use crate::outcome::{Description, Unmet};
use crate::template::Context;

use super::{
    Check, Extract, Finder, Inspection, StatusRule, StatusSet, is_plain, plain_text, select,
};

const COMPRESSED: &str = "a compressed body";
const CUT: &str = "a body longer than the engine keeps";

impl Inspection {
    /// Describes a requirement that a response did not meet.
    ///
    /// Templates are rendered again, so the values of random functions may differ from those that were checked.
    #[must_use]
    pub fn describe(
        &self,
        unmet: Unmet,
        answer: &Answer,
        context: &mut Context<'_>,
    ) -> Description {
        match unmet {
            Unmet::Response => Description::default(),
            Unmet::Status => Description {
                check: b"status".to_vec(),
                expected: self.status.words().into_bytes(),
                got: Some(answer.status().to_string().into_bytes()),
            },
            Unmet::Check(at) => self
                .checks
                .get(at)
                .map_or_else(Description::default, |check| {
                    let mut described = check.describe(answer, context);
                    if check.reads_body() {
                        described.got = unreadable(answer).or(described.got);
                    }
                    described
                }),
            Unmet::Extract(at) => self
                .extracts
                .get(at)
                .map_or_else(Description::default, |each| {
                    let blocked = each.reads_body().then(|| unreadable(answer)).flatten();
                    Description {
                        check: each.words(),
                        expected: b"a value".to_vec(),
                        got: Some(blocked.unwrap_or_else(|| b"none".to_vec())),
                    }
                }),
        }
    }
}

/// Returns why the body of a response cannot be inspected; `None` if it can.
fn unreadable(answer: &Answer) -> Option<Vec<u8>> {
    let reason = if !is_plain(answer) {
        COMPRESSED
    } else if answer.body_truncated() {
        CUT
    } else {
        return None;
    };
    Some(reason.as_bytes().to_vec())
}

impl StatusRule {
    fn words(&self) -> String {
        match self {
            Self::Usual => "200 to 399".to_owned(),
            Self::Listed(sets) => {
                let each: Vec<String> = sets.iter().map(StatusSet::words).collect();
                each.join(", and ")
            }
        }
    }
}

impl StatusSet {
    fn words(&self) -> String {
        match self {
            Self::In(list) => {
                let codes: Vec<String> = list.iter().map(u16::to_string).collect();
                codes.join(" or ")
            }
            Self::Between(min, u16::MAX) => format!("at least {min}"),
            Self::Between(min, max) => format!("{min} to {max}"),
        }
    }
}

/// Renders bounds on a number, such as `at least 10 B`; `unit` follows the last number.
pub(crate) fn bounds(min: u64, max: u64, unit: &str) -> Vec<u8> {
    let words = match (min, max) {
        (min, max) if min == max => format!("{min}{unit}"),
        (min, u64::MAX) => format!("at least {min}{unit}"),
        (0, max) => format!("at most {max}{unit}"),
        (min, max) => format!("{min} to {max}{unit}"),
    };
    words.into_bytes()
}

impl Check {
    fn describe(&self, answer: &Answer, context: &mut Context<'_>) -> Description {
        let mut text = Vec::new();
        match self {
            Self::Size { min, max } => Description {
                check: b"size".to_vec(),
                expected: bounds(*min, *max, " B"),
                got: Some(format!("{} B", answer.body_bytes()).into_bytes()),
            },
            Self::Contains { text: wanted, not } => {
                wanted.render(&mut text, context);
                Description::of_search("contains", text, *not)
            }
            Self::Regex { pattern, not } => {
                Description::of_search("regex", pattern.as_str().as_bytes().to_vec(), *not)
            }
            Self::Json { path, equals } => {
                let document: Option<Value> = serde_json::from_slice(answer.body()).ok();
                let found = match &document {
                    None => b"no JSON".to_vec(),
                    Some(document) => select(path, document, answer)
                        .and_then(|found| found.first().map(|value| plain_text(value)))
                        .unwrap_or_else(|| b"none".to_vec()),
                };
                if let Some(wanted) = equals {
                    wanted.render(&mut text, context);
                } else {
                    text = b"a value".to_vec();
                }
                Description {
                    check: format!("json {}", path.as_str()).into_bytes(),
                    expected: text,
                    got: Some(found),
                }
            }
            Self::Header { name, contains } => {
                contains.render(&mut text, context);
                let found: Vec<&[u8]> = answer.headers(name).collect();
                let got = if found.is_empty() {
                    b"none".to_vec()
                } else {
                    found.join(&b", "[..])
                };
                Description {
                    check: format!("header {name}").into_bytes(),
                    expected: text,
                    got: Some(got),
                }
            }
        }
    }
}

impl Extract {
    /// Names the part of the response that the extraction searches.
    fn words(&self) -> Vec<u8> {
        match &self.finder {
            Finder::Status => "extract status".to_owned(),
            Finder::Header(name) => format!("extract header {name}"),
            Finder::Json(path) => format!("extract json {}", path.as_str()),
            Finder::Regex(pattern) => format!("extract regex {}", pattern.as_str()),
        }
        .into_bytes()
    }
}

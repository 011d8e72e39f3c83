//! Removes secrets from texts of servers and users before results store them. Nothing here runs while requests succeed.
//!
//! Two rules find secrets: the values that the plan, the user's variables and the user's cookies contain; and patterns,
//! such as the value after the name `password`. The Python package applies `redacted_line` to the same texts later.

use std::sync::OnceLock;

use regex::bytes::{Captures, Regex};

use crate::cookies::Jar;
use crate::plan::{Encode, Plan};
use crate::template::{Memory, encode};

const HIDDEN: &[u8] = b"***";

/// Shortest value of a variable or cookie that is searched for in a text. Shorter values occur in any text. [B]
const SHORTEST_BYTES: usize = 4;

/// Shortest word of letters and digits that counts as a token. [B]
const TOKEN_BYTES: usize = 24;

/// Largest number of values of a list that are searched for, the newest ones. [1]
const VALUES_OF_LIST: usize = 200;

const NAMES: &str = r"passwords?|passwd|passphrase|passcode|pwd|secrets?|tokens?|(?:api|access|private|account|auth|signing|master|shared|session)[_-]?keys?|auth|authorization|credentials?|cookies?|session[_-]?id|jsessionid|phpsessid|signature|sig|jwt|bearer|otp|csrf|xsrf";

/// Values of a plan and of its users that results must not contain.
#[derive(Debug, Default)]
pub struct Secrets {
    literals: Vec<Vec<u8>>,
    variables: Vec<usize>,
    lists: Vec<usize>,
}

impl Secrets {
    /// Finds the secrets of a plan. A variable or list is secret if its name contains that of a secret.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let secret = |names: &[String]| {
            let named = names.iter().enumerate();
            named
                .filter(|(_, name)| patterns().name.is_match(name.as_bytes()))
                .map(|(index, _)| index)
                .collect()
        };
        Self {
            literals: plan
                .secrets
                .iter()
                .map(|text| text.clone().into_bytes())
                .collect(),
            variables: secret(&plan.variables),
            lists: secret(&plan.lists),
        }
    }

    /// Returns the secrets that the plan names.
    #[must_use]
    pub fn literals(&self) -> &[Vec<u8>] {
        &self.literals
    }

    /// Returns all secret values that a user knows, in all encodings.
    #[must_use]
    pub fn values(&self, memory: &Memory, jar: &Jar) -> Vec<Vec<u8>> {
        let variables = self
            .variables
            .iter()
            .filter_map(|index| memory.variables.get(*index));
        let lists = self
            .lists
            .iter()
            .filter_map(|index| memory.lists.get(*index))
            .flat_map(|list| list.iter().rev().take(VALUES_OF_LIST));
        let known = variables
            .chain(lists)
            .map(Vec::as_slice)
            .chain(jar.values())
            .filter(|value| value.len() >= SHORTEST_BYTES);
        let literals = self.literals.iter().map(Vec::as_slice);
        let mut found = Vec::new();
        for value in known.chain(literals.filter(|value| !value.is_empty())) {
            for how in [Encode::None, Encode::Url, Encode::Json, Encode::Html] {
                let mut text = Vec::new();
                encode(value, how, &mut text);
                if !found.contains(&text) {
                    found.push(text);
                }
            }
        }
        found
    }
}

struct Patterns {
    /// Name of a secret at any place of a name.
    name: Regex,
    /// Name of a secret at the end of a path, such as `json $.user['token']`.
    ends: Regex,
    /// Name of a secret, and its value.
    pair: Regex,
    /// Element of XML with the name of a secret, and its text.
    element: Regex,
    /// Scheme of an authorization, and its value.
    scheme: Regex,
    /// Element of a page that holds a value, such as a hidden field.
    field: Regex,
    /// Word of letters, digits and signs.
    word: Regex,
}

#[expect(
    clippy::expect_used,
    reason = "the patterns are constants, which the tests compile"
)]
fn patterns() -> &'static Patterns {
    static PATTERNS: OnceLock<Patterns> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        let compiled = |text: &str| Regex::new(text).expect("a valid pattern");
        Patterns {
            name: compiled(&format!("(?i-u)(?:{NAMES}|pass|pin|code|key)")),
            ends: compiled(&format!(r#"(?i-u)(?:{NAMES})["'\])\[\d*]*$"#)),
            pair: compiled(&format!(
                r#"(?i-u)((?:{NAMES})(?:\\*["'\])]|%2[27])*\s*(?:[:=]|%3[ad])\s*)(?:\\+"[^"\\]*(?:\\+")?|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|\[[^\]]*\]?|(?:(?:basic|bearer|digest|negotiate)\s+)?[^\s,;&"'{{}}\[\]()<>]+)"#
            )),
            element: compiled(&format!(
                r"(?i-u)(<[\w:.-]*(?:{NAMES})(?:\s[^<>]*)?>)[^<]+"
            )),
            scheme: compiled(r"(?i-u)(\b(?:basic|bearer|negotiate|digest)\s+)[\w.~+/=-]{6,}"),
            field: compiled(
                r#"(?i-u)(<(?:input|meta)\b[^>]*?\b(?:value|content)\s*=\s*)(?:"[^"]*"?|'[^']*'?|[^\s>]+)"#,
            ),
            word: compiled(r"(?-u)[\w+/.=-]{24,}"),
        }
    })
}

/// Returns `true` if the last name of a check is that of a secret, so that its values are hidden.
#[must_use]
pub fn is_secret_check(check: &[u8]) -> bool {
    patterns().ends.is_match(check)
}

/// Returns at most `at_most` bytes of a text without secrets.
#[must_use]
pub fn without_secrets(text: &[u8], values: &[Vec<u8>], at_most: usize) -> Vec<u8> {
    let found = patterns();
    let is_cut = text.len() > at_most;
    let mut text = without_values(text, values, at_most);
    for pattern in [&found.pair, &found.element, &found.scheme, &found.field] {
        text = pattern
            .replace_all(&text, |parts: &Captures<'_>| [&parts[1], HIDDEN].concat())
            .into_owned();
    }
    let hide = |parts: &Captures<'_>| {
        if is_token(&parts[0]) {
            HIDDEN.to_vec()
        } else {
            parts[0].to_vec()
        }
    };
    let mut text = found.word.replace_all(&text, hide).into_owned();
    if is_cut {
        drop_part_of_word(&mut text);
    }
    text
}

/// Drops the last word of a text that was cut, as it may be the start of a token.
fn drop_part_of_word(text: &mut Vec<u8>) {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_+/.=-".contains(byte);
    let length = text
        .iter()
        .rev()
        .take_while(|byte| is_of_word(byte))
        .count();
    if length < TOKEN_BYTES {
        text.truncate(text.len() - length);
    }
}

/// Replaces the values in the first `at_most` bytes of a text. A value that begins there is replaced as a whole.
fn without_values(text: &[u8], values: &[Vec<u8>], at_most: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len().min(at_most) {
        let rest = &text[at..];
        let here = values.iter().filter(|value| rest.starts_with(value));
        if let Some(longest) = here.map(Vec::len).max() {
            out.extend_from_slice(HIDDEN);
            at += longest;
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    out
}

/// Returns `true` for a part of at least [`TOKEN_BYTES`] bytes without a slash that mixes letters and digits. The parts
/// of a path are words of their own.
fn is_token(word: &[u8]) -> bool {
    word.split(|byte| *byte == b'/').any(|part| {
        part.len() >= TOKEN_BYTES
            && part.iter().any(u8::is_ascii_digit)
            && part.iter().any(u8::is_ascii_alphabetic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, values: &[&str]) -> String {
        let values: Vec<Vec<u8>> = values
            .iter()
            .map(|value| value.as_bytes().to_vec())
            .collect();
        String::from_utf8_lossy(&without_secrets(text.as_bytes(), &values, 400)).into_owned()
    }

    #[test]
    fn values_of_secret_names_and_tokens_are_hidden_and_other_words_are_not() {
        let cases = [
            (
                r#"{"user":"ann","password":"hunter2","n":3}"#,
                r#"{"user":"ann","password":***,"n":3}"#,
            ),
            (
                r#"{"data":"{\"password\": \"hunter2\"}"}"#,
                r#"{"data":"{\"password\": ***}"}"#,
            ),
            (r#"{"password":"ab\"hunter2"}"#, r#"{"password":***}"#),
            (
                r#"{"tokens":["hunter2","k3"],"n":1}"#,
                r#"{"tokens":***,"n":1}"#,
            ),
            (
                "<w:Password Type='t'>hunter2</w:Password>",
                "<w:Password Type='t'>***</w:Password>",
            ),
            (
                "user%3Dann%26password%3Dhunter2",
                "user%3Dann%26password%3D***",
            ),
            ("Authorization: Bearer abc.def", "Authorization: ***"),
            ("login with Basic YWRhOmxvdmU=", "login with Basic ***"),
            ("session_id=4711&page=2", "session_id=***&page=2"),
            (
                r#"<input type="hidden" name="_csrf" value="a1b2">"#,
                r#"<input type="hidden" name="_csrf" value=***>"#,
            ),
            ("no row 4f2a9c01d7e84b6f9a02c5de1", "no row ***"),
            (
                "internal server error at 2026-11-29",
                "internal server error at 2026-11-29",
            ),
            ("the author wrote 12 lines", "the author wrote 12 lines"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text, &[]), expected);
        }
    }

    #[test]
    fn known_values_are_hidden_also_at_the_end_of_the_kept_text() {
        assert_eq!(shown("hello open sesame!", &["open sesame"]), "hello ***!");
        let long = format!("{}{}", "x ".repeat(198), "open sesame");
        assert!(shown(&long, &["open sesame"]).ends_with("x ***"));
        let long = format!("{}{}", "x ".repeat(195), "4f2a9c01d7e84b6f9a02c5de1");
        assert!(shown(&long, &[]).ends_with("x "));
    }

    #[test]
    fn checks_of_secret_names_are_found() {
        for (check, expected) in [
            ("header Set-Cookie", true),
            ("json $.user['token']", true),
            ("json $.tokens[0]", true),
            ("json $.id", false),
            ("header Content-Type", false),
        ] {
            assert_eq!(is_secret_check(check.as_bytes()), expected, "{check}");
        }
    }
}

//! Examples of failed exchanges: the first one for each requirement of a step that was not met.

use serde_json::{Value, json};

use crate::outcome::{Description, Failure, Fault, Unmet};
use crate::plan::Plan;
use crate::secrets::{is_secret_check, without_secrets};

/// Limit on the number of examples. [1]
const EXAMPLES_AT_MOST: usize = 10;

/// Limit on the length of a required value and of the value found. [B]
const VALUE_BYTES: usize = 200;

/// Limit on the length of the part of a response. [B]
const ANSWER_BYTES: usize = 400;

/// Control character that begins a colour code in a text.
const ESCAPE: u8 = 0x1b;

/// A failed exchange. Its texts contain no secrets and are bounded.
#[derive(Debug, Clone)]
pub struct Example {
    t_ns: u64,
    step: usize,
    fault: Fault,
    check: String,
    expected: String,
    got: Option<String>,
    status: Option<u16>,
    answer: Option<String>,
    answer_bytes: u64,
}

/// Parts of a response that an example may contain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Response<'a> {
    /// Status code; `None` without a complete HTTP response.
    pub status: Option<u16>,
    /// The kept part of the body.
    pub body: &'a [u8],
    /// Length of the whole body. [B]
    pub body_bytes: u64,
}

/// Examples of a load thread, in the order of their times.
#[derive(Debug, Default)]
pub struct Examples(Vec<Example>);

impl Examples {
    /// Returns `true` if there is room for an example, and there is none yet of this requirement.
    #[must_use]
    pub fn lacks(&self, step: usize, fault: Fault) -> bool {
        self.0.len() < EXAMPLES_AT_MOST && !self.0.iter().any(|known| known.is_of(step, fault))
    }

    /// Adds the example of an exchange that ended at `t_ns`; `secrets` are the secret values that its user knows.
    pub fn push(
        &mut self,
        t_ns: u64,
        (step, fault): (usize, Fault),
        described: &Description,
        response: Response<'_>,
        secrets: &[Vec<u8>],
    ) {
        let hides = is_secret_check(&described.check);
        let value = |text: &[u8]| {
            if hides {
                "***".to_owned()
            } else {
                readable(&without_secrets(text, secrets, VALUE_BYTES)).unwrap_or_default()
            }
        };
        self.0.push(Example {
            t_ns,
            step,
            fault,
            expected: value(&described.expected),
            got: described.got.as_deref().map(value),
            check: readable(&without_secrets(&described.check, secrets, VALUE_BYTES))
                .unwrap_or_default(),
            status: response.status,
            answer: readable(&without_secrets(response.body, secrets, ANSWER_BYTES))
                .filter(|text| !text.is_empty()),
            answer_bytes: response.body_bytes,
        });
    }

    /// Adds the examples of another load thread: the earliest of each requirement remain, up to the limit.
    pub fn merge(&mut self, more: Self) {
        let mut all = std::mem::take(&mut self.0);
        all.extend(more.0);
        all.sort_by_key(|example| example.t_ns);
        for example in all {
            if self.lacks(example.step, example.fault) {
                self.0.push(example);
            }
        }
    }

    /// Returns the examples in the form of `engine.json`.
    #[must_use]
    pub fn document(&self, plan: &Plan) -> Vec<Value> {
        self.0
            .iter()
            .map(|example| example.document(plan))
            .collect()
    }
}

impl Example {
    fn is_of(&self, step: usize, fault: Fault) -> bool {
        (self.step, self.fault) == (step, fault)
    }

    fn document(&self, plan: &Plan) -> Value {
        let step = &plan.steps[self.step];
        json!({
            "t_ns": self.t_ns,
            "transaction": step.transaction,
            "step": step.name,
            "failure": self.fault.failure.name(),
            "check": self.check,
            "expected": self.expected,
            "got": self.got,
            "status": self.status,
            "answer": self.answer,
            "answer_bytes": self.answer_bytes,
        })
    }
}

/// Describes a complete response that did not arrive. `reason` is the message about it, if there is one.
pub fn no_response(failure: Failure, timeout_ns: u64, reason: Option<String>) -> Description {
    let got = reason.unwrap_or_else(|| match failure {
        Failure::Timeout => "no complete response".to_owned(),
        Failure::Connect => "no connection".to_owned(),
        other => other.name().to_owned(),
    });
    Description {
        check: b"response".to_vec(),
        expected: format!("within {} s", timeout_ns as f64 / 1e9).into_bytes(),
        got: Some(got.into_bytes()),
    }
}

/// Returns the fault of an exchange without a complete response.
pub const fn without_response(failure: Failure) -> Fault {
    Fault {
        failure,
        unmet: Unmet::Response,
    }
}

/// Decodes bytes as text; `None` for bytes that are no text, such as an image or a compressed body.
fn readable(bytes: &[u8]) -> Option<String> {
    let is_binary = |byte: &u8| *byte < b' ' && !matches!(*byte, b'\t' | b'\n' | b'\r' | ESCAPE);
    if bytes.iter().any(is_binary) {
        return None;
    }
    Some(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(examples: &mut Examples, t_ns: u64, at: usize, body: &[u8]) {
        let (step, fault) = (0, Fault::of_check(at));
        if examples.lacks(step, fault) {
            let response = Response {
                status: Some(200),
                body,
                body_bytes: body.len() as u64,
            };
            examples.push(t_ns, (step, fault), &Description::default(), response, &[]);
        }
    }

    #[test]
    fn the_first_example_of_each_requirement_remains_and_their_number_is_bounded() {
        let (mut one, mut other) = (Examples::default(), Examples::default());
        for t_ns in 0..1000 {
            push(&mut one, 2 * t_ns + 1, t_ns as usize % 100, b"one");
            push(&mut other, 2 * t_ns, t_ns as usize % 100, b"other");
        }
        assert_eq!(one.0.len(), EXAMPLES_AT_MOST);
        one.merge(other);
        assert_eq!(one.0.len(), EXAMPLES_AT_MOST);
        assert!(
            one.0
                .iter()
                .all(|example| example.answer.as_deref() == Some("other"))
        );
    }

    #[test]
    fn a_part_of_the_body_is_kept_if_it_is_text() {
        let mut examples = Examples::default();
        push(&mut examples, 0, 0, &[b'x'; 5000]);
        push(&mut examples, 1, 1, b"\x1f\x8b\x08\x00 compressed");
        let kept = |at: usize| examples.0[at].answer.as_ref().map(String::len);
        assert_eq!((kept(0), kept(1)), (Some(ANSWER_BYTES), None));
    }
}

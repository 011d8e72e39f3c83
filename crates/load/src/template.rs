//! Templates of texts, compiled to literal parts and placeholders, and the user's values that replace the placeholders.

use crate::plan::{Encode, Function, Part};
use crate::rng::Random;

/// Variables and lists of a user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// Values of the variables, by index.
    pub variables: Box<[Vec<u8>]>,
    /// Elements of the lists, by index of the list.
    pub lists: Box<[Vec<Vec<u8>>]>,
}

impl Memory {
    /// Creates empty variables and lists.
    #[must_use]
    pub fn new(variables: usize, lists: usize) -> Self {
        Self {
            variables: vec![Vec::new(); variables].into(),
            lists: vec![Vec::new(); lists].into(),
        }
    }

    /// Clears all variables and lists, but keeps the memory allocated for the variables.
    pub fn clear(&mut self) {
        self.variables.iter_mut().for_each(Vec::clear);
        self.lists.iter_mut().for_each(Vec::clear);
    }
}

/// Values of the user for whom a template is rendered.
#[derive(Debug)]
pub struct Context<'a> {
    /// Variables and lists of the user.
    pub memory: &'a mut Memory,
    /// The random generator of the user.
    pub random: &'a mut Random,
    /// Number of the user.
    pub user: u32,
    /// Number of the transaction that the user executes.
    pub iteration: u64,
}

/// A compiled template.
#[derive(Debug, Clone, Default)]
pub struct Text {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
enum Piece {
    Literal(Box<[u8]>),
    Variable(u32, Encode),
    Function(Function),
}

impl Text {
    /// Compiles a template and merges adjacent literal parts.
    #[must_use]
    pub fn new(parts: &[Part]) -> Self {
        let mut text = Self::default();
        for part in parts {
            match part {
                Part::Text(literal) => text.push_literal(literal.as_bytes()),
                Part::Variable(part) => text
                    .pieces
                    .push(Piece::Variable(part.variable as u32, part.encode)),
                Part::Function(function) => text.pieces.push(Piece::Function(function.clone())),
            }
        }
        text
    }

    fn push_literal(&mut self, bytes: &[u8]) {
        if let Some(Piece::Literal(last)) = self.pieces.last_mut() {
            *last = [last, bytes].concat().into();
        } else if !bytes.is_empty() {
            self.pieces.push(Piece::Literal(bytes.into()));
        }
    }

    /// Returns the text if the template has no placeholders; otherwise `None`.
    #[must_use]
    pub fn constant(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [] => Some(b""),
            [Piece::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Appends the text, with the user's values for the placeholders, to `out`.
    pub fn render(&self, out: &mut Vec<u8>, context: &mut Context<'_>) {
        for piece in &self.pieces {
            match piece {
                Piece::Literal(bytes) => out.extend_from_slice(bytes),
                Piece::Variable(index, how) => {
                    encode(&context.memory.variables[*index as usize], *how, out);
                }
                Piece::Function(function) => call(function, out, context),
            }
        }
    }
}

/// Appends `value` to `out` in the encoding `how`.
pub fn encode(value: &[u8], how: Encode, out: &mut Vec<u8>) {
    match how {
        Encode::None => out.extend_from_slice(value),
        Encode::Url => value.iter().for_each(|byte| encode_url(*byte, out)),
        Encode::Json => value.iter().for_each(|byte| encode_json(*byte, out)),
        Encode::Html => value.iter().for_each(|byte| encode_html(*byte, out)),
    }
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

fn encode_url(byte: u8, out: &mut Vec<u8>) {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        out.push(byte);
    } else {
        out.extend_from_slice(&[
            b'%',
            HEX[usize::from(byte >> 4)],
            HEX[usize::from(byte & 15)],
        ]);
    }
}

fn encode_json(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0..0x20 => {
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        _ => out.push(byte),
    }
}

fn encode_html(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'&' => out.extend_from_slice(b"&amp;"),
        b'<' => out.extend_from_slice(b"&lt;"),
        b'>' => out.extend_from_slice(b"&gt;"),
        b'"' => out.extend_from_slice(b"&quot;"),
        b'\'' => out.extend_from_slice(b"&#39;"),
        _ => out.push(byte),
    }
}

fn call(function: &Function, out: &mut Vec<u8>, context: &mut Context<'_>) {
    match *function {
        Function::Uuid {} => uuid(out, context.random),
        Function::User {} => decimal(i128::from(context.user), out),
        Function::Iteration {} => decimal(i128::from(context.iteration), out),
        Function::NowMs {} => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            decimal(now.map_or(0, |since| since.as_millis() as i128), out);
        }
        Function::RandomInt { min, max } => {
            let span = max.abs_diff(min);
            let offset = if span == u64::MAX {
                context.random.next_u64()
            } else {
                context.random.below(span + 1)
            };
            decimal(i128::from(min) + i128::from(offset), out);
        }
        Function::RandomText { bytes } => {
            const LETTERS: &[u8; 62] =
                b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
            out.extend((0..bytes).map(|_| LETTERS[context.random.below(62) as usize]));
        }
    }
}

/// Appends a number in decimal digits without allocating memory.
pub(crate) fn decimal(number: i128, out: &mut Vec<u8>) {
    use std::io::Write as _;
    // Writing into a vector cannot fail.
    let _ = write!(out, "{number}");
}

/// Appends a random UUID (RFC 9562, section 5.4).
fn uuid(out: &mut Vec<u8>, random: &mut Random) {
    let mut bytes = [0_u8; 16];
    bytes[..8].copy_from_slice(&random.next_u64().to_be_bytes());
    bytes[8..].copy_from_slice(&random.next_u64().to_be_bytes());
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    for (index, byte) in bytes.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend_from_slice(
            &[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]
                .map(|hex| hex.to_ascii_lowercase()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Template;

    fn render(json: &str, value: &str) -> String {
        let template: Template = serde_json::from_str(json).expect("a template");
        let mut memory = Memory::new(1, 0);
        memory.variables[0] = value.as_bytes().to_vec();
        let mut random = Random::from_seed(5);
        let mut context = Context {
            memory: &mut memory,
            random: &mut random,
            user: 12,
            iteration: 3,
        };
        let mut out = Vec::new();
        Text::new(&template).render(&mut out, &mut context);
        String::from_utf8(out).expect("text")
    }

    /// A user that starts again has none of the values that it had before it left.
    #[test]
    fn a_memory_that_is_cleared_is_as_a_new_one() {
        let mut memory = Memory::new(2, 1);
        memory.variables[1] = b"token".to_vec();
        memory.lists[0] = vec![b"a".to_vec(), b"b".to_vec()];
        memory.clear();
        assert_eq!(memory, Memory::new(2, 1));
    }

    #[test]
    fn variables_are_encoded_for_their_place() {
        assert_eq!(render(r#"["a", "b", {"variable": 0}]"#, "ä/ "), "abä/ ");
        assert_eq!(
            render(r#"["?q=", {"variable": 0, "encode": "url"}]"#, "ä /~&"),
            "?q=%C3%A4%20%2F~%26"
        );
        assert_eq!(
            render(r#"[{"variable": 0, "encode": "json"}]"#, "a\"\\\n\u{1}"),
            "a\\\"\\\\\\n\\u0001"
        );
        assert_eq!(
            render(r#"[{"variable": 0, "encode": "html"}]"#, "<a href='x'>&"),
            "&lt;a href=&#39;x&#39;&gt;&amp;"
        );
    }

    #[test]
    fn functions_give_values_of_their_kind() {
        assert_eq!(
            render(
                r#"[{"function": "user"}, "-", {"function": "iteration"}]"#,
                ""
            ),
            "12-3"
        );
        let uuid = render(r#"[{"function": "uuid"}]"#, "");
        assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"));
        assert_eq!(
            render(r#"[{"function": "random_text", "bytes": 12}]"#, "").len(),
            12
        );
        for _ in 0..10 {
            let number: i64 = render(r#"[{"function": "random_int", "min": -2, "max": 3}]"#, "")
                .parse()
                .expect("a number");
            assert!((-2..=3).contains(&number));
        }
        let now: u64 = render(r#"[{"function": "now_ms"}]"#, "")
            .parse()
            .expect("a number");
        assert!(now > 1_600_000_000_000);
    }

    #[test]
    fn unknown_keys_of_parts_are_refused() {
        for json in [
            r#"[{"variable": 0, "x": 1}]"#,
            r#"[{"function": "sin"}]"#,
            r#"[{"function": "user", "x": 1}]"#,
        ] {
            assert!(serde_json::from_str::<Template>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_template_without_slots_is_constant() {
        let template: Template = serde_json::from_str(r#"["a", "b"]"#).expect("a template");
        assert_eq!(Text::new(&template).constant(), Some(b"ab".as_slice()));
    }
}

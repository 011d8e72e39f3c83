//! A JSON writer with a single reused buffer. Counters are written as integers, without conversion to floating point.

use std::fmt::Write as _;

const NANOSECONDS: u64 = 1_000_000_000;

/// A JSON document that is being written. The buffer is reused for the next document.
#[derive(Debug, Default)]
pub struct Json {
    buffer: String,
    after_value: bool,
}

impl Json {
    /// Removes the document but keeps the memory for the next document.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.after_value = false;
    }

    /// Returns the text that was written so far.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.buffer
    }

    /// Opens an object without a key: the document itself, or an element of an array.
    pub fn begin(&mut self) {
        self.separate();
        self.open('{');
    }

    /// Opens an object as the value of `key`.
    pub fn object(&mut self, key: &str) {
        self.key(key);
        self.open('{');
    }

    /// Opens an array as the value of `key`.
    pub fn array(&mut self, key: &str) {
        self.key(key);
        self.open('[');
    }

    /// Closes the object that was opened last.
    pub fn end_object(&mut self) {
        self.close('}');
    }

    /// Closes the array that was opened last.
    pub fn end_array(&mut self) {
        self.close(']');
    }

    /// Writes a count as the value of `key`. For `None`, the key is left out.
    pub fn count(&mut self, key: &str, value: impl Into<Option<u64>>) {
        if let Some(value) = value.into() {
            self.key(key);
            let _ = write!(self.buffer, "{value}");
        }
    }

    /// Writes a time given in nanoseconds as seconds with all digits. For `None`, the key is left out.
    pub fn seconds(&mut self, key: &str, value_ns: impl Into<Option<u64>>) {
        let Some(value_ns) = value_ns.into() else {
            return;
        };
        self.key(key);
        let _ = write!(
            self.buffer,
            "{}.{:09}",
            value_ns / NANOSECONDS,
            value_ns % NANOSECONDS
        );
        let zeros = self
            .buffer
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'0')
            .count()
            .min(8);
        self.buffer.truncate(self.buffer.len() - zeros);
    }

    /// Writes a finite number. For `None`, infinity and NaN, the key is left out.
    pub fn number(&mut self, key: &str, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into().filter(|value| value.is_finite()) {
            self.key(key);
            let _ = write!(self.buffer, "{value:?}");
        }
    }

    /// Writes a text. For `None`, the key is left out.
    pub fn text<'a>(&mut self, key: &str, value: impl Into<Option<&'a str>>) {
        if let Some(value) = value.into() {
            self.key(key);
            self.quoted(value);
        }
    }

    /// Writes `true` or `false` as the value of `key`.
    pub fn flag(&mut self, key: &str, value: bool) {
        self.key(key);
        self.buffer.push_str(if value { "true" } else { "false" });
    }

    fn key(&mut self, key: &str) {
        self.separate();
        self.quoted(key);
        self.buffer.push(':');
        self.after_value = true;
    }

    fn separate(&mut self) {
        if self.after_value {
            self.buffer.push(',');
        }
        self.after_value = true;
    }

    fn open(&mut self, bracket: char) {
        self.buffer.push(bracket);
        self.after_value = false;
    }

    fn close(&mut self, bracket: char) {
        self.buffer.push(bracket);
        self.after_value = true;
    }

    fn quoted(&mut self, text: &str) {
        self.buffer.push('"');
        for character in text.chars() {
            match character {
                '"' => self.buffer.push_str("\\\""),
                '\\' => self.buffer.push_str("\\\\"),
                control if control < ' ' => {
                    let _ = write!(self.buffer, "\\u{:04x}", u32::from(control));
                }
                other => self.buffer.push(other),
            }
        }
        self.buffer.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_exact_seconds_and_leaves_out_what_is_unknown() {
        let mut json = Json::default();
        json.begin();
        json.count("a", 7);
        json.count("unknown", None);
        json.seconds("b", 1_230_000_000);
        json.seconds("zero", 0);
        json.seconds("ten", 10_000_000_000);
        json.array("list");
        json.begin();
        json.number("load", 0.5);
        json.end_object();
        json.begin();
        json.end_object();
        json.end_array();
        json.object("inner");
        json.flag("yes", true);
        json.end_object();
        json.text("t", "a\"\\\n\u{e9}");
        json.end_object();
        assert_eq!(
            json.as_str(),
            "{\"a\":7,\"b\":1.23,\"zero\":0.0,\"ten\":10.0,\"list\":[{\"load\":0.5},{}],\
             \"inner\":{\"yes\":true},\"t\":\"a\\\"\\\\\\u000a\u{e9}\"}"
        );
        let document: serde_json::Value = serde_json::from_str(json.as_str()).expect("valid JSON");
        assert_eq!(document["t"], "a\"\\\n\u{e9}");
    }
}

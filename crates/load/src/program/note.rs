//! Notes of requests that store, replace, remove or read back, compiled.

use crate::plan::{self, Does};
use crate::template::{Context, Text};

/// Change of one request to a stored thing, ready to be noted.
#[derive(Debug)]
pub struct Note {
    /// Kind of the change.
    pub does: Does,
    /// Kind of the thing, as a JSON text.
    pub of: Box<[u8]>,
    /// Key of the thing.
    key: Text,
}

impl Note {
    /// Compiles a note.
    #[must_use]
    pub fn new(note: &plan::Note) -> Self {
        Self {
            does: note.does,
            of: json(note.of.as_bytes()).into(),
            key: Text::new(&note.key),
        }
    }

    /// Returns `true` if the key is known before the answer, so that it is noted when the request begins.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        !matches!(self.does, Does::Stores)
    }

    /// The key as a JSON text.
    #[must_use]
    pub fn key(&self, context: &mut Context<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        self.key.render(&mut text, context);
        json(&text)
    }
}

/// Encodes a JSON text; bytes that are not UTF-8 are replaced.
fn json(text: &[u8]) -> Vec<u8> {
    serde_json::to_vec(&String::from_utf8_lossy(text)).expect("a text becomes JSON")
}

//! Compiled notes of requests. A note records that a request stored, replaced, removed or read an object.

use crate::plan::{self, Does};
use crate::template::{Context, Text};

/// A compiled note of a request that changes or reads a stored object.
#[derive(Debug)]
pub struct Note {
    /// Effect of the request on the object.
    pub does: Does,
    /// Type of the object, as JSON text.
    pub of: Box<[u8]>,
    /// Template of the key that identifies the object.
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

    /// Returns `true` if the key does not depend on the response, so that the note can be written when the request
    /// begins.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        !matches!(self.does, Does::Stores)
    }

    /// Renders the key of the object as JSON text.
    #[must_use]
    pub fn key(&self, context: &mut Context<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        self.key.render(&mut text, context);
        json(&text)
    }
}

/// Encodes a text as JSON; bytes that are not UTF-8 are replaced.
fn json(text: &[u8]) -> Vec<u8> {
    serde_json::to_vec(&String::from_utf8_lossy(text)).expect("a text becomes JSON")
}

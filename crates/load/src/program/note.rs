//! What is noted of requests that store, replace, remove or read back: compiled.

use crate::plan::{self, Does};
use crate::template::{Context, Text};

/// What one request does to something that is kept, ready to be told.
#[derive(Debug)]
pub struct Note {
    /// What it does.
    pub does: Does,
    /// Of which kind, as a JSON text.
    pub of: Box<[u8]>,
    /// By which name it is found again.
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

    /// Whether its key is known before the answer, so that it is told when the request begins.
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

/// A JSON text; what is not UTF-8 in it is replaced.
fn json(text: &[u8]) -> Vec<u8> {
    serde_json::to_vec(&String::from_utf8_lossy(text)).expect("a text becomes JSON")
}

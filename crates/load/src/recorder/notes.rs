//! Writes `stored-WW.ndjson`: a list of the objects that servers confirmed to have stored for the users of one load
//! thread, in the order of the confirmations.
//!
//! The file is created with the first note, so a run whose users store nothing has no such file.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use super::line::LineBuilder;
use super::writer::WriterFailed;

/// Name and version of the JSON schema of the notes.
const SCHEMA: &str = "towtank/stored-notes/1";

/// The file of notes of one load thread.
#[derive(Debug)]
pub(super) struct Notes {
    path: PathBuf,
    run: String,
    worker: usize,
    file: Option<File>,
    /// Length of the complete lines written to the file. [B]
    written: u64,
    line: LineBuilder,
    /// Lines that will be written with one system call.
    buffer: Vec<u8>,
}

impl Notes {
    /// Prepares to write the notes of a load thread to a file in `folder`. The file is created with the first note.
    pub(super) fn new(folder: &std::path::Path, run: &str, worker: usize) -> Self {
        Self {
            path: folder.join(format!("stored-{worker:02}.ndjson")),
            run: run.to_owned(),
            worker,
            file: None,
            written: 0,
            line: LineBuilder::default(),
            buffer: Vec::new(),
        }
    }

    /// Appends notes to the file, as one JSON document per line. Does nothing if there are no notes.
    pub(super) fn append(&mut self, notes: &[u8]) -> Result<(), WriterFailed> {
        if notes.is_empty() {
            return Ok(());
        }
        self.buffer.clear();
        if self.file.is_none() {
            self.begin()?;
        }
        for note in notes.split(|byte| *byte == b'\n') {
            if !note.is_empty() {
                self.buffer.extend_from_slice(self.line.document(note));
            }
        }
        self.write()
    }

    pub(super) fn sync(&mut self) -> Result<(), WriterFailed> {
        match self.file.as_ref().map_or(Ok(()), File::sync_all) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn begin(&mut self) -> Result<(), WriterFailed> {
        let opened = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&self.path);
        self.file = Some(opened.map_err(|error| self.failed(&error))?);
        let header = serde_json::json!({
            "k": "header", "schema": SCHEMA, "run": self.run, "worker": self.worker,
        });
        let header = header.to_string();
        self.buffer
            .extend_from_slice(self.line.document(header.as_bytes()));
        Ok(())
    }

    fn write(&mut self) -> Result<(), WriterFailed> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        if let Err(error) = file.write_all(&self.buffer) {
            // The incomplete line at the end of the file is removed. If that fails, readers of the file skip the line.
            let _ = file.set_len(self.written);
            return Err(self.failed(&error));
        }
        self.written += self.buffer.len() as u64;
        Ok(())
    }

    fn failed(&self, error: &std::io::Error) -> WriterFailed {
        WriterFailed {
            path: self.path.clone(),
            reason: error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn notes_become_checksummed_lines_behind_a_header() {
        let folder = Folder::new("notes");
        let mut notes = Notes::new(folder.path(), "r001", 3);
        notes.append(b"").unwrap();
        assert!(!folder.path().join("stored-03.ndjson").exists());
        notes.append(b"{\"k\":\"stored\"}\n").unwrap();
        notes
            .append(b"{\"k\":\"begun\"}\n{\"k\":\"removed\"}\n")
            .unwrap();
        notes.sync().unwrap();
        let text = std::fs::read_to_string(folder.path().join("stored-03.ndjson")).unwrap();
        let mut documents = Vec::new();
        for line in text.lines() {
            let (checksum, document) = line.split_at(9);
            assert_eq!(
                checksum,
                format!("{:08x} ", crc32fast::hash(document.as_bytes()))
            );
            documents.push(document);
        }
        assert!(documents[0].contains(SCHEMA), "{}", documents[0]);
        assert_eq!(
            documents[1..],
            [
                r#"{"k":"stored"}"#,
                r#"{"k":"begun"}"#,
                r#"{"k":"removed"}"#
            ]
        );
    }

    #[test]
    fn notes_that_are_there_are_never_overwritten() {
        let folder = Folder::new("notes-overwrite");
        std::fs::write(folder.path().join("stored-00.ndjson"), "precious").unwrap();
        let failed = Notes::new(folder.path(), "r001", 0)
            .append(b"{}\n")
            .unwrap_err();
        assert!(failed.to_string().contains("exists"), "{failed}");
        assert_eq!(std::fs::read_to_string(failed.path).unwrap(), "precious");
    }
}

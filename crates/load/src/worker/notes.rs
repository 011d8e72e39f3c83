//! Writes notes about the objects that users store or change: the intention when a request or call begins, and the
//! outcome when it ends.

use std::io::Write as _;

use towtank_drivers::{Answer, Content, Failed};

use crate::outcome::Failure;
use crate::plan::Does;
use crate::program::note::Note;
use crate::template::Context;

use super::Worker;
use super::calls::CALL;

/// Properties of an ended request or call that its note states.
struct Ending {
    result: Result<(), Failure>,
    /// Status of the response to a request; `None` for calls.
    status: Option<u16>,
    /// `true` if the server responded to a call that the object does not exist.
    is_absent: bool,
    /// `true` if a call timed out or lost its connection. The server may then have stored content whose digest is not
    /// known.
    is_unknown: bool,
    content: Option<Content>,
}

impl Worker<'_> {
    /// Prepares the note of a request before the request is sent. Requests a digest of the content that the request or
    /// its response carries, and notes an intended change.
    pub(super) fn note_begin(&mut self, exchange: usize) {
        let program = self.program;
        let entry = &mut self.exchanges[exchange];
        let Some(note) = &program.requests[entry.request as usize].note else {
            return;
        };
        match note.does {
            Does::Reads => entry.scanner.answer_mut().watch(),
            Does::Stores | Does::Replaces => entry.out.watch(),
            Does::Removes => {}
        }
        self.note_intent(exchange, note);
    }

    /// Notes the change that a call intends, before the call is sent.
    pub(super) fn note_call_begin(&mut self, exchange: usize) {
        let program = self.program;
        let number = self.exchanges[exchange].request & !CALL;
        if let Some(note) = &program.calls[number as usize].note {
            self.note_intent(exchange, note);
        }
    }

    /// Notes the outcome of a request.
    pub(super) fn note_end(&mut self, exchange: usize, result: Result<(), Failure>, now_ns: u64) {
        let program = self.program;
        let entry = &self.exchanges[exchange];
        let Some(note) = &program.requests[entry.request as usize].note else {
            return;
        };
        let is_read = note.does == Does::Reads;
        let content = if is_read {
            entry.scanner.answer().content()
        } else {
            entry.out.content()
        };
        let ending = Ending {
            result,
            status: is_read.then(|| entry.scanner.answer().status()),
            is_absent: false,
            is_unknown: false,
            content: content.map(Content::from),
        };
        self.note_ending(exchange, note, ending, now_ns);
    }

    /// Notes the outcome of a call; `done` is the result of the driver, or `None` if the call timed out.
    pub(super) fn note_call_end(
        &mut self,
        exchange: usize,
        result: Result<(), Failure>,
        done: Option<&Result<Answer, Failed>>,
        now_ns: u64,
    ) {
        let program = self.program;
        let number = self.exchanges[exchange].request & !CALL;
        let Some(note) = &program.calls[number as usize].note else {
            return;
        };
        let ending = Ending {
            result,
            status: None,
            is_absent: matches!(done, Some(Err(failed)) if failed.states_absence()),
            is_unknown: note.does == Does::Replaces
                && matches!(result, Err(Failure::Timeout | Failure::Closed)),
            content: match done {
                Some(Ok(answer)) => answer.content.clone(),
                _ => None,
            },
        };
        self.note_ending(exchange, note, ending, now_ns);
    }

    /// Notes an intended change before the request is sent. A later check of the stored objects needs this note for
    /// every outcome of the request.
    fn note_intent(&mut self, exchange: usize, note: &Note) {
        let entry = &mut self.exchanges[exchange];
        entry.key.clear();
        entry.noted_ns = entry.started_ns;
        if !note.is_known() {
            return;
        }
        self.fill_key(exchange, note);
        if note.does != Does::Reads {
            let entry = &self.exchanges[exchange];
            let line = self.recorder.notes();
            open(line, "begun", entry.noted_ns, &note.of, &entry.key);
            put(line, format_args!(r#","does":"{}""#, note.does.name()));
            close(line);
        }
    }

    fn fill_key(&mut self, exchange: usize, note: &Note) {
        let entry = &mut self.exchanges[exchange];
        let user = &mut self.users[entry.user as usize];
        entry.key = note.key(&mut Context {
            memory: &mut user.memory,
            random: &mut user.random,
            user: user.number,
            iteration: user.iteration,
        });
    }

    fn note_ending(&mut self, exchange: usize, note: &Note, ending: Ending, now_ns: u64) {
        let kind = match (note.does, ending.result) {
            // The server did not confirm that it has stored the object, so no note is written.
            (Does::Stores, Err(_)) => return,
            (Does::Stores | Does::Replaces, Ok(())) => "stored",
            (Does::Removes, Ok(())) => "removed",
            (Does::Replaces | Does::Removes, Err(_)) => "failed",
            (Does::Reads, _) => "read",
        };
        if !note.is_known() {
            self.fill_key(exchange, note);
        }
        let entry = &self.exchanges[exchange];
        let line = self.recorder.notes();
        open(line, kind, now_ns, &note.of, &entry.key);
        put(line, format_args!(r#","begun_ns":{}"#, entry.noted_ns));
        if let Some(status) = ending.status {
            put(line, format_args!(r#","status":{status}"#));
        }
        if ending.is_absent {
            put(line, format_args!(r#","absent":true"#));
        }
        if ending.is_unknown {
            put(line, format_args!(r#","unknown":true"#));
        }
        if let Err(failure) = ending.result {
            put(line, format_args!(r#","failure":"{}""#, failure.name()));
        }
        if let Some(content) = ending.content {
            put(
                line,
                format_args!(
                    r#","bytes":{},"sha256":"{}""#,
                    content.bytes, content.sha256
                ),
            );
        }
        close(line);
    }
}

fn open(line: &mut Vec<u8>, kind: &str, t_ns: u64, of: &[u8], key: &[u8]) {
    put(line, format_args!(r#"{{"k":"{kind}","t_ns":{t_ns},"of":"#));
    line.extend_from_slice(of);
    line.extend_from_slice(br#","key":"#);
    line.extend_from_slice(key);
}

fn close(line: &mut Vec<u8>) {
    line.extend_from_slice(b"}\n");
}

fn put(line: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing into a vector cannot fail.
    let _ = line.write_fmt(text);
}

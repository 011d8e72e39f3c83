//! What users are told is stored, as notes: intents when a request or a call leaves, what became of them when it ended.

use std::io::Write as _;

use towtank_drivers::{Answer, Content, Failed};

use crate::outcome::Failure;
use crate::plan::Does;
use crate::program::note::Note;
use crate::template::Context;

use super::Worker;
use super::calls::CALL;

/// What there is to tell of a request or a call that ended.
struct Ending {
    result: Result<(), Failure>,
    /// Status of the answer, of requests.
    status: Option<u16>,
    /// Whether a call was told that there is no such thing.
    is_absent: bool,
    /// Whether a call was given up that may have put a content that nobody knows.
    is_unknown: bool,
    content: Option<Content>,
}

impl Worker<'_> {
    /// A request with a note begins; its body and its answer are looked at from now on.
    pub(super) fn note_begin(&mut self, exchange: usize) {
        let program = self.program;
        let one = &mut self.exchanges[exchange];
        let Some(note) = &program.requests[one.request as usize].note else {
            return;
        };
        match note.does {
            Does::Reads => one.scanner.answer_mut().watch(),
            Does::Stores | Does::Replaces => one.out.watch(),
            Does::Removes => {}
        }
        self.note_intent(exchange, note);
    }

    /// A call with a note begins.
    pub(super) fn note_call_begin(&mut self, exchange: usize) {
        let program = self.program;
        let number = self.exchanges[exchange].request & !CALL;
        if let Some(note) = &program.calls[number as usize].note {
            self.note_intent(exchange, note);
        }
    }

    /// A request with a note ended.
    pub(super) fn note_end(&mut self, exchange: usize, result: Result<(), Failure>, now_ns: u64) {
        let program = self.program;
        let one = &self.exchanges[exchange];
        let Some(note) = &program.requests[one.request as usize].note else {
            return;
        };
        let is_read = note.does == Does::Reads;
        let content = if is_read {
            one.scanner.answer().content()
        } else {
            one.out.content()
        };
        let ending = Ending {
            result,
            status: is_read.then(|| one.scanner.answer().status()),
            is_absent: false,
            is_unknown: false,
            content: content.map(Content::from),
        };
        self.note_ending(exchange, note, ending, now_ns);
    }

    /// A call with a note ended; `done` is what its driver says, unless it was given up.
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
            is_absent: matches!(done, Some(Err(failed)) if failed.tells_absence()),
            is_unknown: note.does == Does::Replaces
                && matches!(result, Err(Failure::Timeout | Failure::Closed)),
            content: match done {
                Some(Ok(answer)) => answer.content.clone(),
                _ => None,
            },
        };
        self.note_ending(exchange, note, ending, now_ns);
    }

    /// What is to be changed is told before it leaves: whoever reads back must know of it, whatever becomes of the
    /// answer.
    fn note_intent(&mut self, exchange: usize, note: &Note) {
        let one = &mut self.exchanges[exchange];
        one.key.clear();
        one.noted_ns = one.started_ns;
        if !note.is_known() {
            return;
        }
        self.fill_key(exchange, note);
        if note.does != Does::Reads {
            let one = &self.exchanges[exchange];
            let line = self.recorder.notes();
            open(line, "begun", one.noted_ns, &note.of, &one.key);
            put(line, format_args!(r#","does":"{}""#, note.does.name()));
            close(line);
        }
    }

    fn fill_key(&mut self, exchange: usize, note: &Note) {
        let one = &mut self.exchanges[exchange];
        let user = &mut self.users[one.user as usize];
        one.key = note.key(&mut Context {
            memory: &mut user.memory,
            random: &mut user.random,
            user: user.number,
            iteration: user.iteration,
        });
    }

    fn note_ending(&mut self, exchange: usize, note: &Note, ending: Ending, now_ns: u64) {
        let kind = match (note.does, ending.result) {
            // Nobody was told anything.
            (Does::Stores, Err(_)) => return,
            (Does::Stores | Does::Replaces, Ok(())) => "stored",
            (Does::Removes, Ok(())) => "removed",
            (Does::Replaces | Does::Removes, Err(_)) => "failed",
            (Does::Reads, _) => "read",
        };
        if !note.is_known() {
            self.fill_key(exchange, note);
        }
        let one = &self.exchanges[exchange];
        let line = self.recorder.notes();
        open(line, kind, now_ns, &note.of, &one.key);
        put(line, format_args!(r#","begun_ns":{}"#, one.noted_ns));
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

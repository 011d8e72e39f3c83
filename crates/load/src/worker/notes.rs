//! What users are told is stored, as notes: intents when a request leaves, what became of them when it ended.

use std::io::Write as _;

use crate::outcome::Failure;
use crate::plan::Does;
use crate::template::Context;

use super::Worker;

impl Worker<'_> {
    /// A request with a note begins; its body and its answer are looked at from now on. What it may change is told
    /// before it leaves: whoever reads back must know of it, whatever becomes of the answer.
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
        one.key.clear();
        if !note.is_known() {
            return;
        }
        let user = &mut self.users[one.user as usize];
        one.key = note.key(&mut Context {
            memory: &mut user.memory,
            random: &mut user.random,
            user: user.number,
            iteration: user.iteration,
        });
        if note.does != Does::Reads {
            let line = self.recorder.notes();
            open(line, "begun", one.started_ns, &note.of, &one.key);
            put(line, format_args!(r#","does":"{}""#, note.does.name()));
            close(line);
        }
    }

    /// A request with a note ended.
    pub(super) fn note_end(&mut self, exchange: usize, result: Result<(), Failure>, now_ns: u64) {
        let program = self.program;
        let one = &mut self.exchanges[exchange];
        let Some(note) = &program.requests[one.request as usize].note else {
            return;
        };
        let kind = match (note.does, result) {
            // Nobody was told anything.
            (Does::Stores, Err(_)) => return,
            (Does::Stores | Does::Replaces, Ok(())) => "stored",
            (Does::Removes, Ok(())) => "removed",
            (Does::Replaces | Does::Removes, Err(_)) => "failed",
            (Does::Reads, _) => "read",
        };
        if !note.is_known() {
            let user = &mut self.users[one.user as usize];
            one.key = note.key(&mut Context {
                memory: &mut user.memory,
                random: &mut user.random,
                user: user.number,
                iteration: user.iteration,
            });
        }
        let line = self.recorder.notes();
        open(line, kind, now_ns, &note.of, &one.key);
        put(line, format_args!(r#","begun_ns":{}"#, one.started_ns));
        if note.does == Does::Reads {
            put(
                line,
                format_args!(r#","status":{}"#, one.scanner.answer().status()),
            );
        }
        if let Err(failure) = result {
            put(line, format_args!(r#","failure":"{}""#, failure.name()));
        }
        let content = match note.does {
            Does::Reads => one.scanner.answer().content(),
            _ => one.out.content(),
        };
        if let Some(content) = content {
            put(
                line,
                format_args!(
                    r#","bytes":{},"sha256":"{}""#,
                    content.bytes(),
                    content.hex()
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

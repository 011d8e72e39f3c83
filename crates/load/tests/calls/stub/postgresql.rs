//! A stub of a PostgreSQL server with the extended protocol.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::atomic::Ordering;

use super::{Reply, Seen, Session};

struct Postgresql {
    session: Session,
    statements: HashMap<String, String>,
    in_transaction: bool,
}

pub(super) fn serve(session: Session) {
    let postgresql = Postgresql {
        session,
        statements: HashMap::new(),
        in_transaction: false,
    };
    postgresql.serve();
}
/// Encodes a message with this tag.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + 4) as u32;
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

fn text_at(body: &[u8], at: &mut usize) -> String {
    let end = body[*at..]
        .iter()
        .position(|byte| *byte == 0)
        .expect("an end")
        + *at;
    let text = String::from_utf8_lossy(&body[*at..end]).into_owned();
    *at = end + 1;
    text
}

fn number_at(body: &[u8], at: &mut usize, bytes: usize) -> i64 {
    let number = body[*at..*at + bytes]
        .iter()
        .fold(0_i64, |sum, byte| (sum << 8) | i64::from(*byte));
    *at += bytes;
    number
}

impl Postgresql {
    fn ready(&self) -> Vec<u8> {
        message(b'Z', if self.in_transaction { b"T" } else { b"I" })
    }

    fn read(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.session.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.session.stream.read_exact(&mut body).ok()?;
        Some((head[0], body))
    }

    fn serve(mut self) {
        let mut length = [0; 4];
        if self.session.stream.read_exact(&mut length).is_err() {
            return;
        }
        let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
        self.session
            .stream
            .read_exact(&mut startup)
            .expect("a greeting");
        let welcome = [message(b'R', &0_u32.to_be_bytes()), self.ready()].concat();
        self.session.stream.write_all(&welcome).expect("a client");
        let mut out = Vec::new();
        while let Some((tag, body)) = self.read() {
            let at = &mut 0;
            match tag {
                b'P' => {
                    let name = text_at(&body, at);
                    let text = text_at(&body, at);
                    self.statements.insert(name, text);
                    self.session.prepared.fetch_add(1, Ordering::Relaxed);
                    out.extend(message(b'1', b""));
                }
                b'D' => out.extend(described()),
                b'B' => {
                    let seen = self.bound(&body);
                    let reply = self.note(&seen);
                    let Some(answer) = self.answer(reply) else {
                        return;
                    };
                    out.extend(answer);
                }
                b'Q' => {
                    let seen = self.session.saw(text_at(&body, at), Vec::new());
                    let _ = self.note(&seen);
                    out.extend(message(b'C', b"ROLLBACK\0"));
                    out.extend(self.ready());
                    self.session
                        .stream
                        .write_all(&std::mem::take(&mut out))
                        .expect("a client");
                }
                b'S' => {
                    out.extend(self.ready());
                    if self
                        .session
                        .stream
                        .write_all(&std::mem::take(&mut out))
                        .is_err()
                    {
                        return;
                    }
                }
                b'X' => return,
                _ => {}
            }
        }
    }

    fn bound(&self, body: &[u8]) -> Seen {
        let at = &mut 0;
        let _portal = text_at(body, at);
        let name = text_at(body, at);
        *at += number_at(body, at, 2) as usize * 2;
        let count = number_at(body, at, 2);
        let values = (0..count).map(|_| {
            let length = number_at(body, at, 4) as usize;
            let value = String::from_utf8_lossy(&body[*at..*at + length]).into_owned();
            *at += length;
            value
        });
        let values = values.collect();
        self.session.saw(self.statements[&name].clone(), values)
    }

    fn note(&mut self, seen: &Seen) -> Reply {
        match seen.text.to_lowercase().as_str() {
            "begin" => self.in_transaction = true,
            "commit" | "rollback" => self.in_transaction = false,
            _ => {}
        }
        self.session.note(seen)
    }

    /// Returns the bytes of the response; `None` if the session is over.
    fn answer(&mut self, reply: Reply) -> Option<Vec<u8>> {
        if matches!(reply, Reply::Hang) {
            let _ = self.session.stream.read_to_end(&mut Vec::new());
            return None;
        }
        reply.bytes(row, refusal)
    }
}

/// Encodes the description of a statement: it has no parameters, and its result has one column `v`.
fn described() -> Vec<u8> {
    let mut row = 1_u16.to_be_bytes().to_vec();
    row.extend_from_slice(b"v\0");
    row.extend([0; 4]);
    row.extend([0; 2]);
    row.extend(25_u32.to_be_bytes());
    row.extend((-1_i16).to_be_bytes());
    row.extend((-1_i32).to_be_bytes());
    row.extend([0; 2]);
    [message(b't', &0_u16.to_be_bytes()), message(b'T', &row)].concat()
}

fn row(value: &str) -> Vec<u8> {
    let mut body = 1_u16.to_be_bytes().to_vec();
    body.extend((value.len() as u32).to_be_bytes());
    body.extend_from_slice(value.as_bytes());
    [
        message(b'2', b""),
        message(b'D', &body),
        message(b'C', b"SELECT 1\0"),
    ]
    .concat()
}

fn refusal(code: &str) -> Vec<u8> {
    let body = format!("SERROR\0VERROR\0C{code}\0Mno\0\0");
    message(b'E', body.as_bytes())
}

//! A stub of a MySQL server.

use std::io::{Read, Write};
use std::sync::atomic::Ordering;

use super::{Reply, Seen, Session};

const IN_TRANSACTION: u16 = 1;
const AUTOCOMMIT: u16 = 2;
const TEXT: u8 = 0xfd;

struct Mysql {
    session: Session,
    statements: Vec<String>,
    in_transaction: bool,
    /// Sequence number of the next packet.
    number: u8,
}

pub(super) fn serve(session: Session) {
    let mysql = Mysql {
        session,
        statements: Vec::new(),
        in_transaction: false,
        number: 0,
    };
    mysql.serve();
}

/// Replaces the parameters `?` of a statement by `$1`, `$2` and so on, as plans of the engine write them.
fn numbered(query: &str) -> String {
    let parts = query.split('?').enumerate();
    let parts = parts.map(|(number, part)| match number {
        0 => part.to_owned(),
        _ => format!("${number}{part}"),
    });
    parts.collect::<Vec<_>>().concat()
}

fn greeting() -> Vec<u8> {
    let capabilities: u32 = 0x000f_f7fe;
    let [low, high] = [capabilities as u16, (capabilities >> 16) as u16];
    [
        &b"\x0a8.0.0-stub\0"[..],
        &1_u32.to_le_bytes(),
        b"01234567\0",
        &low.to_le_bytes(),
        &[45],
        &AUTOCOMMIT.to_le_bytes(),
        &high.to_le_bytes(),
        &[21],
        &[0; 10],
        b"89abcdefghij\0",
        b"mysql_native_password\0",
    ]
    .concat()
}

/// Encodes the definition of a column of texts.
fn definition(name: &str) -> Vec<u8> {
    let length = name.len() as u8;
    [
        &b"\x03def\0\0\0"[..],
        &[length],
        name.as_bytes(),
        b"\0\x0c\x2d\0\0\0\0\0",
        &[TEXT, 0, 0, 0, 0, 0],
    ]
    .concat()
}

impl Mysql {
    fn packet(&mut self, body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32).to_le_bytes();
        let packet = [&length[..3], &[self.number], body].concat();
        self.number = self.number.wrapping_add(1);
        packet
    }

    fn packets(&mut self, bodies: &[&[u8]]) -> Vec<u8> {
        bodies.iter().flat_map(|body| self.packet(body)).collect()
    }

    fn status(&self) -> [u8; 2] {
        let held = if self.in_transaction {
            IN_TRANSACTION
        } else {
            0
        };
        (AUTOCOMMIT | held).to_le_bytes()
    }

    fn done(&mut self) -> Vec<u8> {
        let body = [&[0, 0, 0][..], &self.status(), &[0, 0]].concat();
        self.packet(&body)
    }

    fn end(&self) -> Vec<u8> {
        [&[0xfe, 0, 0][..], &self.status()].concat()
    }

    fn read(&mut self) -> Option<Vec<u8>> {
        let mut head = [0; 4];
        self.session.stream.read_exact(&mut head).ok()?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        self.number = head[3] + 1;
        let mut body = vec![0; length];
        self.session.stream.read_exact(&mut body).ok()?;
        Some(body)
    }

    fn send(&mut self, bytes: &[u8]) -> Option<()> {
        self.session.stream.write_all(bytes).ok()
    }

    fn serve(mut self) {
        let greeting = self.packet(&greeting());
        if self.send(&greeting).is_none() || self.read().is_none() {
            return;
        }
        let welcome = self.done();
        self.send(&welcome);
        while let Some(body) = self.read() {
            let out = match body[0] {
                0x03 => self.queried(&body[1..]),
                0x16 => Some(self.prepare(&body[1..])),
                0x17 => self.executed(&body[1..]),
                _ => None,
            };
            let Some(()) = out.and_then(|out| self.send(&out)) else {
                return;
            };
        }
    }

    fn prepare(&mut self, query: &[u8]) -> Vec<u8> {
        let text = numbered(&String::from_utf8_lossy(query));
        if text.starts_with("unprepared") {
            return self.packet(b"\xff\x0f\x05#HY000not in this protocol");
        }
        let parameters = text.matches('$').count() as u8;
        self.session.prepared.fetch_add(1, Ordering::Relaxed);
        self.statements.push(text);
        let number = self.statements.len() as u8;
        let mut out = self.packet(&[0, number, 0, 0, 0, 1, 0, parameters, 0, 0, 0, 0]);
        let end = self.end();
        for _ in 0..parameters {
            out.extend(self.packet(&definition("?")));
        }
        if parameters > 0 {
            out.extend(self.packet(&end));
        }
        out.extend(self.packets(&[&definition("v"), &end]));
        out
    }

    /// Handles a statement that was sent as text, without preparation.
    fn queried(&mut self, query: &[u8]) -> Option<Vec<u8>> {
        let seen = self
            .session
            .saw(String::from_utf8_lossy(query).into_owned(), Vec::new());
        let reply = self.note(&seen);
        if seen.text == "ROLLBACK" {
            return Some(self.done());
        }
        self.answer(reply, &[])
    }

    fn executed(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let text = self.statements[usize::from(body[0]) - 1].clone();
        let count = text.matches('$').count();
        let mut values = Vec::new();
        // The message begins with the number of the statement, flags and a count (9 bytes). Before the values, it
        // contains a bitmap of NULL values, a byte that states whether types are sent, and the types.
        let mut at = 9 + if count == 0 {
            0
        } else {
            count.div_ceil(8) + 1 + 2 * count
        };
        for _ in 0..count {
            let length = usize::from(body[at]);
            values.push(String::from_utf8_lossy(&body[at + 1..at + 1 + length]).into_owned());
            at += 1 + length;
        }
        let seen = self.session.saw(text, values);
        let reply = self.note(&seen);
        self.answer(reply, &[0, 0])
    }

    fn note(&mut self, seen: &Seen) -> Reply {
        match seen.text.to_lowercase().as_str() {
            "begin" => self.in_transaction = true,
            "commit" | "rollback" => self.in_transaction = false,
            _ => {}
        }
        self.session.note(seen)
    }

    /// Returns the bytes of the response; `None` if the session is over. `before` precedes the value in a row, which
    /// depends on the protocol of the request (text or prepared statement).
    fn answer(&mut self, reply: Reply, before: &[u8]) -> Option<Vec<u8>> {
        if matches!(reply, Reply::Hang) {
            let _ = self.session.stream.read_to_end(&mut Vec::new());
            return None;
        }
        let (first, end) = (self.number, self.end());
        let numbered = |bodies: &[&[u8]]| -> Vec<u8> {
            let mut out = Vec::new();
            for (body, number) in bodies.iter().zip(first..) {
                let length = (body.len() as u32).to_le_bytes();
                out.extend_from_slice(&length[..3]);
                out.push(number);
                out.extend_from_slice(body);
            }
            out
        };
        let row = |value: &str| {
            let row = [before, &[value.len() as u8], value.as_bytes()].concat();
            numbered(&[&[1], &definition("v"), &end, &row, &end])
        };
        let refusal = |state: &str| {
            let said = [&[0xff, 0x7a, 0x04, b'#'][..], state.as_bytes(), b"no"].concat();
            numbered(&[&said])
        };
        reply.bytes(row, refusal)
    }
}

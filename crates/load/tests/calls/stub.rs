//! A small server that answers calls as a test says, in the protocol of a driver, and remembers what it was asked.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// What a call was, as the server saw it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    pub connection: usize,
    /// The statement, or what the driver sends by itself.
    pub text: String,
    pub values: Vec<String>,
}

/// What the server does with a call.
pub enum Reply {
    /// Answers with a row of this value.
    Row(String),
    /// Answers so after this time.
    Late(Duration, String),
    /// Says no, with this code.
    Refuse(&'static str),
    /// Says nothing more.
    Hang,
    /// Closes.
    Close,
}

pub struct Stub {
    pub address: SocketAddr,
    log: Arc<Mutex<Vec<Seen>>>,
    /// Statements that were prepared.
    pub prepared: Arc<AtomicUsize>,
}

type Handler = dyn Fn(&Seen) -> Reply + Send + Sync;

impl Stub {
    /// Starts; its threads end with the test process at the latest.
    pub fn start(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let log = Arc::<Mutex<Vec<_>>>::default();
        let prepared = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&prepared);
        let (stub_log, handler) = (
            Arc::clone(&log),
            Arc::<Handler>::from(Box::new(handler) as Box<Handler>),
        );
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let (log, handler) = (Arc::clone(&stub_log), Arc::clone(&handler));
                let counter = Arc::clone(&counter);
                std::thread::spawn(move || {
                    Session::new(stream, number, counter).serve(&log, &*handler);
                });
            }
        });
        Self {
            address,
            log,
            prepared,
        }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.log.lock().expect("the log").clone()
    }

    /// Texts in the order of arrival.
    pub fn texts(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.text).collect()
    }

    pub fn target(&self) -> Value {
        json!({"name": "t", "scheme": "driver", "addresses": [self.address.to_string()],
               "driver": {"kind": "postgresql", "user": "u", "database": "d"}})
    }
}

/// One session of the extended protocol of PostgreSQL.
struct Session {
    stream: TcpStream,
    connection: usize,
    statements: std::collections::HashMap<String, String>,
    in_transaction: bool,
    prepared: Arc<AtomicUsize>,
}

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

impl Session {
    fn new(stream: TcpStream, connection: usize, prepared: Arc<AtomicUsize>) -> Self {
        Self {
            stream,
            connection,
            statements: std::collections::HashMap::new(),
            in_transaction: false,
            prepared,
        }
    }

    fn ready(&self) -> Vec<u8> {
        message(b'Z', if self.in_transaction { b"T" } else { b"I" })
    }

    fn read(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body).ok()?;
        Some((head[0], body))
    }

    fn serve(mut self, log: &Mutex<Vec<Seen>>, handler: &Handler) {
        let mut length = [0; 4];
        if self.stream.read_exact(&mut length).is_err() {
            return;
        }
        let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
        self.stream.read_exact(&mut startup).expect("a greeting");
        let welcome = [message(b'R', &0_u32.to_be_bytes()), self.ready()].concat();
        self.stream.write_all(&welcome).expect("a client");
        let mut out = Vec::new();
        while let Some((tag, body)) = self.read() {
            let at = &mut 0;
            match tag {
                b'P' => {
                    let name = text_at(&body, at);
                    let text = text_at(&body, at);
                    self.statements.insert(name, text);
                    self.prepared.fetch_add(1, Ordering::Relaxed);
                    out.extend(message(b'1', b""));
                }
                b'D' => out.extend(described()),
                b'B' => {
                    let seen = self.bound(&body);
                    let reply = self.note(&seen, log, handler);
                    let Some(answer) = self.answer(&reply) else {
                        return;
                    };
                    out.extend(answer);
                }
                b'Q' => {
                    let seen = self.saw(text_at(&body, at), Vec::new());
                    let _ = self.note(&seen, log, handler);
                    out.extend(message(b'C', b"ROLLBACK\0"));
                    out.extend(self.ready());
                    self.stream
                        .write_all(&std::mem::take(&mut out))
                        .expect("a client");
                }
                b'S' => {
                    out.extend(self.ready());
                    if self.stream.write_all(&std::mem::take(&mut out)).is_err() {
                        return;
                    }
                }
                b'X' => return,
                _ => {}
            }
        }
    }

    fn saw(&self, text: String, values: Vec<String>) -> Seen {
        Seen {
            connection: self.connection,
            text,
            values,
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
        self.saw(self.statements[&name].clone(), values)
    }

    fn note(&mut self, seen: &Seen, log: &Mutex<Vec<Seen>>, handler: &Handler) -> Reply {
        match seen.text.to_lowercase().as_str() {
            "begin" => self.in_transaction = true,
            "commit" | "rollback" => self.in_transaction = false,
            _ => {}
        }
        log.lock().expect("the log").push(seen.clone());
        handler(seen)
    }

    /// What goes out; nothing where the session is over.
    fn answer(&mut self, reply: &Reply) -> Option<Vec<u8>> {
        match reply {
            Reply::Row(value) => Some(row(value)),
            Reply::Late(time, value) => {
                std::thread::sleep(*time);
                Some(row(value))
            }
            Reply::Refuse(code) => {
                let body = format!("SERROR\0VERROR\0C{code}\0Mno\0\0");
                Some(message(b'E', body.as_bytes()))
            }
            Reply::Hang => {
                let _ = self.stream.read_to_end(&mut Vec::new());
                None
            }
            Reply::Close => None,
        }
    }
}

/// One column, `v`, of no parameters that anybody needs to know.
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

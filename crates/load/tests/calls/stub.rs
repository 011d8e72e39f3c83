//! A stub server for one of the protocols of the drivers. It answers calls as a test requires, and records the calls.

pub mod ldap;
mod mysql;
mod postgresql;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Postgresql,
    Mysql,
    Ldap,
}

pub const PROTOCOLS: [Protocol; 3] = [Protocol::Postgresql, Protocol::Mysql, Protocol::Ldap];

/// Protocols of databases. Only they have transactions and prepared statements.
pub const DATABASES: [Protocol; 2] = [Protocol::Postgresql, Protocol::Mysql];

impl Protocol {
    /// Returns an operation of a plan that calls the server with `text` and these values, to get a row.
    pub fn call(self, step: usize, text: &str, values: &Value) -> Value {
        let (operation, values) = match self {
            Self::Postgresql | Self::Mysql => {
                (json!({"kind": "sql", "text": text}), values.clone())
            }
            Self::Ldap => ldap::search(text, values),
        };
        json!({"op": "call", "step": step, "target": 0, "do": operation, "values": values})
    }

    /// Returns an error code that the server can send, and its name in the results of the engine.
    pub fn refusal(self) -> (&'static str, &'static str) {
        match self {
            Self::Postgresql => ("42P01", "42P01"),
            Self::Mysql => ("42S02", "42S02"),
            Self::Ldap => ("32", "noSuchObject"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    pub connection: usize,
    /// The statement (SQL), the base of the search (LDAP), or a message that the driver sent on its own.
    pub text: String,
    pub values: Vec<String>,
}

/// Reaction of the stub server to a call, which the test chooses.
pub enum Reply {
    /// Answers with a row that contains this value.
    Row(String),
    /// Waits for the given duration, and then answers with a row that contains this value.
    Late(Duration, String),
    /// Refuses the call with this error code.
    Refuse(&'static str),
    /// Sends nothing more but keeps the connection open.
    Hang,
    /// Closes the connection without a response.
    Close,
    /// Sends these bytes instead of a regular response.
    Bytes(Vec<u8>),
}

pub struct Stub {
    pub address: SocketAddr,
    pub protocol: Protocol,
    log: Arc<Mutex<Vec<Seen>>>,
    /// Number of statements that the clients have prepared.
    pub prepared: Arc<AtomicUsize>,
}

type Handler = dyn Fn(&Seen) -> Reply + Send + Sync;

/// State of a session of the stub server, the same for all protocols.
struct Session {
    stream: TcpStream,
    connection: usize,
    log: Arc<Mutex<Vec<Seen>>>,
    handler: Arc<Handler>,
    prepared: Arc<AtomicUsize>,
}

impl Stub {
    /// Starts the stub server. Its threads end with the test process, or earlier.
    pub fn start(
        protocol: Protocol,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
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
            for (connection, stream) in listener.incoming().flatten().enumerate() {
                let session = Session {
                    stream,
                    connection,
                    log: Arc::clone(&stub_log),
                    handler: Arc::clone(&handler),
                    prepared: Arc::clone(&counter),
                };
                std::thread::spawn(move || match protocol {
                    Protocol::Postgresql => postgresql::serve(session),
                    Protocol::Mysql => mysql::serve(session),
                    Protocol::Ldap => ldap::serve(session),
                });
            }
        });
        Self {
            address,
            protocol,
            log,
            prepared,
        }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.log.lock().expect("the log").clone()
    }

    /// Returns the texts of all received calls, in the order of arrival.
    pub fn texts(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.text).collect()
    }

    pub fn target(&self) -> Value {
        let driver = match self.protocol {
            Protocol::Postgresql => json!({"kind": "postgresql", "user": "u", "database": "d"}),
            Protocol::Mysql => json!({"kind": "mysql", "user": "u", "password": "p"}),
            Protocol::Ldap => json!({"kind": "ldap"}),
        };
        json!({"name": "t", "scheme": "driver", "addresses": [self.address.to_string()], "driver": driver})
    }
}

impl Session {
    fn saw(&self, text: String, values: Vec<String>) -> Seen {
        Seen {
            connection: self.connection,
            text,
            values,
        }
    }

    fn note(&self, seen: &Seen) -> Reply {
        self.log.lock().expect("the log").push(seen.clone());
        (self.handler)(seen)
    }
}

impl Reply {
    /// Returns the bytes of the response; `None` if the server sends nothing more in this session.
    fn bytes(
        self,
        row: impl Fn(&str) -> Vec<u8>,
        refusal: impl Fn(&str) -> Vec<u8>,
    ) -> Option<Vec<u8>> {
        match self {
            Self::Row(value) => Some(row(&value)),
            Self::Late(time, value) => {
                std::thread::sleep(time);
                Some(row(&value))
            }
            Self::Refuse(code) => Some(refusal(code)),
            Self::Bytes(bytes) => Some(bytes),
            Self::Hang | Self::Close => None,
        }
    }
}

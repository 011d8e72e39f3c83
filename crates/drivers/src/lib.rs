//! Drivers for servers that are not reached over HTTP.
//!
//! A request of a user to such a server is a *call*: one operation of a driver over a session. A session is opened
//! on demand and kept like a connection. Each load thread has an [`Executor`], which takes a [`Call`] and returns a
//! [`Done`] with the times at which the call was sent and ended. The executor never blocks the load thread.
//!
//! There are two kinds of drivers. Drivers of network protocols wait for a socket: the load thread runs their sessions
//! when the kernel reports events of their sockets. Other drivers (`Working`), such as an embedded database, block
//! until their work is done: each of their calls runs in a call thread.
//!
//! All calls have the same kind of result: an [`Answer`], that is, a table of texts with the number of rows.
#![forbid(unsafe_code)]

mod answer;
mod clock;
mod digest;
mod executor;
mod file;
mod fresh;
mod ldap;
mod lending;
mod operation;
mod server;
mod session;
mod sessions;
mod sql;
mod tcp;
#[cfg(test)]
mod testing;
mod turns;
mod wire;
mod words;

pub use answer::{Answer, Content, Failed, FailureKind, Meter, Row};
pub use clock::monotonic_ns;
pub use digest::Digest;
pub use executor::{Call, Costs, Done, Executor, Orders};
pub use ldap::{
    Assertion, Attribute, Change, DirectoryRequest, Extensible, Filter, Scope, Substrings, Verb,
};
pub use operation::{FileAction, Operation, Task};
pub use server::{Location, Server, Synchronous};
pub use session::Value;
pub use turns::{Edge, SESSION, Watch};
pub use words::{sentence_of, sentence_of_number};

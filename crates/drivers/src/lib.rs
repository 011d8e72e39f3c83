//! Drivers: how users talk to servers that do not speak HTTP.
//!
//! A user's exchange with such a server is a *call*: one operation of a driver, over a session that is opened when it is
//! needed and kept as connections are. Each load thread has an [`Executor`]: it takes a [`Call`] and gives a [`Done`] back,
//! with the instants at which the call really left and ended. It never makes the load thread wait.
//!
//! There are two kinds of drivers. Some wait for a socket: the load thread itself runs their sessions, as the kernel
//! reports edges of their sockets. Others work until they are done (`Working`), as an embedded database does: a
//! thread is lent to each call.
//!
//! All calls have the same result: an [`Answer`], a table of texts and a count.
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

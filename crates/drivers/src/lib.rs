//! Drivers: how users talk to what does not speak HTTP.
//!
//! A user's exchange with such a server is a *call*: one operation of a driver, over a session that is opened when it is
//! needed and kept as connections are. Calls are made beside the load thread, by an [`Executor`] of its own, so that the
//! thread that knows when never waits for what is done. It hands over a [`Call`] and gets a [`Done`] back, with the
//! instants at which the call really left and ended.
//!
//! There are two kinds of drivers. Some wait for a socket ([`Waiting`]): all their sessions share one thread. Others work
//! in the calling thread until they are done ([`Working`]), as an embedded database does: a thread is lent to each call.
//!
//! What a call gives is the same for all of them: an [`Answer`], a table of texts and a count.
#![forbid(unsafe_code)]

mod answer;
mod clock;
#[cfg(test)]
mod damaging;
mod digest;
mod executor;
mod file;
mod fresh;
mod ldap;
mod lending;
mod operation;
mod server;
mod session;
mod sql;
mod tcp;
mod waiting;
mod wire;

pub use answer::{Answer, Content, Failed, FailureKind, Meter, Row};
pub use clock::monotonic_ns;
pub use digest::Digest;
pub use executor::{Call, Costs, Done, Executor, Orders};
pub use ldap::{
    Assertion, Attribute, Change, DirectoryRequest, Extensible, Filter, Scope, Substrings, Verb,
};
pub use operation::{FileAction, Operation, Task};
pub use server::{Location, Server, Synchronous};
pub use session::{Opening, Step, Value, Waiting, Working};

//! HTTP/2 as a client speaks it (RFC 9113), without I/O: bytes in, ends of exchanges out, bytes to send.
//!
//! Written for a client that makes very many small requests over few connections: a request whose fields do not vary is
//! some fifteen bytes once its connection has seen it, answers are decoded where they are kept, and neither costs an
//! allocation once buffers have their size. Choices that the standard leaves open, and what is taken for an error:
//!
//! * Pushes are refused from the start, so that one is a fault of the connection.
//! * Before the settings of the server are known, one request is sent and no more.
//! * Windows for what the server sends are large and given back by halves; what comes is dealt with at once.
//! * A head that is malformed or too large, and a body of another length than told, fail their request only. Whatever
//!   leaves the two sides in doubt about what was said fails the connection.
//! * A server that keeps a connection busy without saying anything, in ten thousand frames, is told to calm down.

mod connection;
pub mod frames;
mod head;
pub mod hpack;
mod incoming;
mod streams;

pub use connection::{Bounds, Broken, Connection, End, Ended, Exchanges};

#[cfg(test)]
mod tests;

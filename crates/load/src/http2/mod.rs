//! HTTP/2 client (RFC 9113) without I/O: takes bytes in, reports ends of exchanges, and gives bytes to send.
//!
//! Designed for a client that makes very many small requests over few connections: a request whose fields do not vary
//! takes some fifteen bytes once its connection has sent it before, answers are decoded where they are kept, and
//! neither allocates once buffers have grown to their size. Choices that the standard leaves open, and treatment of
//! errors:
//!
//! * Pushes are disabled from the start, so that a push is a connection error.
//! * Before the settings of the server arrive, only one request is sent.
//! * Receive windows are large and are replenished by halves; what arrives is processed at once.
//! * A head that is malformed or too large, or a body whose length differs from the announced one, fails only its own
//!   request. Errors that leave the state of the connection in doubt fail the connection.
//! * A server that sends ten thousand frames in a row without any progress gets `ENHANCE_YOUR_CALM`.

mod connection;
pub mod frames;
mod head;
pub mod hpack;
mod incoming;
mod streams;

pub use connection::{Bounds, Broken, Connection, End, Ended, Exchanges};

#[cfg(test)]
mod tests;

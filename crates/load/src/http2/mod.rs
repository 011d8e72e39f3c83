//! HTTP/2 client (RFC 9113) without I/O: it consumes received bytes, reports ended exchanges, and produces bytes to
//! send.
//!
//! Designed for very many small requests over few connections. A request whose fields do not vary takes some fifteen
//! bytes from its second time on a connection. Answers are decoded in place. Neither requests nor answers allocate once
//! the buffers have grown. Choices that the standard leaves open, and treatment of errors:
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

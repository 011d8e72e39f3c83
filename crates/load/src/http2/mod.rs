//! HTTP/2 client (RFC 9113) without I/O: it consumes received bytes, reports ended exchanges, and produces bytes to
//! send.
//!
//! It is designed for very many small requests over few connections. A request whose fields do not vary takes about 15
//! bytes when it is repeated on a connection. Responses are decoded in place. Once the buffers have grown, neither
//! requests nor responses allocate memory.
//!
//! The standard leaves some choices open. These choices, and the treatment of errors, are:
//!
//! * Pushes are disabled from the start, so a push is a connection error.
//! * Before the settings of the server arrive, only one request is sent.
//! * Receive windows are large, and a window is replenished when half of it is used. Received bytes are processed
//!   immediately.
//! * A head that is malformed or too large, or a body whose length differs from the announced length, fails only its
//!   own request. Errors that leave the state of the connection in doubt fail the connection.
//! * If a server sends ten thousand frames in a row that advance no response, the connection fails with
//!   `ENHANCE_YOUR_CALM`.

mod connection;
pub mod frames;
mod head;
pub mod hpack;
mod incoming;
mod streams;

pub use connection::{Bounds, Broken, Connection, End, Ended, Exchanges};

#[cfg(test)]
mod tests;

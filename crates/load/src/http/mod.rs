//! Client side of HTTP/1.0 and HTTP/1.1.

mod answer;
mod chunks;
pub(crate) mod head;
mod lines;
pub mod response;

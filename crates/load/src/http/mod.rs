//! Client side of HTTP/1.x.

mod answer;
mod chunks;
pub(crate) mod head;
mod lines;
pub mod response;

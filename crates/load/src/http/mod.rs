//! HTTP/1.x as a client reads it.

mod answer;
mod chunks;
pub(crate) mod head;
mod lines;
pub mod response;

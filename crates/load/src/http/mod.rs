//! HTTP/1.x as a client reads it.

mod chunks;
mod head;
mod lines;
pub mod response;

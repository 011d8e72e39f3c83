//! HTTP/1.x as a client reads it.

pub mod response;

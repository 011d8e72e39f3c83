//! Virtual users, arrivals, protocol drivers and the recorder of Towtank: pure Rust, testable alone.
//!
//! The parts that touch the wire and the disk: [`http::response`] recognises answers, [`outcome`] names how a
//! request ended, [`histogram`] counts times, [`recorder`] keeps one interval of them per thread and writes
//! them away, [`wheel`] knows what is due.

pub mod histogram;
pub mod http;
pub mod outcome;
pub mod recorder;
pub mod wheel;

#[cfg(test)]
mod testing;

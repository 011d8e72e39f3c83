//! Virtual users, arrivals, protocol drivers and the recorder of Towtank: pure Rust, testable alone.
//!
//! Modules at the wire and the disk: [`http::response`] recognises answers, [`outcome`] classifies the ends of
//! requests, [`histogram`] counts times, [`recorder`] keeps one interval of them per thread and writes it, [`wheel`]
//! finds the timers that are due.

pub mod cookies;
pub mod extract;
pub mod histogram;
pub mod http;
pub mod http2;
pub mod live;
pub mod outcome;
pub mod pause;
pub mod plan;
pub mod pools;
pub mod program;
pub mod recorder;
pub mod rng;
pub mod run;
pub mod schedule;
pub mod start_barrier;
pub mod sys;
pub mod template;
pub mod tls;
pub mod wheel;
pub mod worker;

#[cfg(test)]
mod testing;

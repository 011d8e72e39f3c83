//! The load engine of Towtank: virtual users, arrivals, protocols and the recorder.
//!
//! Some modules: [`http::response`] parses responses, [`outcome`] classifies how requests end, [`histogram`] counts
//! times, [`recorder`] counts and writes the intervals of a thread, [`wheel`] finds the timers that are due.

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
pub mod secrets;
pub mod start_barrier;
pub mod sys;
pub mod template;
pub mod tls;
pub mod wheel;
pub mod worker;

#[cfg(test)]
mod testing;

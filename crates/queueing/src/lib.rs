//! Queueing networks, which predict the capacity of a system and its performance under other loads.
//!
//! A [`model::Model`] is data: classes of jobs, stations that serve them, and pools whose units they hold during
//! service. [`solve::solve`] computes its mean values in steady state, with bounds on the result. The answer is exact
//! if the cost permits, and otherwise an approximation; it names the method.
//!
//! ```
//! use towtank_queueing::model::Model;
//! use towtank_queueing::solve::{Method, solve};
//!
//! // An interactive system: 20 users who think for 4 s, a CPU of 2 s and a disk of 3 s per transaction.
//! let model: Model = serde_json::from_str(
//!     r#"{"classes": [{"name": "web", "users": 20, "think_time_s": 4.0}],
//!         "stations": [{"name": "cpu", "discipline": "ps", "services": [{"class": "web", "service_time_s": 2.0}]},
//!                      {"name": "disk", "discipline": "fcfs", "services": [{"class": "web", "service_time_s": 3.0}]}]}"#,
//! )
//! .unwrap();
//! let answer = solve(&model, Method::Auto).unwrap();
//! assert!(answer.exact);
//! assert!((answer.classes["web"].throughput_per_s - 0.333).abs() < 0.001);
//! ```

#![forbid(unsafe_code)]
// The lint demands backticks around formulas with subscripts, which are not code.
#![allow(clippy::doc_markdown)]

mod aggregate;
pub mod amva;
pub mod answer;
mod assemble;
mod bounded;
pub mod bounds;
mod caches;
pub mod convolution;
mod exact;
mod finite;
pub mod grid;
pub mod join;
mod levels;
mod limit;
pub mod marie;
pub mod model;
pub mod mva;
pub mod network;
pub mod open;
pub mod phases;
pub mod pools;
mod row;
pub mod series;
pub mod shape;
pub mod simulate;
pub mod solve;
pub mod special;
mod speed;
pub mod stated;
pub mod stay;

//! Computes the share of references of a trace that miss, for caches of every size.
//!
//! A trace is a CSV file with a column `key`, and optional columns `bytes` and `time`. One pass over it gives the miss
//! ratios of least-recently-used caches of all sizes at once ([`recency`], exact), in little memory from a sample of
//! the keys ([`sampling`]), and with two limits at the same time, on bytes and on the number of entries ([`tally`]). If
//! only the popularity of keys is known, [`popularity`] gives the hit ratio.
//!
//! ```
//! use towtank_caches::analysis::{Settings, analyse};
//!
//! // Twelve references of Belady to five pages: ten misses with three frames.
//! let trace = "key\n1\n2\n3\n4\n1\n2\n5\n1\n2\n3\n4\n5\n";
//! let answer = analyse(trace.as_bytes(), &Settings::default()).unwrap();
//! let misses: Vec<f64> = answer.curve.iter().map(|point| 12.0 * point.miss_ratio).collect();
//! assert_eq!(misses, [12.0, 12.0, 10.0, 8.0, 5.0]);
//! ```

#![forbid(unsafe_code)]
// The lint demands backticks around formulas with subscripts, which are not code.
#![allow(clippy::doc_markdown)]

pub mod analysis;
pub mod answer;
pub mod exact;
pub mod faults;
pub mod keys;
pub mod ladder;
mod line;
pub mod popularity;
pub mod recency;
pub mod sampling;
pub mod tally;
pub mod trace;

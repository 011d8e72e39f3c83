//! Samplers of the metrics of a Linux host: `/proc`, cgroups, pressure, disks, network.
//!
//! The probe samples at every multiple of the interval on `CLOCK_MONOTONIC`, so that other samplers with the same
//! interval on the same host sample at the same times. It reads counters of the host and of *groups* of processes, and
//! appends one line with a checksum per sample to a stream. A group is a root process, all its descendants, and
//! processes that detached from them, if [`kin`] finds them. The usage of processes that end remains in the totals of
//! the group.
//!
//! Files under `/proc` are kept open and read with `pread`, which makes the kernel generate their content again. Values
//! that the kernel does not provide are left out of a sample, and never written as zero.
//!
//! ```no_run
//! use towtank_probe::{GroupRoot, Options, run};
//!
//! let options = Options {
//!     groups: vec![GroupRoot { name: "content".into(), pid: 4711 }],
//!     duration_ns: Some(10_000_000_000),
//!     ..Options::default()
//! };
//! let reason = run(&options, &mut std::io::stdout())?;
//! # Ok::<(), std::io::Error>(())
//! ```

// Units are written in brackets, such as `[ns]`. rustdoc takes them for broken links, so this warning is off.
#![allow(rustdoc::broken_intra_doc_links)]

mod busy;
mod cgroup;
pub mod control;
pub mod group;
pub mod host;
pub mod json;
pub mod kin;
pub mod ledger;
pub mod line;
pub mod memory;
pub mod own_cgroup;
pub mod pace;
pub mod pids;
pub mod ports;
pub mod process;
pub mod procfile;
pub mod rested_memory;
mod run;
pub mod schedule;
pub mod sys;
pub mod text;
pub mod threads;
pub mod tree;
pub mod users;

pub use run::{EndReason, GroupRoot, Options, Roots, Sampler, run};

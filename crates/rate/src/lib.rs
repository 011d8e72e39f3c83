//! Kernels that rate a machine: fixed pieces of the work that servers do, each counted per second on one CPU alone and on
//! all CPUs at once.
//!
//! A [`kernel::Kernel`] takes turns of a fraction of a second and gives the rate of many short slices. [`run`] lets all
//! kernels take turns, several rounds of them, so that what disturbs the machine for a while disturbs them alike. What
//! the figures mean is computed elsewhere; nothing here is a statistic.

pub mod ciphers;
pub mod conditions;
pub mod disk;
pub mod files;
pub mod kernel;
pub mod memory;
pub mod network;
pub mod order_entry;
pub mod run;
pub mod tls;
pub mod web;

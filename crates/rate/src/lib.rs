//! Kernels that rate a machine: typical work of servers, counted per second on a single CPU and on all CPUs at once.
//!
//! In a turn (one measured execution), a [`kernel::Kernel`] runs for a fraction of a second and returns the rates of
//! many short slices. [`run`] executes all kernels one after the other, in several rounds, so that a temporary
//! disturbance of the machine affects all of them. Statistics of the rates are computed elsewhere.

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

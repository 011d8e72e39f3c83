//! Tests the sampler with generated files of `/proc`. All processes, counters and ends of processes are known, so each
//! total has exactly one correct value.

mod members;
mod proc;
mod values;

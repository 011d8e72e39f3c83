//! Samples a made `/proc` whose processes, counters and ends are known, so that each total has one right value.

mod members;
mod proc;
mod values;

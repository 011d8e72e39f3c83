//! Fuzz test of HPACK with any sequence of field blocks. The decoder must not panic, and its memory must be bounded.
//! Decoded fields must not change when they are encoded and decoded again.

#![no_main]

#[path = "../hpack.rs"]
mod hpack;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|blocks: Vec<Vec<u8>>| hpack::check(&blocks));

//! Any blocks of fields, one after the other: no panic, bounded memory, and what is decoded comes back when it is
//! encoded and decoded again.

#![no_main]

#[path = "../hpack.rs"]
mod hpack;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|blocks: Vec<Vec<u8>>| hpack::check(&blocks));

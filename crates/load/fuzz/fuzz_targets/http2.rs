//! A server that says anything, split anywhere: no panic, the same end as in one piece, no more kept than allowed, each
//! exchange ended once at most.

#![no_main]

#[path = "../http2.rs"]
mod http2;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, Vec<http2::Frame>, Vec<u8>)| http2::check(input));

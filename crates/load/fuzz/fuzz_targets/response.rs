//! Any bytes, split anywhere: no panic, the same end as in one piece, no more kept than allowed.

#![no_main]

#[path = "../response.rs"]
mod response;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u16, &[u8])| response::check(input));

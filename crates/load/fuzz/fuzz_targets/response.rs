//! Fuzz test of the HTTP/1 response parser with any bytes, split into pieces anywhere. The parser must not panic or
//! store more than allowed, and the result must not depend on the split.

#![no_main]

#[path = "../response.rs"]
mod response;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u16, &[u8])| response::check(input));

//! Fuzz test of the HTTP/2 client: the server sends any bytes, split into pieces anywhere. The client must not panic or
//! store more than allowed. The result must not depend on the split, and each exchange must end at most once.

#![no_main]

#[path = "../http2.rs"]
mod http2;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, Vec<http2::Frame>, Vec<u8>)| http2::check(input));

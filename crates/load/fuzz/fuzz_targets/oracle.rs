//! Fuzz test that parses any bytes with this project's parser and with hyper. Both must read the same response, unless
//! a known difference between the parsers explains the result.

#![no_main]

#[path = "../oracle.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((flags, bytes)) = bytes.split_first() else {
        return;
    };
    if let Err(disagreement) = oracle::compare(bytes, flags & 1 != 0) {
        panic!("{}: {disagreement}", bytes.escape_ascii());
    }
});

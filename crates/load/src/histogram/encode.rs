//! The interchange form of a histogram: `HdrHistogram` V2, deflated, base64.
//!
//! The layout is as in `org.HdrHistogram.AbstractHistogram.encodeIntoCompressedByteBuffer`, with all numbers
//! big-endian: a cookie (number that marks the format), the length of the deflated payload, and the payload.
//!
//! The payload consists of a cookie, the length of the counts, the normalizing offset, the number of significant
//! digits, the lowest and the highest value, the conversion ratio, and the counts. Counts are written up to the highest
//! count that is not zero, as zig-zag LEB128 numbers. A run of zeros is written as its negative length.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compress, Compression, FlushCompress, Status};

use super::{
    Counter, HIGHEST_TRACKABLE_NS, Histogram, LOWEST_DISCERNIBLE_NS, PAGE_BITS, SIGNIFICANT_DIGITS,
};

/// Cookies (format markers) of encoding V2; `0x10` states that counts are LEB128 numbers.
pub(super) const COOKIE: u32 = 0x1c84_9303 | 0x10;
pub(super) const COMPRESSED_COOKIE: u32 = 0x1c84_9304 | 0x10;
/// Length of the part of the payload before the counts. [B]
pub(super) const PAYLOAD_HEADER_BYTES: usize = 40;
/// Length of the cookie and the length before the deflated payload. [B]
pub(super) const PREFIX_BYTES: usize = 8;

/// Estimated encoded size of a histogram that uses thousands of counters; memory of this size is allocated in advance.
/// [B]
const ROOMY_BYTES: usize = 16 << 10;

/// Encodes histograms and reuses its working memory.
#[derive(Debug)]
pub struct Encoder {
    compress: Compress,
    payload: Vec<u8>,
    deflated: Vec<u8>,
    text: String,
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// Creates an encoder.
    #[must_use]
    pub fn new() -> Self {
        Self {
            compress: Compress::new(Compression::fast(), true),
            payload: Vec::new(),
            deflated: Vec::new(),
            text: String::new(),
        }
    }

    /// Allocates memory in advance, enough for a histogram whose values have all magnitudes.
    pub fn make_room(&mut self) {
        for buffer in [&mut self.payload, &mut self.deflated] {
            buffer.resize(ROOMY_BYTES, 0);
            buffer.clear();
        }
        self.text.extend(std::iter::repeat_n('A', ROOMY_BYTES));
        self.text.clear();
    }

    /// Appends the base64 form of a histogram to `out`.
    pub fn append_base64<C: Counter>(&mut self, histogram: &Histogram<C>, out: &mut Vec<u8>) {
        self.deflate(histogram);
        self.text.clear();
        STANDARD.encode_string(&self.deflated, &mut self.text);
        out.extend_from_slice(self.text.as_bytes());
    }

    fn deflate<C: Counter>(&mut self, histogram: &Histogram<C>) {
        payload(histogram, &mut self.payload);
        self.deflated.clear();
        self.deflated
            .extend_from_slice(&COMPRESSED_COOKIE.to_be_bytes());
        self.deflated.extend_from_slice(&[0; 4]);
        self.compress.reset();
        loop {
            self.deflated.reserve(self.payload.len() / 2 + 64);
            let taken = self.compress.total_in() as usize;
            let status = self
                .compress
                .compress_vec(
                    &self.payload[taken..],
                    &mut self.deflated,
                    FlushCompress::Finish,
                )
                .expect("deflating from memory to memory cannot fail");
            if status == Status::StreamEnd {
                break;
            }
        }
        let length = (self.deflated.len() - PREFIX_BYTES) as u32;
        self.deflated[4..8].copy_from_slice(&length.to_be_bytes());
    }
}

/// Writes the V2 encoding of a histogram to `out`, before compression.
pub(super) fn payload<C: Counter>(histogram: &Histogram<C>, out: &mut Vec<u8>) {
    out.clear();
    append_head(out);
    append_counts(histogram, out);
    let length = (out.len() - PAYLOAD_HEADER_BYTES) as u32;
    out[4..8].copy_from_slice(&length.to_be_bytes());
}

/// Appends the part of the payload before the counts, with the length 0 of the counts.
pub(super) fn append_head(out: &mut Vec<u8>) {
    out.extend_from_slice(&COOKIE.to_be_bytes());
    out.extend_from_slice(&[0; 4]); // length of the counts
    out.extend_from_slice(&0_u32.to_be_bytes()); // normalizing offset, 0 in all known writers
    out.extend_from_slice(&u32::from(SIGNIFICANT_DIGITS).to_be_bytes());
    out.extend_from_slice(&LOWEST_DISCERNIBLE_NS.to_be_bytes());
    out.extend_from_slice(&HIGHEST_TRACKABLE_NS.to_be_bytes());
    out.extend_from_slice(&1.0_f64.to_be_bytes());
}

fn append_counts<C: Counter>(histogram: &Histogram<C>, out: &mut Vec<u8>) {
    let mut next = 0;
    for (page, counters) in histogram.pages() {
        let first = page << PAGE_BITS;
        for (slot, &count) in counters.iter().enumerate() {
            let count: u64 = count.into();
            if count == 0 {
                continue;
            }
            let index = first + slot;
            match index - next {
                0 => {}
                1 => append_zigzag(0, out),
                zeros => append_zigzag(-zeros.cast_signed() as i64, out),
            }
            append_zigzag(count.cast_signed(), out);
            next = index + 1;
        }
    }
    if next == 0 {
        // `HdrHistogram` writes the counter of the highest value even for an empty histogram, so at least one counter
        // is written.
        append_zigzag(0, out);
    }
}

/// Appends a number as zig-zag LEB128. As in `HdrHistogram`, a number takes at most nine bytes, and the ninth byte
/// holds eight bits.
fn append_zigzag(value: i64, out: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    for _ in 0..8 {
        if rest < 0x80 {
            out.push(rest as u8);
            return;
        }
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

//! Reads histograms in the form that the encoder writes, see `encode.rs`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Decompress, FlushDecompress, Status};

use super::encode::{COMPRESSED_COOKIE, COOKIE, PAYLOAD_HEADER_BYTES, PREFIX_BYTES, append_head};
use super::{HIGHEST_TRACKABLE_NS, Histogram, index_of};

/// Largest accepted payload: all counters with the longest numbers, in round figures. [B]
const PAYLOAD_AT_MOST: usize = 1 << 20;

/// Counts of a decoded histogram: index of each counter, and its value > 0, in ascending order of the index.
pub type Entries = Vec<(usize, u64)>;

/// Decodes histograms and reuses its working memory.
#[derive(Debug)]
pub struct Decoder {
    inflate: Decompress,
    packed: Vec<u8>,
    payload: Vec<u8>,
    head: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// Creates a decoder.
    #[must_use]
    pub fn new() -> Self {
        let mut head = Vec::new();
        append_head(&mut head);
        Self {
            inflate: Decompress::new(true),
            packed: Vec::new(),
            payload: Vec::with_capacity(PAYLOAD_HEADER_BYTES),
            head,
        }
    }

    /// Decodes the base64 form of a histogram; `None` if it is damaged, or has other counters than [`Histogram`].
    pub fn entries(&mut self, text: &[u8]) -> Option<Entries> {
        self.packed.clear();
        STANDARD.decode_vec(text, &mut self.packed).ok()?;
        let (prefix, deflated) = self.packed.split_at_checked(PREFIX_BYTES)?;
        if prefix[..4] != COMPRESSED_COOKIE.to_be_bytes()
            || prefix[4..] != u32::try_from(deflated.len()).ok()?.to_be_bytes()
        {
            return None;
        }
        self.inflate(deflated.len())?;
        let (head, counts) = self.payload.split_at_checked(PAYLOAD_HEADER_BYTES)?;
        let same_counters = head[..4] == COOKIE.to_be_bytes() && head[8..] == self.head[8..];
        let length = u32::try_from(counts.len()).ok()?.to_be_bytes();
        if same_counters && head[4..8] == length {
            counts_of(counts)
        } else {
            None
        }
    }

    fn inflate(&mut self, length: usize) -> Option<()> {
        self.payload.clear();
        self.inflate.reset(true);
        loop {
            self.payload.reserve(4 * length + PAYLOAD_HEADER_BYTES);
            let taken = usize::try_from(self.inflate.total_in()).ok()?;
            let before = self.payload.len();
            let rest = &self.packed[PREFIX_BYTES + taken..];
            let status = self
                .inflate
                .decompress_vec(rest, &mut self.payload, FlushDecompress::Finish)
                .ok()?;
            if status == Status::StreamEnd {
                return Some(());
            }
            let is_stuck =
                self.payload.len() == before && self.payload.len() < self.payload.capacity();
            if is_stuck || self.payload.len() > PAYLOAD_AT_MOST {
                return None;
            }
        }
    }
}

/// Reads the zig-zag LEB128 numbers of a payload; `None` if they are malformed, or more than a histogram has counters.
fn counts_of(mut bytes: &[u8]) -> Option<Entries> {
    let (mut found, mut index) = (Entries::new(), 0_usize);
    while !bytes.is_empty() {
        let number = next_zigzag(&mut bytes)?;
        match u64::try_from(number) {
            Ok(0) => index += 1,
            Ok(count) => {
                if index > index_of(HIGHEST_TRACKABLE_NS) {
                    return None;
                }
                found.push((index, count));
                index += 1;
            }
            Err(_) => index = index.checked_add(usize::try_from(number.unsigned_abs()).ok()?)?,
        }
    }
    Some(found)
}

fn next_zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for place in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        // The ninth byte has eight bits of the number.
        if place == 8 {
            value |= u64::from(byte) << 56;
            break;
        }
        value |= u64::from(byte & 0x7F) << (7 * place);
        if byte < 0x80 {
            break;
        }
    }
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

impl Histogram<u64> {
    /// Adds the counts of a decoded histogram. The sum of the values is unknown, so it does not change.
    pub fn add(&mut self, entries: &[(usize, u64)]) {
        for &(index, count) in entries {
            let counter = self.counter(index);
            *counter = counter.saturating_add(count);
            self.count = self.count.saturating_add(count);
        }
    }
}

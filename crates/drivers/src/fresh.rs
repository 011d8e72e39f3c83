//! Unused file names, and random contents, for files that the file driver creates.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::monotonic_ns;

/// Returns an unused path in a folder, and the number that its file name contains.
pub(crate) fn beside(folder: Option<&[u8]>) -> (Vec<u8>, u64) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!(".put-{}-{number}", std::process::id());
    let path = match folder {
        Some(folder) => [folder, b"/".as_slice(), name.as_bytes()].concat(),
        None => name.into_bytes(),
    };
    (path, number)
}

/// Generates bytes by xorshift64* (Vigna, ACM Transactions on Mathematical Software 42(4), 2016), with a new seed for
/// each file. Every file has different bytes, so a block that belongs to another file is detected.
pub(crate) struct Noise(u64);

impl Noise {
    /// Creates the generator for the file with this number. The seed combines the number and the current time.
    pub(crate) fn new(number: u64) -> Self {
        // Multiplication by the golden ratio spreads consecutive file numbers over all bits. The last bit is set, since
        // the state of xorshift must not be zero.
        Self((monotonic_ns() ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)) | 1)
    }

    /// Fills a block with the next bytes of the generator.
    pub(crate) fn fill(&mut self, block: &mut [u8]) {
        for piece in block.chunks_mut(8) {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            let bytes = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D).to_le_bytes();
            piece.copy_from_slice(&bytes[..piece.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_are_in_their_folder() {
        let (first, number) = beside(Some(b"a/b"));
        let (other, next) = beside(None);
        assert!(first.starts_with(b"a/b/.put-"));
        assert!(other.starts_with(b".put-"));
        assert!(next > number);
    }

    /// Compares the first eight bytes with xorshift64* computed by hand: the state 1 becomes `1 + 2^25`.
    #[test]
    fn bytes_are_those_of_xorshift64_star() {
        let mut noise = Noise(1);
        let mut block = [0; 11];
        noise.fill(&mut block);
        let first = (1_u64 | 1 << 25).wrapping_mul(0x2545_F491_4F6C_DD1D);
        assert_eq!(block[..8], first.to_le_bytes());
        assert_ne!(block[8..], first.to_le_bytes()[..3]);
    }
}

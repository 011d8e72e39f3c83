//! Bytes as no server sends them, for tests of what reads them.

/// Damages messages, in a sequence that is the same each time.
pub(crate) struct Damaging(u64);

impl Damaging {
    /// From the beginning of the sequence.
    pub(crate) const fn new() -> Self {
        Self(0x2545_f491_4f6c_dd1d)
    }

    /// xorshift64*: any sequence does.
    const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Adds, takes away or changes a byte, once to so many times.
    pub(crate) fn damage(&mut self, bytes: &mut Vec<u8>, times_at_most: u64) {
        for _ in 0..=self.next() % times_at_most {
            let at = self.next() as usize % bytes.len();
            match self.next() % 4 {
                0 => bytes.insert(at, self.next() as u8),
                1 => drop(bytes.remove(at)),
                _ => bytes[at] = self.next() as u8,
            }
        }
    }
}

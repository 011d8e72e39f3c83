//! Damaged inputs for tests of parsers: valid inputs with random damage.
//!
//! By default, a test uses the same inputs in every run. `make fuzz` sets `TOWTANK_FUZZ_S`, the duration of each test
//! [s], and `TOWTANK_FUZZ_SEED`, a number that selects other inputs. A test that fails prints this number.

use std::env;
use std::time::{Duration, Instant};

/// Texts that often reveal errors in parsers: numbers just beyond common limits, and line ends.
const EDGES: [&[u8]; 10] = [
    b"0",
    b"-1",
    b"18446744073709551616",
    b"1e999",
    &[0xff; 4],
    &[0x7f, 0xff, 0xff, 0xff],
    &[0x80, 0, 0, 0],
    &[0; 8],
    b"\r\n",
    "\u{2028}".as_bytes(),
];

/// Numbers that often reveal errors in parsers. Each of them can replace a number in a valid text.
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "0.5",
    "100",
    "1e-9",
    "1e9",
    "-1",
    "4294967296",
    "1e308",
];

/// Maximum number of consecutive bytes that are copied or removed at once. [B]
const RUN: u64 = 64;

/// Damages inputs at random. The seed determines the whole sequence of damages.
#[derive(Debug)]
pub struct Damaging(u64);

impl Damaging {
    /// Starts the sequence of damages for the seed `TOWTANK_FUZZ_SEED`, which is 0 if the variable is not set.
    #[must_use]
    pub fn new() -> Self {
        let given = env::var("TOWTANK_FUZZ_SEED").ok();
        let seed = given.and_then(|text| text.parse().ok()).unwrap_or(0_u64);
        Self(0x2545_f491_4f6c_dd1d ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Returns a random number from 0 to `bound` - 1; `bound` must be at least 1.
    pub const fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Returns the next random number, by xorshift64*. A generator of low quality is sufficient for random damage.
    const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Damages the bytes 1 to `times_at_most` times. Each damage inserts, removes or changes a single byte or
    /// consecutive bytes.
    pub fn damage(&mut self, bytes: &mut Vec<u8>, times_at_most: u64) {
        for _ in 0..=self.next() % times_at_most {
            if bytes.is_empty() {
                bytes.push(self.next() as u8);
                continue;
            }
            let at = self.below(bytes.len());
            let end = (at + 1 + (self.next() % RUN) as usize).min(bytes.len());
            match self.next() % 16 {
                0..3 => bytes.insert(at, self.next() as u8),
                3..6 => drop(bytes.remove(at)),
                6..10 => bytes[at] = self.next() as u8,
                10 => bytes[at] ^= 1 << (self.next() % 8),
                11 => drop(bytes.drain(at..end)),
                12 => {
                    let run = bytes[at..end].to_vec();
                    let to = self.below(bytes.len());
                    bytes.splice(to..to, run);
                }
                13 => bytes.truncate(at),
                _ => {
                    let edge = EDGES[self.below(EDGES.len())];
                    bytes.splice(at..end.min(at + edge.len()), edge.iter().copied());
                }
            }
        }
    }

    /// Replaces a number in a text by a different number, so that the syntax of the text stays valid.
    pub fn another_number(&mut self, text: &mut Vec<u8>) {
        let starts: Vec<usize> = (0..text.len())
            .filter(|&at| text[at].is_ascii_digit() && (at == 0 || !text[at - 1].is_ascii_digit()))
            .collect();
        if starts.is_empty() {
            return;
        }
        let start = starts[self.below(starts.len())];
        let digits = text[start..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        let end = start + digits.count();
        let number = NUMBERS[self.below(NUMBERS.len())];
        text.splice(start..end, number.bytes());
    }

    /// Picks an input at random and damages it 1 to `times_at_most` times. In half of the cases, the end of the input
    /// is first replaced by the end of another input.
    pub fn one_of<B: AsRef<[u8]>>(&mut self, inputs: &[B], times_at_most: u64) -> Vec<u8> {
        let mut bytes = inputs[self.below(inputs.len())].as_ref().to_vec();
        if self.next().is_multiple_of(2) {
            let other = inputs[self.below(inputs.len())].as_ref();
            bytes.truncate(self.below(bytes.len() + 1));
            bytes.extend_from_slice(&other[self.below(other.len() + 1)..]);
        }
        self.damage(&mut bytes, times_at_most);
        bytes
    }
}

impl Default for Damaging {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the numbers of the rounds of a test, from 0: `usual` rounds or, if `TOWTANK_FUZZ_S` is set, as many rounds
/// as fit into that time.
pub fn rounds(usual: u64) -> impl Iterator<Item = u64> {
    let given = env::var("TOWTANK_FUZZ_S").ok();
    let seconds = given.and_then(|text| text.parse::<f64>().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    (0..).take_while(move |round| end.map_or(*round < usual, |end| Instant::now() < end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_inputs_come_each_time_and_each_is_another_one() {
        let inputs: [&[u8]; 2] = [b"HTTP/1.1 200 OK\r\n\r\n", b""];
        let draw = || {
            let mut damaging = Damaging::new();
            rounds(500)
                .map(|_| damaging.one_of(&inputs, 4))
                .collect::<Vec<_>>()
        };
        let (first, second) = (draw(), draw());
        let common = first.len().min(second.len());
        assert_eq!(first[..common], second[..common]);
        assert!(common >= 500 || env::var("TOWTANK_FUZZ_S").is_ok());
        let mut others = first.clone();
        others.sort_unstable();
        others.dedup();
        assert!(others.len() > first.len() / 2);
    }
}

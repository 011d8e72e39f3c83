//! Damaged inputs, for tests of readers: good inputs with random damage.
//!
//! Tests use the same inputs each time. `make fuzz` sets `TOWTANK_FUZZ_S`, the time that each test goes on [s], and
//! `TOWTANK_FUZZ_SEED`, a number that selects other inputs; a test that fails prints it.

use std::env;
use std::time::{Duration, Instant};

/// Numbers at which lengths and counts go wrong.
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

/// Numbers as texts have them.
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

/// Longest run of bytes that is repeated, moved or taken away. [B]
const RUN: u64 = 64;

/// Damages inputs, in a sequence that a seed decides.
#[derive(Debug)]
pub struct Damaging(u64);

impl Damaging {
    /// From the beginning of the sequence that the environment names, or of the usual one.
    #[must_use]
    pub fn new() -> Self {
        let given = env::var("TOWTANK_FUZZ_SEED").ok();
        let seed = given.and_then(|text| text.parse().ok()).unwrap_or(0_u64);
        Self(0x2545_f491_4f6c_dd1d ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below another one, which is at least 1.
    pub const fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// xorshift64*: any sequence does.
    const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Adds, takes away or changes a byte or some, once to so many times.
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

    /// Puts another number in the place of one that stands in a text, so that its form stays right.
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

    /// Picks an input at random and damages it at no more than `times_at_most` places. In half of the cases the input first gets the end of another input.
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

/// Numbers of the rounds of a test: the usual ones, or as many as fit into the time that the environment gives.
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

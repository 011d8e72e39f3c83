//! Kernels for main memory: bandwidth by the triad of STREAM, latency by pointer chasing. Each read of the chase
//! returns the address of the next read.
//!
//! The triad is a(i) = b(i) + q c(i), on arrays of at least four times the last-level cache. It moves 24 bytes per
//! element.
//!
//! J. D. `McCalpin`, *Memory Bandwidth and Machine Balance in Current High Performance Computers*, IEEE TCCA
//! Newsletter, December 1995.

use std::hint::black_box;

use towtank_load::rng::Random;

use crate::kernel::{Failed, Seat, Threaded, Work};

/// Number of elements of each array that one batch of the triad processes.
const STRETCH: usize = 1 << 15;
/// Bytes that the triad moves per element: two reads and one write of 8 bytes each.
const BYTES_OF_ELEMENT: usize = 24;
/// Factor q in the triad a(i) = b(i) + q c(i).
const FACTOR: f64 = 3.0;
/// Bytes that one dependent read transfers from memory: the size of a cache line.
const LINE: usize = 64;
const WORDS_OF_LINE: usize = LINE / size_of::<u32>();
/// Number of dependent reads in one batch of the pointer-chasing kernel.
const LOADS: usize = 1 << 13;
/// Minimum amount of memory that all threads of a kernel use together. [bytes]
const LEAST: u64 = 192 << 20;
/// The memory that all threads of a kernel use together is at least this multiple of the size of the last-level cache.
const CACHES: u64 = 4;

/// Returns the amount of memory that all threads of one kernel use together: four times the last-level cache and at
/// least 192 MiB, but at most an eighth of the available memory. [bytes]
#[must_use]
pub fn working_set(last_cache_bytes: u64, available_bytes: u64) -> u64 {
    LEAST
        .max(last_cache_bytes * CACHES)
        .min((available_bytes / 8).max(1 << 20))
}

/// Work of one thread of the triad kernel: a(i) = b(i) + q c(i).
pub struct Triad {
    sum: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
    place: usize,
}

impl Triad {
    /// Creates the three arrays of the triad, with `bytes` as their total size.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let stretches = (bytes as usize / BYTES_OF_ELEMENT / STRETCH).max(1);
        let length = stretches * STRETCH;
        Self {
            sum: vec![0.5; length],
            first: (0..length).map(|index| index as f64).collect(),
            second: vec![2.0; length],
            place: 0,
        }
    }
}

impl Work for Triad {
    fn batch(&mut self) -> Result<f64, Failed> {
        let part = self.place..self.place + STRETCH;
        let (first, second) = (&self.first[part.clone()], &self.second[part.clone()]);
        let sum = &mut self.sum[part];
        for ((sum, first), second) in sum.iter_mut().zip(first).zip(second) {
            *sum = first + FACTOR * second;
        }
        black_box(sum);
        self.place = (self.place + STRETCH) % self.sum.len();
        Ok((STRETCH * BYTES_OF_ELEMENT) as f64)
    }

    /// Checks the last result of the last batch. It is an integer, which a floating-point number represents exactly.
    fn check(&mut self) -> Result<(), Failed> {
        let last = (self.place + self.sum.len() - 1) % self.sum.len();
        let expected = last as f64 + FACTOR * 2.0;
        if self.sum[last].to_bits() == expected.to_bits() {
            return Ok(());
        }
        Err(format!(
            "a result of the triad must be {expected}, got {}",
            self.sum[last]
        ))
    }
}

/// Work of one thread of the pointer-chasing kernel. Each cache line contains the address of the next line, in an order
/// that prefetchers cannot predict.
pub struct Chase {
    next: Vec<u32>,
    place: u32,
}

impl Chase {
    /// Creates a chain of addresses through `bytes` of memory.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let lines = (bytes as usize / LINE).max(2);
        let mut next = vec![0; lines * WORDS_OF_LINE];
        // The chain is one random cycle through all cache lines: S. Sattolo, *An algorithm to generate a random cyclic
        // permutation*, Information Processing Letters 22 (1986).
        let mut order: Vec<u32> = (0..lines as u32).collect();
        let mut random = Random::from_seed(1);
        for last in (1..lines).rev() {
            order.swap(last, random.below(last as u64) as usize);
        }
        for (line, target) in order.iter().enumerate() {
            next[line * WORDS_OF_LINE] = target * WORDS_OF_LINE as u32;
        }
        Self { next, place: 0 }
    }

    fn follow(&mut self, loads: usize) {
        let mut place = self.place;
        for _ in 0..loads {
            place = self.next[place as usize];
        }
        self.place = black_box(place);
    }
}

impl Work for Chase {
    fn batch(&mut self) -> Result<f64, Failed> {
        self.follow(LOADS);
        Ok(LOADS as f64)
    }
}

/// Returns the two kernels of this module. The threads of a kernel divide `working_set` bytes of memory among them.
#[must_use]
pub fn kernels(working_set: u64) -> Vec<Threaded> {
    let share = move |seat: Seat| working_set / seat.threads as u64;
    vec![
        Threaded::new("memory_triad", move |seat| Ok(Triad::new(share(seat)))),
        Threaded::new("memory_chase", move |seat| Ok(Chase::new(share(seat)))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_triad_goes_through_its_arrays_and_begins_again() {
        let mut work = Triad::new((2 * STRETCH * BYTES_OF_ELEMENT) as u64);
        assert_eq!(work.sum.len(), 2 * STRETCH);
        assert_eq!(work.batch(), Ok((STRETCH * 24) as f64));
        assert_eq!(work.place, STRETCH);
        work.check().expect("right");
        assert_eq!(work.batch(), Ok((STRETCH * 24) as f64));
        assert_eq!(work.place, 0);
        work.check().expect("right");
        let expected: Vec<f64> = (0..2 * STRETCH).map(|index| index as f64 + 6.0).collect();
        assert_eq!(work.sum, expected);
    }

    #[test]
    fn a_wrong_triad_is_told() {
        let mut work = Triad::new(0);
        work.batch().expect("a batch");
        *work.sum.last_mut().expect("one") += 1.0;
        assert!(work.check().is_err());
    }

    #[test]
    fn the_chain_comes_through_every_line_once() {
        let lines = 1000;
        let mut work = Chase::new((lines * LINE) as u64);
        let mut seen = vec![false; lines];
        for _ in 0..lines {
            let line = work.place as usize / WORDS_OF_LINE;
            assert!(
                !std::mem::replace(&mut seen[line], true),
                "line {line} twice"
            );
            work.follow(1);
        }
        assert_eq!(work.place, 0, "it is one cycle");
        assert_eq!(work.batch(), Ok(LOADS as f64));
    }

    #[test]
    fn the_memory_is_beyond_the_caches_and_within_what_is_free() {
        assert_eq!(working_set(32 << 20, 64 << 30), 192 << 20);
        assert_eq!(working_set(256 << 20, 64 << 30), 1 << 30);
        assert_eq!(working_set(256 << 20, 4 << 30), 512 << 20);
    }
}

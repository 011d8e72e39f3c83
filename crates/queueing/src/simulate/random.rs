//! Random numbers: one stream for each purpose, so that alternatives of a model draw the same numbers for the same thing.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, ACM Trans. Math. Softw. 47(4), 2021), its state filled by `SplitMix64`
//! as its authors advise. A stream is named by seed, replication, purpose and the names of what it is for: a station
//! that one alternative has in addition does not move the numbers of the others.

/// What a stream is for.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Times between arrivals of a class.
    Arrivals,
    /// Think times of a class.
    Think,
    /// Service times of a class at a station.
    Service,
    /// Ways of a class through the network.
    Routing,
    /// Pauses before retries of a class.
    Retry,
    /// Times up and down of a station.
    Failure,
    /// Choice of a balancer.
    Balance,
    /// Keys of a cache.
    Cache,
}

/// A stream of random numbers.
#[derive(Clone)]
pub struct Stream([u64; 4]);

impl Stream {
    /// The stream of a purpose in a replication.
    pub fn new(seed: u64, replication: u64, purpose: Purpose, names: &[&str]) -> Self {
        let mut state = mix(seed ^ 0x9e37_79b9_7f4a_7c15);
        for part in [replication, purpose as u64] {
            state = mix(state ^ part.wrapping_add(0x632b_e59b_d9b4_e019));
        }
        for name in names {
            for &byte in name.as_bytes() {
                state = mix(state ^ u64::from(byte));
            }
            // The end of a name: `ab`, `c` must not be `a`, `bc`.
            state = mix(state ^ 0x100);
        }
        Self([1, 2, 3, 4].map(|word: u64| mix(state.wrapping_add(word.wrapping_mul(0x9e37_79b9_7f4a_7c15)))))
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let state = &mut self.0;
        let result = state[0].wrapping_add(state[3]).rotate_left(23).wrapping_add(state[0]);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        result
    }

    /// Uniform in (0, 1]: its logarithm is finite.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Standard normal (Box and Muller; the second of the pair is not kept, so that each draw takes two numbers).
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// One of `count` with equal chances.
    #[inline]
    pub fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.bits()) * count as u128) >> 64) as usize
    }
}

/// The finalizer of `SplitMix64`.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of xoshiro256++ from the state 1, 2, 3, 4, worked out by hand from its definition for the first:
    /// rotl(1 + 4, 23) + 1.
    #[test]
    fn the_generator_is_xoshiro() {
        let mut stream = Stream([1, 2, 3, 4]);
        assert_eq!(stream.bits(), (5 << 23) + 1);
        // State is now [7, 0, 262146, 211106232532992]: rotl(7 + 6 * 2^45, 23) + 7.
        assert_eq!(stream.bits(), (7_u64 + (6 << 45)).rotate_left(23) + 7);
    }

    #[test]
    fn streams_differ_by_everything_that_names_them() {
        let first = |seed, replication, purpose, names: &[&str]| Stream::new(seed, replication, purpose, names).bits();
        let all = [
            first(1, 0, Purpose::Service, &["ab", "c"]),
            first(2, 0, Purpose::Service, &["ab", "c"]),
            first(1, 1, Purpose::Service, &["ab", "c"]),
            first(1, 0, Purpose::Think, &["ab", "c"]),
            first(1, 0, Purpose::Service, &["a", "bc"]),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one));
        }
        assert_eq!(all[0], first(1, 0, Purpose::Service, &["ab", "c"]));
    }
}

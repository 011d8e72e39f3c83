//! Random numbers, with a separate stream for each purpose, so that alternative models use the same numbers for the
//! same purpose.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, ACM Trans. Math. Softw. 47(4), 2021). Its state is filled by
//! `SplitMix64`, as Blackman and Vigna recommend. A stream is identified by seed, replication, purpose and the names of
//! its class or station. Therefore an additional station in one alternative does not change the numbers of the other
//! stations.

use std::sync::LazyLock;

/// Purpose for which a stream of random numbers is used.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Times between arrivals of a class.
    Arrivals,
    /// Think times of a class.
    Think,
    /// Service times of a class at a station.
    Service,
    /// Random choices in the route of a class: next stations and numbers of visits.
    Routing,
    /// Pauses before retries of a class.
    Retry,
    /// Times until failures and times of repairs of a station.
    Failure,
    /// Random choices of a balancer.
    Balance,
    /// Keys that are requested from a cache.
    Cache,
    /// Times for which jobs of a class wait before they give up.
    Patience,
    /// Numbers of jobs of a class that arrive together.
    Batch,
}

/// Start of the tail of the ziggurat. The constant `AREA` is the area of each of the 256 layers. Both values are from
/// Marsaglia and Tsang.
const TAIL: f64 = 7.697_117_470_131_05;
const AREA: f64 = 0.003_949_659_822_581_557;

/// Right edges of the layers of the ziggurat, from the widest upward, and the density at each edge.
struct Layers {
    edges: [f64; 257],
    heights: [f64; 257],
}

static LAYERS: LazyLock<Layers> = LazyLock::new(|| {
    let mut edges = [0.0; 257];
    edges[0] = AREA * TAIL.exp();
    edges[1] = TAIL;
    for layer in 2..256 {
        let below: f64 = edges[layer - 1];
        edges[layer] = -(AREA / below + (-below).exp()).ln();
    }
    Layers {
        edges,
        heights: edges.map(|edge| (-edge).exp()),
    }
});

/// A stream of random numbers: the state of its xoshiro256++ generator.
#[derive(Clone)]
pub struct Stream([u64; 4]);

impl Stream {
    /// Creates the stream for a purpose in a replication. `names` are those of the class and station that use it.
    pub fn new(seed: u64, replication: u64, purpose: Purpose, names: &[&str]) -> Self {
        let mut state = mix(seed ^ 0x9e37_79b9_7f4a_7c15);
        for part in [replication, purpose as u64] {
            state = mix(state ^ part.wrapping_add(0x632b_e59b_d9b4_e019));
        }
        for name in names {
            for &byte in name.as_bytes() {
                state = mix(state ^ u64::from(byte));
            }
            // Each name is followed by a separator. Otherwise the names `ab`, `c` would give the same stream as `a`,
            // `bc`.
            state = mix(state ^ 0x100);
        }
        Self(
            [1, 2, 3, 4]
                .map(|word: u64| mix(state.wrapping_add(word.wrapping_mul(0x9e37_79b9_7f4a_7c15)))),
        )
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let state = &mut self.0;
        let result = state[0]
            .wrapping_add(state[3])
            .rotate_left(23)
            .wrapping_add(state[0]);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        result
    }

    /// Returns a random number with uniform distribution in (0, 1]. It is never 0, so that its logarithm is finite.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Returns a random number with exponential distribution and mean 1, by the ziggurat of 256 layers (Marsaglia and
    /// Tsang, J. Stat. Softw. 5(8), 2000). The method is exact, and usually takes one random integer and one
    /// multiplication.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        let layers = &*LAYERS;
        let bits = self.bits();
        let layer = (bits & 0xff) as usize;
        let value = (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64) * layers.edges[layer];
        if value < layers.edges[layer + 1] {
            value
        } else {
            self.outside(layer, value)
        }
    }

    /// Generates a value outside of the inner rectangle of a layer: in the wedge beside the rectangle, or in the tail.
    #[cold]
    fn outside(&mut self, layer: usize, value: f64) -> f64 {
        if layer == 0 {
            // The excess of an exponential time over `TAIL` is again exponential.
            return TAIL + self.exponential();
        }
        let (low, high) = (LAYERS.heights[layer], LAYERS.heights[layer + 1]);
        if low + self.uniform() * (high - low) < (-value).exp() {
            value
        } else {
            self.exponential()
        }
    }

    /// Returns a random number with standard normal distribution, by the method of Box and Muller. Each takes two
    /// uniform numbers.
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Returns a random integer below `count`, with equal probabilities.
    #[inline]
    pub fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.bits()) * count as u128) >> 64) as usize
    }
}

/// Mixes the bits of a value: the final step of `SplitMix64`.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of xoshiro256++ from the state 1, 2, 3, 4. The first one is computed by hand from the
    /// definition: rotl(1 + 4, 23) + 1.
    #[test]
    fn the_generator_is_xoshiro() {
        let mut stream = Stream([1, 2, 3, 4]);
        assert_eq!(stream.bits(), (5 << 23) + 1);
        // The state is now [7, 0, 262146, 211106232532992], which gives rotl(7 + 6 * 2^45, 23) + 7.
        assert_eq!(stream.bits(), (7_u64 + (6 << 45)).rotate_left(23) + 7);
    }

    /// Compares the distribution function at ten values with the exponential one. The tolerance is five standard errors
    /// of two million random numbers. The top layer ends at 0.
    #[test]
    fn the_ziggurat_is_exponential() {
        assert!((AREA / LAYERS.edges[255] + (-LAYERS.edges[255]).exp() - 1.0).abs() < 1e-12);
        let mut stream = Stream::new(11, 0, Purpose::Service, &["ziggurat"]);
        let draws: Vec<f64> = (0..2_000_000).map(|_| stream.exponential()).collect();
        for place in [0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 7.0, 8.0, 10.0_f64] {
            let share = draws.iter().filter(|&&draw| draw > place).count() as f64 / 2e6;
            let exact = (-place).exp();
            assert!(
                (share - exact).abs() < 5.0 * (exact * (1.0 - exact) / 2e6).sqrt(),
                "{place}: {share}"
            );
        }
    }

    #[test]
    fn streams_differ_by_everything_that_names_them() {
        let first = |seed, replication, purpose, names: &[&str]| {
            Stream::new(seed, replication, purpose, names).bits()
        };
        let all = [
            first(1, 0, Purpose::Service, &["ab", "c"]),
            first(2, 0, Purpose::Service, &["ab", "c"]),
            first(1, 1, Purpose::Service, &["ab", "c"]),
            first(1, 0, Purpose::Think, &["ab", "c"]),
            first(1, 0, Purpose::Service, &["a", "bc"]),
        ];
        for (index, drawn) in all.iter().enumerate() {
            assert!(!all[..index].contains(drawn));
        }
        assert_eq!(all[0], first(1, 0, Purpose::Service, &["ab", "c"]));
    }
}

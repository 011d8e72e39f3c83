//! Seeded random numbers. Each user has a small random generator for each purpose. The random numbers of a user
//! therefore depend only on the seed and the number of the user.

/// Purposes of random generators. Each user has a separate generator for each purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Random decisions and values of a user.
    User = 1,
    /// Times between arrivals.
    Gaps = 2,
    /// Group and transaction of each arrival.
    Kinds = 3,
}

/// The generator xoshiro256++ 1.0 (D. Blackman and S. Vigna, *Scrambled Linear Pseudorandom Number Generators*, ACM
/// TOMS 47(4), 2021, <https://doi.org/10.1145/3460772>), seeded by splitmix64 as the authors advise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Random {
    /// Creates the generator of one user for one purpose.
    #[must_use]
    pub fn for_stream(seed: u64, user: u64, stream: Stream) -> Self {
        let mut chain = seed;
        let mut state = splitmix64(&mut chain) ^ user;
        let mut mixed = splitmix64(&mut state) ^ (stream as u64);
        Self::from_seed(splitmix64(&mut mixed))
    }

    /// Creates a generator from a single seed.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let mut chain = seed;
        Self {
            state: std::array::from_fn(|_| splitmix64(&mut chain)),
        }
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let result = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        let (s2, s3) = (s2 ^ s0, s3 ^ s1);
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 17), s3.rotate_left(45)];
        result
    }

    /// Returns a random number, uniformly distributed in `[0, 1)`, with a resolution of 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a random integer in `[0, bound)`, uniformly distributed; `bound` must be above 0. It has no bias (D.
    /// Lemire,
    /// *Fast Random Integer Generation in an Interval*, ACM TOMACS 29(1), 2019, <https://doi.org/10.1145/3230636>).
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// Returns an exponentially distributed random number with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Returns a standard normal random number by the polar method (G. Marsaglia and T. A. Bray, *SIAM Review* 6(3),
    /// 1964, <https://doi.org/10.1137/1006063>). The method yields pairs; the second number is discarded to save memory
    /// per user.
    pub fn normal(&mut self) -> f64 {
        loop {
            let x = 2.0 * self.unit() - 1.0;
            let y = 2.0 * self.unit() - 1.0;
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }
}

/// Chooses random indices with probabilities proportional to weights. The alias method needs one random number per
/// choice (A. J. Walker, *ACM TOMS* 3(3), 1977, <https://doi.org/10.1145/355744.355749>). Its tables are built by the
/// algorithm of M. D. Vose, *IEEE TSE* 17(9), 1991.
#[derive(Debug, Clone)]
pub struct Alias {
    keep: Vec<f64>,
    other: Vec<u32>,
}

impl Alias {
    /// Builds the tables for these weights, which must not be negative or all zero.
    #[must_use]
    pub fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut keep: Vec<f64> = weights
            .iter()
            .map(|weight| weight * weights.len() as f64 / total)
            .collect();
        let mut other: Vec<u32> = (0..weights.len() as u32).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..keep.len()).partition(|index| keep[*index] < 1.0);
        while let (Some(low), Some(high)) = (small.pop(), large.pop()) {
            other[low] = high as u32;
            keep[high] -= 1.0 - keep[low];
            if keep[high] < 1.0 {
                small.push(high);
            } else {
                large.push(high);
            }
        }
        // The remaining columns have probability 1, apart from rounding errors. Columns with weight zero are left out,
        // since rounding errors may have left such a column in the list.
        for index in small
            .into_iter()
            .filter(|index| weights[*index] > 0.0)
            .chain(large)
        {
            keep[index] = 1.0;
        }
        Self { keep, other }
    }

    /// Returns a random index.
    pub fn draw(&self, random: &mut Random) -> usize {
        let place = random.unit() * self.keep.len() as f64;
        let index = place as usize;
        if place - (index as f64) < self.keep[index] {
            index
        } else {
            self.other[index] as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoshiro_reproduces_its_reference_output() {
        // The expected numbers are the first outputs of the authors' program xoshiro256plusplus.c for the state 1, 2,
        // 3, 4, as in the tests of the crate rand_xoshiro.
        let mut random = Random {
            state: [1, 2, 3, 4],
        };
        let first: [u64; 4] = std::array::from_fn(|_| random.next_u64());
        assert_eq!(
            first,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386
            ]
        );
    }

    #[test]
    fn streams_of_users_differ_and_repeat() {
        let draw = |user, stream| Random::for_stream(7, user, stream).next_u64();
        assert_eq!(draw(3, Stream::User), draw(3, Stream::User));
        assert_ne!(draw(3, Stream::User), draw(4, Stream::User));
        assert_ne!(draw(3, Stream::User), draw(3, Stream::Gaps));
    }

    #[test]
    fn moments_of_exponential_and_normal() {
        let mut random = Random::from_seed(1);
        let count = 200_000;
        let mean: f64 = (0..count).map(|_| random.exponential()).sum::<f64>() / f64::from(count);
        // The tolerance is five standard errors of the mean. The standard error is 1 / sqrt(count) = 0.0022.
        assert!((mean - 1.0).abs() < 0.0112, "{mean}");
        let values: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        let mean = values.iter().sum::<f64>() / f64::from(count);
        let variance = values.iter().map(|value| value * value).sum::<f64>() / f64::from(count);
        assert!(mean.abs() < 0.0112, "{mean}");
        // The tolerance is five standard errors of the variance. The standard error is sqrt(2 / count) = 0.0032.
        assert!((variance - 1.0).abs() < 0.016, "{variance}");
    }

    #[test]
    fn below_reaches_every_number_evenly() {
        let mut random = Random::from_seed(2);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7) as usize] += 1;
        }
        // The bound 22.46 is the 99.9 % quantile of the chi-square distribution with 6 degrees of freedom.
        let chi: f64 = counts
            .iter()
            .map(|count| (f64::from(*count) - 1e4).powi(2) / 1e4)
            .sum();
        assert!(chi < 22.46, "{counts:?}");
    }

    /// The bound is 3/4 of 2^64, so every four consecutive 64-bit integers are mapped to three results. Without
    /// rejection, two of the four integers would give the same result, so that multiples of three would be twice as
    /// frequent.
    #[test]
    fn below_rejects_what_would_favour_some_numbers() {
        let mut random = Random::from_seed(7);
        let mut counts = [0; 3];
        for _ in 0..3000 {
            counts[(random.below(3 << 62) % 3) as usize] += 1;
        }
        assert!(
            counts.iter().all(|count| (850..1150).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn alias_draws_in_proportion_and_never_a_zero() {
        let weights = [5.0, 0.0, 1.0, 4.0];
        let alias = Alias::new(&weights);
        let mut random = Random::from_seed(3);
        let mut counts = [0.0; 4];
        for _ in 0..100_000 {
            counts[alias.draw(&mut random)] += 1.0;
        }
        assert!(counts[1] == 0.0);
        // The bound 13.82 is the 99.9 % quantile of the chi-square distribution with 2 degrees of freedom.
        let cells = [0, 2, 3]
            .map(|index| (counts[index] - weights[index] * 1e4).powi(2) / (weights[index] * 1e4));
        assert!(cells.iter().sum::<f64>() < 13.82, "{counts:?}");
    }
}

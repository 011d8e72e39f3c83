//! Hit ratio of a least-recently-used cache for independent references, from the popularities of the keys.
//!
//! The approximation is by Che, Tung and Wang, *IEEE J. Selected Areas in Communications* 20(7), 2002: every key stays
//! in the cache for about the same time T after its last reference. A key of popularity p is therefore cached with
//! probability 1 - exp(-p T). The sum of these probabilities over all keys equals the capacity of the cache, which
//! determines T.
//!
//! The result is exact if all keys are equally popular. Otherwise the error is a few thousandths even for small caches
//! (Fricker, Robert and Roberts, *24th International Teletraffic Congress*, 2012).

/// Ranks of Zipf's law up to this number are computed one by one. Higher ranks are grouped: within a group, ranks
/// differ by less than a thousandth and count as equally popular.
const SINGLY_AT_MOST: u64 = 4096;
const RANKS_TOGETHER: u64 = 1000;
/// Maximum number of steps of Newton's method, which usually converges after far fewer steps.
const STEPS_AT_MOST: usize = 500;

/// A group of keys with the same popularity.
#[derive(Clone, Copy, Debug)]
struct Alike {
    /// Popularity of each key of the group: the share of all references that refer to this key.
    share: f64,
    /// Number of keys in the group. [1]
    keys: f64,
}

/// Popularity of the keys: the share of all references that are to each key.
#[derive(Clone, Debug)]
pub struct Popularity {
    alike: Vec<Alike>,
    keys: f64,
}

impl Popularity {
    /// Creates popularities by Zipf's law: key i of `keys` is referenced in proportion to i^-skew. `keys` is at least
    /// 1, `skew` at least 0.
    #[must_use]
    pub fn zipf(keys: u64, skew: f64) -> Self {
        let mut groups = Vec::new();
        let mut from = 1;
        while from <= keys {
            if from <= SINGLY_AT_MOST {
                groups.push(((from as f64).powf(-skew), 1.0));
                from += 1;
            } else {
                let to = (from + from / RANKS_TOGETHER).min(keys + 1);
                let count = (to - from) as f64;
                groups.push((between(from, to, skew) / count, count));
                from = to;
            }
        }
        Self::of(&groups)
    }

    /// Creates popularities from pairs `(n, keys)`: `keys` keys have exactly `n` references. At least one key must have
    /// references.
    #[must_use]
    pub fn counted(groups: &[(u64, u64)]) -> Self {
        let groups: Vec<(f64, f64)> = groups
            .iter()
            .map(|&(references, keys)| (references as f64, keys as f64))
            .collect();
        Self::of(&groups)
    }

    fn of(groups: &[(f64, f64)]) -> Self {
        let total: f64 = groups.iter().map(|(weight, keys)| weight * keys).sum();
        Self {
            alike: groups
                .iter()
                .map(|&(weight, keys)| Alike {
                    share: weight / total,
                    keys,
                })
                .collect(),
            keys: groups.iter().map(|(_, keys)| keys).sum(),
        }
    }

    /// Returns the share of references that hit in a cache of `entries` entries.
    #[must_use]
    pub fn hit_ratio(&self, entries: u64) -> f64 {
        let room = entries as f64;
        if room >= self.keys {
            return 1.0;
        }
        let time = self.time(room);
        let hits = |alike: &Alike| alike.keys * alike.share * -(-alike.share * time).exp_m1();
        self.alike.iter().map(hits).sum()
    }

    /// Returns the time from the last reference to an entry until a cache of `room` entries evicts it. [references]
    fn time(&self, room: f64) -> f64 {
        // The expected number of cached keys is a concave function of `time`, so Newton's method never overshoots if it
        // starts at 0.
        let mut time = 0.0;
        for _ in 0..STEPS_AT_MOST {
            let (mut held, mut slope) = (0.0, 0.0);
            for alike in &self.alike {
                let gone = -alike.share * time;
                held -= alike.keys * gone.exp_m1();
                slope += alike.keys * alike.share * gone.exp();
            }
            let step = (room - held) / slope;
            time += step;
            if step <= 1e-13 * time {
                break;
            }
        }
        time
    }
}

/// Returns the sum of i^-skew for `from` <= i < `to`, approximated by the integral from `from` - 1/2 to `to` - 1/2.
/// The relative error is 10^-8 for i above [`SINGLY_AT_MOST`].
fn between(from: u64, to: u64, skew: f64) -> f64 {
    let (low, high) = (from as f64 - 0.5, to as f64 - 0.5);
    let (power, stretch) = (1.0 - skew, (high / low).ln());
    let width = if power.abs() < 1e-12 {
        stretch
    } else {
        (power * stretch).exp_m1() / power
    };
    low.powf(power) * width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_alike_hit_by_their_share() {
        for (entries, exact) in [(1, 0.01), (50, 0.5), (99, 0.99), (100, 1.0), (200, 1.0)] {
            let hits = Popularity::zipf(100, 0.0).hit_ratio(entries);
            assert!((hits - exact).abs() < 1e-12, "{entries}: {hits}");
        }
    }

    #[test]
    fn ranks_taken_together_change_nothing() {
        for skew in [0.0, 0.6, 1.0, 1.3] {
            let one_by_one: Vec<(f64, f64)> = (1..=200_000)
                .map(|rank| (f64::from(rank).powf(-skew), 1.0))
                .collect();
            let whole = Popularity::of(&one_by_one);
            let law = Popularity::zipf(200_000, skew);
            assert!(law.alike.len() < 10_000);
            for entries in [10, 3000, 60_000, 199_000] {
                let (one, other) = (law.hit_ratio(entries), whole.hit_ratio(entries));
                assert!(
                    (one - other).abs() < 1e-6,
                    "{skew} {entries}: {one} {other}"
                );
            }
        }
    }

    #[test]
    fn counts_are_a_popularity() {
        let counted = Popularity::counted(&[(4, 1), (2, 1), (1, 2)]);
        // The popularities are 1/2, 1/4, 1/8, 1/8. By definition, `time` is the time after which the expected number of
        // cached keys equals the capacity, here 2 entries.
        let time = counted.time(2.0);
        let held: f64 = [0.5_f64, 0.25, 0.125, 0.125]
            .iter()
            .map(|share| 1.0 - (-share * time).exp())
            .sum();
        assert!((held - 2.0).abs() < 1e-12);
    }
}

//! A cache that evicts the least recently used entry, and the keys that are requested from it. The popularities of the
//! keys follow Zipf's law.

use super::random::Stream;

const NOWHERE: u32 = u32::MAX;

/// Generates random keys 0, 1, ... with probabilities proportional to 1, 2^-s, 3^-s, ..., by Walker's alias method.
/// Each key takes one random number.
pub struct Zipf {
    chance: Vec<f32>,
    alias: Vec<u32>,
}

impl Zipf {
    /// Creates the tables of the alias method (Vose, IEEE Trans. Softw. Eng. 17(9), 1991).
    pub fn new(keys: usize, skew: f64) -> Self {
        let weights: Vec<f64> = (1..=keys).map(|rank| (rank as f64).powf(-skew)).collect();
        let scale = keys as f64 / weights.iter().sum::<f64>();
        let mut left: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let (mut chance, mut alias) = (vec![1.0; keys], vec![0; keys]);
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..keys).partition(|&key| left[key] < 1.0);
        while let (Some(less), Some(&more)) = (small.pop(), large.last()) {
            chance[less] = left[less] as f32;
            alias[less] = more as u32;
            left[more] -= 1.0 - left[less];
            if left[more] < 1.0 {
                large.pop();
                small.push(more);
            }
        }
        Self { chance, alias }
    }

    /// Returns the number of different keys.
    pub fn len(&self) -> usize {
        self.chance.len()
    }

    /// Generates a random key.
    pub fn draw(&self, stream: &mut Stream) -> u32 {
        let place = stream.uniform() * self.chance.len() as f64;
        let key = (place as usize).min(self.chance.len() - 1);
        if place - key as f64 <= f64::from(self.chance[key]) {
            key as u32
        } else {
            self.alias[key]
        }
    }
}

/// The cached keys in the order of their last use, as a circular linked list over all keys. An additional index after
/// the last key marks both ends of the list.
pub struct Recent {
    next: Vec<u32>,
    previous: Vec<u32>,
    room: usize,
}

impl Recent {
    /// Creates an empty cache.
    pub fn new(items: usize, keys: usize) -> Self {
        let mut cache = Self {
            next: vec![NOWHERE; keys + 1],
            previous: vec![NOWHERE; keys + 1],
            room: items,
        };
        cache.next[keys] = keys as u32;
        cache.previous[keys] = keys as u32;
        cache
    }

    /// Requests a key, which is in the cache afterwards. Returns `true` if the key was already in the cache.
    pub fn ask(&mut self, key: u32) -> bool {
        let end = (self.next.len() - 1) as u32;
        let hit = self.next[key as usize] != NOWHERE;
        if hit {
            self.unlink(key);
        } else if self.room > 0 {
            self.room -= 1;
        } else {
            let oldest = self.previous[end as usize];
            self.unlink(oldest);
            self.next[oldest as usize] = NOWHERE;
        }
        let first = self.next[end as usize];
        self.next[key as usize] = first;
        self.previous[key as usize] = end;
        self.previous[first as usize] = key;
        self.next[end as usize] = key;
        hit
    }

    fn unlink(&mut self, key: u32) {
        let (before, after) = (self.previous[key as usize], self.next[key as usize]);
        self.next[before as usize] = after;
        self.previous[after as usize] = before;
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Purpose;
    use super::*;

    #[test]
    fn the_least_recently_used_goes() {
        let mut cache = Recent::new(2, 4);
        let hits: Vec<bool> = [0, 1, 0, 2, 1, 0, 0].map(|key| cache.ask(key)).to_vec();
        // The cache has two entries: key 2 evicts key 1, then 1 evicts 0, then 0 evicts 2.
        assert_eq!(hits, [false, false, true, false, false, false, true]);
    }

    #[test]
    fn keys_follow_zipf() {
        let zipf = Zipf::new(4, 1.0);
        let mut stream = Stream::new(3, 0, Purpose::Cache, &["zipf"]);
        let mut counts = [0_u32; 4];
        (0..1_000_000).for_each(|_| counts[zipf.draw(&mut stream) as usize] += 1);
        for (rank, &count) in counts.iter().enumerate() {
            // The expected share of a key is (1 / rank) / (25 / 12); five standard errors are 0.0025.
            let share = 12.0 / 25.0 / (rank + 1) as f64;
            assert!(
                (f64::from(count) / 1e6 - share).abs() < 0.0025,
                "{rank}: {count}"
            );
        }
    }
}

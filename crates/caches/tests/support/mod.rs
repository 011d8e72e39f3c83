//! Simulated caches, and random traces that are the same for the same seed.

use std::fmt::Write;

/// Returns a `SplitMix64` random number generator (Steele, Lea and Flood, OOPSLA 2014) with this seed.
pub fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }
}

/// Chooses keys at random by Zipf's law, by inversion of the distribution function.
pub struct Zipf(Vec<f64>);

impl Zipf {
    pub fn new(keys: u32, skew: f64) -> Self {
        let mut sum = 0.0;
        let cumulated: Vec<f64> = (1..=keys)
            .map(|rank| {
                sum += f64::from(rank).powf(-skew);
                sum
            })
            .collect();
        Self(cumulated.iter().map(|weight| weight / sum).collect())
    }

    pub fn key(&self, bits: u64) -> u64 {
        let uniform = (bits >> 11) as f64 / (1_u64 << 53) as f64;
        self.0.partition_point(|&bound| bound <= uniform) as u64
    }
}

/// Formats references (key and size) as the CSV file of a trace.
pub fn trace(references: &[(u64, u64)]) -> String {
    let mut text = String::from("key,bytes\n");
    for (key, size) in references {
        writeln!(text, "{key},{size}").expect("a string takes everything");
    }
    text
}

/// Result of a reference: `entry` is `true` if the metadata of the key are cached, `bytes` if the content is cached.
pub struct Found {
    pub entry: bool,
    pub bytes: bool,
}

/// Simulates a cache with a limit on entries and a limit on bytes. The list of entries and the list of cached files are
/// ordered by last use. After every reference, the least recently used entries and files are evicted until both limits
/// are met.
pub struct TwoLimits {
    entries_at_most: u64,
    bytes_at_most: u64,
    metadata: u64,
    entries: Vec<u64>,
    files: Vec<(u64, u64)>,
    /// Each key with its largest size so far.
    sizes: Vec<(u64, u64)>,
}

impl TwoLimits {
    pub fn new(entries_at_most: u64, bytes_at_most: u64, metadata: u64) -> Self {
        Self {
            entries_at_most,
            bytes_at_most,
            metadata,
            entries: Vec::new(),
            files: Vec::new(),
            sizes: Vec::new(),
        }
    }

    pub fn ask(&mut self, key: u64, size: u64) -> Found {
        let size = self.largest(key, size);
        let entry = self.entries.iter().position(|&entry| entry == key);
        let file = self.files.iter().position(|file| file.0 == key);
        let found = Found {
            entry: entry.is_some(),
            bytes: file.is_some(),
        };
        if let Some(place) = entry {
            self.entries.remove(place);
        }
        if let Some(place) = file {
            self.files.remove(place);
        }
        self.entries.push(key);
        self.files.push((key, size));
        while self.entries.len() as u64 > self.entries_at_most {
            let gone = self.entries.remove(0);
            self.files.retain(|file| file.0 != gone);
        }
        while self.needed() > u128::from(self.bytes_at_most) && !self.files.is_empty() {
            self.files.remove(0);
        }
        found
    }

    fn needed(&self) -> u128 {
        let files: u128 = self.files.iter().map(|file| u128::from(file.1)).sum();
        files + u128::from(self.metadata) * self.entries.len() as u128
    }

    fn largest(&mut self, key: u64, size: u64) -> u64 {
        if let Some(known) = self.sizes.iter_mut().find(|size| size.0 == key) {
            known.1 = known.1.max(size);
            return known.1;
        }
        self.sizes.push((key, size));
        size
    }
}

//! Results of the analysis of a trace. Ratios are in [0, 1]; unknown values are null.

use serde::Serialize;

/// Results of the analysis of a trace: its size, and miss ratios by cache size.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Name of the method that computed the stack distances.
    pub method: &'static str,
    /// `true` if the results are exact: all keys were used instead of a sample, and no key changed its size.
    pub exact: bool,
    /// Numbers of references, keys and bytes of the trace.
    pub trace: Trace,
    /// Miss ratios by cache size in entries.
    pub curve: Vec<EntriesPoint>,
    /// Miss ratios by cache size in bytes; empty if the trace has no sizes.
    pub curve_by_bytes: Vec<BytesPoint>,
    /// Results for caches with two limits: one result for each combination of the requested limits on entries and on
    /// bytes.
    pub limits: Vec<LimitsPoint>,
    /// Properties of the sample; null if all keys were used.
    pub sampling: Option<SamplingAnswer>,
    /// Warnings about the results, as sentences.
    pub warnings: Vec<String>,
}

/// Numbers of references, keys and bytes of a trace. If keys are sampled, the numbers of keys and bytes are estimates.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// Number of references that count as hits or misses, without those of the warm-up. [1]
    pub references: u64,
    /// Number of references of the warm-up, which fill the caches but do not count as hits or misses. [1]
    pub warm_up_references: u64,
    /// Number of different keys. [1]
    pub keys: f64,
    /// Share of references that are the first to their key. These miss in every cache (compulsory misses).
    pub first_reference_ratio: f64,
    /// Sum of the sizes of all counted references; null if the trace has no sizes. [B]
    pub requested_bytes: Option<f64>,
    /// Sum of the sizes of all keys, each counted once; null if the trace has no sizes. [byte]
    pub footprint_bytes: Option<f64>,
    /// References per second of trace time; null if the trace has no times. [1/s]
    pub references_per_s: Option<f64>,
}

/// Result for a cache that holds a given number of entries.
#[derive(Clone, Debug, Serialize)]
pub struct EntriesPoint {
    /// Number of entries that the cache holds. [1]
    pub entries: u64,
    /// Share of references that miss in the cache.
    pub miss_ratio: f64,
    /// Half-width of the 95 % confidence interval of the miss ratio. It is null if keys are not sampled, or if the
    /// cache holds too few sampled keys.
    pub half_width: Option<f64>,
    /// Miss ratio that this cache would have if references were random and independent, with the key popularities of
    /// the trace. It does not include the misses of first references. Null if keys are sampled.
    pub independent_miss_ratio: Option<f64>,
}

/// Result for a cache that holds a given number of bytes.
#[derive(Clone, Debug, Serialize)]
pub struct BytesPoint {
    /// Number of bytes that the cache holds. [byte]
    pub bytes: u64,
    /// Share of references that miss in the cache.
    pub miss_ratio: f64,
    /// Share of the requested bytes that are not in the cache.
    pub byte_miss_ratio: f64,
    /// Half-width of the 95 % confidence interval of `miss_ratio`; null if unknown.
    pub half_width: Option<f64>,
}

/// Result for a cache with a limit on entries and a limit on bytes.
#[derive(Clone, Debug, Serialize)]
pub struct LimitsPoint {
    /// Limit on the number of entries; null if there is no such limit. [1]
    pub entries: Option<u64>,
    /// Limit on bytes, including metadata; null if there is no such limit. [byte]
    pub bytes: Option<u64>,
    /// Memory that the metadata occupy at the end of the trace. [byte]
    pub metadata_bytes: u64,
    /// Share of references whose content is not in the cache.
    pub miss_ratio: f64,
    /// Share of the requested bytes that are not in the cache; null if the trace has no sizes.
    pub byte_miss_ratio: Option<f64>,
    /// Share of references whose entry is not in the cache. An entry is the metadata of a key, with or without its
    /// content.
    pub entry_miss_ratio: f64,
    /// Half-width of the 95 % confidence interval of `miss_ratio`; null if unknown.
    pub half_width: Option<f64>,
}

/// Properties of the sample of keys.
#[derive(Clone, Debug, Serialize)]
pub struct SamplingAnswer {
    /// Share of the keys that are in the sample at the end of the trace. With a limit on the number of sampled keys,
    /// the share may have been larger at the start.
    pub rate: f64,
    /// Limit on the number of keys in the sample; null if there is no limit. [1]
    pub keys_at_most: Option<usize>,
    /// Number of keys in the sample. [1]
    pub keys: usize,
    /// Number of counted references to the keys in the sample. [1]
    pub references: u64,
    /// Actual minus estimated number of references of the trace; added to the hits of the smallest cache. [1]
    pub correction_references: f64,
    /// Number of random groups of keys, from which confidence intervals are computed. [1]
    pub groups: usize,
    /// Confidence level of the intervals of the miss ratios.
    pub confidence: f64,
    /// Mean half-width of the confidence intervals over all cache sizes in `curve`.
    pub mean_half_width: Option<f64>,
    /// Largest half-width of the confidence intervals of all cache sizes in `curve`.
    pub largest_half_width: Option<f64>,
}

//! Results of an analysis. Ratios are in [0, 1]; unknown values are null.

use serde::Serialize;

/// Miss ratios of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Method of computing distances.
    pub method: &'static str,
    /// `true` if all keys were used, not a sample, and no key changed its size.
    pub exact: bool,
    /// Size of the trace.
    pub trace: Trace,
    /// Results by cache size in entries.
    pub curve: Vec<EntriesPoint>,
    /// Results by cache size in bytes; empty if the trace has no sizes.
    pub curve_by_bytes: Vec<BytesPoint>,
    /// Results for each combination of the requested limits on entries and bytes.
    pub limits: Vec<LimitsPoint>,
    /// Properties of the sample; null if all keys were used.
    pub sampling: Option<SamplingAnswer>,
    /// Warnings about the results.
    pub warnings: Vec<String>,
}

/// Size of the trace. Keys and bytes are estimates if keys are sampled.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// References that were counted. [1]
    pub references: u64,
    /// References that only filled the caches. [1]
    pub warm_up_references: u64,
    /// Number of different keys. [1]
    pub keys: f64,
    /// Share of first references to a key, which miss in every cache.
    pub first_reference_ratio: f64,
    /// Requested bytes. [B]
    pub requested_bytes: Option<f64>,
    /// Sum of the sizes of all keys. [byte]
    pub footprint_bytes: Option<f64>,
    /// References per second of the trace. [1/s]
    pub references_per_s: Option<f64>,
}

/// Result for a cache with this number of entries.
#[derive(Clone, Debug, Serialize)]
pub struct EntriesPoint {
    /// Capacity of the cache. [1]
    pub entries: u64,
    /// Share of references that miss.
    pub miss_ratio: f64,
    /// Half-width of the 95 % interval of the miss ratio; null without a sample, or if its groups are too small.
    pub half_width: Option<f64>,
    /// Miss ratio of independent references with the popularities of this trace, without first references; null for a
    /// sample.
    pub independent_miss_ratio: Option<f64>,
}

/// Result for a cache of this number of bytes.
#[derive(Clone, Debug, Serialize)]
pub struct BytesPoint {
    /// Capacity of the cache. [byte]
    pub bytes: u64,
    /// Share of references that miss.
    pub miss_ratio: f64,
    /// Share of the requested bytes that miss.
    pub byte_miss_ratio: f64,
    /// Half-width of the 95 % interval of the miss ratio.
    pub half_width: Option<f64>,
}

/// Result for a cache with two limits.
#[derive(Clone, Debug, Serialize)]
pub struct LimitsPoint {
    /// Limit on entries. [1]
    pub entries: Option<u64>,
    /// Limit on bytes, including metadata. [byte]
    pub bytes: Option<u64>,
    /// Bytes of metadata at the end of the trace. [byte]
    pub metadata_bytes: u64,
    /// Share of references whose bytes are not in the cache.
    pub miss_ratio: f64,
    /// Share of the requested bytes that miss.
    pub byte_miss_ratio: Option<f64>,
    /// Share of references whose entry is not in the cache.
    pub entry_miss_ratio: f64,
    /// Half-width of the 95 % interval of the miss ratio.
    pub half_width: Option<f64>,
}

/// Properties of a sample.
#[derive(Clone, Debug, Serialize)]
pub struct SamplingAnswer {
    /// Share of the keys in the sample at the end.
    pub rate: f64,
    /// Limit on the keys of the sample. [1]
    pub keys_at_most: Option<usize>,
    /// Keys of the sample. [1]
    pub keys: usize,
    /// References of the sample that were counted. [1]
    pub references: u64,
    /// Difference between the references of the trace and their estimate from the sample. It counts as hits of the
    /// smallest cache. [1]
    pub correction_references: f64,
    /// Number of groups of keys from which intervals are computed. [1]
    pub groups: usize,
    /// Confidence level of the intervals.
    pub confidence: f64,
    /// Mean of the half-widths over the curve by entries.
    pub mean_half_width: Option<f64>,
    /// Largest half-width of the curve by entries.
    pub largest_half_width: Option<f64>,
}

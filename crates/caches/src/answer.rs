//! The answer as data. Ratios are in [0, 1]; unknown values are null.

use serde::Serialize;

/// Miss ratios of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Method of finding distances.
    pub method: &'static str,
    /// `true` if the distances are those of all keys.
    pub exact: bool,
    /// The trace.
    pub trace: Trace,
    /// Caches by number of entries.
    pub curve: Vec<EntriesPoint>,
    /// Caches by bytes; empty without sizes.
    pub curve_by_bytes: Vec<BytesPoint>,
    /// Rows of the table of limits.
    pub limits: Vec<LimitsPoint>,
    /// The sample, if there was one.
    pub sampling: Option<SamplingAnswer>,
    /// Warnings about the answer.
    pub warnings: Vec<String>,
}

/// Size of the trace. Keys and bytes are estimates if keys are sampled.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// References that count. [1]
    pub references: u64,
    /// References before them, which only fill the caches. [1]
    pub warm_up_references: u64,
    /// Different keys. [1]
    pub keys: f64,
    /// Share of first references, which miss in every cache.
    pub first_reference_ratio: f64,
    /// Requested bytes. [B]
    pub requested_bytes: Option<f64>,
    /// Bytes of all keys, each once. [byte]
    pub footprint_bytes: Option<f64>,
    /// References for each second of the trace. [1/s]
    pub references_per_s: Option<f64>,
}

/// Result for a cache with this number of entries.
#[derive(Clone, Debug, Serialize)]
pub struct EntriesPoint {
    /// Most entries. [1]
    pub entries: u64,
    /// Share of references that miss.
    pub miss_ratio: f64,
    /// Half of the width of its 95 % interval; null if nothing was sampled, or the groups of the sample are too coarse.
    pub half_width: Option<f64>,
    /// Miss ratio if references were independent, with the same popularities: without first references.
    pub independent_miss_ratio: Option<f64>,
}

/// Result for a cache of this number of bytes.
#[derive(Clone, Debug, Serialize)]
pub struct BytesPoint {
    /// Most bytes. [byte]
    pub bytes: u64,
    /// Share of references that miss.
    pub miss_ratio: f64,
    /// Share of the requested bytes that miss.
    pub byte_miss_ratio: f64,
    /// Half of the width of the 95 % interval of the miss ratio.
    pub half_width: Option<f64>,
}

/// A cache with two limits.
#[derive(Clone, Debug, Serialize)]
pub struct LimitsPoint {
    /// Most entries. [1]
    pub entries: Option<u64>,
    /// Most bytes, metadata included. [byte]
    pub bytes: Option<u64>,
    /// Bytes that metadata takes in the end. [byte]
    pub metadata_bytes: u64,
    /// Share of references that do not find their bytes.
    pub miss_ratio: f64,
    /// Share of the requested bytes that miss.
    pub byte_miss_ratio: Option<f64>,
    /// Share of references that do not even find their entry.
    pub entry_miss_ratio: f64,
    /// Half of the width of the 95 % interval of the miss ratio.
    pub half_width: Option<f64>,
}

/// Basis of a sample, and its possible error.
#[derive(Clone, Debug, Serialize)]
pub struct SamplingAnswer {
    /// Share of the keys that was sampled in the end.
    pub rate: f64,
    /// Bound on the keys of the sample. [1]
    pub keys_at_most: Option<usize>,
    /// Keys of the sample. [1]
    pub keys: usize,
    /// References of the sample that count. [1]
    pub references: u64,
    /// References that the sample has too few, on the scale of all; counted as hits of the smallest cache. [1]
    pub correction_references: f64,
    /// Groups of keys that the intervals come from. [1]
    pub groups: usize,
    /// Level of the intervals.
    pub confidence: f64,
    /// Half-widths over the curve by entries: their mean.
    pub mean_half_width: Option<f64>,
    /// And the largest.
    pub largest_half_width: Option<f64>,
}

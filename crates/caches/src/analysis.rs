//! Analyses the trace of a cache: reads its references and computes miss ratios by cache size.

use std::io::BufRead;

use crate::answer::{Answer, BytesPoint, EntriesPoint, LimitsPoint, SamplingAnswer, Trace};
use crate::exact::Exact;
use crate::faults::Faults;
use crate::ladder::Ladder;
use crate::popularity::Popularity;
use crate::sampling::{GROUPS, Sampled, Sampling, half_width};
use crate::tally::{Hits, Limits, Plan, Tally};
use crate::trace::Reader;

/// Limit on the sum of the sizes of all keys, so that sums of bytes fit into 64 bits. [byte]
const FOOTPRINT_AT_MOST: u64 = 1 << 62;
/// Minimum number of sampled keys for a reliable result: 50 in each of the eight random groups from which the error is
/// estimated. [1]
const SAMPLES_AT_LEAST: usize = 400;

/// Settings of the analysis of a trace.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Cache sizes in entries at which to report miss ratios. For caches with two limits, they are the limits on
    /// entries. [1]
    pub entries: Vec<u64>,
    /// Cache sizes in bytes at which to report miss ratios. For caches with two limits, they are the limits on bytes.
    /// [byte]
    pub bytes: Vec<u64>,
    /// Size of the metadata of each entry. Metadata reduce the memory that is left for content. [byte]
    pub metadata_bytes: u64,
    /// Sampling of the keys; `None` uses all keys.
    pub sampling: Option<Sampling>,
    /// Number of references at the start of the trace that fill the caches but do not count as hits or misses. [1]
    pub warm_up: u64,
    /// Limit on memory use. It applies only if the keys are not sampled. [byte]
    pub memory_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            bytes: Vec::new(),
            metadata_bytes: 0,
            sampling: None,
            warm_up: 0,
            memory_bytes: 1 << 30,
        }
    }
}

/// Counts hits exactly from all keys, or approximately from a sample of the keys.
enum Counter {
    Exact(Box<Exact>),
    Sampled(Box<Sampled>),
}

/// Sums over all references of the trace, whether their keys are sampled or not.
#[derive(Default)]
struct Totals {
    read: u64,
    counted: u64,
    bytes: f64,
    /// Times of the earliest and the latest counted reference. [s]
    times: Option<(f64, f64)>,
}

/// Reads a trace to its end and computes its miss ratios.
///
/// # Errors
///
/// All faults of the trace. It is also a fault if the trace has more keys than fit into memory.
pub fn analyse(source: impl BufRead, settings: &Settings) -> Result<Answer, Faults> {
    let mut reader = Reader::open(source)?;
    let plan = plan(settings, reader.weighted());
    if !plan.weighted && (!settings.bytes.is_empty() || settings.metadata_bytes > 0) {
        let message = "must be a column of the trace if caches have a limit on bytes, got none";
        reader.fault(1, "bytes", message);
    }
    let mut counter = Counter::new(&plan, settings);
    let mut totals = Totals::default();
    let mut goes_on = true;
    while let Some(row) = reader.next_row() {
        totals.read += 1;
        let warm = totals.read > settings.warm_up;
        if warm {
            totals.add(row.bytes, row.time);
        }
        if goes_on {
            counter.refer(&plan, row.key, row.bytes, warm);
            if let Err(message) = counter.bounded(settings) {
                reader.fault(1, "", &message);
                goes_on = false;
            }
        }
        // A trace with a fault has no result. Its remaining lines are read only to find further faults.
        goes_on &= reader.faults.is_empty();
    }
    if reader.faults.is_empty() && totals.counted > 0 && counter.keys() <= 0.0 {
        let message =
            "must have at least one sampled key, got none at this rate: increase the sample";
        reader.fault(1, "", message);
    }
    if reader.faults.is_empty() && totals.counted == 0 {
        let message = match totals.read {
            0 => "must have at least one row after its header, got none".to_owned(),
            read => format!(
                "must have more rows than the {} rows of the warm-up, got {read}",
                settings.warm_up
            ),
        };
        reader.fault(1, "", &message);
    }
    if reader.faults.is_empty() {
        Ok(answer(&plan, settings, &counter, &totals))
    } else {
        Err(reader.faults)
    }
}

fn plan(settings: &Settings, weighted: bool) -> Plan {
    let limited = |sizes: &[u64]| -> Vec<Option<u64>> {
        if sizes.is_empty() {
            vec![None]
        } else {
            sizes.iter().copied().map(Some).collect()
        }
    };
    let mut limits = Vec::new();
    if !settings.entries.is_empty() || !settings.bytes.is_empty() {
        for &bytes in &limited(&settings.bytes) {
            for &entries in &limited(&settings.entries) {
                limits.push(Limits { entries, bytes });
            }
        }
    }
    Plan {
        entries: Ladder::new(&settings.entries),
        bytes: Ladder::new(&settings.bytes),
        limits,
        metadata_bytes: settings.metadata_bytes,
        weighted,
    }
}

impl Totals {
    fn add(&mut self, bytes: u64, time: Option<f64>) {
        self.counted += 1;
        self.bytes += bytes as f64;
        if let Some(time) = time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
    }

    fn rate(&self) -> Option<f64> {
        let (first, last) = self.times?;
        // The rate has n - 1 in the numerator, since there are n - 1 time intervals between n references.
        (last > first).then(|| (self.counted - 1) as f64 / (last - first))
    }
}

impl Counter {
    fn new(plan: &Plan, settings: &Settings) -> Self {
        match settings.sampling {
            Some(sampling) => Self::Sampled(Box::new(Sampled::new(plan, sampling))),
            None => Self::Exact(Box::new(Exact::new(plan))),
        }
    }

    fn refer(&mut self, plan: &Plan, key: &[u8], bytes: u64, counted: bool) {
        match self {
            Self::Exact(exact) => exact.refer(plan, key, bytes, counted),
            Self::Sampled(sampled) => sampled.refer(plan, key, bytes, counted),
        }
    }

    /// Returns an error if the sum of the sizes of all keys, or the memory in use, exceeds its limit.
    fn bounded(&self, settings: &Settings) -> Result<(), String> {
        let (bytes, memory) = match self {
            Self::Exact(exact) => (exact.bytes(), exact.memory()),
            Self::Sampled(sampled) => (sampled.all.bytes(), 0),
        };
        if bytes > FOOTPRINT_AT_MOST {
            return Err(
                "must have keys with a total size of at most 2^62 bytes, got more up to this line"
                    .into(),
            );
        }
        if let Self::Exact(exact) = self
            && memory > settings.memory_bytes
        {
            return Err(format!(
                "must have fewer different keys for an exact result within {} bytes of memory, got {} keys up to this line; a sample of the keys (--samples 8192) takes a few megabytes",
                settings.memory_bytes,
                exact.keys()
            ));
        }
        Ok(())
    }

    fn tally(&self) -> &Tally {
        match self {
            Self::Exact(exact) => &exact.tally,
            Self::Sampled(sampled) => &sampled.all.tally,
        }
    }

    fn rate(&self) -> f64 {
        match self {
            Self::Exact(_) => 1.0,
            Self::Sampled(sampled) => sampled.rate(),
        }
    }

    fn keys(&self) -> f64 {
        match self {
            Self::Exact(exact) => exact.keys() as f64,
            Self::Sampled(sampled) => sampled.all.keys() as f64 / sampled.rate(),
        }
    }

    fn bytes(&self) -> f64 {
        match self {
            Self::Exact(exact) => exact.bytes() as f64,
            Self::Sampled(sampled) => sampled.all.bytes() as f64 / sampled.rate(),
        }
    }

    fn resized(&self) -> u64 {
        match self {
            Self::Exact(exact) => exact.resized,
            Self::Sampled(sampled) => sampled.resized,
        }
    }

    /// Applies `hits` to the counts of each random group of the sample. The result is empty if the keys are not
    /// sampled.
    fn groups<T>(&self, hits: impl Fn(&Tally) -> T) -> Vec<T> {
        match self {
            Self::Exact(_) => Vec::new(),
            Self::Sampled(sampled) => sampled.of_groups(hits),
        }
    }
}

/// Returns the miss ratio, (`all` - `hits`) / `of`, limited to [0, 1].
///
/// `of` is the exact number of references or bytes. `all` is its estimate from sampled keys. If the estimate is too
/// high, the quotient can exceed 1.
fn missed(all: f64, hits: f64, of: f64) -> f64 {
    if of > 0.0 {
        ((all - hits) / of).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

fn answer(plan: &Plan, settings: &Settings, counter: &Counter, totals: &Totals) -> Answer {
    let curve = entries_curve(plan, counter, totals);
    // If the size of a key changes, its entry keeps the largest size. Distances in bytes are then upper bounds, so the
    // result is not exact.
    let exact = matches!(counter, Counter::Exact(_)) && counter.resized() == 0;
    let sampling = match counter {
        Counter::Exact(_) => None,
        Counter::Sampled(sampled) => Some(sample(sampled, settings, totals, &curve)),
    };
    let mut answer = Answer {
        method: match settings.sampling {
            None => "stack distances of all keys",
            Some(Sampling {
                keys_at_most: None, ..
            }) => "SHARDS, sample of fixed rate",
            Some(_) => "SHARDS, sample of fixed size",
        },
        exact,
        trace: trace(plan, counter, totals),
        curve,
        curve_by_bytes: bytes_curve(plan, counter, totals),
        limits: limits_table(plan, counter, totals),
        sampling,
        warnings: Vec::new(),
    };
    answer.warnings = warnings(&answer, counter);
    answer
}

fn trace(plan: &Plan, counter: &Counter, totals: &Totals) -> Trace {
    let of = totals.counted as f64;
    Trace {
        references: totals.counted,
        warm_up_references: totals.read - totals.counted,
        keys: counter.keys(),
        first_reference_ratio: missed(counter.tally().first, 0.0, of),
        requested_bytes: plan.weighted.then_some(totals.bytes),
        footprint_bytes: plan.weighted.then(|| counter.bytes()),
        references_per_s: totals.rate(),
    }
}

/// Returns the smallest cache size to report at a sampling rate. [entries]
///
/// The error of the miss ratio of a smaller cache cannot be estimated: the cache holds fewer sampled keys than there
/// are random groups.
fn resolution(rate: f64) -> f64 {
    if rate < 1.0 {
        GROUPS as f64 / rate
    } else {
        1.0
    }
}

fn entries_curve(plan: &Plan, counter: &Counter, totals: &Totals) -> Vec<EntriesPoint> {
    let (tally, rate) = (counter.tally(), counter.rate());
    let of = totals.counted as f64;
    let hits = tally.hits_by_entries();
    let groups = counter.groups(|part| (part.all.references, part.hits_by_entries()));
    let popularity = match counter {
        Counter::Exact(exact) => Some(Popularity::counted(&exact.counts())),
        Counter::Sampled(_) => None,
    };
    let last = plan.entries.place(tally.longest.entries.max(1));
    let sizes = plan.entries.sizes().iter().enumerate().take(last + 1);
    sizes
        .filter(|&(_, &size)| size as f64 >= resolution(rate).min(tally.longest.entries as f64))
        .map(|(place, &entries)| EntriesPoint {
            entries,
            miss_ratio: missed(tally.all.references, hits[place], of),
            half_width: interval(
                rate,
                &groups,
                |(all, hits)| missed(*all, hits[place], of),
                entries as f64,
            ),
            independent_miss_ratio: popularity.as_ref().map(|law| 1.0 - law.hit_ratio(entries)),
        })
        .collect()
}

/// Returns the half-width of the 95 % confidence interval of a miss ratio.
///
/// The interval is estimated from the random groups of the sample and corrected for the finite number of keys. Returns
/// `None` if a cache of `entries` holds less than one sampled key per group.
fn interval<T>(rate: f64, groups: &[T], ratio: impl Fn(&T) -> f64, entries: f64) -> Option<f64> {
    let enough = !groups.is_empty() && entries >= resolution(rate);
    let seen = (1.0 - rate).sqrt();
    enough.then(|| seen * half_width(&groups.iter().map(ratio).collect::<Vec<_>>()))
}

fn bytes_curve(plan: &Plan, counter: &Counter, totals: &Totals) -> Vec<BytesPoint> {
    if !plan.weighted {
        return Vec::new();
    }
    let tally = counter.tally();
    let of = totals.counted as f64;
    let hits = tally.hits_by_bytes();
    let groups = counter.groups(|part| (part.all.references, part.hits_by_bytes()));
    let last = plan.bytes.place(tally.longest.bytes.max(1));
    // All cache sizes without hits have the same miss ratio. Of these sizes, only the largest is reported.
    let first = hits
        .partition_point(|entry| entry.references <= 0.0)
        .saturating_sub(1);
    let (rate, mean_size) = (counter.rate(), counter.bytes() / counter.keys());
    let finest = (mean_size * resolution(rate)).min(tally.longest.bytes as f64);
    let sizes = plan.bytes.sizes().iter().enumerate().take(last + 1);
    sizes
        .skip(first.min(last))
        .filter(|&(_, &size)| rate >= 1.0 || size as f64 >= finest)
        .map(|(place, &bytes)| BytesPoint {
            bytes,
            miss_ratio: missed(tally.all.references, hits[place].references, of),
            byte_miss_ratio: missed(tally.all.bytes, hits[place].bytes, totals.bytes),
            half_width: interval(
                rate,
                &groups,
                |(all, hits)| missed(*all, hits[place].references, of),
                bytes as f64 / mean_size,
            ),
        })
        .collect()
}

fn limits_table(plan: &Plan, counter: &Counter, totals: &Totals) -> Vec<LimitsPoint> {
    let tally = counter.tally();
    let of = totals.counted as f64;
    let groups = counter.groups(|part| (part.all.references, part.hits_by_limits().to_vec()));
    let mean_size = counter.bytes() / counter.keys();
    let point = |(row, limits): (usize, &Limits)| {
        let hits: &Hits = &tally.hits_by_limits()[row];
        let room =
            |most: Option<u64>, size: f64| most.map_or(f64::INFINITY, |most| most as f64 / size);
        let entries = room(limits.entries, 1.0).min(room(limits.bytes, mean_size));
        LimitsPoint {
            entries: limits.entries,
            bytes: limits.bytes,
            metadata_bytes: limits.metadata(plan.metadata_bytes, counter.keys() as u64),
            miss_ratio: missed(tally.all.references, hits.references, of),
            byte_miss_ratio: plan
                .weighted
                .then(|| missed(tally.all.bytes, hits.bytes, totals.bytes)),
            entry_miss_ratio: missed(tally.all.references, hits.entries, of),
            half_width: interval(
                counter.rate(),
                &groups,
                |(all, hits)| missed(*all, hits[row].references, of),
                entries,
            ),
        }
    };
    plan.limits.iter().enumerate().map(point).collect()
}

fn sample(
    sampled: &Sampled,
    settings: &Settings,
    totals: &Totals,
    curve: &[EntriesPoint],
) -> SamplingAnswer {
    let widths: Vec<f64> = curve.iter().filter_map(|point| point.half_width).collect();
    let some = !widths.is_empty();
    SamplingAnswer {
        rate: sampled.rate(),
        keys_at_most: settings.sampling.and_then(|sampling| sampling.keys_at_most),
        keys: sampled.all.keys(),
        references: sampled.references,
        correction_references: totals.counted as f64 - sampled.all.tally.all.references,
        groups: GROUPS,
        confidence: 0.95,
        mean_half_width: some.then(|| widths.iter().sum::<f64>() / widths.len() as f64),
        largest_half_width: some.then(|| widths.iter().copied().fold(0.0, f64::max)),
    }
}

fn warnings(answer: &Answer, counter: &Counter) -> Vec<String> {
    let mut warnings = Vec::new();
    if answer.trace.first_reference_ratio > 0.5 {
        warnings.push(format!(
            "{:.0} % of the references are first references to a key, which miss in every cache: the trace is too short to predict a warm cache",
            100.0 * answer.trace.first_reference_ratio
        ));
    }
    if counter.resized() > 0 {
        warnings.push(format!(
            "{} references state another size than an earlier reference to the same key: the largest size of a key counts",
            counter.resized()
        ));
    }
    if let Some(sampling) = &answer.sampling
        && sampling.keys < SAMPLES_AT_LEAST
        && sampling.rate < 1.0
    {
        warnings.push(format!(
            "only {} keys were sampled, too few for a reliable result: increase the sample",
            sampling.keys
        ));
    }
    let unknown = answer.limits.iter().filter(|row| row.half_width.is_none());
    let unknown = unknown.count();
    if answer.sampling.is_some() && unknown > 0 {
        warnings.push(format!(
            "{unknown} caches of the table of limits hold fewer than {GROUPS} sampled keys: their miss ratios may be far off; increase the sample, or use all keys"
        ));
    }
    warnings
}

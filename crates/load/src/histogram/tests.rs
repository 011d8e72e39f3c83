//! Compares histograms with the `hdrhistogram` crate: counters, quantiles and encoded bytes must be the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};

use super::*;
use crate::testing::SplitMix;

fn oracle() -> hdrhistogram::Histogram<u64> {
    hdrhistogram::Histogram::new_with_bounds(
        LOWEST_DISCERNIBLE_NS,
        HIGHEST_TRACKABLE_NS,
        SIGNIFICANT_DIGITS,
    )
    .unwrap()
}

/// Generates random values of all magnitudes, each magnitude about equally often.
fn spread_values(seed: u64, count: usize) -> Vec<u64> {
    let mut random = SplitMix::new(seed);
    (0..count)
        .map(|_| (random.next() >> (random.next() % 64)).min(HIGHEST_TRACKABLE_NS))
        .collect()
}

fn filled(values: &[u64]) -> (Histogram, hdrhistogram::Histogram<u64>) {
    let (mut ours, mut theirs) = (Histogram::new(), oracle());
    for &value in values {
        ours.record(value);
        theirs.record(value).unwrap();
    }
    (ours, theirs)
}

fn base64_of<C: Counter>(histogram: &Histogram<C>) -> Vec<u8> {
    let mut text = Vec::new();
    Encoder::new().append_base64(histogram, &mut text);
    STANDARD.decode(text).expect("base64")
}

fn decoded<C: Counter>(histogram: &Histogram<C>) -> hdrhistogram::Histogram<u64> {
    Deserializer::new()
        .deserialize(&mut base64_of(histogram).as_slice())
        .expect("the oracle reads what we write")
}

fn payload_by_oracle(histogram: &hdrhistogram::Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .unwrap();
    bytes
}

#[test]
fn ranges_tile_the_values() {
    let mut next = 0;
    for index in 0..=index_of(HIGHEST_TRACKABLE_NS) {
        let (lowest, width) = range_of(index);
        assert_eq!(lowest, next);
        assert_eq!(index_of(lowest), index);
        assert_eq!(index_of(lowest + width - 1), index);
        next = lowest + width;
    }
    assert!(next > HIGHEST_TRACKABLE_NS);
}

#[test]
fn bytes_before_deflation_are_those_of_the_oracle() {
    for (seed, count) in [(1, 0), (2, 1), (3, 10), (4, 1_000), (5, 20_000)] {
        let (ours, theirs) = filled(&spread_values(seed, count));
        let mut bytes = Vec::new();
        encode::payload(&ours, &mut bytes);
        assert_eq!(bytes, payload_by_oracle(&theirs), "{count} values");
    }
}

#[test]
fn large_counts_are_encoded_as_the_oracle_does() {
    let (mut ours, mut theirs) = (Histogram::<u64>::new(), oracle());
    for magnitude in 0..63 {
        let value = 1_000_000 + magnitude * 10_000;
        *ours.counter(index_of(value)) += 1 << magnitude;
        theirs.record_n(value, 1 << magnitude).unwrap();
    }
    let mut bytes = Vec::new();
    encode::payload(&ours, &mut bytes);
    assert_eq!(bytes, payload_by_oracle(&theirs));
}

#[test]
fn the_oracle_reads_the_deflated_form() {
    let (ours, theirs) = filled(&spread_values(7, 5_000));
    assert!(decoded(&ours) == theirs);
    let (empty, none) = filled(&[]);
    assert!(decoded(&empty) == none);
}

#[test]
fn an_encoder_serves_many_histograms() {
    let mut encoder = Encoder::new();
    for seed in 0..5 {
        let (ours, theirs) = filled(&spread_values(seed, 3_000));
        let mut text = Vec::from(*b"before");
        encoder.append_base64(&ours, &mut text);
        let bytes = STANDARD.decode(&text[6..]).unwrap();
        assert!(
            Deserializer::new()
                .deserialize::<u64, _>(&mut bytes.as_slice())
                .unwrap()
                == theirs
        );
    }
}

#[test]
fn the_deflated_form_of_the_oracle_holds_the_same_counts() {
    // Here `hdrhistogram` encodes and decodes its own histogram of the same values. The decoded counts must equal the
    // counters of this crate.
    let (ours, theirs) = filled(&spread_values(8, 5_000));
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(&theirs, &mut bytes)
        .unwrap();
    let read: hdrhistogram::Histogram<u64> = Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .unwrap();
    let read: Vec<(u64, u64)> = read
        .iter_recorded()
        .map(|step| (step.value_iterated_to(), step.count_at_value()))
        .collect();
    let counted: Vec<(u64, u64)> = ours
        .counts()
        .map(|(index, count)| {
            let (lowest, width) = range_of(index);
            (lowest + width - 1, count)
        })
        .collect();
    assert_eq!(read, counted);
}

#[test]
fn quantiles_are_those_of_the_oracle() {
    let (ours, theirs) = filled(&spread_values(9, 9_999));
    for quantile in [0.0, 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
        // For quantile 0, `hdrhistogram` returns the lowest value that the counter counts. This crate returns the
        // highest, as it does for every quantile.
        if quantile > 0.0 {
            assert_eq!(
                ours.value_at_quantile(quantile),
                Some(theirs.value_at_quantile(quantile)),
                "{quantile}"
            );
        }
    }
    assert_eq!(Histogram::<u32>::new().value_at_quantile(0.5), None);
}

#[test]
fn merged_parts_are_the_whole() {
    let values = spread_values(10, 6_000);
    let (whole, theirs) = filled(&values);
    let mut merged = Histogram::<u64>::new();
    for part in values.chunks(1_700) {
        merged.merge(&filled(part).0);
    }
    assert!(decoded(&merged) == theirs);
    assert_eq!(
        (merged.count(), merged.sum_ns()),
        (whole.count(), whole.sum_ns())
    );
}

#[test]
fn sums_are_exact() {
    let values = spread_values(11, 1_000);
    let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
    assert_eq!(filled(&values).0.sum_ns(), sum);
}

#[test]
fn values_above_the_range_are_counted_at_its_top() {
    let mut ours = Histogram::<u32>::new();
    ours.record(HIGHEST_TRACKABLE_NS);
    ours.record(HIGHEST_TRACKABLE_NS + 1);
    ours.record(u64::MAX);
    assert_eq!((ours.count(), ours.saturated()), (3, 2));
    assert_eq!(
        ours.sum_ns(),
        2 * u128::from(HIGHEST_TRACKABLE_NS) + 1 + u128::from(u64::MAX)
    );
    assert_eq!(decoded(&ours).count_at(HIGHEST_TRACKABLE_NS), 3);
}

#[test]
fn a_cleared_histogram_is_empty_and_keeps_its_memory() {
    let (mut ours, _) = filled(&spread_values(12, 5_000));
    let capacity = ours.counters.capacity();
    ours.clear();
    assert!(ours.is_empty() && decoded(&ours).is_empty());
    let values = spread_values(13, 5_000);
    let theirs = filled(&values).1;
    for &value in &values {
        ours.record(value);
    }
    assert!(decoded(&ours) == theirs);
    assert_eq!(ours.counters.capacity(), capacity);
}

#[test]
fn a_narrow_band_takes_little_memory() {
    let mut ours = Histogram::<u32>::new();
    for value in 2_000_000..3_000_000 {
        ours.record(value);
    }
    assert!(ours.counters.len() * size_of::<u32>() <= 8 * 1024);
}

#[test]
fn a_decoded_histogram_has_the_same_counters() {
    let mut decoder = Decoder::new();
    for (seed, count) in [(1, 0), (2, 1), (3, 50), (4, 20_000)] {
        let (ours, _) = filled(&spread_values(seed, count));
        let mut text = Vec::new();
        Encoder::new().append_base64(&ours, &mut text);
        let entries = decoder.entries(&text).expect("what we write can be read");
        assert_eq!(entries, ours.counts().collect::<Vec<_>>());
        let mut twice = Histogram::<u64>::new();
        twice.add(&entries);
        twice.add(&entries);
        assert_eq!(twice.count(), 2 * ours.count());
        assert_eq!(
            twice.value_at_quantile(0.5),
            ours.value_at_quantile(0.5),
            "twice the same values"
        );
    }
}

#[test]
fn damaged_histograms_are_refused() {
    let (ours, theirs) = filled(&spread_values(7, 100));
    let mut text = Vec::new();
    Encoder::new().append_base64(&ours, &mut text);
    let mut decoder = Decoder::new();
    for length in 0..text.len() {
        assert_eq!(decoder.entries(&text[..length]), None, "{length}");
    }
    let mut other =
        hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST_TRACKABLE_NS, 2).unwrap();
    for value in theirs.iter_recorded() {
        other
            .record_n(value.value_iterated_to(), value.count_at_value())
            .unwrap();
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(&other, &mut bytes)
        .unwrap();
    assert_eq!(
        decoder.entries(STANDARD.encode(bytes).as_bytes()),
        None,
        "other counters"
    );
    assert!(
        decoder.entries(&text).is_some(),
        "the decoder can still be used"
    );
}

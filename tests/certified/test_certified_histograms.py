"""Decoding of HdrHistogram V2: hand-written encodings, the reference implementation, and a published example."""

from __future__ import annotations

import base64
import json
import math
import random
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from cases import case
from hdrh.codec import HdrHistogramEncoder
from hdrh.histogram import HdrHistogram

from towtank.analysis.statistics import histograms
from towtank.analysis.statistics.histograms import BadHistogramError

HAND_WRITTEN = json.loads((Path(__file__).parent.parent / "data" / "histograms-1.json").read_text("utf-8"))["cases"]
LOWEST, HIGHEST = 1_000, 3_600_000_000_000


def encode(values, lowest=LOWEST, highest=HIGHEST):
    histogram = HdrHistogram(lowest, highest, 3)
    for value in values:
        histogram.record_value(value)
    return histogram.encode().decode()


@pytest.mark.parametrize("example", HAND_WRITTEN, ids=lambda example: example["name"])
def test_encodings_written_by_hand_decode(example):
    found = histograms.decode(example["encoded"])
    assert [list(pair) for pair in zip(found.indices.tolist(), found.counts.tolist(), strict=True)] == example["expect"]


def test_values_lie_in_the_bucket_the_format_says():
    # The lowest value of 1,000 ns yields the unit magnitude 9, and three digits yield 2,048 sub-buckets. Therefore
    # buckets are 512 ns wide up to 2,048 * 512 ns, and 1,024 ns wide up to twice this value.
    layout = histograms.Layout(LOWEST, HIGHEST, 3)
    assert (layout.unit_magnitude, layout.half_magnitude, layout.counters) == (9, 10, 24_576)
    indices = np.array([0, 1, 2047, 2048, 3071, 3072])
    assert layout.lower_edges(indices).tolist() == [0, 512, 1_048_064, 1_048_576, 2_096_128, 2_097_152]
    assert layout.upper_edges(indices).tolist() == [511, 1023, 1_048_575, 1_049_599, 2_097_151, 2_099_199]


@pytest.mark.parametrize("seed", range(5))
def test_quantiles_are_those_of_the_reference_package(seed):
    stream = random.Random(seed)
    values = [int(stream.lognormvariate(17, 2)) + 1 for _ in range(2_000)]
    reference = HdrHistogram.decode(encode(values))
    found = histograms.decode(encode(values))
    assert found.total == 2_000
    for probability in (0.001, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0):
        expected = reference.get_highest_equivalent_value(reference.get_value_at_percentile(100 * probability))
        assert found.quantile(probability) == pytest.approx(expected / 1e9, rel=1e-12)
        exact = sorted(values)[math.ceil(round(probability * 2_000, 6)) - 1]
        assert exact <= 1e9 * found.quantile(probability) <= exact * 1.001 + 512


def test_merge_is_the_histogram_of_the_union():
    stream = random.Random(7)
    parts = [[int(stream.expovariate(1e-8)) + 1 for _ in range(300)] for _ in range(4)]
    merged = histograms.merge(histograms.decode(encode(part)) for part in parts)
    whole = histograms.decode(encode([value for part in parts for value in part]))
    assert merged.indices.tolist() == whole.indices.tolist()
    assert merged.counts.tolist() == whole.counts.tolist()


def test_the_published_example_of_a_stall():
    # Case V54 contains 10,000 values of 1 ms and one value of 100 s. Its unit is the microsecond, the unit of this test
    # the nanosecond.
    published = case("V54")["published"]["raw"]
    found = histograms.decode(encode([1_000_000] * 10_000 + [100_000_000_000]))
    assert found.total == published["n"]
    for key, probability in (("p30", 0.3), ("p99", 0.99), ("p9999", 0.9999), ("p99999", 0.99999)):
        assert 1e6 * found.quantile(probability) == pytest.approx(published[key], rel=0.001)


def test_rank_of_a_decimal_probability_is_exact():
    # 0.95 * 100 is not exact in binary floating-point arithmetic, so this product must not determine a rank.
    assert [histograms.rank_of(p, 100) for p in (0.95, 0.07, 0.999, 0.0001, 1.0)] == [95, 7, 100, 1, 100]
    assert histograms.rank_of(0.99, 1_000_000) == 990_000


def test_variance_of_two_values():
    # The variance of 1 ms and 3 ms is 1 ms²; buckets have a relative width of 0.1 %.
    assert histograms.decode(encode([1_000_000, 3_000_000])).variance_s2 == pytest.approx(1e-6, rel=0.004)


def test_an_empty_histogram_has_no_quantile():
    with pytest.raises(ValueError, match="rank"):
        histograms.decode(HAND_WRITTEN[-1]["encoded"]).quantile(0.5)


GOOD = encode([1_000_000])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not base64!",
        "HISTFAAAACR4nJNp",
        GOOD[:-8],
        base64.b64encode(b"\x00" * 60).decode(),
        base64.b64encode(base64.b64decode(GOOD)[:8] + b"\xff" * (len(base64.b64decode(GOOD)) - 8)).decode(),
    ],
)
def test_rubbish_is_refused_with_one_kind_of_error(text):
    with pytest.raises(BadHistogramError):
        histograms.decode(text)


@pytest.mark.parametrize("seed", range(40))
def test_a_flipped_byte_never_ends_in_another_error(seed):
    stream = random.Random(seed)
    raw = bytearray(base64.b64decode(encode([int(stream.expovariate(1e-7)) + 1 for _ in range(50)])))
    raw[stream.randrange(len(raw))] ^= 1 << stream.randrange(8)
    try:
        found = histograms.decode(base64.b64encode(bytes(raw)).decode())
    except BadHistogramError:
        return
    assert found.total >= 0


def reference_counts(text):
    """Return the pairs of bucket and count of a histogram, as the reference package decodes them."""
    payload = HdrHistogramEncoder.decode(text)
    payload.init_counts(histograms.Layout(LOWEST, HIGHEST, 3).counters)
    return [(index, count) for index, count in enumerate(payload.get_counts()) if count]


@pytest.mark.parametrize("seed", range(20))
def test_histograms_that_are_decoded_together_are_those_of_the_reference_package(seed, monkeypatch):
    stream = random.Random(seed)
    monkeypatch.setattr(histograms, "_TOGETHER", stream.choice([1, 300, 65_536]))
    texts = []
    for _ in range(stream.randrange(1, 12)):
        values = [
            min(HIGHEST, int(stream.lognormvariate(stream.uniform(5, 25), stream.uniform(0, 3))))
            for _ in range(stream.choice([0, 1, 2, 60, 2_000]))
        ]
        texts.append(encode([LOWEST, HIGHEST, *values] if stream.random() < 0.2 else values))
    found = histograms.decode_all(texts)
    assert not found.faults
    for number, text in enumerate(texts):
        span = slice(*found.edges[number : number + 2])
        pairs = zip(found.indices[span].tolist(), found.counts[span].tolist(), strict=True)
        assert list(pairs) == reference_counts(text)
        alone = histograms.decode(text)
        assert alone.layout == found.layouts[number]
        assert (alone.indices.tolist(), alone.counts.tolist()) == (
            found.indices[span].tolist(),
            found.counts[span].tolist(),
        )
        assert found.totals()[number] == alone.total
        quantiles = found.quantiles([0.001, 0.5, 0.99, 1.0])[number].tolist()
        if alone.total:
            assert quantiles == alone.quantiles([0.001, 0.5, 0.99, 1.0])
            assert quantiles[-1] == alone.maximum_s
        else:
            assert all(map(math.isnan, quantiles))


def payload_of(counts, layout=(3, LOWEST, HIGHEST)):
    """Return a histogram whose counts are the given bytes."""
    payload = zlib.compress(struct.pack(">IIIIQQd", 0x1C849313, len(counts), 0, *layout, 1.0) + counts)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(payload)) + payload).decode()


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # Counts are doubled; odd numbers are runs of empty buckets: 0x03 is -2, 0x06 is 3, 0x00 is one empty bucket.
        (b"\x03\x06\x00\x02", [(2, 3), (4, 1)]),
        (b"", []),
        # -24,575 empty buckets, then the last of the 24,576 buckets.
        (b"\xfd\xff\x02\x02", [(24_575, 1)]),
        (b"\xff\xff\x02\x02", None),
        # The largest count that is accepted: 2^43, as 2^44 in seven bytes. The largest in eight bytes is 2^55 - 1.
        (b"\x80" * 6 + b"\x04", [(0, 2**43)]),
        (b"\x80" * 6 + b"\x05", None),
        (b"\xfe" + b"\xff" * 6 + b"\x7f", None),
        (b"\xfe" + b"\xff" * 7 + b"\x01", None),
        # The last number is incomplete.
        (b"\x02\x80", None),
        # A run of 2^55 empty buckets.
        (b"\xff" * 7 + b"\x7f\x02", None),
    ],
)
def test_numbers_at_the_limits_of_the_format(counts, expected, monkeypatch):
    neighbour = encode([1_000_000] * 5)
    monkeypatch.setattr(histograms, "_TOGETHER", 12)
    found = histograms.decode_all([neighbour, payload_of(counts), neighbour])
    assert list(found.faults) == ([] if expected is not None else [1])
    assert found.totals().tolist() == [5, sum(count for _, count in expected or ()), 5]
    if expected is None:
        with pytest.raises(BadHistogramError):
            histograms.decode(payload_of(counts))
    else:
        span = slice(*found.edges[1:3])
        assert list(zip(found.indices[span].tolist(), found.counts[span].tolist(), strict=True)) == expected


@pytest.mark.parametrize("byte", [b"\x00", b"\x02", b"\x80", b"\xff"])
def test_a_histogram_that_unpacks_to_far_more_than_its_counters_is_refused_early(byte):
    """The counts of 24,576 counters need at most 196,608 bytes, and these have 64 MiB."""
    text = payload_of(byte * (64 << 20))
    tracemalloc.start()
    try:
        found = histograms.decode_all([GOOD, text])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert list(found.faults) == [1]
    assert peak < 32 << 20


def test_the_sum_of_damaged_counts_does_not_overflow_into_neighbours():
    many = payload_of((b"\xfe" + b"\xff" * 6 + b"\x7f") * 300)
    found = histograms.decode_all([GOOD, many, many, GOOD])
    assert list(found.faults) == [1, 2]
    assert found.quantiles([0.5])[[0, 3], 0].tolist() == [histograms.decode(GOOD).quantile(0.5)] * 2


def test_the_highest_quantile_is_the_maximum_whatever_the_number_of_values():
    for count in (7, 10**6 + 1, 1_318_159_306_753):
        assert histograms.rank_of(1.0, count) == count


def test_a_bad_histogram_costs_only_itself():
    texts = [GOOD, "not base64!", encode([5, 7], 1, 10_000_000), "", GOOD]
    found = histograms.decode_all(texts)
    assert sorted(found.faults) == [1, 3]
    assert [layout is None for layout in found.layouts] == [False, True, False, True, False]
    assert found.totals().tolist() == [1, 0, 2, 0, 1]
    assert found.quantiles([1.0])[:, 0].tolist() == pytest.approx(
        [0.001, math.nan, 7e-9, math.nan, 0.001], rel=1e-3, nan_ok=True
    )
    assert histograms.decode_all([]).totals().tolist() == []


def test_histograms_of_different_layouts_are_not_added():
    with pytest.raises(BadHistogramError):
        histograms.merge([histograms.decode(GOOD), histograms.decode(encode([5], 1, 10_000_000))])

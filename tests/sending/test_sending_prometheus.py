"""Samples sent to a Prometheus server: each count of requests and each response time is sent once, in order. A stale
marker ends each series.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from mixed_run import EXCHANGES, TRANSACTIONS, UNTIMED, write_mixed_run
from synthetic_runs import WALL_NS
from write_requests import Point, decode

from towtank.analysis.exporting import MaterialReader
from towtank.sending import remote_write
from towtank.sending.gathering import Gatherer
from towtank.sending.prometheus import BOUNDS_S, PrometheusEncoder, counts_up_to, label_name
from towtank.sending.update import SentRun

SOURCE = SentRun("a study", "r001", {"users": "5", "search index": 'a "b"\\c'})


@pytest.fixture
def bodies(tmp_path):
    run = write_mixed_run(tmp_path / "r001")
    encoder = PrometheusEncoder(SOURCE, MaterialReader())
    update = Gatherer(run).update(last=True)
    return [body for found in (encoder.encode(update), encoder.finish()) for body in found]


@pytest.fixture
def series(bodies):
    """Return the samples in all request bodies, by labels."""
    found = defaultdict(list)
    for body in bodies:
        for labels, points in decode(body.content).series:
            found[labels] += points
    return found


def of(series, family):
    """Return the labels and samples of one metric family, without the stale markers at the end."""
    return [
        (dict(labels), [point for point in points if not point.is_stale])
        for labels, points in series.items()
        if dict(labels)["__name__"] == f"towtank_live_{family}"
    ]


def test_a_body_is_what_the_specification_says_byte_by_byte():
    # Expected bytes of WriteRequest{timeseries: [{labels: [{__name__, up}, {a, b}], samples: [{1.5, 300}]}]}, derived
    # by hand from the wire format. 0a: field 1, length-delimited; 09: field 1, 64 bits; 10: field 2, varint; ac 02:
    # 300.
    reported = remote_write.time_series(remote_write.labels("up", {"a": "b"}), [remote_write.sample(1.5, 300)])
    label_1 = "0a0e" + "0a08" + b"__name__".hex() + "1202" + b"up".hex()
    label_2 = "0a06" + "0a01" + b"a".hex() + "1201" + b"b".hex()
    sample = "120c" + "09" + "000000000000f83f" + "10ac02"
    assert reported.hex() == "0a26" + label_1 + label_2 + sample


def test_labels_say_which_run_it_is(series):
    for labels in series:
        reported = dict(labels)
        assert (reported["study"], reported["run"]) == ("a study", "r001")
        assert (reported["factor_users"], reported["factor_search_index"]) == ("5", 'a "b"\\c')
        assert reported["stage"]
        assert reported["phase"]


def test_counters_end_at_the_number_of_exchanges(series):
    for family, key, names in (
        ("transactions_total", "transaction", TRANSACTIONS),
        ("requests_total", "step", [f"{name} / request" for name in TRANSACTIONS]),
    ):
        found = Counter()
        for labels, points in of(series, family):
            found[labels[key], labels["outcome"]] += points[-1].value
        assert found == Counter((names[exchange.transaction], exchange.failure or "ok") for exchange in EXCHANGES)


def test_every_counter_begins_with_zero_and_never_falls(series):
    for family in ("transactions_total", "requests_total", "transaction_response_time_seconds_count"):
        assert of(series, family)
        for _, points in of(series, family):
            assert points[0].value == 0.0
            assert all(point.value <= other.value for point, other in pairwise(points))


def test_buckets_hold_the_times_of_the_exchanges(series):
    found = Counter()
    for labels, points in of(series, "transaction_response_time_seconds_bucket"):
        found[labels["le"]] += points[-1].value
    times = [exchange.end - exchange.intended for exchange in EXCHANGES if exchange.failure not in UNTIMED]
    assert found["+Inf"] == len(times)
    for edge in BOUNDS_S:
        near = sum(0.998 * edge < time < 1.002 * edge for time in times)
        assert abs(found[repr(edge)] - sum(time <= edge for time in times)) <= near
    total = sum(points[-1].value for _, points in of(series, "transaction_response_time_seconds_sum"))
    assert total == pytest.approx(sum(times), abs=1e-7)


def test_time_of_every_series_goes_forward_and_ends_with_a_marker(series):
    for labels, points in series.items():
        assert all(sample.at_ms < other.at_ms for sample, other in pairwise(points)), labels
        assert points[-1].is_stale, labels
        assert not any(point.is_stale for point in points[:-1]), labels
        assert points[0].at_ms >= WALL_NS // 1_000_000


def test_gauges_are_those_of_each_second(series):
    (users,) = [points for labels, points in of(series, "users") if labels["phase"] == "steady"]
    assert all(point.value == pytest.approx(5.0) for point in users)
    assert [labels["tier"] for labels, _ in of(series, "tier_cpus_used")].count("content") >= 1
    for _, points in of(series, "response_time_quantile_seconds"):
        assert all(point.value > 0 for point in points)


def test_families_are_described_once_in_the_first_request(bodies):
    described = decode(bodies[0].content).metadata
    assert described["towtank_live_transactions_total"][0] == 2 - 1
    assert described["towtank_live_request_response_time_seconds"][0] == 3
    names = {dict(labels)["__name__"] for body in bodies for labels, _ in decode(body.content).series}
    families = {name.removesuffix("_bucket").removesuffix("_count").removesuffix("_sum") for name in names}
    assert families <= set(described)
    assert not decode(bodies[1].content).metadata


def test_points_are_counted(bodies):
    for body in bodies:
        assert body.points == sum(len(points) for _, points in decode(body.content).series)


def test_a_thread_that_comes_late_changes_no_past(tmp_path):
    run = write_mixed_run(tmp_path / "r001")
    encoder = PrometheusEncoder(SOURCE, MaterialReader())
    update = Gatherer(run).update(last=True)
    ends = defaultdict(list)
    for _ in range(2):  # The same seconds are added a second time, so they are late.
        for body in encoder.encode(update):
            for labels, points in decode(body.content).series:
                ends[labels] += points
    for points in ends.values():
        assert all(point.at_ms < other.at_ms for point, other in pairwise(points))


def test_stale_marker_is_the_one_not_a_number_of_prometheus():
    content = remote_write.time_series(remote_write.labels("up", {}), [remote_write.stale(1)])
    assert bytes.fromhex("020000000000f07f") in content
    assert math.isnan(Point(1, math.nan, 0).value)


def test_counts_up_to_take_whole_buckets():
    class Few:
        def __init__(self):
            self.middles_s, self.counts = np.array([0.00005, 0.0015, 70.0]), np.array([1, 2, 4])

    counts = dict(zip(BOUNDS_S, counts_up_to(Few()), strict=True))
    assert (counts[1e-4], counts[1e-3], counts[2e-3], counts[50.0]) == (1, 1, 3, 3)


def test_label_of_a_factor_is_the_one_of_the_export():
    assert label_name("search index") == "factor_search_index"

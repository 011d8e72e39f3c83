"""Smallest and largest accepted values in the lines of recorded streams."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.results import segments
from towtank.results.stream_forms import (
    LARGEST,
    LARGEST_METRIC,
    LARGEST_NS,
    IntervalForm,
    MetricsForm,
    SampleForm,
    SegmentHeader,
    has_form,
)

SERIES = {"of": "step", "id": 0}
INTERVAL: dict[str, Any] = {
    "t0_ns": 0, "t1_ns": 1, "stage": 0, "users": 0, "user_ns": 0, "in_flight": 0, "cpu_ns": 0, "series": [],
}  # fmt: skip
INSTANT, SPAN, COUNT, NUMBER = (-LARGEST_NS, LARGEST_NS), (0, LARGEST_NS), (0, LARGEST), (0, 10**9)


def test_the_largest_values_are_a_century_and_a_million_times_a_milliard() -> None:
    assert LARGEST_NS == 100 * 365.25 * 86_400 * 10**9
    assert LARGEST == 1e15
    assert LARGEST_METRIC == 1e30


@pytest.mark.parametrize(
    ("key", "limits"),
    [
        ("t0_ns", INSTANT),
        ("t1_ns", INSTANT),
        ("stage", NUMBER),
        ("users", COUNT),
        ("user_ns", SPAN),
        ("in_flight", COUNT),
        ("connections", COUNT),
        ("waiting", COUNT),
        ("cpu_ns", SPAN),
        ("gap_ns", SPAN),
        ("gaps_sum_ns", SPAN),
        ("stalled_ns", SPAN),
    ],
)
def test_an_interval_has_no_time_or_count_beyond_its_limits(key: str, limits: tuple[int, int]) -> None:
    low, high = limits
    accepted = {value: has_form(IntervalForm, {**INTERVAL, key: value}) for value in (low - 1, low, high, 2 * high)}
    assert accepted == {low - 1: False, low: True, high: True, 2 * high: False}


@pytest.mark.parametrize(
    ("key", "limits"),
    [("id", NUMBER), ("group", NUMBER), ("ok", COUNT), ("bytes_in", COUNT), ("response_sum_ns", SPAN)],
)
def test_a_series_has_no_time_or_count_beyond_its_limits(key: str, limits: tuple[int, int]) -> None:
    low, high = limits
    for value, accepted in ((low - 1, False), (low, True), (high, True), (2 * high, False)):
        assert has_form(IntervalForm, {**INTERVAL, "series": [{**SERIES, key: value}]}) is accepted, value


@pytest.mark.parametrize(
    ("code", "accepted"), [("099", False), ("100", True), ("999", True), ("1000", False), ("20", False), ("2x0", False)]
)
def test_a_status_code_has_three_digits(code: str, accepted: bool) -> None:
    assert has_form(IntervalForm, {**INTERVAL, "series": [{**SERIES, "status_codes": {code: 1}}]}) is accepted


@pytest.mark.parametrize(
    ("stage", "accepted"),
    [
        ({"start_s": -1e9, "end_s": 1e9}, True),
        ({"start_s": -1.001e9}, False),
        ({"start_s": 1.001e9}, False),
        ({"end_s": -1.001e9}, False),
        ({"end_s": 1.001e9}, False),
        ({"end_s": -1e9, "start_s": 1e9}, True),
        ({"rate": 0.0}, True),
        ({"rate": -0.001}, False),
        ({"rate": float(LARGEST)}, True),
        ({"rate": 1.001 * LARGEST}, False),
        ({"rate": float("nan")}, False),
        ({"users": -1}, False),
    ],
)
def test_a_stage_lies_within_the_times_and_loads_that_are_possible(stage: dict[str, float], accepted: bool) -> None:
    assert has_form(SegmentHeader, {"stages": [stage]}) is accepted


@pytest.mark.parametrize(("form", "key"), [(SampleForm, "host"), (MetricsForm, "values")])
@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        (LARGEST_METRIC, True),
        (-LARGEST_METRIC, True),
        (1.001 * LARGEST_METRIC, False),
        (-1.001 * LARGEST_METRIC, False),
        (float("nan"), False),
        ([0, [float("inf")]], False),
        ("a text", True),
        (None, True),
    ],
)
def test_a_metric_is_finite_however_deep_it_lies(
    form: type[SampleForm | MetricsForm], key: str, value: object, accepted: bool
) -> None:
    assert has_form(form, {"t_ns": 1, key: {"a": {"b": [1, value]}}}) is accepted


def test_only_metrics_are_searched_for_numbers_that_are_not_finite() -> None:
    assert has_form(SegmentHeader, {"of_another_version": [float("nan")]})


@pytest.mark.parametrize(("end_ns", "accepted"), [(4, False), (5, True), (6, True)])
def test_an_interval_does_not_end_before_it_starts(end_ns: int, accepted: bool) -> None:
    found = segments.read_interval({**INTERVAL, "t0_ns": 5, "t1_ns": end_ns}, worker=1)
    assert (found is not None) is accepted


def test_keys_of_an_interval_that_were_not_recorded_are_unknown_or_zero() -> None:
    found = segments.interval(INTERVAL, worker=3)
    assert (found.worker, found.thinks, found.gap_s, found.arrivals, found.handshakes) == (3, None, None, [], {})
    assert (found.connections, found.waiting, found.think_count, found.think_sum_s, found.stalled_s) == (0, 0, 0, 0, 0)
    assert (found.gaps_sum_s, found.places_ok, found.places_failed, found.surplus, found.unasked) == (0, [], [], 0, 0)


def test_keys_of_an_interval_have_their_values_in_seconds() -> None:
    recorded = {
        "think": {"count": 2, "sum_ns": 3 * 10**9},
        "thinks": [{"group": 1, "pause": "x", "pause_sum_ns": 4 * 10**9}],
        "gap_ns": 0,
        "gaps_sum_ns": 5 * 10**9,
        "stalled_ns": 6 * 10**9,
        "user_ns": 7 * 10**9,
        "cpu_ns": 8 * 10**9,
        "places": {"ok": [1, 2], "failed": [0, 3]},
        "framing": {"surplus": 1, "unasked": 2},
        "series": [{**SERIES, "response_sum_ns": 9 * 10**9, "exchange_sum_ns": 10**10, "status_codes": {"200": 3}}],
    }
    found = segments.interval({**INTERVAL, **recorded}, worker=0)
    assert (found.think_count, found.think_sum_s, found.gap_s, found.gaps_sum_s, found.stalled_s) == (2, 3, 0, 5, 6)
    assert (found.user_s, found.cpu_s, found.places_ok, found.places_failed) == (7, 8, [1, 2], [0, 3])
    assert (found.surplus, found.unasked) == (1, 2)
    assert [(pauses.group, pauses.sum_s) for pauses in found.thinks or []] == [(1, 4)]
    (series,) = found.series
    assert (series.response_sum_s, series.exchange_sum_s, series.status_codes) == (9, 10, {200: 3})
    assert (series.picked, series.group, series.offered) == (None, None, 0)


@pytest.mark.parametrize(
    ("announced", "found", "ended", "workers", "finished"),
    [
        (2, {0, 1}, {0, 1}, 2, True),
        (2, {0, 1}, {0}, 2, False),
        (3, {0, 1}, {0, 1}, 3, False),
        (1, {0, 1}, {0}, 2, False),
        (1, {0}, set(), 1, False),
        (0, set(), set(), 0, False),
    ],
)
def test_a_recording_is_finished_when_every_thread_has_ended(
    announced: int, found: set[int], ended: set[int], workers: int, finished: bool
) -> None:
    recording = segments.Recording(SegmentHeader(workers=announced), [], dict.fromkeys(ended, ""), found)
    assert (recording.workers, recording.finished) == (workers, finished)

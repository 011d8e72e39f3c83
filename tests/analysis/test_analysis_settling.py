"""Conditions that end a settle or steady stage: the length of its record, and the series that must be at rest or
precise.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from towtank.analysis.windows import precision, settling
from towtank.analysis.windows.precision import RESPONSE_HALF_WIDTH, Precision
from towtank.analysis.windows.settling import (
    LOOKS,
    SettlingResult,
    SteadySeconds,
    _grouping,
    _of_backlog,
    _summed,
    least_window_s,
    look,
)


def record(
    count: int,
    *,
    ended: float = 100.0,
    response_s: float = 0.1,
    users: float | None = None,
    in_flight: object = 0.0,
    waiting: object = 0.0,
) -> SteadySeconds:
    """Return a record with the same number of transactions and the same response time in each second."""

    def column(value: object) -> np.ndarray:
        return np.broadcast_to(np.asarray(value, dtype=float), (count,)).copy()

    ends = np.arange(1.0, count + 1)
    counts = column(ended)
    return SteadySeconds(
        ends, column(1.0), counts, counts * response_s, column(in_flight), column(waiting), users, None
    )


@pytest.mark.parametrize(
    ("ended", "response_s", "users", "least_s"),
    [
        (100.0, 0.1, None, 10.0),
        (100.0, 2.0, None, 10.0),
        (100.0, 4.0, None, 20.0),
        (100.0, 0.1, 300.0, 10.0),
        (100.0, 0.1, 1000.0, 30.0),
        (100.0, 8.0, 1000.0, 40.0),
        (0.0, 0.1, None, math.inf),
    ],
)
def test_the_shortest_window_has_five_responses_and_three_cycles(
    ended: float, response_s: float, users: float | None, least_s: float
) -> None:
    assert least_window_s(record(40, ended=ended, response_s=response_s, users=users)) == pytest.approx(least_s)


def test_the_shortest_window_follows_from_the_last_twenty_seconds() -> None:
    ended = np.concatenate([np.full(20, 1.0), np.full(20, 100.0)])
    assert least_window_s(record(40, ended=ended, users=1000.0)) == pytest.approx(30.0)  # type: ignore[arg-type]
    assert least_window_s(record(5, users=1000.0)) == pytest.approx(30.0)


@pytest.mark.parametrize(
    ("count", "users", "window_s"),
    [(9, None, 9.0), (10, None, 10.0), (20, None, 10.0), (30, None, 15.0), (29, 1000.0, 29.0), (40, 1000.0, 30.0)],
)
def test_the_later_half_of_a_record_is_judged_but_no_less_than_the_shortest_window(
    count: int, users: float | None, window_s: float
) -> None:
    found = look(record(count, users=users))
    assert found.window_s == window_s
    too_short = count < 10 or (users is not None and count < 30)
    assert (found.why == "too short to be tested") is too_short
    assert found.steady is not too_short


def test_a_record_of_few_observations_or_transactions_is_not_judged() -> None:
    few = record(7, ended=1000.0)
    few = SteadySeconds(few.ends_s * 2, few.lengths_s * 2, *(few.ended, few.response_sum_s, few.in_flight, few.waiting))
    assert look(few).why == "too short to be tested"
    assert look(record(20, ended=0.0)).why == "no transaction has ended yet"
    assert look(record(20, ended=0.5)).why == "too few transactions for a test"


@pytest.mark.parametrize(
    ("ended", "count", "grouping"),
    [(5.0, 8, (1, 8)), (5.0, 7, None), (4.9, 16, (2, 8)), (4.9, 15, None), (2.5, 17, (2, 8)), (0.0, 8, None)],
)
def test_an_observation_has_five_transactions(ended: float, count: int, grouping: tuple[int, int] | None) -> None:
    assert _grouping(record(count, ended=ended)) == grouping


def test_seconds_that_fill_no_observation_are_left_out_at_the_start() -> None:
    assert _summed(np.array([9.0, 1.0, 2.0, 3.0, 4.0]), 2, 2).tolist() == [3.0, 7.0]
    assert record(3, ended=np.array([1.0, 2.0, 3.0])).last(2).ended.tolist() == [2.0, 3.0]  # type: ignore[arg-type]


RAMP = np.linspace(0.0, 1.0, 20)


@pytest.mark.parametrize(
    ("in_flight", "waiting", "text"),
    [
        (0.9 * RAMP, 0.0, ""),
        (2.0 * RAMP, 0.0, "the backlog grows by 2 over 19 s"),
        (0.0, 3.0 * RAMP, "the backlog grows by 3 over 19 s"),
        (4.0 - 4.0 * RAMP, 0.0, "the backlog falls by 4 over 19 s"),
        (2.0 * RAMP, 2.0 - 2.0 * RAMP, ""),
        (1000.0 + 2.0 * RAMP, 0.0, ""),
        (5.0, 5.0, ""),
    ],
)
def test_a_backlog_that_changes_by_more_than_a_request_is_no_rest(
    in_flight: object, waiting: object, text: str
) -> None:
    changes: dict[str, float] = {}
    assert _of_backlog(record(20, in_flight=in_flight, waiting=waiting), changes) == text
    expected = float(np.ptp(in_flight) + np.ptp(waiting))
    assert abs(changes["backlog"]) == pytest.approx(expected if text else abs(changes["backlog"]))


def test_a_stage_ends_after_consecutive_tests_that_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    results = iter([True] * (LOOKS - 1) + [False] + [True] * LOOKS)
    monkeypatch.setattr(settling, "look", lambda _seconds: SettlingResult(next(results), 1.0))
    stage = settling.Settling()
    ended = [stage.take(record(10)) for _ in range(2 * LOOKS)]
    assert ended == [False] * (2 * LOOKS - 1) + [True]
    assert stage.rested == LOOKS


@pytest.mark.parametrize(("at_least_s", "ends"), [(9.0, True), (10.0, True), (10.1, False)])
def test_a_stage_lasts_at_least_as_long_as_the_study_says(
    monkeypatch: pytest.MonkeyPatch, at_least_s: float, ends: bool
) -> None:
    monkeypatch.setattr(settling, "look", lambda _seconds: SettlingResult(True, 1.0))
    stage = settling.Settling(at_least_s, rested=LOOKS)
    assert stage.take(record(10)) is ends


@pytest.mark.parametrize(
    ("at_least_s", "widths", "steady", "ends"),
    [
        (10.0, (0.05, RESPONSE_HALF_WIDTH), True, True),
        (10.1, (0.05, 0.1), True, False),
        (9.9, (0.05, 0.1), True, True),
        (10.0, (0.051, 0.1), True, False),
        (10.0, (None, 0.1), True, False),
        (10.0, (0.05, RESPONSE_HALF_WIDTH + 0.01), True, False),
        (10.0, (0.05, None), True, False),
        (10.0, (0.05, 0.1), False, False),
    ],
)
def test_a_stage_ends_if_throughput_and_response_times_are_precise(
    monkeypatch: pytest.MonkeyPatch,
    at_least_s: float,
    widths: tuple[float | None, float | None],
    steady: bool,
    ends: bool,
) -> None:
    seconds = record(10, ended=7.0)
    monkeypatch.setattr(precision, "without_transient", lambda found: found)
    monkeypatch.setattr(precision, "look_for_trend", lambda _found: SettlingResult(steady, 10.0))
    known = dict(zip((id(seconds.ended), id(seconds.response_sum_s)), widths, strict=True))
    monkeypatch.setattr(precision, "_half_width", lambda tops, _bottoms, _alike=None: known[id(tops)])
    stage = Precision(0.05, at_least_s)
    assert stage.take(seconds) is ends
    assert stage.half_width == widths[0]


def test_a_stage_with_a_long_transient_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "without_transient", lambda _found: None)
    assert not Precision(1.0, 0.0).take(record(40))


def test_the_half_width_is_relative_to_the_value() -> None:
    noise = np.tile([1.0, -1.0, 1.0, 1.0, -1.0, -1.0], 10)
    one = precision._half_width(100.0 + noise, np.ones(60))
    ten = precision._half_width(1000.0 + 10 * noise, np.ones(60))
    assert one is not None
    assert one == pytest.approx(ten)
    assert one < 0.01
    assert precision._half_width(np.zeros(60), np.ones(60)) is None
    assert precision._half_width(np.ones(1), np.ones(1)) is None


def test_the_judged_part_counts_seconds_from_the_end() -> None:
    found = record(20)
    found.lengths_s[0] = 10.0
    assert look(found).window_s == 15.0

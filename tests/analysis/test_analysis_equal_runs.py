"""Runs with equal or nearly equal throughput, as a rate limit in the tested system can cause."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from towtank.analysis.aggregation import over_runs
from towtank.analysis.claims.places import Places
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics import ratio_interval
from towtank.distributions import poisson_interval


def run_of(throughput: float | None, end_s: float | None = 22.0, half: float | None = None) -> dict[str, Any]:
    """Return a run whose window begins at 2 s; `half` is the half width of the interval of its throughput. [1/s]"""
    bounds = {"low": None, "high": None}
    if half is not None and throughput is not None:
        bounds = {"low": throughput - half, "high": throughput + half}
    return {
        "run": f"r{end_s}",
        "factors": {},
        "verdict": {"level": "valid"},
        "window": None if end_s is None else {"start_s": 2.0, "end_s": end_s},
        "throughput_per_s": {"value": throughput, **bounds, "n": 8},
    }


read = RunSummary.read


def test_equal_counts_are_known_like_those_of_independent_arrivals() -> None:
    found = over_runs([run_of(50.0), run_of(50.0)], "throughput_per_s")
    low, high = poisson_interval(2000, 0.95)
    assert (found.value, found.low, found.high) == (50.0, low / 40, high / 40)


def test_equal_counts_of_nothing_have_an_upper_end() -> None:
    """If no event was counted, the two-sided upper limit of the mean count is -ln(0.025) (Garwood 1936)."""
    found = over_runs([run_of(0.0), run_of(0.0)], "throughput_per_s")
    assert (found.low, found.high) == (0.0, pytest.approx(-np.log(0.025) / 40))


def test_counts_whose_seconds_were_all_equal_are_known_to_one_request() -> None:
    found = over_runs([run_of(50.0, half=0.0), run_of(50.0, half=0.0)], "throughput_per_s")
    assert (found.low, found.high) == (50.0 - 1 / 20, 50.0 + 1 / 20)


def test_nearly_equal_counts_are_not_known_better_than_equal_ones() -> None:
    # In a window of 20 s, the last run has one request more than each other run. The half width of the interval is
    # still one request, 1 / 20 /s.
    runs = [run_of(50.0)] * 3 + [run_of(50.0 + 1 / 20)]
    found = over_runs(runs, "throughput_per_s")
    assert found.value is not None
    assert (found.low, found.high) == (pytest.approx(found.value - 1 / 20), pytest.approx(found.value + 1 / 20))


def test_one_request_more_is_no_difference() -> None:
    first, second = (
        over_runs([run_of(rate, half=0.0), run_of(rate, half=0.0)], "throughput_per_s") for rate in (50.05, 50.0)
    )
    ratio = ratio_interval(first, second)
    assert ratio.low is not None and ratio.high is not None
    assert ratio.low < 1 < ratio.high


def test_a_claim_about_equal_runs_has_an_interval() -> None:
    found = Places([], [read(run_of(10.0, 12.0)), read(run_of(10.0, 12.5))]).quantity("throughput", None, {})
    assert found.low is not None and found.high is not None
    assert 5 < found.low < 10 < found.high < 15


def test_counts_that_are_equal_by_chance_have_intervals_that_hold() -> None:
    """About 9 % of pairs of Poisson counts with mean 10 are equal. More than 93 % of their intervals must contain the
    true rate, 10 / 20 s = 0.5 /s.
    """
    random = np.random.default_rng(20261128)
    pairs = random.poisson(10, (20_000, 2))
    equal = pairs[pairs[:, 0] == pairs[:, 1], 0]
    held = 0
    for count in equal:
        found = over_runs([run_of(count / 20), run_of(count / 20)], "throughput_per_s")
        assert found.low is not None and found.high is not None
        held += found.low <= 0.5 <= found.high
    assert held / len(equal) > 0.93


def test_different_throughputs_keep_the_interval_of_student() -> None:
    found = over_runs([run_of(49.0), run_of(51.0)], "throughput_per_s")
    assert found.low == pytest.approx(50.0 - 12.7062, abs=1e-4)


@pytest.mark.parametrize("runs", [[run_of(50.0)], [run_of(50.0, None), run_of(50.0, None)]])
def test_one_run_or_runs_without_a_window_have_none(runs: list[dict[str, Any]]) -> None:
    assert over_runs(runs, "throughput_per_s").low is None


def test_a_single_count_is_not_known_better_than_to_one_request() -> None:
    found = over_runs([run_of(50.0, half=0.0)], "throughput_per_s")
    assert (found.low, found.high) == (50.0 - 1 / 20, 50.0 + 1 / 20)


@pytest.mark.parametrize("count", [1, 2])
def test_counts_of_nothing_in_equal_seconds_have_an_upper_end(count: int) -> None:
    """Runs without any request have an error of 0 within each run, but the upper limit of the mean count is
    -ln(0.025).
    """
    found = over_runs([run_of(0.0, half=0.0)] * count, "throughput_per_s")
    assert (found.low, found.high) == (0.0, pytest.approx(-np.log(0.025) / (20 * count)))


def test_one_request_more_per_user_is_no_difference() -> None:
    loaded = [
        [{**run_of(rate, half=0.0), "run": name, "users": {"asked": 10, "mean": 10.0}} for name in ("r1", "r2")]
        for rate in (50.05, 50.0)
    ]
    first, second = (Places([], list(map(read, runs))).quantity("throughput", "load", {}) for runs in loaded)
    assert (second.low, second.high) == (pytest.approx(5.0 - 1 / 200), pytest.approx(5.0 + 1 / 200))
    ratio = ratio_interval(first, second)
    assert ratio.low is not None and ratio.high is not None
    assert ratio.low < 1 < ratio.high


def test_throughputs_of_a_phase_and_during_an_event_have_their_own_windows() -> None:
    """Each of two runs has 0.5 /s in a window of 10 s, which are 5 events. Together these are 10 events in 20 s, with
    the exact interval 0.240 to 0.920 /s.
    """
    phase = {"start_s": 0.0, "end_s": 10.0, "throughput_per_s": 0.5, "response_mean_s": None, "tiers": {}}
    during = {"length_s": 10.0, "throughput_per_s": 0.5}
    runs = [
        {**run_of(50.0), "run": name, "phases": {"ramp_up": phase}, "events": {"kill": {"during": during}}}
        for name in ("r1", "r2")
    ]
    for about in ("phases.ramp_up", "events.kill.during"):
        found = Places([], list(map(read, runs))).quantity(f"{about}.throughput_per_s", None, {})
        assert (found.low, found.high) == (pytest.approx(0.240, abs=1e-3), pytest.approx(0.920, abs=1e-3))


def test_two_counts_that_are_nearly_equal_by_chance_have_intervals_that_hold() -> None:
    """Two Poisson counts with mean 3 are divided by windows that differ by 10 µs, as the clock of a run measures them.
    More than 95 % of the intervals must contain the true rate, 3 / 20 s.
    """
    random = np.random.default_rng(20261129)
    held = 0
    for first, second in random.poisson(3, (4000, 2)):
        runs = [run_of(first / 20), run_of(second / 20.00001, 22.00001)]
        found = over_runs(runs, "throughput_per_s")
        assert found.low is not None and found.high is not None
        held += found.low <= 3 / 20 <= found.high
    assert held / 4000 > 0.95

"""Runs whose throughputs are equal: a limit sets the pace, and every window counts the same number of requests."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.analysis.aggregation import over_runs


def run_of(throughput: float | None, end_s: float | None = 10.0) -> dict[str, Any]:
    window = None if end_s is None else {"start_s": 2.0, "end_s": end_s}
    return {"window": window, "throughput_per_s": {"value": throughput, "low": None, "high": None, "n": 8}}


def test_equal_throughputs_are_known_to_one_request_in_the_shortest_window() -> None:
    found = over_runs([run_of(50.0), run_of(50.0, 12.0), run_of(50.0)], "throughput_per_s")
    assert (found.value, found.low, found.high) == (50.0, 50.0 - 1 / 8, 50.0 + 1 / 8)
    assert found.n == 3


def test_an_interval_of_a_count_is_not_negative() -> None:
    found = over_runs([run_of(0.0), run_of(0.0)], "throughput_per_s")
    assert (found.low, found.high) == (0.0, pytest.approx(1 / 8))


def test_nearly_equal_throughputs_are_not_known_better_than_equal_ones() -> None:
    found = over_runs([run_of(50.0), run_of(50.0), run_of(50.0), run_of(50.0 + 1 / 80)], "throughput_per_s")
    assert found.value is not None
    assert (found.low, found.high) == (pytest.approx(found.value - 1 / 8), pytest.approx(found.value + 1 / 8))


def test_different_throughputs_keep_the_interval_of_student() -> None:
    found = over_runs([run_of(49.0), run_of(51.0)], "throughput_per_s")
    assert found.low == pytest.approx(50.0 - 12.7062, abs=1e-4)


@pytest.mark.parametrize("runs", [[run_of(50.0)], [run_of(50.0, None), run_of(50.0, None)]])
def test_one_run_or_runs_without_a_window_have_none(runs: list[dict[str, Any]]) -> None:
    assert over_runs(runs, "throughput_per_s").low is None

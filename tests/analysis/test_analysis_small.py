"""Small numbers of a run, each from a few lines of known input."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from synthetic_runs import encode_histogram

from towtank.analysis.audit.arrivals import _pooled
from towtank.analysis.drive import times_ms
from towtank.analysis.run.summary import _sending_cpus
from towtank.analysis.statistics import goodness, histograms
from towtank.analysis.unfinished import _drain, failed_by_kind


def test_seconds_are_pooled_until_five_arrivals_are_expected() -> None:
    """Two a second: three seconds expect six; what is left at the end goes to the last stretch."""
    counts, expected = _pooled(np.arange(1.0, 12.0), np.full(11, 2.0))
    assert list(expected) == [6, 6, 10]
    assert list(counts) == [6, 15, 45]


def test_equal_statistics_count_on_both_sides() -> None:
    """One draw from two equal cells: every order has the same statistic, so that none is beyond it."""
    assert goodness._drawn(1.0, 1, np.array([0.5, 0.5])) == (1.0, 1.0)


def test_times_of_a_drive_are_milliseconds() -> None:
    merged = histograms.decode(encode_histogram([2e6] * 98 + [10e6, 40e6]))
    timed: Any = SimpleNamespace(merged=lambda chosen: merged)
    found = times_ms(timed, np.array([0.1, 0.146]), np.array([True, True]))
    assert found["mean"] == pytest.approx(2.46)
    assert found["min"] == pytest.approx(2.0, rel=2e-3)
    assert found["max"] == pytest.approx(40.0, rel=2e-3)
    nothing: Any = SimpleNamespace(merged=lambda chosen: None)
    assert set(times_ms(nothing, np.zeros(1), np.array([True])).values()) == {None}


@pytest.mark.parametrize(
    ("events", "cpus"),
    [
        ([], None),
        ([{"k": "begun", "cpu_s": 1.0, "seconds": 2.0}], None),
        ([{"k": "sent", "cpu_s": 0.5, "seconds": 0}], None),
        ([{"k": "sent", "cpu_s": None, "seconds": 10}], None),
        ([{"k": "sent", "cpu_s": 0.5, "seconds": 0.5}], 1.0),
        ([{"k": "sent", "cpu_s": 0.5, "seconds": 10}], 0.05),
    ],
)
def test_sending_takes_its_cpu_time_over_its_seconds(events: list[dict[str, Any]], cpus: float | None) -> None:
    assert _sending_cpus(events) == cpus


def test_the_drain_is_the_last_stage_if_it_follows_the_window() -> None:
    stages = [
        {"name": "steady", "start_s": 0.0},
        {"name": "ramp_down", "start_s": 10.0},
        {"name": "drain", "start_s": 12.0},
    ]
    measurement: Any = SimpleNamespace(stages=stages, stage=np.array([0, 0, 1, 2, 2]))
    ends: Any = SimpleNamespace(planned_end_s=12.0)
    assert list(_drain(measurement, ends)) == [False, False, False, True, True]  # type: ignore[arg-type]
    assert _drain(measurement, SimpleNamespace(planned_end_s=10.0)) is None  # type: ignore[arg-type]
    measurement.stages = stages[:2]
    assert _drain(measurement, ends) is None


def test_failures_are_counted_in_the_bins_chosen() -> None:
    counts = {"timeout": np.array([1, 2, 4]), "closed": np.array([0, 0, 8])}
    column: Any = SimpleNamespace(failed_by_kind=counts)
    assert failed_by_kind(column, np.array([True, True, False])) == {"timeout": 3}
    assert failed_by_kind(column, np.array([False, True, True])) == {"closed": 8, "timeout": 6}

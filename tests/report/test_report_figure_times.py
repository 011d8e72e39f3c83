"""Figures of response times and percentiles, and the axes of times."""

from __future__ import annotations

import pytest
import report_synthetic as synthetic
from drawn_figures import find

from towtank.report.figures import (
    panel,
    percentiles,
    response_time,
    series,
)


def test_response_time_has_mean_and_p95() -> None:
    numbers = response_time.compute(synthetic.results())
    # Without the index, 120 users with a think time Z of 1 s have R = N / X - Z = 120 / 62.5 - 1 = 0.92 s.
    assert find(numbers.points["mean"], "search_index absent", 120).value == pytest.approx(0.92)
    assert find(numbers.points["p95"], "search_index absent", 120).value == pytest.approx(0.92 * 2.2)
    assert numbers.unit == "s"


def at(load: float, value: float, state: str = "valid", half: float = 0.0) -> series.Point:
    return series.Point("a", load, value, value - half, value + half, state, (f"r{load:g}",))


def test_times_far_apart_have_a_logarithmic_axis_that_says_so() -> None:
    axis = panel.time_axis("mean [ms]", [at(1, 2.0), at(2, 70.0)])
    assert axis["title"] == "mean [ms], logarithmic"
    assert axis["scale"] == {"type": "log", "domain": [1.0, 100.0], "clamp": True}
    assert axis["axis"]["values"] == [1, 2, 5, 10, 20, 50, 100]
    assert panel.time_axis("mean [ms]", [at(1, 2.0), at(2, 50.0)])["title"] == "mean [ms]"


def test_runs_that_do_not_count_set_no_scale() -> None:
    axis = panel.time_axis("mean [ms]", [at(1, 2.0), at(2, 10.0, half=2.0), at(3, 9000.0, "invalid")])
    assert axis["scale"]["domainMax"] == pytest.approx(12.0 * 1.04)
    # All points are invalid. They are drawn as crosses, so the scale must include them.
    assert panel.time_axis("mean [ms]", [at(3, 9000.0, "invalid")])["scale"]["domainMax"] > 9000


def test_a_short_axis_labels_powers_of_ten_only() -> None:
    points = [at(1, 20.0), at(2, 2000.0)]
    assert panel.time_axis("mean [ms]", points, 115)["axis"]["values"] == [10.0, 100.0, 1000.0, 10000.0]
    assert 50.0 in panel.time_axis("mean [ms]", points)["axis"]["values"]


def test_percentiles_are_those_of_the_points_that_count() -> None:
    numbers = percentiles.compute(synthetic.results(verdicts={"r003": "invalid"}))
    assert find(numbers.points["p99"], "search_index absent", 120).value == pytest.approx(0.92 * 3.5)
    assert [point.load for point in numbers.points["p50"] if point.configuration == "search_index present"] == [
        30,
        60,
        120,
    ]

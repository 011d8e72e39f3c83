"""Figure of scaling: throughput relative to the lowest common level, beside ideal scaling."""

from __future__ import annotations

import pytest
import report_synthetic as synthetic
from drawn_figures import find

from towtank.report.figures import (
    scaling,
)


def test_scaling_is_relative_to_the_lowest_level() -> None:
    numbers = scaling.compute(synthetic.results())
    assert find(numbers.points, "search_index present", 30).value == pytest.approx(1.0)
    # Throughput is 90 / 30 = 3 times that of 30 users at 90 users, and 100 / 29.70 = 3.367 times at 120 users. This is
    # 3.367 / 4 of ideal scaling.
    assert find(numbers.points, "search_index present", 90).value == pytest.approx(3.0)
    top = find(numbers.points, "search_index present", 120)
    assert top.value == pytest.approx(100 / (30 / 1.010))
    assert scaling.efficiency(numbers, top) == pytest.approx(top.value / 4)


def test_scaling_has_the_lowest_level_that_counts_in_all_configurations_as_its_base() -> None:
    # At 30 users, the configuration with the index has no valid run, so 60 users are the base of the scaling.
    numbers = scaling.compute(synthetic.results(verdicts={"r001": "invalid"}))
    assert numbers.common == 60
    for label in ("search_index present", "search_index absent"):
        assert numbers.base[label] == pytest.approx(60)
        assert find(numbers.points, label, 60).value == pytest.approx(1.0)
    figure = scaling.figure(synthetic.results(verdicts={"r001": "invalid"}))
    assert figure is not None
    assert "divided by the value of the same configuration at 60, the lowest common level." in figure.note


def test_lines_of_ideal_scaling_begin_at_the_origin_and_are_1_at_their_base() -> None:
    numbers = scaling.compute(synthetic.results())
    (rows,) = [
        layer["data"]["values"]
        for layer in scaling.draw(numbers)["layer"]  # type: ignore[attr-defined]
        if layer["encoding"].get("detail", {}).get("field") == "slope"
    ]
    bases = {base for base in numbers.base.values() if base > 0}
    assert {(row["load"], row["value"], row["slope"]) for row in rows} == {
        point for base in bases for point in ((0.0, 0.0, 1 / base), (120, 120 / base, 1 / base))
    }


def test_scaling_needs_a_level_that_counts_in_all_configurations() -> None:
    verdicts = dict.fromkeys(("r001", "r002", "r007", "r008"), "invalid")
    assert scaling.figure(synthetic.results(verdicts=verdicts)) is None


def test_scaling_needs_a_level_above_its_base() -> None:
    """If only the highest level is valid in both configurations, no figure of the scaling is drawn.

    This level would be the base of the scaling, so each line would be a single point at a scaling of 1.
    """
    verdicts = dict.fromkeys(("r001", "r002", "r003"), "invalid")
    assert scaling.compute(synthetic.results(verdicts=verdicts)).common == synthetic.LEVELS[-1]
    assert scaling.figure(synthetic.results(verdicts=verdicts)) is None


def test_scaling_has_the_intervals_of_ratios() -> None:
    # Two throughputs with errors of 5 % give their ratio an error of about sqrt(2) x 5 %. The point at the base load
    # has no interval.
    numbers = scaling.compute(synthetic.results())
    top = find(numbers.points, "search_index present", 120)
    assert top.low is not None
    assert top.high is not None
    assert (top.high - top.low) / 2 / top.value == pytest.approx(0.05 * 2**0.5, rel=0.06)
    assert find(numbers.points, "search_index present", 30).low is None

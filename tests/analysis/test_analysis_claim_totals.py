"""Claims about totals over the levels of a factor, compared with values computed by hand from textbook formulas."""

from __future__ import annotations

import random
from typing import Any

import pytest

from towtank.analysis import claims
from towtank.analysis.statistics import total_interval
from towtank.analysis.statistics.estimates import Estimate
from towtank.distributions import t_quantile

QUERY = {"name": "query", "levels": ["scan", "probe", "join"], "numeric": None}
Measured = dict[tuple[str, str], tuple[float, ...]]
"""Measured values by query and number of rows; a tuple has one value for each run."""
ROWS = {"name": "rows", "levels": ["small", "large"], "numeric": None}


def runs_of(values: Measured) -> list[dict[str, Any]]:
    """Return run summaries; each has the CPU demand of the database for one query and one number of rows."""
    return [
        {
            "run": f"{query}-{rows}-{number}",
            "status": "complete",
            "factors": {"query": query, "rows": rows},
            "verdict": {"level": "valid", "reasons": []},
            "users": {"asked": 1, "mean": 1.0},
            "tiers": {"database": {"cpu_demand_s": {"value": value, "low": None, "high": None, "method": "none"}}},
        }
        for (query, rows), measured in values.items()
        for number, value in enumerate(measured)
    ]


def judged(kind: str, holds: str, runs: list[dict[str, Any]], **measure: Any) -> dict[str, Any]:
    given = {"of": "tiers.database.cpu_demand_s", "total_over": "query", **measure}
    claim = {"says": "So it is.", "measure": {kind: given}, "holds": holds}
    (found,) = claims.judge({"name": "s", "factors": [QUERY, ROWS], "claims": [claim]}, runs).document()["claims"]
    assert isinstance(found, dict)
    return found


LARGE: Measured = {
    ("scan", "large"): (19.0, 20.0, 21.0),
    ("probe", "large"): (2.0, 3.0, 4.0),
    ("join", "large"): (6.0, 7.0, 8.0),
}
SMALL: Measured = {
    ("scan", "small"): (1.9, 2.0, 2.1),
    ("probe", "small"): (0.2, 0.3, 0.4),
    ("join", "small"): (0.6, 0.7, 0.8),
}


def test_the_effective_degrees_of_freedom_are_those_of_the_published_example() -> None:
    # JCGM 100:2008 (GUM), example in G.4.1. The combined standard uncertainty is 1.03 % with 18.999 effective degrees
    # of freedom. They are rounded down to 18, for which t = 2.10.
    parts = []
    for error, count in ((0.25, 10), (0.57, 5), (0.82, 15)):
        half = t_quantile(0.975, count - 1) * error
        parts.append(Estimate(100.0, 100.0 - half, 100.0 + half, "runs", count))
    total = total_interval(parts, independent=True)
    assert (total.value, total.n, total.method) == (300.0, 19, "runs")
    assert total.half_width == pytest.approx(2.10 * 1.03, abs=0.01)


def test_a_total_adds_means_and_widths_of_the_levels() -> None:
    # The total is 20 + 3 + 7 = 30 s. Each of these means over three runs has a standard deviation of 1 s and the half
    # width t * 1 s / sqrt(3). The half widths are added.
    found = judged("value", "> 22 s", runs_of(LARGE), at={"rows": "large"})
    assert (found["verdict"], found["unit"], found["measured"]["value"]) == ("confirmed", "s", 30.0)
    # 4.3027 is the 97.5 % quantile of Student's t with 2 degrees of freedom.
    assert found["measured"]["high"] == pytest.approx(30 + 3 * 4.3027 / 3**0.5, abs=1e-3)
    assert found["asks"] == "total over query of tiers.database.cpu_demand_s at rows large"
    assert len(found["runs"]) == 9


def test_a_total_over_named_levels_leaves_the_others_out() -> None:
    found = judged("value", "> 20 s", runs_of(LARGE), at={"rows": "large", "query": ["scan", "probe"]})
    assert found["measured"]["value"] == 23.0
    assert not any("join" in run for run in found["runs"])


def test_a_ratio_of_totals_is_not_the_mean_of_ratios() -> None:
    slow_probe = SMALL | {("probe", "small"): (27.2, 27.3, 27.4)}
    found = judged(
        "ratio", "between 0.9 and 1.1", runs_of(LARGE | slow_probe), at={"rows": "large"}, to={"rows": "small"}
    )
    assert (found["verdict"], found["measured"]["value"]) == ("confirmed", pytest.approx(1.0))


def test_a_difference_of_totals_adds_the_widths_of_the_levels() -> None:
    # The runs of one repetition (block) share the speed of the machine, so the errors of the three parts of a total are
    # added. The standard error is 3 / sqrt(3) for the total of 30, and a tenth of this for the total of 3. For the
    # difference it is sqrt(3 + 0.03) = sqrt(3 * 1.01), with 1.01^2 / (1 / 2 + 0.0001 / 2) = 2.04 degrees of freedom.
    found = judged("difference", "> 20 s", runs_of(LARGE | SMALL), at={"rows": "large"}, to={"rows": "small"})
    assert found["measured"]["value"] == pytest.approx(27.0)
    assert found["measured"]["high"] == pytest.approx(27 + t_quantile(0.975, 2.04) * (3 * 1.01) ** 0.5, abs=1e-3)


def test_a_difference_of_totals_holds_on_a_machine_that_drifts() -> None:
    """The interval of the difference of two totals contains the true value although the machine speed varies.

    The speed varies by 3 % from block to block, and each run by a further 1 %. If the parts of a block were treated as
    independent, too many intervals would not contain the true value.
    """
    random_ = random.Random(20261130)
    missed = 0
    for _ in range(1000):
        speeds = [random_.gauss(1, 0.03) for _ in range(3)]
        measured = {
            (query, rows): tuple(size * speed * random_.gauss(1, 0.01) for speed in speeds)
            for rows, size in (("large", 10.0), ("small", 1.0))
            for query in ("scan", "probe", "join")
        }
        found = judged("difference", "> 20 s", runs_of(measured), at={"rows": "large"}, to={"rows": "small"})
        missed += not found["measured"]["low"] <= 27.0 <= found["measured"]["high"]
    assert missed / 1000 <= 0.06


def test_a_total_with_a_missing_part_is_none() -> None:
    runs = [run for run in runs_of(LARGE) if run["factors"]["query"] != "join"]
    found = judged("value", "> 20 s", runs, at={"rows": "large"})
    assert (found["verdict"], found["why"]) == ("not_testable", "no run at rows large, query join")


def test_a_total_over_each_level_of_another_factor() -> None:
    found = judged("value", "> 2 s", runs_of(LARGE | SMALL), at={"rows": "all"})
    assert (found["verdict"], found["measured"]["value"]) == ("confirmed", pytest.approx(16.5))
    assert (found["needs_runs"], found["needs_at_least"]) == (None, None)


def test_a_part_without_an_interval_leaves_the_total_without_one() -> None:
    total = total_interval([Estimate(1.0, 0.9, 1.1, "runs", 3), Estimate(2.0, n=1)], independent=True)
    assert (total.value, total.low, total.n) == (3.0, None, 1)
    assert total_interval([Estimate(1.0, 0.9, 1.1, "runs", 3), Estimate(None)], independent=True).value is None


def test_counts_add_up_exactly() -> None:
    total = total_interval([Estimate(value, value, value, "count", 1) for value in (3.0, 4.0)], independent=True)
    assert (total.value, total.low, total.high, total.method) == (7.0, 7.0, 7.0, "count")


def test_intervals_of_totals_hold_as_often_as_they_say() -> None:
    # 2,000 totals of three means over three runs are simulated. A coverage of 95 % has a standard error of 0.5 %.
    random_ = random.Random(20261128)
    held = 0
    for _ in range(2000):
        parts = []
        for mean, deviation in ((20.0, 1.0), (3.0, 0.5), (7.0, 0.1)):
            drawn = [random_.gauss(mean, deviation) for _ in range(3)]
            centre = sum(drawn) / 3
            error = (sum((value - centre) ** 2 for value in drawn) / 2 / 3) ** 0.5
            half = t_quantile(0.975, 2) * error
            parts.append(Estimate(centre, centre - half, centre + half, "runs", 3))
        total = total_interval(parts, independent=True)
        assert total.low is not None and total.high is not None
        held += total.low <= 30.0 <= total.high
    assert 0.94 <= held / 2000 <= 0.985


def test_a_total_holds_on_a_machine_that_drifts() -> None:
    """The interval of a total contains the true value although the speed of the machine varies.

    The speed varies by 3 % from block to block, and each run by a further 1 %. If the four parts of a block were
    treated as independent, about 30 % of the intervals would be wrong.
    """
    random_ = random.Random(20261129)
    missed = {True: 0, False: 0}
    for _ in range(2000):
        speeds = [random_.gauss(1, 0.03) for _ in range(3)]
        parts = []
        for _level in range(4):
            drawn = [speed * random_.gauss(1, 0.01) for speed in speeds]
            centre = sum(drawn) / 3
            half = t_quantile(0.975, 2) * (sum((value - centre) ** 2 for value in drawn) / 2 / 3) ** 0.5
            parts.append(Estimate(centre, centre - half, centre + half, "runs", 3))
        for independent in missed:
            total = total_interval(parts, independent=independent)
            assert total.low is not None and total.high is not None
            missed[independent] += not total.low <= 4.0 <= total.high
    assert missed[True] / 2000 > 0.2
    assert missed[False] / 2000 <= 0.06

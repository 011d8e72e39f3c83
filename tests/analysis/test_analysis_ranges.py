"""The interval of a quantity that cannot be negative is cut off at 0. Its standard error is still that of the interval
before the cut.
"""

from __future__ import annotations

import pytest

from towtank.analysis import narrative
from towtank.analysis.aggregation import plain_over_runs
from towtank.analysis.combining import combined
from towtank.analysis.statistics import standard_error_of, t_interval
from towtank.analysis.statistics.estimates import Estimate

RATES = [120.0, 318.0]


def test_two_runs_that_differ_give_no_negative_throughput() -> None:
    found = combined([Estimate(rate) for rate in RATES])
    whole = t_interval(RATES)
    assert whole.low is not None
    assert whole.low < 0
    assert (found.value, found.low, found.high) == (219.0, 0.0, whole.high)
    assert narrative.interval(found) == "200 (0 to 1,500)"
    assert plain_over_runs(RATES) == found


def test_the_standard_error_is_that_of_the_whole_interval() -> None:
    found = combined([Estimate(rate) for rate in RATES])
    # The standard error of the mean of two values is half of their distance d: s / sqrt(2) with s = d / sqrt(2).
    assert standard_error_of(found) == pytest.approx(99.0, rel=1e-12)
    assert standard_error_of(t_interval(RATES)) == pytest.approx(99.0, rel=1e-12)


def test_a_difference_may_be_negative() -> None:
    whole = t_interval([-1.0, 2.0])
    assert whole.low is not None
    assert whole.low < 0

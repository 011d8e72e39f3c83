"""Tests of fit and intervals of fitted curves, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from towtank.model.fitting import goodness
from towtank.model.fitting.curves import LINEAR
from towtank.model.fitting.fit import Fit, fit_curve
from towtank.model.fitting.intervals import profile_intervals
from towtank.model.fitting.least_squares import Bounds
from towtank.model.fitting.observations import Floats, Observations, observations


def proportional(pairs: list[tuple[float, float]], error: float = 1e5) -> Fit:
    """A line through the origin through two repetitions at each of the loads 1, 2, 3, with errors that are alike: the
    half a percent that no throughput is known better than is small beside them."""
    rates = np.array(pairs).ravel()
    return fit_curve(LINEAR, observations(np.repeat([1.0, 2.0, 3.0], 2), rates, error=np.full(6, error)))


def test_lack_of_fit_is_the_f_of_its_definition() -> None:
    """Slope 268 / 28, residual sum of squares 2616 - 268^2 / 28. Each pair of repetitions differs by 2: pure error
    3 x 2 with 3 degrees of freedom, the rest is lack of fit with 3 levels - 1 parameter (Draper and Smith, section
    2.1)."""
    found = goodness.judge(proportional([(9, 11), (22, 24), (25, 27)]), None)
    test = next(test for test in found.tests if test["test"] == "lack of fit")
    statistic = (2616 - 268**2 / 28 - 6) / 2 / (6 / 3)
    assert test["freedom"] == [2, 3]
    assert test["statistic"] == pytest.approx(statistic, rel=1e-6)
    assert test["p_value"] == pytest.approx(stats.f.sf(statistic, 2, 3), rel=1e-6)


def test_repetitions_that_do_not_differ_are_no_pure_error() -> None:
    found = goodness.judge(proportional([(10, 10), (23, 23), (26, 26)], error=1.0), None)
    assert not [test for test in found.tests if test["test"] == "lack of fit"]


class Saturating:
    """1 - exp(-k N): points that are all near 1 bound k from below only."""

    name = "saturating"
    parameters = ("k",)

    def __init__(self, edge: float) -> None:
        self.bounds = Bounds(np.zeros(1), np.array([edge]))

    def throughput(self, parameters: Floats, load: Floats) -> Floats:
        return np.asarray(1 - np.exp(-parameters[:, :1] * load), dtype=float)

    def starts(self, points: Observations) -> Floats:
        return np.array([[0.5], [1.0], [3.0]])

    def derived(self, parameters: Floats) -> dict[str, Floats]:
        return {}


def saturating(edge: float) -> tuple[float | None, float | None]:
    load = np.array([1.0, 2, 3, 4, 5, 6])
    rates = 1 - np.exp(-2.0 * load) + np.array([0.04, -0.05, 0.03, -0.04, 0.05, -0.03])
    return profile_intervals(fit_curve(Saturating(edge), observations(load, rates, error=np.ones(6))))["k"]


def test_a_side_that_the_data_do_not_bound_has_no_end() -> None:
    """However large k is, the sum of squares stays below its limit: the interval is open, though k has a bound far
    away; a bound within reach is its end."""
    low, high = saturating(1e12)
    assert low is not None
    assert 1.0 < low < 2.0
    assert high is None
    assert saturating(5.0) == (pytest.approx(low, rel=1e-6), 5.0)


def test_the_end_of_a_profile_is_where_the_sum_of_squares_has_risen_to_its_limit() -> None:
    """Of a straight line the profile is a parabola, and its interval Student's: slope +- t s / sqrt(sum N^2)."""
    fit = proportional([(9, 11), (22, 24), (25, 27)])
    slope, spread = 268 / 28, np.sqrt((2616 - 268**2 / 28) / 5 / 28)
    reach = stats.t.ppf(0.975, 5) * spread
    # The end is interpolated between twelve points of the profile.
    assert profile_intervals(fit)["lambda"] == pytest.approx((slope - reach, slope + reach), rel=1e-6)

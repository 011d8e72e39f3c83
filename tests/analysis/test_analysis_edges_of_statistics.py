"""Statistics of series in limiting cases: too few values, no variation, a significance exactly at its level."""

from __future__ import annotations

import math

import numpy as np
import pytest

from towtank.analysis.elasticity import LARGEST, _least_mean, _share_of_time
from towtank.analysis.statistics.batches import lag_one, looks_independent
from towtank.analysis.statistics.change_points import ChangePoint, change_points, lasting_steps
from towtank.analysis.statistics.differences import mean_along_trend, ratio_along_trend
from towtank.analysis.statistics.estimates import NO_ESTIMATE
from towtank.analysis.user_groups import UserGroup

STEP = [1.02, 0.95, 0.99, 1.0, 1.12, 0.9, 0.5, 0.51, 0.48, 0.48, 0.55]


@pytest.mark.parametrize(
    ("values", "independent"),
    [
        ([1.0, -1.0] * 10, True),
        (list(range(20)), False),
        ([0.0, 1.0, 2.0], True),
        ([0.0, 1.0, 2.0, 3.0], False),
        ([5.0] * 20, True),
    ],
)
def test_neighbours_that_resemble_each_other_are_correlated(values: list[float], independent: bool) -> None:
    assert looks_independent(np.array(values, dtype=float)) is independent


@pytest.mark.parametrize(("level", "independent"), [(0.0275, True), (0.0277, False)])
def test_the_ratio_of_von_neumann_can_be_done_by_hand(level: float, independent: bool) -> None:
    # The differences between successive values of 0, 1, 2, 3 are 1, so the ratio of the sums of squares of differences
    # and of deviations is 3 / 5. For independent values, its mean is 2 and its variance is 8 / 15, so its score is -1.4
    # / sqrt(8 / 15) = -1.91703. The normal distribution has a probability of 0.02762 below this score.
    assert looks_independent(np.array([0.0, 1.0, 2.0, 3.0]), level) is independent


def test_the_correlation_of_neighbours_can_be_done_by_hand() -> None:
    # The deviations of 0, 1, 2, 3 from their mean are -1.5, -0.5, 0.5 and 1.5. So the lag-1 correlation is (0.75 - 0.25
    # + 0.75) / 5 = 0.25.
    assert lag_one(np.array([0.0, 1.0, 2.0, 3.0])) == pytest.approx(0.25)
    assert lag_one(np.ones(5)) == 0.0


@pytest.mark.parametrize(
    ("before", "after", "magnitude"),
    [(1.0, 2.0, 1.0), (2.0, 1.0, 1.0), (4.0, 5.0, 0.25), (0.0, 1.0, math.inf), (1.0, 0.0, math.inf), (0.0, 0.0, 0.0)],
)
def test_the_magnitude_of_a_change_is_relative_to_the_smaller_mean(
    before: float, after: float, magnitude: float
) -> None:
    assert ChangePoint(1, before, after, 0.5).magnitude == pytest.approx(magnitude)


def test_a_change_counts_below_its_significance_and_above_its_magnitude() -> None:
    (change,) = change_points(STEP)
    assert change.index == 6
    assert (change.before, change.after) == pytest.approx((np.mean(STEP[:6]), np.mean(STEP[6:])))
    assert change_points(STEP, max_p_value=change.p_value) == []
    assert change_points(STEP, max_p_value=1.001 * change.p_value) == [change]
    assert change_points(STEP, min_magnitude=change.magnitude) == []
    assert change_points(STEP, min_magnitude=0.999 * change.magnitude) == [change]


def test_of_several_changes_the_small_one_is_left_out() -> None:
    series = [*(10.0 + 0.1 * (n % 2) for n in range(20)), *(20.0 + 0.1 * (n % 2) for n in range(20))]
    series += [22.0 + 0.1 * (n % 2) for n in range(20)]
    assert [change.index for change in change_points(series)] == [20, 40]
    assert [change.index for change in change_points(series, min_magnitude=0.2)] == [20]
    assert [(at, round(low, 2), round(high, 2)) for at, low, high in lasting_steps(np.array(series), 0.001)] == [
        (20, 10.05, 20.05),
        (40, 20.05, 22.05),
    ]


def test_an_excursion_of_four_values_is_no_lasting_step() -> None:
    noise = 0.1 * (np.arange(40) % 2)
    for length, found in ((4, 0), (6, 2)):
        series = np.full(40, 10.0) + noise
        series[20 : 20 + length] += 5.0
        assert len(lasting_steps(series, 0.001)) == found


WAVE = np.array([1.0, 2.0, 1.0, 2.0, 1.0, 2.0])


def test_the_interval_along_a_trend_can_be_done_by_hand() -> None:
    # The four second differences are 2, -2, 2, -2. So a value has the variance 16 / (6 * 4), and the mean has the
    # standard error sqrt(2 / 3 / 6) = 1 / 3 with two degrees of freedom (floor of 4 * 18 / 35). The relative half width
    # is 4.30265 * (1 / 3) / 1.5 = 0.95614.
    half = 4.302653 / 3 / 1.5
    for found in (mean_along_trend(WAVE), ratio_along_trend(3 * WAVE, np.full(6, 3.0))):
        assert (found.value, found.n) == (1.5, 3)
        assert (found.low, found.high) == pytest.approx((1.5 * math.exp(-half), 1.5 * math.exp(half)), rel=1e-5)


@pytest.mark.parametrize(
    ("values", "interval"),
    [(np.arange(1.0, 7.0), (3.5, 3.5)), (np.arange(1.0, 6.0), (None, None)), (np.zeros(6), (None, None))],
)
def test_values_on_a_line_have_no_error_and_few_values_no_interval(
    values: np.ndarray, interval: tuple[float | None, float | None]
) -> None:
    found = mean_along_trend(values)
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == (interval if interval[0] is None else pytest.approx(interval))


def test_without_values_there_is_no_mean() -> None:
    assert mean_along_trend(np.zeros(0)) == NO_ESTIMATE
    assert ratio_along_trend(np.ones(6), np.zeros(6)) == NO_ESTIMATE
    assert ratio_along_trend(np.zeros(0), np.zeros(0)) == NO_ESTIMATE


def test_an_extremely_wide_interval_is_finite() -> None:
    found = mean_along_trend(np.array([0.0, 1e-6, 0.0, 0.0, 0.0, 1e-6]))
    assert found.high is not None
    assert math.isfinite(found.high)


@pytest.mark.parametrize(
    ("users", "response_s", "pace_s", "bounds"),
    [
        (20.0, 0.5, None, (0.25, 0.25)),
        (20.0, 3.0, None, (1.0, 1.0)),
        (20.0, 0.5, 2.0, (0.0, 0.0)),
        (20.2, 0.5, 2.0, (0.0, 0.0)),
        (20.3, 0.5, 2.0, ((2.03 - 2.0) / 2.03, 0.5 / 2.03)),
        (24.0, 2.4, 2.0, (1.0, 1.0)),
        (24.0, 2.376, 2.0, (0.99, 0.99)),
        (24.0, 2.37, 2.0, (0.4 / 2.4, 2.37 / 2.4)),
        (23.9, 2.39, 2.0, (0.39 / 2.39, 1.0)),
    ],
)
def test_users_at_their_pace_absorb_a_longer_response(
    users: float, response_s: float, pace_s: float | None, bounds: tuple[float, float]
) -> None:
    group = UserGroup(("all",), users, 10.0, response_s, pace_s, pace_is_fixed=pace_s is not None)
    assert _share_of_time(group) == pytest.approx(bounds)


def test_the_least_mean_weights_the_smallest_values_most() -> None:
    assert _least_mean([0.2], [5.0]) == pytest.approx(0.2)
    low, high = 0.0, 1.0
    assert low < _least_mean([high, low], [1.0, 1.0]) < 0.5
    assert LARGEST > 1

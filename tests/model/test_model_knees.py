"""Knees (loads where throughput stops growing in proportion) of curves with a known knee."""

from __future__ import annotations

import numpy as np
import pytest

from towtank.model.fitting import knees
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.observations import observations
from towtank.model.fitting.selection import candidate

USERS = np.array([10.0, 25, 50, 75, 100, 125, 150, 200])
TRUTH = np.array([[0.02, 0.08]])
CURVE = ClosedCurve(1, 1.9)


def closed(spread: float = 0.01, seed: int = 4):  # type: ignore[no-untyped-def]
    rate = CURVE.throughput(TRUTH, USERS)[0]
    seen = rate * (1 + spread * np.random.default_rng(seed).standard_normal(len(USERS)))
    return observations(USERS, seen, error=spread * rate, think=np.full(len(USERS), 1.9))


def test_the_knee_of_the_model_is_where_the_asymptotes_meet() -> None:
    found = knees.model_knee(candidate("closed", closed(), 1, 1.9, None))
    # The knee is at (D + Z) / D_max = (0.1 + 1.9) / 0.02 = 100 users, with total demand D, think time Z and largest
    # demand D_max.
    assert found is not None
    assert found.low <= 100.0 <= found.high
    assert found.load == pytest.approx(100.0, rel=0.05)


def test_the_knee_of_power_by_brute_force() -> None:
    fitted = candidate("closed", closed(), 1, 1.9, None)
    found = knees.power_knee(fitted, 1.9)
    assert found is not None
    loads = np.arange(10.0, 201.0)
    rate = CURVE.throughput(TRUTH, loads)[0]
    best = loads[np.argmax(rate / (loads / rate - 1.9))]
    assert found.low <= best <= found.high


def test_the_knee_of_power_of_one_server_without_thinking_is_one_job() -> None:
    # Power is throughput divided by response time, X / R = X^2 / N. Here X is 10 /s at every load N, so power is
    # highest at the lowest measured load. It has no maximum inside the measured range, and thus no knee.
    load = np.array([1.0, 2, 4, 8, 16, 32])
    points = observations(load, np.full(6, 10.0) * (1 + 1e-3 * np.array([1, -1, 1, -1, 1, -1])))
    assert knees.power_knee(candidate("closed", points, 1, 0.0, None), 0.0) is None


def test_two_straight_lines_break_where_they_meet() -> None:
    load = np.arange(10.0, 201.0, 10.0)
    rate = np.where(load < 105, load, 105.0)
    found = knees.break_knee(observations(load, rate + 0.5 * np.random.default_rng(1).standard_normal(20)))
    assert found is not None
    assert found.low <= 105.0 <= found.high
    assert found.high - found.low < 10


@pytest.mark.parametrize("bend", [20.0, 25.0, 35.0, 40.0])
def test_a_break_leaves_two_of_five_levels_on_each_side(bend: float) -> None:
    load = np.arange(10.0, 51.0, 10.0)
    found = knees.break_knee(observations(load, np.minimum(load, bend)))
    assert found is not None
    assert found.load == bend


def test_the_interval_of_a_break_is_that_of_two_straight_lines() -> None:
    """The break is the load at which two fitted lines meet. Its interval has the width 2 x 2.12 sqrt(0.806) s.

    Each line has ten points. The break is 50 from their mean load, and the squared distances of the loads from this
    mean add up to 8,250. So the difference of both lines has, at the break, the variance 2 s^2 (1 / 10 + 50^2 / 8250) =
    0.806 s^2. The slopes differ by 1, so this is also the variance of the break, to first order. It has 20 - 4 = 16
    degrees of freedom: t(0.975, 16) = 2.12.
    """
    load = np.arange(10.0, 201.0, 10.0)
    # These deviations change neither the mean nor the slope of a line, so they are the residuals of both fits.
    wave = np.array([1, -1, -1, 1, 0, 0, 1, -1, -1, 1]) * 5.0
    found = knees.break_knee(observations(load, np.minimum(load, 105.0) + np.tile(wave, 2)))
    assert found is not None
    s = np.sqrt(np.sum(np.tile(wave, 2) ** 2) / 16)
    assert found.load == pytest.approx(105.0, abs=0.5)
    assert found.high - found.low == pytest.approx(2 * 2.12 * np.sqrt(0.806) * s, rel=0.25)


def test_a_straight_line_has_no_break_to_a_flatter_one() -> None:
    load = np.arange(1.0, 9.0)
    assert knees.break_knee(observations(load, load**1.5)) is None
    assert knees.break_knee(observations(load[:4], load[:4])) is None


def test_an_objective_is_passed_between_two_levels() -> None:
    load, seen = np.array([100.0, 200, 300]), np.array([0.2, 0.4, 1.2])
    found = knees.objective_knee(load, seen, np.full(3, 0.05), 0.8, "p95 < 0.8 s")
    # The response time is 0.4 s at 200 users and 1.2 s at 300 users. The limit, 0.8 s, is midway between these two, so
    # the load is 250.
    assert found is not None
    assert found.load == pytest.approx(250.0)
    assert 230 < found.low < 250 < found.high < 270
    assert knees.objective_knee(load, seen, None, 0.8, "").low is None  # type: ignore[union-attr]
    assert knees.objective_knee(load, seen, None, 2.0, "") is None
    assert knees.objective_knee(load, seen, None, 0.1, "").load == 100.0  # type: ignore[union-attr]


def test_the_distance_knee_has_an_interval_where_errors_are_known() -> None:
    points = closed()
    samples = knees.distance_samples(points)
    assert samples is not None
    knee = knees.Knee.of("distance", knees.distance_knee(points.load, points.throughput), samples, "")
    # The knee is estimated as a measured load, so both ends of its interval are measured loads. The true knee is (0.1 +
    # 1.9) / 0.02 = 100 users.
    assert knee.low in USERS
    assert knee.high in USERS
    assert knee.low <= 100 <= knee.high
    assert knees.distance_samples(observations(points.load, points.throughput)) is None

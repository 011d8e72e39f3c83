from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from towtank.model.demand_file import LevelDemand
from towtank.model.fitting import selection
from towtank.model.fitting.capacity import _loads, _of_bottleneck, _utilization
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.demand_estimators import Series
from towtank.model.fitting.demand_levels import DemandOfLevels
from towtank.model.fitting.demands import ResourceDemand
from towtank.model.fitting.fit import Fit, fit_curve
from towtank.model.fitting.goodness import MISS_LIMIT, HeldOut
from towtank.model.fitting.intervals import Bounded, t_intervals
from towtank.model.fitting.least_squares import Bounds
from towtank.model.fitting.mix import _scatter
from towtank.model.fitting.observations import Floats, Observations, observations
from towtank.model.fitting.prediction import farthest
from towtank.model.fitting.selection import CurveCandidate, candidate


class Slope:
    """Straight line k N through the origin, with bounds of k."""

    name = "slope"
    parameters = ("k",)

    def __init__(self, lower: float, upper: float) -> None:
        self.bounds = Bounds(np.array([lower]), np.array([upper]))

    def throughput(self, parameters: Floats, load: Floats) -> Floats:
        return np.asarray(parameters[:, :1] * load, dtype=float)

    def starts(self, points: Observations) -> Floats:
        return np.array([[0.5 * (self.bounds.lower[0] + self.bounds.upper[0])]])

    def derived(self, parameters: Floats) -> dict[str, Floats]:
        return {}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_parameter_at_its_bound_has_a_one_sided_interval(sign: float) -> None:
    """The sum of squares S(k) = sum y^2 - 2 k sum x y + k^2 sum x^2 has its minimum beyond the bound k = 0.

    So the interval begins at 0. It ends where S(k) = S(0) (1 + t^2 / 5), with the one-sided 95 % quantile t of
    Student's distribution with 5 degrees of freedom. With the opposite sign, the interval is mirrored.
    """
    load = np.array([1.0, 2, 3, 4, 5, 6])
    rates = -0.05 * load + np.array([0.1, -0.2, 0.15, -0.1, 0.2, -0.15])
    curve = Slope(0.0, 2.0) if sign > 0 else Slope(-2.0, 0.0)
    fit = fit_curve(curve, observations(load, sign * rates, error=np.ones(6)))
    assert fit.held.tolist() == [True]
    (low, high) = t_intervals(fit)["k"]
    squares, products = float(rates @ rates), float(load @ rates)
    beyond = squares * stats.t.ppf(0.95, fit.freedom) ** 2 / fit.freedom
    end = (products + math.sqrt(products**2 + beyond * float(load @ load))) / float(load @ load)
    ends = (0.0, end) if sign > 0 else (-end, 0.0)
    # The profile is computed at some points and interpolated between them.
    assert (low, high) == pytest.approx(ends, rel=0.01, abs=1e-9)


USERS = np.array([10.0, 25, 50, 75, 100, 150, 200])
TRUTH = np.array([[0.02, 0.08, 0.0]])


@pytest.fixture(scope="module")
def measured() -> CurveCandidate:
    """Return a closed curve that was fitted to exact throughputs and CPU use; the bottleneck has a demand of 20 ms."""
    curve = ClosedCurve(1, 1.9, with_busy=True)
    asked = observations(USERS, USERS, think=np.full(7, 1.9)).conditions()
    rate = curve.throughput_in(TRUTH, USERS, asked)
    busy = curve.busy(TRUTH, rate, asked)[0]
    points = observations(USERS, rate[0], think=asked.think_s, busy=busy, error=0.01 * rate[0], busy_error=0.01 * busy)
    return candidate("closed", points, 1, 1.9, None)


def test_the_loads_of_a_curve_reach_from_one_user_to_a_quarter_beyond_the_measurements(
    measured: CurveCandidate,
) -> None:
    loads = _loads(measured)
    assert (loads[0], loads[-1]) == (1.0, 250.0)
    assert farthest(measured)[0] > 250.0
    assert set(USERS) <= set(loads)
    assert loads == sorted(set(loads))
    assert max(np.diff(loads)) <= math.ceil(249 / 39)


def demand(servers: int, demand_s: float, *levels: LevelDemand) -> ResourceDemand:
    return ResourceDemand(servers, (), DemandOfLevels(Bounded(demand_s), Bounded(0.0), levels))


def test_the_utilization_of_the_bottleneck_obeys_the_utilization_law(measured: CurveCandidate) -> None:
    fit = measured.fit
    demands = {
        "db": demand(1, 0.02, LevelDemand(5.0, 0.1, 0.02), LevelDemand(6.0, 0.2, 0.02)),
        "web": demand(4, 0.04, LevelDemand(10.0, 0.2, 0.04), LevelDemand(20.0, 0.3, 0.04)),
    }
    points = SimpleNamespace(throughput=[5.0], load=[10.0])
    answer: Any = SimpleNamespace(bottleneck="db", demands=demands, points=points)
    found: Any = _utilization(answer, measured, [50.0, 100.0])
    rates = fit.curve.throughput(fit.parameters[None, :], np.array([50.0, 100.0]))[0]
    assert [row["median"] for row in found["db"]["curve"]] == pytest.approx(list(0.02 * rates), rel=0.05)
    # The line of the other tier passes through its mean utilization of 1 CPU at 15 /s.
    expected = [(1.0 + 0.04 * (rate - 15.0)) / 4 for rate in rates]
    assert [row["median"] for row in found["web"]["curve"]] == pytest.approx(expected, rel=0.05)
    assert found["db"]["measured"] == [{"throughput": 5.0, "utilization": 0.1, "demand_s": 0.02, "load": 10.0}]
    assert _of_bottleneck(measured, SimpleNamespace(rates=np.ones((1, 1)), factors=np.ones((1, 1)))) is not None  # type: ignore[arg-type]


def test_misses_of_cpu_use_are_relative_to_the_curve(measured: CurveCandidate) -> None:
    fit: Fit = measured.fit
    assert fit.busy_misses == pytest.approx(np.zeros(7), abs=1e-3)
    assert fit.points.busy is not None
    more = dataclasses.replace(
        fit,
        problem=dataclasses.replace(fit.problem, points=dataclasses.replace(fit.points, busy=1.1 * fit.points.busy)),
    )
    assert more.busy_misses == pytest.approx(np.full(7, 0.1), abs=2e-3)


def contender(name: str, error: float | None, joint: float | None = None) -> Any:
    held_out = None if error is None else HeldOut(1, name, error, ())
    return SimpleNamespace(name=name, held_out=held_out, joint_aicc=joint, held_out_text=lambda: f"{error}")


@pytest.mark.parametrize(
    ("able", "chosen"),
    [
        ([contender("usl", MISS_LIMIT), contender("closed", None, 1.0)], "usl"),
        ([contender("usl", 1.01 * MISS_LIMIT), contender("closed", None, 1.0)], "closed"),
        ([contender("usl", -1.01 * MISS_LIMIT), contender("closed", None, 1.0)], "closed"),
        ([contender("usl", 1.01 * MISS_LIMIT), contender("closed", None)], "usl"),
        ([contender("usl", -0.3), contender("amdahl", 0.2), contender("closed", 0.25, 1.0)], "amdahl"),
        ([contender("usl", None)], None),
    ],
)
def test_without_a_criterion_the_curve_that_predicts_the_highest_level_is_chosen(
    able: list[Any], chosen: str | None
) -> None:
    found = selection._without_criterion(able, able, {})
    assert (None if found.chosen is None else found.chosen.name) == chosen


def test_a_run_that_equal_demands_explain_exactly_does_not_count() -> None:
    """A run that equal demands of all classes explain exactly cannot show that demands by class are better. So it must
    be skipped.

    In the first run, the busy time is 0.5 times the total rate. In the second run, only demands of 0.1 s and 0.5 s by
    class explain the busy time.
    """
    rates = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 3.0], [3.0, 1.0]])
    busy = np.array([1.0, 2.0, 0.1 * 1 + 0.5 * 3, 0.1 * 3 + 0.5 * 1])
    runs = np.array([0, 0, 1, 1])
    series = Series(busy, rates, None, 1, runs)
    exact = np.array([0.1, 0.5])
    assert _scatter(series, [exact, exact]) == pytest.approx(0.0, abs=1e-12)
    only = Series(busy[:2], rates[:2], None, 1, runs[:2])
    assert _scatter(only, [exact]) == math.inf

"""Coverage of the intervals of knees (loads above which the throughput hardly grows), for simulated measurements of
systems with a known knee.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from certification import Section, Tabled, percent
from covering import SERIES

from towtank.model.fitting import knees
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.curves import USL
from towtank.model.fitting.observations import Observations, observations
from towtank.model.fitting.selection import candidate

pytestmark = pytest.mark.waits

STUDIES = SERIES // 2 or 40
THINK_S, SERVERS = 2.0, 4
CLOSED, CLOSED_TRUE = ClosedCurve(SERVERS, THINK_S), np.array([[0.05, 0.15]])
USL_TRUE = np.array([[100.0, 0.04, 0.0005]])
BEND, SLOPE = 120.0, 4.0
SECTION = Section(
    "Knees",
    "knee | known system | levels | studies | with an interval | coverage of these intervals | median half-width",
    f"{STUDIES} studies each. At least 93 % of the 95 % intervals of the load must contain the true knee; the "
    "tolerance is four standard deviations. If the load levels extend beyond the knee, half of the intervals must be "
    "at most twice as wide as the spread of the estimated knees (1.96 standard deviations, computed from their "
    "quartiles).",
)


def closed(stream: Any, users: Any) -> Observations:
    """Return throughput (error 1 %) and response time (error 3 %) of a closed system with four servers and a think time
    of 2 s.
    """
    rate = CLOSED.throughput(CLOSED_TRUE, users)[0]
    times = np.maximum(users / rate - THINK_S, 0.0)
    noise = stream.standard_normal((2, len(users)))
    return observations(
        users, rate * (1 + 0.01 * noise[0]), error=0.01 * rate, response=times * (1 + 0.03 * noise[1]),
        response_error=0.03 * times, think=np.full(len(users), THINK_S),
    )  # fmt: skip


def scalable(stream: Any, load: Any) -> Observations:
    """Return throughput (error 1 %) by the universal scalability law, with a peak at a load of 43.8."""
    rate = USL.throughput(USL_TRUE, load)[0]
    return observations(load, rate * (1 + 0.01 * stream.standard_normal(len(load))), error=0.01 * rate)


def bent(stream: Any, load: Any) -> Observations:
    """Return throughput (error 1 %) that is proportional to the load up to 120 users and constant beyond."""
    rate = SLOPE * np.minimum(load, BEND)
    return observations(load, rate * (1 + 0.01 * stream.standard_normal(len(load))), error=0.01 * rate)


def model_knee(points: Observations) -> knees.Knee | None:
    return knees.model_knee(candidate("closed", points, SERVERS, THINK_S, None))


def peak(points: Observations) -> knees.Knee | None:
    return knees.model_knee(candidate("usl", points, 1, 0.0, None))


def power_knee(points: Observations) -> knees.Knee | None:
    return knees.power_knee(candidate("closed", points, SERVERS, THINK_S, None), THINK_S)


def most_power(levels: Any) -> float:
    """Return the load, from the lowest to the highest measured level, at which the true curve has the largest power
    (throughput divided by response time).
    """
    loads = np.arange(levels.min(), levels.max() + 1)
    rates = CLOSED.throughput(CLOSED_TRUE, loads)[0]
    return float(loads[np.argmax(rates / (loads / rates - THINK_S))])


BEYOND = np.array([20.0, 60, 120, 200, 300, 400])
BELOW = np.array([20.0, 50, 80, 110, 140])
LEVELS = np.array([1.0, 2, 4, 8, 16, 24, 32, 48, 64])
AROUND = np.array([30.0, 60, 90, 120, 150, 180, 240])
KNEE = (0.05 + 0.15 + THINK_S) / (0.05 / SERVERS)
PEAK = float(np.sqrt((1 - USL_TRUE[0, 1]) / USL_TRUE[0, 2]))
CASES = {
    "(D + Z) / D_max, beyond it": (model_knee, closed, BEYOND, KNEE, "closed, 4 servers"),
    "(D + Z) / D_max, up to 80 % of it": (model_knee, closed, BELOW, KNEE, "closed, 4 servers"),
    "peak": (peak, scalable, LEVELS, PEAK, "scalability law"),
    "largest power": (power_knee, closed, BEYOND, most_power(BEYOND), "closed, 4 servers"),
    "break of two lines": (knees.break_knee, bent, AROUND, BEND, "two lines"),
}


@pytest.mark.certify
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", CASES)
def test_intervals_of_knees_hold_nineteen_times_in_twenty(name: str, tabled: Tabled) -> None:
    find: Callable[[Observations], knees.Knee | None]
    find, measure, levels, truth, system = CASES[name]
    found = [find(measure(np.random.default_rng(seed), levels)) for seed in range(STUDIES)]
    given = np.array([(knee.low, knee.load, knee.high) for knee in found if knee and knee.low is not None])
    assert len(given) >= STUDIES // 2
    low, load, high = given.T
    held, half = float(np.mean((low <= truth) & (truth <= high))), float(np.median(high - low)) / 2
    least = 0.93 - 4 * (0.93 * 0.07 / len(given)) ** 0.5
    spread = 1.96 * float(np.diff(np.quantile(load, [0.25, 0.75]))[0]) / 1.349
    is_narrow = levels.max() < truth or half <= 2 * spread
    cells = (
        f"{system}, knee at {truth:.4g}", f"{levels.min():g} to {levels.max():g}", str(STUDIES),
        percent(len(given) / STUDIES), percent(held), percent(half / truth),
    )  # fmt: skip
    tabled(SECTION, name, *cells, holds=held >= least and is_narrow)

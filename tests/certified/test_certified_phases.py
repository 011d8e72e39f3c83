"""Coverage of 95 % intervals of the CPU time of a ramp-up; the true value is the mean of many runs."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from certification import Section
from covering import SERIES

from towtank.analysis.elasticity import Elasticity, elasticity
from towtank.analysis.statistics import mean_along_trend, ratio_along_trend, ratio_interval
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE, with_run_to_run

pytestmark = pytest.mark.waits

COUNT = SERIES or 60
COVERAGE = 0.93
"""Smallest allowed coverage of the interval of a ratio. The true ratio is 1, because both systems are equal. [1]"""
SECTION = Section(
    "CPU time of a ramp-up",
    "users | CPU time of a request | variation | CPUs used | coverage of the mean, from one run | equal systems "
    "reported as equal",
    "Users start one after the other during a ramp-up of 9 s, think for an exponential time, and are served by one "
    f"CPU in order of arrival: {COUNT} runs and {COUNT} pairs of runs each, with fixed seeds. The true mean is "
    f"computed from {4 * COUNT} other runs. 95 % intervals from one run are too short if the CPU is busy, because "
    "neighbouring seconds are correlated. Each run of a pair has a random factor with a standard deviation of 10 %, "
    f"as a comparison of single runs assumes. At least {100 * COVERAGE:.0f} % of the intervals of the ratio must "
    "contain 1; the tolerance is four standard deviations.",
)


@dataclass(frozen=True)
class Ramp:
    """Users who start at equal intervals during a ramp, and a server.

    Attributes
    ----------
    think_s, service_s : float
        Mean exponential think time, and mean gamma-distributed service time. [s]
    variance : float
        Squared coefficient of variation of service times. [1]
    """

    users: int
    service_s: float
    variance: float = 1.0
    think_s: float = 1.0
    seconds: int = 9

    def busy(self, random: np.random.Generator) -> np.ndarray:
        """Return the CPU time of each second of the ramp. [s]"""
        return self.run(random)[0]

    def responses(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum [s] and the number [1] of the response times that end in each second."""
        _, sums, counts = self.run(random)
        return sums, counts

    def run(self, random: np.random.Generator, beyond: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return CPU time [s], sum of response times [s] and number of completions [1] for each second.

        `beyond` is the number of simulated seconds after the ramp.
        """
        length = self.seconds + beyond
        starts = [(self.seconds * user / self.users, user) for user in range(self.users)]
        used, sums, counts, free_s = np.zeros(length), np.zeros(length), np.zeros(length), 0.0
        while starts:
            arrives_s, user = heapq.heappop(starts)
            begins_s = max(arrives_s, free_s)
            if begins_s >= length:
                continue
            ends_s = free_s = begins_s + random.gamma(1 / self.variance, self.service_s * self.variance)
            for second in range(int(begins_s), min(length, math.ceil(ends_s))):
                used[second] += max(0.0, min(ends_s, second + 1) - max(begins_s, second))
            if ends_s < length:
                sums[int(ends_s)] += ends_s - arrives_s
                counts[int(ends_s)] += 1
            heapq.heappush(starts, (ends_s + random.exponential(self.think_s), user))
        return used, sums, counts


RAMPS = [
    Ramp(150, 0.001),
    Ramp(150, 0.004),
    Ramp(300, 0.002, variance=4.0),
    Ramp(300, 0.003),
    Ramp(600, 0.003),
    Ramp(40, 0.01, think_s=0.5),
    Ramp(20, 0.05, variance=4.0, think_s=2.0),
]


@pytest.mark.certify
@pytest.mark.parametrize("ramp", RAMPS)
def test_intervals_of_a_ramp_up_hold_the_mean_of_many(ramp: Ramp, tabled) -> None:
    random = np.random.default_rng(20261126)
    truth = float(np.mean([ramp.busy(random).mean() for _ in range(4 * COUNT)]))
    within = [mean_along_trend(ramp.busy(random)) for _ in range(COUNT)]
    held = sum(estimate.low <= truth <= estimate.high for estimate in within) / COUNT
    ratios = [compared(ramp, random) for _ in range(COUNT)]
    equal = sum(ratio.low is None or ratio.low <= 1 <= ratio.high for ratio in ratios) / COUNT
    tabled(
        SECTION,
        str(ramp.users),
        f"{1000 * ramp.service_s:g} ms",
        f"{ramp.variance:g}",
        f"{truth:.3f}",
        f"{100 * held:.1f} %",
        f"{100 * equal:.1f} %",
        holds=equal >= COVERAGE - 4 * (0.05 * 0.95 / COUNT) ** 0.5,
    )


def compared(ramp: Ramp, random: np.random.Generator) -> Estimate:
    """Return the ratio of two runs of the same system.

    All values of a run have a common random factor with a standard deviation of 10 %.
    """
    pair = [
        with_run_to_run(mean_along_trend(ramp.busy(random) * (1 + ASSUMED_SHARE * random.standard_normal())))
        for _ in range(2)
    ]
    return ratio_interval(*pair)


RESPONSES = Section(
    "Mean response time of a ramp-up",
    "users | CPU time of a request | variation | mean response time | coverage of the mean, from one run | equal "
    "systems reported as equal",
    f"The ramps are those of the section on CPU time: {COUNT} runs and {COUNT} pairs of runs each. The speed of the "
    "runs of a pair differs by a standard deviation of 10 %, as a comparison of single runs assumes. The comparison "
    f"multiplies this by the elasticity at the end of the ramp. At least {100 * COVERAGE:.0f} % of the intervals of "
    "the ratio must contain 1; the tolerance is four standard deviations.",
)


@pytest.mark.certify
@pytest.mark.parametrize("ramp", RAMPS)
def test_intervals_of_the_mean_response_time_of_a_ramp_up(ramp: Ramp, tabled) -> None:
    random = np.random.default_rng(20261128)
    every = [ramp.responses(random) for _ in range(4 * COUNT)]
    truth = sum(sums.sum() for sums, _ in every) / sum(counts.sum() for _, counts in every)
    within = [ratio_along_trend(*ramp.responses(random)) for _ in range(COUNT)]
    held = sum(estimate.low <= truth <= estimate.high for estimate in within) / COUNT
    follows = at_the_end(ramp, random).response_time
    ratios = [
        ratio_interval(*(with_run_to_run(of_another_speed(ramp, random), ASSUMED_SHARE * follows) for _ in range(2)))
        for _ in range(COUNT)
    ]
    equal = sum(ratio.low is None or ratio.low <= 1 <= ratio.high for ratio in ratios) / COUNT
    tabled(
        RESPONSES,
        str(ramp.users),
        f"{1000 * ramp.service_s:g} ms",
        f"{ramp.variance:g}",
        f"{1000 * truth:.3g} ms",
        f"{100 * held:.1f} %",
        f"{100 * equal:.1f} %",
        holds=equal >= COVERAGE - 4 * (0.05 * 0.95 / COUNT) ** 0.5,
    )


def of_another_speed(ramp: Ramp, random: np.random.Generator) -> Estimate:
    times = 1 + ASSUMED_SHARE * random.standard_normal()
    return ratio_along_trend(*replace(ramp, service_s=ramp.service_s * times).responses(random))


def at_the_end(ramp: Ramp, random: np.random.Generator) -> Elasticity:
    """Return the elasticities of the system from the last ten seconds of a run, after the ramp."""
    used, sums, counts = ramp.run(random, beyond=20)
    last = slice(-10, None)
    x_per_s, r_s = counts[last].sum() / 10, sums[last].sum() / counts[last].sum()
    return elasticity(float(used[last].mean()), x_per_s * r_s, float(ramp.users))


def test_a_ratio_along_a_trend_by_hand() -> None:
    """The sums 2, 4, 8, 8, 10, 14 over counts of 2 have the ratios 1, 2, 4, 4, 5, 7.

    Therefore the mean ratio is 23 / 6, with the same error as the mean of this series.
    """
    counts, sums = np.full(6, 2.0), 2 * np.array([1.0, 2.0, 4.0, 4.0, 5.0, 7.0])
    found, alone = ratio_along_trend(sums, counts), mean_along_trend(sums / 2)
    assert (found.value, found.low, found.high) == pytest.approx((alone.value, alone.low, alone.high))
    assert ratio_along_trend(sums, np.zeros(6)).value is None
    assert ratio_along_trend(sums[:5], counts[:5]).low is None


def test_a_straight_ramp_has_no_error() -> None:
    straight = mean_along_trend(0.1 + 0.2 * np.arange(9.0))
    assert (straight.low, straight.high) == pytest.approx((straight.value, straight.value))


def test_the_error_of_a_ramp_by_hand() -> None:
    """The second differences of 1, 2, 4, 4, 5, 7 are 1, -2, 1, 1, so the variance is 7 / 24 with 2 degrees of
    freedom.
    """
    found = mean_along_trend(np.array([1.0, 2.0, 4.0, 4.0, 5.0, 7.0]))
    half = 4.303 * math.sqrt(7 / 24 / 6) / (23 / 6)
    assert found.n == 3
    assert (found.low, found.high) == pytest.approx((23 / 6 * math.exp(-half), 23 / 6 * math.exp(half)), rel=1e-3)


def test_no_values_have_no_mean() -> None:
    assert mean_along_trend(np.array([])).value is None


@pytest.mark.parametrize("values", [[1.0] * 5, [0.0] * 9])
def test_too_few_values_or_none_at_all_have_no_interval(values: list[float]) -> None:
    assert mean_along_trend(np.array(values)).low is None

"""Coverage of 95 % intervals of mean response time and throughput, each from one run of a closed system."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import pytest
from certification import Section, percent
from covering import SERIES

from towtank.analysis.laws import response_by_users
from towtank.analysis.statistics import ratio_of_sums
from towtank.analysis.statistics.estimates import Estimate

pytestmark = pytest.mark.waits

COUNT = SERIES or 60
COVERAGE = 0.93
DRIFTING, DRIFTING_THROUGHPUT = 0.90, 2 / 3
"""Smallest allowed coverages for response time and throughput if the speed of the system drifts slowly, over a fifth of
the window or longer. [1]
"""
WARM_UP_S = 30


@dataclass(frozen=True)
class Closed:
    """Users who think, and servers that handle one request at a time.

    Attributes
    ----------
    load : float
        Number of users relative to the knee, the number of users at which the two asymptotic bounds of the throughput
        intersect. [1]
    think_s, service_s : float
        Mean think time and mean service time. [s]
    variance, think_variance : float
        Squared coefficients of variation of gamma-distributed service times and think times. [1]
    pace_s : float or None
        Time between the starts of two transactions of a user, which replaces the think time. [s]
    drift, drift_s : float
        Standard deviation of the logarithm of the servers' speed, a first-order autoregressive series [1], and the time
        in which its correlation falls to 1 / e [s].
    """

    load: float
    think_s: float = 1.0
    service_s: float = 0.01
    servers: int = 1
    variance: float = 1.0
    think_variance: float = 1.0
    pace_s: float | None = None
    drift: float = 0.0
    drift_s: float = 20.0

    @property
    def users(self) -> int:
        return max(1, round(self.load * (self.think_s + self.service_s) * self.servers / self.service_s))

    @property
    def text(self) -> str:
        text = f"{self.load:g} × knee, {self.servers} × {1000 * self.service_s:g} ms"
        text += f", think {self.think_s:g} s" if self.pace_s is None else f", pace {self.pace_s:g} s"
        text += f", C² {self.variance:g}" + (f" and {self.think_variance:g}" if self.pace_s is None else "")
        text += f", speed drifts by {100 * self.drift:g} % in {self.drift_s:g} s" if self.drift else ""
        return text

    def seconds(self, length: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return, for each second: number of completions, sum of response times, and time of all users minus completed
        pauses. [s]
        """
        total = WARM_UP_S + length
        ended, responses, pauses = np.zeros(total), np.zeros(total), np.zeros(total)
        pause = self._drawn(random, self.think_s, self.think_variance)
        service = self._drawn(random, self.service_s, self.variance)
        thinking = [
            (pause() if self.pace_s is None else random.uniform(0, self.pace_s), 0.0) for _ in range(self.users)
        ]
        heapq.heapify(thinking)
        free = [0.0] * self.servers
        times = self._times(total, random)
        while thinking[0][0] < total:
            arrives_s, began_s = heapq.heappop(thinking)
            pauses[int(arrives_s)] += arrives_s - began_s
            begins_s = max(arrives_s, heapq.heappop(free))
            ends_s = begins_s + service() * times[min(total - 1, int(begins_s))]
            heapq.heappush(free, ends_s)
            if ends_s < total:
                ended[int(ends_s)] += 1
                responses[int(ends_s)] += ends_s - arrives_s
            next_s = ends_s + pause() if self.pace_s is None else max(ends_s, arrives_s + self.pace_s)
            heapq.heappush(thinking, (next_s, ends_s))
        return ended[WARM_UP_S:], responses[WARM_UP_S:], self.users - pauses[WARM_UP_S:]

    def _times(self, length: int, random: np.random.Generator) -> np.ndarray:
        """Return the service time in each second, relative to the mean service time. [1]"""
        if not self.drift:
            return np.ones(length)
        stays = np.exp(-1 / self.drift_s)
        series = random.standard_normal(length)
        for second in range(1, length):
            series[second] = stays * series[second - 1] + np.sqrt(1 - stays**2) * series[second]
        return np.exp(self.drift * series - self.drift**2 / 2)

    @staticmethod
    def _drawn(random: np.random.Generator, mean: float, variance: float):
        if variance == 0:
            return lambda: mean
        return lambda: random.gamma(1 / variance, mean * variance)


SYSTEMS = [
    Closed(0.5),
    Closed(0.9),
    Closed(1.1),
    Closed(1.5),
    Closed(3.0),
    Closed(1.5, variance=4.0),
    Closed(1.5, service_s=0.04, servers=4, variance=0.25),
    Closed(1.5, think_variance=0.0),
    Closed(1.5, think_variance=4.0),
    Closed(1.5, service_s=0.2),
    Closed(1.5, pace_s=1.0),
    Closed(3.0, pace_s=1.0),
    Closed(1.5, drift=0.05, drift_s=10.0),
    Closed(1.5, drift=0.05, drift_s=20.0),
]
SECTION = Section(
    "Mean response time and throughput of a closed load within a run",
    "system | window | mean from response times: with an interval, coverage | with Little's law: with an interval, "
    "coverage | half-width of these intervals | throughput: with an interval, coverage",
    f"{COUNT} runs each of users who think and are served in order of arrival by one to four servers, with fixed "
    "seeds. The load is relative to the knee; C² are the squared coefficients of variation of service and think "
    "times. At saturation, neighbouring seconds have nearly the same response time, so response times alone yield no "
    "interval for a short window. The time of all users minus their pauses has the same mean and hardly any "
    "correlation. The half-width is the median, relative to the mean, of the runs with an interval. At least "
    f"{100 * COVERAGE:.0f} % of the intervals must contain the mean over all runs. If the speed of the servers "
    f"drifts, {100 * DRIFTING:.0f} % suffice for the response time and {100 * DRIFTING_THROUGHPUT:.0f} % for "
    "throughput. The tolerance is four standard deviations.",
)


@pytest.mark.certify
@pytest.mark.parametrize("length", [25, 50])
@pytest.mark.parametrize("system", SYSTEMS)
def test_intervals_of_mean_and_throughput_hold_them(system: Closed, length: int, tabled) -> None:
    random = np.random.default_rng(20261127)
    runs = [system.seconds(length, random) for _ in range(COUNT)]
    truth = sum(responses.sum() for _, responses, _ in runs) / sum(ended.sum() for ended, _, _ in runs)
    alone = [ratio_of_sums(responses, ended)[0] for ended, responses, _ in runs]
    both = [ratio_of_sums(responses, ended, alike=unpaused)[0] for ended, responses, unpaused in runs]
    rates = [ratio_of_sums(ended, np.ones(length))[0] for ended, _, _ in runs]
    rate = sum(ended.sum() for ended, _, _ in runs) / (COUNT * length)
    halves = [estimate.half_width / estimate.value for estimate in both if estimate.half_width is not None]
    drifts = bool(system.drift)
    tabled(
        SECTION,
        system.text,
        f"{length} s",
        shown(alone, truth),
        shown(both, truth),
        percent(float(np.median(halves))) if halves else "-",
        shown(rates, rate),
        holds=enough_hold(both, truth, DRIFTING if drifts else COVERAGE)
        and enough_hold(rates, rate, DRIFTING_THROUGHPUT if drifts else COVERAGE),
    )


def held(found: list[Estimate], truth: float) -> tuple[int, int]:
    """Return the number of estimates with an interval, and the number of intervals that contain the true value."""
    known = [estimate for estimate in found if estimate.low is not None and estimate.high is not None]
    return len(known), sum(estimate.low <= truth <= estimate.high for estimate in known)


def shown(found: list[Estimate], truth: float) -> str:
    known, holding = held(found, truth)
    return f"{percent(known / len(found))}, {percent(holding / known) if known else '-'}"


def enough_hold(found: list[Estimate], truth: float, least: float) -> bool:
    known, holding = held(found, truth)
    return not known or holding / known >= least - 4 * (0.05 * 0.95 / known) ** 0.5


def test_a_saturated_window_has_an_interval_by_the_law_and_none_without() -> None:
    """The load is three times the knee. From response times alone, a fifth of the windows of 50 s have an interval;
    with the time of all users (Little's law), more than half have an interval.
    """
    random, system = np.random.default_rng(5), Closed(3.0)
    runs = [system.seconds(50, random) for _ in range(20)]
    alone = sum(ratio_of_sums(responses, ended)[0].low is not None for ended, responses, _ in runs)
    both = sum(
        ratio_of_sums(responses, ended, alike=unpaused)[0].low is not None for ended, responses, unpaused in runs
    )
    assert alone < 10 < both


def test_sums_that_disagree_are_not_used() -> None:
    """Response times that began before the window contradict Little's law, so their sum is not used."""
    system = Closed(1.5)
    ended, responses, unpaused = system.seconds(50, np.random.default_rng(6))
    assert response_by_users(unpaused, responses, ended, 50.0 * system.users) is unpaused
    responses[:3] += 3.0 * ended[:3]
    assert response_by_users(unpaused, responses, ended, 50.0 * system.users) is None
    assert response_by_users(unpaused, responses, 0 * ended, 50.0 * system.users) is None

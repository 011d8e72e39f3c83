"""Models a station with a CPU quota. The station works at full speed until the CPU time of a period is used up, and
then pauses until the period ends.

The CPU limit of a control group, and thus of a container, grants c CPUs as a CPU time of c P in each period P. Two
simpler models fail. On a slow server a transaction with CPU time D would take S = D / c, but under the quota short work
runs at full speed. A fast server would not limit the throughput. This module models the queue in steps of periods.

A period begins with n transactions at the station. The quota of a period suffices for K transactions, Poisson with mean
k = P / S, since CPU times are assumed exponential. During the period A transactions arrive, Poisson with mean u k,
where u is the utilization of the quota. The next period begins with max(0, n + A - K) transactions. The stationary
distribution of n gives the mean number at the station over a period, and Little's law gives the time at the station:

- Of the n transactions at the beginning, m = min(n, K) are served one after the other, the i-th after i c P / (K + 1).
(The K completions are evenly distributed points in the CPU time c P.) The other n - m wait for the entire period P.
- Arrivals that are served in the same period take c P / (K + 1) each. They wait for one another as at a fast server of
utilization u c, and for those of the m transactions that are not yet complete.
- The l transactions left at the end of the period are the last arrivals. Each of them waits P (l + 1) / (2 (A + 1)) on
average.

The result is exact for very long periods, c / (1 - u c) in units of S, and for very short periods, 1 / (1 - u). The
time 1 / (1 - u) at a slow server is an upper bound, to which larger results are reduced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

from towtank.arrays import Floats
from towtank.distributions import poisson_probabilities
from towtank.errors import ModelError

PERIOD_S = 0.1
"""Default period of CPU quotas in the Linux scheduler. [s]"""
TICK_S = 0.004
"""Interval at which the scheduler checks whether the quota is used up. [s]

There are 250 checks (ticks) a second, as in the kernels of most distributions.
"""

# Grid on which the queue is solved: utilizations, and lengths of the period in units of S. The lengths are powers of
# the square root of two, with exponents from `_LOWEST` to `_HIGHEST`.
_UTILIZATIONS = (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.94, 0.97, 0.985)
_STEP = math.log(2) / 2
_LOWEST, _HIGHEST = -8, 20
# Distributions are truncated where probabilities are negligible: a geometric distribution where it has fallen by the
# factor exp(-`_FACTORS`), a Poisson distribution at `_DEVIATIONS` standard deviations from its mean. [1]
_FACTORS, _DEVIATIONS = 16.0, 8.0
# Number of values that represent a distribution. If a distribution has more values, neighbouring values are grouped.
# [1]
_GROUPS = 48


@dataclass(frozen=True)
class Quota:
    """CPU quota of a host that may use less than one CPU.

    Attributes
    ----------
    cpus : float
        CPU time c per unit of time, in (0, 1). [1]
    period_s : float, default 0.1
        Length of the period, P > 0. [s]
    """

    cpus: float
    period_s: float = PERIOD_S

    @classmethod
    def of_linux(cls, cpus: float, period_s: float = PERIOD_S) -> Quota:
        """Return a quota as Linux enforces it. A started task runs for at least one tick, which is deducted from later
        periods.

        For example, 0.1 CPU in periods of 20 ms acts like 0.1 CPU in periods of 40 ms: a program runs for 4 ms of every
        40 ms.
        """
        return cls(cpus, max(period_s, TICK_S / cpus))

    def __post_init__(self) -> None:
        if not 0 < self.cpus < 1:
            raise ModelError(f"a quota must be above 0 and below 1 CPU, got {self.cpus:g} instead")
        if self.period_s <= 0:
            raise ModelError(f"a period must be above 0 s, got {self.period_s:g} s instead")

    def residence(self, demand_s: float, utilization: float) -> float:
        """Return the time of a transaction at a station with this quota, including waiting. [s]

        Parameters
        ----------
        demand_s : float
            S, CPU time of a transaction divided by c, > 0. [s]
        utilization : float
            Utilization u of the quota, in [0, 1).
        """
        return demand_s / (1 - utilization) - float(self.spared(demand_s, utilization))

    def spared(self, demand_s: Floats | float, utilization: Floats | float) -> Floats:
        """Return the time saved relative to a constantly slower server: S / (1 - u) minus the time at the station. [s]

        Parameters
        ----------
        demand_s : float or ndarray
            As in `residence`.
        utilization : float or ndarray of the same shape
            In [0, 1]. At 1 both S / (1 - u) and the time at the station are infinite, so values above 0.985 count as
            0.985.
        """
        demand = np.asarray(demand_s, dtype=float)
        used = np.clip(utilization, 0.0, _UTILIZATIONS[-1])
        inner = np.maximum(used, _UTILIZATIONS[0])
        place = np.log(self.period_s / np.maximum(demand, 1e-300)) / _STEP
        inside = np.clip(place, _LOWEST, _HIGHEST)
        relative = np.zeros(np.broadcast(demand, used).shape)
        for knot in np.unique(np.concatenate([np.floor(inside).ravel(), np.ceil(inside).ravel()])):
            part = np.clip(1 - np.abs(inside - knot), 0.0, None)
            relative += part * _curve(self.cpus, int(knot))(inner)
        # For periods shorter than the shortest period of the grid, the saved time is proportional to the period.
        short = np.minimum(1.0, np.exp((place - _LOWEST) * _STEP))
        return np.asarray(demand * (1 - relative) / (1 - used) * short, dtype=float)


@cache
def _curve(cpus: float, place: int) -> scipy.interpolate.PchipInterpolator:
    """Return, for one length of the period, a function of utilization: the time at a station with a CPU quota, divided
    by the time at a constantly slower server.
    """
    periods = math.exp(place * _STEP)
    rows = [min(1.0, (1 - used) * scaled_residence(used, periods, cpus)) for used in _UTILIZATIONS]
    return scipy.interpolate.PchipInterpolator(np.array(_UTILIZATIONS), np.array(rows))


def scaled_residence(utilization: float, periods: float, cpus: float) -> float:
    """Return the time at a station with a CPU quota, in units of S. Unlike the results of `Quota`, this time may exceed
    the time at a constantly slower server.

    Parameters
    ----------
    utilization : float
        u, in (0, 1).
    periods : float
        k = P / S. [1]
    cpus : float
        c, in (0, 1). [1]
    """
    served, waiting, new, behind = _areas(utilization, periods)
    fast = cpus / (1 - utilization * cpus)
    area = cpus * served + waiting + utilization * cpus * fast * new + fast * fast * behind
    return area / (utilization * periods)


@cache
def _areas(utilization: float, periods: float) -> tuple[float, float, float, float]:
    """Return four means over a period of a CPU quota, from which the time at the station is computed for any number c
    of CPUs. Times are in units of S.

    - Sum over the jobs of their time in service, divided by c.
    - Sum over the jobs of their wait while the quota is used up.
    - Number of arrivals that are served in the period.
    - a d^2 / (2 P), with the number a of these arrivals, and the service time d (divided by c) of the jobs that were
      present when the period P began.
    """
    number, weights = _grouped(*_at_beginning(utilization, periods))
    come, come_weights = _grouped(*_poisson(utilization * periods))
    room, room_weights = _grouped(*_poisson(periods))
    n, a, k = number[:, None, None], come[None, :, None], room[None, None, :]
    done = np.minimum(n, k)
    left = np.clip(a - np.maximum(k - n, 0.0), 0.0, a)
    each = periods / (k + 1)
    late = np.where(k > n, (left + 1) / (2 * (a + 1)), 0.5)
    chance = weights[:, None, None] * come_weights[None, :, None] * room_weights[None, None, :]

    def mean(values: Floats) -> float:
        return float(np.sum(chance * values))

    return (
        mean(each * (done * (done + 1) / 2 + a - left)),
        mean(periods * (np.maximum(n - k, 0.0) + left * late)),
        mean(a - left),
        mean((a - left) * (done * each) ** 2 / (2 * periods)),
    )


def _at_beginning(utilization: float, periods: float) -> tuple[Floats, Floats]:
    """Return the distribution of the number of jobs at the beginning of a period: numbers and their probabilities."""
    tail = 2 * (1 - utilization) / (1 + utilization)
    most = int(_FACTORS / tail + _DEVIATIONS * math.sqrt(2 * periods)) + 20
    (come, come_weights), (room, room_weights) = _poisson(utilization * periods), _poisson(periods)
    steps = np.convolve(come_weights, room_weights[::-1])
    lowest = int(come[0] - room[-1])
    # Transition probabilities between numbers of jobs, which are clipped to the range from 0 to `most`.
    moves = np.zeros((most + 1, most + 1))
    numbers = np.arange(most + 1)
    for step, chance in enumerate(steps, lowest):
        moves[numbers, np.clip(numbers + step, 0, most)] += chance
    balance = moves.T - np.eye(most + 1)
    balance[-1] = 1.0
    return numbers.astype(float), np.linalg.solve(balance, np.eye(most + 1)[-1])


def _poisson(mean: float) -> tuple[Floats, Floats]:
    """Return the values of a Poisson distribution whose probability is not negligible, and their probabilities."""
    wide = _DEVIATIONS * math.sqrt(mean)
    values = np.arange(max(0, int(mean - wide)), int(mean + wide) + 12)
    weights = poisson_probabilities(values, mean)
    return values.astype(float), weights / weights.sum()


def _grouped(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Replace groups of neighbouring values of a distribution by their means. The smallest values, which are the
    likeliest, stay separate.
    """
    if len(values) <= _GROUPS:
        return values, weights
    alone = _GROUPS // 2
    edges = np.unique(np.concatenate([np.arange(alone), np.linspace(alone, len(values), alone + 1)[:-1].astype(int)]))
    mass = np.add.reduceat(weights, edges)
    sums = np.add.reduceat(weights * values, edges)
    likely = mass > 0
    return sums[likely] / mass[likely], mass[likely]

"""A station with a CPU quota: it works at full speed until the time of its period is used up, and then not at all.

The CPU limit of a control group, which is also that of a container, gives c CPUs as c P of CPU time in each period P.
Modelled as a slow server, on which a transaction with a CPU time of D takes S = D / c, it would delay work that really
passes at full speed; modelled as a fast server it would have no limit. Between them is a queue in steps of periods.

With n transactions at the station when a period begins, A that come in it (Poisson with a mean of u k, at a
utilization u of the quota) and time for K (Poisson with a mean of k = P / S, since CPU times are taken as exponential),
the next period begins with max(0, n + A - K). From the stationary distribution of n follows the mean number at the
station over a period, and by Little's law the time at it:

- of the n at the beginning, m = min(n, K) are served one after the other, the i-th after i c P / (K + 1) (the K ends
  are as many points in c P of CPU time, which lie evenly in it); the others wait all of P;
- arrivals that are served take c P / (K + 1) as well, wait for one another as at a fast server of utilization
  u c, and for those left of the m;
- the transactions left at the end came last: of A the last l, each of which waits P (l + 1) / (2 (A + 1)) on average.

It is exact for a long period, c / (1 - u c) in units of S, and for a short one, 1 / (1 - u) as of a slow server, which
is the upper bound of the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import scipy

from towtank.distributions import poisson_probabilities
from towtank.errors import ModelError

Floats = npt.NDArray[np.float64]

PERIOD_S = 0.1
"""Default period of the Linux scheduler. [s]"""
TICK_S = 0.004
"""Between two looks of the scheduler whether the time is used up, with 250 of them a second as the kernels of most
distributions have. [s]"""

# Knots at which the queue is solved: utilizations, and periods in units of S by powers of the root of two.
_UTILIZATIONS = (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.94, 0.97, 0.985)
_STEP = math.log(2) / 2
_LOWEST, _HIGHEST = -8, 20
# Tails left out: beyond this many factors of e of a geometric distribution, and standard deviations of a Poisson.
_FACTORS, _DEVIATIONS = 16.0, 8.0
# Number of values that represent a distribution; wide distributions are grouped into this many.
_GROUPS = 48


@dataclass(frozen=True)
class Quota:
    """Quota of a part of a CPU.

    Attributes
    ----------
    cpus : float
        c, CPU time over time, in (0, 1). [1]
    period_s : float, default 0.1
        P > 0. [s]
    """

    cpus: float
    period_s: float = PERIOD_S

    @classmethod
    def of_linux(cls, cpus: float, period_s: float = PERIOD_S) -> Quota:
        """Return the quota as Linux keeps it: a task that starts runs for a tick, and later periods pay for it.

        A tenth of a CPU in periods of 20 ms is so one in periods of 40 ms, of which a program runs the first 4.
        """
        return cls(cpus, max(period_s, TICK_S / cpus))

    def __post_init__(self) -> None:
        if not 0 < self.cpus < 1:
            raise ModelError(f"a quota must be above 0 and below 1 CPU, got {self.cpus:g} instead")
        if self.period_s <= 0:
            raise ModelError(f"a period must be above 0 s, got {self.period_s:g} s instead")

    def residence(self, demand_s: float, utilization: float) -> float:
        """Return the time at the station, that of waiting included. [s]

        Parameters
        ----------
        demand_s : float
            S, CPU time of a transaction over c, > 0. [s]
        utilization : float
            u of the quota, in [0, 1).
        """
        return demand_s / (1 - utilization) - float(self.spared(demand_s, utilization))

    def spared(self, demand_s: Floats | float, utilization: Floats | float) -> Floats:
        """Return the time saved against the slow server: S / (1 - u) less the time at the station. [s]

        Parameters
        ----------
        demand_s : float or ndarray
            As in `residence`.
        utilization : float or ndarray of the same shape
            In [0, 1]; towards 1 both times are infinite, and their difference is taken a little below 1.
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
        # For shorter periods, in proportion.
        short = np.minimum(1.0, np.exp((place - _LOWEST) * _STEP))
        return np.asarray(demand * (1 - relative) / (1 - used) * short, dtype=float)


@cache
def _curve(cpus: float, place: int) -> scipy.interpolate.PchipInterpolator:
    """Return the time at the station over that of the slow server, as a function of utilization, for one period."""
    periods = math.exp(place * _STEP)
    rows = [min(1.0, (1 - used) * scaled_residence(used, periods, cpus)) for used in _UTILIZATIONS]
    return scipy.interpolate.PchipInterpolator(np.array(_UTILIZATIONS), np.array(rows))


def scaled_residence(utilization: float, periods: float, cpus: float) -> float:
    """Return the time at a station with a quota, in units of S, before it is capped by that of a slow server.

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
    """Return the means over a period, whatever part of a CPU the quota is.

    Jobs times time while served (over c), and while the quota is used up, in units of S; number of those that come and
    are served; half the square of the time that the earlier ones take (over c), times those, over the period.
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
    """Return the numbers at the beginning of a period, and their probabilities."""
    tail = 2 * (1 - utilization) / (1 + utilization)
    most = int(_FACTORS / tail + _DEVIATIONS * math.sqrt(2 * periods)) + 20
    (come, come_weights), (room, room_weights) = _poisson(utilization * periods), _poisson(periods)
    steps = np.convolve(come_weights, room_weights[::-1])
    lowest = int(come[0] - room[-1])
    # The probability of each step from each number; steps below zero or beyond the last number end there.
    moves = np.zeros((most + 1, most + 1))
    numbers = np.arange(most + 1)
    for step, chance in enumerate(steps, lowest):
        moves[numbers, np.clip(numbers + step, 0, most)] += chance
    balance = moves.T - np.eye(most + 1)
    balance[-1] = 1.0
    return numbers.astype(float), np.linalg.solve(balance, np.eye(most + 1)[-1])


def _poisson(mean: float) -> tuple[Floats, Floats]:
    """Return the values with a probability that counts, and their probabilities."""
    wide = _DEVIATIONS * math.sqrt(mean)
    values = np.arange(max(0, int(mean - wide)), int(mean + wide) + 12)
    weights = poisson_probabilities(values, mean)
    return values.astype(float), weights / weights.sum()


def _grouped(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Join neighbours by their means; the first ones, which are the likeliest of a queue, stay alone."""
    if len(values) <= _GROUPS:
        return values, weights
    alone = _GROUPS // 2
    edges = np.unique(np.concatenate([np.arange(alone), np.linspace(alone, len(values), alone + 1)[:-1].astype(int)]))
    mass = np.add.reduceat(weights, edges)
    sums = np.add.reduceat(weights * values, edges)
    likely = mass > 0
    return sums[likely] / mass[likely], mass[likely]

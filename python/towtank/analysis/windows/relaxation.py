"""Estimates the relaxation time of a queue near saturation from measurements of the load alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from towtank.analysis.measurement import Floats

RELAXATIONS = 8.0
"""Smallest number of relaxation times in a window that can show whether a queue changed or only returned to its mean.
[1]
"""
_PARTS = 3
"""Number of equal intervals into which a window is divided to find the smallest load. [1]"""
# Significance level of a change of response time in a window of few relaxation times. At this level, the cautious test
# finds a change in 3 to 8 % of random walks of 12 to 60 steps (1,500 walks for each number of steps).
_SIGNIFICANCE = 0.01
# Significance level of a change at a position that was chosen from the data: the end of a transient, or a sudden
# change. It is a fifth of `_SIGNIFICANCE`, because the position with the largest difference is tested.
_CHOSEN_SIGNIFICANCE = 0.002
# Growth beyond this number of standard deviations is significant. If the growth is normally distributed, chance exceeds
# it in one of forty windows. [1]
_DEVIATIONS = 2.0


def relaxation_s(in_system: float, response_s: float) -> float:
    """Return the relaxation time of an M/M/1 queue with a given mean number of transactions and a given mean response
    time. [s]

    Parameters
    ----------
    in_system : float
        Mean number N of transactions in the system, including waiting transactions, >= 0. [1]
    response_s : float
        Mean response time R. [s]

    Notes
    -----
    M/M/1 has N = rho / (1 - rho) and R = S / (1 - rho), so that rho = N / (1 + N) and S = R / (1 + N). The relaxation
    time is S / (1 - sqrt(rho))^2 [1]_. A system with several servers or with pure delays has a shorter relaxation time
    at the same N and R, so the result is an upper bound.

    References
    ----------
    .. [1] J. W. Cohen, *The Single Server Queue*, North-Holland, 1982, section II.2 (relaxation time of M/M/1).

    Examples
    --------
    At 95 % utilization and 50 ms of service N is 19 and R is 1 s:

    >>> round(relaxation_s(19.0, 1.0), 1)
    78.0
    """
    return response_s / (1 + in_system) / (1 - math.sqrt(in_system / (1 + in_system))) ** 2


@dataclass(frozen=True)
class Memory:
    """Length of a window as a multiple of the relaxation time of the system's queue.

    Attributes
    ----------
    relaxations : float
        Length of the window, divided by the relaxation time at its mean load; infinite if no response was recorded. [1]
    least_relaxations : float
        Length of the window, divided by the relaxation time at the smallest load among the thirds of the window. This
        relaxation time is the shortest, so the value is usually larger than `relaxations`. Infinite if no response was
        recorded. [1]
    growth : float or None
        Growth of the number of transactions in the system over the window, in standard deviations of a random walk (see
        `Growth.deviations`). None under a closed load. [1]
    """

    relaxations: float = math.inf
    least_relaxations: float = math.inf
    growth: float | None = None

    @property
    def is_short(self) -> bool:
        """True if the window has fewer than `RELAXATIONS` relaxation times at the smallest load among its thirds."""
        return self.least_relaxations < RELAXATIONS

    @property
    def is_long(self) -> bool:
        """True if the window has at least `RELAXATIONS` relaxation times at its mean load."""
        return self.relaxations >= RELAXATIONS

    def explains(self, change: float, p_value: float, *, is_chosen: bool = False) -> bool:
        """Return True if random fluctuations of the queue of a steady system may explain a change of response time.

        Parameters
        ----------
        change : float
            Change of response time, divided by its mean; negative if it falls. [1]
        p_value : float
            P-value of the change by the cautious test, in [0, 1].
        is_chosen : bool, default False
            True if the position of the change was chosen from the tested series, as for the end of a transient or a
            sudden change.

        Notes
        -----
        A queue explains a change only if the window has few relaxation times, and if the change is not significant at a
        stricter level. If the queue is short by chance in one third of the window, the relaxation time of this third is
        estimated too short. Under an open load, a window is therefore long only if each third has `RELAXATIONS`
        relaxation times. Under a closed load this is not required, because the relaxation time of M/M/1 is an
        overestimate.

        A rise is not explained if the number of transactions in the system grows more than in a steady system; see
        `_growth_at_rest`. In a short window, the stricter level alone would not detect an overload.
        """
        enough = RELAXATIONS if self.growth is None else _PARTS * RELAXATIONS
        if self.is_long or self.least_relaxations >= enough:
            return False
        if is_chosen:
            return p_value >= _CHOSEN_SIGNIFICANCE
        if (
            change > 0
            and self.growth is not None
            and self.growth > _DEVIATIONS * _growth_at_rest(self.least_relaxations)
        ):
            return False
        return p_value >= _SIGNIFICANCE


def _growth_at_rest(relaxations: float) -> float:
    """Return an upper bound of the standard deviation of the growth of a steady queue, divided by that of a random
    walk. [1]

    Parameters
    ----------
    relaxations : float
        Length T of the window in relaxation times, >= 0. [1]

    Notes
    -----
    Let N be the mean number in M/M/1 with rate X and mean response time R, so that N = X R. Its variance is N (1 + N).
    Over a short time t the number is a random walk with variance 2 X t. An autocorrelation exp(-a t) with the same
    short-time variance has a = 1 / (R (1 + N)), so the growth has the variance 2 N (1 + N) (1 - exp(-a t)). Near
    saturation a is four times the inverse of the relaxation time. Divided by 2 X t, the variance is then (1 - exp(-4
    T)) / (4 T).

    The autocorrelation of M/M/1 is a mixture of exponentials [1]_. By Jensen's inequality it is at least exp(-a t), so
    the result is an upper bound.

    References
    ----------
    .. [1] J. Abate and W. Whitt, "The correlation functions of RBM and M/M/1", Stochastic Models 4(2), 315-359, 1988.
    """
    times = 4 * relaxations
    return math.sqrt(-math.expm1(-times) / times) if times > 0 else 1.0


def memory_of(response_sums_s: Floats, ended: Floats, lengths_s: Floats) -> Memory:
    """Return the length of a window as a multiple of the relaxation time of the system's queue.

    Parameters
    ----------
    response_sums_s : ndarray of shape (n_bins,)
        Sum of the response times in each bin of the window. By Little's law, this sum is the mean number N of
        transactions in the system times the length of the bin. [s]
    ended : ndarray of shape (n_bins,)
        Number of transactions with a response time in each bin. [1]
    lengths_s : ndarray of shape (n_bins,)
        Length of each bin. [s]

    Notes
    -----
    `is_short` uses the smallest N and the smallest mean response time among the thirds of the window. In an overload,
    both grow over the window. With their means, the window would seem short, and the growth might not be detected. For
    `is_long`, the mean over the whole window is the cautious choice.
    """
    sums_s, counts, lengths = (np.asarray(values, dtype=float) for values in (response_sums_s, ended, lengths_s))
    thirds = zip(*(np.array_split(values, _PARTS) for values in (sums_s, counts, lengths)), strict=True)
    loads = [load for part in thirds if (load := _load(*part)) is not None]
    whole, length_s = _load(sums_s, counts, lengths), float(lengths.sum())
    if whole is None or not loads:
        return Memory()
    in_system, response_s = (min(values) for values in zip(*loads, strict=True))
    return Memory(length_s / relaxation_s(*whole), length_s / relaxation_s(in_system, response_s))


def _load(sums_s: Floats, counts: Floats, lengths_s: Floats) -> tuple[float, float] | None:
    """Return the mean number of transactions in the system [1] and the mean response time [s] over the given bins.
    Return None if no transaction ended in them.
    """
    total_s, count, length_s = float(sums_s.sum()), float(counts.sum()), float(lengths_s.sum())
    return (total_s / length_s, total_s / count) if count > 0 and length_s > 0 and total_s > 0 else None

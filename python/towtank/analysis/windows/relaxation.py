"""Estimates the relaxation time of a queue near saturation from measurements of the load alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from towtank.analysis.measurement import Floats

RELAXATIONS = 8.0
"""A window with fewer relaxation times than this cannot show whether a queue changed or only returned to its
mean. [1]
"""
_PARTS = 3
"""Number of equal parts into which a window is divided, to find the smallest load. [1]"""


def relaxation_s(in_system: float, response_s: float) -> float:
    """Return the relaxation time of the M/M/1 queue with a given mean number in the system and a given mean response
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
    time is S / (1 - sqrt(rho))^2 [1]_. Systems with several servers, or with pure delays, and the same N and R have
    shorter relaxation times, so the result is an upper bound for them.

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
    """Length of a window, in relaxation times of the queue of the system.

    Attributes
    ----------
    relaxations : float
        Length of the window divided by the relaxation time at its mean load; infinite without a response. [1]
    least_relaxations : float
        Length of the window divided by the relaxation time at the smallest load of its thirds. This relaxation time is
        the
        shortest, so the number is usually larger than `relaxations`; infinite without a response. [1]
    """

    relaxations: float = math.inf
    least_relaxations: float = math.inf

    @property
    def is_short(self) -> bool:
        """True if the window has fewer than `RELAXATIONS` relaxation times, even at the load of the third of the window
        with the smallest load.
        """
        return self.least_relaxations < RELAXATIONS

    @property
    def is_long(self) -> bool:
        """True if the window has at least `RELAXATIONS` relaxation times at its mean load."""
        return self.relaxations >= RELAXATIONS


def memory_of(response_sums_s: Floats, ended: Floats, lengths_s: Floats) -> Memory:
    """Return the length of a window in relaxation times of the queue of the system.

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
    `is_short` uses the smallest N and the smallest mean response time of the thirds of the window. In an overload, both
    grow over the window. With their means the window would seem short, which would weaken the very test that is to
    detect the growth. For `is_long`, the mean over the whole window is the cautious choice.
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
    """Return the mean number of transactions in the system [1] and the mean response time [s] of a part of a window.

    None if nothing ended in this part.
    """
    total_s, count, length_s = float(sums_s.sum()), float(counts.sum()), float(lengths_s.sum())
    return (total_s / length_s, total_s / count) if count > 0 and length_s > 0 and total_s > 0 else None

"""Estimates the relaxation time of a queue near saturation from measurements of the load alone."""

from __future__ import annotations

import math

import numpy as np

from towtank.analysis.measurement import Floats

RELAXATIONS = 8.0
"""A window of fewer relaxation times cannot distinguish a change from a queue that returns to its mean. [1]"""
_PARTS = 3
"""Number of equal parts of a window; the part with the least load gives the relaxation time. [1]"""


def relaxation_s(in_system: float, response_s: float) -> float:
    """Return the relaxation time of the M/M/1 queue with a given mean number in the system and response time. [s]

    Parameters
    ----------
    in_system : float
        Mean number N of transactions in the system, including waiting transactions, >= 0. [1]
    response_s : float
        Mean response time R. [s]

    Notes
    -----
    M/M/1 has N = rho / (1 - rho) and R = S / (1 - rho), so that rho = N / (1 + N) and S = R / (1 + N). The relaxation
    time is S / (1 - sqrt(rho))^2 [1]_. Of all systems with the same N and R, M/M/1 has the longest relaxation time,
    so the result is an upper bound for systems with several servers or pure delays.

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


def is_short(response_sums_s: Floats, ended: Floats, lengths_s: Floats) -> bool:
    """Return True if a window is shorter than `RELAXATIONS` relaxation times, by the third that gives the shortest.

    Parameters
    ----------
    response_sums_s : ndarray of shape (n_bins,)
        Sum of the response times in each bin of the window. By Little's law, this sum is N times the length of the
        bin. [s]
    ended : ndarray of shape (n_bins,)
        Number of transactions with a response time in each bin. [1]
    lengths_s : ndarray of shape (n_bins,)
        Length of each bin. [s]

    Notes
    -----
    The function uses the smallest N and the smallest R of any third of the window. N and R of the whole window
    contain the growth that is tested: an overload would make the window look short, and so weaken the test that
    should detect the overload.
    """
    thirds = [np.array_split(np.asarray(values, dtype=float), _PARTS) for values in (response_sums_s, ended, lengths_s)]
    parts = [
        (float(sums.sum()), float(count.sum()), float(length.sum()))
        for sums, count, length in zip(*thirds, strict=True)
    ]
    loads = [(sums / length, sums / count) for sums, count, length in parts if count > 0 and length > 0]
    if not loads:
        return False
    in_system, response_s = (min(values) for values in zip(*loads, strict=True))
    return float(np.sum(lengths_s)) < RELAXATIONS * relaxation_s(in_system, response_s)

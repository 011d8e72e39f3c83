"""Computes the fairness index of Jain, Chiu and Hawe [1]_, with an interval.

References
----------
.. [1] R. Jain, D.-M. Chiu and W. Hawe, *A Quantitative Measure of Fairness and Discrimination for Resource
       Allocation in Shared Computer Systems*, DEC Research Report TR-301, 1984.
"""

from __future__ import annotations

import numpy as np

from towtank.analysis.statistics.batches import ratio_of_sums
from towtank.analysis.statistics.estimates import NO_ESTIMATE, Estimate
from towtank.arrays import Floats


def fairness(requests: Floats) -> float | None:
    """Return Jain's fairness index of the requests that the members of a group received.

    Parameters
    ----------
    requests : ndarray of shape (n_members,)
        Number of requests that each member received, >= 0. [1]

    Returns
    -------
    float or None
        1 if all n members received the same number, 1/n if one member received all requests. None if there was no
        request.

    Notes
    -----
    The index is J = (sum_i x_i)^2 / (n sum_i x_i^2) for the numbers x_i of n members, equation 1 of the reference of
    this module. If k of n members receive the same number and the other members no requests, J is k/n. J does not show
    whether chance explains the differences.

    Examples
    --------
    >>> fairness(np.array([10.0, 10.0, 10.0, 0.0]))
    0.75
    """
    squares = float(np.square(requests).sum())
    return float(requests.sum()) ** 2 / (len(requests) * squares) if squares > 0 else None


def fairness_of(counts: Floats, lengths: Floats) -> Estimate:
    """Return Jain's fairness index of the request rates of the members of a group, with an interval.

    Parameters
    ----------
    counts : ndarray of shape (n_bins, n_members)
        Number of completed requests of each member in each interval. [1]
    lengths : ndarray of shape (n_bins,)
        Lengths of the intervals. [s]

    Returns
    -------
    Estimate
        Index with its interval; without an interval if the recording is too short.

    Notes
    -----
    With X_i the sum of member i, S = sum X_i and Q = sum X_i^2, the index is J = S^2 / (n Q), equation 1 of the
    reference of this module. To first order, a change of X_i changes J by dJ/dX_i = 2 S (1 - S X_i / Q) / (n Q), and
    sum_i X_i dJ/dX_i is zero. J is therefore the mean over time of the series J l_t / T + sum_i dJ/dX_i x_it, where T
    is the total length of the intervals l_t. `ratio_of_sums` computes the error of this mean. If all members received
    nearly the same number, the derivatives vanish, and the interval is too narrow. The omitted second-order term is
    about the squared coefficient of variation of the random count of one member.

    Examples
    --------
    >>> fairness_of(np.full((20, 2), [3.0, 1.0]), np.ones(20)).value
    0.8
    """
    sums = counts.sum(axis=0)
    value = fairness(sums)
    if value is None:
        return NO_ESTIMATE
    total, squares = float(sums.sum()), float(np.square(sums).sum())
    slopes = 2 * total * (1 - total * sums / squares) / (len(sums) * squares)
    found, _ = ratio_of_sums(value * lengths + float(lengths.sum()) * (counts @ slopes), lengths)
    high = None if found.high is None else min(1.0, found.high)
    low = None if found.low is None else max(1 / len(sums), found.low)
    return Estimate(value, low, high, found.method, found.n, found.confidence)

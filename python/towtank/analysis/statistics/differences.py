"""Computes the mean of a series that has a trend, for instance during a ramp-up.

The error of the mean is estimated from second differences, which contain no linear trend.
"""

from __future__ import annotations

import math

import numpy as np

from towtank.analysis.statistics.estimates import CONFIDENCE, NO_ESTIMATE, SECOND_DIFFERENCES, Estimate
from towtank.arrays import Floats
from towtank.distributions import t_quantile

VALUES_AT_LEAST = 6
"""Smallest number of values in a series for which an interval is computed. The error then has two degrees of freedom.
[1]
"""
# Sum of the squares of the weights 1, -2, 1 of a second difference: 1 + 4 + 1 = 6.
_WEIGHTS = 6.0
# Ratio of the degrees of freedom to the number of second differences. It would be 1 if these differences were
# independent. [1]
_EFFICIENCY = 18 / 35


def mean_along_trend(values: Floats, confidence: float = CONFIDENCE) -> Estimate:
    """Return the mean of values that follow a smooth trend, with an interval from their deviations from the trend.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Non-negative values in order of time.

    Returns
    -------
    Estimate
        Mean with its interval. It has no interval if there are fewer than `VALUES_AT_LEAST` values. `NO_ESTIMATE` if
        there are no values.

    Notes
    -----
    The variance of a value is sum (v_i - 2 v_i+1 + v_i+2)^2 / (6 (n - 2)): second differences contain no linear trend
    [1]_. A curved trend makes the interval wider. The degrees of freedom are 18/35 of the number of differences. This
    follows from the variance of the sum of squares of neighbouring differences of independent normal values. The
    interval is too short if neighbouring values are positively correlated, as on a busy server. In comparisons of
    single runs, the interval is widened by an assumed difference from run to run, which suffices in the cases of
    `tests/certified/test_certified_phases.py`. The interval is symmetric in the logarithm, because CPU time is not
    negative.

    References
    ----------
    .. [1] J. von Neumann, R. H. Kent, H. R. Bellinson and B. I. Hart, "The mean square successive difference", Annals
           of Mathematical Statistics 12(2), 153-162, 1941, doi:10.1214/aoms/1177731746.
    """
    if not len(values):
        return NO_ESTIMATE
    return _around(float(values.mean()), values, 1.0, confidence)


def ratio_along_trend(numerators: Floats, denominators: Floats, confidence: float = CONFIDENCE) -> Estimate:
    """Return the ratio of two sums of values that follow a smooth trend, with an interval from the deviations from the
    trend.

    Parameters
    ----------
    numerators, denominators : ndarray of shape (n,)
        Non-negative values in order of time, such as sums and counts for a mean time.

    Returns
    -------
    Estimate
        Ratio with its interval, as for `mean_along_trend`.

    Notes
    -----
    The interval is computed from the residuals (numerator - ratio * denominator), divided by the mean denominator
    (linear approximation of a ratio of two means).
    """
    total = float(denominators.sum()) if len(denominators) else 0.0
    if total <= 0:
        return NO_ESTIMATE
    ratio = float(numerators.sum()) / total
    return _around(ratio, numerators - ratio * denominators, total / len(denominators), confidence)


def _around(mean: float, values: Floats, scale: float, confidence: float) -> Estimate:
    """Return a mean with an interval, computed from the second differences of `values / scale`."""
    count = len(values)
    if count < VALUES_AT_LEAST or mean <= 0:
        return Estimate(mean, n=count, confidence=confidence)
    second = np.diff(values / scale, 2)
    error = math.sqrt(float(second @ second) / (_WEIGHTS * len(second)) / count)
    freedom = max(1.0, math.floor(_EFFICIENCY * len(second)))
    half = t_quantile(0.5 + confidence / 2, freedom) * error / mean
    low, high = mean * math.exp(-half), mean * math.exp(min(half, 50.0))
    return Estimate(mean, low, high, SECOND_DIFFERENCES, int(freedom) + 1, confidence)

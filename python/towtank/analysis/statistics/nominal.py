"""Computes intervals from a single long series. The share of intervals that contain the true value agrees with the
confidence.

`batches.error_of` is made for short series. It must allow for an unknown correlation, so its intervals are too wide for
long series. A long series can be divided into batches whose correlation is tested. If the batches are nearly
independent, the error is computed from the scatter of their means.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.batches import RatioError, error_of, lag_one
from towtank.analysis.statistics.estimates import BATCH_MEANS, CONFIDENCE, ORDER_STATISTICS, Estimate
from towtank.analysis.statistics.histograms import rank_of
from towtank.arrays import Counts, Floats
from towtank.distributions import t_quantile

_ErrorBy = Callable[[Floats, Floats], RatioError | None]

BATCHES = 32
"""Number of batches into which a long series is divided. [1]

With fewer batches, intervals would be wider. More batches would be shorter and therefore correlated.
"""
_MEDIAN = 0.5
# If the design effect at the median exceeds this, values beyond a high quantile occur in clusters. The clusters are too
# few for batch means, so `batches.error_of` computes the error of the quantile. [1]
_CLUSTERED = 5.0
# Smallest number of independent values beyond a quantile for which an interval of the quantile is computed, by
# probability of the quantile. The number of independent values is computed with the design effect at the median,
# because the design effect beyond a high quantile is too uncertain. Values beyond p99 occur in fewer clusters than the
# median suggests, so more of them are required. [1]
_BEYOND_AT_LEAST = {0.5: 3.0, 0.9: 5.0, 0.95: 6.0, 0.99: 15.0}


def error_of_long(numerators: Floats, denominators: Floats) -> RatioError | None:
    """Return the standard error of sum(numerators) / sum(denominators) over one long series. Return None if there are
    fewer than two values, or if the denominators sum to 0.

    Parameters
    ----------
    numerators, denominators : ndarray of shape (n_observations,)
        If there are fewer than `BATCHES` observations, `batches.error_of` is used.

    Notes
    -----
    Batch means [1]_ over n = 32 batches are used if the lag-1 correlation r of the batches is not above zero after the
    correction r + (1 + 3 r) / n for its bias. Otherwise `batches.error_of` is used. Its intervals are a little too wide
    for weak correlation, and correct for strong correlation. `tests/certified/test_certified_judge.py` checks how often
    intervals contain the true value.

    References
    ----------
    .. [1] A. M. Law, *Simulation Modeling and Analysis*, 5th ed., McGraw-Hill, 2015, section 9.5.3.
    """
    size = len(numerators) // BATCHES
    if size < 1 or denominators.sum() <= 0:
        return error_of(numerators, denominators)
    tops, bottoms = (_summed(values, size) for values in (numerators, denominators))
    ratio = float(tops.sum() / bottoms.sum())
    residuals = (tops - ratio * bottoms) / float(bottoms.mean())
    plain = lag_one(residuals)
    if plain + (1 + 3 * plain) / BATCHES > 0:
        return error_of(numerators, denominators)
    error = math.sqrt(float(residuals @ residuals) / (BATCHES - 1) / BATCHES)
    return RatioError(error, error, BATCHES)


def _summed(values: Floats, size: int) -> Floats:
    """Return the sums of `BATCHES` groups of neighbouring values. Additional values at the start are added to the first
    sum.
    """
    extra = len(values) - BATCHES * size
    sums = values[extra:].reshape(BATCHES, size).sum(axis=1)
    sums[0] += values[:extra].sum()
    return np.asarray(sums, dtype=float)


def ratio_of_long(numerators: Floats, denominators: Floats) -> Estimate:
    """Return the ratio of two sums over one long series, with an interval if the series is long enough.

    Notes
    -----
    The interval is symmetric in the logarithm, as in `batches.ratio_of_sums`.
    """
    total = float(denominators.sum()) if len(denominators) else 0.0
    if total <= 0:
        return estimates.NO_ESTIMATE
    value = float(numerators.sum()) / total
    error = error_of_long(numerators, denominators)
    if error is None or error.needs is not None:
        return Estimate(value, n=len(numerators))
    half = error.half_width()
    if value <= 0 or half / value > estimates.WIDEST:
        return Estimate(value, n=error.worth)
    low, high = value * math.exp(-half / value), value * math.exp(half / value)
    return Estimate(value, low, high, BATCH_MEANS, error.worth)


def quantile_of_long(values: Floats, places: Counts, bins: int, probability: float, widening: float = 1.0) -> Estimate:
    """Return a quantile of correlated values. It has an interval if enough independent values lie beyond the quantile.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
    places : ndarray of int of shape (n_values,)
        Number of the observation that contains each value, in [0, bins).
    bins : int
        Number of observations of the series. [1]
    probability : float
        Probability of the quantile, in (0, 1).
    widening : float, default 1
        Factor, >= 1, by which the quantile of Student's t is multiplied to compute the upper limit of the interval. It
        exceeds 1 if the series is short in comparison with its relaxation time. [1]

    Notes
    -----
    The share of values below the quantile is a ratio of sums over the observations. The effective sample size (number
    of independent values) follows from the error of this ratio. With this number and Student's t, Wilson's interval of
    the share [1]_ gives the ranks of the limits of the interval (Woodruff's method, see `ranks.effective_ranks`).

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American
           Statistical Association 22(158), 209-212, 1927, doi:10.1080/01621459.1927.10502953.
    """
    count = len(values)
    if not count:
        return estimates.NO_ESTIMATE
    ordered = np.sort(values)
    value = float(ordered[rank_of(probability, count) - 1])
    without = Estimate(value, n=count)
    counts = np.bincount(places, minlength=bins).astype(float)
    at_median = _effect(values, places, counts, float(ordered[rank_of(_MEDIAN, count) - 1]))
    error = error_of_long if at_median is not None and at_median[0] <= _CLUSTERED else error_of
    here = at_median if probability == _MEDIAN else _effect(values, places, counts, value, error)
    if at_median is None or here is None:
        return without
    beyond = count / at_median[0] * min(probability, 1 - probability)
    if beyond < next((least for share, least in _BEYOND_AT_LEAST.items() if probability <= share), math.inf):
        return without
    effect = max(here[0], at_median[0])
    t = t_quantile(0.5 + CONFIDENCE / 2, min(here[1], at_median[1]))
    low, _ = _wilson(probability, count / effect, t)
    _, high = _wilson(probability, count / effect, widening * t)
    first, last = max(1, math.floor(low * count)), math.ceil(high * count)
    if last > count:
        return without
    return Estimate(value, float(ordered[first - 1]), float(ordered[last - 1]), ORDER_STATISTICS, count)


def _effect(
    values: Floats, places: Counts, counts: Floats, limit: float, error_by: _ErrorBy = error_of_long
) -> tuple[float, int] | None:
    """Return the design effect of the share of values up to `limit` [1], and its degrees of freedom [1]; None if
    unknown.
    """
    below = np.bincount(places, weights=values <= limit, minlength=len(counts)).astype(float)
    error = error_by(below, counts)
    if error is None or error.needs is not None:
        return None
    total = float(counts.sum())
    share = float(below.sum()) / total
    independent = share * (1 - share) / total
    return (max(1.0, error.standard_error**2 / independent), error.freedom) if independent > 0 else None


def _wilson(probability: float, count: float, t: float) -> tuple[float, float]:
    middle = (probability + t * t / (2 * count)) / (1 + t * t / count)
    half = t * math.sqrt(probability * (1 - probability) / count + t * t / (4 * count * count)) / (1 + t * t / count)
    return middle - half, middle + half

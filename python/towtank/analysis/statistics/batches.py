"""Interval of a ratio of sums over one run, whose seconds resemble each other.

Successive seconds of a run resemble each other, so the number of requests says little about the error of their mean.
How much they resemble each other is known no better than the run is long: an interval allows for that, and if the run
is too short to estimate it, there is none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import stats

from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import CONFIDENCE, Estimate

Floats = npt.NDArray[np.float64]

OBSERVATIONS_AT_LEAST = 20
"""Shortest series that has an interval; shorter ones with a correlation of 0.5 look independent too often. [1]"""
ERROR_AT_LEAST = 8
"""Shortest series whose standard error is estimated at all. [1]"""
WORTH_AT_LEAST = 6.0
"""Independent observations that a series must be worth, by the cautious correlation below. [1]"""
# Observations are brought together while this many are left, so that memory beneath noise is seen, too.
_LEFT_AT_LEAST = 30
# Standard errors by which the correlation is raised. Certified with the rates of `test_certified_coverage.py`: with
# less the intervals of series that look independent by chance hold too seldom, with more those of independent series
# are wider than needed.
_SHORT, _RAISED, _MOST_RAISED = 30.0, 0.3, 1.5
_RAISED_BY_CORRELATION = 2.5
# A series with more memory than this has no steady state, so that no longer run is asked for. [1]
_CORRELATION_AT_MOST = 0.98
# The length that is asked for is enough where the correlation comes out somewhat larger, too.
_SPARE = 1.5
_ROUNDING = 1e-12
_CORRELATION_LEVEL = 0.1


def lag_one(values: Floats) -> float:
    """Lag-1 autocorrelation coefficient, in [-1, 1]; 0 of a constant series."""
    deviations = values - values.mean()
    power = float(deviations @ deviations)
    return float(deviations[1:] @ deviations[:-1]) / power if power > 0 else 0.0


def looks_independent(values: Floats, level: float = _CORRELATION_LEVEL) -> bool:
    """Whether the von Neumann ratio finds no positive correlation of neighbours.

    Notes
    -----
    The ratio sum (v_i+1 - v_i)^2 / sum (v_i - mean)^2 of n independent normal values has mean 2 and, about,
    variance 4 (n - 2) / (n^2 - 1) [1]_; a small ratio means that neighbours resemble each other.

    References
    ----------
    .. [1] J. von Neumann, "Distribution of the ratio of the mean square successive difference to the
           variance", Annals of Mathematical Statistics 12(4), 367-395, 1941, doi:10.1214/aoms/1177731677.
    """
    count = len(values)
    deviations = values - values.mean()
    power = float(deviations @ deviations)
    if count < 4 or power <= 0:
        return True
    ratio = float(np.sum(np.diff(values) ** 2)) / power
    spread = math.sqrt(4 * (count - 2) / (count * count - 1))
    return (ratio - 2) / spread > float(stats.norm.ppf(level))


@dataclass(frozen=True)
class RatioError:
    """Error of a ratio of two sums.

    Attributes
    ----------
    standard_error : float
        Of the ratio, raised by what is not known about the memory of the series; intervals rest on it.
    best_error : float
        The same without being raised.
    worth : int
        Independent observations that the series is worth, >= 2. [1]
    needs : int or None
        Observations that an interval would need; None where there are enough. [1]
    """

    standard_error: float
    best_error: float
    worth: int
    needs: int | None = None

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the standard error. [1]"""
        return self.worth - 1

    def half_width(self, confidence: float = CONFIDENCE) -> float:
        """Half of the interval of the ratio by Student's t."""
        return _t(0.5 + confidence / 2, self.freedom) * self.standard_error


@lru_cache(maxsize=4096)
def _t(probability: float, freedom: int) -> float:
    return float(stats.t.ppf(probability, freedom))


def error_of(numerators: Floats, denominators: Floats) -> RatioError | None:
    """Standard error of sum(numerators) / sum(denominators); None of nothing.

    Notes
    -----
    The variance of the mean of a first-order autoregressive series is s^2 / n (1 + r) / (1 - r). The sample's r is too
    small by about (1 + 3 r) / n [1]_ and has the standard error sqrt((1 - r^2) / n), so r is corrected and raised by a
    part of that error, the more the larger r is and the shorter the series. Student's t has the degrees of freedom of
    as many independent observations as the series is worth, n (1 - r) / (1 + r). The residuals numerator - ratio *
    denominator stand for the series (linear approximation of a ratio of two means).

    Memory may hide beneath noise of single observations. So sums of 2, 4, 8, ... neighbours are looked at in the same
    way while thirty are left, and the widest interval counts.

    `needs` is set where any of them is worth fewer than `WORTH_AT_LEAST` independent observations with r raised by a
    whole standard error, or is shorter than `OBSERVATIONS_AT_LEAST`. `tests/certified/test_certified_coverage.py` shows
    how often intervals hold.

    References
    ----------
    .. [1] M. G. Kendall, "Note on bias in the estimation of autocorrelation", Biometrika 41(3-4), 403-404, 1954,
           doi:10.1093/biomet/41.3-4.403.
    """
    if len(numerators) < 2 or denominators.sum() <= 0:
        return None
    ratio = float(numerators.sum() / denominators.sum())
    found: list[RatioError] = []
    size = 1
    while size == 1 or len(numerators) // size >= _LEFT_AT_LEAST:
        tops, bottoms = _summed(numerators, size), _summed(denominators, size)
        found.append(_error((tops - ratio * bottoms) / float(bottoms.mean()), size))
        size *= 2
    widest = max(found, key=lambda error: error.half_width())
    needs = max((error.needs for error in found if error.needs is not None), default=None)
    # The widest is too wide on average, being the widest; the best estimate is the mean of all.
    best = math.sqrt(sum(error.best_error**2 for error in found) / len(found))
    return RatioError(widest.standard_error, best, widest.worth, needs)


def _error(residuals: Floats, size: int) -> RatioError:
    """Error of the mean of one series, each of whose observations stands for `size` of the series asked about."""
    count = len(residuals)
    plain = lag_one(residuals)
    correlation = plain + (1 + 3 * plain) / count
    error = math.sqrt(max(1 - correlation**2, 0.05) / count)
    # Sums of neighbours are looked at besides the series itself, whose shortness is allowed for already.
    least = _RAISED if size > 1 else min(_MOST_RAISED, max(_RAISED, _SHORT / count))
    raised = least + _RAISED_BY_CORRELATION * max(0.0, correlation)
    worth, best = (max(2.0, _worth(count, each)) for each in (correlation + raised * error, correlation))
    # The deviations are those from a mean of the same series, which takes a part of their variance away.
    errors = [math.sqrt(float(residuals @ residuals) / (count - 1) / max(0.2, 1 - 1 / n) / n) for n in (worth, best)]
    cautious = correlation + min(_MOST_RAISED, max(1.0, _SHORT / count)) * error
    enough = count >= OBSERVATIONS_AT_LEAST and _worth(count, cautious) >= WORTH_AT_LEAST
    asked = min(max(correlation, 0.0), _CORRELATION_AT_MOST)
    needs = max(
        OBSERVATIONS_AT_LEAST, math.ceil(_SPARE * size * WORTH_AT_LEAST * (1 + asked) / (1 - asked)), count * size + 1
    )
    return RatioError(errors[0], errors[1], int(worth), None if enough else needs)


def _worth(count: int, correlation: float) -> float:
    within = min(max(correlation, 0.0), 0.999)
    return count * (1 - within) / (1 + within)


def _summed(values: Floats, size: int) -> Floats:
    """Sums of neighbours; what is left over at the start, nearest to the transient, goes into the first."""
    count = len(values) // size
    extra = len(values) - count * size
    sums = values[extra:].reshape(count, size).sum(axis=1)
    sums[0] += values[:extra].sum()
    return np.asarray(sums, dtype=float)


def ratio_of_sums(
    numerators: Floats, denominators: Floats, confidence: float = CONFIDENCE, *, bin_s: float = 1.0
) -> tuple[Estimate, float | None]:
    """Ratio of two sums over one run, with its interval.

    Parameters
    ----------
    numerators, denominators : ndarray of shape (n_intervals,)
        For a rate: counts and lengths of the intervals. For a mean time: sums and counts. For a demand: CPU
        time and completions.
    bin_s : float, default 1
        Length of an interval of the record. [s]

    Returns
    -------
    estimate : Estimate
        Without a confidence interval if the series is too short; `needs_s` is then the length that one would need.
    standard_error : float or None
        Best estimate; None of fewer than `ERROR_AT_LEAST` intervals.

    Notes
    -----
    The interval of a quantity that is never negative is symmetric in its logarithm: means of response times are skewed,
    and an interval that is symmetric in the value is too short above.
    """
    total = float(denominators.sum()) if len(denominators) else 0.0
    if total <= 0:
        return estimates.NOTHING, None
    value = float(numerators.sum()) / total
    error = error_of(numerators, denominators)
    best = None if error is None or len(numerators) < ERROR_AT_LEAST else error.best_error
    if error is None or error.needs is not None:
        needs = (None if error is None else error.needs) or OBSERVATIONS_AT_LEAST
        return Estimate(value, n=len(numerators), confidence=confidence, needs_s=estimates.needed_s(needs, bin_s)), best
    half = error.half_width(confidence)
    if half <= _ROUNDING * abs(value):
        return Estimate(value, value, value, estimates.BATCH_MEANS, error.worth, confidence), best
    low, high = value - half, value + half
    if numerators.min() >= 0 and value > 0:
        low, high = value * math.exp(-half / value), value * math.exp(min(half / value, 50.0))
    return Estimate(value, low, high, estimates.BATCH_MEANS, error.worth, confidence), best

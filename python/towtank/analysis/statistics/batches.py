"""Computes the interval of a ratio of two sums over one run.

Values of successive seconds are correlated, so the number of requests does not determine the error of their mean. The
intervals allow for the error of the estimated correlation, which is smaller in a longer run. If a run is too short to
estimate the correlation, there is no interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import CONFIDENCE, Estimate
from towtank.arrays import Floats
from towtank.distributions import normal_quantile, t_quantile

OBSERVATIONS_AT_LEAST = 20
"""Smallest number of values in a series for which an interval is computed. In a shorter series, a correlation of 0.5 is
overlooked too often. [1]
"""
ERROR_AT_LEAST = 8
"""Smallest number of values in a series for which a standard error is computed. [1]"""
WORTH_AT_LEAST = 6.0
"""Smallest effective sample size of a series, in independent observations, for which an interval is computed. [1]"""
# Noise of single observations may hide correlation, so neighbouring observations are also added up in groups of 2, 4,
# 8, ... Groups are enlarged as long as at least this number of sums remains. [1]
_LEFT_AT_LEAST = 30
# The estimated correlation is raised by a multiple of its standard error, which these constants determine. They were
# chosen from the coverage rates in `test_certified_coverage.py`. With smaller values, intervals of series that look
# independent by chance would contain the true value too rarely. With larger values, intervals of independent series
# would be wider than necessary. [1]
_SHORT, _RAISED, _MOST_RAISED = 30.0, 0.3, 1.5
_RAISED_BY_CORRELATION = 2.5
# Correlations above this are replaced by it when the recommended length of a run is computed. A series with a larger
# correlation has no steady state. [1]
_CORRELATION_AT_MOST = 0.98
# The recommended length is multiplied by this factor, because a longer run may show a larger correlation. [1]
_SPARE = 1.5
_ROUNDING = 1e-12
_CORRELATION_LEVEL = 0.1  # Significance level of a positive correlation, in (0, 1).


def lag_one(values: Floats) -> float:
    """Return the lag-1 autocorrelation of a series, in [-1, 1]; 0 if the series is constant."""
    deviations = values - values.mean()
    power = float(deviations @ deviations)
    return float(deviations[1:] @ deviations[:-1]) / power if power > 0 else 0.0


def looks_independent(values: Floats, level: float = _CORRELATION_LEVEL) -> bool:
    """Return True if neighbouring values of a series show no positive correlation, according to the von Neumann ratio.

    Notes
    -----
    The ratio is sum (v_i+1 - v_i)^2 / sum (v_i - mean)^2. For n independent normal values, it has mean 2 and a variance
    of about 4 (n - 2) / (n^2 - 1) [1]_. A small ratio means that neighbouring values are similar.

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
    return (ratio - 2) / spread > normal_quantile(level)


@dataclass(frozen=True)
class RatioError:
    """Standard error of the ratio of two sums over correlated observations, with data on the precision of this error.

    Attributes
    ----------
    standard_error : float
        Standard error of the ratio, raised to allow for the uncertain correlation of the series; used for intervals.
    best_error : float
        Best estimate of the standard error, which is not raised.
    worth : int
        Effective sample size: number of independent observations with the same information as the series, >= 2. [1]
    needs : int or None
        Number of observations that an interval would require; None if the series has enough observations. [1]
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
        """Return the half-width of the interval of the ratio by Student's t."""
        return t_quantile(0.5 + confidence / 2, self.freedom) * self.standard_error


def error_of(numerators: Floats, denominators: Floats, alike: Floats | None = None) -> RatioError | None:
    """Return the standard error of sum(numerators) / sum(denominators). Return None if there are fewer than two values,
    or if the denominators sum to 0.

    Parameters
    ----------
    numerators, denominators : ndarray of shape (n_observations,)
    alike : ndarray of shape (n_observations,), optional
        Alternative numerators. Their sum differs from the sum of `numerators` only by edge effects.

    Notes
    -----
    The variance of the mean of a first-order autoregressive series is s^2 / n (1 + r) / (1 - r), for n values with
    variance s^2 and lag-1 correlation r. The r of a sample is too small by about (1 + 3 r) / n [1]_ and has the
    standard error sqrt((1 - r^2) / n). Therefore r is corrected and then raised by a multiple of its standard error.
    The multiple is larger for a larger r and for a shorter series. The degrees of freedom of Student's t follow from
    the effective sample size, n (1 - r) / (1 + r). The series is that of the residuals, numerator - ratio * denominator
    (linear approximation of a ratio of two means).

    Noise of single observations may hide correlation. The interval is therefore also computed for sums of 2, 4, 8, ...
    neighbouring observations, as long as thirty sums remain. The widest of these intervals is used.

    Two sums that differ only by edge effects have the same error in the long run, but the correlation may be known
    better for one of the two series. If `numerators` alone give no interval, or an interval with a single degree of
    freedom, the error is computed from `alike`. It is then at least the best estimate from `numerators`. In all other
    cases `alike` is not used, because its noise may hide slow changes, for instance of the speed of a server.
    `tests/certified/test_certified_response_law.py` checks how often these intervals contain the true value.

    `needs` is set if the original series or a series of sums is too short. It is too short if it has fewer than
    `OBSERVATIONS_AT_LEAST` values, or if its effective sample size is below `WORTH_AT_LEAST`. For the latter condition,
    r is raised by at least one standard error. `tests/certified/test_certified_coverage.py` checks how often intervals
    contain the true value.

    References
    ----------
    .. [1] M. G. Kendall, "Note on bias in the estimation of autocorrelation", Biometrika 41(3-4), 403-404, 1954,
           doi:10.1093/biomet/41.3-4.403.
    """
    if len(numerators) < 2 or denominators.sum() <= 0:
        return None
    direct = _error_of_one(numerators, denominators)
    if alike is None or (direct.needs is None and direct.freedom > 1):
        return direct
    return _by(alike, denominators, direct)


def _by(alike: Floats, denominators: Floats, direct: RatioError) -> RatioError:
    """Return the error computed from `alike` if `direct` has no interval, or a wider interval. Otherwise return
    `direct`.
    """
    other = _error_of_one(alike, denominators)
    best = math.sqrt((direct.best_error**2 + min(direct.best_error, other.best_error) ** 2) / 2)
    cautious = replace(other, standard_error=max(other.standard_error, direct.best_error), best_error=best)
    is_better = other.needs is None and (direct.needs is not None or cautious.half_width() < direct.half_width())
    return cautious if is_better else direct


def _error_of_one(numerators: Floats, denominators: Floats) -> RatioError:
    ratio = float(numerators.sum() / denominators.sum())
    found: list[RatioError] = []
    size = 1
    while size == 1 or len(numerators) // size >= _LEFT_AT_LEAST:
        tops, bottoms = _summed(numerators, size), _summed(denominators, size)
        found.append(_error((tops - ratio * bottoms) / float(bottoms.mean()), size))
        size *= 2
    widest = max(found, key=lambda error: error.half_width())
    needs = max((error.needs for error in found if error.needs is not None), default=None)
    # The widest interval is a maximum over all group sizes, so it is too wide on average. The best estimate of the
    # error is a mean over all group sizes.
    best = math.sqrt(sum(error.best_error**2 for error in found) / len(found))
    return RatioError(widest.standard_error, best, widest.worth, needs)


def _error(residuals: Floats, size: int) -> RatioError:
    """Return the error of the mean of a series. Each value of the series is a sum of `size` observations."""
    count = len(residuals)
    plain = lag_one(residuals)
    correlation = plain + (1 + 3 * plain) / count
    error = math.sqrt(max(1 - correlation**2, 0.05) / count)
    # The correlation is raised further for a short series, but only in the original series, where `size` is 1.
    least = _RAISED if size > 1 else min(_MOST_RAISED, max(_RAISED, _SHORT / count))
    raised = least + _RAISED_BY_CORRELATION * max(0.0, correlation)
    worth, best = (max(2.0, _worth(count, each)) for each in (correlation + raised * error, correlation))
    # Deviations from the mean of a sample underestimate the variance. The factor 1 - 1 / n corrects this bias.
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
    """Return the sum of each group of `size` neighbouring values.

    If the number of values is not a multiple of `size`, the first group is larger, because it is nearest to the
    transient.
    """
    count = len(values) // size
    extra = len(values) - count * size
    sums = values[extra:].reshape(count, size).sum(axis=1)
    sums[0] += values[:extra].sum()
    return np.asarray(sums, dtype=float)


def ratio_of_sums(
    numerators: Floats,
    denominators: Floats,
    confidence: float = CONFIDENCE,
    *,
    bin_s: float = 1.0,
    alike: Floats | None = None,
) -> tuple[Estimate, float | None]:
    """Return the ratio of two sums over one run, with an interval that allows for correlated values.

    Parameters
    ----------
    numerators, denominators : ndarray of shape (n_intervals,)
        Counts and lengths of the intervals for a rate; sums and counts for a mean time; CPU time and completions for a
        service demand.
    bin_s : float, default 1
        Length of a recorded interval. [s]
    alike : ndarray of shape (n_intervals,), optional
        Alternative numerators for the error; see `error_of`.

    Returns
    -------
    estimate : Estimate
        Ratio with its interval. If the series is too short, there is no interval, and `needs_s` is the required length.
    standard_error : float or None
        Best estimate of the standard error; None if there are fewer than `ERROR_AT_LEAST` intervals.

    Notes
    -----
    The interval of a non-negative quantity is symmetric in its logarithm. Means of response times are skewed, so an
    interval that is symmetric in the value would be too short above the value. No interval is returned if its upper
    limit would exceed a hundred times the value.
    """
    total = float(denominators.sum()) if len(denominators) else 0.0
    if total <= 0:
        return estimates.NO_ESTIMATE, None
    value = float(numerators.sum()) / total
    error = error_of(numerators, denominators, alike)
    best = None if error is None or len(numerators) < ERROR_AT_LEAST else error.best_error
    if error is None or error.needs is not None:
        needs = (None if error is None else error.needs) or OBSERVATIONS_AT_LEAST
        return Estimate(value, n=len(numerators), confidence=confidence, needs_s=estimates.needed_s(needs, bin_s)), best
    half = error.half_width(confidence)
    if half <= _ROUNDING * abs(value):
        return Estimate(value, value, value, estimates.BATCH_MEANS, error.worth, confidence), best
    low, high = value - half, value + half
    if numerators.min() >= 0 and value > 0:
        if half / value > estimates.WIDEST:
            longer = len(numerators) * max(_SPARE, WORTH_AT_LEAST / error.worth)
            needs_s = estimates.needed_s(longer, bin_s)
            return Estimate(value, n=error.worth, confidence=confidence, needs_s=needs_s), best
        low, high = value * math.exp(-half / value), value * math.exp(half / value)
    return Estimate(value, low, high, estimates.BATCH_MEANS, error.worth, confidence), best

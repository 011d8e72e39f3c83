"""Tests whether the planned window is steady: finds the end of the transient, and then tests for a trend.

MSER-5 proposes a truncation point (cut); earlier observations are removed. Since MSER has a minimum even for pure
noise, a cut counts only if the removed observations differ significantly from the others. If a transient is longer than
half of the window, or if the remaining observations have a trend, no steady state was reached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from towtank.analysis.statistics import lag_one
from towtank.arrays import Floats
from towtank.distributions import t_tail

BATCH = 5
"""Number of observations in a batch of MSER-5. [1]"""
# Smallest number of batches for MSER. With fewer batches, chance determines the minimum, so a shorter series is divided
# into smaller batches. [1]
_MSER_BATCHES = 10
# Significance level of each test for a trend. It is low because several series are tested in every run.
SIGNIFICANCE = 0.01
# Significance level of a cut. MSER chooses the cut with the largest difference, which seems significant even for pure
# noise. At this level, a cut is found in 0.2 to 4 % of noise series (20 to 300 observations, lag-1 autocorrelations up
# to 0.6, 2,000 series each).
CUT_SIGNIFICANCE = 0.001
# Smallest number of degrees of freedom in the trend test. A curved trend leaves residuals that seem strongly
# correlated, which reduces the degrees of freedom. Without this minimum, no curved trend would be found in a short
# window. [1]
_FREEDOM_AT_LEAST = 3.0
_CORRELATION_AT_MOST = 0.9  # Larger estimates of a correlation are replaced by this value. [1]
# For caution, an estimated correlation r with the standard error s is replaced by r + 2.5 r s. [1]
_RAISED = 2.5
# Smallest number of means of neighbouring observations for which their correlation is computed. [1]
_BLOCKS_AT_LEAST = 15


@dataclass(frozen=True)
class Truncation:
    """Truncation point: number of observations at the start of a series that MSER removes.

    Attributes
    ----------
    observations : int
        Number of observations to remove. [1]
    statistic : float
        Smallest value of the statistic that MSER minimises.
    at_limit : bool
        True if the minimum lies at the end of the searched range, so that removing half of the series may not suffice.
    batch : int
        Number of observations in a batch. [1]
    """

    observations: int
    statistic: float
    at_limit: bool
    batch: int


@dataclass(frozen=True)
class Trend:
    """Straight line fitted to a series.

    Attributes
    ----------
    slope_per_s : float
        Slope of the line. [unit of the series per second]
    relative_change : float
        Change over the whole series, divided by its mean. [1]
    p_value : float
        Probability of a slope at least this large if there is no trend, in [0, 1].
    error_per_s : float
        Standard error of the slope, with an allowance for autocorrelation. [unit of the series per second]
    freedom : float
        Degrees of freedom of the test. [1]
    """

    slope_per_s: float
    relative_change: float
    p_value: float
    error_per_s: float = 0.0
    freedom: float = math.inf


def mser(values: Floats, batch: int = BATCH) -> Truncation:
    """Return the truncation point of a series by the marginal standard error rule (MSER).

    Parameters
    ----------
    values : ndarray of shape (n_observations,)
    batch : int, default 5
        Number m of observations in a batch; 5 for MSER-5.

    Notes
    -----
    A series of n observations is divided into k = floor(n / m) batches of m observations each, with the means
    Z_1 .. Z_k. Let mean_d be the mean of the batches after batch d. The truncation point d minimises
    sum_{j > d} (Z_j - mean_d)^2 / (k - d)^2 over 0 <= d <= k / 2 [1]_. A minimum at d = k / 2 means that the series is
    too short or never steady.

    References
    ----------
    .. [1] K. P. White, M. J. Cobb and S. C. Spratt, "A comparison of five steady-state truncation heuristics
           for simulation", Proceedings of the 2000 Winter Simulation Conference, 755-760.
    """
    count = len(values) // batch
    if count < 2:
        return Truncation(0, 0.0, False, batch)
    means = values[: count * batch].reshape(count, batch).mean(axis=1)
    # The statistics of all possible cuts are computed in one pass, from sums from each batch to the end. The mean is
    # subtracted first, to prevent cancellation in the squares.
    shifted = means - means.mean()
    kept = count - np.arange(count // 2 + 1)
    sums = np.cumsum(shifted[::-1])[::-1][: count // 2 + 1]
    squares = np.cumsum((shifted**2)[::-1])[::-1][: count // 2 + 1]
    statistic = np.maximum(squares - sums**2 / kept, 0.0) / kept**2
    # The statistics of several cuts may differ only by rounding errors, for instance if the series is constant after
    # the transient. The first of these cuts is then used.
    best = int(np.argmax(statistic <= statistic.min() + 1e-12 * statistic.max()))
    return Truncation(best * batch, float(statistic[best]), best == count // 2, batch)


def batch_for(count: int) -> int:
    """Return the batch size of MSER for a number of observations: 5, or less if there would be fewer than ten
    batches.
    """
    return max(1, min(BATCH, count // _MSER_BATCHES))


def differs(values: Floats, cut: int, *, cautious: bool = False) -> tuple[float, float]:
    """Test whether the observations of a series before a cut differ from the observations after it.

    Returns
    -------
    p_value : float
        P-value of the difference, in [0, 1]. It is based on noise and autocorrelation of the observations after the
        cut.
    difference : float
        Mean before the cut minus mean after it.
    """
    difference, error, freedom = difference_at(values, cut, cautious=cautious)
    return chance_of(difference, error, freedom), difference


def chance_of(difference: float, error: float, freedom: float) -> float:
    """Return the p-value of a difference by a two-sided t-test, in [0, 1]; 1 if there is no difference."""
    if error == 0:
        return 0.0 if difference else 1.0
    return float(2 * t_tail(abs(difference) / error, freedom))


def is_significant(values: Floats, cut: Truncation, *, cautious: bool = False) -> bool:
    """Return True if the observations before a cut differ significantly from the observations after it."""
    return cut.observations > 0 and differs(values, cut.observations, cautious=cautious)[0] < CUT_SIGNIFICANCE


def significant_cut(values: Floats) -> Truncation | None:
    """Return the cut of MSER if the observations before it differ significantly from the observations after it;
    otherwise None.
    """
    cut = mser(values, batch_for(len(values)))
    return cut if is_significant(values, cut) else None


def difference_at(values: Floats, cut: int, *, cautious: bool = False) -> tuple[float, float, float]:
    """Return the difference between the means before and after a cut, the standard error of the difference, and its
    degrees of freedom.
    """
    kept = values[cut:]
    if not 0 < cut < len(values) - 2:
        return 0.0, 0.0, 1.0
    difference = float(values[:cut].mean()) - float(kept.mean())
    stretch = _stretch(kept, fitted=1 if cautious else 0)
    error = float(kept.std(ddof=1)) * math.sqrt(stretch / cut + stretch / len(kept))
    return difference, error, max(_FREEDOM_AT_LEAST if cautious else 1.0, len(kept) / stretch - 1)


def begins_apart(values: Floats, cut: int) -> bool:
    """Return True if the first observations of a series differ from the observations after a cut.

    Notes
    -----
    The initial state causes a transient, so a transient is largest in the first observations. Other fluctuations, such
    as a convoy at a lock, come from the system itself and begin within the window. For a transient, the difference in
    the first third of the removed observations must therefore be at least half of the difference in all removed
    observations.
    """
    level = float(values[cut:].mean())
    whole, first = float(values[:cut].mean()) - level, float(values[: math.ceil(cut / 3)].mean()) - level
    return whole * first >= 0 and abs(first) >= abs(whole) / 2


def trend(times_s: Floats, values: Floats, *, cautious: bool = False) -> Trend:
    """Fit a straight line to a series, and test for a trend with an allowance for autocorrelation.

    Parameters
    ----------
    times_s, values : ndarray of shape (n_observations,)
    cautious : bool, default False
        True to correct the autocorrelation of the residuals for its bias in a short series.

    Notes
    -----
    The line is fitted by ordinary least squares. Let r be the lag-1 autocorrelation of the residuals. The variance of
    the slope is multiplied by (1 + r) / (1 - r), and the degrees of freedom are divided by this factor. This follows
    from the effective sample size of a first-order autoregressive series [1]_. Without this correction, slowly drifting
    noise would be mistaken for a trend.

    In n residuals of a straight line, r is too small by (2 + 4 r) / n [2]_. In a short series, a steady but fluctuating
    queue may therefore be mistaken for a trend. The cautious test corrects this bias and finds fewer trends.

    References
    ----------
    .. [1] B. D. Santer et al., "Statistical significance of trends and trend differences in layer-average
           atmospheric temperature time series", Journal of Geophysical Research 105(D6), 7337-7356, 2000,
           doi:10.1029/1999JD901105.
    .. [2] N. P. A. van Giersbergen, "On the effect of deterministic terms on the bias in stable AR models", Economics
           Letters 89(1), 75-82, 2005, doi:10.1016/j.econlet.2005.05.002.
    """
    if len(values) < 4:
        return Trend(0.0, 0.0, 1.0)
    centred = times_s - times_s.mean()
    power = float(centred @ centred)
    slope = float(centred @ values) / power
    residuals = values - values.mean() - slope * centred
    mean = float(values.mean())
    relative = slope * float(np.ptp(times_s)) / abs(mean) if mean else 0.0
    stretch = _stretch(residuals, fitted=2 if cautious else 0)
    freedom = max(_FREEDOM_AT_LEAST, len(values) / stretch - 2)
    squares = float(residuals @ residuals)
    if squares <= 1e-18 * float(values @ values):
        return Trend(slope, relative, 0.0 if abs(relative) > 1e-9 else 1.0)
    error = math.sqrt(squares / freedom / power)
    return Trend(slope, relative, float(2 * t_tail(abs(slope) / error, freedom)), error, freedom)


def _stretch(values: Floats, fitted: int = 0) -> float:
    """Return the number of correlated observations that give as much information as one independent observation, >= 1.

    `fitted` is the number of parameters that were fitted to the series: 1 for a mean, 2 for a straight line. The fit
    reduces the lag-1 correlation r by (1 + 3 r) / n or (2 + 4 r) / n, which is corrected. With 0, r is not corrected.

    If `fitted` is not 0, the result also allows for correlation that the noise of single observations hides. The queue
    of a busy server returns to its mean over many observations (S / (1 - sqrt(rho))^2 for M/M/1), but each observation
    has the noise of its few transactions. Means of b = 2, 4, 8, ... neighbouring observations have less noise. Let v_b
    be their variance and r_b their correlation, and v_1 the variance of single observations. The result is the largest
    value of b v_b / v_1 (1 + r_b) / (1 - r_b) over all b.
    """
    if not fitted:
        return _by_lag_one(values, 0)
    found, size, variance = [_by_lag_one(values, fitted)], 2, float(values.var())
    while variance > 0 and len(values) // size >= _BLOCKS_AT_LEAST:
        count = len(values) // size
        means = values[len(values) - count * size :].reshape(count, size).mean(axis=1)
        found.append(size * float(means.var()) / variance * _by_lag_one(means, fitted))
        size *= 2
    return max(found)


def _by_lag_one(values: Floats, fitted: int) -> float:
    """Return the number of correlated observations that give as much information as one independent observation, for a
    first-order autoregressive series.

    If `fitted` is not 0, the correlation is also raised by a multiple of its standard error sqrt((1 - r^2) / n). The
    multiple grows with the correlation, as in `batches.error_of`. In a window that is not much longer than the
    relaxation time, the correlation of a queue near saturation is hard to detect but matters most.
    """
    correlation, count = lag_one(values), len(values)
    if fitted and count > fitted + 2:
        correlation = max(0.0, (count * correlation + fitted) / (count - fitted - 2))
        correlation += _RAISED * correlation * math.sqrt(max(1 - correlation**2, 0.05) / count)
    correlation = min(_CORRELATION_AT_MOST, max(0.0, correlation))
    return (1 + correlation) / (1 - correlation)

"""Confidence intervals: over runs, over batches of one run, of quantiles, of ratios.

Successive seconds of a run resemble each other, so the number of requests says little about the error of
their mean. Within a run everything rests on batches long enough to be nearly independent; between runs on the
runs themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from towtank.analysis import estimates
from towtank.analysis.estimates import CONFIDENCE, Estimate

Floats = npt.NDArray[np.float64]

# With fewer batches the t quantile grows fast and the estimate of the variance is hardly one; the textbooks'
# 10 to 30 batches [Law, Simulation Modeling and Analysis, 5th ed., 2015, section 9.5.3] are for long runs.
BATCHES_AT_LEAST = 8
# Batches are made longer while the von Neumann ratio finds correlation at this level. Larger: longer batches.
_CORRELATION_LEVEL = 0.1


def t_interval(values: Sequence[float] | Floats, confidence: float = CONFIDENCE) -> Estimate:
    """Mean of independent values with Student's t interval.

    Parameters
    ----------
    values : sequence of float
        One value per run.
    confidence : float
        In (0, 1).

    Notes
    -----
    mean +- t(1 - a/2, n - 1) s / sqrt(n), with s the sample standard deviation [1]_. Assumes values that are
    independent and not far from normal; one value alone has no interval.

    References
    ----------
    .. [1] NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.5.2, doi:10.18434/M32189.
    """
    sample = np.asarray(values, dtype=float)
    if not len(sample):
        return estimates.NOTHING
    mean = float(sample.mean())
    if len(sample) < 2:
        return Estimate(mean, n=1, confidence=confidence)
    error = float(sample.std(ddof=1)) / math.sqrt(len(sample))
    half = float(stats.t.ppf(0.5 + confidence / 2, len(sample) - 1)) * error
    return Estimate(mean, mean - half, mean + half, estimates.RUNS, len(sample), confidence)


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
class Batches:
    """Sums over equal stretches of a series of pairs.

    Attributes
    ----------
    numerators, denominators : ndarray of shape (n_batches,)
    size : int
        Intervals in a batch. [1]
    correlation : float
        Lag-1 autocorrelation that even the longest batches allowed have left, in [0, 1); 0 where they pass
        for independent.
    """

    numerators: Floats
    denominators: Floats
    size: int
    correlation: float

    @property
    def count(self) -> int:
        """Number of batches. [1]"""
        return len(self.numerators)

    @property
    def ratio(self) -> float:
        """Sum of the numerators over the sum of the denominators."""
        return float(self.numerators.sum() / self.denominators.sum())

    @property
    def standard_error(self) -> float:
        """Standard error of the ratio, by the linear approximation of a ratio of two means."""
        residuals = self.numerators - self.ratio * self.denominators
        mean = float(self.denominators.mean())
        variance = float(residuals @ residuals) / (self.count - 1) / self.count / mean**2
        return math.sqrt(variance * (1 + self.correlation) / (1 - self.correlation))


def batches_of(numerators: Floats, denominators: Floats) -> Batches | None:
    """Cut a series into batches just long enough to pass for independent; None if it is too short for any.

    Notes
    -----
    The size doubles from one interval on until the residuals numerator - ratio * denominator of the batches
    pass the von Neumann test, or fewer than `BATCHES_AT_LEAST` batches would be left. Then the largest size
    is kept, and the variance is raised by (1 + r) / (1 - r), as for a first-order autoregressive series with
    the remaining correlation r. Intervals left over at the start, nearest to the transient, go into the first
    batch.
    """
    if len(numerators) < BATCHES_AT_LEAST or denominators.sum() <= 0:
        return None
    ratio = numerators.sum() / denominators.sum()
    size, largest = 1, len(numerators) // BATCHES_AT_LEAST
    while True:
        tops, bottoms = _summed(numerators, size), _summed(denominators, size)
        residuals = tops - ratio * bottoms
        if looks_independent(residuals):
            return Batches(tops, bottoms, size, 0.0)
        if 2 * size > largest:
            return Batches(tops, bottoms, size, min(0.9, max(0.0, lag_one(residuals))))
        size *= 2


def _summed(values: Floats, size: int) -> Floats:
    count = len(values) // size
    extra = len(values) - count * size
    sums = values[extra:].reshape(count, size).sum(axis=1)
    sums[0] += values[:extra].sum()
    return np.asarray(sums, dtype=float)


def ratio_of_sums(
    numerators: Floats, denominators: Floats, confidence: float = CONFIDENCE
) -> tuple[Estimate, float | None]:
    """Ratio of two sums over one run, with an interval from batches.

    Parameters
    ----------
    numerators, denominators : ndarray of shape (n_intervals,)
        For a rate: counts and lengths of the intervals. For a mean time: sums and counts. For a demand: CPU
        time and completions.

    Returns
    -------
    estimate : Estimate
        Without an interval where the series is too short.
    standard_error : float or None
    """
    total = float(denominators.sum()) if len(denominators) else 0.0
    if total <= 0:
        return estimates.NOTHING, None
    value = float(numerators.sum()) / total
    batches = batches_of(numerators, denominators)
    if batches is None:
        return Estimate(value, n=len(numerators), confidence=confidence), None
    error = batches.standard_error
    half = float(stats.t.ppf(0.5 + confidence / 2, batches.count - 1)) * error
    low = max(0.0, value - half) if numerators.min() >= 0 else value - half
    return Estimate(value, low, value + half, estimates.BATCH_MEANS, batches.count, confidence), error


def order_statistic_ranks(count: int, probability: float, confidence: float = CONFIDENCE) -> tuple[int, int] | None:
    """Ranks, from 1, between which the quantile lies with at least the confidence asked.

    Parameters
    ----------
    count : int
        Number of independent values n. [1]
    probability : float
        Of the quantile, in (0, 1).

    Returns
    -------
    (int, int) or None
        None where the sample is too small for both bounds.

    Notes
    -----
    The number B of values below the p-quantile is binomial(n, p), so P(X_(l) <= q_p <= X_(u)) = P(l <= B < u)
    [1]_. l and u leave at most half of 1 - confidence on each side; the distribution of the values does not
    matter.

    References
    ----------
    .. [1] W. J. Conover, *Practical Nonparametric Statistics*, 3rd ed., Wiley, 1999, section 3.2.
    """
    tail = (1 - confidence) / 2
    low = int(stats.binom.ppf(tail, count, probability))
    high = int(stats.binom.ppf(1 - tail, count, probability)) + 1
    return (low, high) if low >= 1 and high <= count else None


def design_effect(below: Floats, counts: Floats, probability: float) -> float:
    """How many times larger the variance of a share is than with independent values, >= 1.

    Parameters
    ----------
    below : ndarray of shape (n_intervals,)
        Values at or below the quantile in each interval.
    counts : ndarray of shape (n_intervals,)
        All values in each interval.
    probability : float
        Of the quantile, in (0, 1).

    Notes
    -----
    The variance of the share from batches over p (1 - p) / n: the design effect of Kish. Intervals that
    are too few for batches count as independent, and the interval says so by its `n`.
    """
    batches = batches_of(below, counts)
    total = float(counts.sum())
    if batches is None or total <= 0:
        return 1.0
    return max(1.0, batches.standard_error**2 * total / (probability * (1 - probability)))


def effective_ranks(
    count: int, probability: float, effect: float, confidence: float = CONFIDENCE
) -> tuple[int, int] | None:
    """Ranks among `count` correlated values that are worth `count / effect` independent ones.

    Notes
    -----
    The exact binomial ranks at the effective size, stretched to the real one (Woodruff's interval with a
    binomial in place of the normal distribution) [1]_.

    References
    ----------
    .. [1] R. S. Woodruff, "Confidence intervals for medians and other position measures", Journal of the
           American Statistical Association 47(260), 635-646, 1952, doi:10.1080/01621459.1952.10483443.
    """
    worth = max(1, math.floor(count / effect))
    ranks = order_statistic_ranks(worth, probability, confidence)
    if ranks is None:
        return None
    low = max(1, math.floor(ranks[0] * count / worth))
    return low, min(count, math.ceil(ranks[1] * count / worth))


def ratio_interval(top: Estimate, bottom: Estimate) -> Estimate:
    """Ratio of two independent estimates, by Fieller's theorem.

    Parameters
    ----------
    top, bottom : Estimate
        Means with symmetric t intervals, or anything with an interval; the standard errors are taken from the
        widths.

    Returns
    -------
    Estimate
        Without an interval where one of the two has none, or where the bottom is not clearly different from
        zero.

    Notes
    -----
    With g = (t s_b / b)^2 the bounds are [a/b +- (t/b) sqrt(s_a^2 (1 - g) + s_b^2 a^2/b^2)] / (1 - g) for
    independent a and b [1]_. t has the degrees of freedom of Welch and Satterthwaite for the
    difference a - (a/b) b, from the n of the two estimates.

    References
    ----------
    .. [1] E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical Society B
           16(2), 175-185, 1954.
    """
    if top.value is None or not bottom.value:
        return estimates.NOTHING
    value = top.value / bottom.value
    first, second = standard_error_of(top), standard_error_of(bottom)
    count = min(top.n, bottom.n)
    if first is None or second is None:
        return Estimate(value, n=count, confidence=top.confidence)
    variances = (first**2, (value * second) ** 2)
    freedom = _satterthwaite(variances, (_freedom(top), _freedom(bottom)))
    t = float(stats.t.ppf(0.5 + top.confidence / 2, freedom))
    g = (t * second / bottom.value) ** 2
    if g >= 1:
        return Estimate(value, n=count, confidence=top.confidence)
    half = t / abs(bottom.value) * math.sqrt(variances[0] * (1 - g) + variances[1])
    low, high = (value - half) / (1 - g), (value + half) / (1 - g)
    method = top.method if top.method == bottom.method else f"{top.method}, {bottom.method}"
    return Estimate(value, low, high, method, count, top.confidence)


def difference_interval(first: Estimate, second: Estimate, confidence: float | None = None) -> Estimate:
    """Difference of two independent estimates, first minus second, by Welch's interval.

    Parameters
    ----------
    first, second : Estimate
        The standard errors are taken from the widths.
    confidence : float, optional
        In (0, 1); that of the first by default.

    Returns
    -------
    Estimate
        Without an interval where one of the two has none.

    Notes
    -----
    a - b +- t sqrt(s_a^2 + s_b^2), with the degrees of freedom of Welch and Satterthwaite [1]_.

    References
    ----------
    .. [1] B. L. Welch, "The generalization of Student's problem when several different population variances
           are involved", Biometrika 34, 28-35, 1947, doi:10.1093/biomet/34.1-2.28.
    """
    if first.value is None or second.value is None:
        return estimates.NOTHING
    value = first.value - second.value
    level = first.confidence if confidence is None else confidence
    errors = standard_error_of(first), standard_error_of(second)
    count = min(first.n, second.n)
    if errors[0] is None or errors[1] is None:
        return Estimate(value, n=count, confidence=level)
    variances = (errors[0] ** 2, errors[1] ** 2)
    freedom = _satterthwaite(variances, (_freedom(first), _freedom(second)))
    half = float(stats.t.ppf(0.5 + level / 2, freedom)) * math.sqrt(sum(variances))
    method = first.method if first.method == second.method else f"{first.method}, {second.method}"
    return Estimate(value, value - half, value + half, method, count, level)


def standard_error_of(estimate: Estimate) -> float | None:
    """Standard error that belongs to the width of an interval; None without one."""
    half = estimate.half_width
    if half is None:
        return None
    return half / float(stats.t.ppf(0.5 + estimate.confidence / 2, _freedom(estimate)))


def _freedom(estimate: Estimate) -> float:
    """Degrees of freedom; an interval from order statistics rests on the normal distribution."""
    return math.inf if estimate.method == estimates.ORDER_STATISTICS else max(1, estimate.n - 1)


def _satterthwaite(variances: tuple[float, float], freedoms: tuple[float, float]) -> float:
    total = sum(variances)
    if total <= 0:
        return min(freedoms)
    inverse = sum((variance / total) ** 2 / freedom for variance, freedom in zip(variances, freedoms, strict=True))
    return 1 / inverse if inverse > 0 else math.inf


def welch_difference(first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Difference of two means of independent runs, first minus second, by Welch's interval.

    References
    ----------
    .. [1] B. L. Welch, "The generalization of Student's problem when several different population variances
           are involved", Biometrika 34, 28-35, 1947, doi:10.1093/biomet/34.1-2.28.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    value = float(a.mean() - b.mean())
    if min(len(a), len(b)) < 2:
        return Estimate(value, n=min(len(a), len(b)), confidence=confidence)
    variances = (float(a.var(ddof=1)) / len(a), float(b.var(ddof=1)) / len(b))
    freedom = _satterthwaite(variances, (len(a) - 1, len(b) - 1))
    half = float(stats.t.ppf(0.5 + confidence / 2, freedom)) * math.sqrt(sum(variances))
    return Estimate(value, value - half, value + half, estimates.RUNS, len(a) + len(b), confidence)

"""Confidence intervals from values that are independent, one per run: of means, differences and ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import CONFIDENCE, Estimate

Floats = npt.NDArray[np.float64]


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

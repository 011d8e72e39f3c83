"""Computes confidence intervals of means, differences and ratios from independent values, one value per run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import CONFIDENCE, Estimate
from towtank.arrays import Floats
from towtank.distributions import t_quantile


def t_interval(values: Sequence[float] | Floats, confidence: float = CONFIDENCE) -> Estimate:
    """Return the mean of independent values, with Student's t interval.

    Parameters
    ----------
    values : sequence of float
        One value per run.
    confidence : float
        Confidence of the interval, in (0, 1).

    Notes
    -----
    The interval is mean +- t(1 - a/2, n - 1) s / sqrt(n) for n values with sample standard deviation s and confidence
    1 - a [1]_. The values must be independent and approximately normal. A single value has no interval.

    References
    ----------
    .. [1] NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.5.2, doi:10.18434/M32189.
    """
    sample = np.asarray(values, dtype=float)
    if not len(sample):
        return estimates.NO_ESTIMATE
    mean = float(sample.mean())
    if len(sample) < 2:
        return Estimate(mean, n=1, confidence=confidence)
    error = float(sample.std(ddof=1)) / math.sqrt(len(sample))
    half = t_quantile(0.5 + confidence / 2, len(sample) - 1) * error
    return Estimate(mean, mean - half, mean + half, estimates.RUNS, len(sample), confidence)


def t_interval_about(
    values: Sequence[float] | Floats, together: float | None = None, confidence: float = CONFIDENCE
) -> Estimate:
    """Return a value that was computed from the samples of all runs together, with a Student's t interval.

    The width of the interval follows from the values of the single runs.

    Parameters
    ----------
    values : sequence of float
        One value per run, such as the p95 of the run.
    together : float, optional
        Value q of the samples of all runs together, such as p95 of all requests. By default, the mean of `values`.
    confidence : float
        Confidence of the interval, in (0, 1).

    Notes
    -----
    The interval is q +- t(1 - a/2, n - 1) s / sqrt(n) with s^2 = sum (q_i - q)^2 / (n - 1), for n runs with values q_i
    and confidence 1 - a. Let run i have the distribution function F_i and the percentile q_i. For runs of equal size,
    the percentile q of all samples solves F(q) = p, where F is the mean of the F_i. If runs differ little, the
    deviation of q from the true percentile is therefore, to first order, the mean of the deviations of the q_i. The
    error of q is then the error of this mean [1]_.

    The interval includes the second-order distance of q from the mean of the runs: s^2 is the sample variance plus
    n / (n - 1) times the square of this distance. If runs differ so much that the approximation fails, the interval is
    wide.

    References
    ----------
    .. [1] R. R. Bahadur, "A note on quantiles in large samples", The Annals of Mathematical Statistics 37(3),
           577-580, 1966, doi:10.1214/aoms/1177699450.

    Examples
    --------
    >>> found = t_interval_about([1.0, 3.0, 5.0], 4.0)
    >>> found.value, round(found.low, 1), round(found.high, 1)
    (4.0, -1.8, 9.8)
    """
    mean = t_interval(values, confidence)
    if together is None or mean.value is None:
        return mean
    if len(values) < 2:
        return replace(mean, value=together)
    sample = np.asarray(values, dtype=float)
    error = math.sqrt(float(np.sum((sample - together) ** 2)) / (len(sample) - 1) / len(sample))
    half = t_quantile(0.5 + confidence / 2, len(sample) - 1) * error
    return Estimate(together, together - half, together + half, estimates.RUNS, len(sample), confidence)


def ratio_interval(top: Estimate, bottom: Estimate) -> Estimate:
    """Return the ratio of two independent estimates with its interval.

    Parameters
    ----------
    top, bottom : Estimate
        Numerator and denominator, with intervals. The standard errors are derived from the widths of the intervals.

    Returns
    -------
    Estimate
        Ratio with its interval. It has no interval if the numerator or the denominator has none. The ratio of two means
        over runs has no interval either if the upper bound would exceed a hundred times the ratio. Other ratios have no
        interval either if the denominator does not differ significantly from zero.

    Notes
    -----
    Let a be the numerator with standard error s_a, b the denominator with standard error s_b, and t a quantile of
    Student's t. For two means over runs above zero, the interval is symmetric in the logarithm. With the relative
    standard errors c_a = s_a / a and c_b = s_b / b, the bounds are a/b exp(+- t sqrt(c_a^2 + c_b^2)), by linear
    approximation of ln a - ln b. Since runs may agree by chance, the interval is at least as wide as the interval that
    follows from the errors within the runs.

    For all other estimates, Fieller's interval is used: with g = (t s_b / b)^2 the bounds are [a/b +- (t/b)
    sqrt(s_a^2 (1 - g) + s_b^2 a^2/b^2)] / (1 - g) for independent a and b [1]_. If both values are above zero but the
    lower bound is not, the interval by the logarithm is used instead. For g >= 1, Fieller's interval does not exist. It
    is not used for positive means over runs, because their g depends on chance: for two runs with an error of 30 %
    each, only 58 % of the ratios would have an interval. `tests/certified/test_certified_ratios.py` compares the two
    methods.

    t has the degrees of freedom of Welch and Satterthwaite for the difference a - (a/b) b. They follow from the sample
    sizes n of the two estimates. For two means over runs, they are at most the value that would result if the errors of
    all runs were equal.

    References
    ----------
    .. [1] E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical Society B
           16(2), 175-185, 1954.
    """
    if top.value is None or not bottom.value:
        return estimates.NO_ESTIMATE
    value = top.value / bottom.value
    count = min(top.n, bottom.n)
    bounds = _ratio_bounds(top, bottom)
    if bounds is None:
        return Estimate(value, n=count, confidence=top.confidence)
    method = top.method if top.method == bottom.method else f"{top.method}, {bottom.method}"
    resolution = abs(value) * _relative_resolution(top, bottom)
    return Estimate(value, *bounds, method, count, top.confidence, resolution=resolution)


def _ratio_bounds(top: Estimate, bottom: Estimate) -> tuple[float, float] | None:
    """Return the bounds of the ratio of two estimates, by logarithms or by Fieller's theorem. Return None if no bounds
    exist.
    """
    above, below = top.value or 0.0, bottom.value or 0.0
    first, second = standard_error_of(top), standard_error_of(bottom)
    if first is None or second is None:
        return None
    value = above / below
    t = t_quantile(0.5 + top.confidence / 2, _freedom_of_two((top, first), (bottom, value * second)))
    read = _relative_resolution(top, bottom)
    if (read or _are_over_runs(top, bottom)) and _is_above_zero(top) and _is_above_zero(bottom):
        half = max(t * math.hypot(first / above, second / below), _within(top, bottom, above, below))
        return _by_logarithm(value, half + read)
    g = (t * second / below) ** 2
    if g >= 1:
        return None
    half = t / abs(below) * math.sqrt(first**2 * (1 - g) + (value * second) ** 2)
    low, high = (value - half) / (1 - g), (value + half) / (1 - g)
    if low > 0 or not (_is_above_zero(top) and _is_above_zero(bottom)):
        return low, high
    # A ratio of non-negative quantities is not negative. If the lower bound is negative, the numerator is too uncertain
    # for the linear approximation. The interval by logarithms is then used instead.
    return _by_logarithm(value, t * math.hypot(first / above, second / below))


def _relative_resolution(top: Estimate, bottom: Estimate) -> float:
    """Return the relative error of a ratio that the resolutions of both readings allow; 0 if they are negligible."""
    if not top.resolution and not bottom.resolution:
        return 0.0
    parts = ((estimate.resolution, abs(estimate.value or 0.0)) for estimate in (top, bottom))
    return sum(resolution / size if size else math.inf for resolution, size in parts if resolution)


def _by_logarithm(value: float, half: float) -> tuple[float, float] | None:
    """Return the bounds of a ratio from the half-width of its interval on the logarithmic scale. Return None if the
    interval is too wide to be meaningful.
    """
    return None if half > estimates.WIDEST else (value * math.exp(-half), value * math.exp(half))


def _are_over_runs(first: Estimate, second: Estimate) -> bool:
    return {first.method, second.method} == {estimates.RUNS} and min(first.n, second.n) >= 2


def _is_above_zero(estimate: Estimate) -> bool:
    return (estimate.value or 0.0) > 0 and estimate.low is not None and estimate.low >= 0


def difference_interval(first: Estimate, second: Estimate, confidence: float | None = None) -> Estimate:
    """Return the difference of two independent estimates, first minus second, with Welch's interval.

    Parameters
    ----------
    first, second : Estimate
        Estimates with intervals. The standard errors are derived from the widths of the intervals.
    confidence : float, optional
        Confidence of the interval, in (0, 1). By default, the confidence of the first estimate.

    Returns
    -------
    Estimate
        Difference with its interval. It has no interval if one of the estimates has none.

    Notes
    -----
    The interval is a - b +- (t sqrt(s_a^2 + s_b^2) + r_a + r_b), with the standard errors s_a and s_b and the
    resolutions r_a and r_b of the estimates a and b. The
    degrees of freedom of t are those of Welch and Satterthwaite [1]_. For two means over runs, they are at most the
    value that would result if the errors of all runs were equal. The interval is then at least as wide as the interval
    that follows from the errors within the runs.

    References
    ----------
    .. [1] B. L. Welch, "The generalization of Student's problem when several different population variances
           are involved", Biometrika 34, 28-35, 1947, doi:10.1093/biomet/34.1-2.28.
    """
    if first.value is None or second.value is None:
        return estimates.NO_ESTIMATE
    value = first.value - second.value
    level = first.confidence if confidence is None else confidence
    first_error, second_error = standard_error_of(first), standard_error_of(second)
    count = min(first.n, second.n)
    if first_error is None or second_error is None:
        return Estimate(value, n=count, confidence=level)
    freedom = _freedom_of_two((first, first_error), (second, second_error))
    half = t_quantile(0.5 + level / 2, freedom) * math.hypot(first_error, second_error)
    resolution = first.resolution + second.resolution
    half = max(half, _within(replace(first, confidence=level), second)) + resolution
    method = first.method if first.method == second.method else f"{first.method}, {second.method}"
    return Estimate(value, value - half, value + half, method, count, level, resolution=resolution)


def total_interval(parts: Sequence[Estimate], *, independent: bool) -> Estimate:
    """Return the sum of estimates with its interval.

    Parameters
    ----------
    parts : sequence of Estimate
        Summands, at least one. All must have the same confidence.
    independent : bool
        True if the errors of the summands are independent. Otherwise the interval of the sum is the sum of the
        intervals, which holds for any correlation of the errors.

    Returns
    -------
    Estimate
        Sum with its interval. The interval does not extend below 0 if no summand has an interval that does. The sum has
        no interval if a summand has none. `n` is the degrees of freedom, rounded down, plus 1.

    Notes
    -----
    Summand i has the value a_i and the standard error s_i with f_i degrees of freedom. If the errors are independent,
    the interval is sum a_i +- t sqrt(sum s_i^2), where t has (sum s_i^2)^2 / sum (s_i^4 / f_i) degrees of freedom [1]_.

    References
    ----------
    .. [1] F. E. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics Bulletin
           2(6), 110-114, 1946.
    """
    values = [part.value for part in parts if part.value is not None]
    if len(values) < len(parts):
        return estimates.NO_ESTIMATE
    value, level = sum(values), parts[0].confidence
    errors = [error for part in parts if (error := standard_error_of(part)) is not None]
    if len(errors) < len(parts):
        return Estimate(value, n=min(part.n for part in parts), confidence=level)
    exact_freedom = _satterthwaite([error**2 for error in errors], [_freedom(part) for part in parts])
    # Without the small number, a rounding error could remove one degree of freedom.
    freedom = math.inf if math.isinf(exact_freedom) else math.floor(exact_freedom + 1e-9)
    resolution = sum(part.resolution for part in parts)
    half = t_quantile(0.5 + level / 2, freedom) * math.hypot(*errors) + resolution
    if not independent:
        half = max(half, sum(part.half_width or 0.0 for part in parts))
    halves = [part.within for part in parts if part.within is not None]
    within = math.hypot(*halves) if len(halves) == len(parts) else None
    method = ", ".join(dict.fromkeys(part.method for part in parts))
    number = sum(part.n for part in parts) if math.isinf(freedom) else int(freedom) + 1
    if not independent:
        # `n` determines how the interval widens with the confidence. The smallest `n` of all summands is a safe choice.
        number = min(number, *(part.n for part in parts))
    made = Estimate(value, value - half, value + half, method, number, level, within=within, resolution=resolution)
    return made.of_quantity() if all((part.low or 0.0) >= 0 for part in parts) else made


def _within(first: Estimate, second: Estimate, first_unit: float = 1.0, second_unit: float = 1.0) -> float:
    """Return the half-width of the interval of a difference of two means over runs that follows from the errors within
    the runs alone; 0 if these errors are unknown.
    """
    if first.within is None or second.within is None:
        return 0.0
    times = t_quantile(0.5 + first.confidence / 2, math.inf) / t_quantile(0.5 + CONFIDENCE / 2, math.inf)
    return times * math.hypot(first.within / first_unit, second.within / second_unit)


def standard_error_of(estimate: Estimate) -> float | None:
    """Return the standard error of an estimate, derived from the width of its interval. Return None if there is no
    interval.

    The bounds of an incomplete count do not express a random error, so the result is None for such a count. The
    resolution of the readings is not a random error either, so it is left out.
    """
    half = estimate.half_width
    if half is None:
        return None
    if estimate.method == estimates.EXACT:
        return None if half else 0.0
    return max(0.0, half - estimate.resolution) / t_quantile(0.5 + estimate.confidence / 2, _freedom(estimate))


def _freedom(estimate: Estimate) -> float:
    """Return the degrees of freedom of an estimate. They are infinite for order statistics, whose intervals use normal
    quantiles.
    """
    return math.inf if estimate.method == estimates.ORDER_STATISTICS else max(1, estimate.n - 1)


def _freedom_of_two(*both: tuple[Estimate, float]) -> float:
    """Return the degrees of freedom of the difference of two estimates, from their standard errors.

    Notes
    -----
    If an estimate comes from two runs, their values may be nearly equal by chance. Its error then seems to be
    negligible, so the other estimate determines the degrees of freedom, and the interval is too short. For example, if
    the estimates come from two and six runs, only 92.5 % of the 95 % intervals contain the true value. For means over
    runs, the degrees of freedom are therefore at most the value that would result if the errors of all runs were equal.
    This limit has no effect if the numbers of runs are equal.
    """
    (first, _), (second, _) = both
    freedoms = (_freedom(first), _freedom(second))
    freedom = _satterthwaite((both[0][1] ** 2, both[1][1] ** 2), freedoms)
    if _are_over_runs(first, second):
        return min(freedom, _satterthwaite((1 / first.n, 1 / second.n), freedoms))
    return freedom


def capped_freedom(factors: Sequence[float], variances: Sequence[float], freedoms: Sequence[float]) -> float:
    """Return the degrees of freedom of sum k_i s_i^2 by Satterthwaite. They have an upper limit, because the variances
    of short series are uncertain.

    Parameters
    ----------
    factors, variances, freedoms : sequences of float
        k_i, the sample variances s_i^2, and their degrees of freedom, > 0.

    Notes
    -----
    With f_i degrees of freedom of s_i^2, the result is (sum k_i s_i^2)^2 / sum ((k_i s_i^2)^2 / f_i) [1]_, unless the
    limit is smaller. The limit is needed because two runs may agree by chance; see `_freedom_of_two`. The variance of
    the shorter series may truly be larger, so the limit is the value for variances in proportion to sqrt(k_i). For
    series of equal length, the limit has no effect.

    `tests/analysis/test_analysis_comparing.py` compares 10 or 5 runs of a system with 2 runs of another system. The
    latter vary five times as much, and both systems have the same mean. Without a limit, 10 % of the 95 % intervals
    exclude zero. With the limit for equal variances, 6.5 and 7.6 % exclude zero, and with the present limit 4 and 6 %.

    References
    ----------
    .. [1] F. E. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics Bulletin
           2(6), 110-114, 1946.
    """
    parts = [factor * variance for factor, variance in zip(factors, variances, strict=True)]
    at_most = float(_satterthwaite([factor**1.5 for factor in factors], freedoms))
    return min(at_most, float(_satterthwaite(parts, freedoms))) if sum(parts) > 0 else at_most


def _satterthwaite(variances: Sequence[float], freedoms: Sequence[float]) -> float:
    total = sum(variances)
    if total <= 0:
        return min(freedoms)
    inverse = sum((variance / total) ** 2 / freedom for variance, freedom in zip(variances, freedoms, strict=True))
    return 1 / inverse if inverse > 0 else math.inf

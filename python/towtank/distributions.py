"""Computes quantiles and tails of common distributions from special functions.

`scipy.stats` is not used: importing it takes half a second of CPU time, more than most commands take for their work.
"""

from __future__ import annotations

import math
from typing import overload

import numpy as np
import numpy.typing as npt
import scipy

from towtank.arrays import Floats

# From this number of degrees of freedom on, the noncentral t and the shifted normal distribution agree to three digits.
_NEARLY_NORMAL = 1e5


@overload
def t_quantile(probability: float, freedom: float) -> float: ...
@overload
def t_quantile(probability: Floats, freedom: float) -> Floats: ...
def t_quantile(probability: float | Floats, freedom: float) -> float | Floats:
    """Return the quantile of Student's t distribution; with infinite `freedom`, of the normal distribution.

    Examples
    --------
    >>> round(t_quantile(0.975, 9), 4)
    2.2622
    """
    return _plain(
        scipy.special.ndtri(probability) if math.isinf(freedom) else scipy.special.stdtrit(freedom, probability)
    )


@overload
def t_tail(value: float, freedom: float) -> float: ...
@overload
def t_tail(value: Floats, freedom: float) -> Floats: ...
def t_tail(value: float | Floats, freedom: float) -> float | Floats:
    """Return the probability that a variable with Student's t distribution exceeds a value. If `freedom` is infinite,
    the distribution is normal.
    """
    return normal_tail(value) if math.isinf(freedom) else _plain(scipy.special.stdtr(freedom, np.negative(value)))


def noncentral_t_tail(value: float, freedom: float, shift: float) -> float:
    """Return the probability that a variable with the noncentral t distribution exceeds a value; `shift` is the
    noncentrality.

    Examples
    --------
    >>> round(noncentral_t_tail(2.228, 10, 3.1), 2)
    0.8
    """
    if freedom > _NEARLY_NORMAL:
        return normal_tail(value - shift)
    found = 1 - float(scipy.special.nctdtr(freedom, shift, value))
    # `nctdtr` returns NaN for large shifts. Compared with such a shift, the normal variable in the numerator of t is
    # negligible, so the chi-square variable in the denominator determines the result.
    return found if math.isfinite(found) else float(scipy.special.chdtr(freedom, freedom * (shift / value) ** 2))


@overload
def normal_quantile(probability: float) -> float: ...
@overload
def normal_quantile(probability: Floats) -> Floats: ...
def normal_quantile(probability: float | Floats) -> float | Floats:
    """Return the quantile of the standard normal distribution.

    Examples
    --------
    >>> round(normal_quantile(0.975), 4)
    1.96
    """
    return _plain(scipy.special.ndtri(probability))


@overload
def normal_tail(value: float) -> float: ...
@overload
def normal_tail(value: Floats) -> Floats: ...
def normal_tail(value: float | Floats) -> float | Floats:
    """Return the probability that a standard normal variable exceeds the given value."""
    return _plain(scipy.special.ndtr(np.negative(value)))


def normal_density(value: float) -> float:
    """Return the density of the standard normal distribution."""
    return math.exp(-value * value / 2) / math.sqrt(2 * math.pi)


def truncated_normal_cdf(values: Floats, low: float, high: float) -> Floats:
    """Return the distribution function of the standard normal distribution truncated to [low, high].

    Notes
    -----
    With the upper tail Q of the normal distribution, F(x) = (1 - Q(x) / Q(low)) / (1 - Q(high) / Q(low)). The quotients
    are computed from logarithms, so that they are precise even if both bounds are far from the mean. If most of the
    interval is below the mean, the distribution is mirrored.

    Examples
    --------
    >>> truncated_normal_cdf(np.array([-1.0, 0.0, 3.0]), -2.0, 2.0).round(4)
    array([0.1424, 0.5   , 1.    ])
    """
    if low + high < 0:
        return 1.0 - truncated_normal_cdf(-values, -high, -low)
    below = scipy.special.log_ndtr(-low)
    inside = np.clip(values, low, high)
    return np.asarray(
        np.expm1(scipy.special.log_ndtr(-inside) - below) / np.expm1(scipy.special.log_ndtr(-high) - below), np.float64
    )


def f_tail(value: float, numerator: float, denominator: float) -> float:
    """Return the probability that a variable with Fisher's F distribution exceeds the given value."""
    return 1.0 if value <= 0 else float(scipy.special.fdtrc(numerator, denominator, value))


def f_quantile(probability: float, numerator: float, denominator: float) -> float:
    """Return the quantile of Fisher's F distribution with the given degrees of freedom."""
    return float(scipy.special.fdtri(numerator, denominator, probability))


def chi_square_tails(value: float, freedom: float) -> tuple[float, float]:
    """Return the probabilities that a chi-square variable is at most, and at least, the given value."""
    return float(scipy.special.chdtr(freedom, value)), float(scipy.special.chdtrc(freedom, value))


def chi_square_median(freedom: float) -> float:
    """Return the median of the chi-square distribution.

    Examples
    --------
    >>> round(chi_square_median(2), 4)
    1.3863
    """
    return float(scipy.special.chdtri(freedom, 0.5))


def binomial_tail(count: int, trials: int, probability: float) -> float:
    """Return the probability of more than `count` successes in a binomial experiment."""
    if count < 0 or count >= trials:
        return float(count < 0)
    return float(scipy.special.betainc(count + 1, trials - count, probability))


def binomial_quantile(share: float, trials: int, probability: float) -> int:
    """Return the smallest number of successes whose cumulative probability is at least `share`, in (0, 1).

    Examples
    --------
    >>> binomial_quantile(0.5, 10, 0.3)
    3
    """
    # `bdtrik` inverts a continuous extension of the distribution. Its result differs from the quantile by less than 1.
    # It is NaN if the probability of zero successes is already above `share`.
    start = scipy.special.bdtrik(share, trials, probability)
    count = min(trials, max(0, math.ceil(start))) if math.isfinite(start) else 0
    while count > 0 and 1 - binomial_tail(count - 1, trials, probability) >= share:
        count -= 1
    while count < trials and 1 - binomial_tail(count, trials, probability) < share:
        count += 1
    return count


def binomial_interval(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) interval of the probability of success [1]_.

    Raises
    ------
    ValueError
        If there are no trials, or fewer trials than successes.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
           binomial", Biometrika 26(4), 404-413, 1934, doi:10.1093/biomet/26.4.404.

    Examples
    --------
    >>> [round(bound, 4) for bound in binomial_interval(0, 20, 0.95)]
    [0.0, 0.1684]
    """
    tail, failures = (1 - confidence) / 2, trials - successes
    if not 0 <= successes <= trials or not trials:
        raise ValueError(f"must be 0 to {trials} successes of at least one trial, got {successes} instead")
    low = float(scipy.special.betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(scipy.special.betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return low, high


def poisson_tails(count: int, mean: float) -> tuple[float, float]:
    """Return the Poisson probabilities of at most `count` events, and of at least `count` events."""
    return float(scipy.special.pdtr(count, mean)), float(scipy.special.pdtrc(count - 1, mean)) if count > 0 else 1.0


def poisson_interval(count: int, confidence: float) -> tuple[float, float]:
    """Return the exact interval of the mean of a Poisson distribution from one count [1]_.

    References
    ----------
    .. [1] F. Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28(3/4), 437-442, 1936,
           doi:10.1093/biomet/28.3-4.437.

    Examples
    --------
    >>> [round(bound, 2) for bound in poisson_interval(10, 0.95)]
    [4.8, 18.39]
    """
    tail = (1 - confidence) / 2
    low = float(scipy.special.gammaincinv(count, tail)) if count else 0.0
    return low, float(scipy.special.gammaincinv(count + 1, 1 - tail))


def poisson_probabilities(counts: npt.NDArray[np.int_] | Floats, mean: float) -> Floats:
    """Return the Poisson probability of each of the given numbers of events."""
    return np.asarray(
        np.exp(scipy.special.xlogy(counts, mean) - mean - scipy.special.gammaln(np.add(counts, 1.0))), dtype=float
    )


def _plain(found: npt.ArrayLike) -> float | Floats:
    array = np.asarray(found, dtype=np.float64)
    return array if array.ndim else float(array)

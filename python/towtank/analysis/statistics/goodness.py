"""Tests whether counts, times and arrivals have the requested distribution (goodness of fit).

Each test is exact or conservative, so false alarms are not more frequent than the significance level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from towtank.analysis.statistics.histograms import Histogram
from towtank.arrays import Floats
from towtank.distributions import binomial_tail, chi_square_tails, poisson_tails, truncated_normal_cdf

Numbers = npt.NDArray[np.floating[Any]]
Distribution = Callable[[Floats], Floats]
"""Type of a cumulative distribution function of times [s]."""

EXPECTED_AT_LEAST = 5.0
"""Smallest expected count of a cell, which is a category of a test. Cells with smaller expected counts are pooled. [1]

This is the usual rule for chi-square (W. G. Cochran, "Some methods for strengthening the common χ² tests", Biometrics
10(4), 417-451, 1954, doi:10.2307/3001616).
"""
# The p-value is computed by simulation if the counts are small and the limiting distribution gives a p-value below
# this.
_WORTH_DRAWING = 0.01
# A p-value below this is not simulated. A simulation cannot resolve it, and the error of the limiting distribution does
# not change the verdict.
_BEYOND_DRAWING = 1e-12
_SMALL_EXPECTED = 100.0  # Counts are small if the smallest expected count is below this. [1]
_DRAWS_AT_MOST = 200_000  # Largest number of simulated samples. [1]
# Largest number of binomial random values in the simulation of a test. They are generated in a second or two. [1]
_CELLS_DRAWN = 20_000_000
_SEED = 20_260_101
# From this sample size on, the exact distribution of the Kolmogorov-Smirnov statistic takes long to compute. [1]
_MANY_TIMES = 10_000
_HALF_NS = 0.5


@dataclass(frozen=True)
class Goodness:
    """Result of a goodness-of-fit test.

    Attributes
    ----------
    method : str
        Name of the test.
    statistic : float or None
        Test statistic; None if it is infinite, because a value with probability 0 occurred.
    p_value : float
        Probability of a statistic at least as extreme under the requested distribution, in [0, 1].
    n : int
        Sample size. [1]
    freedom : int or None
        Degrees of freedom of chi-square; None for other tests.
    """

    method: str
    statistic: float | None
    p_value: float
    n: int
    freedom: int | None = None


def multinomial(
    counts: Sequence[float] | Floats, weights: Sequence[float] | Floats, extra: Sequence[float] | Floats | None = None
) -> Goodness | None:
    """Test whether counts in cells (categories) have a multinomial distribution with the given weights.

    Parameters
    ----------
    counts : array of shape (n_cells,)
        Number of times that each cell was chosen at random. [1]
    weights : array of shape (n_cells,)
        Relative probabilities, >= 0.
    extra : array of shape (n_cells,), optional
        Variance of each count in addition to that of random choices. If given, the test is conservative. [1]

    Returns
    -------
    Goodness or None
        Result of the test; None if all counts or all weights are zero, or if only one cell remains after pooling.

    Notes
    -----
    The statistic is Pearson's X² = Σ (O - E)² / E, with the observed counts O and the expected counts E = n w / Σ w of
    n random choices with weights w. Cells with E < 5 are pooled. X² is preferred to the likelihood ratio
    G = 2 Σ O ln(O / E), whose distribution is further from chi-square if E is small [1]_. Two cells are tested by the
    exact binomial distribution; the p-value is twice the probability of the smaller tail.

    If chi-square gives p < 0.01 and a cell has E < 100, p is computed by simulation with a fixed seed. If k of N
    simulated samples are at least as extreme, p is (1 + k) / (1 + N), which is exact at any sample size [2]_. With
    `extra`, the terms of X² are (O - E)² / (E + extra).

    References
    ----------
    .. [1] K. Larntz, "Small-sample comparisons of exact levels for chi-squared goodness-of-fit statistics", Journal
           of the American Statistical Association 73(362), 253-263, 1978, doi:10.1080/01621459.1978.10481567.
    .. [2] A. C. A. Hope, "A simplified Monte Carlo significance test procedure", Journal of the Royal Statistical
           Society B 30(3), 582-598, 1968, doi:10.1111/j.2517-6161.1968.tb00759.x.
    """
    observed, weighted = np.asarray(counts, dtype=float), np.asarray(weights, dtype=float)
    total = float(observed.sum())
    if total <= 0 or weighted.sum() <= 0:
        return None
    if (observed[weighted == 0] > 0).any():
        return Goodness("chi-square", None, 0.0, round(total))
    spread = np.zeros_like(observed) if extra is None else np.asarray(extra, dtype=float)
    expected = total * weighted / weighted.sum()
    rows = np.array([observed, expected, spread], dtype=np.float64)[:, weighted > 0]
    observed, expected, spread = _pooled(rows)
    cells = len(expected)
    if cells < 2:
        return None
    statistic = float(((observed - expected) ** 2 / (expected + spread)).sum())
    if cells == 2 and extra is None:
        count, share = round(observed[0]), float(expected[0] / total)
        above = binomial_tail(count - 1, round(total), share)
        below = binomial_tail(round(total) - count - 1, round(total), 1 - share)
        return Goodness("exact binomial", statistic, min(1.0, 2 * min(below, above)), round(total), 1)
    _, p_value = chi_square_tails(statistic, cells - 1)
    if extra is None and _is_worth_drawing(p_value, expected):
        above, _ = _drawn(statistic, round(total), expected)
        return Goodness("chi-square by draws", statistic, above, round(total), cells - 1)
    return Goodness("chi-square", statistic, p_value, round(total), cells - 1)


def _is_worth_drawing(p_value: float, expected: Numbers) -> bool:
    return _BEYOND_DRAWING < p_value < _WORTH_DRAWING and bool(expected.min() < _SMALL_EXPECTED)


def _pooled(rows: Numbers) -> Numbers:
    """Pool the cells whose expected count, in the second row, is below `EXPECTED_AT_LEAST`."""
    rows = rows[:, np.argsort(rows[1], kind="stable")]
    small = int(np.searchsorted(rows[1], EXPECTED_AT_LEAST))
    if small == 0:
        return rows
    # If the sum of the pooled expected counts is still too small, the cell with the next larger count is added.
    while small < rows.shape[1] and rows[1, :small].sum() < EXPECTED_AT_LEAST:
        small += 1
    return np.column_stack([rows[:, :small].sum(axis=1), rows[:, small:]])


def _drawn(statistic: float, total: int, expected: Numbers) -> tuple[float, float]:
    """Return two probabilities: that the test statistic is at least as large as `statistic`, and at most as large. They
    are computed by a simulation with a fixed seed.
    """
    cells = len(expected)
    draws = max(1_000, min(_DRAWS_AT_MOST, _CELLS_DRAWN // cells))
    generator = np.random.default_rng(_SEED)
    above = below = 0
    for start in range(0, draws, 10_000):
        size = min(10_000, draws - start)
        found = generator.multinomial(total, expected / expected.sum(), size=size)
        values = ((found - expected) ** 2 / expected).sum(axis=1)
        # Equal statistics may differ slightly, depending on the order of summation. The factors allow for this.
        above += int((values >= statistic * (1 - 1e-12)).sum())
        below += int((values <= statistic * (1 + 1e-12)).sum())
    return (1 + above) / (1 + draws), (1 + below) / (1 + draws)


def kolmogorov(histogram: Histogram, distribution: Distribution) -> Goodness:
    """Test whether recorded times follow a distribution, by the test of Kolmogorov and Smirnov.

    Notes
    -----
    The statistic is D = sup |F_n(t) - F(t)|, where F_n is the share of recorded times up to t, and F the expected
    share. It is computed at the edges of the histogram buckets, where F_n is known. For the exact times D may be
    larger, so the p-value is conservative. Buckets are at most 0.1 % wide, so little power is lost.

    The p-value is twice the probability that the one-sided statistic sup (F_n(t) - F(t)) is at least D. As the sum of
    the probabilities of both sides, it is at least the two-sided p-value. Below 0.1 they differ by less than 0.02 %,
    because hardly any sample has such a deviation on both sides.

    The one-sided probability is exact below 10,000 times [1]_. For more, it is exp(-2 (D sqrt(n) + 1 / (6 sqrt(n)))²),
    Smirnov's limit with the term of order 1 / sqrt(n) [2]_, whose relative error is below 0.1 % for p-values above
    0.0001.

    References
    ----------
    .. [1] Z. W. Birnbaum and F. H. Tingey, "One-sided confidence contours for probability distribution functions",
           Annals of Mathematical Statistics 22(4), 592-596, 1951, doi:10.1214/aoms/1177729550.
    .. [2] N. V. Smirnov, "Approximate laws of distribution of random variables from empirical data", Uspekhi
           Matematicheskikh Nauk 10, 179-206, 1944.
    """
    layout, total = histogram.layout, histogram.total
    lower, upper = layout.lower_edges(histogram.indices), layout.upper_edges(histogram.indices)
    # The engine rounds to whole nanoseconds. A recorded value u therefore stands for all times from u - 1/2 ns to u +
    # 1/2 ns.
    until = np.where(upper >= layout.highest, 1.0, distribution(_seconds(upper + _HALF_NS)))
    before = distribution(_seconds(np.maximum(lower - _HALF_NS, 0.0)))
    share = np.cumsum(histogram.counts) / total
    previous = np.concatenate([[0.0], share[:-1]])
    farthest = float(max(np.abs(share - until).max(), np.abs(before - previous).max()))
    # The weights of a mixture of distributions may add up to slightly more than 1.
    statistic = min(farthest, 1.0)
    # The order of the arguments keeps NaN.
    return Goodness("Kolmogorov-Smirnov", statistic, min(2 * _one_sided(statistic, total), 1.0), total)


def _one_sided(statistic: float, total: int) -> float:
    """Return the probability of a one-sided statistic of at least this size, as `kolmogorov` describes."""
    if total < _MANY_TIMES:
        return float(scipy.special.smirnov(total, statistic))
    return math.exp(-2 * (statistic * math.sqrt(total) + 1 / (6 * math.sqrt(total))) ** 2)


def _seconds(times_ns: Numbers) -> Floats:
    return np.asarray(times_ns / 1e9, dtype=np.float64)


def always(histogram: Histogram, value_s: float | Floats, exempt: int = 0) -> Goodness:
    """Test whether every recorded time equals one of the expected values. The test statistic is the number of recorded
    times that equal no expected value.

    Parameters
    ----------
    histogram : Histogram
    value_s : float or ndarray of shape (n_values,)
        Expected values. [s]
    exempt : int, default 0
        Number of recorded times that may have another value. [1]

    Notes
    -----
    A difference of two instants in whole nanoseconds has an error of up to 1 ns. A time therefore matches even if
    this error moved it into a bucket next to the expected bucket.
    """
    layout = histogram.layout
    lower, upper = layout.lower_edges(histogram.indices), layout.upper_edges(histogram.indices)
    right = np.zeros(len(lower), dtype=bool)
    for allowed_s in np.atleast_1d(value_s):
        value = min(round(float(allowed_s) * 1e9), layout.highest)
        right |= (upper >= value - 1) & (lower <= value + 1)
    wrong = int(histogram.counts[~right].sum())
    return Goodness("exact", float(wrong), 1.0 if wrong <= exempt else 0.0, histogram.total)


def poisson_number(count: int, expected: float) -> Goodness:
    """Test whether a number of arrivals agrees with a Poisson process.

    The test is exact. The two-sided p-value is twice the smaller of the two one-sided p-values.
    """
    below, above = poisson_tails(count, expected)
    return Goodness("exact Poisson", float(count), min(1.0, 2 * min(below, above)), count)


def dispersion(counts: Floats, lengths: Floats) -> Goodness | None:
    """Test whether counts in intervals of time have the dispersion of a Poisson process.

    Parameters
    ----------
    counts : ndarray of shape (n_bins,)
        Arrivals in each interval. [1]
    lengths : ndarray of shape (n_bins,)
        Lengths of the intervals [s]; for a changing rate, expected numbers of arrivals in the intervals [1].

    Returns
    -------
    Goodness or None
        Result of the test; None if fewer than two intervals remain after pooling.

    Notes
    -----
    The test uses Fisher's index of dispersion. Given their sum, Poisson counts are multinomial with probabilities
    proportional to the lengths. For n observed counts O with expected counts E, X² = Σ (O - E)² / E then has a
    chi-square distribution with n - 1 degrees of freedom. Arrivals that are too regular are as wrong as bursty
    arrivals, so the test is two-sided. Neighbouring intervals are pooled until at least five arrivals are expected in
    each. For small counts, the p-value is computed by simulation as in `multinomial`.
    """
    total, length = float(counts.sum()), float(lengths.sum())
    if total <= 0 or length <= 0:
        return None
    size = max(1, math.ceil(EXPECTED_AT_LEAST * len(counts) / total))
    starts = np.arange(0, len(counts) - len(counts) % size, size)
    if len(starts) < 2:
        return None
    kept = len(starts) * size
    observed = np.add.reduceat(counts[:kept], starts)
    expected = observed.sum() * np.add.reduceat(lengths[:kept], starts) / lengths[:kept].sum()
    if observed.sum() <= 0:
        return None
    statistic = float(((observed - expected) ** 2 / expected).sum())
    freedom = len(starts) - 1
    below, above = chi_square_tails(statistic, freedom)
    method = "index of dispersion"
    if _is_worth_drawing(2 * min(above, below), expected):
        above, below = _drawn(statistic, round(float(observed.sum())), expected)
        method += " by draws"
    return Goodness(method, statistic, min(1.0, 2 * min(above, below)), round(float(observed.sum())), freedom)


def exponential(mean_s: float) -> Distribution:
    """Return the exponential distribution function F(t) = 1 - exp(-t / m) with mean m."""
    return lambda times: -np.expm1(-times / mean_s)


def uniform(least_s: float, most_s: float) -> Distribution:
    """Return the uniform distribution function F(t) = (t - a) / (b - a) on [a, b]."""
    return lambda times: np.clip((times - least_s) / (most_s - least_s), 0.0, 1.0)


def truncated_normal(mean_s: float, deviation_s: float, least_s: float, most_s: float) -> Distribution:
    """Return the distribution function of the normal distribution truncated to [a, b]."""
    low, high = (least_s - mean_s) / deviation_s, (most_s - mean_s) / deviation_s
    return lambda times: truncated_normal_cdf((times - mean_s) / deviation_s, low, high)

"""Batches of a series: stretches long enough to be nearly independent, and the interval that follows from them.

Successive seconds of a run resemble each other, so the number of requests says little about the error of
their mean. Within a run everything rests on batches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import CONFIDENCE, Estimate

Floats = npt.NDArray[np.float64]

# With fewer batches the t quantile grows fast and the estimate of the variance is hardly one; the textbooks'
# 10 to 30 batches [Law, Simulation Modeling and Analysis, 5th ed., 2015, section 9.5.3] are for long runs.
BATCHES_AT_LEAST = 8
# Batches are made longer while the von Neumann ratio finds correlation at this level. Larger: longer batches.
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

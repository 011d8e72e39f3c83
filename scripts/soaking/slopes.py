"""Estimates the slope of a time series, with a confidence interval that allows for autocorrelation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

# Number of blocks of samples. Successive samples are correlated, for example by caches that fill and are emptied; so
# the line is fitted to the means of the blocks. [1]
_BLOCKS = 20
# Share of the measured time that is ignored at the beginning, because a process is not steady just after its start. [1]
_WARM = 0.15


@dataclass(frozen=True)
class Slope:
    """Slope of a time series.

    Attributes
    ----------
    mean : float
        Mean of the values after the start of the process.
    per_hour, low, high : float
        Slope of a line through the values, and its 95 % interval. [1/h]
    """

    mean: float
    per_hour: float
    low: float
    high: float

    def rises(self, allowed_per_hour: float) -> bool:
        """Return True if the slope is significantly above zero and above the allowed increase."""
        return self.low > 0 and self.per_hour > allowed_per_hour

    def is_flat(self, allowed_per_hour: float) -> bool:
        """Return True if the upper end of the interval of the slope is within the allowed increase."""
        return self.high <= allowed_per_hour


def slope_of(times_s: Sequence[float], values: Sequence[float]) -> Slope:
    """Fit a line through the means of blocks of samples; the first samples, from the start of the process, are ignored.

    Raises
    ------
    ValueError
        If there are too few samples.
    """
    begin = times_s[0] + _WARM * (times_s[-1] - times_s[0]) if times_s else 0.0
    kept = [(at, value) for at, value in zip(times_s, values, strict=True) if at >= begin]
    if len(kept) < 2 * _BLOCKS:
        raise ValueError(f"must be at least {2 * _BLOCKS} samples after the start, got {len(kept)}")
    blocks = np.array_split(np.array(kept, dtype=float), _BLOCKS)
    at = np.array([block[:, 0].mean() for block in blocks]) / 3600
    value = np.array([block[:, 1].mean() for block in blocks])
    away = at - at.mean()
    slope = float(away @ value / (away @ away))
    residuals = value - value.mean() - slope * away
    error = math.sqrt(float(residuals @ residuals) / (_BLOCKS - 2) / float(away @ away))
    half = float(stats.t.ppf(0.975, _BLOCKS - 2)) * error
    return Slope(float(value.mean()), slope, slope - half, slope + half)

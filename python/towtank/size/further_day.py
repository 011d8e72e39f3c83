"""Distribution of the load on a future day around the fitted line of a history, including days far from the line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from towtank.analysis.statistics.robust import Floats
from towtank.distributions import t_quantile, t_tail

_GROUPS = 20
"""Largest number of groups of far days, which bounds the cost of a table of dates. [1]"""
_HALVINGS = 60


@dataclass(frozen=True)
class FurtherDay:
    """Distribution of the deviation of a future day's load from the line, as logarithms.

    Attributes
    ----------
    freedom : int
        Degrees of freedom of the deviation. [1]
    share : float
        Share of the days that were far from the line, in [0, 1). [ratio]
    misses : ndarray of shape (n_far,)
        Deviations of these days from the line. [1]

    Notes
    -----
    A mixture: with probability 1 - q a Student distribution around the line; with probability q the same distribution
    around the deviation of one of the far days, each equally likely. Far days recur as often as in the history.
    """

    freedom: int
    share: float
    misses: Floats

    def chances_above(self, beyond: Floats, deviation: Floats) -> Floats:
        """Return, for each distance, the probability that the load of the day exceeds the line by more than the
        distance.

        `beyond` holds the distances, as logarithms. [1]
        """
        ordinary = np.asarray(t_tail(beyond / deviation, self.freedom), dtype=float)
        if not len(self.misses):
            return ordinary
        groups = np.array_split(np.sort(self.misses), min(_GROUPS, len(self.misses)))
        far = sum(len(group) * t_tail((beyond - group.mean()) / deviation, self.freedom) for group in groups)
        return np.asarray((1 - self.share) * ordinary + self.share / len(self.misses) * far, dtype=float)

    def quantiles(self, shares: Floats, deviation: Floats) -> Floats:
        """Return quantiles of the logarithm, relative to the line; `shares` and `deviation` have equal shape. [1]"""
        ordinary = np.asarray(t_quantile(shares, self.freedom) * deviation, dtype=float)
        if not len(self.misses):
            return ordinary
        # The quantile of a mixture lies between those of its parts.
        low, high = ordinary + min(0.0, self.misses.min()), ordinary + max(0.0, self.misses.max())
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = self.chances_above(middle, deviation) > 1 - shares
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.asarray((low + high) / 2, dtype=float)

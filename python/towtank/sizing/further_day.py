"""Describes the load on a future day as a random deviation from the fitted growth line. Outliers are as frequent as in
the history.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from towtank.arrays import Floats
from towtank.distributions import t_quantile, t_tail

_GROUPS = 20
"""Largest number of groups into which the outlying days are combined. It limits the time to compute dates. [1]"""
_HALVINGS = 60


@dataclass(frozen=True)
class FurtherDay:
    """Distribution of the load on a future day, as the deviation of its logarithm from the growth line.

    Attributes
    ----------
    freedom : int
        Degrees of freedom of the Student distribution of the deviation. [1]
    share : float
        Share of outliers (days far from the line) in the history, in [0, 1). [ratio]
    misses : ndarray of shape (n_far,)
        Deviations of the outliers from the line. [1]

    Notes
    -----
    A future day is an outlier with the probability q = `share`. The deviation of any other day has a Student
    distribution around 0. The deviation of an outlier has this distribution around m, where m is drawn at random from
    `misses`.
    """

    freedom: int
    share: float
    misses: Floats

    def chances_above(self, beyond: Floats, deviation: Floats) -> Floats:
        """Return the probability that the load of a future day exceeds the growth line by each distance in `beyond`.
        Distances are logarithms. [ratio]
        """
        ordinary = np.asarray(t_tail(beyond / deviation, self.freedom), dtype=float)
        if not len(self.misses):
            return ordinary
        groups = np.array_split(np.sort(self.misses), min(_GROUPS, len(self.misses)))
        far = sum(len(group) * t_tail((beyond - group.mean()) / deviation, self.freedom) for group in groups)
        return np.asarray((1 - self.share) * ordinary + self.share / len(self.misses) * far, dtype=float)

    def quantiles(self, shares: Floats, deviation: Floats) -> Floats:
        """Return quantiles of the logarithm of a future day's load, relative to the growth line. [1]

        `shares` holds the probabilities; `deviation` has the same shape.
        """
        ordinary = np.asarray(t_quantile(shares, self.freedom) * deviation, dtype=float)
        if not len(self.misses):
            return ordinary
        # The quantile of a mixture lies between the quantiles of its components. The smallest and the largest of these
        # quantiles are the first bounds of the search.
        low, high = ordinary + min(0.0, self.misses.min()), ordinary + max(0.0, self.misses.max())
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = self.chances_above(middle, deviation) > 1 - shares
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.asarray((low + high) / 2, dtype=float)

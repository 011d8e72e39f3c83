"""The load of a further day about the line of a history: an ordinary one, or with some chance one far from the line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from towtank.analysis.statistics.robust import Floats

_GROUPS = 20
"""Neighbouring misses of far days are joined into at most so many; a table of dates asks for thousands of days. [1]"""
_HALVINGS = 60


@dataclass(frozen=True)
class FurtherDay:
    """How far the logarithm of the load of a further day lies from the line.

    Attributes
    ----------
    freedom : int
        Degrees of freedom of the deviation. [1]
    share : float
        Share of the days that lay far from the line, in [0, 1). [ratio]
    misses : ndarray of shape (n_far,)
        How far these days lay from it. [1]

    Notes
    -----
    A mixture: with the chance 1 - q the distribution of Student about the line, with the chance q the same about one of
    the misses of the far days, each as likely as the other. A far day comes again as often as it came.
    """

    freedom: int
    share: float
    misses: Floats

    def chances_above(self, beyond: Floats, deviation: Floats) -> Floats:
        """Probabilities that the logarithm is more than so much above the line. [ratio]"""
        ordinary = np.asarray(t.sf(beyond / deviation, self.freedom), dtype=float)
        if not len(self.misses):
            return ordinary
        groups = np.array_split(np.sort(self.misses), min(_GROUPS, len(self.misses)))
        far = sum(len(one) * t.sf((beyond - one.mean()) / deviation, self.freedom) for one in groups)
        return np.asarray((1 - self.share) * ordinary + self.share / len(self.misses) * far, dtype=float)

    def quantiles(self, shares: Floats, deviation: Floats) -> Floats:
        """What the logarithm stays below with these probabilities, over the line; both of one shape. [1]"""
        ordinary = np.asarray(t.ppf(shares, self.freedom) * deviation, dtype=float)
        if not len(self.misses):
            return ordinary
        # The quantile of a mixture lies between those of its parts.
        low, high = ordinary + min(0.0, self.misses.min()), ordinary + max(0.0, self.misses.max())
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = self.chances_above(middle, deviation) > 1 - shares
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.asarray((low + high) / 2, dtype=float)

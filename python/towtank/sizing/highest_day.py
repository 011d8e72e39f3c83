"""Computes the distribution of the highest load in a season. The loads of the days deviate independently from the
growth line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from towtank.arrays import Floats
from towtank.sizing.further_day import FurtherDay

_NODES = 7
"""Number of quadrature nodes for the error of the growth line. This error is common to all days of a season. [1]"""
_POINTS = 300
"""Number of loads at which the distribution of the highest load is tabulated. [1]"""
_FAR = 8.0
"""Range of the tabulated loads around the highest day of the growth line, in standard deviations. [1]"""


@dataclass(frozen=True)
class HighestDay:
    """Table of the distribution of the highest load in a season, for an ascending series of limits. It converts between
    the probability that the load stays below a limit on a single day and the probability that it does so on all days.

    Attributes
    ----------
    alone : ndarray of shape (n_points,)
        For each limit, the probability that the load stays below it on the day that most easily exceeds it. [ratio]
    together : ndarray of shape (n_points,)
        For each limit, the probability that the loads of all days stay below it. [ratio]

    Notes
    -----
    P(all below z) = E[prod_i F_i(z - m_i - e)^n_i]. Here m_i is the logarithm of the load on the line on day i, F_i the
    distribution of the deviation of that day, and n_i the number of days that it represents. The error e of the line is
    normal and the same for all days.
    """

    alone: Floats
    together: Floats

    @classmethod
    def of(
        cls, further: FurtherDay, middles: Floats, deviations: Floats, noise: float, counts: Floats | float = 1.0
    ) -> HighestDay:
        """Tabulate the distribution of the highest load in a season.

        Parameters
        ----------
        further : FurtherDay
            Distribution of a day's load around the line.
        middles, deviations : ndarray of shape (n_days,)
            For each day, the logarithm of the load on the line, and the standard deviation of the day's load around it.
            The deviation includes the error of the line. [1]
        noise : float
            Standard deviation of a day's load without the error of the line, at most the smallest of `deviations`. [1]
        counts : ndarray of shape (n_days,) or float, default 1.0
            Number of days that each day represents, at least 1. [1]
        """
        shared = float(np.sqrt(max(float((deviations**2).min()) - noise**2, 0.0)))
        own = np.sqrt(np.maximum(deviations**2 - shared**2, 1e-24))
        most = float(deviations.max())
        low = middles.max() + min(0.0, float(further.misses.min(initial=0.0))) - _FAR * most
        high = middles.max() + max(0.0, float(further.misses.max(initial=0.0))) + _FAR * most
        points = np.linspace(low, high, _POINTS)
        nodes, weights = hermegauss(_NODES)
        beyond = points - middles[:, None] - shared * nodes[:, None, None]
        below = 1 - further.chances_above(beyond, np.broadcast_to(own[:, None], beyond.shape))
        share = weights / weights.sum()
        alone = np.tensordot(share, below, axes=1).min(axis=0)
        powers = np.broadcast_to(counts, middles.shape)[None, :, None]
        together = share @ (below**powers).prod(axis=1)
        kept = np.concatenate([[True], (np.diff(alone) > 1e-12) & (np.diff(together) > 1e-12)])
        return cls(np.asarray(alone[kept], dtype=float), np.asarray(together[kept], dtype=float))

    def below(self, alone: Floats) -> Floats:
        """Return the probability that the loads of all days stay below a limit. `alone` is the probability that the
        load stays below the limit on the day that most easily exceeds it.
        """
        return np.asarray(np.interp(alone, [0.0, *self.alone, 1.0], [0.0, *self.together, 1.0]), dtype=float)

    def of_one(self, together: Floats) -> Floats:
        """Return the probability that the load stays below a limit on the day that most easily exceeds it. `together`
        is the probability that the loads of all days stay below the limit.
        """
        return np.asarray(np.interp(together, [0.0, *self.together, 1.0], [0.0, *self.alone, 1.0]), dtype=float)

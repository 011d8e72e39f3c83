"""Distribution of the highest load of a week: its days deviate from the line independently of each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from towtank.analysis.statistics.robust import Floats
from towtank.size.further_day import FurtherDay

_NODES = 7
"""Nodes of the quadrature over the error of the line, which all days of a week share. [1]"""
_POINTS = 300
"""Points at which the distribution is tabulated. [1]"""
_FAR = 8.0
"""Standard deviations that the table reaches beyond the days. [1]"""


@dataclass(frozen=True)
class HighestDay:
    """Table that turns the distribution of the day that is most likely the highest into that of the highest of all.

    Attributes
    ----------
    alone : ndarray of shape (n_points,)
        Smallest of the probabilities of the days to stay below a load, ascending. [ratio]
    together : ndarray of shape (n_points,)
        Probability that all days stay below it. [ratio]

    Notes
    -----
    P(all below z) = E[prod_i F_i(z - m_i - e)], with m_i the line on day i, F_i the distribution of its own deviation
    and e the error of the line, normal and the same for all days of a week.
    """

    alone: Floats
    together: Floats

    @classmethod
    def of(cls, further: FurtherDay, middles: Floats, deviations: Floats, noise: float) -> HighestDay:
        """Tabulate the distribution.

        Parameters
        ----------
        further : FurtherDay
            Distribution of a day about the line.
        middles, deviations : ndarray of shape (n_days,)
            Logarithms of the line, and deviations of the days with the error of the line.
        noise : float
            Deviation of a day without the error of the line, at most that of any day. [1]
        """
        shared = float(np.sqrt(max(float((deviations**2).min()) - noise**2, 0.0)))
        own = np.sqrt(np.maximum(deviations**2 - shared**2, 1e-24))
        most = float(deviations.max())
        low = middles.min() + min(0.0, float(further.misses.min(initial=0.0))) - _FAR * most
        high = middles.max() + max(0.0, float(further.misses.max(initial=0.0))) + _FAR * most
        points = np.linspace(low, high, _POINTS)
        nodes, weights = hermegauss(_NODES)
        below = np.array([
            [1 - further.chances_above(points - middle - shared * node, np.full(_POINTS, width))
             for middle, width in zip(middles, own, strict=True)]
            for node in nodes
        ])  # fmt: skip
        share = weights / weights.sum()
        alone = np.tensordot(share, below, axes=1).min(axis=0)
        together = share @ below.prod(axis=1)
        kept = np.concatenate([[True], (np.diff(alone) > 1e-12) & (np.diff(together) > 1e-12)])
        return cls(np.asarray(alone[kept], dtype=float), np.asarray(together[kept], dtype=float))

    def below(self, alone: Floats) -> Floats:
        """Probabilities that all days stay below loads, from the smallest of the probabilities of single days."""
        return np.asarray(np.interp(alone, [0.0, *self.alone, 1.0], [0.0, *self.together, 1.0]), dtype=float)

    def of_one(self, together: Floats) -> Floats:
        """Probabilities of single days at which all days stay below a load with the given probabilities."""
        return np.asarray(np.interp(together, [0.0, *self.together, 1.0], [0.0, *self.alone, 1.0]), dtype=float)

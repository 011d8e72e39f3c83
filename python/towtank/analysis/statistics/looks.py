"""Computes the confidence of interim analyses (looks). A study whose claims are tested after every block of runs has
one look per block.

The confidence of each look is chosen so that all looks together have a confidence of 95 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

from towtank.analysis.statistics.estimates import CONFIDENCE
from towtank.arrays import Floats

NORMAL = NormalDist()
FIRST = 2
"""Number of blocks of runs before the first look (interim analysis). A single block does not show the scatter between
runs. [1]
"""
_STEPS_PER_DEVIATION = 4
_WIDEST = 6.0
"""Upper limit in the search for the critical value, in standard deviations. [1]"""


@dataclass(frozen=True)
class Looks:
    """Interim analyses (looks) of a study. A look takes place after each block of runs from block `FIRST` on.

    Attributes
    ----------
    at_most : int
        Largest number of blocks. A block has one run per combination of factor levels. [1]
    """

    at_most: int

    @property
    def confidence(self) -> float:
        """Confidence of the intervals at each look, in (0, 1). With it, all looks together have a confidence of 95
        %.
        """
        return nominal_confidence(self.at_most, FIRST)

    def until(self, blocks: int) -> range:
        """Return the numbers of the blocks after which a look has taken place, if `blocks` blocks are complete."""
        return range(FIRST, min(blocks, self.at_most) + 1)


@cache
def nominal_confidence(at_most: int, first: int = 1, confidence: float = CONFIDENCE) -> float:
    """Return the confidence of each look (interim analysis) with which all looks together have the confidence
    `confidence`.

    Parameters
    ----------
    at_most : int
        Number of the block before the last look. [1]
    first : int, default 1
        Number of the block before the first look. [1]
    confidence : float, default 0.95
        Confidence of all looks together, in (0, 1).
    """
    if at_most <= first:
        return confidence

    from scipy.optimize import brentq  # noqa: PLC0415 - heavy, and only such studies need it

    def excess(critical: float) -> float:
        return _never_crossed(critical, at_most, first) - confidence

    critical = brentq(excess, NORMAL.inv_cdf(0.5 + confidence / 2), _WIDEST, xtol=1e-6)
    return float(2 * NORMAL.cdf(critical) - 1)


def _never_crossed(critical: float, at_most: int, first: int) -> float:
    """Return the probability that sums of standard normal values stay within their bounds at all looks. The bounds are
    `critical` standard deviations of the sum.
    """
    edge = critical * math.sqrt(first)
    values = _grid(edge)
    density = _density(values / math.sqrt(first)) / math.sqrt(first)
    for block in range(first + 1, at_most + 1):
        further = _grid(critical * math.sqrt(block))
        density = _density(further[:, None] - values[None, :]) @ (density * _weights(values))
        values = further
    return float(density @ _weights(values))


def _density(values: Floats) -> Floats:
    found: Floats = np.exp(-(values**2) / 2) / math.sqrt(2 * math.pi)
    return found


def _grid(edge: float) -> Floats:
    return np.linspace(-edge, edge, 2 * math.ceil(edge * _STEPS_PER_DEVIATION) + 1)


def _weights(values: Floats) -> Floats:
    """Return the weights of Simpson's rule on an odd number of equally spaced values."""
    weights = np.ones(len(values))
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    found: Floats = weights * (values[1] - values[0]) / 3.0
    return found

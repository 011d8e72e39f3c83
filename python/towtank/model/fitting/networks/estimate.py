"""Estimates service demands and background work at every resource.

The short intervals of the runs give the ratios of the demands, and the means of the load levels give their scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from towtank.model.fitting.measured import Resource
from towtank.model.fitting.networks.groups import Grouping, regressed, stacked
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.fitting.observations import LEAST_RELATIVE_ERROR, Floats

MOST_BACKGROUND = 0.9
"""Upper bound for the estimate of background work, as a share of the servers. Work beyond this share is attributed to
the load. [ratio]
"""


@dataclass(frozen=True)
class Parameters:
    """Parameters of a network.

    Attributes
    ----------
    demands : ndarray of shape (n_stations, n_classes)
        Service demands D. [s]
    background : ndarray of shape (n_stations,)
        Number b of servers that background work keeps busy. [1]
    delays : ndarray of shape (n_classes,)
        Time of a transaction outside all resources. [s]
    in_turn : bool
        True if requests are served first come, first served; their wait then depends on the variation of service times.
    at_once : int or None
        Only if `in_turn` is False: number of requests that share each server at the same time. Further requests wait;
        the mean wait is equal in all classes. None if all requests share the servers, which slows all requests by the
        same factor. [1]
    """

    demands: Floats
    background: Floats
    delays: Floats
    in_turn: bool = False
    at_once: int | None = None

    def held_up(self, stations: Sequence[Resource], others: Floats) -> Floats:
        """Return the demands with the slowdown by background work and other programs (`held_up`). [s]"""
        return held_up(stations, self.demands, self.background, others)


def held_up(stations: Sequence[Resource], demands: Floats, background: Floats, others: Floats) -> Floats:
    """Return demands, of shape (..., n_stations, n_classes), with the slowdown by background work and other programs,
    which keep servers busy, in arrays of shape (..., n_stations). [s]

    Notes
    -----
    A CPU quota allows c of the m servers. Background work uses b servers and other programs use o, so each demand is
    multiplied by m / (c - b - o).
    """
    capacity = np.array([station.capacity for station in stations])
    servers = np.array([float(station.servers) for station in stations])
    left = np.maximum(capacity - background - others, (1 - MOST_BACKGROUND) * capacity / 2)
    return np.asarray(demands * (servers / left)[..., None], dtype=float)


def estimate(of: Measured, groupings: Sequence[Grouping], noise: Floats | None = None) -> Parameters:
    """Estimate service demands and background of all resources; delays are set to zero.

    `noise` are random factors of the busy time at each level, of shape (n_levels, n_stations), for a bootstrap
    replicate.

    Notes
    -----
    The intervals of all runs determine the ratios of the demands: U = b + sum_c X_c D_c with non-negative b and D_c.
    Numbers of transactions in short intervals have errors. Because of these errors, the regression makes the demands
    too similar and attributes part of the demands to the background [1]_. The means of the levels therefore determine
    the scale s: U = b + s W, where W = sum_c X_c D_c of the level, with non-negative b and s. The fit minimises
    relative errors.

    References
    ----------
    .. [1] S. Van Huffel and J. Vandewalle, *The Total Least Squares Problem*, SIAM, 1991,
           doi:10.1137/1.9781611971002.
    """
    levels = of.levels()
    demands = np.zeros((len(of.stations), len(of.classes)))
    background = np.zeros(len(of.stations))
    for place, grouping in enumerate(groupings):
        rates, busy = stacked(of, place)
        factors = regressed(grouping.columns(rates), busy)[0]
        compared = grouping.demands(factors[1:])
        if not (levels.rates @ compared > 0).all():
            # All transactions get the same demand if the resource serves none of them, or if the data cannot
            # distinguish them.
            compared = np.ones(len(of.classes))
        seen = levels.busy[:, place] * (1.0 if noise is None else noise[:, place])
        base, size = _line(levels.rates @ compared, seen)
        demands[place] = size * compared
        background[place] = min(base, MOST_BACKGROUND * of.stations[place].capacity)
    return Parameters(demands, background, np.zeros(len(of.classes)))


def _line(work: Floats, busy: Floats) -> tuple[float, float]:
    """Return background and slope of the straight line of busy servers over work that has the smallest relative errors.
    With a single load level the background is zero.
    """
    if len(work) < 2 or not (busy > 0).all():
        return 0.0, float(busy.sum() / work.sum())
    design = np.stack([np.ones(len(work)), work], axis=1) / busy[:, None]
    scale = np.linalg.norm(design, axis=0)
    found = scipy.optimize.nnls(design / scale, np.ones(len(work)))[0] / scale
    if found[1] <= 0:
        # Busy time that does not grow with the work could be background, but this function attributes it to
        # transactions.
        return 0.0, float(busy.sum() / work.sum())
    return float(found[0]), float(found[1])


def misses(of: Measured, parameters: Parameters) -> Floats:
    """Return the relative error of busy time at each load level and station: measured / computed - 1. [ratio]"""
    levels = of.levels()
    made = parameters.background + levels.rates @ parameters.demands.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(made > 0, levels.busy / made - 1, 0.0)


def noise_of(of: Measured, parameters: Parameters, stream: np.random.Generator) -> Floats:
    """Draw a random factor of busy time for each load level and station, from the residuals of the fit.

    Notes
    -----
    The residuals of each station over the n levels are drawn with replacement and enlarged by sqrt(n / (n - 2)) and by
    sqrt(f / chi2_f) (Davison and Hinkley 1997, section 6.2). Normal noise with the standard deviation
    `LEAST_RELATIVE_ERROR` is added. f is the number of degrees of freedom of all stations, at least three.
    """
    # For an idle station, the logarithm of measured over computed busy time is -inf, so its factor exp(-inf) is zero.
    with np.errstate(divide="ignore"):
        left = np.log1p(misses(of, parameters))
    count, stations = left.shape
    freedom = max(3, stations * (count - 2))
    drawn = np.take_along_axis(left, stream.integers(0, count, (count, stations)), axis=0)
    size = math.sqrt(count / max(1, count - 2)) * math.sqrt(freedom / stream.chisquare(freedom))
    floor = LEAST_RELATIVE_ERROR * stream.standard_normal((count, stations))
    return np.asarray(np.exp(drawn * size + floor), dtype=float)

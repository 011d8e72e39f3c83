"""Demands and background of every resource: ratios of transactions from the seconds, sizes from the levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from towtank.model.fitting.networks.groups import Grouping, regressed, stacked
from towtank.model.fitting.networks.seconds import Measured, Station
from towtank.model.fitting.observations import LEAST_RELATIVE_ERROR, Floats

MOST_BACKGROUND = 0.9
"""Background of more than this share of the servers is the load, and no background. [ratio]"""


@dataclass(frozen=True)
class Parameters:
    """Parameters of a network.

    Attributes
    ----------
    demands : ndarray of shape (n_stations, n_classes)
        Service demands D. [s]
    background : ndarray of shape (n_stations,)
        Servers that are busy without transactions, b. [1]
    delays : ndarray of shape (n_classes,)
        Time of a transaction at no resource. [s]
    in_turn : bool
        Whether requests go one after the other, so that their wait grows with how much service times vary.
    at_once : int or None
        Else the number of requests that share each server, while the others wait in turn, each the same time; None if
        all share, and each is slowed by the same factor. [1]
    """

    demands: Floats
    background: Floats
    delays: Floats
    in_turn: bool = False
    at_once: int | None = None

    def held_up(self, stations: Sequence[Station], others: Floats) -> Floats:
        """Return the demands with background and other programs taking their share of the servers. [s]

        Notes
        -----
        m servers, of which a quota leaves c and of which b + o are busy otherwise, serve transactions m / (c - b - o)
        times more slowly.
        """
        capacity = np.array([station.capacity for station in stations])
        servers = np.array([float(station.servers) for station in stations])
        left = np.maximum(capacity - self.background - others, (1 - MOST_BACKGROUND) * capacity / 2)
        return np.asarray(self.demands * (servers / left)[:, None], dtype=float)


def estimate(of: Measured, groupings: Sequence[Grouping], noise: Floats | None = None) -> Parameters:
    """Estimate demands and background; delays are not known yet.

    Parameters
    ----------
    of : Measured
    groupings : sequence of Grouping
        Grouping of the transactions at each station.
    noise : ndarray of shape (n_levels, n_stations), optional
        Factors of the busy time of each level in a replicate.

    Notes
    -----
    The seconds of all runs determine the ratios of the demands of transactions: U = b + sum_c X_c D_c, not below zero.
    Counts of short intervals are uncertain, which draws such demands towards each other and into the background [1]_,
    so that the means of the levels determine their size: U = b + s W with W = sum_c X_c D_c of the level,
    by relative errors, neither b nor s below zero.

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
            # Nothing to distinguish: all transactions alike, or no transactions.
            compared = np.ones(len(of.classes))
        seen = levels.busy[:, place] * (1.0 if noise is None else noise[:, place])
        base, size = _line(levels.rates @ compared, seen)
        demands[place] = size * compared
        background[place] = min(base, MOST_BACKGROUND * of.stations[place].capacity)
    return Parameters(demands, background, np.zeros(len(of.classes)))


def _line(work: Floats, busy: Floats) -> tuple[float, float]:
    """Return the background and slope of busy servers over work, by relative errors; one level has no background."""
    if len(work) < 2 or not (busy > 0).all():
        return 0.0, float(busy.sum() / work.sum())
    design = np.stack([np.ones(len(work)), work], axis=1) / busy[:, None]
    scale = np.linalg.norm(design, axis=0)
    found = scipy.optimize.nnls(design / scale, np.ones(len(work)))[0] / scale
    if found[1] <= 0:
        # If busy time does not grow with the work at all, all of it is attributed to transactions nevertheless.
        return 0.0, float(busy.sum() / work.sum())
    return float(found[0]), float(found[1])


def misses(of: Measured, parameters: Parameters) -> Floats:
    """Return busy time of each level and station over that by the parameters, less 1. [ratio]"""
    levels = of.levels()
    made = parameters.background + levels.rates @ parameters.demands.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(made > 0, levels.busy / made - 1, 0.0)


def noise_of(of: Measured, parameters: Parameters, stream: np.random.Generator) -> Floats:
    """Draw factors of busy time by level and station from the residuals that the straight line leaves between levels.

    Notes
    -----
    Residuals of each station over all levels, enlarged by sqrt(n / (n - 2)) and by sqrt(f / chi2_f), are drawn with
    replacement (Davison and Hinkley 1997, section 6.2), no smaller than the error below which no measurement comes. f
    counts the degrees of freedom of all stations, and three at least: the seconds of the runs also measure the errors.
    """
    with np.errstate(divide="ignore"):  # a station may have had nothing to do at one level: that comes back as such
        left = np.log1p(misses(of, parameters))
    count, stations = left.shape
    freedom = max(3, stations * (count - 2))
    drawn = np.take_along_axis(left, stream.integers(0, count, (count, stations)), axis=0)
    size = math.sqrt(count / max(1, count - 2)) * math.sqrt(freedom / stream.chisquare(freedom))
    floor = LEAST_RELATIVE_ERROR * stream.standard_normal((count, stations))
    return np.asarray(np.exp(drawn * size + floor), dtype=float)

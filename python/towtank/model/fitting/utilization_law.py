"""What the busy servers of the bottleneck say of a curve: its limit, and whether the points are of one system."""

from __future__ import annotations

import numpy as np
from scipy import stats

from towtank.analysis.statistics.change_points import change_points
from towtank.analysis.statistics.robust import Floats
from towtank.model.fitting.goodness import Judgement
from towtank.model.fitting.observations import Observations

CONFIDENCE = 0.95
READING_ERROR = 0.02
"""Use above that of all servers which a reading of the CPUs may show; what is more belies their number. [ratio]"""
_POINTS = 4
"""Points that a demand with an interval needs, background beside it. [1]"""
_ROWS = 12
"""Points in which a change of the demand is looked for. [1]"""
_CHANGE = 0.05
"""Smallest change of the demand that is one. [ratio]"""
_LEVEL = 0.001
_GRID = 400
_FARTHEST = 100.0
"""Times the highest throughput measured up to which the limit is looked for. [ratio]"""


def highest_throughput(points: Observations, servers: int) -> tuple[float, float] | None:
    """Throughput at which all servers are busy, and the most that the points allow it to be.

    Returns
    -------
    (float, float) or None
        Estimate and upper end of its interval; None where busy servers were not measured, or do not tell. [1/s]

    Notes
    -----
    U = b + D X by least squares, b the background; the limit is (m - b) / D. Its upper end is where the lower band of
    the line, b + D X - t s sqrt(x' (X'X)^-1 x), reaches m.
    """
    busy = points.busy
    if busy is None or points.count < _POINTS or float(busy.max()) > (1 + READING_ERROR) * servers:
        return None
    rates = _rates(points)
    design = np.column_stack([np.ones_like(rates), rates])
    found = np.linalg.lstsq(design, busy, rcond=None)[0]
    if found[0] < 0:  # no background is less than none
        found = np.array([0.0, float(rates @ busy / (rates @ rates))])
    if found[1] <= 0 or np.ptp(rates) <= 0:
        return None
    left = busy - design @ found
    freedom = points.count - 2
    scale = float(np.sqrt(left @ left / freedom))
    inverse = np.linalg.pinv(design.T @ design)
    beyond = np.geomspace(rates.max(), _FARTHEST * rates.max(), _GRID)
    rows = np.column_stack([np.ones_like(beyond), beyond])
    width = stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * scale * np.sqrt(np.einsum("ij,jk,ik->i", rows, inverse, rows))
    full = np.flatnonzero(rows @ found - width >= servers)
    if not len(full):
        return None
    return float((servers - found[0]) / found[1]), float(beyond[full[0]])


def _rates(points: Observations) -> Floats:
    """Throughput in transactions of the reference mix. [1/s]"""
    return points.throughput if points.work is None else np.asarray(points.throughput * points.work, dtype=float)


def judge_limit(judgement: Judgement, what: str, highest: float, points: Observations, servers: int) -> None:
    """Reject a curve whose highest throughput needs more servers than there are."""
    known = highest_throughput(points, servers)
    if known is not None and highest > known[1]:
        judgement.reject(
            f"{what} of {highest:.3g} /s is above {known[0]:.3g} /s (at most {known[1]:.3g} /s), at which all "
            f"{servers} servers of the bottleneck are busy (utilization law)"
        )


def judge_one_system(judgement: Judgement, points: Observations) -> None:
    """Doubt points whose busy time for a transaction changes from one row to the next, and stays changed.

    Notes
    -----
    In the order in which they were measured, where this is not the order of the load: else the load explains it.
    """
    busy = points.busy
    if busy is None or points.count < _ROWS or len(points.place) != points.count:
        return
    order = np.argsort(points.place)
    load = points.load[order]
    if (np.diff(load) >= 0).all() or (np.diff(load) <= 0).all():
        return
    rates = _rates(points)
    design = np.column_stack([np.ones_like(rates), rates])
    expected = design @ np.linalg.lstsq(design, busy, rcond=None)[0]
    if (expected <= 0).any():
        return
    changes = change_points((busy / expected)[order], max_p_value=_LEVEL, min_magnitude=_CHANGE)
    for one in changes:
        judgement.doubt(
            f"busy time for a transaction changes by {100 * (one.after / one.before - 1):+.0f} % at "
            f"{points.names[order[one.index]]} and stays so: the points are of more than one system, and the curve of "
            f"none of them; fit those of the last one alone"
        )

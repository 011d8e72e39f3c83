"""Checks a curve against the measured busy servers of its bottleneck.

A curve is rejected if its highest throughput needs more servers than the bottleneck has. A doubt is added if the
demand changed during the measurements.
"""

from __future__ import annotations

import numpy as np

from towtank.analysis import change_points
from towtank.arrays import Floats
from towtank.distributions import t_quantile
from towtank.estimates import few_digits
from towtank.model.fitting.goodness import Judgement
from towtank.model.fitting.observations import Observations

CONFIDENCE = 0.95
READING_ERROR = 0.02
"""Largest relative measuring error of busy servers. If the measured value exceeds the stated number of servers by a
larger share, the stated number is wrong. [ratio]
"""
_POINTS = 3
"""Smallest number of points for a confidence interval of demand and background. [1]"""
_ROWS = 12
"""Smallest number of points for which a change of the demand is detected. [1]"""
_CHANGE = 0.05
"""Smallest relative change of the demand that is reported. [ratio]"""
_LEVEL = 0.001
_GRID = 400
_FARTHEST = 100.0
"""Upper end of the search for the throughput limit, as a multiple of the highest measured throughput. [ratio]"""


def highest_throughput(points: Observations, servers: int) -> tuple[float, float] | None:
    """Estimate the throughput at which all servers are busy, and its upper confidence bound; None if busy servers were
    not measured or do not determine the limit. [1/s]

    Notes
    -----
    Least squares gives the busy servers U = b + D X at throughput X, with background b and demand D; the limit with m
    servers is (m - b) / D. The upper end of its interval is the throughput at which the lower band of the line reaches
    m. The band lies t s sqrt(x' (A'A)^-1 x) below the line, with Student's quantile t, residual standard error s,
    design matrix A and x = (1, X).
    """
    busy = points.busy
    if busy is None or points.count < _POINTS or float(busy.max()) > (1 + READING_ERROR) * servers:
        return None
    rates = _rates(points)
    design = np.column_stack([np.ones_like(rates), rates])
    found = np.linalg.lstsq(design, busy, rcond=None)[0]
    if found[0] < 0:  # Background cannot be negative, so the fit without background is used.
        found = np.array([0.0, float(rates @ busy / (rates @ rates))])
    if found[1] <= 0 or np.ptp(rates) <= 0:
        return None
    left = busy - design @ found
    freedom = points.count - 2
    scale = float(np.sqrt(left @ left / freedom))
    inverse = np.linalg.pinv(design.T @ design)
    beyond = np.geomspace(rates.max(), _FARTHEST * rates.max(), _GRID)
    rows = np.column_stack([np.ones_like(beyond), beyond])
    width = t_quantile((1 + CONFIDENCE) / 2, freedom) * scale * np.sqrt(np.einsum("ij,jk,ik->i", rows, inverse, rows))
    full = np.flatnonzero(rows @ found - width >= servers)
    if not len(full):
        return None
    return float((servers - found[0]) / found[1]), float(beyond[full[0]])


def _rates(points: Observations) -> Floats:
    """Return the throughput at each measured point. It is scaled to the reference mix if the work per transaction is
    known. [1/s]
    """
    return points.throughput if points.work is None else np.asarray(points.throughput * points.work, dtype=float)


def judge_limit(
    judgement: Judgement, what: str, highest: float, points: Observations, servers: int, *, tolerance: float = 1.0
) -> None:
    """Reject a curve whose highest throughput needs more servers than the bottleneck has.

    The throughput may exceed the upper bound by the factor `tolerance`. [ratio]
    """
    known = highest_throughput(points, servers)
    if known is not None and highest > tolerance * known[1]:
        judgement.reject(
            f"{what} of {few_digits(highest)} /s is above {few_digits(known[0])} /s (upper bound "
            f"{few_digits(known[1])} /s), at which all "
            f"{servers} servers of the bottleneck are busy (utilization law)"
        )


def judge_one_system(judgement: Judgement, points: Observations) -> None:
    """Add a doubt if busy time per transaction changes between two measurements and keeps the new value afterwards.

    Notes
    -----
    The points are examined in the order of measurement. If this order is also the order of load, no doubt is added,
    since the load may explain the change.
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
    for change in changes:
        judgement.doubt(
            f"busy time per transaction changes by {100 * (change.after / change.before - 1):+.0f} % at "
            f"{points.names[order[change.index]]} and keeps that level: the points come from more than one system, and "
            f"the curve describes none of them; fit the points of the last system alone"
        )

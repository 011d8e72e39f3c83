"""Separates growth from steps and outliers in a history of the load."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from towtank.analysis.statistics.batches import lag_one
from towtank.analysis.statistics.robust import Floats, huber, robust_scale
from towtank.distributions import f_tail, t_tail

Mask = npt.NDArray[np.bool_]
_LASTING = 7
"""Smallest number of observations of a level. [1]"""
_PLACES = 500
"""Largest number of places at which a step is tried, evenly spaced; it bounds memory for a long history. [1]"""
_STEPS_AT_MOST = 8
_LEVEL = 0.001
"""Highest p-value of a step, over all places tried together."""
_LEAST_STEP = math.log(1.05)
"""Smallest step, and smallest distance of an outlier, that matters for sizing: 5 %, as a logarithm. [1]"""
_WINDOW = 28
"""Observations on each side of a step in which it must show as a jump. [1]"""
_JUMP_LEVEL = 0.001
"""Highest p-value of such a jump."""
_BENDS_AT_MOST = 4
"""Highest number of powers of the time beyond the line that are tried before a step. [1]"""
_ENOUGH = 10
"""Degrees of freedom below which the spread of the days is too uncertain to exclude any. [1]"""
_FAR = 4.0
"""Robust standard deviations beyond which a day is excluded: 1 in 16,000 of normal deviations. [1]"""


def foreign(design: Floats, logs: Floats) -> Mask:
    """Return a mask of the observations that lie far from the line.

    Parameters
    ----------
    design : ndarray of shape (n_days, n_parameters)
    logs : ndarray of shape (n_days,)
        Logarithms of the loads.
    """
    if len(logs) - design.shape[1] < max(_ENOUGH, design.shape[1]):
        return np.zeros(len(logs), dtype=bool)
    start = np.asarray(np.linalg.lstsq(design, logs, rcond=None)[0], dtype=float)
    left = np.asarray(logs - design @ huber(design, logs, start), dtype=float)
    misses = np.asarray(left - np.median(left), dtype=float)
    return np.asarray(np.abs(misses) > max(_FAR * robust_scale(misses), _LEAST_STEP))


@dataclass(frozen=True)
class Steps:
    """Steps of a history.

    Attributes
    ----------
    places : list of int
        First observations of new levels.
    bends : int
        Powers of the time beyond the line that describe the growth better than steps do; 0 for even growth. [1]
    """

    places: list[int]
    bends: int


def steps_beside(design: Floats, logs: Floats) -> Steps:
    """Find the first observations of new levels, beside the trend and the season of the design.

    Parameters
    ----------
    design : ndarray of shape (n_days, n_parameters)
        Trend and season, without steps.
    logs : ndarray of shape (n_days,)
        Logarithms of the loads, without outliers.

    Notes
    -----
    The step that lowers the sum of squares most is tested by F with 1 and n - p degrees of freedom [1]_, with the
    p-value multiplied by the number of places tried; then the next step beside it. The F ratio is scaled by
    (1 - r) / (1 + r), with r the lag-1 autocorrelation of the residuals. The trend stays in the design, so growth is
    not mistaken for a series of steps.

    Growth that is not exponential leaves a bend, which a step explains in part. A step therefore must also show as a
    jump between two lines of their own, through the observations just before and just after it, of at least half its
    size (a regression discontinuity). If the best place has no such jump, a power of the time is added to the trend in
    its stead, and the search goes on.

    References
    ----------
    .. [1] G. C. Chow, "Tests of equality between sets of coefficients in two linear regressions", Econometrica 28(3),
           591-605, 1960, doi:10.2307/1910133.
    """
    count = len(logs)
    every = max(1, math.ceil(count / _PLACES))
    places = np.arange(_LASTING, count - _LASTING + 1, every)
    found: list[int] = []
    bends = 0
    time = np.linspace(-1.0, 1.0, count)
    while len(found) < _STEPS_AT_MOST:
        free = np.array([place for place in places if all(abs(place - other) >= _LASTING for other in found)], int)
        known = [columns(count, np.array([place])) for place in found]
        powers = [time ** (2 + power) for power in range(bends)]
        step = _next_step(np.column_stack([design, *known, *powers]), logs, free)
        if step is None:
            break
        if _jumps(np.column_stack([design, *known]), logs, step):
            found.append(step)
        elif bends < _BENDS_AT_MOST:
            bends += 1
        else:
            break
    return Steps(sorted(found), bends)


def _jumps(design: Floats, logs: Floats, place: int) -> bool:
    """Return True if lines through the observations just before and just after a step are apart by a jump."""
    rows = np.column_stack([design, columns(len(logs), np.array([place]))])
    fitted = np.linalg.lstsq(rows, logs, rcond=None)[0]
    size = float(fitted[-1])
    # The season and the other steps are taken off; the trend may differ from place to place.
    time = rows[:, 0]
    series = logs - rows @ fitted + size * rows[:, -1] + fitted[0] * time
    near = slice(max(0, place - _WINDOW), min(len(logs), place + _WINDOW))
    since = time[near] - (time[place - 1] + time[place]) / 2
    after = rows[near, -1]
    local = np.column_stack([np.ones_like(since), since, after, after * since])
    lines, rest = np.linalg.lstsq(local, series[near], rcond=None)[:2]
    freedom = len(since) - local.shape[1]
    spread = float(rest[0]) / freedom if len(rest) else 0.0
    error = math.sqrt(max(spread * float(np.linalg.pinv(local.T @ local)[2, 2]), 1e-30))
    jump = float(lines[2])
    p_value = 2 * t_tail(abs(jump) / error, freedom)
    return jump * size > 0 and abs(jump) >= abs(size) / 2 and p_value < _JUMP_LEVEL


def columns(count: int, places: Floats) -> Floats:
    """Return one column for each place, 0 before it and 1 from it on."""
    return np.asarray(np.arange(count)[:, None] >= places[None, :], dtype=float)


def _next_step(design: Floats, logs: Floats, places: Floats) -> int | None:
    """Return the place of the most significant further step; None if none is significant."""
    freedom = len(logs) - design.shape[1] - 1
    if freedom < _LASTING or not len(places):
        return None
    basis = np.linalg.qr(design)[0]
    left = logs - basis @ (basis.T @ logs)
    rows = columns(len(logs), places)
    rows = rows - basis @ (basis.T @ rows)
    power = np.einsum("ij,ij->j", rows, rows)
    # If season or trend explain a step completely, its column vanishes in the projection.
    able = power > 1e-9 * len(logs)
    if not able.any():
        return None
    slopes = np.where(able, rows.T @ left / np.where(able, power, 1.0), 0.0)
    gains = slopes**2 * power
    best = int(np.argmax(gains))
    after = left - slopes[best] * rows[:, best]
    rest = float(after @ after)
    alike = min(max(lag_one(after), 0.0), 0.99)
    if abs(slopes[best]) < _LEAST_STEP:
        return None
    ratio = math.inf if rest <= 0 else gains[best] * (1 - alike) / (1 + alike) / (rest / freedom)
    return int(places[best]) if f_tail(ratio, 1, freedom) * len(places) < _LEVEL else None

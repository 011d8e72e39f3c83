"""Separates lasting steps and outliers from growth in a history of daily loads."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from towtank.analysis import lag_one
from towtank.arrays import Floats, Mask
from towtank.distributions import f_tail, t_tail
from towtank.robust import huber, robust_scale

_LASTING = 7
"""Smallest number of observations between two steps. [1]"""
_PLACES = 500
"""Largest number of days, evenly spaced, at which a step is tried. It limits the memory for a long history. [1]"""
_STEPS_AT_MOST = 8
_LEVEL = 0.001
"""A step is significant if its p-value, corrected for the number of days tried, is at most this. [1]"""
_LEAST_STEP = math.log(1.05)
"""Smallest step, and smallest deviation of an outlier, that is relevant for sizing: 5 %, as a logarithm. [1]"""
_WINDOW = 28
"""Number of observations before a step, and after it, from which the jump at the step is estimated. [1]"""
_JUMP_LEVEL = 0.001
"""Highest p-value at which the jump at a step is significant."""
_BENDS_AT_MOST = 4
"""Highest number of powers of time that may be added to the trend in place of steps. [1]"""
_ENOUGH = 10
"""Smallest number of degrees of freedom with which outliers are excluded. With fewer degrees of freedom, the scatter of
the days is too uncertain. [1]
"""
_FAR = 4.0
"""A day is an outlier if it is farther from the line than this number of robust standard deviations. With normal
deviations, this excludes 1 day in 16,000. [1]
"""


def foreign(design: Floats, logs: Floats) -> Mask:
    """Return a mask that is True for outliers: observations far from the fitted line.

    The design matrix has the shape (n_days, n_parameters), and the logarithms of the loads the shape (n_days,).
    """
    if len(logs) - design.shape[1] < max(_ENOUGH, design.shape[1]):
        return np.zeros(len(logs), dtype=bool)
    start = np.asarray(np.linalg.lstsq(design, logs, rcond=None)[0], dtype=float)
    left = np.asarray(logs - design @ huber(design, logs, start), dtype=float)
    misses = np.asarray(left - np.median(left), dtype=float)
    return np.asarray(np.abs(misses) > max(_FAR * robust_scale(misses), _LEAST_STEP))


@dataclass(frozen=True)
class Steps:
    """Steps found in a history.

    Attributes
    ----------
    places : list of int
        Indices of the first observations of new levels.
    bends : int
        Number of further powers of time that describe the growth better than steps do; 0 for exponential growth. [1]
    """

    places: list[int]
    bends: int


def steps_beside(design: Floats, logs: Floats) -> Steps:
    """Find the first observation after each lasting step, where the load differs from trend and season.

    The design matrix of trend and season, without steps, has the shape (n_days, n_parameters); the logarithms of the
    loads, without outliers, have the shape (n_days,).

    Notes
    -----
    The step that lowers the sum of squares most is tested by an F test with 1 and n - p degrees of freedom [1]_. Its
    p-value is multiplied by the number of positions tried. After a significant step, the next step is searched. The F
    ratio is scaled by (1 - r) / (1 + r), where r is the lag-1 autocorrelation of the residuals. The trend stays in the
    design, so growth is not mistaken for a series of steps.

    Growth that is not exponential leaves a bend in the residuals, and a step would explain part of this bend. A step
    must therefore also appear as a jump between two separate lines, one through the observations just before the step
    and one through those just after it (a regression discontinuity). The jump must be at least half as large as the
    step. If the best position has no such jump, a further power of time is added to the trend instead, and the search
    continues.

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
    known = [columns(count, np.array([place])) for place in found]
    return Steps(sorted(found), bends or int(_is_bent(np.column_stack([design, *known]), logs)))


def _is_bent(design: Floats, logs: Floats) -> bool:
    """Return True if a quadratic term in time is significant, and large enough to be relevant for sizing.

    The autocorrelation is computed from the residuals of a polynomial fit, because a bend would appear as
    autocorrelation in the residuals of a straight line.
    """
    time = np.linspace(-1.0, 1.0, len(logs))
    basis = np.linalg.qr(design)[0]
    bend = time**2 - basis @ (basis.T @ time**2)
    power, freedom = float(bend @ bend), len(logs) - design.shape[1] - 1
    if freedom < _LASTING or power <= 1e-9 * len(logs):
        return False
    size = float(bend @ logs) / power
    smooth = np.linalg.qr(np.column_stack([design, *(time ** (2 + power) for power in range(_BENDS_AT_MOST))]))[0]
    rest = logs - smooth @ (smooth.T @ logs)
    alike = min(max(lag_one(rest), 0.0), 0.99)
    spread = max(float(rest @ rest) / freedom, 1e-30)
    ratio = size**2 * power * (1 - alike) / (1 + alike) / spread
    return abs(size) * float(np.ptp(bend)) >= _LEAST_STEP and f_tail(ratio, 1, freedom) < _LEVEL


def _jumps(design: Floats, logs: Floats, place: int) -> bool:
    """Return True if the load jumps at a step.

    One line is fitted to the observations just before the step, and one line to those just after it. At a jump, the two
    lines differ significantly, and by at least half the size of the step.
    """
    rows = np.column_stack([design, columns(len(logs), np.array([place]))])
    fitted = np.linalg.lstsq(rows, logs, rcond=None)[0]
    size = float(fitted[-1])
    # Season and all other steps are subtracted, so that only the trend differs before and after this step.
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
    """Return a design matrix with a column for each step: 0 before the index in `places`, 1 from this index on."""
    return np.asarray(np.arange(count)[:, None] >= places[None, :], dtype=float)


def _next_step(design: Floats, logs: Floats, places: Floats) -> int | None:
    """Return the index at which an additional step is most significant; None if no step is significant."""
    freedom = len(logs) - design.shape[1] - 1
    if freedom < _LASTING or not len(places):
        return None
    basis = np.linalg.qr(design)[0]
    left = logs - basis @ (basis.T @ logs)
    rows = columns(len(logs), places)
    rows = rows - basis @ (basis.T @ rows)
    power = np.einsum("ij,ij->j", rows, rows)
    # If season or trend explain a step completely, the projection of its column is zero, so the size of the step cannot
    # be estimated.
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


def evidence(one: Floats, other: Floats, more: int = 0) -> float:
    """Return the difference between the Bayesian information criteria of two fits: `one` minus `other`. [1]

    The residuals of both fits on the same days have the shape (n_days,). `more` is the number of parameters of fit
    `one` minus that of fit `other`. [1]

    Notes
    -----
    The difference is n ln(RSS1 / RSS2) + d ln n with the residual sums of squares RSS1 and RSS2, and d = `more`.
    Because of the lag-1 autocorrelation r in the residuals of the better fit, n is the number of days multiplied by (1
    - r) / (1 + r).
    """
    squares = [max(float(each @ each), 1e-24 * len(each)) for each in (one, other)]
    alike = min(max(lag_one(one if squares[0] < squares[1] else other), 0.0), 0.99)
    count = len(one) * (1 - alike) / (1 + alike)
    return float(count * np.log(squares[0] / squares[1]) + more * np.log(len(one)))

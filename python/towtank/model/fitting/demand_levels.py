"""Estimates the service demand of a transaction from load levels, by a straight line of busy servers over throughput.
The line separates the demand (its slope) from background work (its intercept).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from towtank.distributions import t_quantile, t_tail
from towtank.documents import document_of
from towtank.model.demand_file import LevelDemand, LoadDependence
from towtank.model.fitting.intervals import CONFIDENCE, Bounded
from towtank.model.fitting.observations import Floats

LEVEL = 0.05
"""Significance level of the test for curvature of busy servers over throughput. Curvature means that the demand depends
on the load.
"""


@dataclass(frozen=True)
class DemandOfLevels:
    """Service demand of the mean transaction at a resource: busy time per transaction [s], servers that background work
    keeps busy [1], dependence on the load, None with fewer than four load levels, and a restriction of the estimate.
    """

    demand_s: Bounded
    background: Bounded
    by_level: tuple[LevelDemand, ...]
    load_dependence: LoadDependence | None = None
    note: str | None = None

    def document(self) -> dict[str, object]:
        """Return the demand as a JSON object; without `note` if there is none."""
        return {name: value for name, value in document_of(self).items() if name != "note" or value is not None}


def demand_from_levels(throughput: Floats, busy: Floats, servers: int) -> DemandOfLevels | None:
    """Fit a straight line U = U_0 + D X through the load levels, and test the points for curvature.

    Throughput X [1/s] and busy servers [1], NaN if not observed, have the shape (n_points,). The result is None without
    points.

    Notes
    -----
    The line is fitted by ordinary least squares with n - 2 degrees of freedom. A demand that grows with the load bends
    the line upwards. Curvature is tested by Student's t test of the coefficient of X^2, made orthogonal to the line. A
    test on the slope of U / X over utilization would not distinguish a growing demand from background work, whose share
    per transaction falls with the load.
    """
    seen = np.isfinite(busy) & np.isfinite(throughput) & (throughput > 0)
    x, u = throughput[seen], busy[seen]
    if not len(x):
        return None
    levels = tuple(LevelDemand(float(a), float(b / servers), float(b / a)) for a, b in zip(x, u, strict=True))
    if len(x) < 2 or float(np.ptp(x)) <= 1e-9 * float(x.max()):
        # With a single load level, all busy time is attributed to transactions. A note in the result states this.
        value = float(np.sum(u) / np.sum(x))
        note = "one load level: background work cannot be distinguished from demand"
        return DemandOfLevels(Bounded(value), Bounded(None), levels, note=note)
    design = np.stack([np.ones(len(x)), x], axis=1)
    factors, covariance, _ = _regression(design, u)
    errors = None if covariance is None else np.sqrt(np.diag(covariance))
    background, demand = (
        _estimate(value, None if errors is None else errors[place], len(x) - 2) for place, value in enumerate(factors)
    )
    negative = "the fitted background is negative: the demand grows with the load, or there are too few levels"
    return DemandOfLevels(demand, background, levels, _bend(x, u), negative if factors[0] < 0 else None)


def _regression(design: Floats, target: Floats) -> tuple[Floats, Floats | None, Floats]:
    """Return coefficients, covariance matrix and residuals of ordinary least squares.

    The covariance matrix is None if no degree of freedom remains.
    """
    factors: Floats = np.asarray(np.linalg.lstsq(design, target, rcond=None)[0], dtype=float)
    misses: Floats = np.asarray(target - design @ factors, dtype=float)
    freedom = len(target) - design.shape[1]
    if freedom < 1:
        return factors, None, misses
    variance = float(misses @ misses) / freedom
    return factors, np.asarray(variance * np.linalg.inv(design.T @ design), dtype=float), misses


def _estimate(value: float, error: float | None, freedom: int) -> Bounded:
    if error is None:
        return Bounded(float(value))
    half = t_quantile(0.5 + CONFIDENCE / 2, freedom) * error
    return Bounded(float(value), float(value - half), float(value + half))


def _bend(x: Floats, u: Floats) -> LoadDependence | None:
    """Test if busy time grows faster or slower than linearly with throughput; None with fewer than four load levels.

    The test fits a parabola b_0 + b_1 z + b_2 z^2, where z is the standardised throughput. The demand at the lowest and
    at the highest load is the slope of the parabola there, with the t interval of b_1 + 2 b_2 z.
    """
    if len(np.unique(x)) < 4:
        return None
    scaled = (x - x.mean()) / x.std()
    design = np.stack([np.ones(len(x)), scaled, scaled**2], axis=1)
    factors, covariance, misses = _regression(design, u)
    freedom = len(x) - 3
    # If the points lie exactly on a parabola, only rounding errors remain as residuals, and a t test is meaningless.
    exact = float(np.abs(misses).max()) <= 1e-12 * float(np.abs(u).max())
    if covariance is None or (exact and abs(factors[2]) <= 1e-12 * float(np.abs(u).max())):
        p_value = 1.0
    elif exact:
        p_value = 0.0
    else:
        p_value = 2 * t_tail(float(abs(factors[2]) / math.sqrt(covariance[2, 2])), freedom)
    low, high = (
        _slope(np.array([0.0, 1.0, 2 * end]) / x.std(), factors, covariance, freedom)
        for end in (scaled.min(), scaled.max())
    )
    return LoadDependence(
        p_value,
        p_value < LEVEL,
        "grows" if factors[2] > 0 else "falls",
        low.value,
        (low.low, low.high),
        high.value,
        (high.low, high.high),
    )


def _slope(weights: Floats, factors: Floats, covariance: Floats | None, freedom: int) -> Bounded:
    """Return a weighted sum of the regression coefficients, with its confidence interval."""
    error = None if covariance is None else math.sqrt(float(weights @ covariance @ weights))
    return _estimate(float(weights @ factors), error, freedom)

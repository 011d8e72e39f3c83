"""Bootstrap replicates of a fitted curve: parameters fitted to simulated measurements."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from towtank.analysis import lag_one, looks_independent
from towtank.model.fitting.fit import Fit
from towtank.model.fitting.least_squares import minimise
from towtank.model.fitting.observations import Floats

REPLICATES = 1000
"""Number of bootstrap replicates. With 1000, 25 replicates lie below the 2.5 % quantile. [1]"""
SEED = 20260101
"""Seed of the random generator, fixed so that the same input gives the same intervals."""
# Smallest number of points from which the autocorrelation of residuals is estimated. [1]
_SERIES = 30
# Highest number of steps, and tolerance, for the fit of a replicate. The fit starts at the fitted parameters and mostly
# converges within five steps. The tolerance is far below the spread of the replicates.
_STEPS, _TOLERANCE = 40, 1e-7


def block_length(fit: Fit) -> int:
    """Return the length of the blocks in which the bootstrap draws residuals; 1 if the residuals appear independent.
    [1]

    Notes
    -----
    For n residuals in the order of measurement with lag-one autocorrelation r, Carlstein's rule [1]_ gives the length
    (sqrt(6) r / (1 - r^2))^(2/3) n^(1/3).

    References
    ----------
    .. [1] E. Carlstein, "The use of subseries values for estimating the variance of a general statistic from a
           stationary sequence", Annals of Statistics 14(3), 1171-1179, 1986, doi:10.1214/aos/1176350057.
    """
    series = fit.misses[np.argsort(fit.points.place, kind="stable")]
    if len(series) < _SERIES or looks_independent(series):
        return 1
    correlation = min(lag_one(series), 0.99)
    length = (math.sqrt(6) * correlation / (1 - correlation**2)) ** (2 / 3) * len(series) ** (1 / 3)
    return int(min(max(1, math.ceil(length)), len(series) // 4))


def replicates(fit: Fit, count: int = REPLICATES, seed: int = SEED) -> Floats:
    """Return the parameters fitted to `count` simulated data sets; shape (count, n_parameters).

    Notes
    -----
    This is a residual bootstrap [1]_. The standardised residuals of n points are enlarged by sqrt(n / (n - p)), since
    the fit of p parameters reduced them. For each replicate, residuals are drawn with replacement (in blocks if
    neighbouring residuals resemble each other) and added to the fitted values. All residuals of a replicate are also
    multiplied by sqrt(f / chi2_f) with f = n - p, because
    the size of the errors is uncertain with few points. Without this factor, intervals would be too narrow, as if a
    normal quantile replaced Student's t. The method assumes that errors are proportional to the given standard
    deviations.

    References
    ----------
    .. [1] A. C. Davison and D. V. Hinkley, *Bootstrap Methods and their Application*, Cambridge University Press,
           1997, sections 6.2 and 7.3, doi:10.1017/CBO9780511802843.
    """
    stream = np.random.default_rng(seed)
    problem, points = fit.problem, fit.points.count
    freedom = max(1, fit.freedom)
    rows = fit.solution.residuals.reshape(-1, points) * math.sqrt(points * problem.independent / freedom)
    rows = rows - rows.mean(axis=1, keepdims=True)
    # The shape is (n_kinds, count, n_points), where the kinds of values are throughput, response time and busy servers.
    drawn = rows[:, _drawn(fit, count, stream)]
    size = np.sqrt(freedom / stream.chisquare(freedom, count))
    noise = np.concatenate(list(drawn * size[None, :, None]), axis=1)
    targets = problem.model(fit.parameters[None, :])[0] + problem.deviations * noise
    starts = np.repeat(fit.parameters[None, :], count, axis=0)
    return minimise(
        problem.model, starts, targets, problem.deviations, fit.curve.bounds, steps=_STEPS, tolerance=_TOLERANCE
    )


def _drawn(fit: Fit, count: int, stream: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw a random residual for each point of each replicate; return the indices of the residuals, shape (count,
    n_points).
    """
    points, length = fit.points.count, block_length(fit)
    if length == 1:
        return stream.integers(0, points, (count, points))
    order = np.argsort(fit.points.place, kind="stable")
    blocks = math.ceil(points / length)
    first = stream.integers(0, points, (count, blocks, 1))
    # Blocks wrap around, so that residuals at both ends of the series are drawn as often as residuals in the middle.
    places = ((first + np.arange(length)) % points).reshape(count, -1)[:, :points]
    drawn = np.empty((count, points), dtype=np.int64)
    drawn[:, order] = order[places]
    return drawn


def further_measurement(fit: Fit, loads: Floats, curves: Floats, seed: int = SEED) -> Floats:
    """Simulate a repeated measurement of the throughputs: curves of the replicates plus a measurement error. [1/s]

    The loads have the shape (n_loads,), and the curves the shape (count, n_loads).
    """
    stream = np.random.default_rng(seed + 1)
    freedom = max(1, fit.freedom)
    pool = fit.misses * math.sqrt(fit.points.count * fit.problem.independent / freedom)
    drawn = (pool - pool.mean())[stream.integers(0, len(pool), curves.shape)]
    size = np.sqrt(freedom / stream.chisquare(freedom, len(curves)))[:, None]
    if fit.points.error is None:
        scale = np.full(len(loads), float(fit.points.deviations[0]))
    else:
        shares = fit.points.deviations / fit.points.throughput
        scale = np.interp(loads, fit.points.load, shares) * fit.throughput(loads)
    return np.asarray(curves + drawn * size * scale, dtype=float)

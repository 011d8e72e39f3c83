"""Fits lines that a few outliers hardly affect."""

from __future__ import annotations

import math

import numpy as np

from towtank.arrays import Floats

# Huber's constant. For normal errors, it gives the estimator 95 % of the efficiency of least squares. [standard
# deviations]
_HUBER = 1.345
_STEPS = 30
# Weights below this make normal equations too imprecise. [ratio]
_TINY = 1e-8
_TO_SIGMA = 1.4826
"""Ratio of the standard deviation to the median absolute deviation of a normal variable. [1]"""


def robust_scale(misses: Floats) -> float:
    """Return the standard deviation of residuals, estimated from the median absolute deviation."""
    return _TO_SIGMA * _median(np.abs(misses - _median(misses)))


def _median(values: Floats) -> float:
    """Return the median of a one-dimensional array; NaN if any value is NaN.

    For few values, it is seven times faster than `np.median`.
    """
    upper, highest = len(values) // 2, len(values) - 1
    lower = highest - upper
    parted = np.partition(values, (lower, upper, highest))
    return math.nan if math.isnan(parted[-1]) else float(parted[lower] + parted[upper]) / 2


def huber(design: Floats, values: Floats, start: Floats) -> Floats:
    """Fit a line by Huber's estimator, which gives less weight to observations far from the line.

    Parameters
    ----------
    design : ndarray of shape (n_observations, n_parameters)
    values : ndarray of shape (n_observations,)
    start : ndarray of shape (n_parameters,)
        Initial parameters, such as those of a least-squares fit.

    Notes
    -----
    Iteratively reweighted least squares: a residual e has the weight min(1, k s / abs(e)), with Huber's constant k and
    the scale s of `robust_scale` [1]_.

    References
    ----------
    .. [1] P. J. Huber, "Robust estimation of a location parameter", Annals of Mathematical Statistics 35(1), 73-101,
           1964, doi:10.1214/aoms/1177703732.
    """
    # In an orthonormal basis of the columns, normal equations are as well conditioned as the weights allow, even if the
    # columns are nearly collinear. They are solved much faster than a least-squares problem.
    left, sizes, right = np.linalg.svd(design, full_matrices=False)
    kept = sizes > np.finfo(float).eps * max(design.shape) * sizes[0]
    basis, to_parameters = left[:, kept], right[kept].T / sizes[kept]
    if not kept.any():
        return start
    found = basis.T @ (design @ start)
    for _ in range(_STEPS):
        misses = values - basis @ found
        scale = robust_scale(misses)
        if scale <= 0:
            break
        weights = np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(misses), 1e-300))
        before, found = found, _weighted(basis, values, weights)
        if np.max(np.abs(found - before)) <= 1e-9 * np.max(np.abs(before)):
            break
    return np.asarray(to_parameters @ found, dtype=float)


def _weighted(basis: Floats, values: Floats, weights: Floats) -> Floats:
    """Return the weighted least-squares coefficients of values for orthonormal columns."""
    if weights.min() < _TINY:
        roots = np.sqrt(weights)
        return np.asarray(np.linalg.lstsq(basis * roots[:, None], values * roots, rcond=None)[0])
    weighted = basis * weights[:, None]
    return np.asarray(np.linalg.solve(basis.T @ weighted, weighted.T @ values))

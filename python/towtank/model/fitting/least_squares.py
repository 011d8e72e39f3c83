"""Weighted nonlinear least squares with bounds, for many starting points and many data sets at a time.

Capacity curves have few points and two or three parameters, so one fit is cheap, but a bootstrap needs a thousand fits.
The first axis of every array in this module therefore counts independent problems, and each Levenberg-Marquardt step is
computed for all problems together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from towtank.arrays import Floats, Mask

Model = Callable[[Floats], Floats]
"""Function from parameters of shape (n_problems, n_parameters) to values of shape (n_problems, n_values)."""

# Relative step h of central differences. The error of a difference is about h^2 + eps / h, where eps is the rounding
# unit. With h = eps^(1/3), both terms are equal.
_STEP = float(np.cbrt(np.finfo(float).eps))
# First, lowest and highest damping of Levenberg-Marquardt steps. Even the lowest damping keeps the normal equations
# solvable when parameters are collinear.
_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e-9, 1e12
_EASED, _RAISED = 0.2, 6.0
_CONVERGED = 1e-13


@dataclass(frozen=True)
class Bounds:
    """Physical bounds of the parameters of a curve.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_parameters,)
        Bounds; infinite for unbounded parameters.
    """

    lower: Floats
    upper: Floats

    def clip(self, parameters: Floats) -> Floats:
        """Return parameters with each value outside the bounds replaced by the nearest bound."""
        return np.clip(parameters, self.lower, self.upper)


@dataclass(frozen=True)
class Solution:
    """Result of a fit: best parameters, residuals and derivatives.

    Attributes
    ----------
    parameters : ndarray of shape (n_parameters,)
    residuals : ndarray of shape (n_values,)
        Measured minus fitted values, divided by the standard deviation of each value.
    jacobian : ndarray of shape (n_values, n_parameters)
        Derivatives of the fitted values, divided by the same standard deviations.
    """

    parameters: Floats
    residuals: Floats
    jacobian: Floats

    @property
    def sum_of_squares(self) -> float:
        """Sum of squares of the weighted residuals."""
        return float(self.residuals @ self.residuals)

    def covariance(self, freedom: int, free: Mask | None = None) -> Floats:
        """Return the covariance matrix of the parameters, s^2 (J'J)^-1, where s^2 is the residual variance.

        Parameters
        ----------
        freedom : int
            Degrees of freedom of the residuals, > 0. [1]
        free : ndarray of bool of shape (n_parameters,), optional
            True for each parameter that is not at a bound. Parameters at a bound have variance zero.
        """
        count = len(self.parameters)
        free = np.ones(count, dtype=bool) if free is None else free
        # Columns are scaled to equal length, because parameters such as sigma and kappa of a scalability law differ by
        # orders of magnitude.
        columns = self.jacobian[:, free]
        lengths = np.linalg.norm(columns, axis=0)
        lengths = np.where(lengths > 0, lengths, 1.0)
        inverse = np.linalg.pinv((columns / lengths).T @ (columns / lengths))
        whole = np.zeros((count, count))
        whole[np.ix_(free, free)] = inverse / np.outer(lengths, lengths)
        return np.asarray(self.sum_of_squares / freedom * whole, dtype=float)


def jacobian(model: Model, parameters: Floats) -> Floats:
    """Return the derivatives of a model by central differences; shape (n_problems, n_values, n_parameters)."""
    columns = []
    for number in range(parameters.shape[1]):
        step = _STEP * np.maximum(np.abs(parameters[:, number]), 1e-9)
        moved = [parameters.copy(), parameters.copy()]
        moved[0][:, number] += step
        moved[1][:, number] -= step
        width = moved[0][:, number] - moved[1][:, number]
        columns.append((model(moved[0]) - model(moved[1])) / width[:, None])
    # Near a pole of an unbounded curve, a difference may be infinite. The derivative is then set to zero, so that the
    # fit does not change this parameter.
    return np.nan_to_num(np.stack(columns, axis=2), nan=0.0, posinf=0.0, neginf=0.0)


def minimise(
    model: Model,
    starts: Floats,
    targets: Floats,
    deviations: Floats,
    bounds: Bounds,
    *,
    steps: int = 80,
    tolerance: float = _CONVERGED,
) -> Floats:
    """Minimise the sums of squares of many problems at once by the Levenberg-Marquardt method, within bounds.

    Parameters
    ----------
    starts : ndarray of shape (n_problems, n_parameters)
    targets : ndarray of shape (n_problems, n_values) or (n_values,)
        Measured values.
    deviations : ndarray of shape (n_values,)
        Standard deviation of each value; only the ratios between the deviations matter.
    steps : int, default 80
        Highest number of steps; a converged problem takes no further steps.
    tolerance : float
        A problem has converged if a step lowers its sum of squares by less than this share.

    Returns
    -------
    ndarray of shape (n_problems, n_parameters)
        A local minimum for each problem.

    Notes
    -----
    The damping multiplies the diagonal of J'J, so units do not matter [1]_. If a parameter is at its bound and its
    gradient points outwards, the step does not change the parameter.

    References
    ----------
    .. [1] D. W. Marquardt, "An algorithm for least-squares estimation of nonlinear parameters", SIAM Journal on
           Applied Mathematics 11(2), 431-441, 1963, doi:10.1137/0111030.
    """
    # Far from the minimum a curve may have infinite values. A step to such parameters does not lower the sum of
    # squares, so it is rejected.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _descend(model, starts, targets, deviations, bounds, steps=steps, tolerance=tolerance)


def _descend(
    model: Model, starts: Floats, targets: Floats, deviations: Floats, bounds: Bounds, *, steps: int, tolerance: float
) -> Floats:
    parameters = bounds.clip(np.array(starts, dtype=float))
    residuals = (targets - model(parameters)) / deviations
    costs = np.einsum("rn,rn->r", residuals, residuals)
    damping = np.full(len(parameters), _FIRST_DAMPING)
    active = np.ones(len(parameters), dtype=bool)
    for _ in range(steps):
        slopes = jacobian(model, parameters) / deviations[:, None]
        step = _damped_step(slopes, residuals, parameters, damping, bounds)
        promised = np.abs(np.einsum("rnp,rn,rp->r", slopes, residuals, step))
        trial = bounds.clip(parameters + step)
        trial_residuals = (targets - model(trial)) / deviations
        trial_costs = np.einsum("rn,rn->r", trial_residuals, trial_residuals)
        better = (trial_costs < costs) & active
        gain = np.where(better, costs - trial_costs, 0.0)
        parameters = np.where(better[:, None], trial, parameters)
        residuals = np.where(better[:, None], trial_residuals, residuals)
        done = (better & (gain <= tolerance * costs)) | (promised <= tolerance * costs) | (damping > _MOST_DAMPING)
        costs = np.where(better, trial_costs, costs)
        damping = np.where(better, np.maximum(_EASED * damping, _LEAST_DAMPING), _RAISED * damping)
        active &= ~done
        if not active.any():
            break
    return parameters


def _damped_step(slopes: Floats, residuals: Floats, parameters: Floats, damping: Floats, bounds: Bounds) -> Floats:
    downhill = np.einsum("rnp,rn->rp", slopes, residuals)
    normal = np.einsum("rnp,rnq->rpq", slopes, slopes)
    held = ((parameters <= bounds.lower) & (downhill < 0)) | ((parameters >= bounds.upper) & (downhill > 0))
    diagonal = np.einsum("rpp->rp", normal)
    held |= diagonal <= 0
    normal = np.where(held[:, :, None] | held[:, None, :], 0.0, normal)
    places = np.arange(normal.shape[1])
    scale = np.where(held, 1.0, np.sqrt(np.where(diagonal > 0, diagonal, 1.0)))
    scaled = normal / (scale[:, :, None] * scale[:, None, :])
    scaled[:, places, places] = np.where(held, 1.0, 1.0 + damping[:, None])
    right = np.where(held, 0.0, downhill) / scale
    return np.asarray(np.linalg.solve(scaled, right[:, :, None])[:, :, 0] / scale, dtype=float)


def fit(model: Model, starts: Floats, target: Floats, deviations: Floats, bounds: Bounds) -> Solution:
    """Find the best fit to one data set from many starting points.

    The starting points have the shape (n_starts, n_parameters), target and deviations the shape (n_values,).

    Notes
    -----
    All starting points are minimised together. SciPy's trust-region method then refines the best result to full
    precision.
    """
    found = minimise(model, starts, target, deviations, bounds)
    residuals = (target - model(found)) / deviations
    costs = np.einsum("rn,rn->r", residuals, residuals)
    best = found[int(np.nanargmin(costs))]
    parameters = _polished(model, best, target, deviations, bounds)
    single = parameters[None, :]
    return Solution(
        parameters, (target - model(single)[0]) / deviations, jacobian(model, single)[0] / deviations[:, None]
    )


def _polished(model: Model, start: Floats, target: Floats, deviations: Floats, bounds: Bounds) -> Floats:
    free = (start > bounds.lower) & (start < bounds.upper)
    if not free.any():
        return start

    def whole(some: Floats) -> Floats:
        parameters = start.copy()
        parameters[free] = some
        return parameters

    def misses(some: Floats) -> Floats:
        return np.asarray((target - model(whole(some)[None, :])[0]) / deviations, dtype=float)

    def slopes(some: Floats) -> Floats:
        every = jacobian(model, whole(some)[None, :])[0]
        return np.asarray(-every[:, free] / deviations[:, None], dtype=float)

    done = scipy.optimize.least_squares(
        misses,
        start[free],
        slopes,
        bounds=(bounds.lower[free], bounds.upper[free]),
        x_scale="jac",
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=200,
    )
    polished = whole(np.asarray(done.x, dtype=float))
    better = float(np.sum(misses(polished[free]) ** 2)) <= float(np.sum(misses(start[free]) ** 2))
    return polished if better else start

"""Computes confidence intervals of the parameters of a fitted curve, by three methods whose results may differ."""

from __future__ import annotations

import math

import numpy as np

from towtank.distributions import t_quantile
from towtank.model.demand_file import FittedValue
from towtank.model.fitting.fit import Fit
from towtank.model.fitting.least_squares import Bounds, minimise
from towtank.model.fitting.observations import Floats

CONFIDENCE = 0.95
Interval = tuple[float | None, float | None]


class Bounded(FittedValue):
    """Estimate with its confidence interval. Value and ends are None if unknown; an end is None if it is infinite."""

    @classmethod
    def of(cls, value: float, samples: Floats) -> Bounded:
        """Return a value with the interval of its bootstrap replicates."""
        return cls(float(value), *percentiles(samples))


# The end of a profile interval is searched in successive ranges, each four times as long as the range before. The
# constants are the number of parameter values in a range, the length of the first range in half-widths of the linear
# interval, and the largest number of ranges.
_PROFILE_POINTS, _PROFILE_REACH, _PROFILE_WIDENINGS = 12, 2.0, 4


def standard_errors(fit: Fit) -> dict[str, float | None]:
    """Return the standard error of each parameter of a fitted curve; None for a parameter at its bound."""
    if fit.freedom < 1:
        return dict.fromkeys(fit.curve.parameters)
    freedom = fit.freedom + int(fit.held.sum())
    errors = np.sqrt(np.diag(fit.solution.covariance(freedom, ~fit.held)))
    pairs = zip(fit.curve.parameters, errors, fit.held, strict=True)
    return {name: None if held else float(error) for name, error, held in pairs}


def t_intervals(fit: Fit, confidence: float = CONFIDENCE) -> dict[str, Interval]:
    """Return the confidence interval of each parameter from the linearised model, estimate +- t(n - p) standard errors.

    Notes
    -----
    A parameter at its bound is excluded from the model and from p [1]_; its interval is one-sided, from the profile of
    the sum of squares. Bounds do not truncate the intervals of other parameters: an interval that extends beyond a
    bound means that the data cannot distinguish the parameter from its bound.

    References
    ----------
    .. [1] G. A. F. Seber and C. J. Wild, *Nonlinear Regression*, Wiley, 1989, sections 2.1 and 5.1,
           doi:10.1002/0471725315.
    """
    errors = standard_errors(fit)
    freedom = fit.freedom + int(fit.held.sum())
    found: dict[str, Interval] = {}
    for number, (name, value) in enumerate(zip(fit.curve.parameters, fit.parameters, strict=True)):
        error = errors[name]
        if fit.freedom < 1:
            found[name] = (None, None)
        elif error is None:
            found[name] = _one_sided(fit, number, confidence)
        else:
            half = t_quantile(0.5 + confidence / 2, freedom) * error
            found[name] = (float(value - half), float(value + half))
    return found


def _one_sided(fit: Fit, number: int, confidence: float) -> Interval:
    """Return the interval of a parameter at its bound, from a one-sided test of the sum of squares."""
    bounds, value = fit.curve.bounds, float(fit.parameters[number])
    at_lower = value - bounds.lower[number] <= bounds.upper[number] - value
    reach = _profile_end(fit, number, 1 if at_lower else -1, t_quantile(confidence, max(1, fit.freedom)))
    return (float(bounds.lower[number]), reach) if at_lower else (reach, float(bounds.upper[number]))


def profile_intervals(fit: Fit, confidence: float = CONFIDENCE) -> dict[str, Interval]:
    """Return the interval of each parameter from the profile of the sum of squares, within the bounds.

    Notes
    -----
    p)^2 / (n - p)) [1]_. Unlike the linear interval, this interval allows for curvature and does not depend on the
    parametrisation. An end is None if the sum of squares does not rise to the limit in that direction, so that the data
    do not bound the parameter.

    References
    ----------
    .. [1] D. M. Bates and D. G. Watts, *Nonlinear Regression Analysis and Its Applications*, Wiley, 1988, section
           6.1, doi:10.1002/9780470316757.
    """
    if fit.freedom < 1:
        return dict.fromkeys(fit.curve.parameters, (None, None))
    limit = t_quantile(0.5 + confidence / 2, fit.freedom)
    sides = range(len(fit.parameters))
    return {
        fit.curve.parameters[number]: (_profile_end(fit, number, -1, limit), _profile_end(fit, number, 1, limit))
        for number in sides
    }


def _profile_end(fit: Fit, number: int, side: int, limit: float) -> float | None:
    """Return the lower or upper end of a profile interval; None if the sum of squares never rises to `limit`."""
    bounds, value = fit.curve.bounds, float(fit.parameters[number])
    edge = float(bounds.upper[number] if side > 0 else bounds.lower[number])
    slope = float(np.linalg.norm(_unexplained(fit, number)))
    scale = math.sqrt(fit.solution.sum_of_squares / fit.freedom)
    if slope <= 0 or scale <= 0:
        return value if scale <= 0 else None
    reach = _PROFILE_REACH * limit * scale / slope
    for _ in range(_PROFILE_WIDENINGS):
        values = value + side * reach * np.arange(1, _PROFILE_POINTS + 1) / _PROFILE_POINTS
        values = values[values < edge] if side > 0 else values[values > edge]
        if math.isfinite(edge):
            values = np.append(values, edge if len(values) < _PROFILE_POINTS else values[-1])
        roots = np.sqrt(np.maximum(0.0, _profile(fit, number, values) - fit.solution.sum_of_squares)) / scale
        roots = np.maximum.accumulate(roots)
        if roots[-1] >= limit:
            return float(np.interp(limit, np.append(0.0, roots), np.append(value, values)))
        if math.isfinite(edge) and values[-1] == edge:
            return edge
        reach *= 4
    return None


def _unexplained(fit: Fit, number: int) -> Floats:
    """Return the part of a parameter's Jacobian column that is orthogonal to the columns of the other parameters,
    except those at a bound.
    """
    column = fit.solution.jacobian[:, number]
    others = [place for place in range(len(fit.parameters)) if place != number and not fit.held[place]]
    if not others:
        return column
    matrix = fit.solution.jacobian[:, others]
    lengths = np.linalg.norm(matrix, axis=0)
    matrix = matrix / np.where(lengths > 0, lengths, 1.0)
    return np.asarray(column - matrix @ np.linalg.lstsq(matrix, column, rcond=None)[0], dtype=float)


def _profile(fit: Fit, number: int, values: Floats) -> Floats:
    """Return the sum of squares of a fit at given values of one parameter, minimised over all other parameters."""
    problem, bounds = fit.problem, fit.curve.bounds
    others = np.delete(np.arange(len(fit.parameters)), number)

    def model(some: Floats) -> Floats:
        whole = np.empty((len(some), len(fit.parameters)))
        whole[:, others], whole[:, number] = some, values
        return problem.model(whole)

    best = np.repeat(fit.parameters[None, others], len(values), axis=0)
    if len(others):
        inner = Bounds(bounds.lower[others], bounds.upper[others])
        best = minimise(model, best, problem.target, problem.deviations, inner)
    misses = (problem.target - model(best)) / problem.deviations
    return np.asarray(np.einsum("rn,rn->r", misses, misses), dtype=float)


def percentiles(samples: Floats, confidence: float = CONFIDENCE) -> Interval:
    """Return the percentile interval of bootstrap samples.

    Samples without a value (such as the peak of a curve without a peak) count as infinitely large. If more than half of
    the samples have no value, both ends are None.
    """
    tail = (1 - confidence) / 2
    if not len(samples) or np.mean(~np.isfinite(samples)) > 0.5:
        return (None, None)
    ordered = np.sort(np.where(np.isfinite(samples), samples, np.inf))
    low, high = (float(ordered[round(share * (len(ordered) - 1))]) for share in (tail, 1 - tail))
    return (low, high if math.isfinite(high) else None)

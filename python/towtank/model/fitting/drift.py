"""Models a drift of the service demand at the bottleneck beyond the highest measured utilization.

The fit assumes a constant demand, and the measured levels can hardly test this assumption. Towards saturation,
batching and fewer wakeups lower the demand; cold caches and contention raise it. A bootstrap of the measured
levels cannot show the error of the assumption, so a random drift is added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.dependent_curve import DependentCurve
from towtank.model.fitting.fit import Fit
from towtank.model.fitting.observations import Conditions, Floats
from towtank.model.fitting.replicates import SEED

DRIFT = 0.25
"""Standard deviation of ln(demand at a busy bottleneck / demand at an idle bottleneck). [1]"""


@dataclass(frozen=True)
class Drifted:
    """Throughput of each replicate at each load, with a demand that changes with utilization by a random slope.

    Attributes
    ----------
    rates : ndarray of shape (n_replicates, n_loads)
        Throughput. [1/s]
    factors : ndarray of shape (n_replicates, n_loads)
        Changed demand at the bottleneck, divided by the fitted demand of the replicate. [ratio]
    """

    rates: Floats
    factors: Floats


def drifted(fit: Fit, parameters: Floats, loads: Floats, conditions: Conditions | None = None) -> Drifted:
    """Return the throughput of each replicate at each load, with a demand that drifts beyond the highest measured
    utilization.

    The parameters have the shape (n_replicates, n_parameters), and the loads are numbers of users of shape (n_loads,)
    [1]. The conditions at each load are for closed curves only; by default those of `ClosedCurve.usual`.

    Notes
    -----
    ln D(u) = ln D + g (u - u0) above the highest utilization u0 among the fitted points, where g is normal with mean 0
    and standard deviation `DRIFT`. In six series of the content study, D at saturation was between 15 % below and 7 %
    above D at utilizations of at most one half. No drift is added below u0, nor for curves that fit a changing demand.
    """
    curve = fit.curve
    if not isinstance(curve, ClosedCurve):
        return _as_fitted(curve.throughput(parameters, loads))
    asked = conditions or curve.usual(len(loads))
    rates = curve.throughput_in(parameters, loads, asked)
    if isinstance(curve, DependentCurve):
        return _as_fitted(rates)
    best = curve.throughput_in(fit.parameters[None, :], loads, asked)[0]
    excess = np.maximum(_utilization(fit, best, asked) - _reached(fit), 0.0)
    factors = np.exp(_slopes(len(parameters))[:, None] * excess)
    for place in np.flatnonzero(excess > 0):
        moved = parameters.copy()
        moved[:, 0] *= factors[:, place]
        column = slice(place, place + 1)
        rates[:, column] = curve.throughput_in(moved, loads[column], asked.chosen(column))
    return Drifted(rates, factors)


def at_saturation(fit: Fit, parameters: Floats) -> Floats:
    """Return the parameters of the replicates for a saturated bottleneck, whose demand includes the drift."""
    if not isinstance(fit.curve, ClosedCurve) or isinstance(fit.curve, DependentCurve):
        return parameters
    moved = parameters.copy()
    moved[:, 0] *= np.exp(_slopes(len(parameters)) * (1.0 - _reached(fit)))
    return moved


def _as_fitted(rates: Floats) -> Drifted:
    return Drifted(rates, np.ones_like(rates))


def _slopes(count: int) -> Floats:
    """Return the slope of ln(demand) over utilization for each replicate; the slope is the same at all
    loads.
    """
    return DRIFT * np.random.default_rng(SEED + 2).standard_normal(count)


def _reached(fit: Fit) -> float:
    """Return the highest utilization of the bottleneck among the points to which the curve was fitted, in [0, 1]."""
    points = fit.points
    assert isinstance(fit.curve, ClosedCurve)
    return float(np.max(_utilization(fit, points.throughput, points.conditions(fit.curve.think_s))))


def _utilization(fit: Fit, rates: Floats, asked: Conditions) -> Floats:
    """Return the utilization of the bottleneck at each load, including the work of other programs; shape (n_loads,).
    [ratio]
    """
    curve = fit.curve
    assert isinstance(curve, ClosedCurve)
    busy = [
        rate * work * curve.held_up(fit.parameters[None, :], float(others))[0]
        for rate, work, others in zip(rates, asked.work, asked.others, strict=True)
    ]
    return np.asarray(np.minimum(np.array(busy) / curve.servers, 1.0), dtype=float)

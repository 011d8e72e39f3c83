"""Fits one capacity curve to one set of measured points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from towtank.distributions import f_tail
from towtank.errors import ModelError
from towtank.model.fitting import least_squares
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.curves import AMDAHL, LINEAR, SUPERLINEAR, USL, Curve
from towtank.model.fitting.dependent_curve import DependentCurve
from towtank.model.fitting.least_squares import Bounds, Solution
from towtank.model.fitting.observations import Floats, Observations

CURVES = ("usl", "amdahl", "linear", "closed", "load-dependent")
"""Names of the families of capacity curves that users can choose."""
# A parameter lies at its bound if moving it there changes the fitted values by at most this much. [standard deviations]
_AT_BOUND = 1e-6
_RELATIVE_ERROR = 0.05
"""Relative error that is assumed for every throughput if errors are proportional to the throughput. The result does not
depend on this number. [ratio]
"""
SUPERLINEAR_LEVEL = 0.01
"""Significance level of the test for superlinear throughput, which grows more than in proportion to the load."""


def curve_named(name: str, servers: int, think_s: float, points: Observations | None = None) -> Curve:
    """Return the family of capacity curves with this name.

    A curve of a closed system also gets `servers` and `think_s`, and fits busy time if `points` contain it.
    """
    with_busy = points is not None and points.busy is not None
    others = 0.0 if points is None or points.others is None else float(points.others.mean())
    if name == "closed":
        return ClosedCurve(servers, think_s, with_busy, others)
    if name == "load-dependent":
        return DependentCurve(servers, think_s, with_busy, others)
    return {"usl": USL, "amdahl": AMDAHL, "linear": LINEAR}[name]


@dataclass(frozen=True)
class Problem:
    """Least-squares problem of a fit: residuals of throughput and, for a closed curve, of response and busy times.

    In a closed system, throughput and response time are one quantity, R = N / X - Z. Throughput determines the demand
    of the bottleneck but hardly the time elsewhere, since think time is the larger part of N / X. Response times at low
    load determine the time elsewhere. So both are fitted, each weighted by its own error, but each point counts only
    once in the degrees of freedom. If the utilization of the bottleneck was measured, U = b + S X with demand S and
    background b is fitted as well. Utilization is an independent observation and counts separately.
    """

    curve: Curve
    points: Observations

    @property
    def uses_response(self) -> bool:
        """True if response times are fitted together with throughputs."""
        return isinstance(self.curve, ClosedCurve) and self.points.response is not None

    @property
    def target(self) -> Floats:
        """Measured throughputs [1/s], followed by response times [s] and busy servers [1] if these are
        fitted.
        """
        return self._joined(self.points.throughput, self.points.response, self.points.busy)

    @property
    def deviations(self) -> Floats:
        """Standard deviations of the values in `target`; a common factor of all of them would not change the fit."""
        return self._joined(self.points.deviations, self.points.response_deviations, self.points.busy_deviations)

    def _joined(self, rates: Floats, times: Floats | None, busy: Floats | None) -> Floats:
        parts = [rates]
        if self.uses_response and times is not None:
            parts.append(times)
        if self.uses_busy and busy is not None:
            parts.append(busy)
        return np.concatenate(parts)

    @property
    def uses_busy(self) -> bool:
        """True if the number of busy servers of the bottleneck is fitted together with throughputs."""
        return isinstance(self.curve, ClosedCurve) and self.curve.with_busy

    @property
    def independent(self) -> int:
        """Number of independent observations at each measured point. [1]"""
        return 2 if self.uses_busy else 1

    def model(self, parameters: Floats) -> Floats:
        """Return the values of the curve that correspond to `target`, for several sets of parameters; shape
        (n_problems, n_values).
        """
        load = self.points.load
        if not isinstance(self.curve, ClosedCurve):
            return self.curve.throughput(parameters, load)
        asked = self.points.conditions(self.curve.think_s)
        rate = self.curve.throughput_in(parameters, load, asked)
        parts = [rate]
        if self.uses_response:
            parts.append(load / rate - asked.think_s)
        if self.uses_busy:
            parts.append(self.curve.busy(parameters, rate, asked))
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class Fit:
    """Fitted capacity curve with its parameters and residuals.

    Attributes
    ----------
    held : ndarray of bool of shape (n_parameters,)
        Parameters that lie at a bound.
    """

    problem: Problem
    solution: Solution
    held: npt.NDArray[np.bool_]

    @property
    def curve(self) -> Curve:
        """Family of the fitted curve."""
        return self.problem.curve

    @property
    def points(self) -> Observations:
        """Measured points to which the curve was fitted."""
        return self.problem.points

    @property
    def parameters(self) -> Floats:
        """Parameters with the smallest sum of squares, shape (n_parameters,)."""
        return self.solution.parameters

    @property
    def freedom(self) -> int:
        """Degrees of freedom: number of observations minus number of parameters; parameters at a bound count
        too. [1]
        """
        return self.points.count * self.problem.independent - len(self.parameters)

    @property
    def fitted(self) -> Floats:
        """Throughput of the fitted curve at the measured points. [1/s]"""
        return np.asarray(self.problem.model(self.parameters[None, :])[0, : self.points.count], dtype=float)

    @property
    def misses(self) -> Floats:
        """Residuals of the throughputs (measured minus fitted), divided by their standard deviations."""
        return self.solution.residuals[: self.points.count]

    @property
    def busy_misses(self) -> Floats | None:
        """Relative error of the bottleneck's utilization: measured over fitted value, minus 1. None if utilization was
        not fitted. [ratio]
        """
        measured = self.points.busy
        if not self.problem.uses_busy or measured is None:
            return None
        fitted = self.problem.model(self.parameters[None, :])[0, -self.points.count :]
        return np.asarray(measured / fitted - 1, dtype=float)

    @property
    def r_squared(self) -> float | None:
        """Coefficient of determination of the throughput: 1 minus residual over total sum of squares. [ratio]

        None if the throughput is constant.
        """
        values, weights = self.points.throughput, 1 / self.points.deviations**2
        spread = float(np.sum(weights * (values - np.average(values, weights=weights)) ** 2))
        return 1 - float(self.misses @ self.misses) / spread if spread > 0 else None

    @property
    def relative_misses(self) -> Floats:
        """Relative error of the throughputs: measured over fitted value, minus 1. [ratio]"""
        return np.asarray(self.points.throughput / self.fitted - 1, dtype=float)

    @property
    def residual_error(self) -> float:
        """Residual standard error of the throughput, scaled to the root-mean-square standard deviation of the points.
        [1/s]
        """
        scale = float(np.sqrt(np.mean(self.points.deviations**2)))
        return scale * float(np.sqrt(self.misses @ self.misses / max(1, self.freedom)))

    def throughput(self, load: Floats) -> Floats:
        """Return the throughput of the fitted curve at any loads. [1/s]"""
        return np.asarray(self.curve.throughput(self.parameters[None, :], load)[0], dtype=float)


def levels_needed(curve: Curve) -> int:
    """Return the smallest number of different loads to which a curve can be fitted, `shape_parameters` plus one. [1]"""
    return shape_parameters(curve) + 1


def shape_parameters(curve: Curve) -> int:
    """Return the number of parameters that are determined only by the shape of throughput over load. [1]

    If the utilization of the bottleneck was measured, it determines one parameter: the background, or the change of the
    demand with the load. This parameter is not counted.
    """
    return len(curve.parameters) - int(isinstance(curve, ClosedCurve) and curve.with_busy)


LEAST_SPAN = 0.25
"""Smallest range of measured utilizations (highest minus lowest) that can show a change of the demand with utilization.
[ratio]
"""


def _refuse_blind(curve: Curve, points: Observations) -> None:
    """Raise ModelError if a curve with load-dependent demand lacks measured utilizations that are far enough apart.

    The throughput alone is not sufficient, because a bend of the throughput over the load has many possible causes.
    """
    if not isinstance(curve, DependentCurve):
        return
    if points.busy is None or not curve.with_busy:
        raise ModelError(
            f"{curve.name}: must have the utilization of the bottleneck at each level, got none",
            hint="observe the tiers, or name the column of the busy servers with --busy",
        )
    span = float(np.ptp(points.busy)) / curve.servers
    if span < LEAST_SPAN:
        raise ModelError(
            f"{curve.name}: must have utilizations of the bottleneck at least {LEAST_SPAN:g} apart, got {span:.2g} "
            f"instead",
            hint="measure lower load levels too",
        )


def fit_curve(curve: Curve, points: Observations, near: Sequence[float] | None = None) -> Fit:
    """Fit a curve to measured points by least squares.

    `near` is a further starting point.

    Raises
    ------
    ModelError
        If the points have too few different loads to fit the curve.
    """
    needed = levels_needed(curve)
    if len(points.levels) < needed:
        raise ModelError(
            f"{curve.name}: must have at least {needed} different loads for {needed - 1} parameters, "
            f"got {len(points.levels)} instead",
            hint="measure more load levels, or fit a curve with fewer parameters",
        )
    _refuse_blind(curve, points)
    problem = Problem(curve, points)
    starts = curve.starts(points)
    if near is not None:
        starts = np.vstack([starts, np.asarray(near, dtype=float)])
    bounds = curve.bounds
    solution = least_squares.fit(problem.model, starts, problem.target, problem.deviations, bounds)
    return Fit(problem, solution, _held(solution, curve.bounds))


def superlinear(fit: Fit) -> Fit | None:
    """Return the fit of the scalability law with a negative σ if that fit is significantly better; None otherwise. An F
    test compares it with `fit`, in which σ lies at its bound 0.
    """
    if fit.curve is not USL or fit.parameters[1] != 0.0:
        return None
    larger = fit_curve(SUPERLINEAR, fit.points, [float(parameter) for parameter in fit.parameters])
    if not _is_better(larger, fit):
        return None
    if fit.points.error is None:
        # The scatter of measurements often grows with the throughput, and may then look like a curvature. The test is
        # therefore repeated with errors in proportion to the throughput.
        relative = replace(fit.points, error=np.asarray(_RELATIVE_ERROR * fit.points.throughput, dtype=float))
        if not _is_better(fit_curve(SUPERLINEAR, relative, list(larger.parameters)), fit_curve(USL, relative)):
            return None
    return larger


def _is_better(larger: Fit, fit: Fit) -> bool:
    """Return True if a negative σ explains the points significantly better than σ at its bound 0."""
    gained = fit.solution.sum_of_squares - larger.solution.sum_of_squares
    if larger.freedom < 1 or larger.parameters[1] >= 0 or gained <= 0:
        return False
    # If σ is negative, κ may leave its bound too. The F test therefore counts the parameters that left their bounds.
    freed = max(1, int(fit.held.sum()) - int(larger.held.sum()))
    left = larger.solution.sum_of_squares / larger.freedom
    return left <= 0 or f_tail(gained / freed / left, freed, larger.freedom) < SUPERLINEAR_LEVEL


def _held(solution: Solution, bounds: Bounds) -> npt.NDArray[np.bool_]:
    """Return a mask that is True for each parameter that lies at its bound, as `_AT_BOUND` defines."""
    parameters = solution.parameters
    reach = np.linalg.norm(solution.jacobian, axis=0)
    gaps = np.minimum(parameters - bounds.lower, bounds.upper - parameters)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isfinite(gaps) & (gaps * reach <= _AT_BOUND), dtype=bool)

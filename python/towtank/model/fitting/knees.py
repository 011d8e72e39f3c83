"""Determines the knees of a capacity curve by several definitions, each with a confidence interval.

The knee of an objective is the highest load at which the objective holds. The knee of the model is N* = (D + Z) /
D_max, where the asymptotes of the closed system intersect. The knee of efficiency is the load with the largest power
(throughput divided by response time); at higher loads, response time grows faster than throughput. The break is the
load at which two straight lines through the points meet.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from towtank.analysis import standard_error_of
from towtank.model.capacity_file import FittedKnee
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.drift import at_saturation
from towtank.model.fitting.intervals import CONFIDENCE, percentiles
from towtank.model.fitting.measured import Configuration
from towtank.model.fitting.observations import Floats, Observations
from towtank.model.fitting.replicates import SEED
from towtank.model.fitting.selection import CurveCandidate

_DRAWS = 1000
_POWER_STEPS = 60


class Knee(FittedKnee):
    """Knee of a capacity curve by one definition, with the interval of its replicates."""

    @classmethod
    def of(cls, kind: str, load: float | None, samples: Floats | None, how: str) -> Knee:
        """Return a knee with the interval of the loads `samples`, without an interval if they are None."""
        low, high = (None, None) if samples is None or load is None else percentiles(samples)
        return cls(kind, load, low, high, CONFIDENCE, how)


def model_knee(candidate: CurveCandidate) -> Knee | None:
    """Return the knee N* = (D + Z) / D_max of a closed curve, or the peak of a universal scalability law."""
    curve, fit = candidate.fit.curve, candidate.fit
    name, how = (
        ("knee_load", "(D + Z) / D_max of the closed curve")
        if isinstance(curve, ClosedCurve)
        else ("peak_load", "peak of the scalability law, sqrt((1 - sigma) / kappa)")
    )
    best = curve.derived(fit.parameters[None, :]).get(name)
    if best is None or not math.isfinite(best[0]):
        return None
    kind = "model" if isinstance(curve, ClosedCurve) else "peak"
    return Knee.of(kind, float(best[0]), curve.derived(at_saturation(fit, candidate.replicates))[name], how)


def power_knee(candidate: CurveCandidate, think_s: float) -> Knee | None:
    """Return the load at which the power X / R is largest, with R = N / X - Z from the curve.

    The result is None if the power is largest at the lowest or the highest measured load, so that no knee lies between
    these loads.

    References
    ----------
    .. [1] L. Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in computer communications",
           Proc. ICC '79, 43.1.1-43.1.10, 1979.
    """
    points, curve = candidate.fit.points, candidate.fit.curve
    low, high = float(points.load.min()), float(points.load.max())
    loads = np.unique(np.rint(np.geomspace(max(1.0, low), high, _POWER_STEPS)))
    if len(loads) < 5:
        return None
    best = _largest_power(loads, curve.throughput(candidate.fit.parameters[None, :], loads), think_s)[0]
    if not loads[0] < best < loads[-1]:
        return None
    drawn = _largest_power(loads, curve.throughput(candidate.replicates, loads), think_s)
    return Knee.of("efficiency", float(best), drawn, "largest throughput over response time on the fitted curve")


def _largest_power(loads: Floats, rates: Floats, think_s: float) -> Floats:
    with np.errstate(divide="ignore"):
        times = loads / rates - think_s
    power = np.where(times > 0, rates / np.where(times > 0, times, 1.0), -np.inf)
    return np.asarray(loads[np.argmax(power, axis=1)], dtype=float)


def break_knee(points: Observations) -> Knee | None:
    """Return the load at which two straight lines, fitted to the measured throughput, meet.

    The result is None with fewer than five levels, or if the second line is not flatter than the first.

    Notes
    -----
    The points are divided at every load that leaves at least two levels on each side. The pair of lines with the
    smallest sum of squares is used [1]_. The interval comes from simulated points: values of the lines plus random
    residuals.

    References
    ----------
    .. [1] D. J. Hudson, "Fitting segmented curves whose join points have to be estimated", Journal of the American
           Statistical Association 61(316), 1097-1129, 1966, doi:10.1080/01621459.1966.10482198.
    """
    levels = points.levels
    if len(levels) < 5:
        return None
    breaks = (levels[1:-2] + levels[2:-1]) / 2
    candidates = np.unique(np.concatenate([breaks, levels[1:-1], np.linspace(levels[1], levels[-2], 200)]))
    designs = [_hinged(points.load, at) / points.deviations[:, None] for at in candidates]
    target = points.throughput / points.deviations
    best, slopes = _best_break(designs, target[None, :])
    number = int(best[0])
    if slopes[0] >= 0:
        return None
    fitted = designs[number] @ np.linalg.lstsq(designs[number], target, rcond=None)[0]
    freedom = max(1, points.count - 4)
    stream = np.random.default_rng(SEED)
    scale = float(np.linalg.norm(target - fitted)) / math.sqrt(freedom)
    size = np.sqrt(freedom / stream.chisquare(freedom, (_DRAWS, 1)))
    noise = scale * size * stream.standard_normal((_DRAWS, points.count))
    drawn, drawn_slopes = _best_break(designs, fitted + noise)
    samples = np.where(drawn_slopes < 0, candidates[drawn], np.nan)
    return Knee.of(
        "break", float(candidates[number]), samples, "load at which two straight lines through the points meet"
    )


def _hinged(load: Floats, at: float) -> Floats:
    return np.stack([np.ones(len(load)), load, np.maximum(0.0, load - at)], axis=1)


def _best_break(designs: list[Floats], targets: Floats) -> tuple[Any, Floats]:
    """Return, for each row of targets, the index of the design matrix that fits best, and the change of slope at the
    break of this matrix.
    """
    squares, bends = [], []
    for design in designs:
        inverse = np.linalg.pinv(design)
        factors = targets @ inverse.T
        misses = targets - factors @ design.T
        squares.append(np.einsum("rn,rn->r", misses, misses))
        bends.append(factors[:, 2])
    best = np.argmin(np.stack(squares), axis=0)
    return best, np.stack(bends)[best, np.arange(len(targets))]


def distance_knee(load: Floats, throughput: Floats) -> float | None:
    """Return the load at which the points are farthest above the straight line from the first to the last
    point.

    Notes
    -----
    Kneedle without its sensitivity parameter [1]_: the largest y - x, where x is the load and y the throughput, both
    scaled to [0, 1]. The result depends on the range and spacing of the loads, so it is used in drawings, but not for
    decisions.

    References
    ----------
    .. [1] V. Satopää, J. Albrecht, D. Irwin and B. Raghavan, "Finding a 'kneedle' in a haystack", Proc. ICDCS
           Workshops 2011, 166-171, doi:10.1109/ICDCSW.2011.20.
    """
    if len(load) < 3 or np.ptp(load) <= 0 or np.ptp(throughput) <= 0:
        return None
    x = (load - load.min()) / np.ptp(load)
    y = (throughput - throughput.min()) / np.ptp(throughput)
    number = int(np.argmax(y - x))
    return float(load[number]) if y[number] > x[number] else None


def distance_samples(points: Observations) -> Floats | None:
    """Return the result of `distance_knee` for many sets of throughputs, varied at random by their standard errors.

    A value is NaN if the varied throughputs have no knee; the result is None if the errors are unknown.
    """
    if points.error is None:
        return None
    stream = np.random.default_rng(SEED)
    drawn = points.throughput + points.error * stream.standard_normal((_DRAWS, points.count))
    found = [distance_knee(points.load, row) for row in drawn]
    return np.array([np.nan if load is None else load for load in found])


def objective_knee(load: Floats, seen: Floats, errors: Floats | None, limit: float, text: str) -> Knee | None:
    """Return the load at which a response time exceeds its limit, interpolated between load levels.

    The load [1], the response times [s] and their standard errors [s] have the shape (n_points,). Without errors the
    knee has no interval. The result is None if no response time exceeds the limit.
    """
    at = _crossing(load, seen[None, :], limit)[0]
    if not math.isfinite(at):
        return None
    how = f"{text}: load at which the limit is exceeded"
    if errors is None:
        return Knee.of("objective", float(at), None, how)
    stream = np.random.default_rng(SEED)
    drawn = seen + errors * stream.standard_normal((_DRAWS, len(seen)))
    return Knee.of("objective", float(at), _crossing(load, drawn, limit), how)


def _crossing(load: Floats, seen: Floats, limit: float) -> Floats:
    """Return the first load at which each row of response times exceeds the limit; NaN if the row never exceeds it.

    If the response time exceeds the limit even at the lowest load, the lowest load is returned.
    """
    above = seen > limit
    first = np.argmax(above, axis=1)
    rows = np.arange(len(seen))
    before = np.maximum(first - 1, 0)
    low, high = seen[rows, before], seen[rows, first]
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(first > 0, (limit - low) / (high - low), 0.0)
    at = load[before] + part * (load[first] - load[before])
    return np.asarray(np.where(above.any(axis=1), np.where(first > 0, at, load[0]), np.nan), dtype=float)


def of_points(shown: CurveCandidate | None, points: Observations, think_s: float) -> list[Knee]:
    """Return the knees of measured points, and of the fitted curve `shown` if there is one."""
    found = [break_knee(points)]
    if shown is not None:
        found = [model_knee(shown), power_knee(shown, think_s), *found]
    distance = distance_knee(points.load, points.throughput)
    rows = [knee for knee in found if knee is not None]
    if distance is not None:
        how = "farthest above the chord (Kneedle): a drawing aid only"
        rows.append(Knee.of("distance", distance, distance_samples(points), how))
    return rows


_TIMES = ("mean", "p50", "p90", "p95", "p99", "p99.9")


def of_objectives(configuration: Configuration) -> list[Knee]:
    """Return, for each response-time objective, the load at which its limit is exceeded, with the interval of this
    load."""
    found = []
    for objective in configuration.objectives:
        metric, limit, text = objective.metric.removesuffix("_s"), objective.limit, objective.text
        if metric not in _TIMES or limit is None or len(configuration.points) < 2:
            continue
        named = text.split(" of ", maxsplit=1)[1].split(" ", maxsplit=1)[0] if " of " in text else None
        times = [(point.level, point.response_s(metric, named)) for point in configuration.points]
        seen = [(level, time) for level, time in times if time.value is not None]
        if len(seen) < 2:
            continue
        load: Floats = np.array([level for level, _ in seen])
        errors = [standard_error_of(time) for _, time in seen]
        known = None if any(error is None for error in errors) else np.array(errors, dtype=float)
        at = objective_knee(load, np.array([time.value for _, time in seen]), known, float(limit), text)
        found.append(at or Knee.of("objective", None, None, f"{text}: limit not exceeded up to {load[-1]:g}"))
    return found

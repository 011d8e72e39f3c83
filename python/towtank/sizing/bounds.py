"""Detects solutions that exceed a theoretical bound. Such solutions are too inaccurate to evaluate candidate
hardware.
"""

from __future__ import annotations

import math

from towtank.errors import ModelError
from towtank.estimates import few_digits
from towtank.model import EngineModel, SolvedNetwork
from towtank.sizing.question import Check, Question

_TOLERANCE = 1e-6
"""Relative rounding error by which a computed value may exceed its theoretical bound. [ratio]"""


def outside(answer: SolvedNetwork) -> str:
    """Describe the first value of a solution that exceeds its theoretical bound; an empty string if no value does."""
    for name, station in answer.stations.items():
        if station.utilization > 1 + _TOLERANCE:
            return f"utilization of {name} {100 * station.utilization:.4g} %"
    for name, bounds in answer.bounds.items():
        rate, most = answer.classes[name].throughput_per_s, bounds.throughput_per_s.upper
        if rate is not None and most is not None and rate > most * (1 + _TOLERANCE):
            return f"{few_digits(rate, 4)} /s of {name}, above the bound of {few_digits(most, 4)} /s"
    return ""


def refused_by_bounds(question: Question, model: EngineModel, answer: SolvedNetwork, wrong: str) -> str:
    """Describe an objective that a candidate violates even if every computed value is at its theoretical bound.

    Raises
    ------
    ModelError
        If values at their bounds would meet all objectives, so that the candidate cannot be judged.
    """
    for check in question.checks:
        best = _best(check, model, answer)
        if best is not None and check.ratio(best) > 1:
            unit = "/s" if check.upward else check.unit
            return f"{check.text}: missed even at the theoretical bound, {few_digits(best, 4)} {unit}"
    raise ModelError(
        f"the solution of the model exceeds its theoretical bounds ({wrong}), so it cannot be used for sizing",
        hint="use `towtank model simulate` for such a model, or exponential service times with `size`",
    )


def _best(check: Check, model: EngineModel, answer: SolvedNetwork) -> float | None:
    """Return the best value of an objective's metric that is possible within the theoretical bounds; None if the metric
    has no bound. [s], [1/s]
    """
    bounds = answer.bounds
    if check.upward and check.name is None:
        most = [bound.throughput_per_s.upper for bound in bounds.values()]
        known = [rate for rate in most if rate is not None]
        return sum(known) if known and len(known) == len(most) else None
    if check.name not in bounds or check.objective.metric not in ("mean", "throughput"):
        return None
    rate = bounds[check.name].throughput_per_s.upper
    if check.upward:
        return rate
    least = bounds[check.name].response_time_s.lower or 0.0
    job_class = model.class_by_name[check.name]
    if not job_class.users or not rate:
        return least
    # By N = X (R + Z), the response time R is shortest if the throughput X is at its upper bound.
    return max(least, job_class.users / rate - job_class.think_time_s) if math.isfinite(rate) else least

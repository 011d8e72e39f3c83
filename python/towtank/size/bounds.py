"""Answers of the solver outside of their bounds: nothing may be accepted or rejected by one."""

from __future__ import annotations

import math
from typing import Any

from towtank.errors import ModelError
from towtank.size.question import Check, Question

Json = dict[str, Any]
_TOLERANCE = 1e-6
"""What rounding may add to a figure that is at its bound. [ratio]"""


def outside(answer: Json) -> str:
    """Name the figure of an answer that no system can have; empty where there is none."""
    for name, one in answer["stations"].items():
        if one["utilization"] > 1 + _TOLERANCE:
            return f"{name} used {100 * one['utilization']:.4g} %"
    for name, bounds in answer.get("bounds", {}).items():
        rate, most = answer["classes"][name]["throughput_per_s"], bounds["throughput_per_s"]["upper"]
        if most is not None and rate > most * (1 + _TOLERANCE):
            return f"{rate:.4g} /s of {name}, where {most:.4g} /s is the bound"
    return ""


def refused_by_bounds(question: Question, model: Json, answer: Json, wrong: str) -> str:
    """Say why the bounds alone rule a candidate out.

    Raises
    ------
    ModelError
        If they do not: then nothing is known of the candidate.
    """
    for check in question.checks:
        best = _best(check, model, answer)
        if best is not None and check.ratio(best) > 1:
            unit = "/s" if check.upward else "s"
            return f"{check.text}: not even its bound, {best:.4g} {unit}"
    raise ModelError(
        f"the solution of the model is outside of its bounds ({wrong}): nothing can be sized by it",
        hint="`towtank model simulate` answers for such a model; with exponential service times `size` does",
    )


def _best(check: Check, model: Json, answer: Json) -> float | None:
    """The best value that the bounds allow; None where they say nothing of it. [s] or [1/s]"""
    bounds = answer.get("bounds", {})
    if check.upward and check.name is None:
        most = [one["throughput_per_s"]["upper"] for one in bounds.values()]
        return None if not most or None in most else float(sum(most))
    if check.name not in bounds or check.is_percentile:
        return None
    rate = bounds[check.name]["throughput_per_s"]["upper"]
    if check.upward:
        return None if rate is None else float(rate)
    least = float(bounds[check.name]["response_time_s"]["lower"] or 0.0)
    one = next(each for each in model["classes"] if each["name"] == check.name)
    if not one.get("users") or not rate:
        return least
    # N = X (R + Z), with X at its bound.
    return max(least, one["users"] / rate - one["think_time_s"]) if math.isfinite(rate) else least

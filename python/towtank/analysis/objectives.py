"""The objectives of a study, checked level by level."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from towtank.analysis.run import estimate_of

Compare = Callable[[float, float], bool]

_COMPARISONS: dict[str, Compare] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ESTIMATES = ("mean", "p50", "p90", "p95", "p99", "p99.9")
_EXTREMES = ("min", "max")


def check(objectives: list[dict[str, Any]], configurations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Check every objective in every configuration, at the load it names or at every load.

    Returns
    -------
    list of dict
        One for each objective and configuration: `met` at all levels (None where nothing tells), `seen` at
        the worst level and `at` its place, and up to which load the objective holds without a break.
    """
    return [_check(one, configuration) for one in objectives for configuration in configurations]


def _check(objective: dict[str, Any], configuration: dict[str, Any]) -> dict[str, Any]:
    compare: Compare = _COMPARISONS.get(str(objective.get("comparison", "<")), operator.lt)
    limit = objective.get("value")
    seen = [
        (point, value)
        for point in _asked(objective, configuration)
        if (value := metric_of(point, objective)) is not None
    ]
    head = {
        "text": objective.get("text", ""),
        "metric": objective.get("metric", ""),
        "configuration": configuration["key"],
        "label": configuration["label"],
        "limit": limit,
        "users": objective.get("users"),
    }
    if not seen or not isinstance(limit, int | float):
        return {**head, "met": None, "seen": None, "at": {}, "holds_up_to": None}
    upward = compare in (operator.gt, operator.ge)
    worst = (min if upward else max)(seen, key=_second)
    holds = None
    for point, value in seen:
        if not compare(value, limit):
            break
        holds = point["load"]
    at = {key: worst[0][key] for key in ("users", "rate") if key in worst[0]}
    return {
        **head,
        "met": all(compare(value, limit) for _, value in seen),
        "seen": worst[1],
        "at": {**at, **configuration["key"]},
        "holds_up_to": holds,
    }


def _asked(objective: dict[str, Any], configuration: dict[str, Any]) -> list[dict[str, Any]]:
    """The points that an objective is about: those at its number of users, all where it names none."""
    users = objective.get("users")
    return [point for point in configuration["points"] if users is None or point.get("users") == users]


def _second(pair: tuple[dict[str, Any], float]) -> float:
    return pair[1]


def metric_of(point: dict[str, Any], objective: dict[str, Any]) -> float | None:
    """The number that an objective is about, at one point; None where it was not measured."""
    metric = str(objective.get("metric", "")).removesuffix("_s").removeprefix("response_time.")
    transaction = objective.get("transaction")
    if metric in ("throughput", "throughput_per"):
        path = ("transactions", transaction, "throughput_per_s") if transaction else ("throughput_per_s",)
        return estimate_of(point, *path).value
    if metric in ("errors", "errors_share", "error_rate", "error_share"):
        about = point["transactions"].get(transaction, {}) if transaction else point
        share = about.get("errors_share")
        return None if share is None else float(share)
    if transaction:
        where, key = point["transactions"].get(transaction, {}), f"{metric}_s"
    else:
        where, key = point["response_time_s"], metric
    if metric in _EXTREMES:
        extreme = where.get(key)
        return None if extreme is None else float(extreme)
    return estimate_of(where, key).value if metric in _ESTIMATES else None

"""The objectives of a study, checked level by level."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator
from typing import Any

from towtank.analysis.limits.of_runs import text_of
from towtank.analysis.objective_scopes import COMPARISONS, Compare, is_scoped
from towtank.analysis.statistics.estimates import estimate_of
from towtank.analysis.stored import count_of

_ESTIMATES = ("mean", "p50", "p90", "p95", "p99", "p99.9")
_EXTREMES = ("min", "max")
STORED = "stored."
"""What objectives about things that users were told are stored begin with."""
Json = dict[str, Any]


def check(objectives: list[Json], configurations: list[Json], runs: Iterable[Json] = ()) -> list[Json]:
    """Check every objective in every configuration, at the load it names or at every load.

    Parameters
    ----------
    objectives : list of dict
        As the manifest of the study has them.
    configurations : list of dict
        With their points.
    runs : iterable of dict
        Summaries of the runs; they tell about phases and windows.

    Returns
    -------
    list of dict
        One for each objective and configuration: `met` at all levels (None where nothing tells), `seen` at
        the worst level and `at` its place, and up to which load the objective holds without a break;
        `windows` of one that must hold in every window.
    """
    by_name = {str(run["run"]): run for run in runs}
    return [_check(one, configuration, by_name) for one in objectives for configuration in configurations]


def _check(objective: Json, configuration: Json, runs: dict[str, Json]) -> Json:
    compare: Compare = COMPARISONS.get(str(objective.get("comparison", "<")), operator.lt)
    upward = compare in (operator.gt, operator.ge)
    limit = objective.get("value")
    points = _asked(objective, configuration)
    seen = [(point, value) for point in points if (value := _seen(objective, point, runs, upward)) is not None]
    head = {
        "text": objective.get("text", ""),
        "metric": objective.get("metric", ""),
        "configuration": configuration["key"],
        "label": configuration["label"],
        "limit": limit,
        "users": objective.get("users"),
        "rate": objective.get("rate"),
    }
    if objective.get("every_s") is not None:
        head["windows"] = _windows(objective, points, runs, upward)
    if not seen or not isinstance(limit, int | float):
        return {**head, "met": None, "seen": None, "at": {}, "holds_up_to": None}
    worst = (min if upward else max)(seen, key=_second)
    holds = None
    for point, value in seen:
        if not compare(value, limit):
            break
        holds = point["load"]
    at = {key: worst[0][key] for key in ("users", "rate") if key in worst[0]}
    found = configuration.get("found_limit")
    if found is not None and _is_about(objective, found) and found["value"] is not None:
        holds = found["value"]
        head["up_to"] = text_of(found)
    return {
        **head,
        "met": all(compare(value, limit) for _, value in seen),
        "seen": worst[1],
        "at": {**at, **configuration["key"]},
        "holds_up_to": holds,
    }


def _is_about(objective: Json, found: Json) -> bool:
    """Whether the limit that was found is where this objective begins to be missed."""
    return (found.get("binding") or {}).get("text") == objective.get("text")


def _asked(objective: Json, configuration: Json) -> list[Json]:
    """The points that an objective is about: those at its load, all where it names none."""
    users, rate = objective.get("users"), objective.get("rate")
    points = [point for point in configuration["points"] if users is None or point.get("users") == users]
    return [point for point in points if rate is None or math.isclose(point.get("rate") or 0.0, rate, rel_tol=1e-6)]


def _second(pair: tuple[Json, float]) -> float:
    return pair[1]


def _seen(objective: Json, point: Json, runs: dict[str, Json], upward: bool) -> float | None:
    """The number that an objective is about, at one point: over a phase the mean of the runs, over windows the
    worst of all."""
    if str(objective.get("metric")).startswith(STORED):
        found = [count_of(runs.get(name, {}).get("stored"), _count(objective)) for name in _runs_of(point)]
        return max((one for one in found if one is not None), default=None)
    if not is_scoped(objective):
        return metric_of(point, objective)
    told = list(_told(objective, point, runs))
    if objective.get("every_s") is None:
        values = [one["value"] for _, one in told if one.get("value") is not None]
        return sum(values) / len(values) if values else None
    worst = [one["windows"]["worst"]["value"] for _, one in told if (one.get("windows") or {}).get("worst")]
    return (min if upward else max)(worst, default=None)


def _told(objective: Json, point: Json, runs: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """What the runs of a point that count tell about a scoped objective; as in the point, invalid ones count only
    where there is no other."""
    for name in _runs_of(point):
        for one in runs.get(name, {}).get("objectives") or ():
            if one.get("text") == objective.get("text"):
                yield name, one


def _runs_of(point: Json) -> list[str]:
    """Names of the runs of a point that count."""
    names = [str(name) for name in point.get("runs", ())]
    return [name for name, level in zip(names, point.get("verdicts", ()), strict=False) if level != "invalid"] or names


def _count(objective: Json) -> str:
    return str(objective["metric"]).removeprefix(STORED)


def _windows(objective: Json, points: list[Json], runs: dict[str, Json], upward: bool) -> Json:
    """Windows of all runs at these points: how many met the objective, and the worst."""
    found = [
        (name, one["windows"]) for point in points for name, one in _told(objective, point, runs) if one.get("windows")
    ]
    count, met = (sum(windows[key] for _, windows in found) for key in ("count", "met"))
    worst = [{"run": name, **windows["worst"]} for name, windows in found if windows["worst"]]
    return {
        "every_s": objective["every_s"],
        "count": count,
        "met": met,
        "share": met / count if count else None,
        "empty": sum(windows["empty"] for _, windows in found),
        "worst": (min if upward else max)(worst, key=_value, default=None),
    }


def _value(one: Json) -> float:
    return float(one["value"])


def metric_of(point: Json, objective: Json) -> float | None:
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

"""Renders the output of `towtank model solve` as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.estimates import FEW_DIGITS, duration_estimate, number_estimate, share_estimate, significant
from towtank.model import ModelPoint
from towtank.units import format_duration

_MANY_NINES = 0.9995
_SAME = 1e-9
"""Relative width of an interval below which it consists of rounding errors, because the result does not depend on the
fitted service demands. [ratio]
"""


def solve_table(answer: dict[str, Any]) -> list[RenderableType]:
    """Render method, classes, stations, pools, bounds and warnings of a solved model."""
    kind = "exact" if answer["exact"] else "approximate"
    parts: list[RenderableType] = [f"{kind}: {answer['method']}", _classes(answer), _stations(answer)]
    if answer["pools"]:
        parts.append(_pools(answer))
    return [*parts, *_bottlenecks(answer), *_rests_on(answer), *(f"warning: {text}" for text in answer["warnings"])]


def _rests_on(answer: dict[str, Any]) -> list[str]:
    """Render a note on the origin of the confidence intervals; empty if the model was not fitted."""
    if "fitted" not in answer:
        return []
    count = answer["fitted"]["draws"]
    if not count:
        return ["fitted: the error of the fitted demands is unknown, so values have three digits and no interval"]
    return [
        f"fitted: {percent(answer['fitted']['confidence'])} intervals follow from the errors of the demands in {count} "
        "replicates of the fit; bounds are those of the fitted demands"
    ]


def _shown(
    answer: dict[str, Any],
    part: dict[str, Any],
    key: str,
    plain: Callable[[float], str],
    estimated: Callable[[float, float, float], str],
) -> str:
    """Render a value of a solved model. A value of a fitted model has a confidence interval, or three digits if the
    interval is unknown.

    The key `residence_time_s.web` selects the value of class `web`.
    """
    outer, _, inner = key.partition(".")
    value = part[outer][inner] if inner else part[outer]
    if "fitted" not in answer:
        return plain(value)
    ends = part.get("confidence_interval", {}).get(key)
    if ends is None:
        return plain(significant(value, FEW_DIGITS))
    low, high = (-math.inf if ends[0] is None else ends[0], math.inf if ends[1] is None else ends[1])
    if math.isfinite(high - low) and high - low <= _SAME * abs(high):
        return plain(value)
    return estimated(value, low, high)


def _classes(answer: dict[str, Any]) -> Table:
    table = Table("class", "throughput /s", "bounds /s", "response time", "bounds", "in system")
    dropping = any(job_class["dropped_per_s"] for job_class in answer["classes"].values())
    if dropping:
        table.add_column("dropped /s")
    for name, job_class in answer["classes"].items():
        bounds = answer["bounds"][name]
        cells = [
            name,
            _shown(answer, job_class, "throughput_per_s", number, number_estimate),
            _range(bounds["throughput_per_s"], number, answer),
            _shown(answer, job_class, "response_time_s", format_duration, duration_estimate),
            _range(bounds["response_time_s"], format_duration, answer),
            _shown(answer, job_class, "users_in_system", number, number_estimate),
        ]
        table.add_row(*cells, *([number(job_class["dropped_per_s"])] if dropping else []))
        for each, part in job_class.get("transactions", {}).items():
            rate = _shown(answer, part, "throughput_per_s", number, number_estimate)
            time = _shown(answer, part, "response_time_s", format_duration, duration_estimate)
            users = _shown(answer, part, "users_in_system", number, number_estimate)
            cells = [f"  {each}", rate, "", time, "", users]
            table.add_row(*cells, *([""] if dropping else []))
    return table


def _range(bounds: dict[str, Any], form: Callable[[float], str], answer: dict[str, Any]) -> str:
    fitted = "fitted" in answer
    lower, upper = (
        None if bounds[key] is None else form(significant(bounds[key], FEW_DIGITS) if fitted else bounds[key])
        for key in ("lower", "upper")
    )
    return f"{lower} to {upper}" if upper is not None else f"from {lower}"


def _stations(answer: dict[str, Any]) -> Table:
    names = list(answer["classes"])
    table = Table("station", "utilization", "queue length", *(f"residence {name}" for name in names))
    lossy = any(station["loss_probability"] for station in answer["stations"].values())
    if lossy:
        table.add_column("lost")
    cached = any(station["hit_ratio"] for station in answer["stations"].values())
    if cached:
        table.add_column("hits")
    for name, station in answer["stations"].items():
        cells = [
            _shown(answer, station, f"residence_time_s.{each}", format_duration, duration_estimate)
            if each in station["residence_time_s"]
            else "-"
            for each in names
        ]
        table.add_row(
            name,
            _shown(answer, station, "utilization", percent, share_estimate),
            _shown(answer, station, "queue_length", number, number_estimate),
            *cells,
            *([percent(station["loss_probability"])] if lossy else []),
            *([percent(station["hit_ratio"])] if cached else []),
        )
    return table


def _pools(answer: dict[str, Any]) -> Table:
    table = Table("pool", "utilization", "held", "waiting", "wait by class")
    for name, pool in answer["pools"].items():
        waits = ", ".join(
            f"{each} {_shown(answer, pool, f'waiting_time_s.{each}', format_duration, duration_estimate)}"
            for each in pool["waiting_time_s"]
        )
        used = _shown(answer, pool, "utilization", percent, share_estimate)
        held, waiting = (_shown(answer, pool, key, number, number_estimate) for key in ("held", "waiting"))
        table.add_row(name, used, held, waiting, waits)
    return table


def _bottlenecks(answer: dict[str, Any]) -> list[str]:
    lines = []
    for name, bounds in answer["bounds"].items():
        if bounds["bottleneck"]:
            text = ""
            if bounds["knee_users"] is not None:
                knee = _shown(answer, bounds, "knee_users", number, number_estimate)
                text = f", where waiting begins to dominate at {knee} users"
            lines.append(f"{name}: the bottleneck is {bounds['bottleneck']}{text}")
    return lines


def sweep_table(points: list[ModelPoint]) -> list[RenderableType]:
    """Render one row for each variant: throughput and response time by class, and the busiest station."""
    solved = next((point.answer for point in points if point.answer is not None), None)
    classes = list(solved["classes"]) if solved else []
    heads = [f"{name}: {title}" for name in classes for title in ("/s", "time")]
    table = Table(*(".".join(path.split(".")[-2:]) for path in points[0].changes), *heads, "busiest", "solution")
    notes: dict[str, None] = {}
    for point in points:
        if point.answer is None:
            table.add_row(*point.changes.values(), *["-"] * (2 * len(classes) + 1), "none")
            values = ", ".join(point.changes.values())
            notes.update(dict.fromkeys(f"{values}: {fault.where}: {fault.message}" for fault in point.faults))
            continue
        notes.update(dict.fromkeys(f"warning: {text}" for text in point.answer["warnings"]))
        table.add_row(*point.changes.values(), *_row(point.answer))
    return [table, *notes, *(_rests_on(solved) if solved else [])]


def _row(answer: dict[str, Any]) -> list[str]:
    cells = []
    for job_class in answer["classes"].values():
        cells += [
            _shown(answer, job_class, "throughput_per_s", number, number_estimate),
            _shown(answer, job_class, "response_time_s", format_duration, duration_estimate),
        ]
    places = {**answer["stations"], **answer["pools"]}
    name = max(places, key=lambda each: places[each]["utilization"])
    busiest = _shown(answer, places[name], "utilization", percent, share_estimate)
    return [*cells, f"{name} {busiest}", "exact" if answer["exact"] else "approximate"]


def number(value: float) -> str:
    """Render a number with four significant digits, from 10,000 on as an integer."""
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def percent(ratio: float) -> str:
    """Render a share in per cent; a share below 1 is never rounded to 100 %."""
    if _MANY_NINES <= ratio < 1:
        return "above 99.9 %"
    return f"{ratio * 100:.1f} %"

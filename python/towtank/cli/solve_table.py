"""Renders the answers of `towtank model solve` as tables; those of a fitted model with the intervals of its fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.solve_points import Point
from towtank.estimates import FEW_DIGITS, duration_estimate, number_estimate, share_estimate, significant
from towtank.units import format_duration

_MANY_NINES = 0.9995
_SAME = 1e-9
"""Relative width below which an interval is a rounding error: the demands do not change the figure. [ratio]"""


def solve_table(answer: dict[str, Any]) -> list[RenderableType]:
    """How it was solved, classes, stations, pools, bounds, warnings."""
    kind = "exact" if answer["exact"] else "approximate"
    parts: list[RenderableType] = [f"{kind}: {answer['method']}", _classes(answer), _stations(answer)]
    if answer["pools"]:
        parts.append(_pools(answer))
    return [*parts, *_bottlenecks(answer), *_rests_on(answer), *(f"warning: {text}" for text in answer["warnings"])]


def _rests_on(answer: dict[str, Any]) -> list[str]:
    """What the intervals of a fitted model are."""
    if "fitted" not in answer:
        return []
    count = answer["fitted"]["draws"]
    if not count:
        return ["fitted: the error of the fitted demands is not known here; figures have three digits and no interval"]
    return [
        f"fitted: intervals at {percent(answer['fitted']['confidence'])} are those of the demands, "
        f"from {count} replicates of the fit; bounds are those of the fitted demands"
    ]


def _shown(
    answer: dict[str, Any],
    part: dict[str, Any],
    key: str,
    plain: Callable[[float], str],
    estimated: Callable[[float, float, float], str],
) -> str:
    """Render a figure: with its interval if the model was fitted and its error is known, with few digits if it is not.

    `residence_time_s.web` is the figure of a class.
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
    dropping = any(one["dropped_per_s"] for one in answer["classes"].values())
    if dropping:
        table.add_column("dropped /s")
    for name, one in answer["classes"].items():
        bounds = answer["bounds"][name]
        cells = [
            name,
            _shown(answer, one, "throughput_per_s", number, number_estimate),
            _range(bounds["throughput_per_s"], number, answer),
            _shown(answer, one, "response_time_s", format_duration, duration_estimate),
            _range(bounds["response_time_s"], format_duration, answer),
            _shown(answer, one, "users_in_system", number, number_estimate),
        ]
        table.add_row(*cells, *([number(one["dropped_per_s"])] if dropping else []))
        for each, part in one.get("transactions", {}).items():
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
    lossy = any(one["loss_probability"] for one in answer["stations"].values())
    if lossy:
        table.add_column("lost")
    cached = any(one["hit_ratio"] for one in answer["stations"].values())
    if cached:
        table.add_column("hits")
    for name, one in answer["stations"].items():
        cells = [
            _shown(answer, one, f"residence_time_s.{each}", format_duration, duration_estimate)
            if each in one["residence_time_s"]
            else "-"
            for each in names
        ]
        table.add_row(
            name,
            _shown(answer, one, "utilization", percent, share_estimate),
            _shown(answer, one, "queue_length", number, number_estimate),
            *cells,
            *([percent(one["loss_probability"])] if lossy else []),
            *([percent(one["hit_ratio"])] if cached else []),
        )
    return table


def _pools(answer: dict[str, Any]) -> Table:
    table = Table("pool", "utilization", "held", "waiting", "wait by class")
    for name, one in answer["pools"].items():
        waits = ", ".join(f"{each} {format_duration(time)}" for each, time in one["waiting_time_s"].items())
        table.add_row(name, percent(one["utilization"]), number(one["held"]), number(one["waiting"]), waits)
    return table


def _bottlenecks(answer: dict[str, Any]) -> list[str]:
    lines = []
    for name, bounds in answer["bounds"].items():
        if bounds["bottleneck"]:
            knee = bounds["knee_users"]
            text = f", where waiting begins to dominate at {number(knee)} users" if knee is not None else ""
            lines.append(f"{name}: the bottleneck is {bounds['bottleneck']}{text}")
    return lines


def sweep_table(points: list[Point]) -> list[RenderableType]:
    """One row for each variant: throughput and response time by class, and the busiest station."""
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
    for one in answer["classes"].values():
        cells += [
            _shown(answer, one, "throughput_per_s", number, number_estimate),
            _shown(answer, one, "response_time_s", format_duration, duration_estimate),
        ]
    places = {**answer["stations"], **answer["pools"]}
    name = max(places, key=lambda each: places[each]["utilization"])
    busiest = _shown(answer, places[name], "utilization", percent, share_estimate)
    return [*cells, f"{name} {busiest}", "exact" if answer["exact"] else "approximate"]


def number(value: float) -> str:
    """Four significant digits."""
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def percent(ratio: float) -> str:
    """A share for people; what is not all is never shown as 100 %."""
    if _MANY_NINES <= ratio < 1:
        return "above 99.9 %"
    return f"{ratio * 100:.1f} %"

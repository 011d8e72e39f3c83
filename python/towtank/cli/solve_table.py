"""What `towtank model solve` prints for people."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.solve_points import Point
from towtank.units import format_duration

_MANY_NINES = 0.9995


def solve_table(answer: dict[str, Any]) -> list[RenderableType]:
    """How it was solved, classes, stations, pools, bounds, warnings."""
    kind = "exact" if answer["exact"] else "approximate"
    parts: list[RenderableType] = [f"{kind}: {answer['method']}", _classes(answer), _stations(answer)]
    if answer["pools"]:
        parts.append(_pools(answer))
    return [*parts, *_bottlenecks(answer), *(f"warning: {text}" for text in answer["warnings"])]


def _classes(answer: dict[str, Any]) -> Table:
    table = Table("class", "throughput /s", "bounds /s", "response time", "bounds", "in system")
    dropping = any(one["dropped_per_s"] for one in answer["classes"].values())
    if dropping:
        table.add_column("dropped /s")
    for name, one in answer["classes"].items():
        bounds = answer["bounds"][name]
        cells = [
            name,
            number(one["throughput_per_s"]),
            _range(bounds["throughput_per_s"], number),
            format_duration(one["response_time_s"]),
            _range(bounds["response_time_s"], format_duration),
            number(one["users_in_system"]),
        ]
        table.add_row(*cells, *([number(one["dropped_per_s"])] if dropping else []))
        for each, part in one.get("transactions", {}).items():
            rate, time = number(part["throughput_per_s"]), format_duration(part["response_time_s"])
            cells = [f"  {each}", rate, "", time, "", number(part["users_in_system"])]
            table.add_row(*cells, *([""] if dropping else []))
    return table


def _range(bounds: dict[str, Any], form: Any) -> str:
    upper = bounds["upper"]
    return f"{form(bounds['lower'])} to {form(upper)}" if upper is not None else f"from {form(bounds['lower'])}"


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
        times = [one["residence_time_s"].get(each) for each in names]
        cells = ["-" if time is None else format_duration(time) for time in times]
        table.add_row(
            name,
            percent(one["utilization"]),
            number(one["queue_length"]),
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
    return [table, *notes]


def _row(answer: dict[str, Any]) -> list[str]:
    cells = []
    for one in answer["classes"].values():
        cells += [number(one["throughput_per_s"]), format_duration(one["response_time_s"])]
    places = {**answer["stations"], **answer["pools"]}
    name = max(places, key=lambda each: places[each]["utilization"])
    return [*cells, f"{name} {percent(places[name]['utilization'])}", "exact" if answer["exact"] else "approximate"]


def number(value: float) -> str:
    """Four significant digits."""
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def percent(ratio: float) -> str:
    """A share for people; what is not all is never shown as 100 %."""
    if _MANY_NINES <= ratio < 1:
        digits = 2
        while digits < 12 and round(ratio * 100, digits) >= 100:
            digits += 1
        return f"{ratio * 100:.{digits}f} %"
    return f"{ratio * 100:.1f} %"

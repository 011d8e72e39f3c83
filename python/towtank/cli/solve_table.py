"""Renders the output of `towtank model solve` as text."""

from __future__ import annotations

import math
from collections.abc import Callable

from rich.console import RenderableType
from rich.table import Table

from towtank.estimates import FEW_DIGITS, duration_estimate, number_estimate, share_estimate, significant
from towtank.model import Ends, ModelPoint, Range, SolvedNetwork, SolvedPool, SolvedStation, SolvedTransaction
from towtank.units import format_duration

_MANY_NINES = 0.9995
_SAME = 1e-9
"""Relative width of an interval below which it consists of rounding errors, because the result does not depend on the
fitted service demands. [ratio]
"""


Plain = Callable[[float], str]
Estimated = Callable[[float, float, float], str]


def solve_table(answer: SolvedNetwork) -> list[RenderableType]:
    """Render method, classes, stations, pools, bounds and warnings of a solved model."""
    kind = "exact" if answer.exact else "approximate"
    parts: list[RenderableType] = [f"{kind}: {answer.method}", _classes(answer), _stations(answer)]
    if answer.pools:
        parts.append(_pools(answer))
    return [*parts, *_bottlenecks(answer), *_rests_on(answer), *(f"warning: {text}" for text in answer.warnings)]


def _rests_on(answer: SolvedNetwork) -> list[str]:
    """Render a note on the origin of the confidence intervals; empty if the model was not fitted."""
    fitted = answer.fitted
    if fitted is None:
        return []
    if not fitted.draws or fitted.confidence is None:
        return ["fitted: the error of the fitted demands is unknown, so values have three digits and no interval"]
    return [
        f"fitted: {percent(fitted.confidence)} intervals follow from the errors of the demands in {fitted.draws} "
        "replicates of the fit; bounds are those of the fitted demands"
    ]


def _shown(answer: SolvedNetwork, value: float | None, ends: Ends, plain: Plain, estimated: Estimated) -> str:
    """Render a value of a solved model. A value of a fitted model has a confidence interval, or three digits if the
    interval is unknown.
    """
    if value is None:
        return "-"
    if answer.fitted is None:
        return plain(value)
    if ends == (None, None):
        return plain(significant(value, FEW_DIGITS))
    low, high = (-math.inf if ends[0] is None else ends[0], math.inf if ends[1] is None else ends[1])
    if math.isfinite(high - low) and high - low <= _SAME * abs(high):
        return plain(value)
    return estimated(value, low, high)


def _number(answer: SolvedNetwork, value: float | None, ends: Ends) -> str:
    return _shown(answer, value, ends, number, number_estimate)


def _time(answer: SolvedNetwork, value: float | None, ends: Ends) -> str:
    return _shown(answer, value, ends, format_duration, duration_estimate)


def _share(answer: SolvedNetwork, value: float | None, ends: Ends) -> str:
    return _shown(answer, value, ends, percent, share_estimate)


def _means(answer: SolvedNetwork, part: SolvedTransaction) -> tuple[str, str, str]:
    """Render throughput, response time and number in the system of a class or transaction."""
    return (
        _number(answer, part.throughput_per_s, part.ends("throughput_per_s")),
        _time(answer, part.response_time_s, part.ends("response_time_s")),
        _number(answer, part.users_in_system, part.ends("users_in_system")),
    )


def _classes(answer: SolvedNetwork) -> Table:
    table = Table("class", "throughput /s", "bounds /s", "response time", "bounds", "in system")
    dropping = any(job_class.dropped_per_s for job_class in answer.classes.values())
    if dropping:
        table.add_column("dropped /s")
    for name, job_class in answer.classes.items():
        bounds, (rate, time, users) = answer.bounds[name], _means(answer, job_class)
        rates, times = (
            _range(bounds.throughput_per_s, number, answer),
            _range(bounds.response_time_s, format_duration, answer),
        )
        dropped = [number(job_class.dropped_per_s or 0.0)] if dropping else []
        table.add_row(name, rate, rates, time, times, users, *dropped)
        for each, part in job_class.transactions.items():
            rate, time, users = _means(answer, part)
            table.add_row(f"  {each}", rate, "", time, "", users, *([""] if dropping else []))
    return table


def _range(bounds: Range, form: Plain, answer: SolvedNetwork) -> str:
    lower, upper = (
        None if end is None else form(significant(end, FEW_DIGITS) if answer.fitted else end)
        for end in (bounds.lower, bounds.upper)
    )
    return f"{lower} to {upper}" if upper is not None else f"from {lower}"


def _stations(answer: SolvedNetwork) -> Table:
    table = Table("station", "utilization", "queue length", *(f"residence {name}" for name in answer.classes))
    lossy = any(station.loss_probability for station in answer.stations.values())
    if lossy:
        table.add_column("lost")
    cached = any(station.hit_ratio for station in answer.stations.values())
    if cached:
        table.add_column("hits")
    for name, station in answer.stations.items():
        times = station.residence_time_s
        table.add_row(
            name,
            _share(answer, station.utilization, station.ends("utilization")),
            _number(answer, station.queue_length, station.ends("queue_length")),
            *(_time(answer, times.get(each), station.ends(f"residence_time_s.{each}")) for each in answer.classes),
            *([percent(station.loss_probability or 0.0)] if lossy else []),
            *([percent(station.hit_ratio or 0.0)] if cached else []),
        )
    return table


def _pools(answer: SolvedNetwork) -> Table:
    table = Table("pool", "utilization", "held", "waiting", "wait by class")
    for name, pool in answer.pools.items():
        waits = pool.waiting_time_s.items()
        table.add_row(
            name,
            _share(answer, pool.utilization, pool.ends("utilization")),
            _number(answer, pool.held, pool.ends("held")),
            _number(answer, pool.waiting, pool.ends("waiting")),
            ", ".join(f"{each} {_time(answer, wait, pool.ends(f'waiting_time_s.{each}'))}" for each, wait in waits),
        )
    return table


def _bottlenecks(answer: SolvedNetwork) -> list[str]:
    lines = []
    for name, bounds in answer.bounds.items():
        if bounds.bottleneck:
            text = ""
            if bounds.knee_users is not None:
                knee = _number(answer, bounds.knee_users, bounds.ends("knee_users"))
                text = f", where waiting begins to dominate at {knee} users"
            lines.append(f"{name}: the bottleneck is {bounds.bottleneck}{text}")
    return lines


def sweep_table(points: list[ModelPoint]) -> list[RenderableType]:
    """Render one row for each variant: throughput and response time by class, and the busiest station."""
    solved = next((point.answer for point in points if point.answer is not None), None)
    classes = list(solved.classes) if solved else []
    heads = [f"{name}: {title}" for name in classes for title in ("/s", "time")]
    table = Table(*(".".join(path.split(".")[-2:]) for path in points[0].changes), *heads, "busiest", "solution")
    notes: dict[str, None] = {}
    for point in points:
        answer = point.answer
        if answer is None:
            table.add_row(*point.changes.values(), *["-"] * (2 * len(classes) + 1), "none")
            values = ", ".join(point.changes.values())
            notes.update(dict.fromkeys(f"{values}: {fault.where}: {fault.message}" for fault in point.faults))
            continue
        notes.update(dict.fromkeys(f"warning: {text}" for text in answer.warnings))
        table.add_row(*point.changes.values(), *_row(answer))
    return [table, *notes, *(_rests_on(solved) if solved else [])]


def _row(answer: SolvedNetwork) -> list[str]:
    cells = [cell for job_class in answer.classes.values() for cell in _means(answer, job_class)[:2]]
    places: dict[str, SolvedStation | SolvedPool] = {**answer.stations, **answer.pools}
    name = max(places, key=lambda each: places[each].utilization)
    busiest = _share(answer, places[name].utilization, places[name].ends("utilization"))
    return [*cells, f"{name} {busiest}", "exact" if answer.exact else "approximate"]


def number(value: float) -> str:
    """Render a number with four significant digits, from 10,000 on as an integer."""
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def percent(ratio: float) -> str:
    """Render a share in per cent; a share below 1 is never rounded to 100 %."""
    if _MANY_NINES <= ratio < 1:
        return "above 99.9 %"
    return f"{ratio * 100:.1f} %"

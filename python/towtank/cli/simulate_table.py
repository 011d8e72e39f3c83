"""Renders the output of `towtank model simulate` as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.solve_table import number, percent
from towtank.estimates import duration_estimate, number_estimate, rounded_to, share_estimate

_PERCENTILES = ("p50", "p95", "p99")
_FAILURES = ("dropped_per_s", "failed_per_s", "timed_out_per_s", "retried_per_s")


def simulate_table(answer: dict[str, Any]) -> list[RenderableType]:
    """Render the result of a simulation: method, length, tables of classes, stations and pools, and warnings."""
    run = answer["simulation"]
    reached = run["precision_reached"]
    known = "of unknown precision" if reached is None else f"known to {percent(reached)}"
    lines = [
        f"{answer['method']}: {run['replications']} replications, {run['events']:,} events, "
        f"{percent(run['warm_up_share'])} left out as warm-up, intervals at {percent(run['confidence'])}",
        f"stopped by {run['stopped']}: {run['widest']} is {known}",
    ]
    parts: list[RenderableType] = [*lines, _classes(answer), _stations(answer)]
    if answer["pools"]:
        parts.append(_pools(answer))
    return [*parts, *(f"warning: {text}" for text in answer["warnings"])]


Estimated = Callable[[float, float, float], str]


def _with_interval(figures: dict[str, Any], name: str, value: float | None, form: Estimated) -> str:
    """Render a simulated value with its confidence interval; `-` if value or interval is unknown."""
    low, high = figures["confidence_interval"].get(name, (None, None))
    return "-" if value is None or low is None or high is None else form(value, low, high)


def _time(figures: dict[str, Any], figure: str, name: str) -> str:
    """Render a time of class `name` with its confidence interval; `-` if the class does not visit the station or
    pool.
    """
    return _with_interval(figures, f"{figure}.{name}", figures[figure].get(name), duration_estimate)


def _classes(answer: dict[str, Any]) -> Table:
    classes = answer["classes"].values()
    failing = [key for key in _FAILURES if any(job_class[key] for job_class in classes)]
    heads = [f"{key.removesuffix('_per_s').replace('_', ' ')} /s" for key in failing]
    table = Table("class", "throughput /s", "response time", *_PERCENTILES, "in system", *heads)
    for name, job_class in answer["classes"].items():
        cells = [
            _with_interval(job_class, "throughput_per_s", job_class["throughput_per_s"], number_estimate),
            _with_interval(job_class, "response_time_s", job_class["response_time_s"], duration_estimate),
            *(
                _with_interval(job_class, key, job_class["response_time_percentiles_s"][key], duration_estimate)
                for key in _PERCENTILES
            ),
            _with_interval(job_class, "users_in_system", job_class["users_in_system"], number_estimate),
            *(_with_interval(job_class, key, job_class[key], number_estimate) for key in failing),
        ]
        table.add_row(name, *cells)
    return table


def _stations(answer: dict[str, Any]) -> Table:
    stations = answer["stations"].values()
    shares = [("loss_probability", "lost", 0.0), ("hit_ratio", "hits", 0.0), ("availability", "up", 1.0)]
    varying = [(key, head) for key, head, plain in shares if any(station[key] != plain for station in stations)]
    names = list(answer["classes"])
    table = Table(
        "station", "utilization", "queue length", *(f"residence {name}" for name in names), *(h for _, h in varying)
    )
    for name, station in answer["stations"].items():
        table.add_row(
            name,
            _with_interval(station, "utilization", station["utilization"], share_estimate),
            _with_interval(station, "queue_length", station["queue_length"], number_estimate),
            *(_time(station, "residence_time_s", each) for each in names),
            *(_with_interval(station, key, station[key], share_estimate) for key, _ in varying),
        )
    return table


def _pools(answer: dict[str, Any]) -> Table:
    table = Table("pool", "utilization", "held", "waiting", "wait by class")
    for name, pool in answer["pools"].items():
        waits = ", ".join(f"{each} {_time(pool, 'waiting_time_s', each)}" for each in pool["waiting_time_s"])
        used = _with_interval(pool, "utilization", pool["utilization"], share_estimate)
        held, waiting = (_with_interval(pool, key, pool[key], number_estimate) for key in ("held", "waiting"))
        table.add_row(name, used, held, waiting, waits)
    return table


def comparison_table(comparison: dict[str, Any]) -> Table:
    """Render the results of a model and of its alternative, with the differences between paired replications."""
    table = Table("figure", "first", "alternative", "difference [interval]", "differs")
    for name, figure in comparison["figures"].items():
        if figure["difference"] is None:
            table.add_row(name, "-", "-", "-", "not known")
            continue
        low, high = figure["confidence_interval"]
        first, second = (number(rounded_to(figure[key], (high - low) / 2)) for key in ("first", "second"))
        difference = number_estimate(figure["difference"], low, high)
        table.add_row(name, first, second, difference, "yes" if figure["differs"] else "not shown")
    return table

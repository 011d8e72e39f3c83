"""Renders the output of `towtank model simulate` as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.solve_table import number, percent
from towtank.estimates import duration_estimate, number_estimate, rounded_to, share_estimate
from towtank.model import ComparedNetworks, SolvedClass, SolvedNetwork, SolvedPart, SolvedStation

_PERCENTILES = ("p50", "p95", "p99")


def simulate_table(answer: SolvedNetwork) -> list[RenderableType]:
    """Render the result of a simulation: method, length, tables of classes, stations and pools, and warnings."""
    run = answer.simulation
    assert run is not None  # every simulation has it
    known = "of unknown precision" if run.precision_reached is None else f"known to {percent(run.precision_reached)}"
    lines = [
        f"{answer.method}: {run.replications} replications, {run.events:,} events, "
        f"{percent(run.warm_up_share)} left out as warm-up, intervals at {percent(run.confidence)}",
        f"stopped by {run.stopped}: {run.widest} is {known}",
    ]
    parts: list[RenderableType] = [*lines, _classes(answer), _stations(answer)]
    if answer.pools:
        parts.append(_pools(answer))
    return [*parts, *(f"warning: {text}" for text in answer.warnings)]


Estimated = Callable[[float, float, float], str]


def _with_interval(part: SolvedPart, name: str, value: float | None, form: Estimated) -> str:
    """Render a simulated value with its confidence interval; `-` if value or interval is unknown."""
    low, high = part.ends(name)
    return "-" if value is None or low is None or high is None else form(value, low, high)


def _failures(job_class: SolvedClass) -> dict[str, float | None]:
    """Return the rates of failures by name. [1/s]"""
    return {
        "dropped": job_class.dropped_per_s,
        "failed": job_class.failed_per_s,
        "timed out": job_class.timed_out_per_s,
        "retried": job_class.retried_per_s,
    }


def _classes(answer: SolvedNetwork) -> Table:
    rates = {name: _failures(job_class) for name, job_class in answer.classes.items()}
    failing = [kind for kind in next(iter(rates.values()), {}) if any(each[kind] for each in rates.values())]
    table = Table(
        "class", "throughput /s", "response time", *_PERCENTILES, "in system", *(f"{kind} /s" for kind in failing)
    )
    for name, job_class in answer.classes.items():
        percentiles = job_class.response_time_percentiles_s
        table.add_row(
            name,
            _with_interval(job_class, "throughput_per_s", job_class.throughput_per_s, number_estimate),
            _with_interval(job_class, "response_time_s", job_class.response_time_s, duration_estimate),
            *(_with_interval(job_class, key, percentiles.get(key), duration_estimate) for key in _PERCENTILES),
            _with_interval(job_class, "users_in_system", job_class.users_in_system, number_estimate),
            *(
                _with_interval(job_class, f"{kind.replace(' ', '_')}_per_s", rates[name][kind], number_estimate)
                for kind in failing
            ),
        )
    return table


def _shares(station: SolvedStation) -> Iterable[tuple[str, str, float, float | None]]:
    """Yield name, heading, usual value and value of the shares that are shown only if they are not usual. [ratio]"""
    yield "loss_probability", "lost", 0.0, station.loss_probability
    yield "hit_ratio", "hits", 0.0, station.hit_ratio
    yield "availability", "up", 1.0, station.availability


def _stations(answer: SolvedNetwork) -> Table:
    unusual = {
        head: None
        for station in answer.stations.values()
        for _, head, usual, share in _shares(station)
        if share != usual
    }
    heads = [head for head in ("lost", "hits", "up") if head in unusual]
    table = Table("station", "utilization", "queue length", *(f"residence {name}" for name in answer.classes), *heads)
    for name, station in answer.stations.items():
        times = station.residence_time_s
        table.add_row(
            name,
            _with_interval(station, "utilization", station.utilization, share_estimate),
            _with_interval(station, "queue_length", station.queue_length, number_estimate),
            *(
                _with_interval(station, f"residence_time_s.{each}", times.get(each), duration_estimate)
                for each in answer.classes
            ),
            *(
                _with_interval(station, key, share, share_estimate)
                for key, head, _, share in _shares(station)
                if head in heads
            ),
        )
    return table


def _pools(answer: SolvedNetwork) -> Table:
    table = Table("pool", "utilization", "held", "waiting", "wait by class")
    for name, pool in answer.pools.items():
        waits = ", ".join(
            f"{each} {_with_interval(pool, f'waiting_time_s.{each}', wait, duration_estimate)}"
            for each, wait in pool.waiting_time_s.items()
        )
        used = _with_interval(pool, "utilization", pool.utilization, share_estimate)
        held = _with_interval(pool, "held", pool.held, number_estimate)
        table.add_row(name, used, held, _with_interval(pool, "waiting", pool.waiting, number_estimate), waits)
    return table


def comparison_table(compared: ComparedNetworks) -> Table:
    """Render the results of a model and of its alternative, with the differences between paired replications."""
    table = Table("figure", "first", "alternative", "difference [interval]", "differs")
    for name, figure in compared.figures.items():
        low, high = figure.confidence_interval or (None, None)
        first, second, difference = figure.first, figure.second, figure.difference
        if first is None or second is None or difference is None or low is None or high is None:
            table.add_row(name, "-", "-", "-", "not known")
            continue
        sides = (number(rounded_to(value, (high - low) / 2)) for value in (first, second))
        table.add_row(name, *sides, number_estimate(difference, low, high), "yes" if figure.differs else "not shown")
    return table

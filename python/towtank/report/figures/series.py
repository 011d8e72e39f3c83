"""Collects the points of figures: estimates by load, for each configuration.

Valid points are drawn as filled symbols, points that depend on a suspect run as open symbols. Invalid runs, which no
point includes, are drawn as crosses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from towtank.analysis import NO_ESTIMATE, Configuration, Estimate, LoadPoint, RunSummary
from towtank.report.source import Results
from towtank.report.vega import Row

OPEN_SYMBOLS = "Open symbols depend on a suspect run."
"""Note below figures with open symbols."""


@dataclass(frozen=True)
class Point:
    """Estimate of a quantity at one load in one configuration, computed from the named runs.

    `load` is the number of users, or the arrival rate [1/s]. The value and the ends of its interval are in the unit of
    the figure; `low` and `high` are None if unknown. `state` is `valid`, `suspect` or `invalid`.
    """

    configuration: str
    load: float
    value: float
    low: float | None
    high: float | None
    state: str
    runs: tuple[str, ...]

    @property
    def stated(self) -> Point | None:
        """The point; None for an invalid run, because tables do not show its values."""
        return None if self.state == "invalid" else self

    def scaled(self, factor: float) -> Point:
        """Multiply value and interval by a factor, for a change of unit."""
        low = None if self.low is None else self.low * factor
        high = None if self.high is None else self.high * factor
        return Point(self.configuration, self.load, self.value * factor, low, high, self.state, self.runs)


@dataclass(frozen=True)
class Panels:
    """Data of a figure with several quantities: points of each quantity in its base unit, factor to the unit of the
    axes, this unit, name of the load factor, and single runs.
    """

    points: dict[str, list[Point]]
    factor: float
    unit: str
    load_factor: str
    runs: dict[str, list[Point]] = field(default_factory=dict)

    @property
    def all_points(self) -> list[Point]:
        """Points of all quantities in one list."""
        return [point for points in self.points.values() for point in points]

    @property
    def drawn(self) -> dict[str, list[Point]]:
        """Points of the quantities that were measured, in the unit of the axes."""
        return {name: [point.scaled(self.factor) for point in points] for name, points in self.points.items() if points}


OfPoint = Callable[[LoadPoint], Estimate]
OfRun = Callable[[RunSummary], Estimate]


def states(results: Results) -> dict[tuple[str, float], str]:
    """Return the verdict of every load point, by configuration and load."""
    return {
        (configuration.label, point.level): point.state
        for configuration in results.configurations
        for point in configuration.points
    }


def estimate_point(configuration: Configuration, point: LoadPoint, estimate: Estimate) -> Point | None:
    """Convert an estimate of a load point to a point; return None if the estimate has no value."""
    return _made(configuration.label, point.level, estimate, point.state, point.runs)


def _made(label: str, load: float, estimate: Estimate, state: str, runs: tuple[str, ...]) -> Point | None:
    if estimate.value is None:
        return None
    low, high = (estimate.low, estimate.high) if None not in (estimate.low, estimate.high) else (None, None)
    return Point(label, load, float(estimate.value), low, high, state, runs)


def throughput_of(results: Results) -> list[Point]:
    """Collect the throughput of all configurations and invalid runs. [1/s]"""
    return collect(results, lambda point: point.throughput_per_s, throughput_of_run)


def throughput_of_run(summary: RunSummary) -> Estimate:
    """Return the throughput of a run from its summary. [1/s]"""
    return summary.throughput_per_s


def response_time_of(results: Results, statistic: str) -> list[Point]:
    """Collect a statistic of the response time, such as `p95`, of all configurations and invalid runs. [s]"""
    return collect(results, lambda point: point.response_time_s.of(statistic), response_time_of_run(statistic))


def response_time_of_run(statistic: str) -> OfRun:
    """Return a function that returns a statistic of the response time from the summary of a run. [s]"""

    def of_run(summary: RunSummary) -> Estimate:
        found = summary.response_time_s.get(statistic)
        return found if isinstance(found, Estimate) else NO_ESTIMATE

    return of_run


def collect(results: Results, of_point: OfPoint, of_run: OfRun) -> list[Point]:
    """Collect the points of all configurations, and the invalid runs as further points.

    `of_point` and `of_run` return the estimate of a load point, and the same estimate from a run summary.
    """
    order = {configuration.label: place for place, configuration in enumerate(results.configurations)}
    found = [
        made
        for configuration in results.configurations
        for point in configuration.usable
        if (made := estimate_point(configuration, point, of_point(point))) is not None
    ]
    for run in results.in_state("invalid"):
        value = of_run(run.record).value
        if value is not None and run.load is not None:
            found.append(Point(results.label(run), run.load, float(value), None, None, "invalid", (run.run_id,)))
    return sorted(found, key=lambda point: order.get(point.configuration, len(order)))


def single_runs(results: Results, of_run: OfRun) -> list[Point]:
    """Return the single runs of each load point that combines several runs; `of_run` returns the estimate from a run
    summary.
    """
    found = []
    for configuration in results.configurations:
        for point in configuration.points:
            runs = [run for name in point.runs if (run := results.run(name)) is not None]
            counting = [run for run in runs if run.verdict in ("valid", "suspect")]
            for run in counting if len(counting) > 1 else ():
                made = _made(configuration.label, point.level, of_run(run.record), run.verdict, (run.run_id,))
                found += [] if made is None else [made]
    return found


def labels(points: Iterable[Point]) -> list[str]:
    """Return the labels of the configurations, in order of first appearance."""
    return list(dict.fromkeys(point.configuration for point in points))


def row(point: Point) -> Row:
    """Return a point as a row of chart data."""
    return {**vars(point), "runs": ", ".join(point.runs)}


def states_note(points: Iterable[Point], runs: Iterable[Point] = ()) -> str:
    """Explain the symbols and whiskers of a figure."""
    points = list(points)
    seen = {point.state for point in points}
    parts = []
    if any(point.low is not None for point in points):
        parts.append("Whiskers are 95 % confidence intervals.")
    if list(runs):
        parts.append("Small symbols to the right of a point are its single runs.")
    if "suspect" in seen:
        parts.append(OPEN_SYMBOLS)
    if "invalid" in seen:
        parts.append("Crosses are invalid runs, on which no result depends.")
    return " ".join(parts)

"""Builds the figure of throughput relative to the lowest level, with a line of ideal scaling."""

from __future__ import annotations

from dataclasses import dataclass, replace

from towtank.analysis import Estimate, ratio_interval
from towtank.report import format as people
from towtank.report import vega
from towtank.report.document import Figure, Table, headings
from towtank.report.figures import panel, series, throughput
from towtank.report.source import Results

NAME = "scaling"
_TITLE = "throughput, lowest level = 1"


@dataclass(frozen=True)
class Numbers:
    """Data of the figure of scaling: throughput divided by that of the same configuration at `common`. [1]

    `base` has the load at which the line of ideal scaling has the value 1, by configuration. `common` is the lowest
    load with a valid or suspect point in every configuration; None if no such load exists.
    """

    points: list[series.Point]
    base: dict[str, float]
    load_factor: str
    common: float | None = None


def compute(results: Results) -> Numbers:
    """Divide the throughput of each configuration by its throughput at the lowest common level: the lowest load with a
    valid or suspect point in every configuration.

    At this level, the ratio is 1 and has no interval.
    """
    points = series.throughput_of(results)
    common = _common_load(points)
    base = {point.configuration: point for point in points if point.load == common and point.state != "invalid"}
    estimates = {
        (configuration.label, point.level): point.throughput_per_s
        for configuration in results.configurations
        for point in configuration.points
    }
    scaled = [_ratio(point, base[point.configuration], estimates) for point in points if point.configuration in base]
    slopes = throughput.slopes(results)
    # The line of ideal scaling does not necessarily pass through the point at the lowest level, because this point has
    # a measurement error.
    passes = {label: point.value / slopes[label] if label in slopes else point.load for label, point in base.items()}
    return Numbers(scaled, passes, results.load_factor, common)


def _common_load(points: list[series.Point]) -> float | None:
    """Return the lowest load with a valid or suspect point in every configuration; None if no such load exists."""
    loads: dict[str, set[float]] = {}
    for point in points:
        if point.state != "invalid" and point.value > 0:
            loads.setdefault(point.configuration, set()).add(point.load)
    return min(set.intersection(*loads.values()), default=None) if loads else None


def _ratio(point: series.Point, base: series.Point, estimates: dict[tuple[str, float], Estimate]) -> series.Point:
    """Divide the throughput of a point by that of a base point, and compute the interval of the ratio."""
    bare = replace(point, value=point.value / base.value, low=None, high=None)
    if point.state == "invalid" or point.load == base.load:
        return bare
    found = ratio_interval(estimates[point.configuration, point.load], estimates[base.configuration, base.load])
    return replace(bare, low=found.low, high=found.high)


def draw(numbers: Numbers) -> vega.Specification:
    """Draw throughput relative to the lowest common level, and lines of ideal scaling."""
    loads = [point.load for point in numbers.points]
    bases = sorted({load for load in numbers.base.values() if load > 0})
    along = panel.line_loads(loads)
    ideal = [{"load": load, "value": load / base, "slope": 1 / base} for base in bases for load in along]
    below = throughput.ideal_lines(ideal, numbers.load_factor, loads, _TITLE)
    return vega.specification(
        description(numbers),
        **panel.panel(numbers.points, value_title=_TITLE, load_factor=numbers.load_factor, width=620, below=below),
    )


def efficiency(numbers: Numbers, point: series.Point) -> float | None:
    """Return the throughput of a point relative to ideal scaling; None if ideal scaling is unknown. [ratio]"""
    base = numbers.base.get(point.configuration)
    return point.value * base / point.load if base and point.load else None


def description(numbers: Numbers) -> str:
    """Return a description of the figure of scaling in words, for readers who cannot see the figure."""
    parts = []
    for label in series.labels(numbers.points):
        own = [p for p in numbers.points if p.configuration == label and p.state != "invalid"]
        last = max(own, key=lambda point: point.load)
        parts.append(
            f"{label} reaches {people.plain_estimate(last)} times its lowest level at "
            f"{people.plain(last.load)} "
            f"{panel.load_title(numbers.load_factor)}, {people.share(efficiency(numbers, last))} of ideal"
        )
    return "Line chart of throughput divided by that of the lowest level. " + "; ".join(parts) + "."


def figure(results: Results) -> Figure | None:
    """Return the figure of scaling; None without a level above the lowest common level, or for too many
    configurations.
    """
    numbers = compute(results)
    counting = [point for point in numbers.points if point.state != "invalid"]
    above = [point for point in counting if numbers.common is not None and point.load > numbers.common]
    if not above or panel.is_crowded(numbers.points):
        return None
    return Figure(
        name=NAME,
        title=f"Throughput against {panel.load_title(numbers.load_factor)}, normalised to the lowest level",
        description=description(numbers),
        note=f"Each value is divided by the value of the same configuration at {people.plain(numbers.common)}, the "
        "lowest "
        f"common level. The dotted line is ideal scaling. {series.states_note(numbers.points)}",
        spec=draw(numbers),
        table=_table(numbers),
    )


def _table(numbers: Numbers) -> Table:
    columns = headings(
        "Configuration",
        f"#{panel.load_title(numbers.load_factor).capitalize()}",
        "#Relative throughput | lowest level = 1",
        "#Share of ideal",
        "Verdict",
    )
    rows = tuple(
        (
            point.configuration,
            people.plain(point.load),
            people.plain_estimate(point.stated),
            people.share(None if point.stated is None else efficiency(numbers, point)),
            point.state,
        )
        for point in numbers.points
    )
    return Table("Throughput relative to the lowest level", columns, rows)

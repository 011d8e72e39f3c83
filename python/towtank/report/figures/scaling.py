"""Throughput relative to the lowest level, with the line of ideal scaling."""

from __future__ import annotations

from dataclasses import dataclass

from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Column, Figure, Table
from towtank.report.figures import panel, series, throughput
from towtank.report.source import Results

NAME = "scaling"
_TITLE = "throughput, lowest level = 1"


@dataclass(frozen=True)
class Numbers:
    """What is drawn.

    Attributes
    ----------
    points : list of Point
        Throughput divided by that of the lowest level of the same configuration. [1]
    base : dict of str to float
        Load at which the line of ideal scaling passes 1, by configuration: about that of the lowest level.
    load_factor : str
        Name of the load.
    """

    points: list[series.Point]
    base: dict[str, float]
    load_factor: str


def compute(results: Results) -> Numbers:
    """Divide the throughput of each configuration by that at its lowest level that counts.

    The interval is that of the point divided by the value at the lowest level, whose own uncertainty
    is left out.
    """
    points = series.collect(results, lambda document: document.get("throughput_per_s"))
    base: dict[str, series.Point] = {}
    for point in points:
        held = base.get(point.configuration)
        if point.state != "invalid" and point.value > 0 and (held is None or point.load < held.load):
            base[point.configuration] = point
    scaled = [point.scaled(1 / base[point.configuration].value) for point in points if point.configuration in base]
    slopes = throughput.slopes(results)
    # The line of ideal scaling is not drawn through the lowest level, whose own throughput has an error.
    passes = {label: point.value / slopes[label] if label in slopes else point.load for label, point in base.items()}
    return Numbers(scaled, passes, results.load_factor)


def draw(numbers: Numbers) -> dict[str, object]:
    """Draw the ratios over the lines of ideal scaling."""
    loads = [point.load for point in numbers.points]
    top = max(loads, default=1.0)
    bases = sorted({load for load in numbers.base.values() if load > 0})
    ideal = [{"load": load, "value": load / base, "slope": 1 / base} for base in bases for load in (0.0, top)]
    below = []
    if ideal:
        below = [
            throughput.ideal_line(ideal, numbers.load_factor, loads, _TITLE),
            throughput.ideal_label(ideal[-1], numbers.load_factor, loads, _TITLE),
        ]
    return theme.specification(
        description(numbers),
        **panel.panel(numbers.points, value_title=_TITLE, load_factor=numbers.load_factor, width=620, below=below),
    )


def efficiency(numbers: Numbers, point: series.Point) -> float | None:
    """Share of ideal scaling that a point reaches. [1]"""
    base = numbers.base.get(point.configuration)
    return point.value * base / point.load if base and point.load else None


def description(numbers: Numbers) -> str:
    """The picture in words."""
    parts = []
    for label in series.labels(numbers.points):
        own = [p for p in numbers.points if p.configuration == label and p.state != "invalid"]
        last = max(own, key=lambda point: point.load)
        parts.append(
            f"{label} reaches {people.plain_estimate(vars(last))} times its lowest level at "
            f"{people.plain(last.load)} "
            f"{panel.load_title(numbers.load_factor)}, {people.share(efficiency(numbers, last))} of ideal"
        )
    return "Line chart of throughput divided by that of the lowest level. " + "; ".join(parts) + "."


def figure(results: Results) -> Figure | None:
    """The figure, or None with fewer than two levels in every configuration."""
    numbers = compute(results)
    levels = {(point.configuration, point.load) for point in numbers.points if point.state != "invalid"}
    if len(levels) <= len(numbers.base):
        return None
    return Figure(
        name=NAME,
        title=f"Throughput against {panel.load_title(numbers.load_factor)}, normalised to the lowest level",
        description=description(numbers),
        note="Each configuration is divided by its own value at its lowest level that counts; the "
        "dotted line is "
        "ideal scaling. " + series.states_note(numbers.points),
        spec=draw(numbers),
        table=_table(numbers),
    )


def _table(numbers: Numbers) -> Table:
    columns = (
        Column("Configuration"),
        Column(panel.load_title(numbers.load_factor).capitalize(), numeric=True),
        Column("Relative throughput", "lowest level = 1", numeric=True),
        Column("Share of ideal", numeric=True),
        Column("Verdict"),
    )
    rows = tuple(
        (
            point.configuration,
            people.plain(point.load),
            people.plain_estimate(vars(point)),
            people.share(efficiency(numbers, point)),
            point.state,
        )
        for point in numbers.points
    )
    return Table("Throughput relative to the lowest level", columns, rows)

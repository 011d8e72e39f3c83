"""Throughput against load, with the line of ideal scaling of every configuration."""

from __future__ import annotations

from dataclasses import dataclass

from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Column, Figure, Table
from towtank.report.figures import panel, series
from towtank.report.source import Results, label_of

NAME = "throughput"


@dataclass(frozen=True)
class Numbers:
    """What is drawn.

    Attributes
    ----------
    points : list of Point
        Throughput. [1/s]
    ideal : dict of str to float
        Throughput per unit of load on the line of ideal scaling, by configuration. [1/s]
    load_factor : str
        Name of the load.
    """

    points: list[series.Point]
    ideal: dict[str, float]
    load_factor: str


def compute(results: Results) -> Numbers:
    """Gather throughput by load, and the slope of ideal scaling."""
    points = series.collect(results, lambda document: document.get("throughput_per_s"))
    counting = {point.configuration for point in points if point.state != "invalid"}
    ideal = {label: slope for label, slope in slopes(results).items() if label in counting}
    return Numbers(points, ideal, results.load_factor)


def slopes(results: Results) -> dict[str, float]:
    """Return the slope of the line of ideal scaling of each configuration that has one. [1/s]"""
    return {
        label_of(configuration): float(configuration["ideal"]["per_user_per_s"])
        for configuration in results.configurations
        if (configuration.get("ideal") or {}).get("per_user_per_s")
    }


def draw(numbers: Numbers) -> dict[str, object]:
    """Draw the lines over the ideal ones."""
    loads = [point.load for point in numbers.points]
    top = max(loads, default=1.0)
    slopes = _apart(sorted(numbers.ideal.values()))
    ideal = [{"load": load, "value": slope * load, "slope": slope} for slope in slopes for load in (0.0, top)]
    below = [ideal_line(ideal, numbers.load_factor, loads, "throughput [1/s]")]
    if ideal:
        below.append(ideal_label(ideal[-1], numbers.load_factor, loads, "throughput [1/s]"))
    return theme.specification(
        description(numbers),
        **panel.panel(
            numbers.points,
            value_title="throughput [1/s]",
            load_factor=numbers.load_factor,
            width=620,
            below=below if ideal else [],
        ),
    )


def _apart(slopes: list[float]) -> list[float]:
    """Keep the slopes that the eye could tell apart: lines closer than 2 % would only blur each other."""
    kept: list[float] = []
    for slope in slopes:
        if not kept or slope > 1.02 * kept[-1]:
            kept.append(slope)
    return kept


def ideal_line(
    rows: list[dict[str, float]], load_factor: str, loads: list[float], value_title: str
) -> dict[str, object]:
    """Dotted grey lines from the origin."""
    return {
        "data": {"values": rows},
        "mark": {"type": "line", "color": theme.MUTED, "strokeDash": [2, 3], "strokeWidth": 1.5},
        "encoding": {
            "x": panel.load_axis(load_factor, loads),
            "y": panel.value_axis(value_title),
            "detail": {"field": "slope"},
        },
    }


def ideal_label(row: dict[str, float], load_factor: str, loads: list[float], value_title: str) -> dict[str, object]:
    """The name of the grey line, at its middle, above it."""
    middle = {"load": row["load"] * 0.72, "value": row["value"] * 0.72}
    return {
        "data": {"values": [middle]},
        "mark": {
            "type": "text",
            "text": "ideal scaling",
            "align": "right",
            "dx": -8,
            "dy": -4,
            "color": theme.MUTED,
        },
        "encoding": {"x": panel.load_axis(load_factor, loads), "y": panel.value_axis(value_title)},
    }


def description(numbers: Numbers) -> str:
    """The picture in words."""
    parts = []
    for label in series.labels(numbers.points):
        own = sorted(
            (p for p in numbers.points if p.configuration == label and p.state != "invalid"),
            key=lambda p: p.load,
        )
        if own:
            first, last = own[0], own[-1]
            parts.append(
                f"{label}: {people.rate_estimate(vars(first))} at {people.plain(first.load)}, "
                f"{people.rate_estimate(vars(last))} at {people.plain(last.load)} "
                f"{panel.load_title(numbers.load_factor)}"
            )
    against = panel.against(numbers.points, numbers.load_factor)
    return f"Chart of throughput {against}. " + ("; ".join(parts) + "." if parts else "No valid point.")


def figure(results: Results) -> Figure | None:
    """The figure, or None where nothing was measured."""
    numbers = compute(results)
    if not numbers.points:
        return None
    return Figure(
        name=NAME,
        title=f"Throughput {panel.against(numbers.points, numbers.load_factor)}",
        description=description(numbers),
        note=_note(numbers) + series.states_note(numbers.points),
        spec=draw(numbers),
        table=_table(numbers),
    )


def _note(numbers: Numbers) -> str:
    if not numbers.ideal or panel.one_load(numbers.points) is not None:
        return ""
    return "The dotted line is ideal scaling: the throughput if every response took as long as at the lowest level. "


def _table(numbers: Numbers) -> Table:
    columns = (
        Column("Configuration"),
        Column(panel.load_title(numbers.load_factor).capitalize(), numeric=True),
        Column("Throughput", numeric=True),
        Column("Ideal", numeric=True),
        Column("Verdict"),
        Column("Runs"),
    )
    rows = []
    for point in numbers.points:
        slope = numbers.ideal.get(point.configuration)
        ideal = people.rate(slope * point.load) if slope else people.ABSENT
        rows.append(
            (
                point.configuration,
                people.plain(point.load),
                people.rate_estimate(vars(point)),
                ideal,
                point.state,
                ", ".join(point.runs),
            )
        )
    return Table("Throughput of completed transactions", columns, tuple(rows))

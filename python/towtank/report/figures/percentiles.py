"""Builds the figure of percentiles of the response time against load: median, 90th and 99th percentile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Figure, Table
from towtank.report.figures import panel, series
from towtank.report.source import Results

NAME = "percentiles"
PERCENTILES = {"p50": "median", "p90": "90th percentile", "p99": "99th percentile"}

_STYLES: dict[str, dict[str, Any]] = {
    "valid": {"filled": True},
    "suspect": {"filled": False, "fill": "white", "strokeWidth": 2},
}


@dataclass(frozen=True)
class Numbers:
    """Data of the figure: points of each percentile [s], factor to the unit of the axis, this unit, and load factor."""

    points: dict[str, list[series.Point]]
    factor: float
    unit: str
    load_factor: str

    @property
    def all_points(self) -> list[series.Point]:
        """Points of all percentiles in one list."""
        return [point for points in self.points.values() for point in points]


def compute(results: Results) -> Numbers:
    """Collect percentiles of the response time over all transactions, at valid and suspect load points."""
    points = {
        name: [point for point in series.response_time_of(results, name) if point.state != "invalid"]
        for name in PERCENTILES
    }
    largest = max((point.value for each in points.values() for point in each), default=0.0)
    factor, unit = people.seconds_unit(largest)
    return Numbers(points, factor, unit, results.load_factor)


def draw(numbers: Numbers) -> dict[str, Any]:
    """Draw a panel for each configuration, or rows if all configurations were measured at the same load."""
    points = [point.scaled(numbers.factor) for point in numbers.all_points]
    axis = panel.time_axis(f"response time [{numbers.unit}]", points)
    rows = [
        {**row, "statistic": PERCENTILES[name]}
        for name, each in numbers.points.items()
        for row in series.rows([point.scaled(numbers.factor) for point in each])
    ]
    labels = series.labels(points)
    shared = {"data": {"values": rows}}
    if panel.one_load(points) is not None:
        place = {"x": axis, "y": panel.configuration_axis(labels)}
        return theme.specification(
            description(numbers), **shared, width=520, height={"step": 24}, layer=_layers(place, "x", numbers)
        )
    place = {"x": panel.load_axis(numbers.load_factor, [point.load for point in points]), "y": axis}
    return theme.specification(
        description(numbers), **shared, **panel.each_configuration(labels, _layers(place, "y", numbers))
    )


def _layers(place: dict[str, Any], along: str, numbers: Numbers) -> list[dict[str, Any]]:
    """Return layers of lines, whiskers and symbols; `along` is the axis of the response times, `x` or `y`."""
    names = list(PERCENTILES.values())
    legend = {"title": None, "symbolSize": 90, "symbolStrokeWidth": 2, "columns": len(names)}
    field: dict[str, Any] = {"field": "statistic", "type": "nominal"}
    colour = {**field, "scale": {"domain": names, "range": theme.cycle(theme.COLOURS, len(names))}, "legend": legend}
    shape = {**field, "scale": {"domain": names, "range": theme.cycle(theme.SYMBOLS, len(names))}, "legend": legend}
    lines: list[dict[str, Any]] = [
        {"mark": {"type": "line", "strokeWidth": 1.6}, "encoding": {**place, "color": colour}}
    ]
    whiskers: dict[str, Any] = {
        "transform": [{"filter": "datum.low !== null"}],
        "mark": {"type": "rule", "strokeWidth": 1.3},
        "encoding": {
            **place,
            along: {**place[along], "field": "low"},
            f"{along}2": {"field": "high"},
            "color": colour,
        },
    }
    tooltip = [field, *panel.tooltip(f"response time [{numbers.unit}]", numbers.load_factor)]
    symbols: list[dict[str, Any]] = [
        {
            "transform": [{"filter": f"datum.state === '{state}'"}],
            "mark": {"type": "point", "size": 65, "opacity": 1, **style},
            "encoding": {**place, "color": colour, "shape": shape, "tooltip": tooltip},
        }
        for state, style in _STYLES.items()
    ]
    return [*(lines if along == "y" else []), whiskers, *symbols]


def description(numbers: Numbers) -> str:
    """Return a description of the figure of percentiles in words, for readers who cannot see the figure."""
    top = max((point.load for point in numbers.all_points), default=0.0)
    parts = [
        f"{point.configuration}, {PERCENTILES[name]}: {people.seconds_estimate(point)}"
        for name, points in numbers.points.items()
        for point in points
        if point.load == top
    ]
    load = panel.load_title(numbers.load_factor)
    return f"Charts of percentiles of the response time. At {people.plain(top)} {load}: {'; '.join(parts)}."


def figure(results: Results) -> Figure | None:
    """Return the figure of percentiles; None for fewer than two load points, or for too many configurations."""
    numbers = compute(results)
    points = numbers.all_points
    if panel.is_single(points) or panel.is_crowded(points):
        return None
    return Figure(
        name=NAME,
        title=f"Percentiles of the response time {panel.against(points, numbers.load_factor)}",
        description=description(numbers),
        note="All transactions together, in the steady window, counted from the planned start. "
        + series.states_note(points),
        spec=draw(numbers),
        table=_table(numbers),
    )


def _table(numbers: Numbers) -> Table:
    by_words = {PERCENTILES[name]: points for name, points in numbers.points.items()}
    titles = ("Statistic", "Response time")
    return panel.points_table("Percentiles by load", numbers.load_factor, titles, by_words, people.seconds_estimate)

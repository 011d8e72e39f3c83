"""Builds the figure of percentiles of the response time against load: median, 90th and 99th percentile."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report import vega
from towtank.report.document import Figure
from towtank.report.figures import panel, series
from towtank.report.source import Results
from towtank.report.vega import Along, Encoding, Layer, Legend, Mark, Specification, View, nominal

NAME = "percentiles"
PERCENTILES = {"p50": "median", "p90": "90th percentile", "p99": "99th percentile"}

_STYLES: dict[str, Mark] = {
    "valid": {"filled": True},
    "suspect": {"filled": False, "fill": "white", "strokeWidth": 2},
}


def compute(results: Results) -> series.Panels:
    """Collect percentiles of the response time over all transactions, at valid and suspect load points."""
    points = {
        name: [point for point in series.response_time_of(results, name) if point.state != "invalid"]
        for name in PERCENTILES
    }
    largest = max((point.value for each in points.values() for point in each), default=0.0)
    return series.Panels(points, *people.seconds_unit(largest), results.load_factor)


def draw(numbers: series.Panels) -> Specification:
    """Draw a panel for each configuration, or rows if all configurations were measured at the same load."""
    points = [point.scaled(numbers.factor) for point in numbers.all_points]
    axis = panel.time_axis(f"response time [{numbers.unit}]", points)
    rows = [
        {**series.row(point), "statistic": PERCENTILES[name]} for name, each in numbers.drawn.items() for point in each
    ]
    labels, data = series.labels(points), vega.Data(values=rows)
    if panel.one_load(points) is not None:
        layers = _layers(Encoding(x=axis, y=panel.configuration_axis(labels)), "x", numbers)
        view: View = {"data": data, "width": 520, "height": {"step": 24}, "layer": layers}
    else:
        place = Encoding(x=panel.load_axis(numbers.load_factor, [point.load for point in points]), y=axis)
        view = {"data": data, **panel.each_configuration(labels, _layers(place, "y", numbers))}
    return vega.specification(description(numbers), **view)


def _layers(place: Encoding, along: Along, numbers: series.Panels) -> list[Layer]:
    """Return layers of lines, whiskers and symbols; `along` is the axis of the response times."""
    names = list(PERCENTILES.values())
    legend: Legend = {"title": None, "symbolSize": 90, "symbolStrokeWidth": 2, "columns": len(names)}
    styles = panel.in_colours_and_symbols("statistic", names, legend)
    colour = styles["color"]
    lines = [vega.layer("line", {**place, "color": colour}, strokeWidth=1.6)] if along == "y" else []
    interval: Encoding = {**vega.between(place, along), "color": colour}
    whiskers = vega.layer("rule", interval, where="datum.low !== null", strokeWidth=1.3)
    tooltip = [nominal("statistic"), *panel.tooltip(f"response time [{numbers.unit}]", numbers.load_factor)]
    marked: Encoding = {**place, **styles, "tooltip": tooltip}
    symbols = [
        vega.layer({"type": "point", "size": 65, "opacity": 1, **style}, marked, where=f"datum.state === '{state}'")
        for state, style in _STYLES.items()
    ]
    return [*lines, whiskers, *symbols]


def description(numbers: series.Panels) -> str:
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
        table=panel.points_table(
            "Percentiles by load", numbers, PERCENTILES, ("Statistic", "Response time"), people.seconds_estimate
        ),
    )

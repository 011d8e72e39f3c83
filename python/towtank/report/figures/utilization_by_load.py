"""Builds the figure of the utilization of every resource against load: modelled with bands, and measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from towtank.report import format as people
from towtank.report import theme, vega
from towtank.report.document import Figure, Table, headings
from towtank.report.figures import panel, series
from towtank.report.figures.labels import legend_columns
from towtank.report.source import Results
from towtank.report.vega import Channel, Encoding, Layer, Legend, Mark, Row, Specification, View, nominal, quantitative

NAME = "utilization-by-load"
_TITLE = "utilization [%]"


@dataclass(frozen=True)
class CurvePoint:
    """Modelled utilization of all servers of a resource at one load, with the ends of its 95 % band. [ratio]"""

    configuration: str
    resource: str
    load: float
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class MeasuredPoint:
    """Measured utilization of a resource at one load, with the verdict. [ratio]"""

    configuration: str
    resource: str
    load: float
    value: float
    state: str


@dataclass(frozen=True)
class Numbers:
    """Data of the figure of utilization: points of the modelled curves, and measured points."""

    curve: list[CurvePoint]
    measured: list[MeasuredPoint]


def compute(results: Results) -> Numbers:
    """Collect the predicted and measured utilizations from the document of the capacity model."""
    curve, measured = [], []
    states = series.states(results)
    for configuration in results.capacity.modelled:
        label = configuration.label
        for name, resource in configuration.utilization.items():
            for line in resource.curve:
                low, high = line.band_95
                if low is not None and high is not None:
                    curve.append(CurvePoint(label, name, line.load, line.median, low, high))
            for row in resource.measured:
                state = states.get((label or "all runs", row.load), "valid")
                measured.append(MeasuredPoint(label, name, row.load, row.utilization, state))
    return Numbers(curve, measured)


def draw(numbers: Numbers, load_factor: str) -> Specification:
    """Draw a panel of utilization for each configuration; all panels have the same scale."""
    labels = list(dict.fromkeys(point.configuration for point in numbers.measured))
    names = list(dict.fromkeys(point.resource for point in numbers.measured))
    rows = [*map(partial(_percent, "curve"), numbers.curve), *map(partial(_percent, "measured"), numbers.measured)]
    x = quantitative(
        "load",
        title=panel.load_title(load_factor),
        axis={"grid": False, "tickCount": 6, "format": theme.EXACT},
        scale={"nice": False},
    )
    y: Channel = {"type": "quantitative", "title": _TITLE, "scale": {"domain": [0, 100]}, "axis": {"tickCount": 5}}
    view: View = {"data": {"values": rows}, **panel.each_configuration(labels, _layers(x, y, names))}
    return vega.specification(description(numbers), **view)


def _percent(kind: str, point: CurvePoint | MeasuredPoint) -> Row:
    """Return a point as a row of chart data, in percent."""
    keys = ("median", "low", "high", "value")
    return {"kind": kind, **{key: 100 * value if key in keys else value for key, value in vars(point).items()}}


def _layers(x: Channel, y: Channel, names: list[str]) -> list[Layer]:
    legend: Legend = {"title": None, "columns": legend_columns(names), "symbolSize": 80, "symbolOpacity": 1}
    styles = panel.in_colours_and_symbols("resource", names, legend)
    colour, along = styles["color"], "datum.kind === 'curve'"
    tooltip = [
        nominal("resource"),
        quantitative("load", format=theme.EXACT),
        quantitative("value", title=_TITLE, format=".3~r"),
    ]
    band: Encoding = {**vega.between(Encoding(x=x, y=y), "y"), "color": colour}
    line: Encoding = {"x": x, "y": {**y, "field": "median"}, "color": colour}
    symbols: Encoding = {"x": x, "y": {**y, "field": "value"}, **styles, "tooltip": tooltip}
    point = Mark(type="point", size=65, opacity=1)
    is_measured = "datum.kind === 'measured' && datum.state"
    return [
        vega.layer("area", band, where=along, opacity=0.2),
        vega.layer("line", line, where=along, strokeWidth=1.6),
        vega.layer(point, symbols, where=f"{is_measured} !== 'suspect'", filled=True),
        vega.layer(point, symbols, where=f"{is_measured} === 'suspect'", filled=False, fill="white", strokeWidth=2),
    ]


def description(numbers: Numbers) -> str:
    """Return a description of the figure of utilization in words, for readers who cannot see the figure."""
    top = max((point.load for point in numbers.measured), default=0.0)
    parts = [
        f"{point.configuration}, {point.resource}: {people.share(point.value)}"
        for point in numbers.measured
        if point.load == top
    ]
    return f"Lines of utilization against load. Measured at {people.plain(top)}: {'; '.join(parts)}."


def figure(results: Results) -> Figure | None:
    """Return the figure of utilization; None if no model has measured resources."""
    numbers = compute(results)
    if not numbers.measured:
        return None
    has_suspects = any(point.state == "suspect" for point in numbers.measured)
    return Figure(
        name=NAME,
        title=f"Utilization of every resource against {panel.load_title(results.load_factor)}",
        description=description(numbers),
        note=_note(results) + (f" {series.OPEN_SYMBOLS}" if has_suspects else ""),
        spec=draw(numbers, results.load_factor),
        table=_table(numbers, results.load_factor),
    )


def _note(results: Results) -> str:
    """Explain the symbols and lines, with the model from which the lines come."""
    by = {resource.by for configuration in results.capacity.modelled for resource in configuration.utilization.values()}
    lines = {
        frozenset({"network"}): "lines are predicted by the network of all resources, for its mean mix and think time",
        frozenset({"curve"}): "lines follow the fitted curve",
    }.get(frozenset(by), "lines of tiers and disks are predicted by the network, lines of parts follow the curve")
    return (
        f"Symbols are measured values; {lines}, with 95 % bands. Utilization refers to all servers of a resource; "
        "parts of "
        f"a tier share its servers."
    )


def _table(numbers: Numbers, load_factor: str) -> Table:
    curve = {
        (each.configuration, each.resource, each.load): people.Ends(100 * each.median, 100 * each.low, 100 * each.high)
        for each in numbers.curve
    }
    columns = headings(
        "Configuration",
        "Resource",
        f"#{panel.load_title(load_factor).capitalize()}",
        "#Measured",
        "#Along the line, 95 % band",
    )
    rows = tuple(
        (
            point.configuration,
            point.resource,
            people.plain(point.load),
            people.share(point.value),
            people.plain_estimate(curve.get((point.configuration, point.resource, point.load)), "%"),
        )
        for point in numbers.measured
    )
    return Table("Utilization by load", columns, rows)

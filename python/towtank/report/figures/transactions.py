"""Response time of each transaction, by configuration, at the lowest and the highest common load."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Column, Figure, Table
from towtank.report.figures import panel, series
from towtank.report.source import Json, Results, dig, label_of

NAME = "transactions"
# Beyond this ratio the shorter bars of a linear scale cannot be read, and a logarithmic scale with
# points is used.
_LINEAR_AT_MOST = 60.0
# More configurations than these are named by the legend alone.
_NAMED_AT_MOST = 3


@dataclass(frozen=True)
class Entry:
    """Mean response time of one transaction at one point. [s]"""

    transaction: str
    point: series.Point


@dataclass(frozen=True)
class Numbers:
    """What is drawn: entries, loads compared, transactions and configurations in order."""

    entries: list[Entry]
    loads: list[float]
    transactions: list[str]
    configurations: list[str]
    load_factor: str

    def at(self, load: float) -> list[Entry]:
        """The entries at one load."""
        return [entry for entry in self.entries if entry.point.load == load]

    @property
    def logarithmic(self) -> bool:
        """Whether the times at one load are too far apart for a linear scale."""
        at_loads = [[e.point.value for e in self.at(load) if e.point.value > 0] for load in self.loads]
        return any(max(values) / min(values) > _LINEAR_AT_MOST for values in at_loads if values)


def compute(results: Results) -> Numbers:
    """Gather the mean response times at the common loads, the longest transaction first."""
    loads = common_loads(results)
    entries = [
        Entry(str(name), made)
        for configuration in results.configurations
        for point in configuration.get("points") or ()
        if float(point.get("users") or 0) in loads and series.point_state(point) != "invalid"
        for name, figures in (point.get("transactions") or {}).items()
        if (made := series.estimate_point(configuration, point, dig(figures, "mean_s"))) is not None
    ]
    longest: dict[str, float] = {}
    for entry in entries:
        longest[entry.transaction] = max(longest.get(entry.transaction, 0.0), entry.point.value)
    order = sorted(longest, key=lambda name: (-longest[name], name))
    shown = [
        label_of(one) for one in results.configurations if label_of(one) in {e.point.configuration for e in entries}
    ]
    return Numbers(entries, loads, order, shown, results.load_factor)


def common_loads(results: Results) -> list[float]:
    """Lowest and highest load that count in every configuration; where there is none, in any of them."""
    of_each = [loads for configuration in results.configurations if (loads := _loads(configuration))]
    if not of_each:
        return []
    common = set.intersection(*of_each) or set.union(*of_each)
    return sorted({min(common), max(common)})


def _loads(configuration: Json) -> set[float]:
    return {
        float(point.get("users") or 0)
        for point in configuration.get("points") or ()
        if series.point_state(point) != "invalid" and point.get("transactions")
    }


def draw(numbers: Numbers) -> dict[str, Any]:
    """Draw one panel for each load, transactions as rows, configurations side by side in a row."""
    several = len(numbers.loads) > 1
    panels = [
        _panel(numbers, load, width=235 if several else 520, names=index == 0)
        for index, load in enumerate(numbers.loads)
    ]
    return theme.specification(description(numbers), hconcat=panels, spacing=16)


def _panel(numbers: Numbers, load: float, *, width: int, names: bool) -> dict[str, Any]:
    entries = numbers.at(load)
    hues = dict(zip(numbers.configurations, _colours(numbers), strict=True))
    factor, unit = people.seconds_unit(max((entry.point.value for entry in entries), default=0.0))
    values = [
        {
            **row,
            "transaction": entry.transaction,
            "label": people.seconds_of(vars(entry.point)),
            "colour": hues[entry.point.configuration],
        }
        for entry in entries
        for row in series.rows([entry.point.scaled(factor)])
    ]
    return {
        "title": f"At {people.plain(load)} {panel.load_title(numbers.load_factor)}",
        "width": width,
        "height": {"step": 17},
        "data": {"values": values},
        "layer": _layers(numbers, values, unit, names=names),
    }


def _value_axis(numbers: Numbers, values: list[dict[str, Any]], unit: str) -> dict[str, Any]:
    """Axis of the times: from zero, or by powers of ten; with room for the numbers behind the longest."""
    title = f"mean response time [{unit}]"
    longest = max((value["high"] or value["value"] for value in values), default=1.0)
    x: dict[str, Any] = {"field": "value", "type": "quantitative", "title": title}
    if not numbers.logarithmic:
        return {
            **x,
            "scale": {"domain": [0, longest * 1.3], "nice": False},
            "axis": {"tickCount": 4},
        }
    low, high = (
        math.floor(math.log10(min(value["value"] for value in values))),
        math.ceil(math.log10(longest * 3)),
    )
    scale = {"type": "log", "domain": [10.0**low, 10.0**high]}
    axis = {"values": [10.0**power for power in range(low, high + 1)], "format": ",~r"}
    return {**x, "title": f"{title}, logarithmic scale", "scale": scale, "axis": axis}


def _layers(numbers: Numbers, values: list[dict[str, Any]], unit: str, *, names: bool) -> list[dict[str, Any]]:
    y = {
        "field": "transaction",
        "type": "nominal",
        "title": None,
        "sort": numbers.transactions,
        "scale": {"paddingInner": 0.3, "domain": numbers.transactions},
        "axis": {"labelLimit": 220, "labels": names, "ticks": False, "domain": names},
    }
    offset = {
        "field": "configuration",
        "type": "nominal",
        "sort": numbers.configurations,
        "scale": {"domain": numbers.configurations},
    }
    place = {"x": _value_axis(numbers, values, unit), "y": y, "yOffset": offset}
    layers = [_marks(numbers, place, unit), _whiskers(place)]
    # A short whisker would look like a mark in the point; behind it, only what sticks out is seen.
    return [*(reversed(layers) if numbers.logarithmic else layers), _numbers(place)]


def _colours(numbers: Numbers) -> list[str]:
    return theme.cycle(theme.COLOURS, len(numbers.configurations))


def _marks(numbers: Numbers, place: dict[str, Any], unit: str) -> dict[str, Any]:
    legend = (
        {"title": None, "symbolType": "square", "columns": panel.legend_columns(numbers.configurations)}
        if len(numbers.configurations) > 1
        else None
    )
    mark: dict[str, Any] = {"type": "bar", "strokeWidth": 1.2}
    if numbers.logarithmic:  # a bar on a logarithmic scale has no foot to stand on
        mark = {"type": "point", "shape": "circle", "size": 55, "strokeWidth": 1.5}
    colour = {
        "field": "configuration",
        "type": "nominal",
        "scale": {"domain": numbers.configurations, "range": _colours(numbers)},
    }
    return {
        "mark": mark,
        "encoding": {
            **place,
            "fill": {**colour, "legend": legend},
            "stroke": {"field": "colour", "type": "nominal", "scale": None},
            "fillOpacity": {"condition": {"test": "datum.state === 'suspect'", "value": 0.15}, "value": 0.85},
            "tooltip": [
                {"field": "transaction", "type": "nominal"},
                *panel.tooltip(f"mean response time [{unit}]", numbers.load_factor),
            ],
        },
    }


def _whiskers(place: dict[str, Any]) -> dict[str, Any]:
    """Intervals; one that reaches below the axis (no time is negative) is drawn from its foot."""
    foot = place["x"]["scale"]["domain"][0]
    return {
        "transform": [
            {"filter": "datum.low !== null"},
            {"calculate": f"max(datum.low, {foot})", "as": "start"},
        ],
        "mark": {"type": "rule", "color": theme.INK, "strokeWidth": 1.3},
        "encoding": {**place, "x": {**place["x"], "field": "start"}, "x2": {"field": "high"}},
    }


def _numbers(place: dict[str, Any]) -> dict[str, Any]:
    return {
        "transform": [{"calculate": "datum.high === null ? datum.value : max(datum.high, datum.value)", "as": "end"}],
        "mark": {"type": "text", "align": "left", "dx": 5, "fontSize": 10},
        "encoding": {**place, "x": {**place["x"], "field": "end"}, "text": {"field": "label"}},
    }


def description(numbers: Numbers) -> str:
    """The picture in words."""
    top = max(numbers.loads, default=0.0)
    parts = [
        f"{entry.transaction}, {entry.point.configuration}: {people.seconds_estimate(vars(entry.point))}"
        for entry in sorted(numbers.entries, key=lambda entry: numbers.transactions.index(entry.transaction))
        if entry.point.load == top
    ]
    return (
        f"Bars of the mean response time of each transaction. At {people.plain(top)} "
        f"{panel.load_title(numbers.load_factor)}: " + "; ".join(parts) + "."
    )


def figure(results: Results) -> Figure | None:
    """The figure, or None where no transaction was measured."""
    numbers = compute(results)
    if not numbers.entries:
        return None
    labels = numbers.configurations
    compared = f", {people.listing(labels)}" if 1 < len(labels) <= _NAMED_AT_MOST else ""
    notes = ["Numbers are means; lines are confidence intervals."]
    if any(entry.point.state == "suspect" for entry in numbers.entries):
        notes.append("Pale marks lean on a suspect run.")
    return Figure(
        name=NAME,
        title=f"Response time per transaction{compared}",
        description=description(numbers),
        note=" ".join(notes),
        spec=draw(numbers),
        table=_table(numbers),
    )


def _table(numbers: Numbers) -> Table:
    columns = (
        Column("Transaction"),
        Column("Configuration"),
        Column(panel.load_title(numbers.load_factor).capitalize(), numeric=True),
        Column("Mean response time", numeric=True),
        Column("Verdict"),
    )
    ordered = sorted(
        numbers.entries, key=lambda entry: (numbers.transactions.index(entry.transaction), entry.point.load)
    )
    rows = tuple(
        (
            entry.transaction,
            entry.point.configuration,
            people.plain(entry.point.load),
            people.seconds_estimate(vars(entry.point)),
            entry.point.state,
        )
        for entry in ordered
    )
    return Table("Mean response time per transaction", columns, rows)

"""Builds the figure of response times by transaction, at the lowest and highest load that all configurations share.

It shows the twelve transactions whose times differ most between configurations; the tables of results contain all. For
more than eight configurations, it is a matrix of transactions and configurations at the highest common load.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from towtank.report import format as people
from towtank.report import theme, vega
from towtank.report.document import Figure, Table, headings
from towtank.report.figures import matrix, panel, series
from towtank.report.figures.labels import legend_columns, short_labels
from towtank.report.source import Results
from towtank.report.vega import Channel, Encoding, Layer, Mark, Specification, View, nominal, quantitative

NAME = "transactions"
# Ratio of the longest to the shortest response time up to which bars are drawn; for larger ratios, points on a
# logarithmic scale. [ratio]
_LINEAR_AT_MOST = 60.0
# Largest number of configurations that the title of the figure names. [1]
_NAMED_AT_MOST = 3
DRAWN_AT_MOST = 12
"""Largest number of transactions that are drawn. [1]"""


@dataclass(frozen=True)
class Entry:
    """Mean response time of one transaction at one load point. [s]"""

    transaction: str
    point: series.Point


@dataclass(frozen=True)
class Numbers:
    """Data of the figure: response times, loads, and the order of transactions and configurations."""

    entries: list[Entry]
    loads: list[float]
    transactions: list[str]
    configurations: list[str]
    load_factor: str

    def at(self, load: float) -> list[Entry]:
        """Return the response times of the drawn transactions at one load."""
        drawn = set(self.drawn)
        return [entry for entry in self.entries if entry.point.load == load and entry.transaction in drawn]

    @cached_property
    def drawn(self) -> list[str]:
        """Transactions that are drawn: those that differ most between configurations; for one configuration, the
        slowest.
        """
        chosen = sorted(self.transactions, key=lambda name: (-self._ratio(name), self.transactions.index(name)))
        return sorted(chosen[:DRAWN_AT_MOST], key=self.transactions.index)

    def _ratio(self, transaction: str) -> float:
        """Return the ratio of the longest to the shortest mean response time of a transaction at the same load, at the
        load with the largest ratio. [ratio]
        """
        times: dict[float, list[float]] = {}
        for entry in self.entries:
            if entry.transaction == transaction and entry.point.value > 0:
                times.setdefault(entry.point.load, []).append(entry.point.value)
        return max((max(values) / min(values) for values in times.values()), default=1.0)

    @property
    def logarithmic(self) -> bool:
        """True if the response times in all panels, which have the same scale, differ too much for a linear scale."""
        values = [entry.point.value for load in self.loads for entry in self.at(load) if entry.point.value > 0]
        return bool(values) and max(values) / min(values) > _LINEAR_AT_MOST

    @property
    def ends(self) -> tuple[float, float]:
        """Shortest and longest positive response time in the figure, including ends of intervals. [s]"""
        points = [entry.point for load in self.loads for entry in self.at(load)]
        ends = [end for point in points for end in (point.low, point.value, point.high) if end is not None]
        return min((end for end in ends if end > 0), default=1.0), max(ends, default=1.0)


def compute(results: Results) -> Numbers:
    """Collect the mean response times at the common loads; the slowest transaction comes first."""
    loads = common_loads(results)
    entries = [
        Entry(name, made)
        for configuration in results.configurations
        for point in configuration.usable
        if point.level in loads
        for name, transaction in point.transactions.items()
        if (made := series.estimate_point(configuration, point, transaction.mean_s)) is not None
    ]
    longest: dict[str, float] = {}
    for entry in entries:
        longest[entry.transaction] = max(longest.get(entry.transaction, 0.0), entry.point.value)
    order = sorted(longest, key=lambda name: (-longest[name], name))
    shown = [
        configuration.label
        for configuration in results.configurations
        if configuration.label in {e.point.configuration for e in entries}
    ]
    return Numbers(entries, loads, order, shown, results.load_factor)


def common_loads(results: Results) -> list[float]:
    """Return the lowest and the highest load with a valid or suspect point in every configuration; if no such load
    exists, the lowest and the highest of all loads.
    """
    points = (configuration.usable for configuration in results.configurations)
    of_each = [loads for each in points if (loads := {point.level for point in each if point.transactions})]
    if not of_each:
        return []
    common = set.intersection(*of_each) or set.union(*of_each)
    return sorted({min(common), max(common)})


def draw(numbers: Numbers) -> Specification:
    """Draw a panel for each load, with a row of response times for each transaction."""
    if len(numbers.configurations) > panel.CROWDED:
        return _matrix(numbers)
    several = len(numbers.loads) > 1
    panels = [
        _panel(numbers, load, width=235 if several else 520, names=index == 0)
        for index, load in enumerate(numbers.loads)
    ]
    return vega.specification(description(numbers), hconcat=panels, spacing=16)


def _matrix(numbers: Numbers) -> Specification:
    """Draw a matrix of response times at the highest load: transactions as rows, configurations as columns."""
    entries = numbers.at(max(numbers.loads))
    names = short_labels(numbers.configurations)
    factor, unit = people.seconds_unit(max((entry.point.value for entry in entries), default=0.0))
    cells = [
        matrix.Cell(
            entry.point.value * factor,
            people.number(entry.point.value * factor, 2) + (" †" if entry.point.state == "suspect" else ""),
            {"transaction": entry.transaction, "configuration": names[entry.point.configuration]},
        )
        for entry in entries
    ]
    columns: vega.Axis = {"labelAngle": -50, "labelLimit": 220, "ticks": False, "domain": False}
    place: Encoding = {
        "x": nominal("configuration", title=None, sort=list(names.values()), axis=columns),
        "y": nominal(
            "transaction",
            title=None,
            sort=numbers.drawn,
            axis={"labelLimit": 180, "ticks": False, "domain": False},
        ),
    }
    title = f"mean response time [{unit}]"
    drawn = matrix.picture(cells, place, title=title, width=560, font_size=9, logarithmic=True)
    return vega.specification(description(numbers), **drawn)


def _panel(numbers: Numbers, load: float, *, width: int, names: bool) -> View:
    entries = numbers.at(load)
    hues = dict(zip(numbers.configurations, _colours(numbers), strict=True))
    factor, unit = people.seconds_unit(numbers.ends[1])
    values = [
        {
            **series.row(entry.point.scaled(factor)),
            "transaction": entry.transaction,
            "label": people.seconds_of(entry.point),
            "colour": hues[entry.point.configuration],
        }
        for entry in entries
    ]
    return {
        "title": f"At {people.plain(load)} {panel.load_title(numbers.load_factor)}",
        "width": width,
        "height": {"step": 17},
        "data": {"values": values},
        "layer": _layers(numbers, factor, unit, names=names),
    }


def _value_axis(numbers: Numbers, factor: float, unit: str) -> Channel:
    """Return the time axis of all panels, linear or logarithmic, with space for the numbers to the right of the
    bars.
    """
    title = f"mean response time [{unit}]"
    shortest, longest = (end * factor for end in numbers.ends)
    if not numbers.logarithmic:
        domain: vega.Scale = {"domain": [0, longest * 1.3], "nice": False}
        return quantitative("value", title=title, scale=domain, axis={"tickCount": 4})
    low, high = math.floor(math.log10(shortest)), math.ceil(math.log10(longest * 3))
    scale: vega.Scale = {"type": "log", "domain": [10.0**low, 10.0**high]}
    axis: vega.Axis = {"values": [10.0**power for power in range(low, high + 1)], "format": theme.MEASURED}
    return quantitative("value", title=f"{title}, logarithmic scale", scale=scale, axis=axis)


def _layers(numbers: Numbers, factor: float, unit: str, *, names: bool) -> list[Layer]:
    y = nominal(
        "transaction",
        title=None,
        sort=numbers.drawn,
        scale={"paddingInner": 0.3, "domain": numbers.drawn},
        axis={"labelLimit": 220, "labels": names, "ticks": False, "domain": names},
    )
    offset = nominal("configuration", sort=numbers.configurations, scale={"domain": numbers.configurations})
    place = Encoding(x=_value_axis(numbers, factor, unit), y=y, yOffset=offset)
    foot = 10.0 ** math.floor(math.log10(numbers.ends[0] * factor)) if numbers.logarithmic else 0
    layers = [_marks(numbers, place, unit), _whiskers(place, foot)]
    cut = [_cut(place, foot)] if numbers.logarithmic else []
    # Whiskers are drawn behind points, because a short whisker would look like a mark inside the point.
    return [*(reversed(layers) if numbers.logarithmic else layers), *cut, _numbers(place)]


def _colours(numbers: Numbers) -> list[str]:
    return theme.cycle(theme.COLOURS, len(numbers.configurations))


def _marks(numbers: Numbers, place: Encoding, unit: str) -> Layer:
    legend: vega.Legend | None = (
        {"title": None, "symbolType": "square", "columns": legend_columns(numbers.configurations)}
        if len(numbers.configurations) > 1
        else None
    )
    mark: Mark = {"type": "bar", "strokeWidth": 1.2}
    if numbers.logarithmic:  # A logarithmic scale has no zero, where bars would begin.
        mark = {"type": "point", "shape": "circle", "size": 55, "strokeWidth": 1.5}
    domain: vega.Scale = {"domain": numbers.configurations, "range": _colours(numbers)}
    encoding: Encoding = {
        **place,
        "fill": nominal("configuration", scale=domain, legend=legend),
        "stroke": nominal("colour", scale=None),
        "fillOpacity": {"condition": {"test": "datum.state === 'suspect'", "value": 0.15}, "value": 0.85},
        "tooltip": [
            nominal("transaction"),
            *panel.tooltip(f"mean response time [{unit}]", numbers.load_factor),
        ],
    }
    return vega.layer(mark, encoding)


def _whiskers(place: Encoding, foot: float) -> Layer:
    """Return a layer of intervals as whiskers, truncated at the lower end of the axis."""
    start = ("start", f"max(datum.low, {foot})")
    interval = vega.between(place, "x", "start", "high")
    return vega.layer("rule", interval, where="datum.low !== null", derived=start, color=theme.INK, strokeWidth=1.3)


def _cut(place: Encoding, foot: float) -> Layer:
    """Return a layer of arrows that mark intervals truncated at the lower end of the axis."""
    arrow = Mark(type="text", text="◂", color=theme.INK, fontSize=11)
    where = f"datum.low !== null && datum.low < {foot}"
    return vega.layer(
        arrow, {**place, "x": {**place["x"], "field": "start"}}, where=where, derived=("start", f"{foot}")
    )


def _numbers(place: Encoding) -> Layer:
    end = ("end", "datum.high === null ? datum.value : max(datum.high, datum.value)")
    named: Encoding = {**place, "x": {**place["x"], "field": "end"}, "text": {"field": "label"}}
    return vega.layer("text", named, derived=end, align="left", dx=5, fontSize=10)


def description(numbers: Numbers) -> str:
    """Return a description of the figure of transactions in words, for readers who cannot see the figure."""
    top = max(numbers.loads, default=0.0)
    parts = [
        f"{entry.transaction}, {entry.point.configuration}: {people.seconds_estimate(entry.point)}"
        for entry in sorted(numbers.entries, key=lambda entry: numbers.transactions.index(entry.transaction))
        if entry.point.load == top and entry.transaction in numbers.drawn
    ]
    return (
        f"Bars of the mean response time of each transaction. At {people.plain(top)} "
        f"{panel.load_title(numbers.load_factor)}: " + "; ".join(parts) + "."
    )


def figure(results: Results) -> Figure | None:
    """Return the figure of transactions; None if no transaction was measured."""
    numbers = compute(results)
    if not numbers.entries:
        return None
    labels = numbers.configurations
    compared = f", {people.listing(labels)}" if 1 < len(labels) <= _NAMED_AT_MOST else ""
    is_matrix = len(labels) > panel.CROWDED
    notes = [
        f"Mean response times at {people.plain(max(numbers.loads))} {panel.load_title(numbers.load_factor)}; darker "
        "cells are longer."
        if is_matrix
        else "Numbers are means; lines are 95 % confidence intervals."
    ]
    if numbers.logarithmic and not is_matrix and any(entry.point.low == 0 for entry in numbers.entries):
        notes.append("Arrows mark intervals that extend to zero.")
    if any(entry.point.state == "suspect" for entry in numbers.entries):
        notes.append(f"{'Cells with †' if is_matrix else 'Pale marks'} depend on a suspect run.")
    left = len(numbers.transactions) - len(numbers.drawn)
    if left:
        differ = "differ less between configurations" if len(labels) > 1 else "are shorter"
        notes.append(
            f"{people.plural(left, 'further transaction')}, which {differ}, are only in the tables of results."
        )
    return Figure(
        name=NAME,
        title=f"Response time per transaction{compared}",
        description=description(numbers),
        note=" ".join(notes),
        spec=draw(numbers),
        table=_table(numbers),
    )


def _table(numbers: Numbers) -> Table:
    columns = headings(
        "Transaction",
        "Configuration",
        f"#{panel.load_title(numbers.load_factor).capitalize()}",
        "#Mean response time",
        "Verdict",
    )
    drawn = [entry for entry in numbers.entries if entry.transaction in numbers.drawn]
    ordered = sorted(drawn, key=lambda entry: (numbers.drawn.index(entry.transaction), entry.point.load))
    rows = tuple(
        (
            entry.transaction,
            entry.point.configuration,
            people.plain(entry.point.load),
            people.seconds_estimate(entry.point.stated),
            entry.point.state,
        )
        for entry in ordered
    )
    return Table("Mean response time per transaction", columns, rows)

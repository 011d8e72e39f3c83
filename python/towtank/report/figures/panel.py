"""Draws the panel of most figures: values against load, as lines with symbols and whiskers.

Configurations that were all measured at the same load are drawn as rows. More than eight configurations, which cannot
be distinguished as lines, are drawn as a matrix of configurations and loads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from towtank.report import format as people
from towtank.report import theme, vega
from towtank.report.document import Table, headings
from towtank.report.figures import labels as labels_of
from towtank.report.figures import matrix, series, titles
from towtank.report.vega import Along, Channel, Encoding, Layer, Legend, Mark, Row, Scale, View, nominal, quantitative

_HOLLOW = "datum.state === 'suspect'"
_CROSS = "datum.state === 'invalid'"
# Ratio of the largest to the smallest value, or load, above which an axis is logarithmic. [ratio]
_FAR_APART = 30.0
# Number of pieces of a straight line that is a curve on a logarithmic axis. [1]
_CURVE_STEPS = 40
CROWDED = 8
"""Largest number of configurations that colours, symbols and line styles can distinguish. [1]"""
# Number of decades up to which a logarithmic axis has labels between powers of ten. [1]
_FEW_DECADES = 3
# Height of an axis label, including the gap to the next label. [px]
_LABEL_PX = 15
# Smallest and largest space for the labels of configurations beside a panel. [px]
_LABEL_LIMITS_PX = 240, 480
_ROW_PX, _MANY_ROWS = 24, 12  # Height of a row [px], and number of rows above which rows are as high as labels.


def load_title(load_factor: str) -> str:
    """Return the title of the load axis, with the unit."""
    return {"users": "virtual users", "rate": "arrival rate [1/s]"}.get(load_factor, load_factor)


def one_load(points: Iterable[series.Point]) -> float | None:
    """Return the load if several configurations were all measured at the same load; otherwise None."""
    found = list(points)
    loads = {point.load for point in found}
    return loads.pop() if len(loads) == 1 and len(series.labels(found)) > 1 else None


def is_single(points: Iterable[series.Point]) -> bool:
    """Return True if there are fewer than two distinct load points, so that no figure is needed."""
    return len({(point.configuration, point.load) for point in points}) < 2


def is_crowded(points: Iterable[series.Point]) -> bool:
    """Return True if the points belong to more configurations than lines can distinguish."""
    return len(series.labels(points)) > CROWDED


def against(points: Iterable[series.Point], load_factor: str) -> str:
    """Render the last part of a figure's title: `against virtual users` or `by configuration, at 50 virtual users`."""
    load = one_load(points)
    title = load_title(load_factor)
    if load is None:
        return f"against {title}"
    return f"by configuration, at {people.plain(load)} {title.removesuffix('s') if load == 1 else title}"


def load_axis(load_factor: str, loads: list[float]) -> Channel:
    """Return the horizontal axis of loads, with a tick at every measured level.

    It begins at zero; if the levels differ widely, it is logarithmic and begins below the lowest level.
    """
    values = sorted(set(loads))
    if has_far_levels(values):
        return quantitative(
            "load",
            title=f"{load_title(load_factor)}, logarithmic",
            scale={"type": "log", "domain": [values[0] / 1.5, values[-1] * 1.5], "nice": False, "clamp": True},
            axis={"values": values, "grid": False, "labelOverlap": True, "format": theme.EXACT},
        )
    top = (values[-1] if values else 1) * 1.06
    return quantitative(
        "load",
        title=load_title(load_factor),
        scale={"domain": [0, top], "nice": False},
        axis={"values": [0, *values], "grid": False, "labelOverlap": True, "format": theme.EXACT},
    )


def has_far_levels(loads: Iterable[float]) -> bool:
    """Return True if the axis of these loads is logarithmic, because they differ widely and none is zero."""
    known = sorted(loads)
    return bool(known) and 0 < known[0] < known[-1] / _FAR_APART


def line_loads(loads: list[float]) -> list[float]:
    """Return the loads for a straight line through the origin: its ends, or many on a logarithmic axis."""
    top = max(loads, default=1.0)
    if not has_far_levels(loads):
        return [0.0, top]
    low = min(loads)
    return [low * (top / low) ** (step / _CURVE_STEPS) for step in range(_CURVE_STEPS + 1)]


def value_axis(title: str) -> Channel:
    """Return the vertical axis of values from zero."""
    return quantitative("value", title=title, scale={"zero": True}, axis={"tickCount": 6})


def time_axis(title: str, points: list[series.Point], height: int = 300) -> Channel:
    """Return the axis of response times, which is logarithmic if the times differ widely.

    Valid and suspect points determine the scale. The cross of an invalid run outside of this scale is drawn at the
    edge. If the height [px] does not suffice for labels at 1, 2 and 5, only powers of ten have labels.
    """
    counting = [point for point in points if point.state != "invalid" and point.value > 0] or points
    ends = [end for point in counting for end in (point.low, point.high, point.value) if end is not None and end > 0]
    axis: Channel = {**value_axis(title), "title": titles.in_lines(title, height)}
    if not ends:
        return axis
    if is_far_apart(counting):
        low, high = math.floor(math.log10(min(ends))), math.ceil(math.log10(max(ends)))
        scale: Scale = {"type": "log", "domain": [10.0**low, 10.0**high], "clamp": True}
        has_room = 3 * (high - low) * _LABEL_PX <= height
        digits = (1, 2, 5) if high - low <= _FEW_DECADES and has_room else (1,)
        ticks = [digit * 10.0**decade for decade in range(low, high) for digit in digits] + [10.0**high]
        return {
            **axis,
            "title": titles.in_lines(f"{title}, logarithmic", height),
            "scale": scale,
            "axis": {"values": ticks, "format": theme.MEASURED},
        }
    return {**axis, "scale": {"zero": True, "domainMax": 1.04 * max(ends), "clamp": True}}


def is_far_apart(points: list[series.Point]) -> bool:
    """Return True if the values of valid and suspect points need a logarithmic axis."""
    values = [point.value for point in points if point.state != "invalid" and point.value > 0]
    values = values or [point.value for point in points]
    return bool(values) and min(values) > 0 and max(values) > _FAR_APART * min(values)


def by_configuration(labels: list[str]) -> Encoding:
    """Return encodings that distinguish configurations by colour, symbol and line style."""
    columns = labels_of.legend_columns(labels)
    legend: Legend = {"title": None, "symbolSize": 90, "symbolStrokeWidth": 2, "columns": columns}
    return {
        **in_colours_and_symbols("configuration", labels, legend if len(labels) > 1 else None),
        # The line style has no scale, because the legend would show dashed symbols otherwise.
        "strokeDash": nominal("dash", scale=None),
    }


def in_colours_and_symbols(field: str, names: list[str], legend: Legend | None) -> Encoding:
    """Return encodings that distinguish the values of a field by colour and symbol."""
    hues, symbols = theme.cycle(theme.COLOURS, len(names)), theme.cycle(theme.SYMBOLS, len(names))
    return {
        "color": nominal(field, scale={"domain": names, "range": hues}, legend=legend),
        "shape": nominal(field, scale={"domain": names, "range": symbols}, legend=legend),
    }


def _dashed(points: list[series.Point]) -> list[Row]:
    """Return points as chart data with the line style of their configuration."""
    labels = series.labels(points)
    dashes = dict(zip(labels, theme.cycle(theme.DASHES, len(labels)), strict=True))
    return [{**series.row(point), "dash": list(dashes[point.configuration])} for point in points]


def tooltip(value_title: str, load_factor: str) -> list[Channel]:
    """Return the data fields that the interactive figure shows under the pointer."""
    return [
        nominal("configuration", title="configuration"),
        quantitative("load", title=load_title(load_factor), format=theme.EXACT),
        quantitative("value", title=value_title, format=theme.MEASURED),
        quantitative("low", title="low", format=theme.MEASURED),
        quantitative("high", title="high", format=theme.MEASURED),
        nominal("state", title="verdict"),
        nominal("runs", title="runs"),
    ]


def layers(points: list[series.Point], axis: Channel, load_factor: str) -> list[Layer]:
    """Return the layers of a panel: lines, whiskers, and symbols by verdict."""
    encoding = by_configuration(series.labels(points))
    place = Encoding(x=load_axis(load_factor, [point.load for point in points]), y=axis)
    line = vega.layer("line", {**place, **encoding}, where=f"!({_CROSS})")
    with_tooltip: Encoding = {**place, "tooltip": tooltip(titles.in_one_line(axis["title"]), load_factor)}
    shape = Encoding(shape=encoding["shape"])
    return [line, _whiskers(place), *_symbols(with_tooltip, Encoding(color=encoding["color"]), shape)]


def _whiskers(place: Encoding, along: Along = "y") -> Layer:
    """Return a layer of intervals as whiskers; `along` is the value axis."""
    return vega.layer(
        "errorbar",
        {**vega.between(place, along), "detail": {"field": "configuration"}},
        where=f"!({_CROSS}) && datum.low !== null",
        ticks={"size": 9, "color": theme.INK},
        rule={"color": theme.INK},
    )


def _symbols(place: Encoding, colour: Encoding, shape: Encoding) -> list[Layer]:
    """Return layers of symbols by verdict: filled for valid, open for suspect, a cross for invalid."""
    point = Mark(type="point", size=80, opacity=1)
    faint: Mark = {**point, "filled": False, "strokeWidth": 1, "opacity": 0.6}
    whole: Encoding = {**place, **colour, **shape}
    return [
        vega.layer(point, whole, where="datum.state === 'valid'", filled=True),
        vega.layer(point, whole, where=_HOLLOW, filled=False, fill="white", strokeWidth=2),
        # The symbol of the configuration is below the cross, for readers who cannot distinguish colours.
        vega.layer(faint, whole, where=_CROSS),
        vega.layer("text", {**place, **colour}, where=_CROSS, text="✕", fontSize=14, fontWeight="bold"),
    ]


def each_configuration(labels: list[str], layers: list[Layer]) -> View:
    """Return a small panel for each configuration, two in each row; a single panel has no heading."""
    columns = min(len(labels), 2)
    return {
        "facet": nominal("configuration", title=None, sort=labels, header={"labels": len(labels) > 1}),
        "columns": columns,
        "spacing": 28,
        "spec": {"width": 620 if columns == 1 else 285, "height": 250, "layer": layers},
    }


def points_table(
    caption: str,
    numbers: series.Panels,
    words: Mapping[str, str],
    titles: tuple[str, str],
    show: Callable[[series.Point | None], str],
) -> Table:
    """Return the table of a figure with several panels: a row for each point of each panel.

    `words` maps each quantity to the name of its panel. `titles` are the headings of the columns for this name, and for
    the value, which `show` renders with its interval.
    """
    columns = headings(
        "Configuration", f"#{load_title(numbers.load_factor).capitalize()}", titles[0], f"#{titles[1]}", "Verdict"
    )
    rows = tuple(
        (point.configuration, people.plain(point.load), words[kind], show(point.stated), point.state)
        for kind, all_points in numbers.points.items()
        for point in all_points
    )
    return Table(caption, columns, rows)


def panel(
    points: list[series.Point],
    *,
    value_title: str,
    load_factor: str,
    width: int,
    height: int = 300,
    below: list[Layer] | None = None,
    names: bool = True,
    times: bool = False,
    runs: list[series.Point] | None = None,
) -> View:
    """Return a panel with its data.

    Parameters
    ----------
    width, height : int
        Size of the panel; if configurations are drawn as rows, their number determines the height. [px]
    below : list of Layer
        Layers to draw behind the points, if the panel has a load axis.
    names : bool
        Whether rows have names; False for a panel beside another panel with the same rows.
    times : bool
        Whether the values are times, which may need a logarithmic scale.
    runs : list of Point, optional
        Single runs from which the points were computed.
    """
    if is_crowded(points):
        short = labels_of.short_labels(series.labels(points))
        points = [replace(point, configuration=short[point.configuration]) for point in points]
    axis = time_axis(value_title, points, height) if times else value_axis(value_title)
    if one_load(points) is not None:
        if not times and is_far_apart(points):
            axis = time_axis(value_title, points, width)
        return _rows(points, axis, load_factor, width, names=names)
    if is_crowded(points):
        return _by_load(points, value_title, load_factor, width=width, names=names, times=times)
    return {
        "width": width,
        "height": height,
        "data": {"values": _dashed(points)},
        "layer": [*(below or []), *layers(points, axis, load_factor), *_beside(runs or [], points, axis, load_factor)],
    }


def states_note(points: Iterable[series.Point], runs: Iterable[series.Point] = ()) -> str:
    """Explain symbols and whiskers of a panel, or the marks in the cells of a matrix."""
    points = list(points)
    if one_load(points) is not None:
        return series.states_note(points)
    if not is_crowded(points):
        return series.states_note(points, runs)
    notes = {"suspect": "† depends on a suspect run.", "invalid": "✕ marks invalid runs, on which no result depends."}
    seen = {point.state for point in points}
    return " ".join(note for state, note in notes.items() if state in seen)


def _beside(runs: list[series.Point], points: list[series.Point], axis: Channel, load_factor: str) -> list[Layer]:
    """Return a layer of single runs, as small symbols to the right of the point that combines them."""
    if not runs:
        return []
    loads = [point.load for point in points]
    factor, shift = (1.04, 0.0) if has_far_levels(loads) else (1.0, 0.012 * max(loads, default=1.0))
    encoding = by_configuration(series.labels(points))
    place = Encoding(x=load_axis(load_factor, loads), y=axis, color=encoding["color"], shape=encoding["shape"])
    rows = [series.row(replace(run, load=factor * run.load + shift)) for run in runs]
    return [vega.layer("point", place, rows=rows, size=16, filled=True, opacity=0.75)]


def _by_load(
    points: list[series.Point], value_title: str, load_factor: str, *, width: int, names: bool, times: bool
) -> View:
    """Return a matrix with a row for each configuration and a column for each load; the colour scale of times is
    logarithmic.
    """
    counting = {(point.configuration, point.load): point for point in points if point.state != "invalid"}
    crosses = {(point.configuration, point.load): point for point in points if point.state == "invalid"}
    shown = list((crosses | counting).values())
    cells = [
        matrix.Cell(None if point.state == "invalid" else point.value, _in_cell(point), series.row(point))
        for point in shown
    ]
    place: Encoding = {
        "x": {
            "field": "load",
            "type": "ordinal",
            "title": load_title(load_factor),
            "sort": sorted({point.load for point in shown}),
            "axis": {"labelAngle": 0, "ticks": False, "domain": False},
        },
        "y": configuration_axis(series.labels(points), names=names, grid=False),
    }
    fields = tooltip(value_title, load_factor)
    return matrix.picture(cells, place, title=value_title, width=width, font_size=11, logarithmic=times, tooltip=fields)


def _in_cell(point: series.Point) -> str:
    marks = {"invalid": "✕", "suspect": f"{people.number(point.value)} †"}
    return marks.get(point.state, people.number(point.value))


def _rows(points: list[series.Point], axis: Channel, load_factor: str, width: int, *, names: bool) -> View:
    """Return a panel with a row for each configuration, in the order of the study file."""
    bare, factors = labels_of.bare_levels(series.labels(points))
    fields = tooltip(titles.in_one_line(axis["title"]), load_factor)
    points = [replace(point, configuration=bare[point.configuration]) for point in points]
    rows = configuration_axis(series.labels(points), names=names)
    place = Encoding(x=axis, y={**rows, "title": factors if names and factors else None})
    colour = Encoding(color={"value": theme.COLOURS[0]})
    return {
        "width": width,
        "height": {"step": _ROW_PX if len(series.labels(points)) <= _MANY_ROWS else _LABEL_PX + 2},
        "data": {"values": list(map(series.row, points))},
        "layer": [_whiskers(place, along="x"), *_symbols({**place, "tooltip": fields}, colour, {})],
    }


def configuration_axis(labels: list[str], *, names: bool = True, grid: bool = True) -> Channel:
    """Return the vertical axis of configurations, in order from the top, with space for the longest label."""
    shortest, longest = _LABEL_LIMITS_PX
    limit = min(max(shortest, labels_of.LETTER_PX * max(map(len, labels), default=0)), longest)
    return nominal(
        "configuration",
        title=None,
        scale={"domain": labels},
        axis={
            "labels": names,
            "labelLimit": limit,
            "maxExtent": limit + 80,
            "grid": grid,
            "ticks": False,
            "domain": names,
        },
    )

"""The panel that most figures are made of: lines with symbols and whiskers over load.

Where configurations were measured at one load only, all would stand over each other there: they are rows instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Column, Table
from towtank.report.figures import series

_HOLLOW = "datum.state === 'suspect'"
_CROSS = "datum.state === 'invalid'"


def legend_columns(labels: list[str]) -> int:
    """How many labels stand side by side over a figure 620 pixels wide, at 7 pixels a letter and 45 around it."""
    longest = max((len(label) for label in labels), default=1)
    return max(1, 620 // (7 * longest + 45))


def load_title(load_factor: str) -> str:
    """Title of the load axis, with its unit."""
    return {"users": "virtual users", "rate": "arrival rate [1/s]"}.get(load_factor, load_factor)


def one_load(points: Iterable[series.Point]) -> float | None:
    """The load that several configurations were compared at, where there is only one; None otherwise."""
    found = list(points)
    loads = {point.load for point in found}
    return loads.pop() if len(loads) == 1 and len(series.labels(found)) > 1 else None


def against(points: Iterable[series.Point], load_factor: str) -> str:
    """The end of a title: what the values are shown against."""
    load = one_load(points)
    title = load_title(load_factor)
    return f"against {title}" if load is None else f"by configuration, at {people.plain(load)} {title}"


def load_axis(load_factor: str, loads: list[float]) -> dict[str, Any]:
    """Horizontal axis from zero, with a tick at every level that was run."""
    values = sorted(set(loads))
    top = (values[-1] if values else 1) * 1.06
    return {
        "field": "load",
        "type": "quantitative",
        "title": load_title(load_factor),
        "scale": {"domain": [0, top], "nice": False},
        "axis": {"values": [0, *values], "grid": False, "labelOverlap": True},
    }


def value_axis(title: str) -> dict[str, Any]:
    """Vertical axis from zero."""
    return {
        "field": "value",
        "type": "quantitative",
        "title": title,
        "scale": {"zero": True},
        "axis": {"tickCount": 6},
    }


def by_configuration(labels: list[str]) -> dict[str, Any]:
    """Encodings that tell configurations apart by colour, symbol and line style at once."""
    number = len(labels)
    legend: dict[str, Any] | None = (
        {"title": None, "symbolSize": 90, "symbolStrokeWidth": 2, "columns": legend_columns(labels)}
        if number > 1
        else None
    )
    return {
        "color": _nominal(labels, theme.cycle(theme.COLOURS, number), legend),
        "shape": _nominal(labels, theme.cycle(theme.SYMBOLS, number), legend),
        # Taken from the data rather than through a scale: a legend symbol drawn with dashes is unreadable.
        "strokeDash": {"field": "dash", "type": "nominal", "scale": None},
    }


def _dashed(points: list[series.Point]) -> list[dict[str, Any]]:
    """The points as data, each with the line style of its configuration."""
    labels = series.labels(points)
    dashes = dict(zip(labels, theme.cycle(theme.DASHES, len(labels)), strict=True))
    return [{**row, "dash": list(dashes[row["configuration"]])} for row in series.rows(points)]


def _nominal(domain: list[str], scale: list[Any], legend: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "field": "configuration",
        "type": "nominal",
        "scale": {"domain": domain, "range": scale},
        "legend": legend,
    }


def tooltip(value_title: str, load_factor: str) -> list[dict[str, Any]]:
    """What the interactive figure tells of a point."""
    return [
        {"field": "configuration", "type": "nominal", "title": "configuration"},
        {"field": "load", "type": "quantitative", "title": load_title(load_factor)},
        {"field": "value", "type": "quantitative", "title": value_title, "format": ",.3~r"},
        {"field": "low", "type": "quantitative", "title": "low", "format": ",.3~r"},
        {"field": "high", "type": "quantitative", "title": "high", "format": ",.3~r"},
        {"field": "state", "type": "nominal", "title": "verdict"},
        {"field": "runs", "type": "nominal", "title": "runs"},
    ]


def layers(points: list[series.Point], value_title: str, load_factor: str) -> list[dict[str, Any]]:
    """Layers of one panel: line, whiskers, filled symbols, open symbols, crosses."""
    encoding = by_configuration(series.labels(points))
    place = {"x": load_axis(load_factor, [point.load for point in points]), "y": value_axis(value_title)}
    line = {
        "transform": [{"filter": f"!({_CROSS})"}],
        "mark": {"type": "line"},
        "encoding": {**place, **encoding},
    }
    told = {**place, "tooltip": tooltip(value_title, load_factor)}
    return [line, _whiskers(place), *_symbols(told, {"color": encoding["color"]}, {"shape": encoding["shape"]})]


def _whiskers(place: dict[str, Any], along: str = "y") -> dict[str, Any]:
    """Intervals along the axis of values, `x` or `y`."""
    return {
        "transform": [{"filter": f"!({_CROSS}) && datum.low !== null"}],
        "mark": {"type": "errorbar", "ticks": {"size": 9, "color": theme.INK}, "rule": {"color": theme.INK}},
        "encoding": {
            **{axis: place[axis] for axis in ("x", "y")},
            along: {**place[along], "field": "low"},
            f"{along}2": {"field": "high"},
            "detail": {"field": "configuration"},
        },
    }


def _symbols(place: dict[str, Any], colour: dict[str, Any], shape: dict[str, Any]) -> list[dict[str, Any]]:
    """What the verdict allows to be seen: filled where valid, open where suspect, a cross where invalid."""
    point = {"type": "point", "size": 80, "opacity": 1}
    return [
        {
            "transform": [{"filter": "datum.state === 'valid'"}],
            "mark": {**point, "filled": True},
            "encoding": {**place, **colour, **shape},
        },
        {
            "transform": [{"filter": _HOLLOW}],
            "mark": {**point, "filled": False, "fill": "white", "strokeWidth": 2},
            "encoding": {**place, **colour, **shape},
        },
        {
            "transform": [{"filter": _CROSS}],
            "mark": {"type": "text", "text": "✕", "fontSize": 14, "fontWeight": "bold"},
            "encoding": {**place, **colour},
        },
    ]


def each_configuration(labels: list[str], layers: list[dict[str, Any]]) -> dict[str, Any]:
    """A small picture for each configuration, two in a row; one alone has the whole width and no heading."""
    columns = min(len(labels), 2)
    return {
        "facet": {
            "field": "configuration",
            "type": "nominal",
            "title": None,
            "sort": labels,
            "header": {"labels": len(labels) > 1},
        },
        "columns": columns,
        "spacing": 28,
        "spec": {"width": 620 if columns == 1 else 285, "height": 250, "layer": layers},
    }


def points_table(
    caption: str,
    load_factor: str,
    titles: tuple[str, str],
    points: Mapping[str, list[series.Point]],
    show: Callable[[dict[str, Any]], str],
) -> Table:
    """The numbers of a figure of several panels: a row for each point, by the kind that its panel tells of.

    Parameters
    ----------
    caption : str
    load_factor : str
    titles : (str, str)
        Of the columns that tell the kind and the value.
    points : mapping of str to list of Point
        By kind, in words.
    show : callable
        A value with its interval, for people.
    """
    columns = (
        Column("Configuration"),
        Column(load_title(load_factor).capitalize(), numeric=True),
        Column(titles[0]),
        Column(titles[1], numeric=True),
        Column("Verdict"),
    )
    rows = tuple(
        (point.configuration, people.plain(point.load), kind, show(vars(point)), point.state)
        for kind, all_points in points.items()
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
    below: list[dict[str, Any]] | None = None,
    names: bool = True,
) -> dict[str, Any]:
    """One panel with its own data.

    Parameters
    ----------
    points : list of Point
    value_title, load_factor : str
    width, height : int
        Height is for values over load; rows are as high as they must be.
    below : list of dict
        Layers drawn first, where there is a load axis.
    names : bool
        Whether rows have their names; not where they stand beside the same ones.
    """
    if one_load(points) is not None:
        return _rows(points, value_title, load_factor, width, names=names)
    return {
        "width": width,
        "height": height,
        "data": {"values": _dashed(points)},
        "layer": [*(below or []), *layers(points, value_title, load_factor)],
    }


def _rows(points: list[series.Point], value_title: str, load_factor: str, width: int, *, names: bool) -> dict[str, Any]:
    """Configurations as rows, in their order."""
    place = {
        "x": value_axis(value_title),
        "y": configuration_axis(series.labels(points), names=names),
        "tooltip": tooltip(value_title, load_factor),
    }
    colour = {"color": {"value": theme.COLOURS[0]}}
    return {
        "width": width,
        "height": {"step": 24},
        "data": {"values": series.rows(points)},
        "layer": [_whiskers(place, along="x"), *_symbols(place, colour, {})],
    }


def configuration_axis(labels: list[str], *, names: bool = True) -> dict[str, Any]:
    """Vertical axis of configurations, from the top in their order."""
    return {
        "field": "configuration",
        "type": "nominal",
        "title": None,
        "scale": {"domain": labels},
        "axis": {"labels": names, "labelLimit": 240, "grid": True, "ticks": False, "domain": names},
    }

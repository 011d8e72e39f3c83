"""Builds the figure of the utilization of every resource against load: modelled with bands, and measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Column, Figure, Table
from towtank.report.figures import panel, series
from towtank.report.figures.labels import legend_columns
from towtank.report.source import Results

NAME = "utilization-by-load"
_TITLE = "utilization [%]"
_POINT = {"type": "point", "size": 65, "opacity": 1}
# Marks of measured points: filled, or open for points that depend on a suspect run.
_MARKS: tuple[dict[str, Any], ...] = (
    {
        "transform": [{"filter": "datum.kind === 'measured' && datum.state !== 'suspect'"}],
        "mark": {**_POINT, "filled": True},
    },
    {
        "transform": [{"filter": "datum.kind === 'measured' && datum.state === 'suspect'"}],
        "mark": {**_POINT, "filled": False, "fill": "white", "strokeWidth": 2},
    },
)


@dataclass(frozen=True)
class Numbers:
    """Data of the figure of utilization.

    Attributes
    ----------
    curve : list of dict
        Modelled utilization of all servers of a resource: `configuration`, `resource`, `load`, and `median`, `low` and
        `high` [ratio].
    measured : list of dict
        Measured utilization: `configuration`, `resource`, `load`, `value` [ratio], and `state` (verdict).
    """

    curve: list[dict[str, Any]]
    measured: list[dict[str, Any]]


def compute(results: Results) -> Numbers:
    """Collect the predicted and measured utilizations from the document of the capacity model."""
    curve: list[dict[str, Any]] = []
    measured: list[dict[str, Any]] = []
    states = series.states(results)
    for configuration in results.capacity.modelled:
        for name, resource in configuration.utilization.items():
            base = {"configuration": configuration.label, "resource": name}
            curve += [
                {
                    **base,
                    "load": row.load,
                    "median": row.median,
                    "low": row.band_95[0],
                    "high": row.band_95[1],
                }
                for row in resource.curve
            ]
            measured += [
                {
                    **base,
                    "load": row.load,
                    "value": row.utilization,
                    "state": states.get((base["configuration"] or "all runs", row.load), "valid"),
                }
                for row in resource.measured
            ]
    return Numbers(curve, measured)


def draw(numbers: Numbers, load_factor: str) -> dict[str, Any]:
    """Draw a panel of utilization for each configuration; all panels have the same scale."""
    labels = list(dict.fromkeys(row["configuration"] for row in numbers.measured))
    names = list(dict.fromkeys(row["resource"] for row in numbers.measured))
    rows = [{"kind": "curve", **row} for row in _percent(numbers.curve)]
    rows += [{"kind": "measured", **row} for row in _percent(numbers.measured)]
    x = {
        "field": "load",
        "type": "quantitative",
        "title": panel.load_title(load_factor),
        "axis": {"grid": False, "tickCount": 6, "format": theme.EXACT},
        "scale": {"nice": False},
    }
    y = {"type": "quantitative", "title": _TITLE, "scale": {"domain": [0, 100]}, "axis": {"tickCount": 5}}
    return theme.specification(
        description(numbers),
        data={"values": rows},
        **panel.each_configuration(labels, _layers(x, y, names)),
    )


def _percent(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = ("median", "low", "high", "value")
    return [{key: 100 * value if key in keys else value for key, value in row.items()} for row in rows]


def _layers(x: dict[str, Any], y: dict[str, Any], names: list[str]) -> list[dict[str, Any]]:
    number = len(names)
    legend = {"title": None, "columns": legend_columns(names), "symbolSize": 80, "symbolOpacity": 1}
    domain = {"field": "resource", "type": "nominal"}
    colour = {**domain, "scale": {"domain": names, "range": theme.cycle(theme.COLOURS, number)}, "legend": legend}
    shape = {**domain, "scale": {"domain": names, "range": theme.cycle(theme.SYMBOLS, number)}, "legend": legend}
    along = [{"filter": "datum.kind === 'curve'"}]
    return [
        {
            "transform": along,
            "mark": {"type": "area", "opacity": 0.2},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
        },
        {
            "transform": along,
            "mark": {"type": "line", "strokeWidth": 1.6},
            "encoding": {"x": x, "y": {**y, "field": "median"}, "color": colour},
        },
        *({**symbols, "encoding": _symbols(x, y, colour, shape)} for symbols in _MARKS),
    ]


def _symbols(x: dict[str, Any], y: dict[str, Any], colour: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    return {
        "x": x,
        "y": {**y, "field": "value"},
        "color": colour,
        "shape": shape,
        "tooltip": [
            {"field": "resource", "type": "nominal"},
            {"field": "load", "type": "quantitative", "format": theme.EXACT},
            {"field": "value", "type": "quantitative", "title": _TITLE, "format": ".3~r"},
        ],
    }


def description(numbers: Numbers) -> str:
    """Return a description of the figure of utilization in words, for readers who cannot see the figure."""
    top = max((float(row["load"]) for row in numbers.measured), default=0.0)
    parts = [
        f"{row['configuration']}, {row['resource']}: {people.share(row['value'])}"
        for row in numbers.measured
        if row["load"] == top
    ]
    return f"Lines of utilization against load. Measured at {people.plain(top)}: {'; '.join(parts)}."


def figure(results: Results) -> Figure | None:
    """Return the figure of utilization; None if no model has measured resources."""
    numbers = compute(results)
    if not numbers.measured:
        return None
    return Figure(
        name=NAME,
        title=f"Utilization of every resource against {panel.load_title(results.load_factor)}",
        description=description(numbers),
        note=_note(results) + (f" {series.OPEN_SYMBOLS}" if _has_suspects(numbers) else ""),
        spec=draw(numbers, results.load_factor),
        table=_table(numbers, results.load_factor),
    )


def _has_suspects(numbers: Numbers) -> bool:
    return any(row["state"] == "suspect" for row in numbers.measured)


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
    curve = {(row["configuration"], row["resource"], row["load"]): row for row in numbers.curve}
    columns = (
        Column("Configuration"),
        Column("Resource"),
        Column(panel.load_title(load_factor).capitalize(), numeric=True),
        Column("Measured", numeric=True),
        Column("Along the line, 95 % band", numeric=True),
    )
    rows = []
    for row in numbers.measured:
        on_line = curve.get((row["configuration"], row["resource"], row["load"]))
        estimate = on_line and {
            "value": 100 * on_line["median"],
            "low": 100 * on_line["low"],
            "high": 100 * on_line["high"],
        }
        rows.append(
            (
                row["configuration"],
                row["resource"],
                people.plain(row["load"]),
                people.share(row["value"]),
                people.plain_estimate(estimate, "%"),
            )
        )
    return Table("Utilization by load", columns, tuple(rows))

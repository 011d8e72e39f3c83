"""Builds the figure of the capacity curve: modelled throughput and response time with bands, and measured points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from towtank.model import HeldOutLevel, PointOfFit, PredictedPoint
from towtank.report import format as people
from towtank.report import theme
from towtank.report.document import Column, Figure, Table
from towtank.report.figures import panel, series
from towtank.report.source import Results

NAME = "capacity-curve"
_QUANTITIES = {"throughput": "throughput [1/s]", "response_s": "mean response time [ms], logarithmic"}
_SCALED = ("value", "fitted", "low", "high", "low_80", "high_80", "low_95", "high_95")
_SHOWN_KNEES = {"model": "(D + Z) / D_max", "peak": "peak", "objective": "objective"}


@dataclass(frozen=True)
class Numbers:
    """Data of the figure of the capacity curve.

    Attributes
    ----------
    curve : list of dict
        Points of the curves: `configuration`, `quantity`, `load`, `fitted`, and the ends of the 80 % and 95 % bands.
    measured : list of dict
        Measured points: `configuration`, `quantity`, `load`, `value`, `low`, `high` (None if unknown), `held_out`, and
        `state` (verdict).
    predicted : list of dict
        Predictions for the levels that a second fit left out, with the 95 % prediction band.
    knees : list of dict
        Knees: `configuration`, `kind`, `load`, `low`, `high`.
    """

    curve: list[dict[str, Any]] = field(default_factory=list)
    measured: list[dict[str, Any]] = field(default_factory=list)
    predicted: list[dict[str, Any]] = field(default_factory=list)
    knees: list[dict[str, Any]] = field(default_factory=list)


def compute(results: Results) -> Numbers:
    """Collect curves, measured points and knees from the document of the capacity model."""
    numbers = Numbers()
    states = series.states(results)
    rates = {
        (point.configuration, point.load): point for point in series.throughput_of(results) if point.state != "invalid"
    }
    for configuration in results.capacity.modelled:
        label = configuration.label
        held = () if configuration.held_out is None else configuration.held_out.points
        for row in configuration.grid:
            numbers.curve.extend(_curve(label, row))
        for point in configuration.points:
            state = states.get((label or "all runs", point.load), "valid")
            rate = rates.get((label or "all runs", point.load))
            is_held = any(level.load == point.load for level in held)
            numbers.measured.extend(_measured(label, point, rate, state, held=is_held))
        for level in held:
            numbers.predicted.extend(_predicted(label, level))
        numbers.knees.extend(
            {"configuration": label, "kind": knee.kind, "load": knee.load, "low": knee.low, "high": knee.high}
            for knee in configuration.knees
            if knee.load is not None and knee.kind in _SHOWN_KNEES
        )
    return numbers


def _curve(label: str, row: PredictedPoint) -> list[dict[str, Any]]:
    found = []
    for quantity, bands in (("throughput", row.throughput), ("response_s", row.response_s)):
        # A band without an upper bound cannot be drawn, so the curve of response times ends before this load.
        if bands is None or None in (*bands.band_80, *bands.band_95) or not (bands.band_95[0] or 0.0) > 0:
            continue
        (low_80, high_80), (low_95, high_95) = bands.band_80, bands.band_95
        ends = {"low_80": low_80, "high_80": high_80, "low_95": low_95, "high_95": high_95}
        found.append({"configuration": label, "quantity": quantity, "load": row.load, "fitted": bands.curve, **ends})
    return found


def _measured(
    label: str, point: PointOfFit, estimate: series.Point | None, state: str, *, held: bool
) -> list[dict[str, Any]]:
    """Return a measured point with the interval in the study summary, as in all other figures and tables.

    The model document has standard errors too, but these are pooled over all levels.
    """
    low, high = (None, None) if estimate is None else (estimate.low, estimate.high)
    base = {"configuration": label, "load": point.load, "held_out": held, "state": state}
    found = [{**base, "quantity": "throughput", "value": point.throughput, "low": low, "high": high}]
    if point.response_s is not None:
        found.append({**base, "quantity": "response_s", "value": point.response_s, "low": None, "high": None})
    return found


def _predicted(label: str, row: HeldOutLevel) -> list[dict[str, Any]]:
    found = []
    for quantity, value, band in (
        ("throughput", row.predicted_throughput, row.throughput_band_95),
        ("response_s", row.predicted_response_s, row.response_band_95),
    ):
        if value is None or value <= 0:
            continue
        # A logarithmic axis has no zero, so a band down to zero is only in the table.
        low, high = (None, None) if quantity == "response_s" and not band[0] else band
        found.append(
            {"configuration": label, "load": row.load, "quantity": quantity, "value": value, "low": low, "high": high}
        )
    return found


def draw(numbers: Numbers, load_factor: str) -> dict[str, Any]:
    """Draw a panel of throughput above a panel of response time, which has a logarithmic axis."""
    panels = [_panel(numbers, quantity, load_factor) for quantity in _QUANTITIES if _has(numbers, quantity)]
    return theme.specification(description(numbers), vconcat=panels, spacing=18)


def _has(numbers: Numbers, quantity: str) -> bool:
    return any(row["quantity"] == quantity for row in numbers.measured)


def _panel(numbers: Numbers, quantity: str, load_factor: str) -> dict[str, Any]:
    labels = list(dict.fromkeys(row["configuration"] for row in numbers.measured))
    loads = [row["load"] for row in (*numbers.measured, *numbers.curve)]
    x = {
        "field": "load",
        "type": "quantitative",
        "title": panel.load_title(load_factor),
        "scale": {"domain": [0, 1.02 * max(loads, default=1.0)], "nice": False},
        "axis": {"grid": False, "tickCount": 8, "format": theme.EXACT},
    }
    scale: dict[str, Any] = {"zero": True} if quantity == "throughput" else {"type": "log"}
    y = {
        "field": "value",
        "type": "quantitative",
        "title": _QUANTITIES[quantity],
        "scale": scale,
        "axis": {"tickCount": 6} if quantity == "throughput" else {"tickCount": 5, "format": theme.MEASURED},
    }
    colour = panel.by_configuration(labels)["color"]
    if colour["legend"]:
        # Otherwise the legend would show the pale colours of the bands.
        colour = {**colour, "legend": {**colour["legend"], "symbolOpacity": 1}}
    here = {"x": x, "y": y, "colour": colour, "legend": quantity == "throughput"}
    layers = [
        _band(numbers, quantity, here, "95", 0.16),
        _band(numbers, quantity, here, "80", 0.22),
        _line(numbers, quantity, here),
        *_points(numbers, quantity, here, labels),
    ]
    if quantity == "throughput":
        layers += _knees(numbers, here)
    return {"width": 620, "height": 300 if quantity == "throughput" else 190, "layer": layers}


def _colour(here: dict[str, Any]) -> dict[str, Any]:
    # The layers of a panel share a legend, which any layer without a legend would remove.
    return here["colour"] if here["legend"] else {**here["colour"], "legend": None}


def _of(rows: list[dict[str, Any]], quantity: str) -> dict[str, Any]:
    """Return the rows of a quantity as chart data, with times in milliseconds."""
    factor = 1e3 if quantity == "response_s" else 1.0
    return {
        "values": [
            {key: value * factor if key in _SCALED and value is not None else value for key, value in row.items()}
            for row in rows
            if row["quantity"] == quantity
        ]
    }


def _band(numbers: Numbers, quantity: str, here: dict[str, Any], share: str, opacity: float) -> dict[str, Any]:
    return {
        "data": _of(numbers.curve, quantity),
        "mark": {"type": "area", "opacity": opacity, "line": False},
        "encoding": {
            "x": here["x"],
            "y": {**here["y"], "field": f"low_{share}"},
            "y2": {"field": f"high_{share}"},
            "color": _colour(here),
        },
    }


def _line(numbers: Numbers, quantity: str, here: dict[str, Any]) -> dict[str, Any]:
    return {
        "data": _of(numbers.curve, quantity),
        "mark": {"type": "line", "strokeWidth": 1.6},
        "encoding": {"x": here["x"], "y": {**here["y"], "field": "fitted"}, "color": _colour(here)},
    }


def _points(numbers: Numbers, quantity: str, here: dict[str, Any], labels: list[str]) -> list[dict[str, Any]]:
    """Return layers of measured points, of rings around held-out points, and of predictions with bands."""
    place = {"x": here["x"], "y": here["y"]}
    whiskers = {
        "mark": {"type": "errorbar", "ticks": {"width": 8}, "rule": {}},
        "transform": [{"filter": "datum.low !== null && datum.high !== null"}],
    }

    def barred(rows: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "data": _of(rows, quantity),
            **whiskers,
            "encoding": {
                "x": here["x"],
                "y": {**here["y"], "field": "low"},
                "y2": {"field": "high"},
                "color": _colour(here),
            },
        }

    shape = {**panel.by_configuration(labels)["shape"], "legend": here["colour"]["legend"] if here["legend"] else None}
    tooltip = [
        {"field": "configuration", "type": "nominal"},
        {"field": "load", "type": "quantitative", "title": "load", "format": theme.EXACT},
        {"field": "value", "type": "quantitative", "title": _QUANTITIES[quantity], "format": theme.MEASURED},
    ]
    return [
        barred(numbers.measured),
        {
            "data": _of(numbers.measured, quantity),
            "transform": [{"filter": "datum.state !== 'suspect'"}],
            "mark": {"type": "point", "filled": True, "size": 75, "opacity": 1},
            "encoding": {**place, "color": _colour(here), "shape": shape, "tooltip": tooltip},
        },
        {
            "data": _of(numbers.measured, quantity),
            "transform": [{"filter": "datum.state === 'suspect'"}],
            "mark": {"type": "point", "filled": False, "fill": "white", "size": 75, "strokeWidth": 2, "opacity": 1},
            "encoding": {**place, "color": _colour(here), "shape": shape, "tooltip": tooltip},
        },
        {
            "data": _of(numbers.measured, quantity),
            "transform": [{"filter": "datum.held_out"}],
            "mark": {"type": "point", "shape": "circle", "size": 260, "strokeWidth": 1.4, "color": theme.INK},
            "encoding": place,
        },
        barred(numbers.predicted),
        {
            "data": _of(numbers.predicted, quantity),
            "mark": {"type": "point", "shape": "diamond", "size": 110, "fill": "white", "strokeWidth": 2, "opacity": 1},
            "encoding": {**place, "color": _colour(here), "tooltip": tooltip},
        },
    ]


def _knees(numbers: Numbers, here: dict[str, Any]) -> list[dict[str, Any]]:
    """Return layers that show knees on the load axis, each with its interval."""
    data = {"values": [{**row, "value": 0.0, "name": _SHOWN_KNEES[row["kind"]]} for row in numbers.knees]}
    # The load of a knee is an estimate, so it is rounded.
    x = {**here["x"], "axis": {**here["x"]["axis"], "format": theme.MEASURED}}
    place: dict[str, Any] = {"x": x, "y": here["y"], "color": _colour(here)}
    return [
        {
            "data": data,
            "transform": [{"filter": "datum.low !== null && datum.high !== null"}],
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.45},
            "encoding": {**place, "x": {**x, "field": "low"}, "x2": {"field": "high"}},
        },
        {
            "data": data,
            "mark": {"type": "point", "shape": "triangle-up", "filled": True, "size": 90, "opacity": 1},
            "encoding": {
                **place,
                "tooltip": [{"field": "kind", "type": "nominal"}, {"field": "load", "type": "quantitative"}],
            },
        },
        *_names_of_knees(data, place),
    ]


def _names_of_knees(data: dict[str, Any], place: dict[str, Any]) -> list[dict[str, Any]]:
    """Return layers with the names of knees; those from an objective are higher, so that names do not overlap."""
    return [
        {
            "data": data,
            "transform": [{"filter": f"(datum.kind === 'objective') === {is_above}"}],
            "mark": {"type": "text", "baseline": "bottom", "dy": dy, "fontSize": 10},
            "encoding": {**place, "text": {"field": "name", "type": "nominal"}},
        }
        for is_above, dy in (("false", -8), ("true", -20))
    ]


def description(numbers: Numbers) -> str:
    """Return a description of the capacity curve in words, for readers who cannot see the figure."""
    parts = []
    for label in dict.fromkeys(row["configuration"] for row in numbers.curve):
        rows = [row for row in numbers.curve if row["configuration"] == label and row["quantity"] == "throughput"]
        last = max(rows, key=lambda row: float(row["load"]))
        parts.append(f"{label}: {people.rate_estimate(_estimate(last))} at {people.plain(last['load'])}")
    return "Line chart of modelled throughput and response time against load with bands. " + "; ".join(parts) + "."


def figure(results: Results) -> Figure | None:
    """Return the figure of the capacity curve; None without a model, or with too many configurations."""
    numbers = compute(results)
    if not numbers.curve or len({row["configuration"] for row in numbers.curve}) > panel.CROWDED:
        return None
    knees = " Triangles on the axis are knees with 95 % intervals." if numbers.knees else ""
    is_suspect = any(row["state"] == "suspect" for row in numbers.measured)
    suspects = f" {series.OPEN_SYMBOLS}" if is_suspect else ""
    held = (
        " Points with a ring were left out of a second fit. Diamonds are the predictions of this fit, with the 95 % "
        "prediction band for one further measurement."
        if numbers.predicted
        else ""
    )
    return Figure(
        name=NAME,
        title=f"Capacity curve: the fitted model against {panel.load_title(results.load_factor)}",
        description=description(numbers),
        note="Lines are the fitted curves; bands contain 80 and 95 % of 1,000 replicates of the fit."
        f"{held}{knees}{suspects}",
        spec=draw(numbers, results.load_factor),
        table=_table(numbers, results.load_factor),
    )


def _table(numbers: Numbers, load_factor: str) -> Table:
    columns = (
        Column("Configuration"),
        Column(panel.load_title(load_factor).capitalize(), numeric=True),
        Column("Throughput, 95 % band", numeric=True),
        Column("Response time, 95 % band", numeric=True),
    )
    times = {(row["configuration"], row["load"]): row for row in numbers.curve if row["quantity"] == "response_s"}
    rows = tuple(
        (
            row["configuration"],
            people.plain(row["load"]),
            people.rate_estimate(_estimate(row)),
            people.seconds_estimate(_estimate(times.get((row["configuration"], row["load"])))),
        )
        for row in numbers.curve
        if row["quantity"] == "throughput"
    )
    return Table("The fitted model by load", columns, rows)


def _estimate(row: dict[str, Any] | None) -> dict[str, Any] | None:
    return row and {"value": row["fitted"], "low": row["low_95"], "high": row["high_95"]}

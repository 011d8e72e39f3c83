"""Builds the figure of the capacity curve: modelled throughput and response time with bands, and measured points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from towtank.model import HeldOutLevel, PointOfFit, PredictedPoint
from towtank.report import format as people
from towtank.report import theme, vega
from towtank.report.document import Figure, Table, headings
from towtank.report.figures import panel, series
from towtank.report.source import Results
from towtank.report.vega import Channel, Encoding, Layer, Legend, Mark, Row, Specification, View, nominal, quantitative

NAME = "capacity-curve"
_QUANTITIES = {"throughput": "throughput [1/s]", "response_s": "mean response time [ms], logarithmic"}
_SCALED = ("value", "fitted", "low", "high", "low_80", "high_80", "low_95", "high_95")
_HAS_INTERVAL, _OF_OBJECTIVE = "datum.low !== null && datum.high !== null", "datum.kind === 'objective'"
_SHOWN_KNEES = {"model": "(D + Z) / D_max", "peak": "peak", "objective": "objective"}


@dataclass(frozen=True)
class CurvePoint:
    """Fitted throughput [1/s] or response time [s] at one load, with the ends of its 80 % and 95 % bands."""

    configuration: str
    quantity: str
    load: float
    fitted: float
    low_80: float
    high_80: float
    low_95: float
    high_95: float

    @property
    def estimate(self) -> people.Ends:
        """Fitted value with its 95 % band."""
        return people.Ends(self.fitted, self.low_95, self.high_95)


@dataclass(frozen=True)
class MeasuredPoint:
    """Measured throughput [1/s] or response time [s] at one load, with the verdict, and its interval if known."""

    configuration: str
    load: float
    held_out: bool
    state: str
    quantity: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class LeftOutPoint:
    """Prediction for a load that a second fit left out, with the 95 % prediction band if it can be drawn."""

    configuration: str
    load: float
    quantity: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Knee:
    """Knee on the load axis with its interval; the ends are None if unknown."""

    configuration: str
    kind: str
    load: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Numbers:
    """Data of the figure: curves, measured points, predictions for the levels that a second fit left out, and knees."""

    curve: list[CurvePoint] = field(default_factory=list)
    measured: list[MeasuredPoint] = field(default_factory=list)
    predicted: list[LeftOutPoint] = field(default_factory=list)
    knees: list[Knee] = field(default_factory=list)


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
            Knee(label, knee.kind, knee.load, knee.low, knee.high)
            for knee in configuration.knees
            if knee.load is not None and knee.kind in _SHOWN_KNEES
        )
    return numbers


def _curve(label: str, row: PredictedPoint) -> Iterator[CurvePoint]:
    for quantity, bands in (("throughput", row.throughput), ("response_s", row.response_s)):
        # A band without an upper bound cannot be drawn, so the curve of response times ends before this load.
        if bands is None:
            continue
        (low_80, high_80), (low_95, high_95) = bands.band_80, bands.band_95
        if low_80 is None or high_80 is None or low_95 is None or high_95 is None or low_95 <= 0:
            continue
        yield CurvePoint(label, quantity, row.load, bands.curve, low_80, high_80, low_95, high_95)


def _measured(
    label: str, point: PointOfFit, estimate: series.Point | None, state: str, *, held: bool
) -> Iterator[MeasuredPoint]:
    """Yield a measured point with the interval in the study summary, as in all other figures and tables.

    The model document has standard errors too, but these are pooled over all levels.
    """
    low, high = (None, None) if estimate is None else (estimate.low, estimate.high)
    yield MeasuredPoint(label, point.load, held, state, "throughput", point.throughput, low, high)
    if point.response_s is not None:
        yield MeasuredPoint(label, point.load, held, state, "response_s", point.response_s)


def _predicted(label: str, row: HeldOutLevel) -> Iterator[LeftOutPoint]:
    for quantity, value, band in (
        ("throughput", row.predicted_throughput, row.throughput_band_95),
        ("response_s", row.predicted_response_s, row.response_band_95),
    ):
        if value is None or value <= 0:
            continue
        # A logarithmic axis has no zero, so a band down to zero is only in the table.
        low, high = (None, None) if quantity == "response_s" and not band[0] else band
        yield LeftOutPoint(label, row.load, quantity, value, low, high)


def draw(numbers: Numbers, load_factor: str) -> Specification:
    """Draw a panel of throughput above a panel of response time, which has a logarithmic axis."""
    shown = {point.quantity for point in numbers.measured}
    panels = [_panel(numbers, quantity, load_factor) for quantity in _QUANTITIES if quantity in shown]
    return vega.specification(description(numbers), vconcat=panels, spacing=18)


def _panel(numbers: Numbers, quantity: str, load_factor: str) -> View:
    labels = list(dict.fromkeys(point.configuration for point in numbers.measured))
    loads = [*(point.load for point in numbers.measured), *(point.load for point in numbers.curve)]
    is_upper = quantity == "throughput"
    x = quantitative(
        "load",
        title=panel.load_title(load_factor),
        scale={"domain": [0, 1.02 * max(loads, default=1.0)], "nice": False},
        axis={"grid": False, "tickCount": 8, "format": theme.EXACT},
    )
    y = quantitative(
        "value",
        title=_QUANTITIES[quantity],
        scale={"zero": True} if is_upper else {"type": "log"},
        axis={"tickCount": 6} if is_upper else {"tickCount": 5, "format": theme.MEASURED},
    )
    styles = panel.by_configuration(labels)
    legend = styles["color"]["legend"]
    # The layers of a panel share a legend, which any layer without a legend would remove. Without an opacity, the
    # legend would show the pale colours of the bands.
    shown: Legend | None = {**legend, "symbolOpacity": 1} if legend and is_upper else None
    place = Encoding(x=x, y=y, color={**styles["color"], "legend": shown})
    curve = _of(numbers.curve, quantity)
    layers = [
        vega.layer("area", _interval(place, "low_95", "high_95"), rows=curve, opacity=0.16, line=False),
        vega.layer("area", _interval(place, "low_80", "high_80"), rows=curve, opacity=0.22, line=False),
        vega.layer("line", {**place, "y": {**y, "field": "fitted"}}, rows=curve, strokeWidth=1.6),
        *_points(numbers, quantity, place, {**styles["shape"], "legend": shown}),
    ]
    if is_upper:
        layers += _knees(numbers.knees, place)
    return {"width": 620, "height": 300 if is_upper else 190, "layer": layers}


def _interval(place: Encoding, low: str = "low", high: str = "high") -> Encoding:
    return {**vega.between(Encoding(x=place["x"], y=place["y"]), "y", low, high), "color": place["color"]}


def _of(points: Sequence[CurvePoint | MeasuredPoint | LeftOutPoint], quantity: str) -> list[Row]:
    """Return the points of a quantity as chart data, with times in milliseconds."""
    factor = 1e3 if quantity == "response_s" else 1.0
    return [
        {key: value * factor if key in _SCALED and value is not None else value for key, value in vars(point).items()}
        for point in points
        if point.quantity == quantity
    ]


def _points(numbers: Numbers, quantity: str, place: Encoding, shape: Channel) -> list[Layer]:
    """Return layers of measured points, of rings around held-out points, and of predictions with bands."""
    measured, predicted = _of(numbers.measured, quantity), _of(numbers.predicted, quantity)
    whiskers, interval = Mark(type="errorbar", ticks={"width": 8}, rule={}), _interval(place)
    tooltip = [
        nominal("configuration"),
        quantitative("load", title="load", format=theme.EXACT),
        quantitative("value", title=_QUANTITIES[quantity], format=theme.MEASURED),
    ]
    marked: Encoding = {**place, "shape": shape, "tooltip": tooltip}
    hollow: Mark = {"type": "point", "filled": False, "fill": "white", "size": 75, "strokeWidth": 2, "opacity": 1}
    diamond: Mark = {"type": "point", "shape": "diamond", "size": 110, "fill": "white", "strokeWidth": 2, "opacity": 1}
    ring: Mark = {"type": "point", "shape": "circle", "size": 260, "strokeWidth": 1.4, "color": theme.INK}
    full = Mark(type="point", filled=True, size=75, opacity=1)
    return [
        vega.layer(whiskers, interval, rows=measured, where=_HAS_INTERVAL),
        vega.layer(full, marked, rows=measured, where="datum.state !== 'suspect'"),
        vega.layer(hollow, marked, rows=measured, where="datum.state === 'suspect'"),
        vega.layer(ring, Encoding(x=place["x"], y=place["y"]), rows=measured, where="datum.held_out"),
        vega.layer(whiskers, interval, rows=predicted, where=_HAS_INTERVAL),
        vega.layer(diamond, {**place, "tooltip": tooltip}, rows=predicted),
    ]


def _knees(knees: list[Knee], place: Encoding) -> list[Layer]:
    """Return layers that show knees on the load axis, each with its interval and its name.

    The names of knees from an objective are higher, so that names do not overlap.
    """
    rows = [{**vars(knee), "value": 0.0, "name": _SHOWN_KNEES[knee.kind]} for knee in knees]
    # The load of a knee is an estimate, so it is rounded.
    place = {**place, "x": {**place["x"], "axis": {**place["x"]["axis"], "format": theme.MEASURED}}}
    pointed: Encoding = {**place, "tooltip": [nominal("kind"), quantitative("load")]}
    named: Encoding = {**place, "text": nominal("name")}
    return [
        vega.layer("rule", vega.between(place, "x"), rows=rows, where=_HAS_INTERVAL, strokeWidth=5, opacity=0.45),
        vega.layer("point", pointed, rows=rows, shape="triangle-up", filled=True, size=90, opacity=1),
        *(
            vega.layer("text", named, rows=rows, where=where, baseline="bottom", dy=dy, fontSize=10)
            for where, dy in ((f"({_OF_OBJECTIVE}) === false", -8), (f"({_OF_OBJECTIVE}) === true", -20))
        ),
    ]


def description(numbers: Numbers) -> str:
    """Return a description of the capacity curve in words, for readers who cannot see the figure."""
    parts = []
    for label in dict.fromkeys(point.configuration for point in numbers.curve):
        own = [each for each in numbers.curve if each.configuration == label and each.quantity == "throughput"]
        last = max(own, key=lambda point: point.load)
        parts.append(f"{label}: {people.rate_estimate(last.estimate)} at {people.plain(last.load)}")
    return "Line chart of modelled throughput and response time against load with bands. " + "; ".join(parts) + "."


def figure(results: Results) -> Figure | None:
    """Return the figure of the capacity curve; None without a model, or with too many configurations."""
    numbers = compute(results)
    if not numbers.curve or len({point.configuration for point in numbers.curve}) > panel.CROWDED:
        return None
    knees = " Triangles on the axis are knees with 95 % intervals." if numbers.knees else ""
    is_suspect = any(point.state == "suspect" for point in numbers.measured)
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
    columns = headings(
        "Configuration",
        f"#{panel.load_title(load_factor).capitalize()}",
        "#Throughput, 95 % band",
        "#Response time, 95 % band",
    )
    times = {
        (point.configuration, point.load): point.estimate for point in numbers.curve if point.quantity == "response_s"
    }
    rows = tuple(
        (
            point.configuration,
            people.plain(point.load),
            people.rate_estimate(point.estimate),
            people.seconds_estimate(times.get((point.configuration, point.load))),
        )
        for point in numbers.curve
        if point.quantity == "throughput"
    )
    return Table("The fitted model by load", columns, rows)

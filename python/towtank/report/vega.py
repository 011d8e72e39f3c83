"""Defines the parts of Vega-Lite specifications as types, and builds the parts that most figures have.

The names of types and keys are those of Vega-Lite (A. Satyanarayan et al., 2017, doi:10.1109/TVCG.2016.2599030); the
types contain only the keys that figures use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict, Unpack

from towtank.report import theme

Row = Mapping[str, object]
"""Row of chart data: values by the names of their fields."""
Along = Literal["x", "y"]
"""Axis along which intervals extend."""


class Data(TypedDict):
    values: Sequence[Row]


class Scale(TypedDict, total=False):
    type: Literal["linear", "log"]
    domain: Sequence[float] | Sequence[str]
    domainMax: float
    range: Sequence[str] | Sequence[list[int]]
    interpolate: str
    nice: bool
    clamp: bool
    zero: bool
    paddingInner: float
    paddingOuter: float


class Axis(TypedDict, total=False):
    values: Sequence[float]
    format: str
    tickCount: int
    grid: bool
    ticks: bool
    domain: bool
    labels: bool
    labelAngle: int
    labelLimit: int
    labelOverlap: bool
    maxExtent: int


class Legend(TypedDict, total=False):
    title: str | None
    orient: str
    format: str
    columns: int
    offset: int
    tickCount: int
    gradientLength: int
    symbolType: str
    symbolSize: int
    symbolStrokeWidth: int
    symbolOpacity: float


class Condition(TypedDict):
    test: str
    value: str | float


class Header(TypedDict):
    labels: bool


class Channel(TypedDict, total=False):
    field: str
    type: Literal["quantitative", "nominal", "ordinal"]
    title: str | list[str] | None
    scale: Scale | None
    axis: Axis
    legend: Legend | None
    header: Header
    sort: Sequence[str] | Sequence[float]
    stack: str
    aggregate: str
    format: str
    condition: Condition
    value: str | float
    datum: float


class Encoding(TypedDict, total=False):
    x: Channel
    x2: Channel
    y: Channel
    y2: Channel
    yOffset: Channel
    color: Channel
    fill: Channel
    fillOpacity: Channel
    stroke: Channel
    strokeDash: Channel
    shape: Channel
    text: Channel
    order: Channel
    detail: Channel
    tooltip: list[Channel]


class Mark(TypedDict, total=False):
    type: str
    color: str
    fill: str
    filled: bool
    stroke: str
    strokeDash: list[int]
    strokeWidth: float
    opacity: float
    shape: str
    size: float
    width: float
    maxBandSize: int
    text: str
    description: str
    align: str
    baseline: str
    dx: float
    dy: float
    fontSize: float
    fontWeight: str
    aria: bool
    clip: bool
    line: bool
    point: bool
    ticks: Mark
    rule: Mark


Transform = TypedDict("Transform", {"filter": str, "calculate": str, "as": str}, total=False)


class Layer(TypedDict, total=False):
    data: Data
    transform: list[Transform]
    mark: Mark
    encoding: Encoding


class Step(TypedDict):
    step: int


class View(Layer, total=False):
    title: str
    width: int
    height: int | Step
    layer: list[Layer]
    facet: Channel
    columns: int
    spacing: int
    spec: View
    vconcat: list[View]
    hconcat: list[View]
    bounds: str
    resolve: Mapping[str, Mapping[str, str]]


Head = TypedDict("Head", {"$schema": str, "description": str, "config": Mapping[str, object]})


class Specification(Head, View):
    """Complete Vega-Lite specification of a figure."""


def specification(description: str, /, **view: Unpack[View]) -> Specification:
    """Return a complete specification, with schema, description and shared configuration."""
    return {"$schema": theme.SCHEMA, "description": theme.short(description), "config": theme.config(), **view}


def quantitative(field: str, /, **more: Unpack[Channel]) -> Channel:
    """Return a channel of numbers."""
    return {"field": field, "type": "quantitative", **more}


def nominal(field: str, /, **more: Unpack[Channel]) -> Channel:
    """Return a channel of names."""
    return {"field": field, "type": "nominal", **more}


def layer(
    mark: str | Mark,
    encoding: Encoding,
    /,
    *,
    rows: Sequence[Row] | None = None,
    where: str | None = None,
    derived: tuple[str, str] | None = None,
    **style: Unpack[Mark],
) -> Layer:
    """Return a layer of marks, with the given rows, or the data of the view.

    `where` is a Vega expression that selects the rows to draw; `derived` is the name of a further field of each row,
    and the Vega expression of its value.
    """
    made: Layer = {} if rows is None else {"data": {"values": rows}}
    steps: list[Transform] = [] if where is None else [{"filter": where}]
    if derived is not None:
        steps.append({"calculate": derived[1], "as": derived[0]})
    if steps:
        made["transform"] = steps
    made["mark"] = {**(Mark(type=mark) if isinstance(mark, str) else mark), **style}
    made["encoding"] = encoding
    return made


def between(place: Encoding, along: Along, low: str = "low", high: str = "high") -> Encoding:
    """Return a place with an interval along one axis, from the field `low` to the field `high`."""
    if along == "x":
        return {**place, "x": {**place["x"], "field": low}, "x2": {"field": high}}
    return {**place, "y": {**place["y"], "field": low}, "y2": {"field": high}}

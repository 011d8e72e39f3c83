"""Draws a matrix whose cells show values as text and colour."""

from __future__ import annotations

import math
from dataclasses import dataclass

from towtank.report import theme, vega
from towtank.report.vega import Channel, Encoding, Row, Scale, View, nominal, quantitative


@dataclass(frozen=True)
class Cell:
    """Cell of a matrix: value (None for a cell without colour), text, and the fields of its row and column."""

    value: float | None
    label: str
    fields: Row


def picture(
    cells: list[Cell],
    place: Encoding,
    *,
    title: str,
    width: int,
    font_size: int,
    logarithmic: bool,
    tooltip: list[Channel] | None = None,
) -> View:
    """Return a matrix as a panel of a figure.

    The cells have the fields of the channels `x` and `y` in `place`. The title is the quantity with its unit; sizes are
    in pixels, `width` is that of all columns together. `tooltip` are the fields of a cell that the interactive figure
    shows under the pointer. The colour scale may be logarithmic.
    """
    middle = _middle([cell.value for cell in cells if cell.value], logarithmic=logarithmic)
    rows = [
        {**cell.fields, "value": cell.value, "label": cell.label, "is_dark": (cell.value or 0.0) > middle}
        for cell in cells
    ]
    scale: Scale = {"type": "log" if logarithmic else "linear", "range": list(theme.HEAT), "interpolate": "lab"}
    coloured: Encoding = {**place, "color": quantitative("value", scale=scale, legend=None)}
    if tooltip:
        coloured["tooltip"] = tooltip
    ink: Channel = {"condition": {"test": "datum.is_dark", "value": "white"}, "value": theme.INK}
    named: Encoding = {**place, "text": nominal("label"), "color": ink}
    return {
        "title": title,
        "width": width,
        "height": {"step": font_size + 9},
        "data": {"values": rows},
        "layer": [
            vega.layer("rect", coloured, where="datum.value > 0", aria=False),
            vega.layer("text", named, fontSize=font_size, aria=False),
        ],
    }


def _middle(values: list[float], *, logarithmic: bool) -> float:
    """Return the middle of the colour scale; cells with larger values are dark and get white labels."""
    if not values:
        return 0.0
    return math.sqrt(min(values) * max(values)) if logarithmic else (min(values) + max(values)) / 2

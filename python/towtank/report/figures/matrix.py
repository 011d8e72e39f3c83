"""Draws a matrix whose cells show values as text and colour."""

from __future__ import annotations

import math
from typing import Any

from towtank.report import theme


def picture(
    cells: list[dict[str, Any]],
    place: dict[str, Any],
    *,
    title: str,
    width: int,
    font_size: int,
    logarithmic: bool,
    tooltip: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return a matrix as a panel of a figure.

    Parameters
    ----------
    cells : list of dict
        Data of the cells: `value` (None for a cell without colour), `label`, and the fields of `place`.
    place : dict
        Encodings `x` and `y`.
    title : str
        Quantity with its unit.
    width : int
        Width of all columns together. [px]
    font_size : int
        Font size of the labels. [px]
    logarithmic : bool
        True for a logarithmic colour scale.
    tooltip : list of dict, optional
        Fields of a cell that the interactive figure shows under the pointer.
    """
    values = [cell["value"] for cell in cells if cell["value"]]
    middle = _middle(values, logarithmic=logarithmic)
    rows = [{**cell, "is_dark": (cell["value"] or 0.0) > middle} for cell in cells]
    scale = {"type": "log" if logarithmic else "linear", "range": list(theme.HEAT), "interpolate": "lab"}
    colour = {"field": "value", "type": "quantitative", "scale": scale, "legend": None}
    ink = {"condition": {"test": "datum.is_dark", "value": "white"}, "value": theme.INK}
    return {
        "title": title,
        "width": width,
        "height": {"step": font_size + 9},
        "data": {"values": rows},
        "layer": [
            {
                "transform": [{"filter": "datum.value > 0"}],
                "mark": {"type": "rect", "aria": False},
                "encoding": {**place, "color": colour, **({"tooltip": tooltip} if tooltip else {})},
            },
            {
                "mark": {"type": "text", "fontSize": font_size, "aria": False},
                "encoding": {**place, "text": {"field": "label", "type": "nominal"}, "color": ink},
            },
        ],
    }


def _middle(values: list[float], *, logarithmic: bool) -> float:
    """Return the middle of the colour scale; cells with larger values are dark and get white labels."""
    if not values:
        return 0.0
    return math.sqrt(min(values) * max(values)) if logarithmic else (min(values) + max(values)) / 2

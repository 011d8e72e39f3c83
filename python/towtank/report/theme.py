"""Defines the appearance of all figures: colours, symbols, line styles, fonts and the Vega configuration.

People with common forms of colour blindness can distinguish the colours (Okabe and Ito, "Color Universal Design",
2008). Each colour is combined with a symbol and a line style, so that no information depends on colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from towtank.estimates import FEW_DIGITS

_Value = TypeVar("_Value")

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VEGA_LITE_VERSION = "6.4"

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "triangle-right", "triangle-left", "cross")
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 2), (1, 3), (10, 4))

EXACT = ",.12~r"
"""Number format for exact values, such as load levels and times since the start of a run."""
MEASURED = f",.{FEW_DIGITS}~r"
"""Number format for measured values in figures; the tables below the figures contain their intervals."""

# Largest length of a figure's description for screen readers. [letters]
_DESCRIPTION_LETTERS = 300

INK = "#222222"
EVENT = "#D55E00"
MUTED = "#6b6b6b"
GRID = "#e4e4e4"
# Fonts with the letter widths of Arial, which the layout of figures assumes. The style sheet of the page defines
# "Report Sans" with these widths.
FONT = "Arial, Helvetica, Liberation Sans, Arimo, Nimbus Sans, TeX Gyre Heros, FreeSans, Report Sans, sans-serif"

# Colours of a heat map, from low to high values: from light to dark in equal intervals of lightness, so that the order
# is visible in greyscale and with colour blindness.
HEAT = ("#d6e4f2", "#8fb8de", "#4a86c0", "#1f4f8f", "#0b1f4d")

# Background colour for each phase of the load.
PHASES = {"ramp_up": "#f3ead3", "settle": "#eeeeee", "steady": "#d8ecdf", "ramp_down": "#f3ead3"}


def cycle(values: Sequence[_Value], number: int) -> list[_Value]:
    """Return the first `number` values, repeating the sequence if necessary."""
    return [values[index % len(values)] for index in range(number)]


def config() -> Mapping[str, object]:
    """Return the Vega configuration of all figures."""
    label = {"labelFont": FONT, "titleFont": FONT, "labelColor": INK, "titleColor": INK}
    return {
        "background": "white",
        "font": FONT,
        "padding": 6,
        # Number format of text alternatives and tooltips; axes and legends have other formats.
        "tooltipFormat": {"numberFormat": MEASURED},
        "view": {"stroke": None},
        "axis": {
            **label,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "gridColor": GRID,
            "domainColor": MUTED,
            "tickColor": MUTED,
            "titlePadding": 8,
        },
        "legend": {
            **label,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "orient": "top",
            "labelLimit": 320,
            "columnPadding": 24,
        },
        "header": {
            **label,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "labelFontWeight": "bold",
            "labelLimit": 320,
        },
        "title": {"font": FONT, "fontSize": 12, "fontWeight": "bold", "anchor": "start", "color": INK},
        "text": {"font": FONT, "fontSize": 11, "color": INK},
        "line": {"strokeWidth": 2},
        "rule": {"color": INK},
    }


def short(description: str) -> str:
    """Shorten a description to its first sentences, at most 300 letters; a longer first sentence is truncated."""
    if len(description) <= _DESCRIPTION_LETTERS:
        return description
    cut = description[: _DESCRIPTION_LETTERS - 1]
    end = cut.rfind(". ")
    return cut[: end + 1] if end > 0 else f"{cut.rstrip()}…"

"""Appearance of all figures: palette, symbols, line styles, fonts, and the Vega configuration made of them.

The colours are those of Okabe and Ito ("Color Universal Design", 2008), which stay apart under the common
forms of colour blindness; each is paired with a symbol and a line style, so that nothing depends on colour
alone.
"""

from __future__ import annotations

from typing import Any

from towtank.estimates import FEW_DIGITS

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VEGA_LITE_VERSION = "6.4"

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "triangle-right", "triangle-left", "cross")
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 2), (1, 3), (10, 4))

EXACT = ",.12~r"
"""Format of what a study sets and of times in a run, which are exact."""
MEASURED = f",.{FEW_DIGITS}~r"
"""Format of measured values; their intervals stand in the tables."""

# A screen reader reads this much of a figure; the numbers are in the table below it. [letters]
_DESCRIPTION_LETTERS = 300

INK = "#222222"
EVENT = "#D55E00"
MUTED = "#6b6b6b"
GRID = "#e4e4e4"
# Drawings are laid out with the widths of Liberation Sans, which are those of Arial. The fonts that follow have them
# too; the style sheet of the page fits another one to them, as "Report Sans".
FONT = "Arial, Helvetica, Liberation Sans, Arimo, Nimbus Sans, TeX Gyre Heros, FreeSans, Report Sans, sans-serif"

# From few to many, light to dark in equal steps of lightness, so that grey paper and colour blindness keep the order.
HEAT = ("#d6e4f2", "#8fb8de", "#4a86c0", "#1f4f8f", "#0b1f4d")

# One colour per phase of load, light enough to carry lines; the steady stage is the one that counts.
PHASES = {"ramp_up": "#f3ead3", "settle": "#eeeeee", "steady": "#d8ecdf", "ramp_down": "#f3ead3"}


def cycle(values: tuple[Any, ...], number: int) -> list[Any]:
    """Return `number` entries, starting again at the end."""
    return [values[index % len(values)] for index in range(number)]


def config() -> dict[str, Any]:
    """Vega-Lite configuration that all figures share."""
    label = {"labelFont": FONT, "titleFont": FONT, "labelColor": INK, "titleColor": INK}
    return {
        "background": "white",
        "font": FONT,
        "padding": 6,
        # Text alternatives and tooltips; axes and legends keep their own formats.
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
    """Return the whole sentences of a description that stay below 300 letters, or a part of the first."""
    if len(description) <= _DESCRIPTION_LETTERS:
        return description
    cut = description[: _DESCRIPTION_LETTERS - 1]
    end = cut.rfind(". ")
    return cut[: end + 1] if end > 0 else f"{cut.rstrip()}…"


def specification(description: str, **parts: Any) -> dict[str, Any]:
    """Complete a Vega-Lite specification with schema, description and shared configuration."""
    return {"$schema": SCHEMA, "description": short(description), "config": config(), **parts}

"""How every figure looks: palette, symbols, line styles, fonts, and the Vega configuration made of them.

The colours are those of Okabe and Ito ("Color Universal Design", 2008), which stay apart under the common
forms of colour blindness; each is paired with a symbol and a line style, so that nothing hangs on colour
alone.
"""

from __future__ import annotations

from typing import Any

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VEGA_LITE_VERSION = "6.4"

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "triangle-right", "triangle-left")
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 2), (1, 3), (10, 4))

INK = "#222222"
EVENT = "#D55E00"
MUTED = "#6b6b6b"
GRID = "#e4e4e4"
FONT = "Arial, Helvetica, Liberation Sans, sans-serif"

# One colour per phase of load, light enough to carry lines; the steady stage is the one that counts.
PHASES = {"ramp_up": "#f3ead3", "settle": "#eeeeee", "steady": "#d8ecdf", "ramp_down": "#f3ead3"}


def cycle(values: tuple[Any, ...], number: int) -> list[Any]:
    """Take `number` entries, starting again where they run out."""
    return [values[index % len(values)] for index in range(number)]


def config() -> dict[str, Any]:
    """Vega-Lite configuration that all figures share."""
    label = {"labelFont": FONT, "titleFont": FONT, "labelColor": INK, "titleColor": INK}
    return {
        "background": "white",
        "font": FONT,
        "padding": 6,
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


def specification(description: str, **parts: Any) -> dict[str, Any]:
    """Complete a Vega-Lite specification with schema, description and shared configuration."""
    return {"$schema": SCHEMA, "description": description, "config": config(), **parts}

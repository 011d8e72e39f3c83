"""Renders results as HTML for notebooks: headings, verdicts, tables and pictures, without scripts."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from towtank.api.measured import Times
    from towtank.report import Figure

_COLOURS = {"valid": "#009E73", "suspect": "#E69F00", "invalid": "#D55E00"}
ABSENT = "–"
_SHOWN_TIMES = ("mean", "p50", "p90", "p95", "p99", "max")


def page(*parts: str) -> str:
    return f'<div class="towtank">{"".join(parts)}</div>'


def heading(text: str) -> str:
    """Render a heading in bold; return empty text if the heading is empty."""
    return f"<p><strong>{escape(text)}</strong></p>" if text else ""


def verdict(level: str, texts: Iterable[str]) -> str:
    """Render a verdict with its reasons as a coloured block."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    colour = _COLOURS.get(level, "#6b6b6b")
    reasons = f'<ul style="margin:0.3em 0">{items}</ul>' if items else ""
    return (
        f'<div style="border-left:4px solid {colour};padding:0 0.8em;margin:0.5em 0">'
        f"verdict: <strong>{escape(str(level))}</strong>{reasons}</div>"
    )


def text(value: object) -> str:
    """Return a value as text; None becomes a dash."""
    return ABSENT if value is None else str(value)


def times(found: Times) -> str:
    """Render the distribution of response times as a table."""
    rows = [(name, text(getattr(found, name))) for name in _SHOWN_TIMES]
    return table(("response time", ""), rows)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """Render a table; numbers are right-aligned, and None becomes a dash."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _cell(value: Any) -> str:
    if value is None:
        return f'<td style="text-align:right">{ABSENT}</td>'
    if isinstance(value, float | int) and not isinstance(value, bool):
        shown = f"{value:.6g}" if type(value) is float else str(value)
        return f'<td style="text-align:right">{escape(shown)}</td>'
    return f'<td style="text-align:left">{escape(str(value))}</td>'


def picture(figure: Figure | None) -> str:
    """Render a figure of the report as an image with its description; return empty text for None.

    The image is embedded as a data URL, because identifiers of several inline SVG drawings would clash.
    """
    if figure is None:
        return ""
    from towtank.report import compact_svg, static_svg  # noqa: PLC0415 - heavy, and only for notebooks

    svg = figure.svg or compact_svg(static_svg(figure.spec or {}))
    data = base64.b64encode(svg.encode()).decode()
    return (
        f'<figure style="margin:0.5em 0"><img alt="{escape(figure.description)}" '
        f'src="data:image/svg+xml;base64,{data}"><figcaption>{escape(figure.title)}. {escape(figure.note)}'
        "</figcaption></figure>"
    )

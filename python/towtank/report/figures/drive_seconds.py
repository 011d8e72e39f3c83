"""Builds the figure of `towtank.drive` for notebooks: completed requests and 95th percentile of the response time over
time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank.estimates import few_digits
from towtank.report import theme
from towtank.report.document import Column, Figure, Table

NAME = "drive-seconds"
Json = Mapping[str, Any]


def compute(document: Json) -> list[dict[str, float | None]]:
    """Return a row for each second of the measurement window: `t_s` [s], `per_s` [1/s] and `p95_ms` [ms].

    `p95_ms` is None for a second without requests.
    """
    rows, before = [], 0.0
    for second in document.get("intervals") or ():
        length = second["t_s"] - before
        before = second["t_s"]
        if length > 0:
            rows.append({"t_s": second["t_s"], "per_s": second["requests"] / length, "p95_ms": second["p95_ms"]})
    return rows


def draw(rows: list[dict[str, float | None]]) -> dict[str, Any]:
    """Draw requests per second above the response time, both over time."""
    panels = [
        {
            "width": 590,
            "height": 120,
            "data": {"values": rows},
            "mark": {"type": "line", "color": theme.COLOURS[number], "point": len(rows) == 1},
            "encoding": {
                "x": {
                    "field": "t_s",
                    "type": "quantitative",
                    "title": "time in the window [s]",
                    "axis": {"format": theme.EXACT},
                },
                "y": {"field": name, "type": "quantitative", "title": title, "scale": {"zero": True}},
            },
        }
        for number, (name, title) in enumerate((("per_s", "requests [1/s]"), ("p95_ms", "p95 [ms]")))
    ]
    return theme.specification(description(rows), vconcat=panels, spacing=14)


def description(rows: list[dict[str, float | None]]) -> str:
    """Return a description of the figure of requests over time in words, for readers who cannot see the figure."""
    rates = [row["per_s"] for row in rows if row["per_s"] is not None]
    times = [row["p95_ms"] for row in rows if row["p95_ms"] is not None]
    shown = f"Requests per second from {few_digits(min(rates), 4)} to {few_digits(max(rates), 4)}"
    return (
        f"{shown}; 95th percentile of the response time from {few_digits(min(times))} to {few_digits(max(times))} ms."
        if times
        else (f"{shown}; nothing was timed.")
    )


def _shown(value: float | None) -> str:
    """Format a number for a table cell; empty if nothing was recorded."""
    return "" if value is None else few_digits(value, 4)


def figure(document: Json) -> Figure | None:
    """Return the figure of requests and response time over time; None if the window contains no full second."""
    rows = compute(document)
    if not rows:
        return None
    columns = (Column("Time", "s", True), Column("Requests", "1/s", True), Column("p95", "ms", True))
    cells = tuple((f"{row['t_s']:g}", _shown(row["per_s"]), _shown(row["p95_ms"])) for row in rows)
    return Figure(
        name=NAME,
        title="Requests and response time second by second",
        description=description(rows),
        spec=draw(rows),
        table=Table("The window second by second", columns, cells),
    )

"""Builds the figure of `towtank.drive` for notebooks: completed requests and 95th percentile of the response time over
time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from towtank.documents import record_of
from towtank.estimates import few_digits
from towtank.report import theme, vega
from towtank.report.document import Figure, Table, headings
from towtank.report.vega import Channel, Specification, View, quantitative

NAME = "drive-seconds"


@dataclass(frozen=True)
class _Interval:
    """Interval in the document of a drive: end since the start of the window [s], requests [1], and p95 [ms]."""

    t_s: float
    requests: float
    p95_ms: float | None = None


@dataclass(frozen=True)
class _Drive:
    """Part of the document of a drive."""

    intervals: tuple[_Interval, ...] = ()


@dataclass(frozen=True)
class Second:
    """Second of the measurement window: its end [s], completed requests [1/s], and 95th percentile of the response
    time [ms], which is None without requests.
    """

    t_s: float
    per_s: float
    p95_ms: float | None


def compute(document: Mapping[str, object]) -> list[Second]:
    """Return the seconds of the measurement window."""
    rows, before = [], 0.0
    for second in record_of(_Drive, document).intervals:
        length = second.t_s - before
        before = second.t_s
        if length > 0:
            rows.append(Second(second.t_s, second.requests / length, second.p95_ms))
    return rows


def draw(rows: list[Second]) -> Specification:
    """Draw requests per second above the response time, both over time."""
    x = quantitative("t_s", title="time in the window [s]", axis={"format": theme.EXACT})
    rates = quantitative("per_s", title="requests [1/s]", scale={"zero": True})
    times = quantitative("p95_ms", title="p95 [ms]", scale={"zero": True})
    panels = [_panel(rows, x, rates, theme.COLOURS[0]), _panel(rows, x, times, theme.COLOURS[1])]
    return vega.specification(description(rows), vconcat=panels, spacing=14)


def _panel(rows: list[Second], x: Channel, y: Channel, colour: str) -> View:
    return {
        "width": 590,
        "height": 120,
        "data": {"values": list(map(vars, rows))},
        "mark": {"type": "line", "color": colour, "point": len(rows) == 1},
        "encoding": {"x": x, "y": y},
    }


def description(rows: list[Second]) -> str:
    """Return a description of the figure of requests over time in words, for readers who cannot see the figure."""
    rates = [row.per_s for row in rows]
    times = [row.p95_ms for row in rows if row.p95_ms is not None]
    shown = f"Requests per second from {few_digits(min(rates), 4)} to {few_digits(max(rates), 4)}"
    return (
        f"{shown}; 95th percentile of the response time from {few_digits(min(times))} to {few_digits(max(times))} ms."
        if times
        else (f"{shown}; nothing was timed.")
    )


def _shown(value: float | None) -> str:
    """Format a number for a table cell; empty if nothing was recorded."""
    return "" if value is None else few_digits(value, 4)


def figure(document: Mapping[str, object]) -> Figure | None:
    """Return the figure of requests and response time over time; None if the window contains no full second."""
    rows = compute(document)
    if not rows:
        return None
    columns = headings("#Time | s", "#Requests | 1/s", "#p95 | ms")
    cells = tuple((f"{row.t_s:g}", _shown(row.per_s), _shown(row.p95_ms)) for row in rows)
    return Figure(
        name=NAME,
        title="Requests and response time second by second",
        description=description(rows),
        spec=draw(rows),
        table=Table("The window second by second", columns, cells),
    )

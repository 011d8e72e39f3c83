"""Renders the calibration of this machine, which measures how much load it can generate, as text."""

from __future__ import annotations

import time
from typing import Any

from rich.table import Table

from towtank.units import format_duration


def envelope_parts(envelope: dict[str, Any] | None) -> list[Table | str]:
    """Render the calibration as a sentence and a table; if the machine was never calibrated, only as a sentence."""
    if envelope is None:
        return ["This machine is not calibrated as a load generator: run `towtank doctor --calibrate`."]
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(envelope["measured_wall_ns"] / 1e9))
    sentence = (
        f"As a load generator, this machine sends per core: {envelope['rate_per_core_per_s']:,.0f} requests/s, "
        f"{envelope['cpu_us_per_request']:.2f} µs of CPU each (limited by the {envelope['limited_by']}; {day})."
    )
    table = Table(box=None, pad_edge=False)
    for heading in ("share", "requests/s", "busy", "start lag p50", "p99", "p99.9", "max"):
        table.add_column(heading, justify="right")
    for point in (envelope["timer"], *envelope["start_lag"]):
        share = "timer" if point["share"] is None else f"{point['share']:.0%}"
        lags = [_lag(point.get(f"{name}_s")) for name in ("p50", "p99", "p99.9", "max")]
        table.add_row(share, f"{point['started_per_s']:,.0f}", f"{point['busy']:.0%}", *lags)
    return [sentence, table]


def _lag(value: float | None) -> str:
    return "-" if value is None else format_duration(value)

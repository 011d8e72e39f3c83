"""Figures: one file each, `compute(results)` gives numbers, `draw(numbers)` a Vega-Lite specification.

`figure(results)` joins the two with title, description and table, and gives None where there is
nothing to show. To add one: a file, a line in `FIGURES`, a test of both functions.
"""

from __future__ import annotations

from collections.abc import Callable

from towtank.report.document import Figure
from towtank.report.figures import (
    cpu_by_tier,
    disk,
    response_time,
    scaling,
    throughput,
    timeline,
    transactions,
)
from towtank.report.source import Results

FIGURES: tuple[tuple[str, Callable[[Results], Figure | None]], ...] = (
    ("throughput", throughput.figure),
    ("throughput relative to the lowest level", scaling.figure),
    ("response time", response_time.figure),
    ("CPU by tier", cpu_by_tier.figure),
    ("disk reads and writes", disk.figure),
    ("response time per transaction", transactions.figure),
    ("timeline of one run", timeline.figure),
)

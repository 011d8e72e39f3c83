"""Builds the figures of a report, each in its own module.

In each module, `compute(results)` returns the numbers, `draw(numbers)` returns a Vega-Lite specification, and
`figure(results)` adds title, description and table; it returns None without data. To add a figure, write a module, a
line in `FIGURES`, and tests of `compute` and `draw`.
"""

from __future__ import annotations

from collections.abc import Callable

from towtank.report.document import Figure
from towtank.report.figures import (
    answer,
    cpu_by_tier,
    disk,
    heat_map,
    percentiles,
    response_time,
    scaling,
    timeline,
    transactions,
)
from towtank.report.source import Results

Make = Callable[[Results], Figure | None]
MAIN: tuple[str, Make] = ("throughput", answer.figure)
"""Name of the main figure of a report, and the function that makes it."""
FIGURES: tuple[tuple[str, Make], ...] = (
    ("throughput relative to the lowest level", scaling.figure),
    ("response time", response_time.figure),
    ("percentiles of the response time", percentiles.figure),
    ("CPU by tier", cpu_by_tier.figure),
    ("disk reads and writes", disk.figure),
    ("response time per transaction", transactions.figure),
    ("response times of one run over time", heat_map.figure),
    ("timeline of one run", timeline.figure),
)

"""Provides figures for notebooks, outside of a report."""

from __future__ import annotations

from towtank.digging import dig
from towtank.report.document import Figure
from towtank.report.figures import timeline
from towtank.report.figures.capacity_curve import figure as capacity_figure
from towtank.report.figures.drive_seconds import figure as drive_figure
from towtank.report.figures.throughput import figure as throughput_figure
from towtank.report.source import Results, RunResult

__all__ = ["capacity_figure", "drive_figure", "run_figure", "throughput_figure"]


def run_figure(run: RunResult) -> Figure | None:
    """Return the figure of a run over time; None if its summary has no timeline."""
    if not dig(run.summary, "timeline", "t_s"):
        return None
    results = Results(run.run_id, {}, {}, (run,))
    numbers = timeline.of_run(results, run)
    return timeline.make(results, numbers, timeline.NAME) if numbers.tracks else None

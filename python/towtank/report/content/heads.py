"""Builds the first columns of tables with rows for runs."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.document import Column, headings
from towtank.report.source import Results, RunResult


def columns(results: Results) -> tuple[Column, ...]:
    """Return the headings of the first columns: run, configuration and load."""
    return headings("Run", "Configuration", f"#{results.load_factor.capitalize()}")


def cells(run: RunResult, *, first: bool = True) -> tuple[str, str, str]:
    """Return the cells of the first columns; `first` is False for further rows of the same run, whose cells are
    empty.
    """
    return (run.run_id, run.configuration, people.plain(run.load)) if first else ("", "", "")

"""The columns with which a table begins that tells of runs, and the cells of them."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.document import Column
from towtank.report.source import Results, RunResult


def columns(results: Results) -> tuple[Column, Column, Column]:
    """Which run, of which configuration, at which load."""
    return Column("Run"), Column("Configuration"), Column(results.load_factor.capitalize(), numeric=True)


def cells(run: RunResult, *, first: bool = True) -> tuple[str, str, str]:
    """The cells of a run; empty in all rows of it but the first."""
    return (run.run_id, run.configuration, people.plain(run.load)) if first else ("", "", "")

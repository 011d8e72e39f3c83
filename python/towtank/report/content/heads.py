"""First columns of tables that have a row for each run, and their cells."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.document import Column
from towtank.report.source import Results, RunResult


def columns(results: Results) -> tuple[Column, Column, Column]:
    """Return the first columns of a table with rows for runs: run, configuration and load."""
    return Column("Run"), Column("Configuration"), Column(results.load_factor.capitalize(), numeric=True)


def cells(run: RunResult, *, first: bool = True) -> tuple[str, str, str]:
    """Return the first cells of a table row: run, configuration and load. They are empty in further rows of the same
    run.
    """
    return (run.run_id, run.configuration, people.plain(run.load)) if first else ("", "", "")

"""Builds the section that compares the requests in flight at the start and end of each run's window with Little's
law.
"""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.document import Section, Table, headings, paragraph
from towtank.report.source import Results


def build(results: Results) -> Section | None:
    """Build the section on the backlog; None if no run recorded its requests in flight."""
    runs = [(run.run_id, found) for run in results.measured if (found := run.record.backlog) is not None]
    if not runs:
        return None
    columns = headings(
        "Run",
        "#In flight at start | count",
        "#In flight at end | count",
        "#Expected by Little's law | count",
        "#Waiting at start | count",
        "#Waiting at end | count",
        "#Worked off after",
    )
    rows = tuple(
        (
            run,
            people.count(backlog.at_start),
            people.count(backlog.at_end),
            people.number(backlog.needs),
            people.count(backlog.waiting_at_start),
            people.count(backlog.waiting_at_end),
            people.seconds(backlog.drained_s) if backlog.excess_at_start else people.ABSENT,
        )
        for run, backlog in runs
    )
    carried = sum(bool(backlog.excess_at_start) for _, backlog in runs)
    said = paragraph(
        f"{people.plural(carried, 'run')} of {len(runs)} began the window with significantly more requests in "
        "flight or "
        "waiting than the load of the window explains. By Little's law, X R requests are in flight, "
        "where X is the "
        "rate at which requests ended, and R their mean exchange time."
    )
    return Section("backlog", "Backlog", (said, Table("Requests in flight and waiting arrivals", columns, rows)))

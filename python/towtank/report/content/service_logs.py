"""Builds the table of warnings and errors in the logs of services, for runs with failures or doubts."""

from __future__ import annotations

from dataclasses import dataclass, field

from towtank.analysis import LogGroup
from towtank.log_lines import ERROR_LEVEL, folded_line
from towtank.report import format as people
from towtank.report.document import Block, Table, headings, paragraph
from towtank.report.source import Results, RunResult

ROWS_AT_MOST = 10
"""Largest number of log lines that are shown per service. [1]"""
_INTRODUCTION = (
    "Warnings and errors in the log of each service that did not occur before the load began. Lines that differ only "
    "in numbers, times and addresses count as equal; the first of them is shown, with *** instead of secrets."
)


@dataclass
class _Row:
    """Log lines with the same text from one service, over all runs."""

    service: str
    text: str
    level: str
    runs: list[str] = field(default_factory=list)
    count: int = 0
    first_s: float | None = None

    def add(self, run: RunResult, group: LogGroup) -> None:
        self.runs.append(run.run_id)
        self.count += group.count
        if self.first_s is None:
            self.first_s = group.first_s

    def cells(self) -> tuple[str, ...]:
        return (
            self.service,
            ", ".join(self.runs),
            people.count(self.count),
            people.ABSENT if self.first_s is None else people.plain(round(self.first_s, 1)),
            self.text,
        )


def blocks(results: Results) -> list[Block]:
    """Build the table of log lines that first occurred under load; without such lines, return only notes on the
    logs.
    """
    runs = [run for run in results.measured if run.record.errors.count or run.verdict in ("suspect", "invalid")]
    rows: dict[tuple[str, str], _Row] = {}
    for run in runs:
        for service, log in (run.record.logs or {}).items():
            for group in () if log is None else log.groups:
                row = _Row(service, group.text, group.level)
                rows.setdefault((service, folded_line(row.text)), row).add(run, group)
    kept = _most_telling(list(rows.values()))
    notes = (*_left_out(list(rows.values()), kept), *(note for run in runs for note in _notes(run)))
    if not kept:
        return [paragraph(f"Logs of services: {note}") for note in notes]
    columns = headings("Service", "Runs", "#Lines | count", "#First seen | s", "Line of the log")
    rows_shown = tuple(row.cells() for row in kept)
    return [paragraph(_INTRODUCTION), Table("New log lines of services under load", columns, rows_shown, notes)]


def _most_telling(rows: list[_Row]) -> list[_Row]:
    """Return at most `ROWS_AT_MOST` log lines of each service, errors before warnings, frequent before rare lines."""
    services = list(dict.fromkeys(row.service for row in rows))
    ordered = sorted(rows, key=lambda row: (row.level != ERROR_LEVEL, -row.count))
    of_service = ([row for row in ordered if row.service == service] for service in services)
    return [row for rows_of_one in of_service for row in rows_of_one[:ROWS_AT_MOST]]


def _left_out(rows: list[_Row], kept: list[_Row]) -> list[str]:
    counts = {row.service: 0 for row in rows}
    for row in rows:
        counts[row.service] += row not in kept
    return [f"{service}: {people.plural(left, 'further different line')}." for service, left in counts.items() if left]


def _notes(run: RunResult) -> list[str]:
    """Return a note for each log that could not be read completely."""
    notes = []
    for service, log in (run.record.logs or {}).items():
        if log is None:
            notes.append(f"{run.run_id}: the log of {service} could not be read.")
        elif log.unread_bytes:
            size = people.size(log.unread_bytes)
            place = f"{size} in the middle of the log of {service}"
            notes.append(f"{run.run_id}: {place} was not read; the counts cover the rest of the log.")
    return notes

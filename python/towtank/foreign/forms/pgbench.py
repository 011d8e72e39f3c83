"""Reads the log of `pgbench --log`: one transaction per line, with its response time, script and end time."""

from __future__ import annotations

from towtank.foreign.forms.found import Found
from towtank.foreign.requests import BadRowError, Collector, number
from towtank.foreign.source import Source

NAME = "pgbench log"
_TIME, _SCRIPT, _EPOCH, _MICROSECONDS, _CELLS = 2, 3, 4, 5, 6
_FAILURES = ("failed", "serialization", "deadlock")
_SKIPPED = "skipped"
_YEAR_2001_S = 1e9


def recognises(head: str) -> bool:
    """Return True if the first line has the columns that pgbench logs for a transaction."""
    lines = [line.split() for line in head.splitlines()[:5] if line.strip()]
    return bool(lines) and _is_transaction(lines[0])


def _is_transaction(cells: list[str]) -> bool:
    whole = [cell for place, cell in enumerate(cells) if place != _TIME]
    if not _CELLS <= len(cells) <= _CELLS + 2 or not all(cell.isdigit() for cell in whole):
        return False
    is_timed = cells[_TIME].replace(".", "", 1).isdigit() or cells[_TIME] in (*_FAILURES, _SKIPPED)
    return is_timed and float(cells[_EPOCH]) > _YEAR_2001_S and float(cells[_MICROSECONDS]) < 1e6


def read(source: Source, rows: Collector) -> Found:
    """Read one transaction per line. Transactions that pgbench skipped, because it was late, count as not sent."""
    skipped = 0
    for line, text in enumerate(source.lines(), start=1):
        cells = text.split()
        if not cells:
            continue
        try:
            if len(cells) < _CELLS:
                raise BadRowError("too few columns")
            if cells[_TIME] == _SKIPPED:
                skipped += 1
                continue
            failed = cells[_TIME] in _FAILURES
            elapsed = 0.0 if failed else number(cells[_TIME], "time") / 1e6
            end = number(cells[_EPOCH], "time_epoch") + number(cells[_MICROSECONDS], "time_us") / 1e6
            rows.add(end - elapsed, elapsed, not failed, f"script {cells[_SCRIPT]}")
        except BadRowError as fault:
            rows.skipped.add(str(fault), line)
    return Found(not_sent=skipped)

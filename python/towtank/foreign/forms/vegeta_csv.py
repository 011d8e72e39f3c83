"""Reads the CSV of `vegeta encode --to csv`, which has no header; start and latency are in nanoseconds."""

from __future__ import annotations

import csv

from towtank.foreign.forms.found import Found
from towtank.foreign.requests import BadRowError, Collector, number
from towtank.foreign.source import Source

NAME = "vegeta CSV"
_START, _CODE, _LATENCY, _ERROR, _ATTACK = 0, 1, 2, 5, 7
_COLUMNS = range(9, 13)
# Number of digits of a time in nanoseconds since 1970, from 2001 to 2286. [1]
_DIGITS = 19


def recognises(head: str) -> bool:
    """Return True if the first row begins with a time in nanoseconds, a status and a latency."""
    first = next((line for line in head.splitlines() if line.strip()), "")
    try:
        row = next(csv.reader([first]), [])
    except csv.Error:
        return False
    return len(row) in _COLUMNS and len(row[_START]) == _DIGITS and all(cell.isdigit() for cell in row[:5])


def read(source: Source, rows: Collector) -> Found:
    """Read one request per row. It is a success if vegeta recorded no error and the status is from 200 to 399."""
    for line, row in source.rows(rows.skipped):
        try:
            if len(row) <= _ATTACK:
                raise BadRowError("too few columns")
            code = number(row[_CODE], "status")
            ok = not row[_ERROR] and 200 <= code < 400
            start, elapsed = number(row[_START], "timestamp"), number(row[_LATENCY], "latency")
            rows.add(start / 1e9, elapsed / 1e9, ok, row[_ATTACK])
        except BadRowError as fault:
            rows.skipped.add(str(fault), line)
    return Found()

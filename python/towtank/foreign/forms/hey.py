"""Reads requests from `hey -o csv`; times are in seconds, and starts are relative to the start of the run."""

from __future__ import annotations

from collections.abc import Mapping

from towtank.foreign.forms.found import Found
from towtank.foreign.forms.tables import add_each, has_columns
from towtank.foreign.requests import Collector, number_of
from towtank.foreign.source import Source

NAME = "hey CSV"
_NOTE = (
    "hey writes only requests with a response, at most a million; requests that failed without a response are missing"
)


def recognises(head: str) -> bool:
    """Return True if the header has the columns that hey writes."""
    return has_columns(head, ("response-time", "response-delay", "status-code", "offset"))


def read(source: Source, rows: Collector) -> Found:
    """Read one request per row; a response with a status of 400 or more is an error."""

    def add(row: Mapping[str, str]) -> None:
        status = number_of(row, "status-code")
        start, elapsed = number_of(row, "offset"), number_of(row, "response-time")
        rows.add(start, elapsed, 0 < status < 400)

    add_each(source, rows, add)
    return Found(notes=(_NOTE,))

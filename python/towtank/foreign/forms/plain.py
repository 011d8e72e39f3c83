"""Reads plain CSV with the columns `start_s` and `elapsed_ms`, and optionally `ok` (0 or 1) and `transaction`."""

from __future__ import annotations

from collections.abc import Mapping

from towtank.foreign.forms.found import Found
from towtank.foreign.forms.tables import add_each, has_columns, truth
from towtank.foreign.requests import Collector, number_of, text_of
from towtank.foreign.source import Source

NAME = "plain CSV"


def recognises(head: str) -> bool:
    """Return True if the header has the columns `start_s` and `elapsed_ms`."""
    return has_columns(head, ("start_s", "elapsed_ms"))


def read(source: Source, rows: Collector) -> Found:
    """Read one request per row."""

    def add(row: Mapping[str, str]) -> None:
        start, elapsed = number_of(row, "start_s"), number_of(row, "elapsed_ms")
        rows.add(start, elapsed / 1e3, truth(text_of(row, "ok"), "ok"), text_of(row, "transaction"))

    add_each(source, rows, add)
    return Found()

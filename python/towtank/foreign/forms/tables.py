"""Reads text tables whose first row contains the column names, such as CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from towtank.foreign.requests import BadRowError, Collector
from towtank.foreign.source import Source

_DELIMITERS = ",;\t|"


def header_of(head: str) -> tuple[list[str], str]:
    """Return the column names of a table in lower case, and the delimiter that occurs most often in its first row."""
    first = next((line for line in head.splitlines() if line.strip()), "")
    found = max(_DELIMITERS, key=first.count)
    try:
        row = next(csv.reader([first], delimiter=found), [])
    except csv.Error:
        row = []
    return [name.strip().lower() for name in row], found


def has_columns(head: str, names: Iterable[str]) -> bool:
    """Return True if the first row of a table contains all given column names."""
    return set(names) <= set(header_of(head)[0])


def cells(source: Source, rows: Collector) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number of each row below the header, and the row's cells by column name."""
    names, delimiter = header_of(source.head)
    table = source.rows(rows.skipped, delimiter)
    next(table, None)
    for line, row in table:
        if len(row) < len(names) - 1 and len(row) <= 1:
            rows.skipped.add("too few columns", line)
            continue
        yield line, dict(zip(names, (cell.strip() for cell in row), strict=False))


def add_each(source: Source, rows: Collector, add: Callable[[Mapping[str, str]], object]) -> None:
    """Call `add` for each row below the header; count the rows for which it raises `BadRowError`."""
    for line, row in cells(source, rows):
        try:
            add(row)
        except BadRowError as fault:
            rows.skipped.add(str(fault), line)


def instant(text: str, what: str) -> float:
    """Parse a time in RFC 3339; return the seconds since 1970. [s]

    Raises
    ------
    BadRowError
        If the text is not a time.
    """
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        raise BadRowError(f"{what} is not a time") from None


def truth(text: str | None, what: str) -> bool:
    """Parse a boolean such as `true`, `0` or `yes`; an empty cell counts as true.

    Raises
    ------
    BadRowError
        If the text is no such word.
    """
    word = (text or "").lower()
    if word in ("", "1", "true", "yes", "ok"):
        return True
    if word in ("0", "false", "no", "ko"):
        return False
    raise BadRowError(f"{what} is not true or false")

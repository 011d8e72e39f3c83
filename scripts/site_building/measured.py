"""Draws the measured tables of the studies as SVG: the first quantity of a table, with its intervals if it has any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

_HEAD = "## Measured here"
_VALUE = re.compile(r"^(?P<value>[\d.,]+)(?: \[(?P<low>[\d.,]+), (?P<high>[\d.,]+)\])?$")
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
_BRACKETS = re.compile(r"\[.+\]")
_UNIT = re.compile(rf"/s\b|{_BRACKETS.pattern}")
_QUANTITY = re.compile(rf"{_UNIT.pattern}|\btime\b")
_ROWS_AT_LEAST, _VALUES_AT_MOST = 2, 24
_ROW_PX, _LABEL_PX, _PLOT_PX, _VALUE_PX, _TOP_PX = 26, 270, 300, 190, 34
_INK, _MARK, _GRID = "#222222", "#0072B2", "#e4e4e4"


@dataclass(frozen=True)
class Measured:
    """Value of a table with its confidence interval; `low` and `high` are None if the table states no interval."""

    label: str
    shown: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Series:
    """Values to draw, with the name of their quantity; `not_drawn` is the number of further values in the table."""

    quantity: str
    rows: tuple[Measured, ...]
    not_drawn: int = 0


def measured(page: str) -> Series | None:
    """Return the values of the first table with intervals in the section `Measured here`.

    A section whose tables have no intervals gives the first quantity that its headings name with a unit in brackets.
    None if there is no such quantity.
    """
    section = page.partition(f"{_HEAD}\n")[2].partition("\n## ")[0]
    tables = []
    for table in _TABLE.finditer(section + "\n"):
        head, _, *rows = [_cells(line) for line in table[0].splitlines()]
        filled = _filled([row for row in rows if len(row) == len(head)])
        tables.append((head, filled, _last_words(section[: table.start()])))
    found = (*(_series(*table) for table in tables), *(_single(*table) for table in tables))
    return next((series for series in found if series is not None), None)


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("`", "") for cell in line.strip().strip("|").split("|")]


def _filled(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows; an empty first cell is replaced by the first cell of the row above."""
    found: list[list[str]] = []
    for row in rows:
        found.append([row[0] or (found[-1][0] if found else ""), *row[1:]])
    return found


def _last_words(text: str) -> str:
    """Return the last clause of `text`, the text before a table; this clause names the quantity of the table."""
    return re.split(r"[.;] (?=\w)", " ".join(text.split()).rstrip(".: "))[-1]


def _series(head: list[str], rows: list[list[str]], words: str) -> Series | None:
    """Return the values of the first column with intervals, or of all such columns if each column is a level of a
    factor.

    A column's heading names a quantity if the heading has a unit, or names a time. Otherwise it names a level, and
    `words`, from the text before the table, names the quantity.
    """
    columns = [column for column in range(1, len(head)) if _has_intervals(rows, column)]
    if not columns or len(rows) < _ROWS_AT_LEAST:
        return None
    first, title = columns[0], head[columns[0]]
    if _QUANTITY.search(title):
        quantity = title if _UNIT.search(title) else f"{words}: {title}"
        return _cut(quantity, list(_values(rows, head, first, [first])), 1)
    return _cut(words, list(_values(rows, head, first, columns)), len(columns))


def _single(head: list[str], rows: list[list[str]], words: str) -> Series | None:
    """Return the values of all columns that have the unit of the first column of numbers with a unit in its heading."""
    units = [match[0] if (match := _BRACKETS.search(title)) else "" for title in head]
    columns = [
        column for column in range(1, len(head)) if units[column] and any(_VALUE.match(row[column]) for row in rows)
    ]
    if not columns or len(rows) < _ROWS_AT_LEAST:
        return None
    same = [column for column in columns if units[column] == units[columns[0]]]
    return _cut(words if len(same) > 1 else head[same[0]], list(_values(rows, head, same[0], same)), len(same))


def _cut(quantity: str, values: list[Measured], columns: int) -> Series:
    """Return a series of at most `_VALUES_AT_MOST` values; all values of a row, one per column, are either drawn or
    not.
    """
    room = _VALUES_AT_MOST - _VALUES_AT_MOST % columns
    return Series(quantity, tuple(values[:room]), max(len(values) - room, 0))


def _has_intervals(rows: list[list[str]], column: int) -> bool:
    return any((match := _VALUE.match(row[column])) is not None and match["low"] for row in rows)


def _values(rows: list[list[str]], head: list[str], first: int, columns: list[int]) -> Iterator[Measured]:
    """Yield the values of `columns`; the cells of a row before column `first` are the label."""
    for row in rows:
        names = [
            f"{title} {cell}" if cell.isdecimal() else cell for title, cell in zip(head, row[:first], strict=False)
        ]
        for column in columns:
            match = _VALUE.match(row[column])
            if match is None:
                continue
            value, low, high = (None if text is None else float(text.replace(",", "")) for text in match.group(1, 2, 3))
            label = ", ".join([*names, *([head[column]] if len(columns) > 1 else [])])
            yield Measured(label, row[column], value or 0.0, low, high)


def drawing(series: Series) -> str:
    """Draw each value on an axis that begins at zero, with interval, label and number; return the SVG."""
    most = max(max(row.value, row.high or 0.0) for row in series.rows) or 1.0
    width, height = _LABEL_PX + _PLOT_PX + _VALUE_PX, _TOP_PX + _ROW_PX * len(series.rows) + 8

    def x(value: float) -> float:
        return round(_LABEL_PX + _PLOT_PX * value / most, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="Arial, Helvetica, sans-serif" font-size="13" fill="{_INK}">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{_LABEL_PX}" y="20" font-weight="bold">{escape(series.quantity)}</text>',
        f'<line x1="{_LABEL_PX}" x2="{_LABEL_PX}" y1="{_TOP_PX - 6}" y2="{height - 6}" stroke="{_INK}"/>',
    ]
    for number, row in enumerate(series.rows):
        y = _TOP_PX + _ROW_PX * number + _ROW_PX / 2
        parts.append(f'<line x1="{_LABEL_PX}" x2="{_LABEL_PX + _PLOT_PX}" y1="{y}" y2="{y}" stroke="{_GRID}"/>')
        if row.low is not None and row.high is not None:
            parts.append(
                f'<line x1="{x(row.low)}" x2="{x(row.high)}" y1="{y}" y2="{y}" stroke="{_MARK}" stroke-width="3"/>'
            )
        parts.append(f'<circle cx="{x(row.value)}" cy="{y}" r="4.5" fill="{_MARK}"/>')
        parts.append(f'<text x="{_LABEL_PX - 10}" y="{y + 4.5}" text-anchor="end">{escape(row.label)}</text>')
        parts.append(f'<text x="{_LABEL_PX + _PLOT_PX + 12}" y="{y + 4.5}">{escape(row.shown)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def description(series: Series) -> str:
    """Return the text alternative of the figure."""
    values = "; ".join(f"{row.label}: {row.shown}" for row in series.rows)
    return f"{series.quantity}: {values}{_rest(series)}"


def note(series: Series) -> str:
    """Return the caption of the figure."""
    return (
        f"Measured values, with 95 % intervals if known; the page of the study states machine and date{_rest(series)}."
    )


def _rest(series: Series) -> str:
    return f"; the table on the study page contains {series.not_drawn} more values" if series.not_drawn else ""

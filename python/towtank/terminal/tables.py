"""Fits tables to the width of a terminal: folds columns of names, never of numbers. A table that is still too wide is
printed as lines, one for each cell.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

# Console width at which no table needs folding. [columns]
UNBOUNDED = 10_000
# Smallest width of a folded column of names; a narrower column is hard to read. [columns]
_FOLDED = 14
_FIGURE = re.compile(r"[\d–-]")


class Printer(Console):
    """Console that fits tables to its width."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print like `Console.print`, but fit tables to the width."""
        fitting = (fit_table(self, each) if isinstance(each, Table) else each for each in objects)
        super().print(*fitting, **options)


def fit_table(console: Console, table: Table) -> RenderableType:
    """Return a table in a form that fits the width of a console.

    In a pipe or a file, a table keeps its full width, unless the environment variable COLUMNS is set.

    Parameters
    ----------
    console : Console
        Console that prints the table.
    table : Table
        Table whose cells are texts.
    """
    if table_width(console, table) <= console.width:
        return table
    if not is_bounded(console):
        return FullWidthTable(table)
    return table if _fold_names(console, table) else stacked(table)


def is_bounded(console: Console) -> bool:
    """Return True if lines must fit the width of a console: on a terminal, or if the variable COLUMNS is set."""
    return console.is_terminal or "COLUMNS" in os.environ


class FullWidthTable:
    """Table that is printed at its full width, independent of the width of the console."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        return console.render(self._table, options.update(max_width=UNBOUNDED))


def table_width(console: Console, table: Table) -> int:
    """Return the width of a table in which no column is folded. [columns]"""
    return console.measure(table, options=console.options.update(max_width=UNBOUNDED)).maximum


def _cells(column: Column) -> list[str]:
    return [_plain(cell) for cell in column.cells]


def _plain(cell: RenderableType) -> str:
    return Text.from_markup(cell).plain if isinstance(cell, str) else str(cell)


def _is_names(column: Column) -> bool:
    """Return True if no cell of a column begins with a digit or dash, so that the column may be folded."""
    return not any(_FIGURE.match(cell.strip()) for cell in _cells(column))


def _fold_names(console: Console, table: Table) -> bool:
    """Fold columns of names until a table fits the width; if this is impossible, change nothing and return False."""
    names = [column for column in table.columns if _is_names(column)]
    before = [(column.max_width, column.overflow) for column in names]
    widths = [max((len(cell) for cell in (_plain(column.header), *_cells(column))), default=0) for column in names]
    excess = table_width(console, table) - console.width
    spare = [max(0, width - _FOLDED) for width in widths]
    if excess > sum(spare):
        for column, (width, overflow) in zip(names, before, strict=True):
            column.max_width, column.overflow = width, overflow
        return False
    for column, width, less in sorted(zip(names, widths, spare, strict=True), key=lambda each: -each[2]):
        taken = min(excess, less)
        excess -= taken
        if taken:
            column.max_width, column.overflow, column.no_wrap = width - taken, "fold", False
    for column in table.columns:
        if not _is_names(column):
            column.no_wrap = True
    return True


def stacked(table: Table) -> Group:
    """Return a table as lines: for each row its first cell, and below an indented line such as `p95: 12.3` for each
    other cell.
    """
    headers = [_plain(column.header).strip() for column in table.columns]
    lines = []
    for row in zip(*(_cells(column) for column in table.columns), strict=True):
        lines.append(Text(": ".join(text for text in (headers[0], row[0]) if text)))
        below = [(header, cell) for header, cell in zip(headers[1:], row[1:], strict=True) if cell.strip()]
        lines += [Text(f"  {header}: {cell}" if header else f"  {cell}") for header, cell in below]
    return Group(*lines)

"""Computes widths of table columns on paper, and divides tables that are too wide for a page.

The widths are estimated from the letters of the cells. A table that is too wide becomes several tables, each of which
repeats the first column. [pt] is 1/72 inch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from towtank.report.document import Column, Table

SIZE_PT, _SMALLEST = 8.0, 0.8
"""Font size in tables [pt], and smallest factor by which it is reduced in a wide table. [1]"""
GAP_PT = 8.0
"""Distance between two columns. [pt]"""
# Width of letters of Libertinus Serif, rounded up, relative to the font size. Other Latin letters have the width of
# capital or small letters. [1]
_EM = {
    letter: width
    for width, letters in {
        0.30: ".,:;'|lij{}!\\()I \N{NO-BREAK SPACE}",
        0.38: 'tfrJ/-"[]*',
        0.47: "0123456789sczae`?",
        0.98: "wmMW@\N{EM DASH}\N{HORIZONTAL ELLIPSIS}",
    }.items()
    for letter in letters
}
_SMALL_EM, _CAPITAL_EM, _FOREIGN_EM, _BOLD = 0.56, 0.73, 1.0, 1.09
_LATIN, _SIGNS = 0x250, "\N{LEFT SINGLE QUOTATION MARK}\N{EN DASH}\N{DAGGER}\N{MINUS SIGN}"
# Smallest width of a column of text whose cells are longer, and the width to which it is reduced in a table that is
# otherwise wider than the page. The room that is left goes to the columns with the longest cells. [pt]
_TEXT_PT, _NARROW_TEXT_PT = 110.0, 64.0
# Largest width of a cell with a number that is not broken into lines. [pt]
_NUMBER_PT = 130.0
_ROUNDING_PT = 0.01
_BREAKS = re.compile(r"[ \n\u200b]")


@dataclass(frozen=True)
class Part:
    """Part of a table that fits the width of a page, with the font size and the width of each column [pt]."""

    size_pt: float
    columns: tuple[Column, ...]
    widths_pt: tuple[float, ...]
    rows: tuple[tuple[str, ...], ...]


def width_pt(text: str, *, bold: bool = False) -> float:
    """Return the estimated width of a text in a table. [pt]"""
    wide = sum(_letter_em(letter) for letter in text if letter != "\u200b")
    return wide * SIZE_PT * (_BOLD if bold else 1.0)


def _letter_em(letter: str) -> float:
    if letter in _EM:
        return _EM[letter]
    if ord(letter) >= _LATIN and letter not in _SIGNS:
        return _FOREIGN_EM
    return _CAPITAL_EM if letter.isupper() else _SMALL_EM


def parts(table: Table, page_pt: float) -> tuple[Part, ...]:
    """Divide a table into parts that fit the width of the text of a page [pt]; words longer than a column must contain
    opportunities for line breaks.
    """
    wanted = [_wanted_pt(table, number) for number in range(len(table.columns))]
    room = page_pt - GAP_PT * (len(wanted) - 1)
    least = [_least_pt(table, number, whole, _TEXT_PT) for number, whole in enumerate(wanted)]
    if sum(least) > room:
        least = [_least_pt(table, number, whole, _NARROW_TEXT_PT) for number, whole in enumerate(wanted)]
    scale = room / sum(least)
    scale = scale if _SMALLEST <= scale < 1 else 1.0
    wanted, least = [scale * width for width in wanted], [scale * width for width in least]
    return tuple(
        Part(
            SIZE_PT * scale,
            tuple(table.columns[number] for number in group),
            _shared_pt([least[number] for number in group], [wanted[number] for number in group], page_pt),
            tuple(tuple(row[number] for number in group) for row in table.rows),
        )
        for group in _groups(least, page_pt)
    )


def _groups(least: list[float], page_pt: float) -> list[list[int]]:
    """Divide the columns of a table into groups that fit the width of the page; each group begins with the first
    column.
    """
    groups, used = [[0]], least[0]
    for number, width in enumerate(least[1:], 1):
        if used + GAP_PT + width > page_pt + _ROUNDING_PT and len(groups[-1]) > 1:
            groups.append([0])
            used = least[0]
        groups[-1].append(number)
        used += GAP_PT + width
    return groups


def _head(column: Column) -> str:
    return f"{column.title} [{column.unit}]" if column.unit and column.unit != "1" else column.title


def _cells(table: Table, number: int) -> list[str]:
    return [row[number] for row in table.rows]


def _wanted_pt(table: Table, number: int) -> float:
    """Return the width of a column if only its heading may have line breaks. [pt]"""
    return max([_longest_pt(_head(table.columns[number]), bold=True), *map(width_pt, _cells(table, number))])


def _least_pt(table: Table, number: int, whole: float, text_pt: float) -> float:
    """Return the smallest acceptable width of a column, which shows its longest word and its numbers without line
    breaks. A column of text whose cells are longer has at least the width `text_pt`. [pt]
    """
    column, cells = table.columns[number], _cells(table, number)
    longest = max([_longest_pt(_head(column), bold=True), *map(_longest_pt, cells)])
    if column.numeric:
        return max(longest, min(whole, _NUMBER_PT))
    return max(longest, min(whole, text_pt))


def _longest_pt(text: str, *, bold: bool = False) -> float:
    return max(width_pt(word, bold=bold) for word in _BREAKS.split(text))


def _shared_pt(least: list[float], wanted: list[float], page_pt: float) -> tuple[float, ...]:
    """Distribute the width of the page among columns. [pt]

    If all columns fit with their wanted width, they get this width. Otherwise, each column gets its smallest width, and
    a share of the remaining width in proportion to its missing width. If even the smallest widths do not fit, all are
    reduced by the same factor.
    """
    room = page_pt - GAP_PT * (len(least) - 1)
    if sum(wanted) <= room:
        return tuple(wanted)
    spare, lacking = room - sum(least), sum(wanted) - sum(least)
    if spare < 0:
        return tuple(width * room / sum(least) for width in least)
    return tuple(low + spare * (high - low) / lacking for low, high in zip(least, wanted, strict=True))

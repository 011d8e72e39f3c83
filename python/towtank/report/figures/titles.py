"""Splits titles of axes into lines."""

from __future__ import annotations

import textwrap

_LETTER_PX = 6  # Mean width of a letter in the title of an axis. [px]


def in_lines(title: str, length: int) -> str | list[str]:
    """Split the title of an axis into lines if it is longer than the axis [px]; a unit stays with the word before
    it.
    """
    tied = title.replace(" [", "\N{NO-BREAK SPACE}[")
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in textwrap.wrap(tied, length // _LETTER_PX)]
    return title if len(lines) < 2 else lines


def in_one_line(title: str | list[str] | None) -> str:
    """Join the lines of a title."""
    return title if isinstance(title, str) else " ".join(title or ())

"""Shapes of printed output: the same lines, columns and labels, whatever the numbers."""

from __future__ import annotations

import re

_DATE = re.compile(r"\d{4}-?\d{2}-?\d{2}([-T ]?\d{2}:?\d{2}:?\d{2})?")
_NUMBER = re.compile(r"(?<![A-Za-z_\d])[-+−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
_TIME = re.compile(r"# ?(?:ns|µs|ms|s|min|h)\b")
_SIZE = re.compile(r"# ?(?:bytes|[kKMGT]i?B)\b")
_INTERVAL = re.compile(r"# \[#, #\]")


def shape(line: str) -> str:
    """Return a line with its numbers, times and sizes replaced, and blanks taken together.

    Examples
    --------
    >>> shape("all runs   50  100 [90, 111] /s 908 µs 1.64 ms  0.0750 valid")
    'all runs # # /s # t # t # valid'
    """
    text = _NUMBER.sub("#", _DATE.sub("#", line))
    text = _INTERVAL.sub("#", _SIZE.sub("# B", _TIME.sub("# t", text)))
    return " ".join(re.sub(r"[─━═]+", "─", text).split())


def shapes(text: str) -> list[str]:
    """Shapes of the lines that are not blank."""
    return [shape(line) for line in text.splitlines() if line.strip()]


def missing(shown: str, printed: str, *, part: bool, free: tuple[str, ...] = ()) -> list[str]:
    """Return the lines that are shown and were not printed, in their order; `+` marks those printed and not shown."""
    wanted = [_freed(line, free) for line in shapes(shown)]
    found = [_freed(line, free) for line in shapes(printed)]
    if not part:
        return [] if wanted == found else _differences(wanted, found)
    rest = iter(found)
    return [line for line in wanted if line not in rest]


def _freed(line: str, free: tuple[str, ...]) -> str:
    """Return a line that depends on what was measured up to its first words."""
    return next((begins for begins in free if line.startswith(begins)), line)


def _differences(wanted: list[str], found: list[str]) -> list[str]:
    lines = [f"- {line}" for line in wanted if line not in found] + [
        f"+ {line}" for line in found if line not in wanted
    ]
    return lines or ["the same lines in another order, or another number of them", *found]

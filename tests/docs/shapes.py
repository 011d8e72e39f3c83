"""Shapes of printed output: lines, columns and labels without the numbers."""

from __future__ import annotations

import re

_DATE = re.compile(r"\d{4}-?\d{2}-?\d{2}([-T ]?\d{2}:?\d{2}:?\d{2})?")
_NUMBER = re.compile(r"(?<![A-Za-z_\d])[-+−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
_TIME = re.compile(r"# ?(?:ns|µs|us|ms|s|min|h)\b")
_SIZE = re.compile(r"# ?(?:bytes|[kKMGT]i?B)\b")
_VERDICT = re.compile(r"\b(?:valid|suspect|invalid)\b")
_VERDICTS = re.compile(r"# verdict(?:, # verdict)+")
_INTERVAL = re.compile(r"# \[#, #\]")
# The progress line of a second without a response contains no p95.
_PROGRESS = re.compile(r"(# t\s+\w+: # users, #/s), p95 # t")


def shape(line: str) -> str:
    """Return a line with its numbers, times and sizes replaced, and repeated blanks joined.

    Examples
    --------
    >>> shape("all runs   50  100 [90, 111] /s 908 µs 1.64 ms  0.0750 valid")
    'all runs # # /s # t # t # verdict'
    >>> shape("all runs   50  100 [90, 111] /s 908 [880, 940] µs 1.64 ms  0.0750 valid")
    'all runs # # /s # t # t # verdict'
    >>> shape("  20 s  steady: 50 users, 89.0/s, p95 1 ms"), shape("  30 s  steady: 50 users, 0.0/s")
    ('# t steady: # users, #/s', '# t steady: # users, #/s')
    """
    plain = line.replace("\N{NO-BREAK SPACE}", " ")
    text = _INTERVAL.sub("#", _NUMBER.sub("#", _DATE.sub("#", plain)))
    text = _PROGRESS.sub(r"\1", _SIZE.sub("# B", _TIME.sub("# t", text)))
    text = _VERDICTS.sub("# verdict", _VERDICT.sub("verdict", text))
    return " ".join(re.sub(r"[─━═]+", "─", text).split())


def shapes(text: str) -> list[str]:
    """Return the shapes of the non-blank lines of an output; consecutive lines of the same shape count once."""
    found = [shape(line) for line in text.splitlines() if line.strip()]
    return [line for number, line in enumerate(found) if number == 0 or found[number - 1] != line]


def missing(shown: str, printed: str, *, part: bool, free: tuple[str, ...] = (), disturbed: bool = False) -> list[str]:
    """Return the lines of the page that were not printed, in their order, and the printed lines that are not on the
    page, with the mark `+`.

    Parameters
    ----------
    shown, printed : str
        Output on the page, and output of the command.
    part : bool
        True if the page shows a part of the output.
    free : tuple of str
        Beginnings of lines; the remainder of such a line is not compared.
    disturbed : bool
        True if the measurement is invalid, so that values are missing. Then only lines without a number are compared.
    """
    wanted = [_freed(line, free) for line in shapes(shown) if not (disturbed and "#" in line)]
    found = [_freed(line, free) for line in shapes(printed)]
    if not part and not disturbed:
        return [] if wanted == found else _differences(wanted, found)
    rest = iter(found)
    return [line for line in wanted if line not in rest]


def _freed(line: str, free: tuple[str, ...]) -> str:
    """Return a line of output without its variable part: only the matching entry of `free`, if there is one."""
    return next((begins for begins in free if line.startswith(begins)), line)


def _differences(wanted: list[str], found: list[str]) -> list[str]:
    lines = [f"- {line}" for line in wanted if line not in found] + [
        f"+ {line}" for line in found if line not in wanted
    ]
    return lines or ["the same lines in another order, or another number of them", *found]

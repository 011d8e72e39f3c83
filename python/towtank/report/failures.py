"""Renders the first failed exchanges of a run or study for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from towtank.analysis import read_exchanges
from towtank.terminal import visible


def failure_lines(document: Mapping[str, object], at_most: int, place: str) -> list[str]:
    """Return at most the given number of first failed exchanges as lines, and the place of the others; empty if nothing
    failed, or if the engine did not record any. The document is a summary, or the result of `towtank drive`.

    Examples
    --------
    >>> failed = {"step": "GET /", "failure": "status_5xx", "check": "status", "expected": "200", "got": "503"}
    >>> failure_lines({"failed_exchanges": [failed, failed]}, 1, "in the report")
    ['first failure of GET /: status: expected 200, got 503', 'further kinds of failures: 1 (in the report)']
    """
    found = read_exchanges(document)
    lines = [line for each in found[:at_most] for line in (f"first failure of {each.lines[0]}", *each.lines[1:])]
    further = len(found) - at_most
    return [*map(visible, lines), *([f"further kinds of failures: {further} ({place})"] if further > 0 else [])]

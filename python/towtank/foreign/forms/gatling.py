"""Reads the text format of Gatling's `simulation.log`, used before version 3.11: one event per line, tab-separated."""

from __future__ import annotations

from towtank.foreign.forms.found import Found
from towtank.foreign.requests import BadRowError, Collector, number
from towtank.foreign.source import Source

NAME = "Gatling simulation.log (text)"
_OUTCOMES = ("OK", "KO")


def recognises(head: str) -> bool:
    """Return True if one of the first five lines is an event of Gatling."""
    return any(line.startswith(("RUN\t", "REQUEST\t", "USER\t")) for line in head.splitlines()[:5])


def read(source: Source, rows: Collector) -> Found:
    """Read the requests of a Gatling log. In every version, the columns before the outcome are name, start and end."""
    for line, text in enumerate(source.lines(), start=1):
        if not text.startswith("REQUEST"):
            continue
        cells = text.rstrip("\r\n").split("\t")
        try:
            place = next((at for at, cell in enumerate(cells) if at > 3 and cell in _OUTCOMES), None)
            if place is None:
                raise BadRowError("a request without an outcome OK or KO")
            start, end = number(cells[place - 2], "start"), number(cells[place - 1], "end")
            rows.add(start / 1e3, (end - start) / 1e3, cells[place] == "OK", cells[place - 3])
        except BadRowError as fault:
            rows.skipped.add(str(fault), line)
    return Found()

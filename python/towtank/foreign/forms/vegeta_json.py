"""Reads the JSON lines of `vegeta encode`: one result per line, latency in nanoseconds."""

from __future__ import annotations

import json

from towtank.foreign.forms.found import Found
from towtank.foreign.forms.tables import instant
from towtank.foreign.requests import BadRowError, Collector, number_of, text_of
from towtank.foreign.source import Source

NAME = "vegeta JSON"


def recognises(head: str) -> bool:
    """Return True if the first line is the JSON object that vegeta writes for a request."""
    first = next((line for line in head.splitlines() if line.strip()), "")
    return first.startswith("{") and all(f'"{name}"' in first for name in ("latency", "timestamp", "code"))


def read(source: Source, rows: Collector) -> Found:
    """Read one request per line. It is a success if vegeta recorded no error and the status is from 200 to 399."""
    for line, text in enumerate(source.lines(), start=1):
        if not text.strip():
            continue
        try:
            _add(text, rows)
        except BadRowError as fault:
            rows.skipped.add(str(fault), line)
    return Found()


def _add(text: str, rows: Collector) -> None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadRowError("not a line of JSON")
    code = number_of(found, "code")
    ok = not text_of(found, "error") and 200 <= code < 400
    start = instant(text_of(found, "timestamp"), "timestamp")
    rows.add(start, number_of(found, "latency") / 1e9, ok, text_of(found, "attack"))

"""Reads the JSON lines of `k6 run --out json=FILE`: one value of a metric per line."""

from __future__ import annotations

import json

from towtank.foreign.forms.found import Found
from towtank.foreign.forms.k6_values import METRICS, Values
from towtank.foreign.forms.tables import instant
from towtank.foreign.requests import BadRowError, Collector, mapping_of, number_of, text_of
from towtank.foreign.source import Source

NAME = "k6 JSON"
_WANTED = tuple(f'"{name}"' for name in METRICS)


def recognises(head: str) -> bool:
    """Return True if the first line defines a k6 metric or contains a value of one."""
    first = next((line for line in head.splitlines() if line.strip()), "")
    return first.startswith("{") and '"metric"' in first and ('"Point"' in first or '"Metric"' in first)


def read(source: Source, rows: Collector) -> Found:
    """Read the k6 metrics that measure requests; lines of other metrics are ignored."""
    values = Values()
    for line, text in enumerate(source.lines(), start=1):
        # Most lines belong to other metrics. They are not parsed, because parsing would take most of the time.
        if not text.strip() or not any(name in text for name in _WANTED):
            if text.strip() and not text.rstrip().endswith("}"):
                rows.skipped.add("not a line of JSON", line)
            continue
        try:
            _add(text, values)
        except BadRowError as fault:
            rows.skipped.add(str(fault), line)
    return values.best(rows)


def _add(text: str, values: Values) -> None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise BadRowError("not a line of JSON") from None
    if not isinstance(found, dict):
        raise BadRowError("not a line of JSON")
    metric = text_of(found, "metric")
    if text_of(found, "type") != "Point" or metric not in METRICS:
        return
    data = mapping_of(found, "data")
    end = instant(text_of(data, "time"), "time")
    values.add(metric, end, number_of(data, "value"), mapping_of(data, "tags"))

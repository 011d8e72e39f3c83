"""Reads the CSV of `k6 run --out csv=FILE`: one value of a metric per row; by default times are whole seconds."""

from __future__ import annotations

from towtank.foreign.forms.found import Found
from towtank.foreign.forms.k6_values import METRICS, Values
from towtank.foreign.forms.tables import cells, has_columns, instant
from towtank.foreign.requests import BadRowError, Collector, number, number_of, text_of
from towtank.foreign.source import Source

NAME = "k6 CSV"
# Number of digits of a time in seconds since 1970, from 2001 to 2286. In milliseconds, microseconds and nanoseconds,
# the time has three, six and nine digits more. [1]
_DIGITS_OF_SECONDS = 10


def recognises(head: str) -> bool:
    """Return True if the header has the columns that k6 writes."""
    return has_columns(head, ("metric_name", "timestamp", "metric_value"))


def read(source: Source, rows: Collector) -> Found:
    """Read the k6 metrics that measure requests; rows of other metrics are ignored."""
    values = Values()
    for line, row in cells(source, rows):
        metric = text_of(row, "metric_name")
        try:
            if metric in METRICS:
                values.add(metric, _end(text_of(row, "timestamp")), number_of(row, "metric_value"), row)
        except BadRowError as fault:
            rows.skipped.add(str(fault), line)
    return values.best(rows)


def _end(text: str) -> float:
    """Parse the end of a request: RFC 3339, or seconds, milli-, micro- or nanoseconds since 1970. [s]"""
    if "T" in text:
        return instant(text, "timestamp")
    digits = len(text.partition(".")[0].lstrip("-"))
    return float(number(text, "timestamp") / 1000.0 ** max(0, round((digits - _DIGITS_OF_SECONDS) / 3)))

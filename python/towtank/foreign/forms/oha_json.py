"""Reads the summary of `oha --output-format json` (in older versions `--json`)."""

from __future__ import annotations

from towtank.foreign.forms.documents import document, fraction, number_at, table_at
from towtank.foreign.forms.found import Found
from towtank.foreign.requests import Collector, Summary
from towtank.foreign.source import Source

NAME = "oha JSON"


def recognises(head: str) -> bool:
    """Return True if the document has the keys of a summary of oha."""
    return head.lstrip().startswith("{") and '"successRate"' in head and '"requestsPerSec"' in head


def read(source: Source, rows: Collector) -> Found:
    """Read counts, throughput, mean and percentiles from the summary of oha.

    A status of 400 or more is counted as an error here, although oha counts it as a success.
    """
    del rows
    found = document(source)
    codes = {code: int(count) for code, count in table_at(found, "statusCodeDistribution").items()}
    broken = sum(int(count) for count in table_at(found, "errorDistribution").values())
    errors = broken + sum(count for code, count in codes.items() if not code.isdigit() or int(code) >= 400)
    requests = sum(codes.values()) + broken
    total, rate = number_at(found, "summary", "total"), number_at(found, "summary", "requestsPerSec")
    if total and requests:
        rate = (requests - errors) / total
    percentiles = {name: value for name, value in table_at(found, "latencyPercentiles").items() if fraction(name)}
    mean = number_at(found, "summary", "average")
    return Found(Summary(requests or None, errors if requests else None, total, rate, mean, percentiles))

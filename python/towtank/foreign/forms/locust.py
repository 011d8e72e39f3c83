"""Reads Locust's `_stats_history.csv` and `_stats.csv`, which contain counts and percentiles of all requests."""

from __future__ import annotations

from collections.abc import Mapping

from towtank.foreign.forms.documents import together
from towtank.foreign.forms.found import Found
from towtank.foreign.forms.tables import cells, has_columns
from towtank.foreign.requests import BadRowError, Collector, Summary, number_of, text_of
from towtank.foreign.source import Source

NAME = "Locust stats or stats_history CSV"
_AGGREGATED = "aggregated"
_SHARES = {
    name: float(name.rstrip("%")) / 100
    for name in ("50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%", "99.9%", "99.99%", "100%")
}
_HISTORY = (
    "the history has rounded percentiles of sliding windows of ten seconds; here they are combined by linear "
    "interpolation, weighted by the request rates; stats.csv has the percentiles of the whole run"
)
_STATS = "Locust rounds response times to two digits in its percentiles"


def recognises(head: str) -> bool:
    """Return True if the header is that of `_stats_history.csv` or `_stats.csv`."""
    return has_columns(head, ("timestamp", "user count", "total request count")) or has_columns(
        head, ("type", "name", "request count", "average response time")
    )


def read(source: Source, rows: Collector) -> Found:
    """Read the rows `Aggregated` (in older versions `Total`), which combine all requests."""
    kept = [
        (line, row)
        for line, row in cells(source, rows)
        if text_of(row, "name").lower() in (_AGGREGATED, "total") and not text_of(row, "type")
    ]
    if has_columns(source.head, ("user count", "total request count")):
        return _history(kept, rows)
    return _stats(kept, rows)


def _history(kept: list[tuple[int, dict[str, str]]], rows: Collector) -> Found:
    """Return counts and mean from the last row of `_stats_history.csv`, and percentiles combined over all rows."""
    good = []
    for line, row in kept:
        try:
            at, total = number_of(row, "timestamp"), number_of(row, "total request count")
            good.append((at, total, row))
        except BadRowError as fault:
            rows.skipped.add(str(fault), line)
    good = [each for each in good if each[1] > 0]
    if not good:
        return Found(Summary(None, None, None, None, None, {}), (_HISTORY,))
    (first, before, _), (last, requests, row) = good[0], good[-1]
    errors = _known(row, "total failure count") or 0.0
    length = last - first
    failed_before = _known(good[0][2], "total failure count") or 0.0
    good_ones = requests - before - (errors - failed_before)
    mean = _known(row, "total average response time")
    parts = []
    for _, _, each in good:
        quantiles = _quantiles(each)
        rate = _known(each, "requests/s")
        if quantiles and rate:
            parts.append((rate, quantiles))
    percentiles = together(parts)
    median = _known(row, "total median response time")
    if median is not None:
        percentiles |= {"p50": median / 1e3}
    rate_of_all = good_ones / length if length > 0 else None
    summary = Summary(int(requests), int(errors), length or None, rate_of_all, _seconds(mean), percentiles)
    return Found(summary, (_HISTORY,))


def _stats(kept: list[tuple[int, dict[str, str]]], rows: Collector) -> Found:
    """Return the figures of `_stats.csv`, from its last row that combines all requests."""
    if not kept:
        rows.skipped.add("no row that combines all requests (Aggregated)", None)
        return Found(Summary(None, None, None, None, None, {}), (_STATS,))
    row = kept[-1][1]
    requests, errors = _known(row, "request count"), _known(row, "failure count")
    rate, failed = _known(row, "requests/s"), _known(row, "failures/s")
    good = None if rate is None else rate - (failed or 0.0)
    length = requests / rate if requests and rate else None
    percentiles = together([(1.0, _quantiles(row))])
    mean = _seconds(_known(row, "average response time"))
    counts = [None if count is None else int(count) for count in (requests, errors)]
    return Found(Summary(counts[0], counts[1], length, good, mean, percentiles), (_STATS,))


def _quantiles(row: Mapping[str, str]) -> dict[float, float]:
    """Return the percentiles of a row, by their fraction in [0, 1]. [s]"""
    found = {share: _known(row, name) for name, share in _SHARES.items()}
    return {share: value / 1e3 for share, value in found.items() if value is not None}


def _known(row: Mapping[str, str], name: str) -> float | None:
    """Return the number in a cell of a row; None for an empty cell or `N/A`."""
    try:
        value = float(row.get(name) or "nan")
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def _seconds(value_ms: float | None) -> float | None:
    return None if value_ms is None else value_ms / 1e3

"""Reads the percentile distribution of an HdrHistogram as text, as wrk2 and `vegeta report -type=hdrplot` print it."""

from __future__ import annotations

import re

from towtank.foreign.forms.documents import together
from towtank.foreign.forms.found import Found
from towtank.foreign.requests import Collector, Summary
from towtank.foreign.source import Source

NAME = "HdrHistogram percentiles (wrk2)"
_HEAD = re.compile(r"^[ \t]*Value(\(ms\))?\s+Percentile\s+TotalCount\s+1/\(1-Percentile\)", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*([\d.]+)\s+([01]\.\d+)\s+(\d+)(?:\s+(?:[\d.]+|inf))?\s*$")
_MEAN = re.compile(r"#\[Mean\s*=\s*([\d.]+)")
_COUNT = re.compile(r"#\[Max\s*=\s*[\d.]+,\s*Total count\s*=\s*(\d+)")
_REQUESTS = re.compile(r"^[ \t]*(\d+) requests in ([\d.]+)(ms|s|m|h),", re.MULTILINE)
_RATE = re.compile(r"^Requests/sec:\s*([\d.]+)", re.MULTILINE)
_FAILED = re.compile(r"^[ \t]*Non-2xx or 3xx responses:\s*(\d+)", re.MULTILINE)
_SOCKET = re.compile(r"^[ \t]*Socket errors:\s*connect (\d+), read (\d+), write (\d+), timeout (\d+)", re.MULTILINE)
_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_NOTE = "values are read as milliseconds, the unit in which wrk2 and vegeta print them"
_COUNTED = "wrk2 counted {:,} requests, but measured only the {:,} requests after its calibration"


def recognises(head: str) -> bool:
    """Return True if the text contains the heading of a percentile distribution."""
    return bool(_HEAD.search(head))


def read(source: Source, rows: Collector) -> Found:
    """Read the percentiles and the mean of a distribution, and the counts that wrk2 prints below it."""
    text = source.text()
    spectrum = _HEAD.split(text, maxsplit=1)[-1].split("\n\n#")[0]
    quantiles, last = dict[float, float](), 0
    for line in spectrum.splitlines():
        row = _ROW.match(line)
        if row is None:
            if line.startswith(("#[", "---")):
                break
            continue
        quantiles.setdefault(float(row[2]), float(row[1]) / 1e3)
        last = int(row[3])
    mean, count, ran, rate = (each.search(text) for each in (_MEAN, _COUNT, _REQUESTS, _RATE))
    if not quantiles:
        rows.skipped.add("no row of the distribution can be read", None)
    timed = int(count[1]) if count else last
    requests = int(ran[1]) if ran else timed
    length = float(ran[2]) * _UNITS[ran[3]] if ran else None
    failed, socket = _FAILED.search(text), _SOCKET.search(text)
    errors = (int(failed[1]) if failed else 0) + (sum(map(int, socket.groups())) if socket else 0)
    throughput = float(rate[1]) if rate else None
    if throughput is not None and requests and failed:
        throughput *= max(0.0, 1 - int(failed[1]) / requests)
    notes = (_NOTE, *((_COUNTED.format(requests, timed),) if ran and requests != timed else ()))
    mean_s = float(mean[1]) / 1e3 if mean else None
    summary = Summary(
        requests or None, errors if ran else None, length, throughput, mean_s, together([(timed, quantiles)])
    )
    return Found(summary, notes)

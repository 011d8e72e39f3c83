"""Reads documents of `fio --output-format=json` (or json+). All jobs, and their reads, writes and trims, are
combined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from towtank.foreign.forms.documents import document, number_at, table_at, together
from towtank.foreign.forms.found import Found
from towtank.foreign.requests import Collector, Summary
from towtank.foreign.source import Source

NAME = "fio JSON"
_JOBS = "jobs"
_DIRECTIONS = ("read", "write", "trim")
# Keys of the response times in fio's document, in order of preference, each with the number of its time units in a
# second. `lat` is the total time of a request, `clat` the time from submission to completion.
_TIMES = (("lat_ns", 1e9), ("clat_ns", 1e9), ("lat", 1e6), ("clat", 1e6))
_NOTE = "percentiles over several jobs or directions are interpolated linearly from the quantiles of each"


def recognises(head: str) -> bool:
    """Return True if the document contains the key `fio version`."""
    return '"fio version"' in head


def read(source: Source, rows: Collector) -> Found:
    """Read counts, throughput, mean and percentiles over all jobs of fio."""
    del rows
    found = document(source)
    jobs = _jobs(found)
    parts = [part for job in jobs for part in _parts(job)]
    requests = sum(int(number_at(part, "total_ios") or 0) for part in parts)
    errors = sum(int(number_at(job, "total_err") or 0) for job in jobs)
    length = max((number_at(part, "runtime") or 0.0 for part in parts), default=0.0) / 1e3
    rate = sum(number_at(part, "iops") or 0.0 for part in parts)
    means = [(number_at(part, "total_ios") or 0.0, mean) for part in parts if (mean := _mean_s(part)) is not None]
    timed = sum(count for count, _ in means)
    mean_s = sum(count * mean for count, mean in means) / timed if timed else None
    quantiles = [(number_at(part, "total_ios") or 0.0, _quantiles_s(part)) for part in parts]
    notes = (_NOTE,) if len(parts) > 1 else ()
    summary = Summary(requests or None, errors, length or None, rate or None, mean_s, together(quantiles))
    return Found(summary, notes)


def _jobs(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    jobs = found.get(_JOBS)
    return [job for job in jobs if isinstance(job, dict)] if isinstance(jobs, list) else []


def _parts(job: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the results of a fio job for reads, writes and trims, as far as the job made such requests."""
    for direction in _DIRECTIONS:
        part = job.get(direction)
        if isinstance(part, dict) and number_at(part, "total_ios"):
            yield part


def _mean_s(part: Mapping[str, Any]) -> float | None:
    return next((mean / per_s for name, per_s in _TIMES if (mean := number_at(part, name, "mean")) is not None), None)


def _quantiles_s(part: Mapping[str, Any]) -> dict[float, float]:
    for name, per_s in _TIMES:
        found = table_at(part, name, "percentile")
        if found:
            least = number_at(part, name, "min")
            known = {float(share) / 100: value / per_s for share, value in found.items()}
            return known if least is None else {0.0: least / per_s, **known}
    return {}

"""Reads the busy time of resources and the throughput of classes in short intervals from the run folders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from towtank.analysis import RunData, read_run
from towtank.files import FilesVersion, version_of
from towtank.model.fitting.demand_estimators import Series
from towtank.model.fitting.measured import Resource
from towtank.model.fitting.observations import Floats
from towtank.results import RunFolder

# Length of an interval, in mean response times. A transaction is counted when it ends but uses resources before
# that time, so an interval must be longer than a transaction. [1]
_RESPONSES_PER_INTERVAL = 2.0
_LEAST_INTERVALS = 4
WORTH_A_DEMAND = 0.05
"""Lowest utilization of a disk at which its demand is reported. [ratio]"""


@dataclass(frozen=True)
class RunSeries:
    """Time series of a run, in intervals whose length depends on the response times of the run: lengths of the
    intervals [s], ended transactions [1] and the sum of their response times [s] by class, and busy time by resource,
    NaN if not observed [s].
    """

    name: str
    seconds: Floats
    counts: dict[str, Floats]
    response_sums: dict[str, Floats]
    busy: dict[str, Floats]


def read_series(runs: Sequence[RunFolder], resources: Sequence[Resource]) -> tuple[list[RunSeries], dict[str, int]]:
    """Return the time series of all runs, and the number of servers of each resource that the series contain.

    Resources are the CPUs of tiers, parts of tiers (`tier / part`) and the disks of the host (`disk NAME`).
    """
    found = [series for run in runs if (series := _series_of(run, resources)) is not None]
    servers = {resource.name: resource.servers for resource in resources}
    for run_series in found:
        for name in run_series.busy:
            servers.setdefault(name, 1)
    return found, servers


def _series_of(run: RunFolder, resources: Sequence[Resource]) -> RunSeries | None:
    files = [path for folder in (run.path, run.engine, run.observe) for path in folder.glob("*") if path.is_file()]
    return _known_series(run.path, tuple(resources), version_of(sorted(files)))


@lru_cache(maxsize=128)
def _known_series(path: Path, resources: tuple[Resource, ...], _version: FilesVersion) -> RunSeries | None:
    """Read the time series of a run only once; the version makes the cache read changed records anew."""
    run = RunFolder(path)
    return _one_run(read_run(run), run.run_id, resources)


def _one_run(data: RunData, name: str, resources: Sequence[Resource]) -> RunSeries | None:
    chosen = np.flatnonzero(data.chosen)
    columns = data.measurement.columns("transaction")
    if not len(chosen) or not columns:
        return None
    ended = sum(float(column.ended[chosen].sum()) for column in columns.values())
    if not ended:
        return None
    mean = sum(float(column.response_sum_s[chosen].sum()) for column in columns.values()) / ended
    length = max(1, math.ceil(_RESPONSES_PER_INTERVAL * mean / data.measurement.bin_s))
    count = len(chosen) // length
    if count < _LEAST_INTERVALS:
        return None
    # Some intervals are one bin longer, so that the series covers the whole measurement window.
    firsts = np.arange(count) * len(chosen) // count

    def summed(values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values[chosen], firsts), dtype=float)

    return RunSeries(
        name,
        summed(data.measurement.lengths),
        {key: summed(column.ended) for key, column in columns.items()},
        {key: summed(column.response_sum_s) for key, column in columns.items()},
        {key: summed(values) for key, values in _busy(data, resources).items()},
    )


def _busy(data: RunData, resources: Sequence[Resource]) -> dict[str, Floats]:
    measurement, observed = data.measurement, data.observed
    found: dict[str, Floats] = {}
    for resource in resources:
        tiers = [observed.cpu_s(tier, measurement) for tier in resource.tiers if tier in observed.tiers]
        if tiers:
            found[resource.name] = np.asarray(np.sum(tiers, axis=0), dtype=float) / resource.part
        for tier in resource.tiers:
            for part in observed.parts(tier):
                seconds = observed.part_cpu_s(tier, part, measurement)
                if seconds is not None:
                    found[f"{tier} / {part.name}"] = seconds / resource.part
    for disk in sorted({key for sample in observed.samples.samples[-1:] for key in sample.get("disks", {})}):
        track = observed.samples.track("disks", disk, "busy_s_total")
        seconds = track.by_bin(measurement.starts, measurement.ends)
        if np.nansum(seconds) > WORTH_A_DEMAND * float(measurement.lengths.sum()):
            found[f"disk {disk}"] = seconds
    return found


def pooled(runs: Sequence[RunSeries], resource: str, servers: int, *, timed: bool) -> tuple[Series, list[str]] | None:
    """Return the intervals of all runs for one resource, and the names of the classes; None if there are too few
    intervals.

    If `timed`, the series includes response times. They are meaningful only for the bottleneck, where
    transactions spend most of their response time.
    """
    names = sorted({name for run in runs for name, counts in run.counts.items() if counts.any()})
    busy, rates, responses, stretches = [], [], [], []
    for number, run in enumerate(runs):
        seconds = run.busy.get(resource)
        if seconds is None:
            continue
        seen = np.isfinite(seconds) & (run.seconds > 0)
        zero = np.zeros(len(run.seconds))
        counts = np.stack([run.counts.get(name, zero) for name in names], axis=1)[seen]
        sums = np.stack([run.response_sums.get(name, zero) for name in names], axis=1)[seen]
        busy.append(seconds[seen] / run.seconds[seen])
        rates.append(counts / run.seconds[seen, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            responses.append(np.where(counts > 0, sums / counts, np.nan))
        stretches.append(np.full(int(seen.sum()), float(number)))
    rows = sum(len(shares) for shares in busy)
    # The unknowns are one demand for each class and the background. An estimate needs three intervals for each unknown.
    if not names or rows < 3 * (len(names) + 1):
        return None
    times = np.concatenate(responses) if timed else None
    return Series(np.concatenate(busy), np.concatenate(rates), times, servers, np.concatenate(stretches)), names

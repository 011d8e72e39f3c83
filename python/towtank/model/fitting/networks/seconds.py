"""Collects the measurements for a network fit: short intervals of every run, load levels, and bootstrap replicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from towtank.analysis import LoadPoint
from towtank.errors import MeasurementError
from towtank.model.fitting.demand_series import RunSeries, read_series
from towtank.model.fitting.measured import Configuration, Resource
from towtank.model.fitting.observations import Floats

PART = " / "
"""Separator between a tier and its part in the name of a resource, or between a transaction and its step.

A part shares the CPUs of its tier.
"""
# A class is fitted only if it has at least this number of transactions over all load levels. Fewer transactions give no
# reliable mean response time. [1]
_LEAST_COUNT = 20


@dataclass(frozen=True)
class Run:
    """Short intervals of the steady window of one run.

    Attributes
    ----------
    level : int
        Index of the load level.
    seconds : ndarray of shape (n_intervals,)
        Lengths of the intervals. [s]
    counts, response_sums : ndarray of shape (n_intervals, n_classes)
        Transactions that ended, and the sum of their response times. [1], [s]
    busy : ndarray of shape (n_intervals, n_stations)
        Busy time of the servers; under a CPU quota, CPU time. [s]
    """

    level: int
    seconds: Floats
    counts: Floats
    response_sums: Floats
    busy: Floats

    def drawn(self, stream: np.random.Generator) -> Run:
        """Draw a bootstrap replicate of a run with the same number of intervals. Blocks of consecutive intervals are
        drawn with replacement (Künsch 1989).
        """
        rows = len(self.seconds)
        length = max(1, round(rows ** (1 / 3)))
        firsts = stream.integers(0, rows, -(-rows // length))
        # Blocks wrap around, so that intervals at both ends of the run are drawn as often as intervals in the middle.
        chosen = ((firsts[:, None] + np.arange(length)) % rows).ravel()[:rows]
        return Run(self.level, self.seconds[chosen], self.counts[chosen], self.response_sums[chosen], self.busy[chosen])


@dataclass(frozen=True)
class Levels:
    """Mean values at each load level.

    Attributes
    ----------
    rates : ndarray of shape (n_levels, n_classes)
        Throughputs X_c. [1/s]
    responses : ndarray of shape (n_levels, n_classes)
        Mean response times R_c; NaN if no transaction of the class ended. [s]
    counts : ndarray of shape (n_levels, n_classes)
        Transactions that ended. [1]
    busy : ndarray of shape (n_levels, n_stations)
        Busy servers. [1]
    """

    rates: Floats
    responses: Floats
    counts: Floats
    busy: Floats

    @property
    def throughput(self) -> Floats:
        """Total throughput X of all classes at each load level. [1/s]"""
        return np.asarray(self.rates.sum(axis=1), dtype=float)

    @property
    def shares(self) -> Floats:
        """Share of each class in the throughput of a load level. If no transaction ended at a level, the share over all
        levels is used. [ratio]
        """
        total = self.rates.sum(axis=0)
        pooled = total / total.sum() if total.sum() else np.full(len(total), 1 / len(total))
        ended = self.throughput[:, None]
        return np.where(ended > 0, self.rates / np.where(ended > 0, ended, 1.0), pooled)

    @property
    def response(self) -> Floats:
        """Mean response time R of all transactions at each level; NaN if no transaction ended. [s]"""
        known = np.where(self.counts > 0, self.responses, 0.0)
        ended = self.counts.sum(axis=1)
        times = (known * self.counts).sum(axis=1) / np.where(ended > 0, ended, 1.0)
        return np.where(ended > 0, times, np.nan)


@dataclass(frozen=True)
class Measured:
    """Measurements of a configuration for a network fit.

    Attributes
    ----------
    classes : tuple of str
        Names of the transactions that ended at least `_LEAST_COUNT` times.
    loads : ndarray of shape (n_levels,)
        Users. [1]
    think : ndarray of shape (n_levels,)
        Think time Z. [s]
    others : ndarray of shape (n_levels, n_stations)
        Servers that other programs kept busy. [1]
    visits : ndarray of shape (n_classes,)
        Requests of each transaction; 1 if requests were not counted. [1]
    left_out : tuple of str
        Levels that were left out, each with the reason.
    """

    label: str
    classes: tuple[str, ...]
    stations: tuple[Resource, ...]
    loads: Floats
    think: Floats
    others: Floats
    visits: Floats
    runs: tuple[Run, ...]
    left_out: tuple[str, ...] = ()

    def levels(self) -> Levels:
        """Return the mean values of each load level over its runs."""
        count = len(self.loads)
        rates = np.zeros((count, len(self.classes)))
        sums, counts = rates.copy(), rates.copy()
        busy = np.zeros((count, len(self.stations)))
        seconds = np.zeros(count)
        for run in self.runs:
            seconds[run.level] += run.seconds.sum()
            counts[run.level] += run.counts.sum(axis=0)
            sums[run.level] += run.response_sums.sum(axis=0)
            busy[run.level] += run.busy.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            responses = np.where(counts > 0, sums / counts, np.nan)
        return Levels(counts / seconds[:, None], responses, counts, busy / seconds[:, None])

    def below(self, highest: int) -> Measured:
        """Return the measurements without the highest load levels."""
        kept = len(self.loads) - highest
        return replace(
            self,
            loads=self.loads[:kept],
            think=self.think[:kept],
            others=self.others[:kept],
            runs=tuple(run for run in self.runs if run.level < kept),
        )

    def drawn(self, stream: np.random.Generator) -> Measured:
        """Draw a bootstrap replicate of the measurements.

        The runs of each load level are drawn at random; in each drawn run, blocks of intervals are drawn.
        """
        runs: list[Run] = []
        for level in range(len(self.loads)):
            of_level = [run for run in self.runs if run.level == level]
            runs += [of_level[place].drawn(stream) for place in stream.integers(0, len(of_level), len(of_level))]
        return replace(self, runs=tuple(runs))


def measured(configuration: Configuration) -> Measured:
    """Collect the measurements of a configuration. A level is left out if all its runs have too few intervals.

    Raises
    ------
    MeasurementError
        If only a study summary is available, without runs.
    """
    if not configuration.folders:
        raise MeasurementError(
            f"{configuration.label}: no network can be fitted:\n  the runs are needed, got only a study summary"
        )
    found, _ = read_series(configuration.folders, configuration.resources)
    series = {run.name: run for run in found}
    kept_points, left_out = [], []
    for point in configuration.points:
        names = [name for name in point.runs if name in series]
        if names:
            kept_points.append((point, [series[name] for name in names]))
        else:
            left_out.append(
                f"{point.level:g} users: the runs are too short for their response times, at least "
                "four intervals are needed"
            )
    kept = [run for _, runs in kept_points for run in runs]
    classes = _classes(kept)
    stations = _stations(configuration, kept)
    runs = tuple(_run(level, run, classes, stations) for level, (_, runs) in enumerate(kept_points) for run in runs)
    return Measured(
        configuration.label,
        classes,
        stations,
        np.array([point.level for point, _ in kept_points]),
        np.array([float(point.think_time_s or 0.0) for point, _ in kept_points]),
        _others(configuration, [point for point, _ in kept_points], stations),
        _visits(configuration, classes),
        runs,
        tuple(left_out),
    )


def _classes(runs: Sequence[RunSeries]) -> tuple[str, ...]:
    counts: dict[str, float] = {}
    for run in runs:
        for name, column in run.counts.items():
            counts[name] = counts.get(name, 0.0) + float(column.sum())
    return tuple(sorted(name for name, count in counts.items() if count >= _LEAST_COUNT))


def _stations(configuration: Configuration, runs: Sequence[RunSeries]) -> tuple[Resource, ...]:
    """Return the CPU resources and disks that were observed in every run. Parts of a tier are not included."""
    names = [name for name in (runs[0].busy if runs else ()) if PART not in name]
    seen = [name for name in names if all(name in run.busy and np.isfinite(run.busy[name]).all() for run in runs)]
    known = {resource.name: resource for resource in configuration.resources}
    return tuple(known.get(name) or Resource(name, 1, ()) for name in seen)


def _run(level: int, run: RunSeries, classes: tuple[str, ...], stations: tuple[Resource, ...]) -> Run:
    zero = np.zeros(len(run.seconds))

    def columns(of: dict[str, Floats], names: Sequence[str]) -> Floats:
        return np.stack([of.get(name, zero) for name in names], axis=1) if names else np.zeros((len(zero), 0))

    # Under a quota, `run.busy` is the busy time of servers that are a fraction of a CPU. Multiplied by this fraction,
    # it is CPU time.
    busy = columns(run.busy, [station.name for station in stations]) * np.array([station.part for station in stations])
    return Run(level, run.seconds, columns(run.counts, classes), columns(run.response_sums, classes), busy)


def _visits(configuration: Configuration, classes: tuple[str, ...]) -> Floats:
    """Return the mean number of requests of each transaction. A request is a step with the name `transaction / step`.
    [1]
    """
    found = np.ones(len(classes))
    for place, name in enumerate(classes):
        requests = sum(
            step.count
            for run in configuration.runs
            for key, step in run.steps.items()
            if key.partition(PART)[0] == name
        )
        ended = sum(run.transactions[name].count for run in configuration.runs if name in run.transactions)
        if requests > 0 and ended > 0:
            # The ratio is below 1 only if transactions are longer than the measurement window, so it is raised to 1.
            found[place] = max(1.0, requests / ended)
    return found


def _others(configuration: Configuration, points: list[LoadPoint], stations: tuple[Resource, ...]) -> Floats:
    """Return the number of servers of each station that other programs use. [1]

    Their share of the CPUs is assumed to be equal for all tiers. They do not slow down a tier under a quota, because
    they can use the CPU time that the quota leaves.
    """
    shares = {run.run: run.host.foreign_share for run in configuration.runs}
    found = np.zeros((len(points), len(stations)))
    for row, point in enumerate(points):
        by_run = [shares.get(name) for name in point.runs]
        known = [float(share) for share in by_run if share is not None]
        if known:
            whole = [station.servers if station.tiers and station.part == 1 else 0 for station in stations]
            found[row] = np.mean(known) * np.array(whole, dtype=float)
    return found

"""Selects the runs that a report shows over time, and computes their heat maps and error rates from the recordings.

Summaries of runs do not suffice, because they contain, for each second, only quantiles of the response time and the
number of errors. The heat maps and error rates are stored, so a second report does not read the recordings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from towtank.analysis import DRAIN_STAGE, MeasuredColumn, Measurement
from towtank.arrays import Floats
from towtank.containment import attempt_or
from towtank.digging import dig
from towtank.documents import document_of, record_of
from towtank.results import ResultsFolder, kept, segments

if TYPE_CHECKING:
    from towtank.report.source import Results, RunResult

OVER_TIME_FILE = "runs-over-time.json"
_SCHEMA = "towtank/runs-over-time/1"
ROWS_PER_DECADE = 8
"""Number of heat map rows per decade of response time; the upper bound of a row is 33 % above its lower bound. [1]"""
COLUMNS_AT_MOST = 120
"""Largest number of columns of a heat map; in long runs, a column covers several seconds. [1]"""
DOUBTED_AT_MOST = 4
"""Largest number of runs with doubts that the report shows over time. [1]"""
WITH_EVENTS_AT_MOST = 8
"""Largest number of runs with events that the report shows over time. [1]"""
# Length below which the last interval of a run is left out, because its rate would be mostly random. [s]
_REMNANT_S = 0.5
_GRAVEST = ("invalid", "suspect")
Values = Sequence[float | None]
_PREFERENCE = ("valid", "suspect", "invalid", "none")


@dataclass(frozen=True)
class Cell:
    """Rate of the responses in one cell of a heat map [1/s]: they end in an interval since the start of the run [s],
    and their times are from `low_s` to `high_s` [s].
    """

    start_s: float
    end_s: float
    low_s: float
    high_s: float
    per_s: float


_ATTRIBUTES = tuple(part.name for part in fields(Cell))


@dataclass(frozen=True)
class Recorded:
    """Non-empty cells of the heat map of one run, and its rate of failed transactions in each second of the timeline
    [1/s], by kind of failure and by transaction, as far as failures occurred.
    """

    cells: tuple[Cell, ...] = ()
    errors_by_kind: Mapping[str, list[float | None]] = field(default_factory=dict)
    errors_by_transaction: Mapping[str, list[float | None]] = field(default_factory=dict)

    def stored(self) -> StoredRun:
        """Return the entry of the run in `runs-over-time.json`."""
        cells = {name: [getattr(cell, name) for cell in self.cells] for name in _ATTRIBUTES}
        return StoredRun(cells, self.errors_by_kind, self.errors_by_transaction)


@dataclass(frozen=True)
class StoredRun:
    """Entry of a run in `runs-over-time.json`: values of all cells by attribute of `Cell`, and rates of errors as in
    `Recorded`.
    """

    cells: Mapping[str, list[float]]
    errors_by_kind: Mapping[str, list[float | None]]
    errors_by_transaction: Mapping[str, list[float | None]]

    def recorded(self) -> Recorded:
        """Return the heat map and the error rates of the run."""
        cells = tuple(Cell(*values) for values in zip(*(self.cells[name] for name in _ATTRIBUTES), strict=True))
        return Recorded(cells, self.errors_by_kind, self.errors_by_transaction)


@dataclass(frozen=True)
class StoredRuns:
    """Content of `runs-over-time.json`, by name of the run."""

    schema: str = _SCHEMA
    runs: Mapping[str, StoredRun] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """Stage of the load of a run. Times count from the start of the run. [s]"""

    name: str = ""
    phase: str | None = None
    start_s: float | None = None
    end_s: float | None = None


@dataclass(frozen=True)
class Timeline:
    """Quantities of a run at the times `t_s` since its start [s]; None at times without a record."""

    t_s: Values = ()
    users: Values = ()
    throughput_per_s: Values = ()
    response_mean_s: Values = ()
    p50_s: Values = ()
    p95_s: Values = ()
    errors_per_s: Values = ()
    disk_read_bytes_per_s: Values = ()
    disk_write_bytes_per_s: Values = ()
    tiers_cpus_used: dict[str, Values | None] = field(default_factory=dict)
    not_attributed_cpus_used: dict[str, Values | None] = field(default_factory=dict)
    stages: tuple[Stage, ...] = ()


def timeline_of(run: RunResult) -> Timeline:
    """Read the timeline of a run from its summary."""
    return record_of(Timeline, run.record.timeline)


def window_of(run: RunResult) -> tuple[float, float] | None:
    """Return start and end of the analysed window of a run; None if no window was analysed. [s]"""
    start, end = dig(run.record.window, "start_s"), dig(run.record.window, "end_s")
    return (float(start), float(end)) if isinstance(start, (int, float)) and isinstance(end, (int, float)) else None


def has_timeline(run: RunResult) -> bool:
    """Return True if the summary of a run has a timeline."""
    timeline = run.summary.get("timeline")
    return isinstance(timeline, Mapping) and bool(timeline.get("t_s"))


def choose(results: Results) -> RunResult | None:
    """Return the main run to show over time: the run with the highest load among those with the best verdict.

    None if no run has a timeline.
    """
    shown = [run for run in results.measured if has_timeline(run)]
    return min(shown, key=lambda run: (_PREFERENCE.index(run.verdict), -(run.load or 0.0), run.run_id), default=None)


def doubted(results: Results) -> list[RunResult]:
    """Return suspect and invalid runs, except the main run and runs with events; invalid runs come first."""
    chosen = choose(results)
    found = [
        run
        for run in results.measured
        if run.verdict in _GRAVEST and run is not chosen and not run.summary.get("events") and has_timeline(run)
    ]
    return sorted(found, key=lambda run: (_GRAVEST.index(run.verdict), run.run_id))[:DOUBTED_AT_MOST]


def with_events(results: Results) -> list[RunResult]:
    """Return the run with the highest load for each set of events, unless `choose` or `doubted` returns the run."""
    best: dict[tuple[str, ...], RunResult] = {}
    runs = [run for run in results.measured if run.summary.get("events")]
    for run in sorted(runs, key=lambda run: (-(run.load or 0.0), run.run_id)):
        best.setdefault(tuple(run.summary["events"]), run)
    chosen = choose(results)
    shown = [run for run in best.values() if run is not chosen and has_timeline(run)]
    return sorted(shown, key=lambda run: run.run_id)[:WITH_EVENTS_AT_MOST]


def drawn(results: Results) -> list[RunResult]:
    """Return all runs that the report shows over time."""
    chosen = choose(results)
    return [*([chosen] if chosen is not None else []), *doubted(results), *with_events(results)]


def recordings(folder: ResultsFolder, results: Results, digests: Mapping[str, str]) -> dict[str, Recorded]:
    """Return heat maps and error rates of the runs that the report shows over time; unreadable recordings are left out.

    They are computed and stored unless `runs-over-time.json` is up to date. `digests` contains, by name of the run, a
    digest of the recorded files; if it lacks a run, the recordings are read.
    """
    runs = drawn(results)
    if not runs:
        return {}
    known = {run.run_id: digests.get(run.run_id) for run in runs}
    sources = kept.sources_of(f"{name} {digest}\n" for name, digest in known.items()) if all(known.values()) else None
    document = kept.made_or_kept(
        folder.path / OVER_TIME_FILE, lambda: document_of(_computed(folder, runs)), lambda: sources
    )
    return {name: run.recorded() for name, run in record_of(StoredRuns, document).runs.items() if name in known}


def _computed(folder: ResultsFolder, runs: Sequence[RunResult]) -> StoredRuns:
    """Read the recordings of runs, and return the content of `runs-over-time.json`."""
    found = {}
    for run in runs:
        path = folder.run_path(run.run_id) / "engine"
        recorded = attempt_or(f"recordings of {run.run_id}", None, _read, path, str(run.summary.get("inputs")))
        if recorded is not None and recorded.cells:
            found[run.run_id] = recorded.stored()
    return StoredRuns(runs=found)


@lru_cache(maxsize=16)
def _read(engine: Path, _digest: str) -> Recorded:
    """Read the recordings in a folder; the digest makes the cache read changed recordings anew."""
    return recorded(Measurement(segments.read(engine)))


def recorded(measurement: Measurement) -> Recorded:
    """Compute the heat map and the error rates of one run."""
    if not measurement.bins:
        return Recorded()
    every = measurement.transactions
    by_transaction = {name: column.failed for name, column in measurement.columns("transaction").items()}
    return Recorded(
        cells=_cells(measurement, every),
        errors_by_kind=_rates(measurement, every.failed_by_kind),
        errors_by_transaction=_rates(measurement, by_transaction),
    )


def _rates(measurement: Measurement, counts: Mapping[str, Floats]) -> dict[str, list[float | None]]:
    """Return the rate of failures in each second, by the names in `counts`, the most frequent first. [1/s]"""
    seen = sorted((name for name in counts if counts[name].any()), key=lambda name: (-counts[name].sum(), name))
    drain = next((number for number, stage in enumerate(measurement.stages) if stage.name == DRAIN_STAGE), None)
    is_remnant = (measurement.stage == drain) & (measurement.lengths < _REMNANT_S)
    lengths = np.where(is_remnant, np.nan, measurement.lengths_of_rates)
    return {name: [float(rate) if math.isfinite(rate) else None for rate in counts[name] / lengths] for name in seen}


def _cells(measurement: Measurement, column: MeasuredColumn) -> tuple[Cell, ...]:
    """Count responses by time and by logarithm of the response time; return the non-empty cells."""
    origin, end = float(measurement.starts.min()), float(measurement.ends.max())
    width = max(1.0, math.ceil((end - origin) / COLUMNS_AT_MOST))
    places = np.floor((measurement.middles - origin) / width).astype(int)
    found: list[Cell] = []
    for place in np.unique(places):
        chosen = places == place
        merged, length = column.response.merged(chosen), measurement.length_of(chosen)
        if merged is None or length <= 0:
            continue
        start, stop = float(measurement.starts[chosen].min()), float(measurement.ends[chosen].max())
        rows = np.floor(ROWS_PER_DECADE * np.log10(merged.middles_s)).astype(int)
        for row in np.unique(rows):
            low, high = (10 ** (edge / ROWS_PER_DECADE) for edge in (int(row), int(row) + 1))
            found.append(Cell(start, stop, low, high, float(merged.counts[rows == row].sum()) / length))
    return tuple(found)

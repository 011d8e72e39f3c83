"""Sorts results of one study by time, and finds changes in the level of each measured quantity (figure).

The series are computed from the results folders on each call, so they cannot contradict the folders.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from towtank.analysis.comparing import Side, side_of
from towtank.analysis.statistics import looks_independent
from towtank.analysis.statistics.change_points import ChangePoint
from towtank.analysis.statistics.permuted import LEAST, LEVEL, permuted_steps
from towtank.arrays import Floats
from towtank.digging import dig
from towtank.errors import Fault, StudyError
from towtank.results import STUDY_MANIFEST, ResultsFolder

SCHEMA = "towtank/history/1"
# Results are compared only if these properties of the machine are equal.
_MACHINE = ("host.cpu_model", "host.cpus", "host.memory_bytes")
# Deviations from the mean levels are tested for correlation if there are at least this many. [1]
_CORRELATION_FROM = 20


class Point(NamedTuple):
    """Value of a measured quantity (figure) in one results folder.

    Attributes
    ----------
    started : datetime
        Start of the study.
    folder : str
        Results folder.
    value : float
        Geometric mean over the runs, in the unit of the figure: [s], [1/s] or CPU seconds.
    runs : int
        Number of runs that are valid or suspect. [1]
    """

    started: datetime
    folder: str
    value: float
    runs: int


class Key(NamedTuple):
    """Identity of a series: results with equal keys are comparable.

    Attributes
    ----------
    study : str
        Name of the study.
    cell : str
        Configuration and load.
    metric, transaction : str
        Metric, and transaction to which the metric applies; empty for all transactions together.
    machine : str
        CPU model, number of CPUs, and memory.
    """

    study: str
    cell: str
    metric: str
    transaction: str
    machine: str


@dataclass(frozen=True)
class Series:
    """Values of one measured quantity (figure) over time, on one machine and at one configuration and load.

    Attributes
    ----------
    key : Key
    points : tuple of Point
        Results, sorted by time.
    """

    key: Key
    points: tuple[Point, ...]

    @property
    def is_searched(self) -> bool:
        """True if the series has enough results to search for changes."""
        return len(self.points) >= LEAST

    @cached_property
    def steps(self) -> list[ChangePoint]:
        """Changes of level in the series, in logarithms of the values. Empty if the series is too short to search."""
        return permuted_steps(self._logs) if self.is_searched else []

    @property
    def is_correlated(self) -> bool:
        """True if neighbouring results are correlated. Chance alone then causes more changes than
        `History.expected_by_chance`.
        """
        if len(self.points) < _CORRELATION_FROM:
            return False
        parts = np.split(self._logs, [step.index for step in self.steps])
        return not looks_independent(np.concatenate([part - part.mean() for part in parts]))

    @property
    def _logs(self) -> Floats:
        return np.log([point.value for point in self.points])

    def document(self) -> dict[str, object]:
        """Return the series as JSON, for the list `series` of the history."""
        return {
            "study": self.key.study,
            "cell": self.key.cell,
            "metric": self.key.metric,
            "transaction": self.key.transaction or None,
            "machine": self.key.machine,
            "points": [
                {"started": point.started.isoformat(), "folder": point.folder, "value": point.value, "runs": point.runs}
                for point in self.points
            ],
            "searched": self.is_searched,
            "correlated": self.is_correlated,
            "changes": [
                {
                    "since": self.points[step.index].started.isoformat(),
                    "folder": self.points[step.index].folder,
                    "before": math.exp(step.before),
                    "after": math.exp(step.after),
                    "ratio": math.exp(step.after - step.before),
                    "p_value": step.p_value,
                }
                for step in self.steps
            ],
        }


@dataclass(frozen=True)
class History:
    """Series of all figures that were measured in several results folders.

    Attributes
    ----------
    series : tuple of Series
    folders : int
        Number of results folders. [1]
    left_out : tuple of str
        Results folders that were not used, each with the reason.
    """

    series: tuple[Series, ...]
    folders: int
    left_out: tuple[str, ...]

    @property
    def searched(self) -> int:
        """Number of series that were searched for changes. [1]"""
        return sum(series.is_searched for series in self.series)

    @property
    def expected_by_chance(self) -> float:
        """Upper bound of the mean number of series in which chance alone causes a change. [1]"""
        return LEVEL * self.searched

    def document(self) -> dict[str, object]:
        """Return the history as the JSON document of `towtank history --json`."""
        return {
            "schema": SCHEMA,
            "folders": self.folders,
            "left_out": list(self.left_out),
            "level": LEVEL,
            "least": LEAST,
            "searched": self.searched,
            "expected_by_chance": self.expected_by_chance,
            "series": [series.document() for series in self.series],
        }


def history_of(paths: Sequence[Path]) -> History:
    """Read all results folders that the given folders are or contain.

    Raises
    ------
    StudyError
        If a path is not a folder, or no results folder is found. The error lists all faults.
    """
    faults = [
        Fault(str(path), 0, 0, "", "must be a folder with results folders") for path in paths if not path.is_dir()
    ]
    folders = sorted({manifest.parent for path in paths for manifest in path.rglob(STUDY_MANIFEST)})
    if not faults and not folders:
        shown = ", ".join(map(str, paths))
        faults.append(Fault(shown, 0, 0, "", f"must contain results folders, each with a {STUDY_MANIFEST}, got none"))
    if faults:
        raise StudyError(faults)
    points, left_out, known = defaultdict[Key, list[Point]](list), list[str](), dict[tuple[str, str], Path]()
    for folder in folders:
        try:
            side, manifest = side_of([str(folder)]), ResultsFolder.open(folder).manifest
        except StudyError as error:
            left_out.append(str(error).splitlines()[0])
            continue
        identity = str(dig(manifest, "study", "name")), str(dig(manifest, "started_wall_ns"))
        if known.setdefault(identity, folder) != folder:
            left_out.append(f"{folder}: copy of {known[identity]}")
            continue
        if not side.usable:
            left_out.append(f"{folder}: no run is valid or suspect")
        for key, point in _points(folder, side, manifest):
            points[key].append(point)
    series = (Series(key, tuple(sorted(found))) for key, found in sorted(points.items()))
    return History(tuple(series), len(folders), tuple(left_out))


def _points(folder: Path, side: Side, manifest: Mapping[str, object]) -> Iterator[tuple[Key, Point]]:
    """Yield each figure of a result, with the key of its series. Response times of 0 are ignored."""
    started = datetime.fromtimestamp(float(dig(manifest, "started_wall_ns") or 0) / 1e9, UTC)
    study = str(dig(manifest, "study", "name") or "")
    machine = ", ".join(side.facts[name] for name in _MACHINE if name in side.facts)
    logs = defaultdict[tuple[str, str, str], list[float]](list)
    for run in side.usable:
        for place, found in run.figures.items():
            if found.value > 0:
                logs[run.cell, str(place.metric), place.transaction].append(math.log(found.value))
    for (cell, metric, transaction), values in logs.items():
        value = math.exp(sum(values) / len(values))
        yield Key(study, cell, metric, transaction, machine), Point(started, str(folder), value, len(values))

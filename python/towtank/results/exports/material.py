"""Holds the data to export: the runs of a study or a single run, with the results of their analysis.

The analysis provides the object that decodes histograms, so this package does not import the analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from towtank.results import segments
from towtank.results.folder import RunFolder
from towtank.results.lines import Damage
from towtank.results.manifests import RunManifest
from towtank.results.recording import Recording

_SECOND_NS = 1_000_000_000


class DecodedHistogram(Protocol):
    """Decoded histogram with at least one value."""

    @property
    def total(self) -> int:
        """Number of values in the histogram. [1]"""

    @property
    def minimum_s(self) -> float:
        """Lower edge of the lowest bucket that has values. [s]"""

    @property
    def maximum_s(self) -> float:
        """Upper edge of the highest bucket that has values. [s]"""

    @property
    def middles_s(self) -> npt.NDArray[np.float64]:
        """Middles of the buckets that have values, in ascending order. [s]"""

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of values in each bucket that has values. [1]"""

    def quantiles(self, probabilities: Iterable[float]) -> list[float]:
        """Return several quantiles of the histogram. [s]"""


class HistogramReader(Protocol):
    """Reader of encoded histograms. It skips unreadable histograms, and `unreadable` is their number so far."""

    unreadable: int

    def merged(self, encoded: Sequence[str]) -> DecodedHistogram | None:
        """Merge several histograms into one decoded histogram; None if they contain no values."""

    def encoded(self, encoded: Sequence[str]) -> str | None:
        """Merge several histograms, and encode the result; None if they contain no values."""

    def describe(self, encoded: Sequence[str]) -> Sequence[Mapping[str, object]]:
        """Return the table columns that describe each histogram (see `results.tables`), by name."""


@dataclass(frozen=True)
class RunMaterial:
    """Run to export.

    Attributes
    ----------
    folder : RunFolder
    manifest : RunManifest
        `run.json`.
    summary : dict
        Summary of the run.
    recorded : bool
        True if at least one interval was recorded.
    damage : Damage
        Counts of unreadable parts of the run that were found so far.
    """

    folder: RunFolder
    manifest: RunManifest
    summary: dict[str, Any]
    recorded: bool
    damage: Damage

    @property
    def name(self) -> str:
        """Name of the run to export."""
        return self.folder.run_id

    @property
    def factors(self) -> dict[str, str]:
        """Names of the factor levels of the run, by factor."""
        return {str(name): str(level) for name, level in (self.manifest.factors or {}).items()}

    @property
    def seconds(self) -> float | None:
        """Duration of the run according to its manifest; None if the run has not ended. [s]"""
        start, end = self.manifest.started_wall_ns, self.manifest.ended_wall_ns
        return None if start is None or end is None else (end - start) / _SECOND_NS

    def recording(self) -> Recording:
        """Read the records of the engine.

        The records are not stored in this object, so that an export of many long runs needs little memory.
        """
        recording = segments.read(self.folder.engine, whole=True)
        self.damage.torn_tail |= recording.damage.torn_tail
        self.damage.bad_lines = max(self.damage.bad_lines, recording.damage.bad_lines)
        return recording

    def wall_ns(self, recording: Recording) -> int | None:
        """Return the wall-clock time at which the run started. [ns since 1970]"""
        if recording.header is not None and recording.header.wall_ns is not None:
            return recording.header.wall_ns
        return self.manifest.started_wall_ns


@dataclass
class Material:
    """All data to export.

    Attributes
    ----------
    path : Path
        Path of the exported folder, as named by the user.
    title, study : str
        Title and name of the study; if the run belongs to no study, those of the folder.
    version : str
        Version of the exporting program.
    runs : list of RunMaterial
        Runs sorted by name.
    missing : list of RunManifest
        Runs of the design without results, as listed in the manifest.
    summary : dict
        Summary of the study over the exported runs.
    histograms : HistogramReader
    claims : dict
        Claims of the study with their verdicts (`claims.json`); empty without claims.
    notes : list of str
        Messages to the user about parts that the export omits.
    """

    path: Path
    title: str
    study: str
    version: str
    runs: list[RunMaterial]
    missing: list[RunManifest]
    summary: dict[str, Any]
    histograms: HistogramReader
    claims: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def factors(self) -> list[str]:
        """Names of all factors, in the order of the study."""
        names = [str(factor["name"]) for factor in self.summary.get("factors") or []]
        return list(dict.fromkeys([*names, *(name for run in self.runs for name in run.factors)]))

    def warnings(self) -> list[str]:
        """Return the messages to print after the export: omitted parts, damaged lines and unreadable histograms."""
        found = list(self.notes)
        for run in self.runs:
            torn = "a torn last line" if run.damage.torn_tail else ""
            lines = run.damage.bad_lines
            bad = f"{lines} damaged line{'s' if lines > 1 else ''}" if lines else ""
            if torn or bad:
                found.append(f"{run.name}: skipped {' and '.join(part for part in (bad, torn) if part)}")
        if unreadable := self.histograms.unreadable:
            found.append(f"{unreadable} {'histograms' if unreadable > 1 else 'histogram'} could not be read: left out")
        return found

"""Runs of one side of a comparison, with the figures that are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from towtank.analysis.doubts import Kind
from towtank.errors import StudyError


class Metric(StrEnum):
    """Compared figures."""

    THROUGHPUT = "throughput"
    MEAN = "response_time_mean"
    P50 = "response_time_p50"
    P95 = "response_time_p95"
    P99 = "response_time_p99"
    CPU = "cpu_per_transaction"
    ERRORS = "errors"


FILES = "files"
"""Cell of the runs of result files, which say nothing about their load."""
_CELLS_SHOWN = 3
_OF_THE_SYSTEM = frozenset({Kind.ERRORS_ABOVE_LIMIT, Kind.NOTHING_COMPLETED})
TIMES = {Metric.MEAN: "mean", Metric.P50: "p50", Metric.P95: "p95", Metric.P99: "p99"}
"""Names of the response times in documents."""


@dataclass(frozen=True, order=True)
class Place:
    """A figure: metric, and transaction; empty for all transactions together."""

    metric: Metric
    transaction: str = ""


@dataclass(frozen=True)
class Measured:
    """A figure of one run.

    Attributes
    ----------
    value : float
        >= 0; 0 for a response time below the resolution.
    error : float or None
        Standard error within the run, relative to the value; None if it is not known. [1]
    step : float
        Resolution: distance to the next value that could have been measured, in the unit of the value; 0 if it is
        negligible, or not known.
    """

    value: float
    error: float | None = None
    step: float = 0.0

    @property
    def relative_step(self) -> float:
        """Resolution over the value. [1]"""
        return self.step / self.value


@dataclass(frozen=True)
class Failures:
    """Failed requests or transactions of one run. [1]"""

    failed: int
    ended: int


@dataclass(frozen=True)
class ComparedRun:
    """One run.

    Attributes
    ----------
    name : str
    cell : str
        Configuration and load: only runs of the same cell are compared.
    verdict : str
        `valid`, `suspect` or `invalid`.
    figures : dict of Measured
    failures : dict of Failures
        By transaction; empty for all together.
    reasons : tuple of str
        Doubts about the run.
    because : tuple of str
        Kinds of the doubts that make the run invalid.
    transactions : tuple of str
        Names of the transactions that occurred; empty if they are not known.
    source : str
        Digest of what the run was read from; empty for a run of a baseline.
    """

    name: str
    cell: str
    verdict: str
    figures: Mapping[Place, Measured]
    failures: Mapping[str, Failures]
    reasons: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    transactions: tuple[str, ...] = ()
    source: str = ""

    @property
    def is_usable(self) -> bool:
        """True if the run is valid or suspect."""
        return self.verdict != "invalid"

    @property
    def is_lost(self) -> bool:
        """True if the run is invalid for nothing but what the system did: failed requests, or no answers."""
        return not self.is_usable and bool(self.because) and _OF_THE_SYSTEM.issuperset(self.because)


@dataclass(frozen=True)
class Side:
    """One of the two results.

    Attributes
    ----------
    name : str
        As the user named it.
    runs : tuple of ComparedRun
    facts : dict of str
        Configuration and environment by name, for what differs.
    """

    name: str
    runs: tuple[ComparedRun, ...]
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def usable(self) -> tuple[ComparedRun, ...]:
        """Runs that are valid or suspect."""
        return tuple(run for run in self.runs if run.is_usable)

    @property
    def lost(self) -> tuple[ComparedRun, ...]:
        """Runs that are invalid for nothing but what the system did."""
        return tuple(run for run in self.runs if run.is_lost)

    @property
    def counted(self) -> tuple[ComparedRun, ...]:
        """Runs whose failures are compared: the usable ones, and those left out because of the failures."""
        return tuple(run for run in self.runs if run.is_usable or run.is_lost)

    @property
    def lost_share(self) -> float:
        """Share of the counted runs that are lost, in [0, 1]."""
        return len(self.lost) / len(self.counted) if self.counted else 0.0

    @property
    def transactions(self) -> list[str]:
        """Names of the transactions that occurred in any run; empty if they are not known."""
        return sorted({name for run in self.runs for name in run.transactions})

    @property
    def cells(self) -> list[str]:
        """Cells of the runs, each once."""
        return list(dict.fromkeys(run.cell for run in self.runs))

    def in_cell(self, cell: str) -> Side:
        """Return the side with all runs in one cell."""
        return replace(self, runs=tuple(replace(run, cell=cell) for run in self.runs))


def alike(a: Side, b: Side) -> tuple[Side, Side]:
    """Return both sides with the cells in which they are compared; those of files take the single cell of a folder.

    Raises
    ------
    StudyError
        If the sides have no cell in common.
    """
    if set(a.cells) & set(b.cells):
        return a, b
    if len(a.cells) == 1 == len(b.cells) and FILES in (*a.cells, *b.cells):
        return a, b.in_cell(a.cells[0])
    shown = [_some(side.cells) for side in (a, b)]
    message = f"must be runs of a configuration and load that both sides have, got {shown[0]} of A and {shown[1]} of B"
    raise StudyError.at(b.name, message)


def _some(cells: list[str]) -> str:
    """Return the first cells as text, and how many more there are."""
    more = f" and {len(cells) - _CELLS_SHOWN} more" if len(cells) > _CELLS_SHOWN else ""
    return ", ".join(repr(cell or "no load") for cell in cells[:_CELLS_SHOWN]) + more

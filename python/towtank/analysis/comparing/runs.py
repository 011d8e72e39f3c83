"""Defines a side (one of the two results) of a comparison, its runs, and the measured quantities that are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from towtank.analysis.doubts import DoubtKind
from towtank.errors import StudyError


class Metric(StrEnum):
    """Metrics that are compared."""

    THROUGHPUT = "throughput"
    MEAN = "response_time_mean"
    P50 = "response_time_p50"
    P95 = "response_time_p95"
    P99 = "response_time_p99"
    CPU = "cpu_per_transaction"
    ERRORS = "errors"


FILES = "files"
"""Name of the cell (combination of configuration and load) of runs from result files, which state neither."""
_CELLS_SHOWN = 3
_OF_THE_SYSTEM = frozenset({DoubtKind.ERRORS_ABOVE_LIMIT, DoubtKind.NOTHING_COMPLETED})
TIMES = {Metric.MEAN: "mean", Metric.P50: "p50", Metric.P95: "p95", Metric.P99: "p99"}
"""Key of the value in JSON documents, for each metric that is a response time."""


@dataclass(frozen=True, order=True)
class Place:
    """Compared quantity: a metric of one transaction, or of all transactions together if `transaction` is empty."""

    metric: Metric
    transaction: str = ""


@dataclass(frozen=True)
class Measured:
    """Value of a compared quantity in one run.

    Attributes
    ----------
    value : float
        Value, at least 0. A response time of 0 is below the resolution.
    error : float or None
        Standard error within the run, relative to the value; None if unknown. [1]
    step : float
        Resolution, which is the distance to the next larger value that can be recorded, in the unit of the value; 0 if
        negligible or unknown.
    """

    value: float
    error: float | None = None
    step: float = 0.0

    @property
    def relative_step(self) -> float:
        """Resolution of the value, divided by the value. [1]"""
        return self.step / self.value


@dataclass(frozen=True)
class Failures:
    failed: int
    ended: int


@dataclass(frozen=True)
class ComparedRun:
    """Run of one of the two compared results, with its measured values.

    Attributes
    ----------
    name : str
        Name of the run.
    cell : str
        Combination of configuration and load. Runs are compared within a cell.
    verdict : str
        `valid`, `suspect` or `invalid`.
    figures : dict of Place to Measured
        Measured values.
    failures : dict of str to Failures
        Failures by transaction. The empty key contains the failures of all transactions together.
    reasons : tuple of str
        Messages of the doubts about the run.
    because : tuple of str
        Kinds of the doubts that make the run invalid.
    transactions : tuple of str
        Names of the transactions that occurred; empty if unknown.
    source : str
        Digest of the file from which the run was read; empty for a run of a baseline.
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
        return self.verdict != "invalid"

    @property
    def is_lost(self) -> bool:
        """True if only failures of the system make the run invalid: too many failures, or no completed transaction."""
        return not self.is_usable and bool(self.because) and _OF_THE_SYSTEM.issuperset(self.because)


@dataclass(frozen=True)
class Side:
    """One of the two results that are compared.

    Attributes
    ----------
    name : str
        Name of the result, as written by the user.
    runs : tuple of ComparedRun
    facts : dict of str
        Properties of configuration and environment by name. A comparison lists the properties that differ.
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
        """Runs that are invalid only because the system failed; see `ComparedRun.is_lost`."""
        return tuple(run for run in self.runs if run.is_lost)

    @property
    def counted(self) -> tuple[ComparedRun, ...]:
        """Runs whose failures are compared: runs that are usable, and runs that are invalid only because the system
        failed.
        """
        return tuple(run for run in self.runs if run.is_usable or run.is_lost)

    @property
    def lost_share(self) -> float:
        """Share of the runs in `counted` that are invalid only because the system failed, in [0, 1]."""
        return len(self.lost) / len(self.counted) if self.counted else 0.0

    @property
    def transactions(self) -> list[str]:
        """Names of the transactions that occurred in any run, sorted; empty if unknown."""
        return sorted({name for run in self.runs for name in run.transactions})

    @property
    def cells(self) -> list[str]:
        """Names of the cells (combinations of configuration and load) of all runs, without repetition."""
        return list(dict.fromkeys(run.cell for run in self.runs))

    def in_cell(self, cell: str) -> Side:
        """Return a copy of this side in which all runs belong to the given cell."""
        return replace(self, runs=tuple(replace(run, cell=cell) for run in self.runs))


def alike(a: Side, b: Side) -> tuple[Side, Side]:
    """Return both sides with at least one common cell (combination of configuration and load), so that they can be
    compared.

    If A and B have one cell each, and at least one of the cells stands for result files, B is assigned to the cell of
    A.

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
    """Render the names of the first cells, and the number of further cells."""
    more = f" and {len(cells) - _CELLS_SHOWN} more" if len(cells) > _CELLS_SHOWN else ""
    return ", ".join(repr(cell or "no load") for cell in cells[:_CELLS_SHOWN]) + more

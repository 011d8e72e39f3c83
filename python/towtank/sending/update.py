"""Updates to send: the seconds of a run that were completed since the last read, and the names of this run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from towtank.results import RecordedSecond


@dataclass(frozen=True)
class SentRun:
    """Names that identify a run.

    Attributes
    ----------
    study, run : str
        Names of study and run.
    factors : dict
        Name of the run's level, by factor.
    """

    study: str
    run: str
    factors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TierSample:
    """CPUs that each tier used between two samples of the probe.

    Attributes
    ----------
    start_s, end_s : float
        Times of the two samples since the start of the run. [s]
    cpus_used : dict
        Mean number of CPUs used by each tier and by the generator, by name. [1]
    """

    start_s: float
    end_s: float
    stage: str
    phase: str
    cpus_used: dict[str, float]


@dataclass(frozen=True)
class Update:
    """New seconds and samples of a run.

    Attributes
    ----------
    wall_ns : int
        Wall clock at the start of the run. [ns since 1970]
    """

    wall_ns: int
    seconds: list[RecordedSecond]
    tiers: list[TierSample]


@dataclass(frozen=True)
class Body:
    """Body of one request to a receiver, and the number of samples or data points in the body."""

    content: bytes
    points: int


class Encoder(Protocol):
    """Encodes updates in the format of a receiver."""

    def encode(self, update: Update) -> list[Body]:
        """Return the requests that contain an update; empty if the update contains no points."""

    def finish(self) -> list[Body]:
        """Return the requests that mark the end of the run."""

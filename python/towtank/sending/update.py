"""Defines the data that is sent during a run, and the interface of its encoders."""

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
        Level of each factor in this run, by the factor's name.
    """

    study: str
    run: str
    factors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TierSample:
    """Mean CPU use of each tier between two samples of the probe.

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
    """Completed seconds and samples of tiers that were not sent before.

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
    """Body of one request to a receiver, and the number of data points in the body."""

    content: bytes
    points: int


class Encoder(Protocol):
    """Encoder of updates in the format of a receiver."""

    def encode(self, update: Update) -> list[Body]:
        """Return the requests for an update; empty if the update contains no data points."""

    def finish(self) -> list[Body]:
        """Return the requests that mark the end of the run."""

"""Defines the data that is sent during a run, and the interface of its encoders."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from towtank.results import RecordedSecond


@dataclass(frozen=True)
class SentRun:
    """Names of study and run, and the level of each factor in the run, which identify the run."""

    study: str
    run: str
    factors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TierSample:
    """Mean number of CPUs that each tier and the generator used between two samples of the probe [1], whose times count
    from the start of the run [s].
    """

    start_s: float
    end_s: float
    stage: str
    phase: str
    cpus_used: dict[str, float]


@dataclass(frozen=True)
class Update:
    """Completed seconds and samples of tiers that were not sent before, and the wall clock at the start of the run. [ns
    since 1970]
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

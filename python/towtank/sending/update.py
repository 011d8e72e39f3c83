"""Updates to send: the seconds completed since the last read, and the run that they belong to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from towtank.results.exports.seconds import Second


@dataclass(frozen=True)
class Source:
    """Identity of a run.

    Attributes
    ----------
    study, run : str
        Names.
    factors : dict
        Level names by factor.
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
        Run time. [s]
    cpus_used : dict
        CPUs by name of the tier, including the generator.
    """

    start_s: float
    end_s: float
    stage: str
    phase: str
    cpus_used: dict[str, float]


@dataclass(frozen=True)
class Update:
    """New seconds and samples.

    Attributes
    ----------
    wall_ns : int
        Wall clock at the start of the run. [ns since 1970]
    """

    wall_ns: int
    seconds: list[Second]
    tiers: list[TierSample]


@dataclass(frozen=True)
class Body:
    """One request to a receiver, and its number of samples or data points."""

    content: bytes
    points: int


class Encoder(Protocol):
    """Encodes updates for a receiver."""

    def encode(self, update: Update) -> list[Body]:
        """Return the requests of an update; none if it is empty."""

    def finish(self) -> list[Body]:
        """Return the requests that mark the end of the run."""

"""What is sent: the seconds that have become whole since the last look, and who measures them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from towtank.results.exports.seconds import Second


@dataclass(frozen=True)
class Source:
    """Which run it is.

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
        By name of the tier, the generator among them.
    """

    start_s: float
    end_s: float
    stage: str
    phase: str
    cpus_used: dict[str, float]


@dataclass(frozen=True)
class Update:
    """What is new.

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
    """One request to a receiver, and how many samples or data points it holds."""

    content: bytes
    points: int


class Encoder(Protocol):
    """Puts updates into the words of a receiver."""

    def encode(self, update: Update) -> list[Body]:
        """The requests that tell of an update; none where there is nothing to tell."""

    def finish(self) -> list[Body]:
        """What tells that the run is over."""

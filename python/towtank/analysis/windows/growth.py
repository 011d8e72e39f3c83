"""What piles up under an open load: more arrives than is done, so that there is no steady state to wait for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.analysis.measurement import Mask, Measurement

TOLERANCE = 0.05
"""Share of the arrivals that may be left over; as much as throughput may change over a window. [1]"""
DEVIATIONS = 3.0
"""Standard deviations of chance beyond which what is left over is no chance. [1]"""


@dataclass(frozen=True)
class Growth:
    """Transactions in the system at both ends of a window.

    Attributes
    ----------
    at_start, at_end : float
        Mean over the first and the last second: arrived and not ended, those that wait for a user included. [1]
    arrived : float
        Arrivals within the window. [1]
    deviations : float
        The rise in standard deviations of chance. [1]
    """

    at_start: float
    at_end: float
    arrived: float
    deviations: float

    @property
    def share(self) -> float:
        """Share of the arrivals that was left over; below zero where a backlog is worked off."""
        return (self.at_end - self.at_start) / self.arrived

    @property
    def is_significant(self) -> bool:
        """Whether more is left over than is tolerable, and than chance leaves."""
        return self.share > TOLERANCE and self.deviations > DEVIATIONS

    @property
    def text(self) -> str:
        """What piled up, in words."""
        left = self.at_end - self.at_start
        return (
            f"transactions in the system rise from {self.at_start:,.0f} to {self.at_end:,.0f} over the window: "
            f"{left:,.0f} of {self.arrived:,.0f} arrivals were left over"
        )

    def document(self) -> dict[str, Any]:
        """As it stands in a run summary."""
        return {
            "at_start": self.at_start,
            "at_end": self.at_end,
            "arrived": self.arrived,
            "share": self.share,
            "deviations": self.deviations,
            "is_significant": self.is_significant,
        }


def growth_of(measurement: Measurement, chosen: Mask) -> Growth | None:
    """Compare what an open load has in the system at the end of a window with what it had at the start.

    Parameters
    ----------
    measurement : Measurement
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the window.

    Returns
    -------
    Growth or None
        None without arrivals, or in a window of fewer than four seconds.

    Notes
    -----
    A queue that is never empty has left over what arrived less what it ended: with Poisson arrivals at rate lambda and
    exponential service this is a random walk, whose standard deviation over a time T is at most sqrt(2 lambda T) at the
    limit of the system and less below it. Unlike a test for a trend this needs no series, so that ten seconds suffice.

    Simulated M/M/1 (utilization 0.7 to 0.95), M/D/1 (0.95) and M/G/1 with squared coefficients of variation of 10
    (0.5 to 0.9), 20 to 300 arrivals a second, windows of 10 to 120 s: see
    `tests/certified/test_certified_growth.py`.
    """
    numbers = np.flatnonzero(chosen)
    arrived = float(measurement.arrivals[chosen].sum())
    if len(numbers) < 4 or arrived <= 0:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        held = (measurement.user_s / measurement.lengths)[numbers]
    rise = float(held[-1] - held[0])
    return Growth(float(held[0]), float(held[-1]), arrived, rise / math.sqrt(2 * arrived))

"""Detects that an open load has no steady state because more transactions arrive than end."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from towtank.analysis.measurement import Mask, Measurement
from towtank.analysis.windows.tolerances import tolerance

TOLERANCE = tolerance("throughput")
"""Largest share of the arrivals that may remain unfinished. It equals the largest irrelevant change of throughput.
[1]
"""
DEVIATIONS = 3.0
"""Growth is significant if it exceeds this many standard deviations. [1]"""


@dataclass(frozen=True)
class Growth:
    """Growth of the number of transactions in the system over a window, and the significance of the growth.

    Attributes
    ----------
    at_start, at_end : float
        Mean number in the first second and in the last second, including arrivals that wait for a user. [1]
    arrived : float
        Number of arrivals in the window. [1]
    deviations : float
        Growth, divided by its standard deviation for a random walk. [1]
    length_s : float
        Time for which the arrivals were counted. [s]
    """

    at_start: float
    at_end: float
    arrived: float
    deviations: float
    length_s: float

    @property
    def share(self) -> float:
        """Share of the arrivals that remained unfinished; negative if a backlog became smaller. [1]"""
        return (self.at_end - self.at_start) / self.arrived

    @property
    def is_significant(self) -> bool:
        """True if the growth exceeds both `TOLERANCE` and `DEVIATIONS` standard deviations."""
        return self.share > TOLERANCE and self.deviations > DEVIATIONS

    @property
    def text(self) -> str:
        """Sentence with the numbers of transactions in the system at both ends of the window, and of unfinished
        arrivals.
        """
        left = self.at_end - self.at_start
        return (
            f"transactions in the system rise from {self.at_start:,.0f} to {self.at_end:,.0f} over the window: "
            f"{left:,.0f} of {self.arrived:,.0f} arrivals were left unfinished"
        )

    def document(self) -> dict[str, object]:
        """Return the growth as JSON for a run summary."""
        keys = ("at_start", "at_end", "arrived", "length_s", "share", "deviations", "is_significant")
        return {key: getattr(self, key) for key in keys}


def growth_of(measurement: Measurement, chosen: Mask) -> Growth | None:
    """Compare the number of transactions in the system at the end of a window with the number at the start.

    Returns
    -------
    Growth or None
        Growth over the window; None if there were no arrivals, or if the window is shorter than four seconds.

    Notes
    -----
    A queue that is never empty grows by arrivals minus completions. With Poisson arrivals at rate lambda and
    exponential service times, the length of the queue is a random walk. At the limit of the system, its change over a
    time T has the standard deviation sqrt(2 lambda T); below the limit, the standard deviation is smaller. Unlike a
    trend test, this test uses only the first and the last value, so ten seconds suffice.

    `tests/certified/test_certified_growth.py` checks the test on simulated queues with 20 to 300 arrivals per second
    and windows of 10 to 120 s. The queues are M/M/1 (utilization 0.7 to 0.95), M/D/1 (0.95), and M/G/1 with a squared
    coefficient of variation of 10 (0.5 to 0.9).
    """
    numbers = np.flatnonzero(chosen)
    arrived = float(measurement.arrivals[chosen].sum())
    if len(numbers) < 4 or arrived <= 0:
        return None
    held = measurement.mean_users[numbers]
    rise = float(held[-1] - held[0])
    length_s = float(measurement.length_of(chosen))
    return Growth(float(held[0]), float(held[-1]), arrived, rise / math.sqrt(2 * arrived), length_s)

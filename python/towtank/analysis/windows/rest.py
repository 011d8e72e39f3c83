"""Rest that is shown: the change over a window that its noise does not exclude, against the change that matters.

A test that finds no trend shows little if the window is short or noisy. As in a settle stage, the change found plus its
error must be small for a series to count as shown to be at rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.analysis.measurement import Floats
from towtank.analysis.windows import steady
from towtank.analysis.windows.settling import CHANGE_AT_MOST, ERRORS, LEAST_WINDOW_S, TREND_SIGNIFICANCE

TESTED = ("throughput", "response_time")
"""Series whose rest must be shown; CPU time of tiers follows throughput."""
_CPU_AT_MOST = 0.10
_OBSERVATIONS_AT_LEAST = 8
# A longer window than this is no advice. [s]
_WINDOW_AT_MOST_S = 24 * 3600.0


@dataclass(frozen=True)
class Rest:
    """What one series shows of rest.

    Attributes
    ----------
    change : float
        Change over the window on the straight line through the series. [1]
    at_most : float
        Size of a change that the window does not exclude: one-sided 90 %. [1]
    allowed : float
        Change that does not matter. [1]
    needed_s : float or None
        Length of a window that excludes it, if what was found is chance; None beyond a day. [s]
    """

    change: float
    at_most: float
    allowed: float
    needed_s: float | None

    @property
    def is_shown(self) -> bool:
        """Whether a change that matters is excluded."""
        return self.at_most <= self.allowed

    def document(self) -> dict[str, Any]:
        """Document of one series in the window of a run summary."""
        return {"at_most": self.at_most, "allowed": self.allowed, "needed_s": self.needed_s, "is_shown": self.is_shown}


def rest_of(name: str, values: Floats, middles_s: Floats) -> Rest | None:
    """Compare the change that a series may hide with the change that matters.

    Parameters
    ----------
    name : str
        `throughput`, `response_time` (logarithms) or another series.
    values : ndarray of shape (n_observations,)
    middles_s : ndarray of shape (n_observations,)
        Middles of the observations. [s]

    Returns
    -------
    Rest or None
        None if the series is too short for an error of its slope.

    Notes
    -----
    If what was found is chance, it falls with the square root of the length of the window, as its error does. A change
    that is no chance is found in a longer window.
    """
    if len(values) < _OBSERVATIONS_AT_LEAST:
        return None
    line = steady.trend(middles_s, values)
    span = float(np.ptp(middles_s))
    scale = 1.0 if name == "response_time" else abs(float(values.mean()))
    if scale == 0:
        return None
    change, error = abs(line.slope_per_s) * span / scale, ERRORS * line.error_per_s * span / scale
    allowed = CHANGE_AT_MOST.get(name.replace("_", " "), _CPU_AT_MOST)
    length = span * len(values) / (len(values) - 1)
    needed = length * ((change + error) / allowed) ** 2
    return Rest(
        _plain(name, change),
        _plain(name, change + error),
        _plain(name, allowed),
        needed if needed <= _WINDOW_AT_MOST_S else None,
    )


def is_at_rest(name: str, values: Floats, edges_s: Floats) -> bool:
    """Whether a series would end a settle stage: no trend, no transient, and a change that matters is excluded."""
    middles = (edges_s[:-1] + edges_s[1:]) / 2
    if len(values) < _OBSERVATIONS_AT_LEAST or edges_s[-1] - edges_s[0] < LEAST_WINDOW_S:
        return False
    found = rest_of(name, values, middles)
    if found is None or not found.is_shown or steady.trend(middles, values).p_value < TREND_SIGNIFICANCE:
        return False
    cut = steady.mser(values, steady.batch_for(len(values)))
    return not cut.observations or steady.differs(values, cut.observations)[0] >= steady.CUT_SIGNIFICANCE


def _plain(name: str, change: float) -> float:
    """A change of logarithms as a change of the value."""
    return math.expm1(min(50.0, change)) if name == "response_time" else change

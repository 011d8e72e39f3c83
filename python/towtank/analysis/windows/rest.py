"""Shows whether a series is at rest: compares the change that its noise does not exclude with the allowed change.

A test that finds no trend shows little if the window is short or noisy. A series counts as shown to be at rest if the
change found plus its error is small. Settle stages, windows, and the part of a window behind a cut at its half all use
these functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.analysis.doubts import percent, signed_percent
from towtank.analysis.measurement import Floats
from towtank.analysis.windows import steady
from towtank.analysis.windows.tolerances import NEGLIGIBLE, allowed
from towtank.distributions import t_quantile

TESTED = ("throughput", "response_time")
"""Series whose rest must be shown; CPU time of tiers follows throughput."""
LEAST_WINDOW_S = 10.0
"""Shortest window that shows rest; one second is one record of the engine. [s]"""
OBSERVATIONS_AT_LEAST = 8
"""Fewest observations that show rest. [1]"""
TREND_SIGNIFICANCE = 0.05
"""Level of the test for a trend. A strict test misses trends; this one finds more than the 0.01 of the analysis."""
_CONFIDENCE = 0.90
# A straight line through fewer observations leaves no residuals to estimate its error from.
_ESTIMATED_AT_LEAST = 5
# The messages advise no longer window than this. [s]
_WINDOW_AT_MOST_S = 24 * 3600.0


@dataclass(frozen=True)
class Rest:
    """Result of the test for rest of one series.

    Attributes
    ----------
    change : float
        Change over the window on the straight line through the series. [1]
    at_most : float or None
        Size of a change that the window does not exclude: one-sided 90 %. None if the window has too few observations
        to exclude any change. [1]
    allowed : float
        Change that rest must exclude. [1]
    needed_s : float or None
        Length of a window that excludes it, if the change found is chance; None beyond a day, and without any value.
        [s]
    """

    change: float
    at_most: float | None
    allowed: float
    needed_s: float | None

    @property
    def is_shown(self) -> bool:
        """True if a change larger than allowed is excluded."""
        return self.at_most is not None and self.at_most <= self.allowed

    def document(self) -> dict[str, Any]:
        """Return the entry of one series in the window of a run summary."""
        return {"at_most": self.at_most, "allowed": self.allowed, "needed_s": self.needed_s, "is_shown": self.is_shown}


@dataclass(frozen=True)
class Instability:
    """Reason why a series is not steady.
    Attributes
    ----------
    why : str
        In words; empty if the series is at rest.
    change : float
        Change over the window on the straight line through the series. [1]
    """

    why: str
    change: float


def rest_of(name: str, values: Floats, edges_s: Floats, *, cautious: bool = True) -> Rest:
    """Compare the change that a series may hide with the change that is allowed.

    Parameters
    ----------
    name : str
        `throughput`, `response_time` (logarithms) or another series.
    values : ndarray of shape (n_observations,)
    edges_s : ndarray of shape (n_observations + 1,)
        Edges of the observations. [s]
    cautious : bool, default True
        Whether to use the error of the cautious trend, as for changes that were found: its autocorrelation is corrected
        for the bias of a short series, and Student's t has its degrees of freedom.

    Notes
    -----
    A settle stage uses the plain error and the normal distribution, but four looks in a row: with the cautious error a
    system at rest with the noise of `settling.look` would wait for 60 s instead of 39 s.

    A change found by chance falls with the square root of the length of the window, as its error does. A real change is
    found in a longer window.
    """
    count, limit = len(values), _plain(name, allowed(name))
    scale = 1.0 if name == "response_time" else abs(float(values.mean())) if count else 0.0
    if scale == 0:
        return Rest(0.0, None, limit, None)
    length = float(edges_s[-1] - edges_s[0])
    least = _least_length_s(length / count)
    if count < _ESTIMATED_AT_LEAST:
        return Rest(0.0, None, limit, least)
    middles = (edges_s[:-1] + edges_s[1:]) / 2
    line, span = steady.trend(middles, values, cautious=cautious), float(np.ptp(middles))
    quantile = t_quantile(_CONFIDENCE, line.freedom if cautious else math.inf)
    change = line.slope_per_s * span / scale
    most = abs(change) + quantile * line.error_per_s * span / scale
    needed = max(least, length * (most / allowed(name)) ** 2)
    return Rest(
        _plain(name, change),
        _plain(name, most) if count >= OBSERVATIONS_AT_LEAST else None,
        limit,
        needed if needed <= _WINDOW_AT_MOST_S else None,
    )


def unknown(name: str, observation_s: float) -> Rest:
    """Return the rest of a series with too few transactions for a single test, with observations of this length."""
    return Rest(0.0, None, _plain(name, allowed(name)), _least_length_s(observation_s))


def instability_of(
    name: str, values: Floats, edges_s: Floats, *, proven: bool = True, cautious: bool = True
) -> Instability:
    """Find the reason why a series is not at rest.

    Parameters
    ----------
    name, values, edges_s, cautious
        As for `rest_of`.
    proven : bool, default True
        Whether a change that may be larger than allowed counts as a change, too.
    """
    found = rest_of(name, values, edges_s, cautious=cautious)
    text, over = name.replace("_", " "), f"over {edges_s[-1] - edges_s[0]:.0f} s"
    if proven and not found.is_shown:
        most = "any amount" if found.at_most is None else percent(found.at_most)
        return Instability(f"{text} changes by {signed_percent(found.change)}, perhaps by {most}, {over}", found.change)
    chance = steady.trend((edges_s[:-1] + edges_s[1:]) / 2, values).p_value
    if chance < TREND_SIGNIFICANCE and abs(found.change) > NEGLIGIBLE:
        return Instability(
            f"{text} has a trend of {signed_percent(found.change)} {over} (p = {chance:.2g})", found.change
        )
    if steady.significant_cut(values):
        return Instability(f"{text} differs at the start of the last {edges_s[-1] - edges_s[0]:.0f} s", found.change)
    return Instability("", found.change)


def is_at_rest(name: str, values: Floats, edges_s: Floats) -> bool:
    """Return True if a series is at rest: no trend, no transient, and a change larger than allowed is excluded."""
    if len(values) < OBSERVATIONS_AT_LEAST or edges_s[-1] - edges_s[0] < LEAST_WINDOW_S:
        return False
    return not instability_of(name, values, edges_s).why


def _least_length_s(observation_s: float) -> float:
    return max(LEAST_WINDOW_S, OBSERVATIONS_AT_LEAST * observation_s)


def _plain(name: str, change: float) -> float:
    """Convert a change of logarithms to a change of the value."""
    return math.expm1(min(50.0, change)) if name == "response_time" else change

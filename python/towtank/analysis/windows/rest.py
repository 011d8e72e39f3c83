"""Tests whether a series is steady: compares the largest change that its noise does not exclude with the allowed
change.

A test that finds no trend proves little if the window is short or noisy. Therefore a series counts as at rest (steady)
only if the change found plus its error is small. Settle stages, windows, and the second half of a window after a cut
all use these functions.
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
"""Series that must be shown to be at rest; CPU time of tiers follows throughput."""
LEAST_WINDOW_S = 10.0
"""Shortest window that can show rest; the engine records once per second. [s]"""
OBSERVATIONS_AT_LEAST = 8
"""Fewest observations that can show rest. [1]"""
TREND_SIGNIFICANCE = 0.05
"""Significance level of the trend test. It is weaker than the 0.01 of the analysis, to miss fewer trends."""
_CONFIDENCE = 0.90
# A straight line through fewer observations leaves no residuals from which to estimate its error.
_ESTIMATED_AT_LEAST = 5
# Longest window that messages advise. [s]
_WINDOW_AT_MOST_S = 24 * 3600.0


@dataclass(frozen=True)
class Rest:
    """Result of the test for rest of one series.

    Attributes
    ----------
    change : float
        Change over the window along a straight line fitted to the series. [1]
    at_most : float or None
        Largest change that the window does not exclude, one-sided 90 %. None if the window has too few observations to
        exclude any change. [1]
    allowed : float
        Largest allowed change; a larger change must be excluded. [1]
    needed_s : float or None
        Length of a window that would exclude a larger change, if the change found is random; None if longer than a day,
        or without values. [s]
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
        """Return the test of one series as JSON for the window of a run summary: largest change and allowed change."""
        return {"at_most": self.at_most, "allowed": self.allowed, "needed_s": self.needed_s, "is_shown": self.is_shown}


@dataclass(frozen=True)
class Instability:
    """Reason why a series is not steady.
    Attributes
    ----------
    why : str
        Reason as text; empty if the series is at rest.
    change : float
        Change over the window along a straight line fitted to the series. [1]
    """

    why: str
    change: float


def rest_of(name: str, values: Floats, edges_s: Floats, *, cautious: bool = True) -> Rest:
    """Compare the largest change that a series may hide with the allowed change.

    Parameters
    ----------
    name : str
        `throughput`, `response_time` (logarithms) or another series.
    values : ndarray of shape (n_observations,)
    edges_s : ndarray of shape (n_observations + 1,)
        Edges of the observations. [s]
    cautious : bool, default True
        Whether to use the error of the cautious trend test, which corrects the autocorrelation for the bias of a short
        series and uses Student's t with its degrees of freedom.

    Notes
    -----
    A settle stage uses the plain error and the normal distribution, but requires four consecutive tests: with the
    cautious error a steady system with the noise of `settling.look` would wait for 60 s instead of 39 s.

    A random change shrinks with the square root of the window length, as its error does. A real change remains visible
    in a longer window.
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
    """Return the result for a series with too few transactions for a test, given the length of its observations."""
    return Rest(0.0, None, _plain(name, allowed(name)), _least_length_s(observation_s))


def instability_of(
    name: str, values: Floats, edges_s: Floats, *, proven: bool = True, cautious: bool = True
) -> Instability:
    """Return the reason why a series is not at rest; an empty reason if it is.

    Parameters
    ----------
    name, values, edges_s, cautious
        As for `rest_of`.
    proven : bool, default True
        Whether a series also fails if a change larger than allowed is not excluded.
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
    """Return True if a series is at rest: no trend, no transient, and no change larger than allowed is possible."""
    if len(values) < OBSERVATIONS_AT_LEAST or edges_s[-1] - edges_s[0] < LEAST_WINDOW_S:
        return False
    return not instability_of(name, values, edges_s).why


def _least_length_s(observation_s: float) -> float:
    return max(LEAST_WINDOW_S, OBSERVATIONS_AT_LEAST * observation_s)


def _plain(name: str, change: float) -> float:
    """Convert a change of a logarithm to a relative change of the value; return other changes unchanged."""
    return math.expm1(min(50.0, change)) if name == "response_time" else change

"""Tests whether a series is steady: compares the largest change that noise may hide with the allowed change.

A test that finds no trend proves little if the window is short or noisy. Therefore a series counts as steady ("at
rest") only if the measured change plus its error is small. The functions are used for settle stages, for windows, and
for the second half of a window if a transient was cut off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.analysis.doubts import percent_text, signed_percent
from towtank.analysis.measurement import Floats
from towtank.analysis.windows import steady
from towtank.analysis.windows.tolerances import NEGLIGIBLE, allowed
from towtank.distributions import t_quantile

TESTED = ("throughput", "response_time")
"""Names of the series for which a steady state must be shown. The CPU time of tiers is left out, because it follows
the throughput.
"""
LEAST_WINDOW_S = 10.0
"""Length of the shortest window that can show a steady state; the engine records once per second. [s]"""
OBSERVATIONS_AT_LEAST = 8
"""Smallest number of observations that can show a steady state. [1]"""
TREND_SIGNIFICANCE = 0.05
"""Significance level of the trend test within the test for a steady state. It is larger than the 0.01 of other trend
tests, so that fewer trends are missed.
"""
_CONFIDENCE = 0.90
# A line is fitted only to at least this many observations. Fewer leave too few residuals for the error of the line.
_ESTIMATED_AT_LEAST = 5


@dataclass(frozen=True)
class Rest:
    """Result of the test whether one series of measured values is steady.

    Attributes
    ----------
    change : float
        Change over the window along a straight line fitted to the series. [1]
    at_most : float or None
        Largest change that the window does not exclude, with a one-sided confidence of 90 %. None if the window has too
        few observations to exclude any change. [1]
    allowed : float
        Largest allowed change; larger changes must be excluded. [1]
    needed_s : float or None
        Length of a window that would exclude changes larger than `allowed`, provided that `change` is random. None
        without values. [s]
    """

    change: float
    at_most: float | None
    allowed: float
    needed_s: float | None

    @property
    def is_shown(self) -> bool:
        """True if the window excludes changes of the series larger than `allowed`, so that the series counts
        as steady.
        """
        return self.at_most is not None and self.at_most <= self.allowed

    def document(self) -> dict[str, Any]:
        """Return the test of one series as JSON for a run summary: largest possible change and allowed change."""
        return {"at_most": self.at_most, "allowed": self.allowed, "needed_s": self.needed_s, "is_shown": self.is_shown}


@dataclass(frozen=True)
class Instability:
    """Reason why a series of measured values is not steady, and its change over the window.

    Attributes
    ----------
    why : str
        Reason as text; empty if the series is steady.
    change : float
        Change over the window along a straight line fitted to the series. [1]
    """

    why: str
    change: float


def rest_of(name: str, values: Floats, edges_s: Floats, *, cautious: bool = True) -> Rest:
    """Compare the largest change of a series that its noise may hide with the largest allowed change.

    Parameters
    ----------
    name : str
        `throughput`, `response_time` (logarithms) or another series.
    values : ndarray of shape (n_observations,)
    edges_s : ndarray of shape (n_observations + 1,)
        Edges of the observations. [s]
    cautious : bool, default True
        Whether to use the error of the cautious trend test, which corrects the autocorrelation for the bias of a short
        series, and Student's t with the degrees of freedom of that error.

    Notes
    -----
    A settle stage uses the plain error and the normal distribution, but requires four consecutive tests. With the
    cautious error, a steady system with the noise that `settling.look` describes would wait for 60 s instead of 39 s.

    `needed_s` assumes that a random change and its error shrink with the square root of the length of the window. A
    real change would remain.
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
    at_most = _plain(name, most) if count >= OBSERVATIONS_AT_LEAST else None
    return Rest(_plain(name, change), at_most, limit, max(least, length * (most / allowed(name)) ** 2))


def unknown(name: str, observation_s: float) -> Rest:
    """Return the result of the test for a steady state for a series that has too few transactions to be tested."""
    return Rest(0.0, None, _plain(name, allowed(name)), _least_length_s(observation_s))


def instability_of(
    name: str, values: Floats, edges_s: Floats, *, proven: bool = True, cautious: bool = True
) -> Instability:
    """Return the reason why a series is not steady; the reason is empty for a steady series.

    Parameters
    ----------
    name, values, edges_s, cautious
        As for `rest_of`.
    proven : bool, default True
        Whether a steady series must also exclude changes larger than the allowed change.
    """
    found = rest_of(name, values, edges_s, cautious=cautious)
    text, over = name.replace("_", " "), f"over {edges_s[-1] - edges_s[0]:.0f} s"
    if proven and not found.is_shown:
        most = "any amount" if found.at_most is None else f"up to {percent_text(found.at_most)}"
        return Instability(f"{text} changes by {signed_percent(found.change)}, perhaps by {most}, {over}", found.change)
    chance = steady.trend((edges_s[:-1] + edges_s[1:]) / 2, values).p_value
    if chance < TREND_SIGNIFICANCE and abs(found.change) > NEGLIGIBLE:
        return Instability(
            f"{text} has a trend of {signed_percent(found.change)} {over} (p = {chance:.2g})", found.change
        )
    if steady.significant_cut(values):
        return Instability(
            f"{text} differs between the start and the rest of the last {edges_s[-1] - edges_s[0]:.0f} s", found.change
        )
    return Instability("", found.change)


def is_at_rest(name: str, values: Floats, edges_s: Floats) -> bool:
    """Return True if a series is steady: it has no trend and no transient, and changes larger than the allowed one are
    excluded.
    """
    if len(values) < OBSERVATIONS_AT_LEAST or edges_s[-1] - edges_s[0] < LEAST_WINDOW_S:
        return False
    return not instability_of(name, values, edges_s).why


def _least_length_s(observation_s: float) -> float:
    return max(LEAST_WINDOW_S, OBSERVATIONS_AT_LEAST * observation_s)


def _plain(name: str, change: float) -> float:
    """Convert the change of a series to a relative change. For response time, which is a series of logarithms, apply
    the exponential function; return other changes unchanged.
    """
    return math.expm1(min(50.0, change)) if name == "response_time" else change

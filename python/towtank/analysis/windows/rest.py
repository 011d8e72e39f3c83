"""Tests whether a series is steady: compares the largest change that noise may hide with the largest allowed change.

A test that finds no trend proves little if the window is short or noisy. A series therefore counts as steady ("at
rest") only if the measured change plus its error is small. The functions are used for settle stages, for windows, and
for the second half of a window whose start was excluded as a transient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from towtank.analysis.doubts import percent_text, signed_percent
from towtank.analysis.measurement import Floats
from towtank.analysis.windows import steady
from towtank.analysis.windows.tolerances import NEGLIGIBLE, allowed
from towtank.distributions import t_quantile

TESTED = ("throughput", "response_time")
"""Names of the series that must be shown to be steady. The CPU time of tiers is not included, because it follows
throughput.
"""
LEAST_WINDOW_S = 10.0
"""Shortest window that can show a steady state, at one recorded value per second. [s]"""
OBSERVATIONS_AT_LEAST = 8
"""Smallest number of observations that can show a steady state. [1]"""
TREND_SIGNIFICANCE = 0.05
"""Significance level of the trend test within the test for a steady state, in (0, 1). It is larger than the level 0.01
of other trend tests, so that fewer trends are missed.
"""
_CONFIDENCE = 0.90  # One-sided confidence with which larger changes are excluded, in (0, 1).
# A line is fitted only to at least this number of observations. With fewer, the error of the line cannot be estimated.
# [1]
_ESTIMATED_AT_LEAST = 5


@dataclass(frozen=True)
class Rest:
    """Result of the test of one series of measured values for a steady state.

    Attributes
    ----------
    change : float
        Change over the window along a fitted straight line. [1]
    at_most : float or None
        Upper bound of the change, with a one-sided confidence of 90 %. None if there are too few observations. [1]
    allowed : float
        Largest allowed change. [1]
    needed_s : float or None
        Length of a window that would exclude changes larger than `allowed`, if `change` is random. None if there are no
        values. [s]
    """

    change: float
    at_most: float | None
    allowed: float
    needed_s: float | None

    @property
    def is_shown(self) -> bool:
        """True if changes larger than `allowed` are excluded, so that the series counts as steady."""
        return self.at_most is not None and self.at_most <= self.allowed

    def document(self) -> dict[str, object]:
        """Return the result as JSON for a run summary."""
        return {"at_most": self.at_most, "allowed": self.allowed, "needed_s": self.needed_s, "is_shown": self.is_shown}


@dataclass(frozen=True)
class Instability:
    """Reason why a series of measured values is not steady, and its change over the window.

    Attributes
    ----------
    why : str
        Reason as text; empty if the series is steady.
    change : float
        Change over the window along a fitted straight line. [1]
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
        True to use the error of the cautious trend test, and Student's t with its degrees of freedom. This test
        corrects the autocorrelation for its bias in short series.

    Notes
    -----
    A settle stage uses the plain error and the normal distribution, but requires four consecutive tests. With the
    cautious error, the settle stage of a steady system with the noise that `settling.look` describes would last 60 s
    instead of 39 s.

    `needed_s` assumes that a random change and its error are inversely proportional to the square root of the length of
    the window. A real change would remain.
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
    """Return the result for a series with too few transactions to be tested. `observation_s` is the length of one
    observation. [s]
    """
    return Rest(0.0, None, _plain(name, allowed(name)), _least_length_s(observation_s))


def instability_of(
    name: str, values: Floats, edges_s: Floats, *, proven: bool = True, cautious: bool = True
) -> Instability:
    """Return the reason why a series is not steady; empty if it is steady.

    Parameters
    ----------
    name, values, edges_s, cautious
        As for `rest_of`.
    proven : bool, default True
        True if a series counts as steady only if changes larger than the allowed change are excluded.
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
    """Return True if a series is steady: it has no trend and no transient, and changes larger than the allowed change
    are excluded.
    """
    if len(values) < OBSERVATIONS_AT_LEAST or edges_s[-1] - edges_s[0] < LEAST_WINDOW_S:
        return False
    return not instability_of(name, values, edges_s).why


def _least_length_s(observation_s: float) -> float:
    return max(LEAST_WINDOW_S, OBSERVATIONS_AT_LEAST * observation_s)


def _plain(name: str, change: float) -> float:
    """Convert the change of a series to a relative change. Changes of response time are differences of logarithms, to
    which the exponential function is applied. Other changes are returned unchanged. [1]
    """
    return math.expm1(min(50.0, change)) if name == "response_time" else change

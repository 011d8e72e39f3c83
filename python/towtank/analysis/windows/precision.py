"""Decides when a steady stage may end because its throughput is known precisely enough."""

from __future__ import annotations

from dataclasses import dataclass, field

from towtank.analysis.laws import response_by_users
from towtank.analysis.measurement import Floats
from towtank.analysis.statistics import ratio_of_sums
from towtank.analysis.windows.settling import SettlingResult, SteadySeconds, look_for_trend, without_transient

RESPONSE_HALF_WIDTH = 0.35
"""Largest half-width of the 95 % interval of the mean response time with which a stage may end, divided by the mean.
[1]

The checks of a run accept a mean of at least thirty independent values. For exponentially distributed values, its
half-width is 0.37.
"""


@dataclass
class Precision:
    """Test whether a steady stage may end, repeated each second.

    Attributes
    ----------
    to : float
        Required half-width of the 95 % interval of throughput, divided by throughput. [1]
    at_least_s : float
        Shortest length of the recording after the transient. [s]
    half_width : float or None
        Half-width of the interval at the latest test, divided by throughput; None if there was no interval. [1]
    last : SettlingResult or None
        Result of the latest test for a trend; None before the first.

    Notes
    -----
    If a stage ends as soon as its interval is narrow, the interval is too often narrow by chance. The shortest length
    `at_least_s` limits this effect, as does the rule that recordings shorter than 20 s have no interval. With one
    observation per second, at least 93 % of the 95 % intervals contain the true value
    (`tests/certified/test_certified_precision.py`).
    """

    to: float
    at_least_s: float
    half_width: float | None = field(default=None, init=False)
    last: SettlingResult | None = field(default=None, init=False)

    def take(self, seconds: SteadySeconds) -> bool:
        """Test a stage after a further second was recorded, and return True if the stage may end. `seconds` is the
        recording of the stage so far.
        """
        kept = without_transient(seconds)
        if kept is None:
            return False
        self.half_width = _half_width(kept.ended, kept.lengths_s)
        if float(kept.lengths_s.sum()) < self.at_least_s or self.half_width is None or self.half_width > self.to:
            return False
        response = _half_width(kept.response_sum_s, kept.ended, _by_users(kept))
        if response is None or response > RESPONSE_HALF_WIDTH:
            return False
        self.last = look_for_trend(kept)
        return self.last.steady


def _by_users(kept: SteadySeconds) -> Floats | None:
    """Return user seconds minus pauses as a substitute for the sums of response times; None for an open load, or if
    Little's law does not hold. [s]
    """
    if kept.unpaused_s is None or kept.users is None:
        return None
    user_s = kept.users * float(kept.lengths_s.sum())
    return response_by_users(kept.unpaused_s, kept.response_sum_s, kept.ended, user_s)


def _half_width(numerators: Floats, denominators: Floats, alike: Floats | None = None) -> float | None:
    """Return the half-width of the 95 % interval of a ratio of sums, divided by the ratio; None if there is no
    interval. [1]
    """
    found, _ = ratio_of_sums(numerators, denominators, alike=alike)
    return None if not found.value or found.half_width is None else found.half_width / found.value

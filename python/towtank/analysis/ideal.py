"""Computes ideal scaling: the throughput that each load would have if no request waited for another request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from towtank.analysis.aggregation import Point
from towtank.analysis.load_point import IdealScaling
from towtank.analysis.statistics import estimates, ratio_interval, standard_error_of
from towtank.analysis.statistics.estimates import Estimate
from towtank.distributions import t_quantile

LAW, LOWEST = "response time law", "lowest level"
"""Names of the two methods that determine the slope of the line of ideal scaling."""
# A load level differs from the others if its mean think time deviates from the mean over all levels by more than
# `_DEVIATIONS` standard errors, and by more than the share `_SHARE` of a cycle. Pacing causes such deviations.
_DEVIATIONS = 4.0
_SHARE = 0.02
_THINKS_AT_LEAST = 30.0  # Smallest number of think times, over all load levels. [1]


@dataclass(frozen=True)
class _Thinks:
    """Mean think time at one load level [s], and the number of transactions over which it was averaged [1]."""

    mean_s: float
    count: float


def ideal_line(points: Sequence[Point]) -> IdealScaling | None:
    """Fit the line of ideal scaling. Its slope, the throughput per unit of load, has an interval.

    Parameters
    ----------
    points : sequence of Point
        Load levels of one configuration, in ascending order.

    Returns
    -------
    IdealScaling or None
        With the load of the lowest valid level, and the method `LAW` or `LOWEST`. None if no level is valid.

    Notes
    -----
    By the response time law a user completes 1 / (Z + R) transactions per second [1]_. R is the mean response time of
    the lowest level. Z is the mean think time over all levels: think times do not depend on the load, and the lowest
    level has few of them. The standard error of Z is Z / sqrt(n) for n think times, as for exponential think times.

    The slope is instead the throughput per unit of load at the lowest level in two cases: under an open load, and if
    the think times of the levels differ significantly (as with pacing).

    References
    ----------
    .. [1] E. D. Lazowska, J. Zahorjan, G. S. Graham and K. C. Sevcik, *Quantitative System Performance*,
           Prentice-Hall, 1984, chapter 3.
    """
    usable = [point for point in points if point.is_valid and point.throughput.value and point.load]
    if not usable:
        return None
    lowest = usable[0]
    found, method = by_law(usable), LAW
    if found is None:
        found, method = lowest.throughput.scaled(1 / lowest.load), LOWEST
    return IdealScaling(
        users=lowest.whole_load if lowest.kind == "users" else None,
        rate=None if lowest.kind == "users" else lowest.whole_load,
        load=lowest.whole_load,
        per_user_per_s=found.value,
        interval=found.written,
        method=method,
    )


def by_law(points: Sequence[Point]) -> Estimate | None:
    """Return the throughput of successful transactions per user by the response time law, 1 / (Z + R). Return None if Z
    or R is unknown. [1/s]
    """
    lowest = points[0]
    response = lowest.response_mean if lowest.kind == "users" else estimates.NO_ESTIMATE
    if response.value is None:
        return None
    think = _think_time(points, response.value)
    if think is None:
        return None
    cycle = think.mean_s + response.value
    think_error, response_error = think.mean_s / math.sqrt(think.count), standard_error_of(response)
    answered = 1 - lowest.failed_share
    if cycle <= 0 or answered <= 0:
        return None
    if response_error is None:
        return Estimate(answered / cycle)
    freedom = max(1, response.n - 1)
    half = t_quantile(0.5 + estimates.CONFIDENCE / 2, freedom) * math.hypot(think_error, response_error)
    if half >= cycle:
        return Estimate(answered / cycle)
    # The interval of the cycle time is symmetric. The rate is its reciprocal, whose interval is nearly symmetric if it
    # is narrow.
    relative = half / cycle
    value = answered / cycle
    return Estimate(value, value * (1 - relative), value * (1 + relative), response.method, response.n)


def share_of_ideal(slope: Estimate, throughput: Estimate, load: float) -> Estimate:
    """Return the throughput at a load level, divided by the throughput that ideal scaling would give there. [1]

    Parameters
    ----------
    slope : Estimate
        Throughput per unit of load on the line of ideal scaling. [1/s]
    throughput : Estimate
        Throughput of the level. [1/s]
    load : float
        Load of the level. [1] or [1/s]
    """
    return ratio_interval(throughput, slope).scaled(1 / load)


def _think_time(points: Sequence[Point], response_s: float) -> _Thinks | None:
    """Return the mean think time over all load levels. Return None if a level has no think times, if all levels
    together have too few, or if the levels differ significantly.
    """
    found = [_Thinks(*level) for point in points if (level := point.thinks()) is not None]
    total = sum(level.count for level in found)
    if len(found) < len(points) or total < _THINKS_AT_LEAST:
        return None
    mean = sum(level.mean_s * level.count for level in found) / total
    allowed = _SHARE * (mean + response_s)
    same = all(abs(level.mean_s - mean) <= max(allowed, _DEVIATIONS * mean / math.sqrt(level.count)) for level in found)
    return _Thinks(mean, total) if same else None

"""Computes the line of ideal scaling: the throughput that each load would have if no request waited for another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from towtank.analysis.aggregation import Point
from towtank.analysis.statistics import estimates, ratio_interval, standard_error_of
from towtank.analysis.statistics.estimates import Estimate, estimate_from_document
from towtank.distributions import t_quantile

LAW, LOWEST = "response time law", "lowest level"
"""Names of the two methods that determine the slope of the line of ideal scaling."""
# Criteria for a mean think time that differs from the mean over all load levels: more than `_DEVIATIONS` standard
# errors, and more than the share `_SHARE` of a cycle. Pacing causes such differences.
_DEVIATIONS = 4.0
_SHARE = 0.02
_THINKS_AT_LEAST = 30.0


@dataclass(frozen=True)
class _Thinks:
    """Mean think time of one load level [s], and the number of transactions over which it was averaged."""

    mean_s: float
    count: float


def ideal_line(points: Sequence[Point]) -> dict[str, Any] | None:
    """Fit the line of ideal scaling, whose slope is the throughput per unit of load, with an interval.

    Parameters
    ----------
    points : sequence of Point
        Points of one configuration, ordered by load.

    Returns
    -------
    dict or None
        `load` of the lowest valid level, `per_user_per_s`, `interval` (an estimate), and `method`, one of `LAW` and
        `LOWEST`. None without a valid point.

    Notes
    -----
    By the response time law a user completes 1 / (Z + R) transactions per second [1]_. R is the mean response time of
    the lowest level. Z is the mean think time over all levels, because it does not depend on the load and the lowest
    level has few think times. Its standard error is Z / sqrt(n) for n think times, as for exponential think times.

    The slope is the throughput per unit of load at the lowest level in two cases: under an open load, and if the think
    times of the levels differ significantly (as with pacing).

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
    whole = lowest.document()["load"]
    return {
        lowest.kind: whole,
        "load": whole,
        "per_user_per_s": found.value,
        "interval": found.document(),
        "method": method,
    }


def by_law(points: Sequence[Point]) -> Estimate | None:
    """Return the throughput of one user by the response time law, 1 / (Z + R); None if Z or R is unknown. [1/s]"""
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
    # The interval of the cycle time is symmetric. A narrow interval of its reciprocal, the rate, is nearly symmetric.
    relative = half / cycle
    value = answered / cycle
    return Estimate(value, value * (1 - relative), value * (1 + relative), response.method, response.n)


def share_of_ideal(ideal: dict[str, Any], throughput: Estimate, load: float) -> Estimate:
    """Return the throughput of a load level divided by the throughput of ideal scaling at that load. [1]

    Parameters
    ----------
    ideal : dict
        Result of `ideal_line`. Summaries of older versions lack `interval`; the share then has no interval.
    throughput : Estimate
        Throughput of the level. [1/s]
    load : float
        Load of the level. [1] or [1/s]
    """
    slope = estimate_from_document(ideal.get("interval") or {"value": ideal["per_user_per_s"]})
    return ratio_interval(throughput, slope).scaled(1 / load)


def _think_time(points: Sequence[Point], response_s: float) -> _Thinks | None:
    """Return the mean think time over all load levels. None if a level has no think times, if all levels together have
    too few, or if the levels differ significantly.
    """
    found = [_Thinks(*level) for point in points if (level := point.thinks()) is not None]
    total = sum(level.count for level in found)
    if len(found) < len(points) or total < _THINKS_AT_LEAST:
        return None
    mean = sum(level.mean_s * level.count for level in found) / total
    allowed = _SHARE * (mean + response_s)
    same = all(abs(level.mean_s - mean) <= max(allowed, _DEVIATIONS * mean / math.sqrt(level.count)) for level in found)
    return _Thinks(mean, total) if same else None

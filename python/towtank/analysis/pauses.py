"""Finds single seconds whose response times are far longer than in the seconds before and after. Such seconds indicate
that the system paused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.analysis.measurement import Mask, Measurement

TIMES_SLOWER = 8.0
"""A second is slow if its mean response time exceeds the means of the seconds before and after by this factor. [1]"""
SLOW_AT_LEAST = 3
SLOW_SHARE = 0.10
"""Slow seconds are reported if their number is at least `SLOW_AT_LEAST` and at least this share of all seconds, in [0,
1]. Chance alone explains fewer.
"""
# A second is compared only if it has at least this number of transactions, because chance dominates other means.
_TRANSACTIONS_AT_LEAST = 10


@dataclass(frozen=True)
class Pauses:
    """Entry `pauses` of a run summary: number of slow seconds among all seconds [1], mean response times [s], and time
    between slow seconds [s].
    """

    seconds: int
    slow: int
    slow_mean_s: float | None
    other_mean_s: float
    limit: float
    apart_s: float | None
    at_s: tuple[float, ...] = ()


def pauses(measurement: Measurement, chosen: Mask) -> Pauses | None:
    """Find the seconds of a window whose mean response time is far longer than in the seconds before and after.

    Returns
    -------
    Pauses or None
        None if fewer than five seconds can be compared, or if the run is so long that its seconds were merged.

    Notes
    -----
    A queue at high utilization drains no faster than it fills, so many consecutive seconds are slow. A pause shorter
    than a second, in contrast, affects one or two seconds. To distinguish pauses from queues, only single slow seconds
    count. This method detects about 70 % of pauses of 0.3 s at random times. `tests/certified/test_certified_growth.py`
    checks that queues without pauses rarely have single slow seconds.
    """
    if measurement.is_merged:
        return None
    numbers = np.flatnonzero(chosen)
    counts = measurement.transactions.response.counts[numbers]
    usable = counts >= _TRANSACTIONS_AT_LEAST
    if usable.sum() < 5:
        return None
    means = np.where(usable, measurement.transactions.response_means_s[numbers], np.nan)
    slow = slow_places(means)
    at_s = measurement.starts[numbers][slow]
    quick = np.delete(means, slow)
    return Pauses(
        seconds=len(numbers),
        slow=len(slow),
        slow_mean_s=float(means[slow].mean()) if len(slow) else None,
        other_mean_s=float(np.nanmean(quick)),
        limit=slow_limit(len(numbers)),
        apart_s=float(np.median(np.diff(at_s))) if len(slow) > 1 else None,
        at_s=tuple(map(float, at_s)),
    )


def slow_limit(count: int) -> float:
    """Return the number of slow seconds, among `count` seconds, from which they are reported. Chance explains fewer.
    [1]
    """
    return max(float(SLOW_AT_LEAST), SLOW_SHARE * count)


def slow_places(means: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the indices of seconds whose mean response time is far longer than in the seconds before and after.
    Seconds with NaN, and their neighbours, are never slow.

    Parameters
    ----------
    means : ndarray of shape (n_seconds,)
        Mean response time of each second. [s]
    """
    if len(means) < 3:
        return np.zeros(0, dtype=np.int64)
    slower = means[1:-1] > TIMES_SLOWER * np.maximum(means[:-2], means[2:])
    return np.flatnonzero(slower) + 1

"""Seconds that are far slower than the seconds before and after them: something stops the system at times."""

from __future__ import annotations

from typing import Any

import numpy as np

from towtank.analysis.measurement import Mask, Measurement

TIMES_SLOWER = 8.0
"""How many times as long as in both seconds beside it a mean response time must be. [1]"""
SLOW_AT_LEAST = 3
SLOW_SHARE = 0.10
"""Slow seconds, and share of all, that make a pattern; of service times that vary much fewer come by chance. [1]"""
# A second with fewer has a mean of chance.
_TRANSACTIONS_AT_LEAST = 10


def pauses(measurement: Measurement, chosen: Mask) -> dict[str, Any] | None:
    """Find the slow seconds of a window.

    Parameters
    ----------
    measurement : Measurement
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the window.

    Returns
    -------
    dict or None
        As `docs/reference/summary.md` describes; None where fewer than five seconds can be compared.

    Notes
    -----
    A queue at high utilization is slow for many seconds in a row, as it drains no faster than it fills; a pause that is
    shorter than a second leaves one slow second, or two, between quick ones. Only single ones are counted, so that of
    pauses that come at random times about 70 % are found where they last 0.3 s. How seldom queues without pauses have
    such seconds: `tests/certified/test_certified_growth.py`.
    """
    numbers = np.flatnonzero(chosen)
    counts = measurement.transactions.response.counts[numbers]
    usable = counts >= _TRANSACTIONS_AT_LEAST
    if usable.sum() < 5:
        return None
    means = np.where(usable, measurement.transactions.response_sum_s[numbers] / np.maximum(counts, 1.0), np.nan)
    slow = slow_places(means)
    at_s = measurement.starts[numbers][slow]
    quick = np.delete(means, slow)
    return {
        "seconds": len(numbers),
        "slow": len(slow),
        "slow_mean_s": float(means[slow].mean()) if len(slow) else None,
        "other_mean_s": float(np.nanmean(quick)),
        "limit": slow_limit(len(numbers)),
        "apart_s": float(np.median(np.diff(at_s))) if len(slow) > 1 else None,
        "at_s": [float(at) for at in at_s],
    }


def slow_limit(count: int) -> float:
    """Slow seconds of so many that are no chance. [1]"""
    return max(float(SLOW_AT_LEAST), SLOW_SHARE * count)


def slow_places(means: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Places of the seconds that are far slower than both beside them; NaN is no second to compare with.

    Parameters
    ----------
    means : ndarray of shape (n_seconds,)
        Mean response time of each second. [s]
    """
    if len(means) < 3:
        return np.zeros(0, dtype=np.int64)
    slower = means[1:-1] > TIMES_SLOWER * np.maximum(means[:-2], means[2:])
    return np.flatnonzero(slower) + 1

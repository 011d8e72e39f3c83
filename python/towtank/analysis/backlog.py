"""Compares the requests in flight at the edges of a window with the number that the load needs by Little's law."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from towtank.analysis.measurement import Floats, Mask, Measurement

# The requests in flight at the start count as a backlog if they exceed the mean by this many standard deviations.
BEYOND_NOISE = 3.0


def backlog(measurement: Measurement, chosen: Mask) -> dict[str, Any] | None:
    """Compare requests in flight and waiting arrivals at the edges of a window with the numbers that the load needs.

    Parameters
    ----------
    measurement : Measurement
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the window.

    Returns
    -------
    dict or None
        Entry `backlog` of the run summary; None if the window is too short to be halved.

    Notes
    -----
    By Little's law a load has X R requests in flight on average, here called the need. X is the rate at which
    requests ended in the window, R their mean exchange time; if no arrival waits, R is their mean response time,
    because a request may wait for a thread of the generator that reads a file. The swing is the standard deviation
    over the seconds of the second half of the window, at least the square root of their mean (as for a Poisson
    variable). A number of requests in flight at the start of the window that exceeds the need by more than three
    swings is an excess from before the window. `drained_s` is the time until the number first lies within one swing
    of the need; None if the number never comes that close. The number of waiting arrivals is compared with the mean
    of waiting arrivals in the second half.
    """
    numbers = np.flatnonzero(chosen)
    if len(numbers) < 4:
        return None
    first, last = int(numbers[0]), int(numbers[-1])
    requests = measurement.requests
    length = measurement.length_of(chosen)
    sums = requests.exchange_sum_s if measurement.waiting[chosen].any() else requests.response_sum_s
    needs = float(sums[chosen].sum()) / length
    later = numbers[len(numbers) // 2 :]
    flying = _before(measurement.in_flight, first)
    waiting = _before(measurement.waiting, first)
    swing = _swing(measurement.in_flight[later], needs)
    waits = float(measurement.waiting[later].mean())
    swing_waiting = _swing(measurement.waiting[later], waits)
    excess = max(0.0, flying - needs - BEYOND_NOISE * swing)
    excess_waiting = max(0.0, waiting - waits - BEYOND_NOISE * swing_waiting)
    rested = (measurement.in_flight <= needs + swing) & (measurement.waiting <= waits + swing_waiting)
    return {
        "at_start": int(flying),
        "at_end": int(measurement.in_flight[last]),
        "waiting_at_start": int(waiting),
        "waiting_at_end": int(measurement.waiting[last]),
        "needs": needs,
        "swing": swing,
        "excess_at_start": excess + excess_waiting,
        "drained_s": _drained(measurement, numbers, rested) if excess + excess_waiting > 0 else 0.0,
    }


def _before(values: Floats, first: int) -> float:
    """Return the value at the end of the bin before the window; 0 if the window begins with the run."""
    return float(values[first - 1]) if first > 0 else 0.0


def _swing(values: Floats, mean: float) -> float:
    return max(float(values.std(ddof=1)) if len(values) > 1 else 0.0, math.sqrt(max(mean, 1.0)))


def _drained(measurement: Measurement, numbers: Any, rested: Mask) -> float | None:
    for number in numbers:
        if rested[number]:
            return float(measurement.ends[number] - measurement.starts[numbers[0]])
    return None

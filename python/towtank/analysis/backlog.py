"""Compares the requests in flight at the start and end of a window with the mean number that the load requires by
Little's law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.analysis.measurement import Floats, Mask, Measurement

# A backlog existed at the start of the window if the requests in flight exceed their mean by more than this many
# standard deviations.
BEYOND_NOISE = 3.0


@dataclass(frozen=True)
class Backlog:
    """Entry `backlog` of a run summary: numbers of requests in flight and of waiting arrivals, with their need and
    swing. [1]

    `drained_s` is the time until the excess has drained; None if it never drains. [s]
    """

    at_start: int
    at_end: int
    waiting_at_start: int
    waiting_at_end: int
    needs: float
    swing: float
    excess_at_start: float
    drained_s: float | None


def backlog(measurement: Measurement, chosen: Mask) -> Backlog | None:
    """Compare requests in flight and waiting arrivals, at the start and end of a window, with the mean numbers that
    the load requires.

    Returns
    -------
    Backlog or None
        None if the window is too short to be halved.

    Notes
    -----
    By Little's law a load keeps X R requests in flight on average. This number is called the need here. X is the rate
    at which requests ended in the window. R is their mean exchange time if arrivals waited in the window. Otherwise R
    is their mean response time, which includes waits for a generator thread that reads a file.

    The swing is the standard deviation of the number in flight over the seconds of the second half of the window, and
    at least the square root of the need, as for a Poisson variable. If the number in flight at the start exceeds the
    need by more than three swings, the number beyond these three swings is the excess, which existed before the window.
    Waiting arrivals are treated in the same way; their need is their mean number in the second half.

    `drained_s` is the time from the start of the window until requests in flight and waiting arrivals each exceed their
    need by at most one swing. It is 0 without an excess, and None if the numbers never fall that low.
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
    drained = _drained(measurement, numbers, rested) if excess + excess_waiting > 0 else 0.0
    at_end, waiting_at_end = int(measurement.in_flight[last]), int(measurement.waiting[last])
    return Backlog(int(flying), at_end, int(waiting), waiting_at_end, needs, swing, excess + excess_waiting, drained)


def _before(values: Floats, first: int) -> float:
    return float(values[first - 1]) if first > 0 else 0.0


def _swing(values: Floats, mean: float) -> float:
    return max(float(values.std(ddof=1)) if len(values) > 1 else 0.0, math.sqrt(max(mean, 1.0)))


def _drained(measurement: Measurement, numbers: Any, rested: Mask) -> float | None:
    for number in numbers:
        if rested[number]:
            return float(measurement.ends[number] - measurement.starts[numbers[0]])
    return None

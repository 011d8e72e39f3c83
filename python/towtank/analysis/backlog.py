"""Backlog: what a window had in hand at its start and end, against what its own load needs in hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from towtank.analysis.measurement import Floats, Mask, Measurement

# Standard deviations beyond which what is in hand at the start is more than the load swings by itself.
BEYOND_NOISE = 3.0


def backlog(measurement: Measurement, chosen: Mask) -> dict[str, Any] | None:
    """Requests in flight and arrivals that wait, at the edges of a window.

    Parameters
    ----------
    measurement : Measurement
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the window.

    Returns
    -------
    dict or None
        None where the window is too short to have halves.

    Notes
    -----
    By Little's law a load needs X R requests in flight, X the rate at which requests ended in the window and R their
    mean exchange time; what it swings by is taken from the seconds of the second half of the window, at least the
    square root of the mean, as of a Poisson number. More than that by three deviations at the start is an excess,
    carried over from before. `drained_s` is the time until it first was within one deviation; None where it never was.
    Arrivals that wait are compared with their mean in the second half in the same way.
    """
    numbers = np.flatnonzero(chosen)
    if len(numbers) < 4:
        return None
    first, last = int(numbers[0]), int(numbers[-1])
    requests = measurement.requests
    ended = float(requests.exchange.counts[chosen].sum())
    length = measurement.length_of(chosen)
    exchange = float(requests.exchange_sum_s[chosen].sum()) / ended if ended else 0.0
    needs = ended / length * exchange
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
    """What stood at the end of the bin before a window; at the start of the run there is nothing yet."""
    return float(values[first - 1]) if first > 0 else 0.0


def _swing(values: Floats, mean: float) -> float:
    return max(float(values.std(ddof=1)) if len(values) > 1 else 0.0, math.sqrt(max(mean, 1.0)))


def _drained(measurement: Measurement, numbers: Any, rested: Mask) -> float | None:
    for number in numbers:
        if rested[number]:
            return float(measurement.ends[number] - measurement.starts[numbers[0]])
    return None

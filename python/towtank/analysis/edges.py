"""Computes bounds of the time that users have already spent in the transactions and pauses that are in progress at
the edge of a window.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from towtank.analysis.measurement import Floats, Measurement

# Largest difference between two edges of bins that counts as a rounding error. [s]
_SAME_INSTANT_S = 1e-6
# The engine does not record the lengths of pauses inside transactions. Such pauses exist if the number of ended pauses
# exceeds the number of recorded lengths by more than this share. [1]
_INNER_SHARE = 0.01


class Spent(NamedTuple):
    """Bounds of the time that users have spent, up to an instant, in the activities in progress at that instant. [s]"""

    low_s: float
    high_s: float


class _Parts(NamedTuple):
    """Activities that may be in progress at an instant, with bounds of the time already spent in each of them [s].
    `counts` states how many activities have the same bounds.
    """

    counts: Floats
    low_s: Floats
    high_s: Floats


def spent_by(measurement: Measurement, at_s: float, allowance_s: float) -> Spent:
    """Return bounds of the time that users have spent in the transactions and pauses in progress at an instant.

    Parameters
    ----------
    measurement : Measurement
    at_s : float
        An edge of the bins, in run time. [s]
    allowance_s : float
        User time added to the upper bound for pauses without recorded lengths: pauses inside transactions, and all
        pauses if the engine did not record them. [s]

    Notes
    -----
    A transaction in progress at an instant t ends in a later bin [a, b), whose histogram contains its response time r.
    The part of r before t is at least r - (b - t) and at most r - (a - t); negative values count as 0.

    A pause in progress began in an earlier bin [a, b), whose histogram contains its length z. If z > t - a, the pause
    surely lasts beyond t and has lasted at least t - b. If z > t - b, the pause may last beyond t and has lasted at
    most min(z, t - a).

    A user has one activity at a time. The upper bound therefore counts only as many activities as there are users, and
    of all activities those with the largest bounds. Neither bound assumes a distribution or a steady state.

    Transactions that do not end within the recording have no response time. Each of them adds the time from the start
    of the run to t to the upper bound. If the recording ends at t, each user adds the longest recorded response time.
    """
    users = _users_at(measurement, at_s)
    if at_s <= float(measurement.starts.min()) + _SAME_INSTANT_S or users <= 0:
        return Spent(0.0, 0.0)
    transactions = _transactions(measurement, at_s)
    pauses = _pauses(measurement, at_s)
    counts, low_s, high_s = (np.concatenate(pair) for pair in zip(transactions, pauses, strict=True))
    high = _of_the_largest(counts, high_s, users) + _never_ended_s(measurement, at_s, users)
    return Spent(float(counts @ low_s), high + (0.0 if _all_pauses_known(measurement) else allowance_s))


def _users_at(measurement: Measurement, at_s: float) -> float:
    """Return the number of users at an edge of the bins: the larger of the mean numbers in the bins before and after
    it, rounded up. [1]
    """
    beside = (np.abs(measurement.starts - at_s) < _SAME_INSTANT_S) | (np.abs(measurement.ends - at_s) < _SAME_INSTANT_S)
    users = measurement.mean_users[beside & (measurement.ends > measurement.starts)]
    return float(math.ceil(users.max() - _SAME_INSTANT_S)) if len(users) else 0.0


def _transactions(measurement: Measurement, at_s: float) -> _Parts:
    later = measurement.starts >= at_s - _SAME_INSTANT_S
    bins, times_s, counts = measurement.transactions.response.values(later)
    low_s = np.maximum(0.0, times_s - (measurement.ends[bins] - at_s))
    high_s = np.maximum(0.0, times_s - (measurement.starts[bins] - at_s))
    return _Parts(counts, low_s, high_s)


def _pauses(measurement: Measurement, at_s: float) -> _Parts:
    earlier = measurement.ends <= at_s + _SAME_INSTANT_S
    bins, times_s, counts = measurement.rests.values(earlier)
    since_s, last_s = at_s - measurement.starts[bins], at_s - measurement.ends[bins]
    low_s = np.where(times_s > since_s, last_s, 0.0)
    high_s = np.where(times_s > last_s, np.minimum(times_s, since_s), 0.0)
    return _Parts(counts, np.maximum(0.0, low_s), high_s)


def _of_the_largest(counts: Floats, values: Floats, most: float) -> float:
    """Return the sum of the `most` largest values, where `counts` states how often each value occurs."""
    order = np.argsort(-values, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(counts[order])[:-1]]) if len(order) else np.zeros(0)
    return float(np.clip(most - before, 0.0, counts[order]) @ values[order])


def _never_ended_s(measurement: Measurement, at_s: float, users: float) -> float:
    last = int(np.argmax(measurement.ends))
    if measurement.ends[last] <= at_s + _SAME_INSTANT_S:
        _, times_s, _ = measurement.transactions.response.values(np.ones(measurement.bins, dtype=bool))
        return users * float(times_s.max(initial=0.0))
    return min(float(measurement.in_flight[last]), users) * (at_s - float(measurement.starts.min()))


def _all_pauses_known(measurement: Measurement) -> bool:
    """Return True if the engine recorded the lengths of all ended pauses, that is, if there were no pauses inside
    transactions.
    """
    began = float(measurement.rests.counts.sum())
    return float(measurement.think_count.sum()) <= (1 + _INNER_SHARE) * began

"""Computes bounds of the time that users have already spent in unfinished transactions and pauses at the edge of a
window.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from towtank.analysis.measurement import Floats, Measurement

# Two times that differ by less than this are the same edge of a bin; the difference is a rounding error. [s]
_SAME_INSTANT_S = 1e-6
# The engine does not record the lengths of pauses inside transactions. If more pauses ended than lengths were recorded,
# and the excess is larger than this share, such pauses exist. [1]
_INNER_SHARE = 0.01


class Spent(NamedTuple):
    """Lower and upper bound of the time that users have spent, up to an instant, in unfinished transactions and pauses.
    [s]
    """

    low_s: float
    high_s: float


class _Parts(NamedTuple):
    """Transactions or pauses that may be in progress at an instant, with bounds of the time already spent in each. [s]

    `counts` is the number of transactions or pauses with the same bounds.
    """

    counts: Floats
    low_s: Floats
    high_s: Floats


def spent_by(measurement: Measurement, at_s: float, allowance_s: float) -> Spent:
    """Return bounds of the time that users have spent in the transactions and pauses that are in progress at an
    instant.

    Parameters
    ----------
    measurement : Measurement
    at_s : float
        Instant, which must be an edge of a bin, in run time. [s]
    allowance_s : float
        User time by which pauses of unrecorded length raise the upper bound. Lengths are not recorded for pauses inside
        transactions, and for any pause in files of engines that did not record them. [s]

    Notes
    -----
    A transaction in progress at an instant t ends in a later bin [a, b). The histogram of that bin contains its
    response time r. The time before t is at least r - (b - t) and at most r - (a - t); negative values count as 0.

    A pause in progress began in an earlier bin [a, b). The histogram of that bin contains its length z. If z > t - a,
    the pause surely lasts beyond t and has lasted at least t - b. If z > t - b, the pause may last beyond t and has
    lasted at most min(z, t - a).

    A user is in one transaction or pause at a time. If there are N users, the upper bound is therefore the sum of the N
    largest upper bounds of single transactions and pauses. Neither bound assumes a distribution or a steady state.

    A transaction that does not end within the recording has no response time. For each of them, the upper bound grows
    by the time from the start of the run to t. If the recording ends at t, the upper bound grows by the longest
    recorded response time for each user.
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
    """Return the number of users at an edge between two bins: the larger of the mean numbers in these bins, rounded up.
    [1]
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
    """Return the sum of the `most` largest values. Each value occurs as often as `counts` states."""
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
    """Return True if the engine recorded the length of every pause that ended. This is the case if no transaction
    contains a pause.
    """
    began = float(measurement.rests.counts.sum())
    return float(measurement.think_count.sum()) <= (1 + _INNER_SHARE) * began

"""Checks the operational laws on every run.

The laws hold for every system and any distribution [1]_. If a measurement violates them, a counter is wrong or the
system changed within the window. A small deviation is normal, because some transactions cross an edge of the window;
the limits allow for this deviation only.

References
----------
.. [1] P. J. Denning and J. P. Buzen, "The operational analysis of queueing network models", ACM Computing
       Surveys 10(3), 225-261, 1978, doi:10.1145/356733.356735.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.analysis.edges import spent_by
from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.statistics import error_of
from towtank.distributions import t_quantile
from towtank.results import TotalsForm

LIMIT = 0.05
"""Largest accepted residual of an operational law, relative to the quantity that the law gives, in [0, 1]. The part of
the deviation that the edges of the window may cause does not count as residual.
"""
CONCLUSIVE_AT_MOST = 0.15
"""Largest limit of the residual with which the utilization law can be confirmed, in [0, 1].

If the limit is larger than this, a residual below the limit proves nothing.
"""
UNTIMED_AT_MOST = 0.001
"""Little's law N = X (R + Z) is checked only if at most this share of transactions lacks a response time, in [0, 1].

At this share, failures that each last 50 mean cycles change X (R + Z) by 5 %, which is the largest accepted residual.
"""
# Edge effects of the window are accepted up to this number of standard deviations. It is the two-sided 99 % quantile of
# the normal distribution, so larger edge effects occur in one of a hundred runs.
_EDGE_DEVIATIONS = 2.6
# Probability that a check raises a doubt by chance. With this probability, which the audit of the load uses as well,
# chance hardly ever raises a doubt in a study of about ten runs.
_BY_CHANCE = 0.001
# Tiers that use fewer CPUs than this are not checked, because their measured CPU time consists of a few clock ticks of
# the kernel. [CPUs]
_CPUS_WORTH_A_CHECK = 0.02


def unfinished_s(users: float, cycle_s: float) -> float:
    """Return the largest difference that chance explains between the total time of all users and the time of their
    completed cycles. [s]

    Notes
    -----
    The difference comes from cycles that cross an edge of the window and therefore lie in the window only partly. At
    each edge, N users together contribute a sum of about one cycle each. With the mean cycle time R + Z, the standard
    deviation of the difference is at most sqrt(2 N) (R + Z) if cycle times vary no more than exponentially distributed
    times. The limit is 2.6 standard deviations.
    """
    return _EDGE_DEVIATIONS * math.sqrt(2 * users) * cycle_s


def response_by_users(unpaused_s: Floats, response_sum_s: Floats, ended: Floats, user_s: float) -> Floats | None:
    """Return user seconds minus pauses as a substitute for the sums of response times, if both have the same total
    apart from edge effects.

    Parameters
    ----------
    unpaused_s, response_sum_s : ndarray of shape (n_seconds,)
        User seconds minus the pauses that ended in each second, and sums of response times. [s]
    ended : ndarray of shape (n_seconds,)
        Transactions that ended in each second. [1]
    user_s : float
        User seconds over all seconds. [s]

    Returns
    -------
    ndarray of shape (n_seconds,) or None
        `unpaused_s`; None if the totals differ by more than `unfinished_s` (as after a transient), or if no transaction
        ended.

    Notes
    -----
    A user either waits for a response or pauses. User seconds minus pauses therefore equal the sum of response times,
    apart from unfinished cycles at the edges. In a saturated system the number of waiting users changes slowly, so the
    sums of response times in a short window give too few independent values for an interval of the mean. Completions
    and pauses of neighbouring seconds, in contrast, are nearly independent.
    """
    total, length = float(ended.sum()), len(ended)
    if not total or not length or user_s <= 0:
        return None
    apart = abs(float(unpaused_s.sum() - response_sum_s.sum()))
    return unpaused_s if apart <= unfinished_s(user_s / length, user_s / total) else None


@dataclass(frozen=True)
class Little:
    """Check of Little's law in a run summary: users `n` [1], throughput [1/s], response and think time [s], bounds of
    the unfinished cycles [1], and the residual with its limit, in [0, 1].
    """

    n: float
    x_per_s: float
    r_s: float
    z_s: float
    unfinished: tuple[float, float] | None = None
    untimed_share: float | None = None
    residual: float | None = None
    limit: float = LIMIT
    holds: bool | None = None


@dataclass(frozen=True)
class UtilizationLaw:
    """Check of the utilization law of a tier in a run summary: CPUs `u` [1], throughput [1/s], demand [s], and the
    residual with its limit, in [0, 1].
    """

    tier: str
    u: float
    x_per_s: float
    d_s: float
    residual: float
    limit: float
    holds: bool | None
    how: str = "demand from the other half of the window"


@dataclass(frozen=True)
class Laws:
    """Entry `laws` of a run summary."""

    little: Little | None = None
    utilization: tuple[UtilizationLaw, ...] = ()


@dataclass(frozen=True)
class RecordedCounts:
    """Number of ended requests: sum over the intervals, and total of the engine. [1]"""

    intervals: int
    engine: int


@dataclass(frozen=True)
class Accounting:
    """Entry `accounting` of a run summary: numbers of requests, and True if they add up. [1]"""

    offered: int
    started: int
    ok: int
    failed: dict[str, int]
    not_started: dict[str, int]
    in_flight: int
    holds: bool
    recorded: RecordedCounts | None = None


def little(measurement: Measurement, chosen: Mask) -> Little | None:
    """Check Little's law of a closed load, N = X (R + Z).

    Returns
    -------
    Little or None
        None if no user was active, or if no transaction with a response time ended.

    Notes
    -----
    N is computed from the integral of active users, X and R from all transactions that ended, Z from the pauses that
    ended. Over a window [s, e] of length T each user is in a transaction or pauses, so that

        N T = X T (R + Z) + A(e) - A(s),

    where A(t) is the time spent until t in the transactions and pauses in progress at t. A cycle counts in the window
    in which it ends. Cycles in progress at s began before the window, and cycles in progress at e end after it; A
    corrects for this. The equation is the operational form of Little's law [1]_ with the edge terms, which are
    negligible for a long window. It holds exactly, for any distribution. `edges.spent_by` computes bounds of A(s) and
    A(e): from transactions that ended later, and from pauses that began earlier. The residual is the part of N T that
    these bounds do not explain, relative to N T.

    A transaction whose connection failed counts in X but has no response time. It may have taken no time at all, or the
    whole time-out. If more than `UNTIMED_AT_MOST` of the transactions lack a response time, R is not their mean: the
    law is not checked, and `residual` and `holds` are None.

    References
    ----------
    .. [1] J. D. C. Little, "Little's law as viewed on its 50th anniversary", Operations Research 59(3), 536-549, 2011,
           doi:10.1287/opre.1110.0940.
    """
    length = measurement.length_of(chosen)
    ended = float(measurement.transactions.ended[chosen].sum())
    user_s = float(measurement.user_s[chosen].sum())
    timed = float(measurement.transactions.response.counts[chosen].sum())
    if length <= 0 or not ended or not timed or user_s <= 0:
        return None
    users, rate = user_s / length, ended / length
    response = float(measurement.transactions.response_sum_s[chosen].sum()) / timed
    think = float(measurement.think_s[chosen].sum()) / ended
    low, high = _unfinished_users(measurement, chosen, unfinished_s(users, response + think))
    by_cycles = rate * (response + think)
    untimed = max(0.0, 1 - timed / ended)
    is_checked = untimed <= UNTIMED_AT_MOST
    residual = max(0.0, users - by_cycles - high, by_cycles + low - users) / users if is_checked else None
    holds = None if residual is None else residual <= LIMIT
    return Little(users, rate, response, think, (low, high), untimed, residual, LIMIT, holds)


def _unfinished_users(measurement: Measurement, chosen: Mask, allowance_s: float) -> tuple[float, float]:
    """Return bounds of (A(e) - A(s)) / T in the notation of `little`: the mean number of users in unfinished
    transactions and pauses. [1]
    """
    start_s, end_s = float(measurement.starts[chosen].min()), float(measurement.ends[chosen].max())
    start, end = (spent_by(measurement, at_s, allowance_s) for at_s in (start_s, end_s))
    length = measurement.length_of(chosen)
    return (end.low_s - start.high_s) / length, (end.high_s - start.low_s) / length


def utilization(tier: str, cpu_s: Floats, measurement: Measurement, chosen: Mask) -> UtilizationLaw | None:
    """Check the utilization law U = X D of a tier. U and X come from the second half of the window, D from the first.

    Returns
    -------
    UtilizationLaw or None
        None if the tier was not observed or hardly used, or if no transaction ended in a half.

    Notes
    -----
    D is the CPU time per transaction. If D changes within the window (a cache fills, a table grows), or if CPU time is
    used for other work than transactions, the law has a residual. Student's t allows for the noise of both halves, so a
    run with a constant demand raises a doubt by chance in at most 1 of 1,000 cases.

    `holds` is None if the residual is within its limit, but the limit is above `CONCLUSIVE_AT_MOST`: noise of this size
    may hide a relevant change.
    """
    numbers = np.flatnonzero(chosen & np.isfinite(cpu_s))
    if len(numbers) < 4:
        return None
    first, second = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
    ended = measurement.transactions.ended
    length = measurement.length_of(second)
    if length <= 0 or ended[first].sum() <= 0 or ended[second].sum() <= 0:
        return None
    used = float(cpu_s[second].sum()) / length
    if used < _CPUS_WORTH_A_CHECK:
        return None
    rate = float(ended[second].sum()) / length
    demand = float(cpu_s[first].sum() / ended[first].sum())
    residual = abs(used - rate * demand) / used
    noise, degrees = _relative_noise(cpu_s, ended, first, second)
    limit = max(LIMIT, t_quantile(1 - _BY_CHANCE / 2, max(1, degrees)) * noise)
    holds = False if residual > limit else True if limit <= CONCLUSIVE_AT_MOST else None
    return UtilizationLaw(tier, used, rate, demand, residual, limit, holds)


def _relative_noise(cpu_s: Floats, ended: Floats, *halves: np.ndarray[Any, Any]) -> tuple[float, int]:
    """Return the standard error of the difference between the service demands in the two halves of a window, relative
    to the demand, and the degrees of freedom of this error.
    """
    total, degrees = 0.0, 0
    for half in halves:
        error = error_of(cpu_s[half], ended[half])
        ratio = float(cpu_s[half].sum() / ended[half].sum())
        if error is not None and ratio > 0:
            total += (error.standard_error / ratio) ** 2
            degrees += error.freedom
    return math.sqrt(total), degrees


def accounting(recorded: TotalsForm) -> Accounting:
    """Check that request counts add up: offered = started + not started, and started = ok + failed + in flight.

    The totals come from `engine.json`, or from the last lines of the engine's record files (segments).
    """
    offered, started, ok, in_flight = recorded.offered, recorded.started, recorded.ok, recorded.in_flight
    failed, refused = dict(recorded.failed or {}), dict(recorded.not_started or {})
    holds = offered == started + sum(refused.values()) and started == ok + sum(failed.values()) + in_flight
    return Accounting(offered, started, ok, failed, refused, in_flight, holds)

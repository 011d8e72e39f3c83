"""Operational laws, checked on every run before anybody draws a conclusion from it.

They hold for any system whatever its distributions [1]_; where a measurement does not obey them, a counter is
wrong or the system changed within the window. What is left at the edges of a finite window is allowed for,
and no more.

References
----------
.. [1] P. J. Denning and J. P. Buzen, "The operational analysis of queueing network models", ACM Computing
       Surveys 10(3), 225-261, 1978, doi:10.1145/356733.356735.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import t

from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.statistics import error_of

LIMIT = 0.05
"""Largest relative residual of a law on a window without edges, in [0, 1]."""
TELLS = 0.15
"""Largest limit of the utilization law with which a residual below it means that the law holds, in [0, 1]."""
# Two-sided 99 % of a normal distribution: edges of a window explain a larger residual once in a hundred runs.
_EDGE_DEVIATIONS = 2.6
# As for the audit of the load: a study of some ten runs is hardly ever doubted by chance.
_BY_CHANCE = 0.001
# Below this a tier's CPU time is mostly the kernel's clock ticks. [CPUs]
_CPUS_WORTH_A_CHECK = 0.02


def little(measurement: Measurement, chosen: Mask) -> dict[str, Any] | None:
    """Little's law of a closed load, N = X (R + Z).

    Returns
    -------
    dict or None
        None where no user was there, or nothing ended.

    Notes
    -----
    N from the integral of active users, X from all transactions that ended, R from their exact times, Z from
    the pauses that ended. A cycle counts where it ends, so N T and the sum of cycles differ by what was begun
    before the window and what is unfinished after it: two independent sums over N users of about a cycle
    each, standard deviation at most sqrt(2 N) (R + Z) for cycles no more variable than exponential ones. The
    limit allows 2.6 of these.
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
    cycle = response + think
    residual = abs(users - rate * cycle) / users
    edge = _EDGE_DEVIATIONS * math.sqrt(2 * users) * cycle / user_s
    limit = max(LIMIT, edge)
    return {
        "n": users,
        "x_per_s": rate,
        "r_s": response,
        "z_s": think,
        "residual": residual,
        "limit": limit,
        "holds": residual <= limit,
    }


def utilization(tier: str, cpu_s: Floats, measurement: Measurement, chosen: Mask) -> dict[str, Any] | None:
    """Utilization law U = X D of one tier, D from the other half of the window.

    Returns
    -------
    dict or None
        None where the tier was not observed, hardly worked, or a half has no transaction.

    Notes
    -----
    U and X come from the second half, D = CPU time per transaction from the first. A demand that drifts (a
    cache that fills, a table that grows) or CPU time that no transaction explains shows as a residual. Its
    noise in both halves is allowed for by Student's t, so that a run whose demand is the same all along is doubted by
    chance in at most 1 of 1,000.

    `holds` is None where the residual is within a limit above `TELLS`: such noise hides a change that matters, and that
    none was shown does not mean that there is none.
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
    limit = max(LIMIT, float(t.ppf(1 - _BY_CHANCE / 2, max(1, degrees))) * noise)
    return {
        "tier": tier,
        "u": used,
        "x_per_s": rate,
        "d_s": demand,
        "residual": residual,
        "limit": limit,
        "holds": False if residual > limit else True if limit <= TELLS else None,
        "how": "demand from the other half of the window",
    }


def _relative_noise(cpu_s: Floats, ended: Floats, *halves: np.ndarray[Any, Any]) -> tuple[float, int]:
    """Standard error of the difference of the demands of both halves, relative to the demand, and its freedom."""
    total, degrees = 0.0, 0
    for half in halves:
        error = error_of(cpu_s[half], ended[half])
        ratio = float(cpu_s[half].sum() / ended[half].sum())
        if error is not None and ratio > 0:
            total += (error.standard_error / ratio) ** 2
            degrees += error.freedom
    return math.sqrt(total), degrees


def accounting(recorded: dict[str, Any]) -> dict[str, Any]:
    """The identity of counts: offered = started + not started, started = ok + failed + in flight.

    Parameters
    ----------
    recorded : dict
        `totals` of `engine.json`, or of the last lines of the segments.
    """
    failed = {str(kind): int(count) for kind, count in (recorded.get("failed") or {}).items()}
    refused = {str(kind): int(count) for kind, count in (recorded.get("not_started") or {}).items()}
    offered, started, ok, in_flight = (
        int(recorded.get(name) or 0) for name in ("offered", "started", "ok", "in_flight")
    )
    holds = offered == started + sum(refused.values()) and started == ok + sum(failed.values()) + in_flight
    return {
        "offered": offered,
        "started": started,
        "ok": ok,
        "failed": failed,
        "not_started": refused,
        "in_flight": in_flight,
        "holds": holds,
    }

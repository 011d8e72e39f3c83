"""Elasticities of throughput and response time: their relative changes, divided by a small relative change of all
service times.

Runs of one system differ in speed: a restart or a different memory layout makes all service times longer or shorter by
a common factor. If requests queue, the response time changes by a larger factor. If think times determine the
throughput, the throughput hardly changes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from towtank.analysis.load import estimate_in
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.user_groups import UserGroup
from towtank.study import PER_LOAD

SATURATED = 0.98
"""Utilization from which an open load is treated as more than the system may sustain, in [0, 1]."""
LARGEST = 1 / (1 - SATURATED)
"""Upper bound of reported elasticities. [1]"""
DEMANDS_DIFFER = 12.0
"""Assumed largest ratio between the service demands of two groups of users at the busiest station. [1]"""
# Users with a pace keep it if the mean cycle time exceeds the pace by at most the share `_NEARLY`. They never pause if
# the cycle time is at least `_EXCEEDED` times the pace.
_NEARLY, _EXCEEDED = 0.01, 1.2
_TIMES = (
    *("response_time_s", "exchange_time_s", "response_mean_s", "mean_s", "p95_s", "worst_p95_s"),
    *("wait_time_s", "queue_length", "recovery_s"),
)
_RATES = ("throughput_per_s", "request_throughput_per_s")


@dataclass(frozen=True)
class Elasticity:
    """Relative change of response time and throughput, divided by a small relative change of all service times.

    Attributes
    ----------
    response_time : float
        1 without queueing, more with queueing. [1]
    throughput : float
        Absolute value, since throughput falls when service times grow. In [0, 1] [1]
    utilization : float
        Utilization of the busiest station, from which the elasticities were computed, in [0, 1].
    """

    response_time: float
    throughput: float
    utilization: float

    def of(self, path: Sequence[str], per: Sequence[str] | None = None) -> float:
        """Return the elasticity of a measured value, or of the ratio of two measured values.

        Parameters
        ----------
        path, per : sequence of str
            Paths of the values in a run summary; `per` is the denominator of the ratio, and may be `("load",)`.

        Returns
        -------
        float
            1 for quantities that are neither a response time nor a throughput, such as CPU time and bytes. [1]
        """
        mine = self._alone(path)
        if per is None or tuple(per) == (PER_LOAD,):
            return mine
        if _is_time(path) and _is_time(per):
            return self.response_time
        return mine + self._alone(per) if _is_time(path) or _is_time(per) else 1.0

    def _alone(self, path: Sequence[str]) -> float:
        if _is_time(path):
            return self.response_time
        return self.throughput if path and path[-1] in _RATES else 1.0

    @classmethod
    def read(cls, document: Mapping[str, float] | None) -> Elasticity:
        """Read the elasticities from a summary. Return `PROPORTIONAL` if the summary has none, as in older versions of
        Towtank.
        """
        return cls(**document) if document else PROPORTIONAL


PROPORTIONAL = Elasticity(1.0, 1.0, 0.0)
"""Elasticities of a run with unknown utilization. All service times and the response time change by the same factor,
and throughput changes by its reciprocal.
"""


def elasticity(utilization: float, in_system: float, users: float | None) -> Elasticity:
    """Return the elasticities of response time and throughput at a load whose users form a single group."""
    busy = min(1.0, max(0.0, utilization))
    if not users:
        idle = max(1 - busy, 1 / LARGEST)
        return Elasticity(1 / idle, 1.0 if busy >= SATURATED else 0.0, busy)
    share = min(1.0, max(in_system / users, 1 / LARGEST))
    response = 1 / (1 - busy + busy * share)
    return Elasticity(response, min(1.0, in_system / users * response), busy)


def elasticity_of_groups(utilization: float, groups: Sequence[UserGroup]) -> Elasticity:
    """Return bounds of the elasticities for groups of users that have different think times or keep a pace.

    Parameters
    ----------
    utilization : float
        Utilization of the busiest station, in [0, 1].
    groups : sequence of UserGroup
        Result of `user_groups.user_groups`.

    Notes
    -----
    The symbols are those of `elasticity`; the index g stands for one group. All groups are assumed to wait for the same
    station. Let w_g be the share of a user's time in group g that is response time. Then X_g = N_g / (R_g + Z_g) and
    U = sum X_g D_g give d ln R_g / d ln D = 1 / (1 - U + U w) for each group. Here w is the mean of w_g, weighted by
    the share X_g D_g / U of each group in the utilization.

    The demands D_g are not known. They are assumed to differ by a factor of at most `DEMANDS_DIFFER`, and w is the
    smallest mean that this assumption allows. The throughput of some groups falls more than that of others, which
    changes the mix of transactions. The elasticity of the mean response time over all groups therefore has a further
    factor, 1 + sum (x_g - y_g) w_g, if this is larger than 1. Here x_g is the share of group g in the throughput, and
    y_g its share in the sum of all response times.

    While users keep a pace P, the pace determines their throughput (N / X = P), and w_g is 0. If the users have no
    pause left, w_g is 1. Between these cases, single response times above P lengthen the mean cycle C = N / X, and w_g
    is at least (C - P) / C.

    The bounds do not hold if groups wait at different stations and a station of low utilization serves a group of few
    users. `tests/certified/test_certified_elasticity.py` compares the bounds with exact solutions.
    """
    busy = min(1.0, max(0.0, utilization))
    rates = [group.throughput_per_s for group in groups]
    inside = [group.throughput_per_s * group.response_time_s for group in groups]
    bounds = [_share_of_time(group) for group in groups]
    least = _least_mean([low for low, _ in bounds], rates)
    common = 1 / (1 - busy + busy * max(least, 1 / LARGEST))
    by_rate = sum(rate * high for rate, (_, high) in zip(rates, bounds, strict=True)) / sum(rates)
    by_time = sum(users * high for users, (_, high) in zip(inside, bounds, strict=True)) / (sum(inside) or 1.0)
    response = min(LARGEST, common * max(1.0, 1.0 + by_rate - by_time))
    # With several groups, a group with a small demand may lose a larger share of its throughput than the share by which
    # service times grow. The elasticity may then exceed 1.
    most = 1.0 if len(groups) == 1 else LARGEST
    return Elasticity(response, min(most, by_rate * common), busy)


def _share_of_time(group: UserGroup) -> tuple[float, float]:
    """Return bounds of the share of a group's cycle time that grows with the response time, in [0, 1].

    Without a pace, the bounds are equal: response time over cycle time. Users with a pace shorten their pause after a
    long response, so the lower bound is smaller.
    """
    cycle_s = group.users / group.throughput_per_s
    share = min(1.0, group.response_time_s / cycle_s)
    pace_s = group.pace_s
    if pace_s is None:
        return share, share
    if cycle_s <= (1 + _NEARLY) * pace_s:
        return 0.0, 0.0
    if share >= 1 - _NEARLY and cycle_s >= _EXCEEDED * pace_s:
        return share, share
    return (cycle_s - pace_s) / cycle_s, share


def _least_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the smallest possible weighted mean of the values. Each true weight lies between the given weight and
    `DEMANDS_DIFFER` times this weight.
    """
    order = sorted(range(len(values)), key=lambda number: values[number])
    means = []
    for heavy in range(len(order) + 1):
        scaled = [weights[number] * (DEMANDS_DIFFER if place < heavy else 1.0) for place, number in enumerate(order)]
        total = sum(weight * values[number] for weight, number in zip(scaled, order, strict=True))
        means.append(total / sum(scaled))
    return min(means)


def elasticity_of(run: RunSummary) -> Elasticity:
    """Return the elasticities of response time and throughput at the load of a run, computed from its summary.

    Notes
    -----
    The busiest station is the busiest tier, host or disk, or an unobserved resource such as a lock, a pool or a
    single-threaded server on several CPUs. With throughput X and response time R, X R users are in the system. The
    measured number of CPUs in use is the number of users whose transaction is on a CPU. All other users in the system
    are assumed to wait at one station with utilization U and exponential service times, so their number is U^2 / (1 -
    U). Without observed tiers, all X R users are assumed to be at that station, so that X R = U / (1 - U).
    """
    x_per_s, r_s = run.throughput_per_s.value, estimate_in(run.response_time_s, "mean").value
    if x_per_s is None or r_s is None or x_per_s <= 0 or r_s <= 0:
        return PROPORTIONAL
    in_system = x_per_s / (1 - min(run.errors.share, 0.99)) * r_s
    observed = busiest(run)
    if observed is None:
        busy = in_system / (1 + in_system)
    else:
        cpus_used = sum(tier.cpus_used.value for tier in run.tiers.values() if tier.cpus_used.value is not None)
        waiting = max(0.0, in_system - cpus_used)
        busy = max(observed, (math.sqrt(waiting**2 + 4 * waiting) - waiting) / 2)
    if run.rate is not None:
        return elasticity(busy, in_system, None)
    users, groups = run.users.mean, run.users.groups
    if not users:
        return PROPORTIONAL
    if groups is None:
        # No elasticity is known for users of unknown groups. The largest elasticity gives the widest intervals.
        return Elasticity(LARGEST, 1.0, min(1.0, busy))
    if len(groups) > 1 or any(group.pace_s is not None for group in groups):
        return elasticity_of_groups(busy, groups)
    return elasticity(busy, in_system, users)


def busiest(run: RunSummary) -> float | None:
    """Return the utilization of the busiest tier, host or disk, in [0, 1]; None if no utilization was observed.

    Tiers in the same control group share its CPUs, so their utilizations are added. If the system has no other hosts,
    tiers without a control group share the CPUs of this machine, so their utilizations are added as well. If no tier or
    host of the system was observed, the disks of this machine are ignored, because only the load generator uses them.
    """
    hosts = run.hosts.values()
    by_group: dict[str, float] = defaultdict(float)
    for name, tier in run.tiers.items():
        if tier.utilization is not None:
            by_group[tier.cpu_control_group or (name if hosts else "this machine")] += tier.utilization
    if not by_group and not hosts:
        return None
    of_disks = [run.host.disks, *(host.disks for host in hosts)]
    shares = [host.utilization for host in hosts] + [disk.utilization for disks in of_disks for disk in disks.values()]
    found = [*by_group.values(), *(share for share in shares if share is not None)]
    return min(1.0, max(found)) if found else None


def _is_time(path: Sequence[str]) -> bool:
    return any(part in _TIMES for part in path)

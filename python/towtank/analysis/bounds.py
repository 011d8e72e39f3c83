"""Compares measured values with physical bounds that no system can exceed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from towtank.analysis.measurement import Measurement
from towtank.estimates import few_digits

if TYPE_CHECKING:
    from towtank.analysis.run.data import RunData
    from towtank.analysis.run_summary import Users
    from towtank.analysis.system.entries import MachineUse, TierUse

FEWER_USERS = "users seen, at least those asked"
"""Name of the bound that requires at least the requested number of active users.

A run may fall below this bound without a fault, because users may leave when their data are used up.
"""

# Error of the CPU time that one CPU used in a window. The probe reads the CPU time slightly before or after the time
# stamp of a sample, and the kernel counts CPU time in clock ticks. [s]
_CPU_ERROR_S = 0.1
_CPU_ERROR_SHARE = 0.02  # Relative error of CPU use. [1]
# Two intervals of one load thread may overlap by this time, because times are rounded. [s]
_SAME_INSTANT_S = 1e-6
# The number of users may differ from the requested number by this share, because users start and stop some milliseconds
# before or after the boundaries of a stage.
_USERS_SHARE = 0.02


@dataclass(frozen=True)
class Bound:
    """Comparison of a measured value (`seen`) with a physical bound (`limit`), in `unit`."""

    bound: str
    where: str
    seen: float
    limit: int | float
    unit: str
    holds: bool
    text: str


def bounds(data: RunData, tiers: Mapping[str, TierUse], host: MachineUse, users: Users) -> list[Bound]:
    """Compare values that were measured in the window with physical bounds.

    Notes
    -----
    The bounds are:

    - The recorded intervals of one load thread do not overlap.
    - The number of ended requests never exceeds the number of started requests.
    - Response times are at least as long as exchange times, because a response time begins at the intended start.
    - The utilization of a CPU is at most 1.
    - A closed load has the requested number of users.
    """
    if not data.measurement.bins:
        return []
    return [*_intervals(data.measurement), *_requests(data), *_cpus(data, tiers, host), *_users(data, users)]


def _intervals(measurement: Measurement) -> Iterator[Bound]:
    spans = defaultdict(list)
    for interval in measurement.recording.intervals:
        spans[interval.worker].append((interval.start_s, interval.end_s))
    for worker, edges in sorted(spans.items()):
        twice = 0.0
        latest = -np.inf
        for start, end in sorted(edges):
            twice += max(0.0, min(end, latest) - start)
            latest = max(latest, end)
        text = f"the intervals that load thread {worker} recorded overlap by {twice:.3g} s, limit 0 s"
        yield Bound("an instant is recorded once", f"thread {worker}", twice, 0.0, "s", twice <= _SAME_INSTANT_S, text)


def _requests(data: RunData) -> Iterator[Bound]:
    requests, chosen = data.measurement.requests, data.chosen
    order = np.argsort(data.measurement.ends, kind="stable")
    ahead = np.cumsum(requests.ended[order]) - np.cumsum(requests.started[order])
    most = float(ahead.max())
    text = f"{most:,.0f} more requests had ended than had started, limit 0"
    yield Bound("requests end after they start", "requests", most, 0.0, "", most <= 0, text)
    response, exchange = (float(sums[chosen].sum()) for sums in (requests.response_sum_s, requests.exchange_sum_s))
    same = float(requests.response.counts[chosen].sum()) == float(requests.exchange.counts[chosen].sum())
    if same and exchange > 0:
        sums = few_digits(response, 6), few_digits(exchange, 6)
        text = f"response times sum to {sums[0]} s, less than the exchange times that they include ({sums[1]} s)"
        holds = response >= exchange * (1 - 1e-6)
        yield Bound("a response takes its exchange or longer", "requests", response, exchange, "s", holds, text)


def most_cpus(allotted: float, length_s: float) -> float:
    """Return the largest CPU use that the probe can report for a window in which `allotted` CPUs were available. It
    exceeds `allotted` by the largest measurement error. [CPUs]
    """
    return allotted * (1 + _CPU_ERROR_SHARE) + _CPU_ERROR_S * max(1.0, allotted) / length_s


def _cpus(data: RunData, tiers: Mapping[str, TierUse], host: MachineUse) -> Iterator[Bound]:
    length = data.measurement.length_of(data.chosen)
    used = {name: (tier.cpus_used.value, tier.cpus_allotted) for name, tier in tiers.items()}
    used["this machine"] = (host.cpus_used.value, host.cpus)
    if length:
        used["the generator"] = (float(data.measurement.cpu_s[data.chosen].sum()) / length, host.cpus)
    for where, (seen, allotted) in used.items():
        if seen is None or not allotted or not length:
            continue
        limit = most_cpus(allotted, length)
        text = (
            f"{where} used {seen:.3g} CPUs of its {allotted:g}: {100 * seen / allotted:.0f} %, "
            f"limit {100 * limit / allotted:.0f} %"
        )
        yield Bound("a CPU works all of the time at most", where, seen, limit, "CPUs", seen <= limit, text)


def _users(data: RunData, users: Users) -> Iterator[Bound]:
    asked, seen, window = users.asked, users.mean, data.window
    if not asked or seen is None or window is None or data.is_moving:
        return
    slack = max(0.5, _USERS_SHARE * asked)
    text = f"{few_digits(seen, 4)} users were active on average, {asked:g} were requested"
    more = Bound("users seen, at most those asked", "users", seen, asked, "", seen <= asked + slack, text)
    fewer = Bound(FEWER_USERS, "users", seen, asked, "", seen >= asked - slack, text)
    yield from (more, fewer)

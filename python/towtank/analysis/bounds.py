"""Compares measured values with physical bounds that no system can exceed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from towtank.analysis.measurement import Measurement
from towtank.estimates import few_digits

if TYPE_CHECKING:
    from towtank.analysis.run.data import RunData

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


def bounds(data: RunData, summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Compare values that were measured in the window with physical bounds.

    Parameters
    ----------
    data : RunData
    summary : dict
        Run summary with the keys `tiers`, `host` and `users`.

    Returns
    -------
    list of dict
        `bound`, `where`, `seen`, `limit`, `unit`, `holds` and `text` of each bound that could be checked.

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
    return [*_intervals(data.measurement), *_requests(data), *_cpus(data, summary), *_users(data, summary)]


def _bound(bound: str, where: str, seen: float, limit: float, holds: bool, *, unit: str, text: str) -> dict[str, Any]:
    return {"bound": bound, "where": where, "seen": seen, "limit": limit, "unit": unit, "holds": holds, "text": text}


def _intervals(measurement: Measurement) -> Iterator[dict[str, Any]]:
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
        yield _bound(
            "an instant is recorded once", f"thread {worker}", twice, 0.0, twice <= _SAME_INSTANT_S, unit="s", text=text
        )


def _requests(data: RunData) -> Iterator[dict[str, Any]]:
    requests, chosen = data.measurement.requests, data.chosen
    order = np.argsort(data.measurement.ends, kind="stable")
    ahead = np.cumsum(requests.ended[order]) - np.cumsum(requests.started[order])
    most = float(ahead.max())
    text = f"{most:,.0f} more requests had ended than had started, limit 0"
    yield _bound("requests end after they start", "requests", most, 0.0, most <= 0, unit="", text=text)
    response, exchange = (float(sums[chosen].sum()) for sums in (requests.response_sum_s, requests.exchange_sum_s))
    same = float(requests.response.counts[chosen].sum()) == float(requests.exchange.counts[chosen].sum())
    if same and exchange > 0:
        sums = few_digits(response, 6), few_digits(exchange, 6)
        text = f"response times sum to {sums[0]} s, less than the exchange times that they include ({sums[1]} s)"
        holds = response >= exchange * (1 - 1e-6)
        yield _bound(
            "a response takes its exchange or longer", "requests", response, exchange, holds, unit="s", text=text
        )


def most_cpus(allotted: float, length_s: float) -> float:
    """Return the largest CPU use that the probe can report for a window in which `allotted` CPUs were available. It
    exceeds `allotted` by the largest measurement error. [CPUs]
    """
    return allotted * (1 + _CPU_ERROR_SHARE) + _CPU_ERROR_S * max(1.0, allotted) / length_s


def _cpus(data: RunData, summary: dict[str, Any]) -> Iterator[dict[str, Any]]:
    length = data.measurement.length_of(data.chosen)
    used = {name: (tier["cpus_used"]["value"], tier["cpus_allotted"]) for name, tier in summary["tiers"].items()}
    machine = summary["host"]
    used["this machine"] = (machine["cpus_used"]["value"], machine["cpus"])
    if length:
        used["the generator"] = (float(data.measurement.cpu_s[data.chosen].sum()) / length, machine["cpus"])
    for where, (seen, allotted) in used.items():
        if seen is None or not allotted or not length:
            continue
        limit = most_cpus(allotted, length)
        text = (
            f"{where} used {seen:.3g} CPUs of its {allotted:g}: {100 * seen / allotted:.0f} %, "
            f"limit {100 * limit / allotted:.0f} %"
        )
        yield _bound("a CPU works all of the time at most", where, seen, limit, seen <= limit, unit="CPUs", text=text)


def _users(data: RunData, summary: dict[str, Any]) -> Iterator[dict[str, Any]]:
    asked, seen, window = summary["users"]["asked"], summary["users"]["mean"], data.window
    if not isinstance(asked, int | float) or not asked or seen is None or window is None or data.is_moving:
        return
    slack = max(0.5, _USERS_SHARE * asked)
    text = f"{few_digits(seen, 4)} users were active on average, {asked:g} were requested"
    more = _bound("users seen, at most those asked", "users", seen, asked, seen <= asked + slack, unit="", text=text)
    fewer = _bound(FEWER_USERS, "users", seen, asked, seen >= asked - slack, unit="", text=text)
    yield from (more, fewer)

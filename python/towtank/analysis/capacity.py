"""Saturated tiers, and the knee of the asymptotic bounds."""

from __future__ import annotations

from towtank.analysis.aggregation import Point, over_runs
from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import Estimate

SATURATED = 0.90
"""Utilization of the allotted CPUs from which a tier counts as saturated, in (0, 1]."""

_QUEUEING_AT_MOST = 0.1  # Share of the knee.


def saturated_tier(point: Point) -> str | None:
    """The tier whose CPUs are used most, if it is saturated."""
    utilizations = {name: value for name in point.tiers if (value := point.utilization(name)) is not None}
    if not utilizations:
        return None
    name = max(utilizations, key=lambda one: utilizations[one])
    return name if utilizations[name] >= SATURATED else None


def knee(points: list[Point]) -> Estimate:
    """Population N* = (D + Z) / D_max from the lowest load level; nothing for an open load.

    Notes
    -----
    At the lowest level N / X is D + Z plus queueing. Of one server with Poisson arrivals U^2 / (1 - U) users wait, more
    than in a closed system, and by as many N* is too large. Where that is more than a tenth of N*, or the busiest tier
    is saturated, the level says nothing about a system without queueing, and there is no knee. The lower end of the
    interval allows for it. Beyond that the interval is that of D_max, X being known far better; there is none where
    D_max may be nothing.
    """
    lowest = points[0]
    if lowest.kind != "users":
        return estimates.NOTHING
    users = lowest.load
    rate = lowest.throughput.value
    largest: tuple[float, Estimate] | None = None
    for name in lowest.tiers:
        demand = over_runs(lowest.usable, "tiers", name, "cpu_demand_s")
        cpus = next((run["tiers"][name].get("cpus_allotted") for run in lowest.usable if name in run["tiers"]), None)
        if demand.value and cpus and (largest is None or demand.value / cpus > largest[0]):
            largest = (demand.value / cpus, demand.scaled(1 / cpus))
    if largest is None or not rate:
        return estimates.NOTHING
    cycle, demand = users / rate, largest[1]
    value = cycle / largest[0]
    busy = rate * largest[0]
    if busy >= SATURATED or busy**2 / (1 - busy) > _QUEUEING_AT_MOST * value:
        return estimates.NOTHING
    waiting = busy**2 / (1 - busy)
    if demand.low is None or demand.high is None or demand.low <= 0:
        return Estimate(value, n=demand.n)
    return Estimate(value, cycle / demand.high - waiting, cycle / demand.low, demand.method, demand.n)

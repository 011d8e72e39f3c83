"""Finds the tiers that are saturated at a load level, and the knee of the asymptotic bounds."""

from __future__ import annotations

from towtank.analysis.aggregation import Point, over_runs
from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import Estimate

SATURATED = 0.90
"""A tier is saturated if the utilization of its allotted CPUs is at least this value, in (0, 1]."""

_QUEUEING_AT_MOST = 0.1  # Largest share of the estimated knee N* that may be due to queueing at the lowest load level.


def busiest_tier(point: Point) -> tuple[str, float] | None:
    """Return the name and the CPU utilization of the busiest tier; None if no utilization was measured.

    If several tiers share CPUs, the utilization covers all of them, and the name is that of the busiest of these tiers.
    """
    found = [
        (shared, point.utilization(name) or 0.0, name)
        for name in point.tiers
        if (shared := point.shared_utilization(name)) is not None
    ]
    if not found:
        return None
    shared, _, name = max(found, key=lambda entry: entry[:2])
    return name, shared


def saturated_tier(point: Point) -> str | None:
    """Return the name of the busiest tier if its CPUs are saturated; otherwise None."""
    busiest = busiest_tier(point)
    return busiest[0] if busiest is not None and busiest[1] >= SATURATED else None


def knee(points: list[Point]) -> Estimate:
    """Estimate the number of users at the knee, N* = (D + Z) / D_max, from the lowest load level.

    D is the service demand of a transaction at all tiers, D_max the largest demand per CPU at one tier, and Z the think
    time. The estimate has no value for an open load.

    Notes
    -----
    At the lowest level, the cycle time N / X of N users with throughput X is D + Z plus the time in queues. At a single
    server with Poisson arrivals and utilization U, U^2 / (1 - U) requests wait on average. In a closed system fewer
    requests wait, so N* is too large by at most U^2 / (1 - U).

    No knee is returned if U^2 / (1 - U) exceeds a tenth of N* or the busiest tier is saturated: queueing then affects
    even the lowest level too much. No knee is returned either if the throughput of a level significantly exceeds
    1 / D_max: the demand then falls with the load.

    The lower end of the interval is reduced by U^2 / (1 - U). Apart from that, the interval reflects only the error of
    D_max, because X is known far more precisely. There is no interval if the interval of D_max includes zero.
    """
    lowest = points[0]
    if lowest.kind != "users":
        return estimates.NO_ESTIMATE
    users = lowest.load
    rate = lowest.throughput.value
    largest: tuple[float, Estimate] | None = None
    for name in lowest.tiers:
        demand = over_runs(lowest.usable, "tiers", name, "cpu_demand_s")
        cpus = next((run.tiers[name].cpus_allotted for run in lowest.usable if name in run.tiers), None)
        if demand.value and cpus and (largest is None or demand.value / cpus > largest[0]):
            largest = (demand.value / cpus, demand.scaled(1 / cpus))
    if largest is None or not rate:
        return estimates.NO_ESTIMATE
    cycle, demand = users / rate, largest[1]
    value = cycle / largest[0]
    busy = rate * largest[0]
    if busy >= SATURATED or busy**2 / (1 - busy) > _QUEUEING_AT_MOST * value:
        return estimates.NO_ESTIMATE
    if _exceeds(points, demand):
        return estimates.NO_ESTIMATE
    waiting = busy**2 / (1 - busy)
    if demand.low is None or demand.high is None or demand.low <= 0:
        return Estimate(value, n=demand.n)
    return Estimate(value, cycle / demand.high - waiting, cycle / demand.low, demand.method, demand.n)


def _exceeds(points: list[Point], demand: Estimate) -> bool:
    """Return True if the throughput of a load level significantly exceeds 1 / D, the largest throughput that the
    service demand D allows.
    """
    least = demand.low or demand.value or 0.0
    rates = (point.throughput.value if point.throughput.low is None else point.throughput.low for point in points)
    return any(rate is not None and rate * least > 1 for rate in rates)

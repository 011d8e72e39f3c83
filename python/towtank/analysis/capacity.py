"""The line of ideal scaling, the limit, and what it is made of."""

from __future__ import annotations

from typing import Any

from towtank.analysis.aggregation import Point, over_runs
from towtank.analysis.checks.generator import CONNECTION_WAIT_SHARE
from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import Estimate, estimate_of

SHORTFALL = 0.10
"""Throughput that falls short of the ideal line by more than this share has left it, in (0, 1)."""
SATURATED = 0.90
"""Utilization of the allotted CPUs from which a tier counts as saturated, in (0, 1]."""


def ideal_line(points: list[Point]) -> dict[str, Any] | None:
    """Throughput per user of the lowest load level: what every further user would add without any queueing.

    Returns
    -------
    dict or None
        None without a valid point.
    """
    for point in points:
        if point.is_valid and point.throughput.value and point.load:
            whole = point.document()["load"]
            return {point.kind: whole, "load": whole, "per_user_per_s": point.throughput.value / point.load}
    return None


def limit(points: list[Point], ideal: dict[str, Any] | None) -> dict[str, Any]:
    """Whether the system reached its limit, which resource it is, and from how many users on.

    Parameters
    ----------
    points : list of Point
        Of one configuration, by load.
    ideal : dict or None
        Result of `ideal_line`.

    Notes
    -----
    Reached where throughput falls short of the ideal line by more than `SHORTFALL` at some level while a tier
    used at least `SATURATED` of its CPUs. A shortfall without such a tier is told as a limit of unknown
    resource (a lock, a pool, a disk). The knee is the population N* = (D + Z) / D_max of the asymptotic
    bounds [1]_, from the lowest load level: D + Z = N / X there, D_max the largest CPU demand per allotted
    CPU.

    References
    ----------
    .. [1] E. D. Lazowska, J. Zahorjan, G. S. Graham and K. C. Sevcik, *Quantitative System Performance*,
           Prentice-Hall, 1984, chapter 5.
    """
    usable = [point for point in points if point.is_valid and point.throughput.value]
    if not usable or ideal is None:
        return {
            "reached": False,
            "resource": None,
            "evidence": "no valid run",
            "knee_users": estimates.NOTHING.document(),
            "leaves_ideal_at": None,
            "peak_throughput_per_s": estimates.NOTHING.document(),
        }
    short = [point for point in usable if _shortfall(point, ideal) > SHORTFALL]
    full = [(point, name) for point in short if (name := saturated_tier(point)) is not None]
    peak = max((point.throughput for point in usable), key=lambda one: one.value or 0.0)
    return {
        "reached": bool(full),
        "resource": full[0][1] if full else None,
        "evidence": _evidence(usable, short, full, ideal),
        "knee_users": knee(usable).document(),
        "leaves_ideal_at": _leaves_between(usable, short),
        "peak_throughput_per_s": peak.document(),
    }


def _shortfall(point: Point, ideal: dict[str, Any]) -> float:
    """Share by which throughput falls short of the ideal line; negative above it."""
    expected = float(ideal["per_user_per_s"]) * point.load
    return 1 - (point.throughput.value or 0.0) / expected


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
    At the lowest level N / X is D + Z plus a little queueing. The interval is that of D_max there, X being
    known far better; there is none where D_max may be nothing.
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
    if demand.low is None or demand.high is None or demand.low <= 0:
        return Estimate(value, n=demand.n)
    return Estimate(value, cycle / demand.high, cycle / demand.low, demand.method, demand.n)


def _leaves_between(usable: list[Point], short: list[Point]) -> dict[str, Any] | None:
    """The last level on the ideal line and the first one off it."""
    if not short:
        return None
    below = [point.load for point in usable if point.load < short[0].load]
    return {"after": below[-1] if below else None, "at": short[0].load}


def _evidence(usable: list[Point], short: list[Point], full: list[tuple[Point, str]], ideal: dict[str, Any]) -> str:
    if full:
        point, name = full[0]
        used = estimate_of(point.document(), "tiers", name, "cpus_used").value or 0.0
        return (
            f"at {point.load:g} {_unit(point)} throughput is {100 * _shortfall(point, ideal):.0f} % below "
            f"the ideal "
            f"line while {name} uses {used:.2f} CPUs, {100 * (point.utilization(name) or 0):.0f} % of those "
            f"it has"
        )
    top = usable[-1]
    busiest = _busiest(top)
    if short:
        return (
            f"at {short[0].load:g} {_unit(short[0])} throughput is {100 * _shortfall(short[0], ideal):.0f} "
            f"% below the "
            f"ideal line, yet no tier is saturated ({busiest}): the limit is not CPU time{_pool(short[0])}"
        )
    if len(usable) == 1:
        return f"not found: one load level only ({busiest})"
    reason = "the load is closed by think time" if top.kind == "users" else "every arrival was served"
    return (
        f"not found: {reason}; at {top.load:g} {_unit(top)} throughput is within "
        f"{100 * SHORTFALL:.0f} % of the ideal line ({busiest})"
    )


def _pool(point: Point) -> str:
    """The pool of connections as a candidate, where requests spent a share of their time waiting for one."""
    share = point.wait("share_of_response_time") or 0.0
    if share <= CONNECTION_WAIT_SHARE:
        return ""
    return f", but may be the generator's own pool of connections: {100 * share:.0f} % of response time waits for one"


def _busiest(point: Point) -> str:
    utilizations = {name: value for name in point.tiers if (value := point.utilization(name)) is not None}
    if not utilizations:
        return "no tier was observed"
    name = max(utilizations, key=lambda one: utilizations[one])
    return f"{name} at {100 * utilizations[name]:.0f} % of its CPUs"


def _unit(point: Point) -> str:
    return "users" if point.kind == "users" else "arrivals per second"

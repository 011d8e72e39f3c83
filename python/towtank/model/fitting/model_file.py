"""A fitted closed system as a model file that `towtank model solve` reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from towtank.errors import ModelError
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.dependent_curve import DependentCurve
from towtank.model.fitting.measured import Configuration
from towtank.model.fitting.network import Rates, network_throughput
from towtank.model.fitting.selection import Candidate
from towtank.units import exact_duration

CLASS = "transactions"
ELSEWHERE = "elsewhere"


@dataclass(frozen=True)
class Station:
    """One station of the file."""

    name: str
    servers: int
    demand_s: float
    how: str
    rates: Rates | None = None


def stations(candidate: Candidate, one: Configuration | None, demands: dict[str, Any]) -> tuple[list[Station], float]:
    """Stations of a fitted closed curve, and the time that is left outside them.

    Parameters
    ----------
    candidate : Candidate
        Of a closed curve.
    one : Configuration or None
        Where the points come from; without it there is one station.
    demands : dict
        As `resource_demands` tells them.

    Notes
    -----
    The bottleneck has the demand that was fitted. Other resources have the demand measured at them, taken out of the
    time elsewhere, where there is that much.
    """
    curve = candidate.fit.curve
    if not isinstance(curve, ClosedCurve):
        raise ModelError(f"a curve {curve.name} is no network")
    left, servers = float(candidate.fit.parameters[1]), curve.servers
    # Background work at the bottleneck is in the demand: what is left of the servers works as much longer.
    demand = float(curve.held_up(candidate.fit.parameters[None, :])[0])
    bottleneck = one.bottleneck() if one else None
    rates = curve.rates(candidate.fit.parameters) if isinstance(curve, DependentCurve) else None
    how = "fitted to the curve" if rates is None else "fitted to the curve: at full use, speed by jobs present"
    found = [Station(_safe(bottleneck.name if bottleneck else "bottleneck"), servers, demand, how, rates)]
    for resource in one.resources if one else []:
        value = (demands.get(resource.name) or {}).get("demand_s", {}).get("value")
        if bottleneck is not None and resource.name != bottleneck.name and value and 0 < value <= left:
            found.append(Station(_safe(resource.name), resource.servers, float(value), "CPU time over throughput"))
            left -= value
    return found, left


def _safe(name: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    return safe if re.match(r"[A-Za-z]", safe) else f"station_{safe}"


def model_text(candidate: Candidate, source: str, found: list[Station], left: float, think_s: float) -> str:
    """The model file, with a comment that says where its numbers come from."""
    points = candidate.fit.points
    users = round(float(points.load.max()))
    lines = [
        f"# Fitted by `towtank model fit` to {source}:",
        f"# {points.count} points from {points.load.min():g} to {points.load.max():g} users; the curve is "
        f"{candidate.judgement.level}.",
        "# Beyond what was measured it is a prediction: `towtank model fit` tells how far it carries, with bands.",
        "schema: towtank/model/1",
        "classes:",
        f"  {CLASS}: {{users: {users}, think: {exact_duration(think_s)}}}",
        "stations:",
    ]
    lines += [
        f"  {one.name}: {{{_speed(one)}, discipline: ps, "
        f"demand: {{{CLASS}: {exact_duration(one.demand_s)}}}}}  # {one.how}"
        for one in found
    ]
    if left > 0:
        lines.append(
            f"  {ELSEWHERE}: {{discipline: delay, demand: {{{CLASS}: {exact_duration(left)}}}}}  # what is left of the "
            f"response time at low load"
        )
    return "\n".join(lines) + "\n"


def _speed(one: Station) -> str:
    if one.rates is None:
        return f"servers: {one.servers}"
    return f"rates: [{', '.join(f'{rate:.9g}' for rate in one.rates)}]"


def checked(candidate: Candidate, found: list[Station], left: float, think_s: float) -> list[dict[str, float]]:
    """Exact throughput of the file's network at the loads measured, against the measurement."""
    points = candidate.fit.points
    top = round(float(points.load.max()))
    exact = network_throughput(top, [(one.demand_s, one.rates or one.servers) for one in found], left + think_s)
    rows = []
    for load, measured in zip(points.load, points.throughput, strict=True):
        users = round(float(load))
        predicted = float(exact[users - 1])
        rows.append(
            {"load": users, "measured_throughput": float(measured), "model_throughput": predicted,
             "error": predicted / float(measured) - 1}
        )  # fmt: skip
    return rows

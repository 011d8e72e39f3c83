"""A fitted closed system as a model file that `towtank model solve` reads."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.errors import ModelError
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.curve_tails import SHARING, Tails, tails_lines
from towtank.model.fitting.dependent_curve import DependentCurve
from towtank.model.fitting.drift import at_saturation
from towtank.model.fitting.measured import Configuration
from towtank.model.fitting.network import Rates, network_throughput
from towtank.model.fitting.replicates import SEED
from towtank.model.fitting.selection import Candidate
from towtank.units import exact_duration, exact_rate

CLASS = "transactions"
ELSEWHERE = "elsewhere"
DRAWS = 200
"""Replicates that a model file carries: a probability of 90 % is known from them within 4 %. [1]"""
_DIGITS = 5
_NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Station:
    """One station of the file.

    Attributes
    ----------
    name : str
    servers : int
    demand_s : float
    how : str
        Where the demand comes from.
    error : float or None
        Relative standard error of a demand that was measured beside the fit; None for the fitted one. [ratio]
    rates : tuple of float or None
        Speed with 1, 2, ... jobs; None where the servers tell it. [1]
    """

    name: str
    servers: int
    demand_s: float
    how: str
    error: float | None = None
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
    found = [Station(_safe(bottleneck.name if bottleneck else "bottleneck"), servers, demand, how, rates=rates)]
    for resource in one.resources if one else []:
        told = (demands.get(resource.name) or {}).get("demand_s", {})
        value = told.get("value")
        if bottleneck is not None and resource.name != bottleneck.name and value and 0 < value <= left:
            how = "CPU time over throughput"
            name, error = _safe(resource.name), _relative_error(told)
            found.append(Station(name, resource.servers, float(value), how, error))
            left -= value
    return found, left


def _relative_error(told: dict[str, Any]) -> float:
    """Of a demand with an interval of 95 %; none where it has no interval."""
    low, high = told.get("low"), told.get("high")
    return 0.0 if low is None or high is None else (float(high) - float(low)) / 2 / _NORMAL_95 / float(told["value"])


def draws(candidate: Candidate, found: list[Station], left: float) -> dict[str, list[float]]:
    """Demands over those of the file in `DRAWS` replicates of the fit, by station.

    Notes
    -----
    The fitted demand, at full use where it depends on the load, and the time elsewhere are drawn together, as the
    bootstrap gives them, the demand drifting as it may up to full use (`drift`); how it depends on the load stays as
    in the file. Demands that were measured beside the fit vary by their own intervals, log-normally; what they take
    more or less is missing or left elsewhere.
    """
    curve = candidate.fit.curve
    assert isinstance(curve, ClosedCurve)
    every = at_saturation(candidate.fit, candidate.replicates)
    chosen = every[:: max(1, len(every) // DRAWS)][:DRAWS]
    stream = np.random.default_rng(SEED)
    rows = {found[0].name: curve.held_up(chosen) / found[0].demand_s}
    elsewhere = chosen[:, 1].copy()
    for one in found[1:]:
        rows[one.name] = np.exp((one.error or 0.0) * stream.standard_normal(len(chosen)))
        elsewhere -= rows[one.name] * one.demand_s
    if left > 0:
        rows[ELSEWHERE] = np.maximum(elsewhere, 0.0) / left
    return {name: [float(f"{value:.{_DIGITS}g}") for value in row] for name, row in rows.items()}


def _safe(name: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    return safe if re.match(r"[A-Za-z]", safe) else f"station_{safe}"


def model_text(
    candidate: Candidate,
    source: str,
    found: list[Station],
    left: float,
    think_s: float,
    *,
    tails: Tails | None = None,
    discipline: str = SHARING,
) -> str:
    """Render the model file, with a comment that names the origin of its numbers.

    Parameters
    ----------
    candidate : Candidate
        Of a closed curve.
    source : str
        What was measured.
    found : list of Station
    left : float
        Time outside of the stations. [s]
    think_s : float
        Mean think time. [s]
    tails : Tails, optional
        Comparison with the measured percentiles, which gives the order of service.
    discipline : str, default "ps"
        Order of service without `tails`.
    """
    order = discipline if tails is None else tails.discipline
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
        f"  {one.name}: {{{_speed(one)}, discipline: {order}, "
        f"demand: {{{CLASS}: {exact_duration(one.demand_s)}}}}}  # {one.how}"
        for one in found
    ]
    if left > 0:
        lines.append(
            f"  {ELSEWHERE}: {{discipline: delay, demand: {{{CLASS}: {exact_duration(left)}}}}}  # what is left of the "
            f"response time at low load"
        )
    return "\n".join(lines + _fitted(candidate, source, draws(candidate, found, left), tails)) + "\n"


def _fitted(candidate: Candidate, source: str, rows: dict[str, list[float]], tails: Tails | None) -> list[str]:
    """The key `fitted`: the range measured, the error held out, percentiles, replicates of the demands."""
    points, held_out = candidate.fit.points, candidate.held_out
    lines = [
        "fitted:",
        f"  source: {json.dumps(source, ensure_ascii=False)}",
        f"  users: [{points.load.min():g}, {points.load.max():g}]",
        f"  throughput: {exact_rate(float(points.throughput.max()))}",
        f"  verdict: {candidate.judgement.level}",
    ]
    if held_out is not None:
        lines.append(f"  held_out_error: {float(held_out['worst_error']):.4g}")
    if tails is not None:
        lines += [
            "  percentiles:  # 95th percentile measured over that worked out: mean, least, largest",
            f"    {CLASS}: [{tails.ratio:.4g}, {tails.low:.4g}, {tails.high:.4g}]",
            *tails_lines({CLASS: tails.others}),
        ]
    lines.append("  draws:  # demand over that of above, in replicates of the bootstrap")
    return lines + [f"    {name}: [{', '.join(f'{value:g}' for value in row)}]" for name, row in rows.items()]


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

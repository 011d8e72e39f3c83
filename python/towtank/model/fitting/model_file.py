"""Writes the fitted curve of a closed system as a model file for `towtank model solve`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from towtank.errors import ModelError
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.curve_tails import SHARING, Tails, tails_lines
from towtank.model.fitting.demands import ResourceDemand
from towtank.model.fitting.dependent_curve import DependentCurve
from towtank.model.fitting.drift import at_saturation
from towtank.model.fitting.held_out import error_lines
from towtank.model.fitting.intervals import Bounded
from towtank.model.fitting.measured import Configuration
from towtank.model.fitting.measured_limit import MeasuredLimit
from towtank.model.fitting.network import Rates, network_throughput
from towtank.model.fitting.replicates import SEED
from towtank.model.fitting.selection import CurveCandidate
from towtank.units import exact_duration, exact_rate

CLASS = "transactions"
ELSEWHERE = "elsewhere"
DRAWS = 200
"""Number of bootstrap replicates in a model file. For a probability of 90 %, 200 replicates give a 95 % interval of
about 90 % +- 4 %. [1]
"""
_DIGITS = 5
_NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Station:
    """Station of a model file.

    Attributes
    ----------
    how : str
        Origin of the demand, for a comment in the file.
    error : float or None
        Relative standard error of a demand that was measured independently of the fit; None for the fitted demand.
        [ratio]
    rates : tuple of float or None
        Speeds with 1, 2, ... jobs; None if the speed follows from the servers. [1]
    """

    name: str
    servers: int
    demand_s: float
    how: str
    error: float | None = None
    rates: Rates | None = None


def stations(
    candidate: CurveCandidate, configuration: Configuration | None, demands: Mapping[str, ResourceDemand]
) -> tuple[list[Station], float]:
    """Return the stations of a fitted curve of a closed system, and the time that a transaction spends outside these
    stations. [s]

    Without a configuration, the bottleneck is the only station.

    Notes
    -----
    The bottleneck has its fitted demand. Every other resource becomes a station with its measured demand, and this
    demand is subtracted from the time elsewhere. A resource whose demand exceeds the remaining time elsewhere is left
    out.
    """
    curve = candidate.fit.curve
    if not isinstance(curve, ClosedCurve):
        raise ModelError(
            f"a curve of the family {curve.name} cannot be written as a model file: only curves of closed queueing "
            "networks can"
        )
    left, servers = float(candidate.fit.parameters[1]), curve.servers
    # Background work occupies some of the bottleneck's servers, which slows down transactions. The demand in the file
    # includes this slowdown.
    demand = float(curve.held_up(candidate.fit.parameters[None, :])[0])
    bottleneck = configuration.bottleneck() if configuration else None
    rates = curve.rates(candidate.fit.parameters) if isinstance(curve, DependentCurve) else None
    how = (
        "fitted to the curve"
        if rates is None
        else "fitted to the curve: demand at full utilization, speed by number of jobs"
    )
    found = [Station(_safe(bottleneck.name if bottleneck else "bottleneck"), servers, demand, how, rates=rates)]
    for resource in configuration.resources if configuration else []:
        measured = demands[resource.name].demand.demand_s if resource.name in demands else None
        value = None if measured is None else measured.value
        if bottleneck is not None and resource.name != bottleneck.name and measured and value and 0 < value <= left:
            how = "CPU time over throughput"
            name, error = _safe(resource.name), _relative_error(measured, value)
            found.append(Station(name, resource.servers, value, how, error))
            left -= value
    return found, left


def _relative_error(demand: Bounded, value: float) -> float:
    """Return the relative standard error of a service demand, computed from its 95 % interval; 0 without an interval.
    [ratio]
    """
    low, high = demand.low, demand.high
    return 0.0 if low is None or high is None else (high - low) / 2 / _NORMAL_95 / value


def draws(candidate: CurveCandidate, found: list[Station], left: float) -> dict[str, list[float]]:
    """Return the demand of each station in `DRAWS` bootstrap replicates of the fit, relative to the demand in the model
    file. [ratio]

    Notes
    -----
    The fitted demand and the time elsewhere come from the same bootstrap replicate, with a drift of the demand up to
    full utilization (module `drift`). A load-dependent demand depends on the load in the same way in all replicates.
    Demands that were measured independently of the fit vary log-normally by their own standard errors; the time
    elsewhere varies by the same amount in the opposite direction.
    """
    curve = candidate.fit.curve
    assert isinstance(curve, ClosedCurve)
    every = at_saturation(candidate.fit, candidate.replicates)
    chosen = every[:: max(1, len(every) // DRAWS)][:DRAWS]
    stream = np.random.default_rng(SEED)
    rows = {found[0].name: curve.held_up(chosen) / found[0].demand_s}
    elsewhere = chosen[:, 1].copy()
    for station in found[1:]:
        rows[station.name] = np.exp((station.error or 0.0) * stream.standard_normal(len(chosen)))
        elsewhere -= rows[station.name] * station.demand_s
    if left > 0:
        rows[ELSEWHERE] = np.maximum(elsewhere, 0.0) / left
    return {name: [float(f"{value:.{_DIGITS}g}") for value in row] for name, row in rows.items()}


def _safe(name: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    return safe if re.match(r"[A-Za-z]", safe) else f"station_{safe}"


def model_text(
    candidate: CurveCandidate,
    source: str,
    found: list[Station],
    left: float,
    think_s: float,
    *,
    tails: Tails | None = None,
    discipline: str = SHARING,
    limit: MeasuredLimit | None = None,
) -> str:
    """Render a model file. Its comments state the origin of the numbers.

    `left` is the time outside the stations, and `think_s` the mean think time [s]. The comparison `tails` with measured
    percentiles determines the order of service; without it, the order is `discipline`.
    """
    order = discipline if tails is None else tails.discipline
    points = candidate.fit.points
    users = round(float(points.load.max()))
    lines = [
        f"# Fitted by `towtank model fit` to {source}:",
        f"# {points.count} points from {points.load.min():g} to {points.load.max():g} users; the curve is "
        f"{candidate.judgement.level}.",
        "# Beyond the measured range it is a prediction: `towtank model fit` reports its range and its bands.",
        "schema: towtank/model/1",
        "classes:",
        f"  {CLASS}: {{users: {users}, think: {exact_duration(think_s)}}}",
        "stations:",
    ]
    lines += [
        f"  {station.name}: {{{_speed(station)}, discipline: {order}, "
        f"demand: {{{CLASS}: {exact_duration(station.demand_s)}}}}}  # {station.how}"
        for station in found
    ]
    if left > 0:
        lines.append(
            f"  {ELSEWHERE}: {{discipline: delay, demand: {{{CLASS}: {exact_duration(left)}}}}}  # the rest of the "
            f"response time at low load"
        )
    return "\n".join(lines + _fitted(candidate, source, draws(candidate, found, left), tails, limit)) + "\n"


def _fitted(
    candidate: CurveCandidate,
    source: str,
    rows: dict[str, list[float]],
    tails: Tails | None,
    limit: MeasuredLimit | None,
) -> list[str]:
    """Return the lines of the key `fitted` of a model file: measured range, held-out error, percentiles and demands of
    the replicates.
    """
    points, held_out = candidate.fit.points, candidate.held_out
    lines = [
        "fitted:",
        f"  source: {json.dumps(source, ensure_ascii=False)}",
        f"  users: [{points.load.min():g}, {points.load.max():g}]",
        f"  throughput: {exact_rate(float(points.throughput.max()))}",
        f"  verdict: {candidate.judgement.level}",
    ]
    if held_out is not None:
        lines += error_lines(held_out.worst_error, candidate.held_out_interval)
    lines += limit.lines() if limit is not None else []
    if tails is not None:
        lines += [
            "  percentiles:  # measured over computed 95th percentile: mean, smallest, largest",
            f"    {CLASS}: [{tails.ratio:.4g}, {tails.low:.4g}, {tails.high:.4g}]",
            *tails_lines({CLASS: tails.others}),
        ]
    lines.append("  draws:  # demand in bootstrap replicates, relative to the demand above")
    return lines + [f"    {name}: [{', '.join(f'{value:g}' for value in row)}]" for name, row in rows.items()]


def _speed(station: Station) -> str:
    if station.rates is None:
        return f"servers: {station.servers}"
    return f"rates: [{', '.join(f'{rate:.9g}' for rate in station.rates)}]"


def _error_interval(predicted: float, measured: float, standard_error: float | None) -> list[float] | None:
    """Return the 95 % interval of the relative error predicted / measured - 1. [ratio]

    The result is None if the standard error is unknown, or so large that the measured value may be zero.
    """
    half = None if standard_error is None else _NORMAL_95 * standard_error
    if half is None or half >= measured:
        return None
    return [predicted / (measured + half) - 1, predicted / (measured - half) - 1]


def checked(candidate: CurveCandidate, found: list[Station], left: float, think_s: float) -> list[dict[str, object]]:
    """Compare the exact throughput of the network in the written file with the measured throughput, at each measured
    load.

    In each row, `error_interval` is the interval of the relative error that the standard error of the measurement
    causes; None if the standard error is unknown.
    """
    points = candidate.fit.points
    top = round(float(points.load.max()))
    exact = network_throughput(
        top, [(station.demand_s, station.rates or station.servers) for station in found], left + think_s
    )
    rows: list[dict[str, object]] = []
    known = [None] * len(points.load) if points.error is None else [float(error) for error in points.error]
    for load, measured, standard_error in zip(points.load, points.throughput, known, strict=True):
        users = round(float(load))
        predicted = float(exact[users - 1])
        rows.append(
            {"load": users, "measured_throughput": float(measured), "model_throughput": predicted,
             "error": predicted / float(measured) - 1,
             "error_interval": _error_interval(predicted, float(measured), standard_error)}
        )  # fmt: skip
    return rows

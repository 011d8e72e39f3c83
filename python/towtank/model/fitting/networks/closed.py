"""The network of parameters, solved at the loads that were measured and at others; the delays that it needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from towtank.errors import EngineError
from towtank.model.fitting.networks.estimate import Parameters
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.fitting.observations import Floats
from towtank.model.solving import solve_models

Json = dict[str, Any]
CLASS = "users"
ELSEWHERE = "elsewhere"
LOW_LOAD = 0.5
"""Delays are read at levels where no resource is used more than this; at the lowest, where all are. [ratio]"""
_ROUNDS = 3


@dataclass(frozen=True)
class Condition:
    """A load, with what is asked of the system there.

    Attributes
    ----------
    users : int
    think_s : float
    shares : ndarray of shape (n_classes,)
        The mix.
    others : ndarray of shape (n_stations,)
        Servers that other programs keep busy. [1]
    """

    users: int
    think_s: float
    shares: Floats
    others: Floats


@dataclass(frozen=True)
class Solved:
    """What networks do; rows are replicates or loads.

    Attributes
    ----------
    throughput, response : ndarray of shape (n_rows,)
    responses : ndarray of shape (n_rows, n_classes)
    utilization : ndarray of shape (n_rows, n_stations)
        Of all servers by the resource itself, its background included, other programs not. [ratio]
    models, answers : list of dict
    """

    throughput: Floats
    response: Floats
    responses: Floats
    utilization: Floats
    models: list[Json]
    answers: list[Json]


@cache
def safe_names(names: tuple[str, ...], taken: str) -> list[str]:
    """Names that a model file may have, each of its own, none of them `taken`."""
    found = [taken]
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
        plain = plain if re.match(r"[A-Za-z]", plain) else f"a_{plain}"
        tries = (plain, *(f"{plain}_{number}" for number in range(2, len(names) + 3)))
        found.append(next(each for each in tries if each not in found))
    return found[1:]


def class_names(of: Measured) -> list[str]:
    """Names of the transactions in the model."""
    return safe_names(of.classes, CLASS)


def station_names(of: Measured) -> list[str]:
    """Names of the resources in the model."""
    return safe_names(tuple(one.name for one in of.stations), ELSEWHERE)


def document(of: Measured, parameters: Parameters, at: Condition) -> Json:
    """The network under one condition, in the form that `solve_models` takes."""
    demands = parameters.held_up(of.stations, at.others)
    names = class_names(of)
    stations = [
        _station(key, one.servers, parameters, _services(names, demand, of.visits, comes))
        for key, one, demand, comes in zip(station_names(of), of.stations, demands, _coming(demands), strict=True)
    ]
    delays = _services(names, parameters.delays, np.ones(len(names)), parameters.delays > 0)
    stations.append({**_station(ELSEWHERE, 1, parameters, delays), "discipline": "delay", "at_once": None})
    ones = [
        {"name": name, "share": float(share), "think_time_s": None}
        for name, share in zip(names, at.shares, strict=True)
    ]
    variation = {"distribution": None, "scv": None}
    users = {
        "name": CLASS, "users": at.users, "think_time_s": at.think_s, "think": variation, "arrival_rate_per_s": None,
        "arrivals": variation, "priority": None, "transactions": ones,
    }  # fmt: skip
    return {
        "classes": [users], "stations": [one for one in stations if one["services"]], "pools": [], "forks": [],
        "routing": [],
    }  # fmt: skip


def _station(name: str, servers: int, parameters: Parameters, services: list[Json]) -> Json:
    """A station whose requests go in turn, or share its servers, with others waiting in turn where not all do."""
    at_once = None if parameters.in_turn or parameters.at_once is None else parameters.at_once * servers
    return {
        "name": name, "discipline": "fcfs" if parameters.in_turn else "ps", "servers": servers, "rates": [],
        "capacity": None, "at_once": at_once, "preemptive": False, "services": services,
    }  # fmt: skip


def _services(names: Sequence[str], demands: Floats, visits: Floats, coming: npt.NDArray[np.bool_]) -> list[Json]:
    return [
        {
            "class": name, "visits": float(each), "service_time_s": float(demand / each),
            "variation": {"distribution": None, "scv": None}, "priority": None,
        }
        for name, demand, each, comes in zip(names, demands, visits, coming, strict=True)
        if comes
    ]  # fmt: skip


def _coming(demands: Floats) -> npt.NDArray[np.bool_]:
    """Who comes to which station: where they have a demand; who has none anywhere, to all, for nobody works nowhere."""
    found = demands > 0
    return np.asarray(found | ~found.any(axis=0), dtype=bool)


def conditions(of: Measured, shares: Floats | None = None) -> list[Condition]:
    """As it was at each level; with the mix of the levels themselves unless another is given."""
    mixes = of.levels().shares if shares is None else np.tile(shares, (len(of.loads), 1))
    return [
        Condition(round(float(load)), float(think), mix, others)
        for load, think, mix, others in zip(of.loads, of.think, mixes, of.others, strict=True)
    ]


def solve(of: Measured, rows: Sequence[tuple[Parameters, Condition]]) -> Solved:
    """Solve many networks in one go."""
    models = [document(of, *row) for row in rows]
    told = solve_models(models)
    faults = [each["faults"] for each in told if "faults" in each]
    if faults:
        raise EngineError(f"a network of measurements was refused: {faults[0]}")
    answers = [each["answer"] for each in told]
    chains = [each["classes"][CLASS] for each in answers]
    throughput = np.array([float(each["throughput_per_s"]) for each in chains])
    names = class_names(of)
    responses = np.array(
        [[float(each["transactions"][name]["response_time_s"]) for name in names] for each in chains]
    ).reshape(len(rows), len(of.classes))
    capacity = np.array([one.capacity for one in of.stations])
    used = [
        (parameters.background + rate * (parameters.demands @ at.shares)) / capacity
        for (parameters, at), rate in zip(rows, throughput, strict=True)
    ]
    return Solved(
        throughput,
        np.array([float(each["response_time_s"]) for each in chains]),
        responses,
        np.array(used).reshape(len(rows), len(capacity)),
        models,
        answers,
    )


def low_levels(of: Measured) -> list[int]:
    """Levels at which hardly anybody waits, by their place."""
    capacity = np.array([one.capacity for one in of.stations])
    highest = (of.levels().busy / capacity).max(axis=1) if len(capacity) else np.zeros(len(of.loads))
    low = [place for place, used in enumerate(highest) if used <= LOW_LOAD]
    return low or [0]


def with_delays(of: Sequence[Measured], parameters: Sequence[Parameters]) -> tuple[list[Parameters], Floats]:
    """Find the time of every transaction that no resource explains, for each draw of the measurements.

    Returns
    -------
    list of Parameters
    ndarray of shape (n_draws, n_classes)
        What the resources explain more than was measured, zero where they explain less. [s]

    Notes
    -----
    At low load, response less residence at the stations, weighted by the transactions that ended. The residence hardly
    depends on the delays there: three rounds settle it. A transaction that was never seen at low load has the mean
    delay of the others; where none was seen, the delays stay as they were given.
    """
    found = list(parameters)
    over = np.zeros((len(found), found[0].demands.shape[1]))
    places = low_levels(of[0])
    for _ in range(_ROUNDS):
        rows = [(one, conditions(each)[place]) for one, each in zip(found, of, strict=True) for place in places]
        solved = solve(of[0], rows)
        responses = solved.responses.reshape(len(found), len(places), -1)
        for number, (one, each) in enumerate(zip(found, of, strict=True)):
            levels = each.levels()
            counts = levels.counts[places]
            known = np.where(counts > 0, levels.responses[places] - responses[number], 0.0)
            seen = counts.sum(axis=0)
            if not seen.sum():
                continue  # a draw without any transaction at low load says nothing of delays
            more = np.where(seen > 0, (known * counts).sum(axis=0) / np.maximum(seen, 1.0), np.nan)
            delays = one.delays + more
            mean = float(np.nansum(np.where(seen > 0, delays * seen, 0.0)) / seen.sum())
            delays = np.where(np.isfinite(delays), delays, mean)
            over[number] = np.maximum(-delays, 0.0)
            found[number] = replace(one, delays=np.maximum(delays, 0.0))
    return found, over

"""Solves a network with given parameters at any loads, and determines the delays of transactions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from towtank.model.engine_model import EngineModel, JobClass, Service, Station, Transaction
from towtank.model.fitting.networks.estimate import Parameters, held_up
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.fitting.observations import Floats
from towtank.model.one_class import OneClassMeans, OneClassNetworks, solve_one_class
from towtank.model.solved import SolvedNetwork
from towtank.model.solving import solve_models

CLASS = "users"
ELSEWHERE = "elsewhere"
LOW_LOAD = 0.5
"""Highest utilization of any station at which a load level counts as low. Delays are estimated from the low levels; if
no level is low, they are estimated from the lowest level. [ratio]
"""
_ROUNDS = 3


@dataclass(frozen=True)
class Condition:
    """Load for which a network is solved: users, think time, transaction mix, and work of other programs.

    Attributes
    ----------
    shares : ndarray of shape (n_classes,)
        Transaction mix, as the share of each transaction.
    others : ndarray of shape (n_stations,)
        Number of servers that other programs keep busy. [1]
    """

    users: int
    think_s: float
    shares: Floats
    others: Floats


@dataclass(frozen=True)
class Solved:
    """Solutions of several networks, one network per row.

    Attributes
    ----------
    throughput, response : ndarray of shape (n_rows,)
    utilization : ndarray of shape (n_rows, n_stations)
        Share of the servers that transactions and background work keep busy; other programs are not included. [ratio]
    responses : ndarray of shape (n_rows, n_classes)
        Mean response time of each transaction. [s]
    """

    measured: Measured
    rows: Sequence[tuple[Parameters, Condition]]
    throughput: Floats
    response: Floats
    utilization: Floats
    responses: Floats

    @cached_property
    def networks(self) -> list[tuple[EngineModel, SolvedNetwork]]:
        """Model of each row, and all results of the engine for it."""
        models = [engine_model(self.measured, *row) for row in self.rows]
        return [(model, found.solution) for model, found in zip(models, solve_models(models), strict=True)]


@cache
def safe_names(names: tuple[str, ...], taken: str) -> list[str]:
    """Return distinct names that are valid in a model file and not among the names in `taken`."""
    found = [taken]
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
        plain = plain if re.match(r"[A-Za-z]", plain) else f"a_{plain}"
        tries = (plain, *(f"{plain}_{number}" for number in range(2, len(names) + 3)))
        found.append(next(each for each in tries if each not in found))
    return found[1:]


def class_names(of: Measured) -> list[str]:
    """Return the names of the measured transactions as they appear in the model file."""
    return safe_names(of.classes, CLASS)


def station_names(of: Measured) -> list[str]:
    """Return the names of the measured resources as they appear in the model file."""
    return safe_names(tuple(station.name for station in of.stations), ELSEWHERE)


def engine_model(of: Measured, parameters: Parameters, at: Condition) -> EngineModel:
    """Return the network for given users, think time, mix and other programs as a model for the engine."""
    names, order = class_names(of), _order(parameters)
    at_once = None if parameters.in_turn else parameters.at_once
    stations = [
        Station(
            key,
            "delay" if key == ELSEWHERE else order,
            servers,
            at_once=None if at_once is None or key == ELSEWHERE else at_once * servers,
            services=[
                Service(name, float(count), float(time_s))
                for name, count, time_s in zip(names, counts, times_s, strict=True)
                if count > 0
            ],
        )
        for key, servers, counts, times_s in zip(
            [*station_names(of), ELSEWHERE],
            _servers(of),
            *(each[0] for each in _visits(of, [(parameters, at)])),
            strict=True,
        )
    ]
    ones = [Transaction(name, float(share)) for name, share in zip(names, at.shares, strict=True)]
    users = JobClass(CLASS, at.users, at.think_s, transactions=ones)
    return EngineModel([users], [station for station in stations if station.services])


def _order(parameters: Parameters) -> str:
    """Return the order of service of the resources. With `ps`, the number of requests in service may be limited."""
    return "fcfs" if parameters.in_turn else "ps"


def _servers(of: Measured) -> list[int]:
    """Return the servers of each resource and, as the last station, outside all resources. [1]"""
    return [*(station.servers for station in of.stations), 1]


def conditions(of: Measured) -> list[Condition]:
    """Return users, think time, transaction mix and work of other programs at each load level."""
    return [
        Condition(round(float(load)), float(think), mix, others)
        for load, think, mix, others in zip(of.loads, of.think, of.levels().shares, of.others, strict=True)
    ]


def solve(of: Measured, rows: Sequence[tuple[Parameters, Condition]]) -> Solved:
    """Solve one or more networks by one call of the engine. The shares of a transaction mix must add up to 1.

    Notes
    -----
    The results are those of `solve_models` for `engine_model`: chains and results of transactions have the formulas of
    `towtank.model.transactions`, here for arrays of all networks.
    """
    visits, service_s = _visits(of, rows)
    counts = np.array([at.shares for _, at in rows])[:, None, :] * visits
    total = counts.sum(axis=2)
    mean_s = _ratio((counts * service_s).sum(axis=2), total)
    square = _ratio(2 * (counts * service_s**2).sum(axis=2), total * mean_s**2)
    shortest_s, longest_s = (np.where(visits > 0, service_s, empty) for empty in (np.inf, -np.inf))
    alike = shortest_s.min(axis=2) == longest_s.max(axis=2)
    servers = _servers(of)
    means = solve_one_class(
        OneClassNetworks(
            [at.users for _, at in rows],
            [at.think_s for _, at in rows],
            [*station_names(of), ELSEWHERE],
            servers,
            [[*[_order(parameters)] * len(of.stations), "delay"] for parameters, _ in rows],
            total,
            mean_s,
            np.where(alike | (mean_s <= 0), 1.0, np.maximum(square - 1, 0.0)),
        )
    )
    visit_s = _ratio(means.residence_s, total)
    wait_s = _waits(rows, np.array(servers, dtype=float), visit_s, mean_s, means)
    slowed = (visit_s - wait_s)[..., None] * _ratio(service_s, mean_s[..., None], 1.0)
    own_s = (visits * (slowed + wait_s[..., None])).sum(axis=1)
    unexplained_s = means.response_s - means.residence_s.sum(axis=1)
    capacity = np.array([station.capacity for station in of.stations])
    work = np.array([parameters.demands @ at.shares for parameters, at in rows])
    background = np.array([parameters.background for parameters, _ in rows])
    return Solved(
        of,
        rows,
        means.throughput_per_s,
        means.response_s,
        (background + means.throughput_per_s[:, None] * work) / capacity,
        np.maximum(own_s + unexplained_s[:, None], 0.0),
    )


def _ratio(above: Floats, below: Floats, otherwise: float = 0.0) -> Floats:
    """Return above / below where `below` is positive, and `otherwise` elsewhere."""
    empty = np.full(np.broadcast_shapes(above.shape, below.shape), otherwise)
    return np.asarray(np.divide(above, below, out=empty, where=below > 0), dtype=float)


def _visits(of: Measured, rows: Sequence[tuple[Parameters, Condition]]) -> tuple[Floats, Floats]:
    """Return visits [1] and service times of a visit [s] of each transaction at each station and, as the last station,
    outside all resources; both of shape (n_rows, n_stations + 1, n_classes).

    Transactions visit the stations at which they have a demand. Transactions without any demand visit all stations.
    """
    background = np.array([parameters.background for parameters, _ in rows])
    others = np.array([at.others for _, at in rows])
    demands = held_up(of.stations, np.array([parameters.demands for parameters, _ in rows]), background, others)
    delays = np.array([parameters.delays for parameters, _ in rows])[:, None, :]
    comes = (demands > 0) | ~(demands > 0).any(axis=1, keepdims=True)
    return np.concatenate([comes * of.visits, delays > 0], axis=1), np.concatenate(
        [demands / of.visits, delays], axis=1
    )


def _waits(
    rows: Sequence[tuple[Parameters, Condition]], servers: Floats, visit_s: Floats, mean_s: Floats, means: OneClassMeans
) -> Floats:
    """Return the time that a visit to each station waits in a queue, of shape (n_rows, n_stations + 1). [s]"""
    in_turn = np.array([[parameters.in_turn] for parameters, _ in rows])
    limits = np.array([[np.inf if parameters.at_once is None else parameters.at_once] for parameters, _ in rows])
    limited = ~in_turn & np.isfinite(limits)
    beyond = np.maximum(means.jobs - servers * means.utilization, 0.0)
    beyond *= np.where(limited, means.utilization ** (np.where(limited, limits - 1, 0.0) * servers), 0.0)
    found = np.where(in_turn, np.maximum(visit_s - mean_s, 0.0), visit_s * _ratio(beyond, means.jobs))
    found[:, -1] = 0.0  # no queue outside the resources
    return found


def low_levels(of: Measured) -> list[int]:
    """Return the indices of the load levels with low utilization, or only index 0 if no utilization is low."""
    capacity = np.array([station.capacity for station in of.stations])
    highest = (of.levels().busy / capacity).max(axis=1) if len(capacity) else np.zeros(len(of.loads))
    low = [place for place, used in enumerate(highest) if used <= LOW_LOAD]
    return low or [0]


def with_delays(of: Sequence[Measured], parameters: Sequence[Parameters]) -> tuple[list[Parameters], Floats]:
    """Determine the delay of each transaction in each replicate: the time in which the transaction is at no resource.

    The second result, of shape (n_draws, n_classes), is the time by which the computed residence time exceeds the
    measured response time, or zero. [s]

    Notes
    -----
    The delay is the response time minus the residence time at the stations. It is averaged over the levels of low load,
    weighted by their numbers of transactions. At low load the residence time hardly depends on the delays, so three
    iterations suffice. A transaction that was not observed at low load gets the mean delay of the observed
    transactions; if none was observed, the delays stay unchanged.
    """
    found = list(parameters)
    over = np.zeros((len(found), found[0].demands.shape[1]))
    places = low_levels(of[0])
    measured = [each.levels() for each in of]
    at = [[found_at[place] for place in places] for found_at in map(conditions, of)]
    for _ in range(_ROUNDS):
        rows = [(parameter, each) for parameter, conditions_of in zip(found, at, strict=True) for each in conditions_of]
        solved = solve(of[0], rows)
        responses = solved.responses.reshape(len(found), len(places), -1)
        for number, (parameter, levels) in enumerate(zip(found, measured, strict=True)):
            counts = levels.counts[places]
            known = np.where(counts > 0, levels.responses[places] - responses[number], 0.0)
            seen = counts.sum(axis=0)
            if not seen.sum():
                continue
            more = np.where(seen > 0, (known * counts).sum(axis=0) / np.maximum(seen, 1.0), np.nan)
            delays = parameter.delays + more
            mean = float(np.nansum(np.where(seen > 0, delays * seen, 0.0)) / seen.sum())
            delays = np.where(np.isfinite(delays), delays, mean)
            over[number] = np.maximum(-delays, 0.0)
            found[number] = replace(parameter, delays=np.maximum(delays, 0.0))
    return found, over

"""Solves a network with given parameters at any loads, and determines the delays of transactions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from towtank.model.engine_model import EngineModel, JobClass, Service, Station, Transaction
from towtank.model.fitting.networks.estimate import Parameters
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.fitting.observations import Floats
from towtank.model.solving import SolvedChain, solve_chains

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
    chains : list of SolvedChain
        Models and their solutions.
    names : list of str
        Names of the transactions in the models.
    """

    throughput: Floats
    response: Floats
    utilization: Floats
    chains: list[SolvedChain]
    names: list[str]

    @cached_property
    def responses(self) -> Floats:
        """Mean response time of each transaction, shape (n_rows, n_classes). [s]"""
        found = [each.results.classes.get(CLASS, {}) for each in self.chains]
        times = [[each[name].response_time_s for name in self.names] for each in found]
        return np.array(times, dtype=float).reshape(len(self.chains), len(self.names))


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
    demands = parameters.held_up(of.stations, at.others)
    names = class_names(of)
    stations = [
        _station(key, station.servers, parameters, _services(names, demand, of.visits, comes))
        for key, station, demand, comes in zip(station_names(of), of.stations, demands, _coming(demands), strict=True)
    ]
    delays = _services(names, parameters.delays, np.ones(len(names)), parameters.delays > 0)
    stations.append(Station(ELSEWHERE, "delay", services=delays))
    ones = [Transaction(name, float(share)) for name, share in zip(names, at.shares, strict=True)]
    users = JobClass(CLASS, at.users, at.think_s, transactions=ones)
    return EngineModel([users], [station for station in stations if station.services])


def _station(name: str, servers: int, parameters: Parameters, services: list[Service]) -> Station:
    """Return a station with the order of service `fcfs` or `ps`. With `ps`, the number of requests in service at the
    same time may be limited.
    """
    at_once = None if parameters.in_turn or parameters.at_once is None else parameters.at_once * servers
    order = "fcfs" if parameters.in_turn else "ps"
    return Station(name, order, servers, at_once=at_once, services=services)


def _services(names: Sequence[str], demands: Floats, visits: Floats, coming: npt.NDArray[np.bool_]) -> list[Service]:
    return [
        Service(name, float(each), float(demand / each))
        for name, demand, each, comes in zip(names, demands, visits, coming, strict=True)
        if comes
    ]


def _coming(demands: Floats) -> npt.NDArray[np.bool_]:
    """Return a mask of shape (n_stations, n_classes): True if the transactions of the class visit the station.

    Transactions visit the stations at which they have a demand. Transactions without any demand visit all stations.
    """
    found = demands > 0
    return np.asarray(found | ~found.any(axis=0), dtype=bool)


def conditions(of: Measured) -> list[Condition]:
    """Return users, think time, transaction mix and work of other programs at each load level."""
    return [
        Condition(round(float(load)), float(think), mix, others)
        for load, think, mix, others in zip(of.loads, of.think, of.levels().shares, of.others, strict=True)
    ]


def solve(of: Measured, rows: Sequence[tuple[Parameters, Condition]]) -> Solved:
    """Solve many networks by one call of the engine."""
    chains = solve_chains([engine_model(of, *row) for row in rows])
    found = [each.outcome.solution.classes[CLASS] for each in chains]
    throughput = np.array([each.throughput_per_s for each in found], dtype=float)
    capacity = np.array([station.capacity for station in of.stations])
    used = [
        (parameters.background + rate * (parameters.demands @ at.shares)) / capacity
        for (parameters, at), rate in zip(rows, throughput, strict=True)
    ]
    return Solved(
        throughput,
        np.array([each.response_time_s for each in found], dtype=float),
        np.array(used).reshape(len(rows), len(capacity)),
        chains,
        class_names(of),
    )


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

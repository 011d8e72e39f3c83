"""Closed networks of one class as arrays. A fit solves thousands of them, too many for an object of each station."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import TypeAdapter

from towtank.arrays import Floats
from towtank.errors import EngineError
from towtank.model.solved import SolverFault
from towtank.model.solving import solved_text

_CLASS = "users"


@dataclass
class _Class:
    throughput_per_s: float | None
    response_time_s: float | None


@dataclass
class _Station:
    utilization: float | None
    queue_length: float | None
    residence_time_s: dict[str, float | None]


@dataclass
class _Answer:
    classes: dict[str, _Class]
    stations: dict[str, _Station]


@dataclass
class _Outcome:
    """The part of `SolvedOutcome` that a fit needs. Reading all of it would take longer than solving the networks."""

    answer: _Answer | None = None
    faults: tuple[SolverFault, ...] = ()


_OUTCOMES = TypeAdapter(list[_Outcome])
_ABSENT = _Station(0.0, 0.0, {_CLASS: 0.0})


@dataclass(frozen=True)
class OneClassNetworks:
    """Closed networks of one class with the same stations, one network per row.

    `disciplines` has the order of service of each station, by row. `visits` of a job to each station [1], the mean
    service time of a visit `service_s` [s] and its squared coefficient of variation `scv` [1] are of shape (n_rows,
    n_stations). Stations without visits are not in the network.
    """

    users: Sequence[int]
    think_s: Sequence[float]
    stations: Sequence[str]
    servers: Sequence[int]
    disciplines: Sequence[Sequence[str]]
    visits: Floats
    service_s: Floats
    scv: Floats

    def text(self) -> str:
        """Return the JSON text of the networks that the engine reads."""
        columns = self.visits.tolist(), self.service_s.tolist(), self.scv.tolist()
        return json.dumps(
            [
                {
                    "classes": [{"name": _CLASS, "users": users, "think_time_s": think_s}],
                    "stations": [
                        {
                            "name": name,
                            "discipline": discipline,
                            "servers": servers,
                            "services": [
                                {"class": _CLASS, "visits": count, "service_time_s": time_s, "variation": {"scv": scv}}
                            ],
                        }
                        for name, servers, discipline, count, time_s, scv in zip(
                            self.stations, self.servers, *row, strict=True
                        )
                        if count > 0
                    ],
                }
                for users, think_s, *row in zip(self.users, self.think_s, self.disciplines, *columns, strict=True)
            ]
        )


@dataclass(frozen=True)
class OneClassMeans:
    """Means of networks in steady state: of each network, and of each station in arrays of shape (n_rows, n_stations).

    `residence_s` is the time of all visits of a job [s], `jobs` the number of jobs at the station [1], `utilization`
    the share of busy servers [ratio]; they are 0 at stations without visits or demand. NaN stands for no mean.
    """

    throughput_per_s: Floats
    response_s: Floats
    residence_s: Floats
    jobs: Floats
    utilization: Floats


def solve_one_class(networks: OneClassNetworks) -> OneClassMeans:
    """Solve networks in one call of the engine; raises EngineError if it refuses a network."""
    found = _OUTCOMES.validate_json(solved_text(networks.text()))
    faults = [f"{'.'.join(fault.path)} {fault.message}" for each in found for fault in each.faults]
    if faults:
        raise EngineError(f"the engine refused a model: {'; '.join(faults)}")
    answers = [each.answer for each in found if each.answer is not None]
    means = [answer.classes[_CLASS] for answer in answers]
    at = [[answer.stations.get(name, _ABSENT) for name in networks.stations] for answer in answers]
    return OneClassMeans(
        np.array([each.throughput_per_s for each in means], dtype=float),
        np.array([each.response_time_s for each in means], dtype=float),
        np.array([[each.residence_time_s.get(_CLASS, 0.0) for each in row] for row in at], dtype=float),
        np.array([[each.queue_length for each in row] for row in at], dtype=float),
        np.array([[each.utilization for each in row] for row in at], dtype=float),
    )

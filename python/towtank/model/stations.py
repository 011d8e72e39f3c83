"""Stations of a model and of its solution. A station may consist of several nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from towtank.model.engine_model import Station
from towtank.model.solved import SolvedNetwork, SolvedStation

NODE_SEPARATOR = "@"
"""Separator between the name of a station and the number of a node. Names in model files cannot contain it."""

_WRITTEN = 1e-6
"""Relative tolerance for the comparison of rates, which model files round to nine digits. [ratio]"""


def servers_of(station: Station) -> int | None:
    """Return the number of servers of a station; None for a station whose rates do not come from a fit.

    Notes
    -----
    `towtank model fit` writes a demand that depends on the utilization as rates(j) = min(j, m) / (1 + (r - 1) (1 -
    min(j - 1, m) / m)) for j = 1 to m + 1 jobs and m servers. The demand at zero utilization is r times the demand at
    full utilization. Only rates of this form can be converted to another number of servers.
    """
    rates = station.rates
    if not rates:
        return station.servers
    servers: int = round(rates[-1])
    known = servers >= 1 and len(rates) == servers + 1
    if known and all(
        math.isclose(a, b, rel_tol=_WRITTEN) for a, b in zip(rates, rates_with_servers(rates, servers), strict=True)
    ):
        return servers
    return None


def rates_with_servers(rates: Sequence[float], servers: int) -> list[float]:
    """Convert the rates of a fitted station to another number of servers, with the same demand at each utilization."""
    ratio = 1 / rates[0]
    return [
        min(jobs, servers) / (1 + (ratio - 1) * (1 - min(jobs - 1, servers) / servers))
        for jobs in range(1, servers + 2)
    ]


@dataclass(frozen=True)
class StationAnswer:
    """Solution at a station, over all its nodes.

    Attributes
    ----------
    utilization : float
        Utilization of all servers of all nodes. [ratio]
    queue_length : float
        Jobs at all nodes, including jobs in service. [1]
    residence_s : dict of str to float
        Residence time of a transaction, over all its visits, by class and by transaction of a class. [s]
    """

    utilization: float
    queue_length: float
    residence_s: Mapping[str, float]


def stations_of(answer: SolvedNetwork) -> dict[str, StationAnswer]:
    """Return the solution at each station by its name in the model, with nodes combined."""
    groups: dict[str, list[SolvedStation]] = {}
    for name, station in answer.stations.items():
        groups.setdefault(name.partition(NODE_SEPARATOR)[0], []).append(station)
    found = {}
    for name, nodes in groups.items():
        times = [node.residence_time_s | node.residence_time_by_transaction_s for node in nodes]
        names = dict.fromkeys(each for residences in times for each in residences)
        residence = {each: sum(residences.get(each) or 0.0 for residences in times) for each in names}
        used = sum(node.utilization for node in nodes) / len(nodes)
        found[name] = StationAnswer(used, sum(node.queue_length or 0.0 for node in nodes), residence)
    return found

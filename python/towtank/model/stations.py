"""What belongs to the stations of a model and of its solution, also where a station is spread over nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
NODE = "@"
"""Between the name of a station and the number of its node; no name of a file has it."""

_WRITTEN = 1e-6
"""Model files hold rates with nine digits. [ratio]"""


def servers_of(station: Json) -> int | None:
    """Servers of a station; of one whose speed depends on its jobs, those that a fit meant; None for other rates.

    Notes
    -----
    `towtank model fit` writes a demand that depends on the utilization as rates(j) = min(j, m) / (1 + (r - 1)
    (1 - min(j - 1, m) / m)) for 1 to m + 1 jobs, with the demand r times as large at no use. Only of this form it is
    known what other numbers of servers would do.
    """
    rates = station["rates"]
    if not rates:
        return int(station["servers"])
    servers: int = round(rates[-1])
    known = servers >= 1 and len(rates) == servers + 1
    if known and all(
        math.isclose(a, b, rel_tol=_WRITTEN) for a, b in zip(rates, rates_with(rates, servers), strict=True)
    ):
        return servers
    return None


def rates_with(rates: list[float], servers: int) -> list[float]:
    """Rates of a fitted station with another number of servers: the same demand at the same utilization."""
    ratio = 1 / rates[0]
    return [
        min(jobs, servers) / (1 + (ratio - 1) * (1 - min(jobs - 1, servers) / servers))
        for jobs in range(1, servers + 2)
    ]


@dataclass(frozen=True)
class StationAnswer:
    """What was found at a station, over all its nodes.

    Attributes
    ----------
    utilization : float
        Of all servers of all nodes. [ratio]
    queue_length : float
        Jobs at all nodes, those in service included. [1]
    residence_s : dict of str to float
        Of a transaction, over all its visits, by class and by transaction of a class. [s]
    """

    utilization: float
    queue_length: float
    residence_s: Mapping[str, float]


def stations_of(answer: Json) -> dict[str, StationAnswer]:
    """Stations of an answer by their names in the model, nodes together."""
    groups: dict[str, list[Json]] = {}
    for name, one in answer["stations"].items():
        groups.setdefault(name.partition(NODE)[0], []).append(one)
    found = {}
    for name, nodes in groups.items():
        times = [{**one["residence_time_s"], **one.get("residence_time_by_transaction_s", {})} for one in nodes]
        names = dict.fromkeys(each for one in times for each in one)
        residence = {each: sum(one.get(each) or 0.0 for one in times) for each in names}
        used = sum(one["utilization"] for one in nodes) / len(nodes)
        found[name] = StationAnswer(used, sum(one["queue_length"] for one in nodes), residence)
    return found

"""Random queueing networks that are both solved and simulated, to certify the solver.

The number of a network is its random seed, so a single network can be examined alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
KINDS = ("fcfs", "ps", "priority", "preemptive", "tandem", "finite", "pool", "fork")
LOADS = ("open", "closed", "mixed")
SERVERS = (1, 2, 8, 64)
VARIATIONS = (0.0, 0.25, 1.0, 4.0)
UTILIZATIONS = (0.3, 0.6, 0.8, 0.9)
STRETCH = 2.2
"""Factor by which the 95 % confidence interval from ten replications is widened.

The exact value lies outside the widened interval by chance in fewer than one of a thousand cases.
"""


@dataclass(frozen=True)
class Compared:
    """Comparison of the solved with the simulated response time of one class of a network.

    Attributes
    ----------
    seed : int
        Seed of the network.
    kind, load : str
        Elements of `KINDS` and `LOADS`.
    method : str
        Solution method.
    exact : bool
        True if the solver reports the solution as exact.
    stated : float or None
        Largest relative error that the solver reports; infinite without an upper bound, None for an exact solution.
        [ratio]
    solved, low, high : float
        Solved mean response time, and the 95 % confidence interval of the simulated mean. [s]
    """

    seed: int
    kind: str
    load: str
    method: str
    exact: bool
    stated: float | None
    solved: float
    low: float
    high: float

    @property
    def simulated(self) -> float:
        """Middle of the simulated confidence interval. [s]"""
        return (self.low + self.high) / 2

    @property
    def error(self) -> float:
        """Distance of the solved value from the widened simulated interval, relative to the solved value, less a
        tolerance of 1e-4; at least 0. [1]
        """
        beyond = abs(self.solved - self.simulated) - STRETCH * (self.high - self.low) / 2
        return max(0.0, beyond / self.solved - 1e-4)


def network(seed: int) -> tuple[str, str, Json]:
    """Return kind, load and model of the network with the given seed. The model has the JSON format of the engine."""
    rng = random.Random(seed)
    kind, load = KINDS[seed % len(KINDS)], LOADS[seed // len(KINDS) % len(LOADS)]
    if kind == "finite":
        load = "open"
    count = 2 if load == "mixed" or kind in ("priority", "preemptive") else rng.choice((1, 1, 2))
    names = [f"c{index}" for index in range(count)]
    servers, utilization = rng.choice(SERVERS), rng.choice(UTILIZATIONS)
    times = [1.0] + [rng.choice((1.0, 0.5, 3.0)) for _ in names[1:]]
    stations = [_station(rng, kind, names, times, servers)]
    if kind in ("tandem", "pool", "fork"):
        stations.append(_second(rng, names, times, servers))
    closed = [load == "closed" or (load == "mixed" and index == 0) for index in range(count)]
    classes = [
        _class(rng, name, is_closed=is_closed, time=time, servers=servers, utilization=utilization / count)
        for name, time, is_closed in zip(names, times, closed, strict=True)
    ]
    if count == 1 and load == "open" and kind != "finite":
        classes[0]["arrivals"] = {"scv": rng.choice((1.0, 1.0, 0.25, 4.0))}
    return kind, load, {"classes": classes, "stations": stations, **_around(rng, kind, servers)}


def _around(rng: random.Random, kind: str, servers: int) -> Json:
    """Return a pool that contains both stations, or a fork with one branch to each station. For other kinds of
    networks, return an empty mapping.
    """
    if kind == "pool":
        return {"pools": [{"name": "p", "size": servers * rng.choice((2, 4)), "holds": ["s", "t"]}]}
    return {"forks": [{"name": "f", "branches": [["s"], ["t"]]}]} if kind == "fork" else {}


def _station(rng: random.Random, kind: str, names: list[str], times: list[float], servers: int) -> Json:
    same = rng.random() < 0.4
    scv = rng.choice(VARIATIONS)
    services = [
        {
            "class": name,
            "service_time_s": 1.0 if same else time,
            "variation": {"scv": scv if same else rng.choice(VARIATIONS)},
        }
        for name, time in zip(names, times, strict=True)
    ]
    if same:
        times[:] = [1.0] * len(times)
    station: Json = {"name": "s", "servers": servers, "services": services, "discipline": "fcfs"}
    if kind in ("priority", "preemptive"):
        station |= {"discipline": "priority", "preemptive": kind == "preemptive"}
    elif kind == "ps":
        station["discipline"] = "ps"
    elif kind == "finite":
        station["capacity"] = servers + rng.choice((0, 2, 10))
    return station


def _second(rng: random.Random, names: list[str], times: list[float], servers: int) -> Json:
    """Return a second station with a single, faster server and a slightly lower utilization than the first station."""
    scv = rng.choice(VARIATIONS)
    services = [
        {"class": name, "service_time_s": time / (1.2 * servers), "variation": {"scv": scv}}
        for name, time in zip(names, times, strict=True)
    ]
    return {"name": "t", "servers": 1, "services": services, "discipline": rng.choice(("ps", "fcfs"))}


def _class(rng: random.Random, name: str, *, is_closed: bool, time: float, servers: int, utilization: float) -> Json:
    ranked: Json = {"name": name, "priority": 1 + int(name[1:])}
    if not is_closed:
        return ranked | {"arrival_rate_per_s": utilization * servers / time}
    think = rng.choice((0.0, 2.0, 9.0)) * time
    users = max(1, round(rng.choice((0.5, 1.0, 2.0)) * utilization * servers * (think + time) / time))
    return ranked | {"users": users, "think_time_s": think}


def compared(seed: int, kind: str, load: str, answer: Json, simulated: Json) -> Iterator[Compared]:
    """Yield the comparison of the solved with the simulated response time of each class of a network."""
    for name, found in answer["classes"].items():
        low, high = simulated["classes"][name]["confidence_interval"]["response_time_s"]
        stated, time = answer["approximate_within"], float(found["response_time_s"])
        if stated is not None and answer["within"]["classes"][name]["response_time_s"][1] is None:
            stated = math.inf
        # If the simulation completed very few jobs of a class, there is no confidence interval to compare with.
        if low is not None:
            yield Compared(seed, kind, load, answer["method"], answer["exact"], stated, time, float(low), float(high))

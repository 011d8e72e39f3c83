"""Random networks whose jobs visit a station several times. Each network is both solved and simulated, to certify the
solver.

The number of a network is its random seed, so a single network can be examined alone.
"""

from __future__ import annotations

import random
from typing import Any

Json = dict[str, Any]
KINDS = ("single", "single", "ranks", "tandem", "shared", "full", "closed", "mixed")
VISITS = (2.0, 2.5, 3.0, 5.0, 7.0, 10.0)
VARIATIONS: tuple[Json, ...] = (
    {"scv": 0.0},
    {"scv": 1 / 12, "distribution": "uniform"},
    {"scv": 1.0},
    {"scv": 4.0},
)
SERVERS = (1, 1, 1, 2, 8)
UTILIZATIONS = (0.3, 0.6, 0.8, 0.9)


def returning(seed: int) -> Json:
    """Return the network with the given seed, in the JSON format of the engine.

    Its first class visits a station 2 to 10 times. In one of four networks, the class has a route with the same mean
    number of visits.
    """
    rng = random.Random(f"returns {seed}")
    kind = KINDS[seed % len(KINDS)]
    ranked = kind == "ranks"
    count = 2 if ranked or kind == "mixed" else rng.choice((1, 1, 2))
    names = [f"c{number}" for number in range(count)]
    servers, utilization = rng.choice(SERVERS), rng.choice(UTILIZATIONS)
    visits = [rng.choice(VISITS)] + [rng.choice((1.0, *VISITS)) for _ in names[1:]]
    times = [1.0] + [rng.choice((1.0, 1.0, 0.3, 3.0)) for _ in names[1:]]
    variations = [rng.choice(VARIATIONS) for _ in names]
    services = [
        {"class": name, "service_time_s": time, "visits": often, "variation": variation}
        for name, time, often, variation in zip(names, times, visits, variations, strict=True)
    ]
    station: Json = {"name": "s", "servers": servers, "discipline": "priority" if ranked else "fcfs"}
    station |= {"services": services, "preemptive": ranked and rng.random() < 0.5}
    if kind == "full":
        station["capacity"] = servers + rng.choice((0, 2, 5, 10))
    stations = [station, _second(rng, kind, services, servers)] if kind in ("tandem", "shared") else [station]
    works = [often * time for often, time in zip(visits, times, strict=True)]
    classes = [
        _class(
            rng,
            name,
            closed=kind == "closed" or (kind == "mixed" and name == "c0"),
            work=work / servers,
            utilization=utilization / count,
        )
        for name, work in zip(names, works, strict=True)
    ]
    model: Json = {"classes": classes, "stations": stations}
    if rng.random() < 0.25 and kind not in ("full", "ranks"):
        model["routing"] = [_route(stations, name, often) for name, often in zip(names, visits, strict=True)]
        for each in stations:
            each["services"] = [{k: v for k, v in row.items() if k != "visits"} for row in each["services"]]
    return model


def _second(rng: random.Random, kind: str, services: list[Json], servers: int) -> Json:
    """Return a faster second station. Each class visits it once, or as often as the first station."""
    often = rng.random() < 0.5
    rows = [
        {
            **row,
            "service_time_s": row["service_time_s"] * (1.0 if often else row["visits"]) / (1.2 * servers),
            "visits": row["visits"] if often else 1.0,
            "variation": rng.choice(VARIATIONS),
        }
        for row in services
    ]
    return {"name": "t", "servers": 1, "services": rows, "discipline": "ps" if kind == "shared" else "fcfs"}


def _class(rng: random.Random, name: str, *, closed: bool, work: float, utilization: float) -> Json:
    ranked: Json = {"name": name, "priority": 1 + int(name[1:])}
    if not closed:
        poisson = rng.random() < 0.7
        arrivals = {"scv": 1.0} if poisson else rng.choice(({"scv": 0.25}, {"scv": 4.0}))
        return ranked | {"arrival_rate_per_s": utilization / work, "arrivals": arrivals}
    think = rng.choice((0.0, 2.0, 9.0)) * work
    users = max(2, round(rng.choice((1.0, 2.0, 4.0)) * utilization * (think + work) / work))
    return ranked | {"users": users, "think_time_s": think}


def _route(stations: list[Json], name: str, often: float) -> Json:
    """Return a route with repeated visits to station `s`. If there is a station `t`, each visit to `s` is followed by a
    visit to `t`.
    """
    again = 1.0 - 1.0 / often
    if len(stations) == 1:
        return {"class": name, "start": {"s": 1.0}, "next": {"s": {"s": again, "end": 1.0 - again}}}
    return {"class": name, "start": {"s": 1.0}, "next": {"s": {"t": 1.0}, "t": {"s": again, "end": 1.0 - again}}}

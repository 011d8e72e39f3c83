"""A system of two tiers and two transactions with known service demands, simulated request by request.

Tier `web` has two CPUs and tier `app` has one; both serve requests in order of arrival. The rest of a transaction is a
delay without queueing. `measured` returns measurements for the fit of a network model. `write_two_tiers` writes a
results folder.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from synthetic_runs import WALL_NS, Exchange, Script, Stage, write_run

from towtank.model.fitting.measured import Resource
from towtank.model.fitting.networks.seconds import Measured, Run
from towtank.results.folder import ResultsFolder

Floats = npt.NDArray[np.float64]
TRANSACTIONS = ("browse", "buy")
TIERS = {"web": 2, "app": 1}
DEMANDS_S = {"web": (0.020, 0.030), "app": (0.008, 0.050)}
ELSEWHERE_S = (0.010, 0.040)
SHARES = (0.7, 0.3)
THINK_S = 1.0
LEVELS = (8, 16, 28, 44)
STATIONS = tuple(Resource(name, servers, (name,)) for name, servers in TIERS.items())


def simulated(users: int, seconds: float, seed: int) -> tuple[list[Exchange], dict[str, Floats]]:
    """Simulate users that start at time 0. Return the transactions, and the busy periods of each tier's CPUs. [s]"""
    stream = random.Random(seed)
    free = {tier: [0.0] * servers for tier, servers in TIERS.items()}
    stretches: dict[str, list[tuple[float, float]]] = {tier: [] for tier in TIERS}
    exchanges: list[Exchange] = []
    # Each event is a tuple: time, sequence number, user, index of the next station, transaction, start time of the
    # transaction.
    events = [(stream.expovariate(1 / THINK_S), user, user, 0, 0, 0.0) for user in range(users)]
    heapq.heapify(events)
    made = users
    while events:
        at, _, user, place, transaction, begun = heapq.heappop(events)
        if place == 0:
            if at >= seconds:
                continue
            transaction, begun = stream.choices(range(len(SHARES)), SHARES)[0], at
        if place < len(TIERS):
            tier = list(TIERS)[place]
            first = heapq.heappop(free[tier])
            start = max(at, first)
            end = start + stream.expovariate(1 / DEMANDS_S[tier][transaction])
            heapq.heappush(free[tier], end)
            stretches[tier].append((start, end))
            after = end
        else:
            after = at + stream.expovariate(1 / ELSEWHERE_S[transaction])
            think = stream.expovariate(1 / THINK_S)
            exchanges.append(Exchange(transaction, begun, begun, after, 0.0, think, user))
            after += think
        made += 1
        heapq.heappush(events, (after, made, user, (place + 1) % (len(TIERS) + 1), transaction, begun))
    exchanges.sort(key=lambda one: one.intended)
    return exchanges, {tier: np.array(rows) for tier, rows in stretches.items()}


def measured(seconds: float, seed: int, levels: Sequence[int] = LEVELS) -> Measured:
    """Return measurements of one run at each load level, in intervals of 1 s, without the first 5 s of each run."""
    runs = [_run(place, users, seconds, seed + place) for place, users in enumerate(levels)]
    count = len(levels)
    return Measured(
        "two tiers",
        TRANSACTIONS,
        STATIONS,
        np.array(levels, dtype=float),
        np.full(count, THINK_S),
        np.zeros((count, len(STATIONS))),
        np.ones(len(TRANSACTIONS)),
        tuple(runs),
    )


def _run(level: int, users: int, seconds: float, seed: int) -> Run:
    exchanges, stretches = simulated(users, seconds, seed)
    edges = np.arange(5.0, seconds + 0.5)
    ends = np.array([row.end for row in exchanges])
    kinds = np.array([entry.transaction for entry in exchanges])
    times = np.array([exchange.end - exchange.intended for exchange in exchanges])
    rows = len(edges) - 1
    counts, sums = np.zeros((rows, len(TRANSACTIONS))), np.zeros((rows, len(TRANSACTIONS)))
    for kind in range(len(TRANSACTIONS)):
        mine = kinds == kind
        counts[:, kind] = np.histogram(ends[mine], edges)[0]
        sums[:, kind] = np.histogram(ends[mine], edges, weights=times[mine])[0]
    busy = np.stack([np.diff([_until(stretches[tier], edge) for edge in edges]) for tier in TIERS], axis=1)
    return Run(level, np.diff(edges), counts, sums, busy)


def _until(stretches: Floats, at: float) -> float:
    return float(np.clip(np.minimum(at, stretches[:, 1]) - stretches[:, 0], 0.0, None).sum())


def _stages(users: int, steady: float) -> list[Stage]:
    return [
        Stage("ramp_up", "ramp_up", 1.0, users),
        Stage("settle", "settle", 4.0, users),
        Stage("steady", "steady", steady, users),
        Stage("ramp_down", "ramp_down", 1.0, 0),
    ]


def write_two_tiers(path: Path, levels: Sequence[int] = LEVELS, steady: float = 60.0, seed: int = 7) -> ResultsFolder:
    design = [
        {"run": f"r{number:03d}", "index": number, "repetition": 1, "factors": {"users": str(users)}}
        for number, users in enumerate(levels, start=1)
    ]
    results = ResultsFolder.create(path, _manifest(design, levels, steady, seed))
    cpus = {"web": [0, 1], "app": [2]}
    tiers = {name: {"kind": "content_server", "host": "here", "cpus": cpus[name]} for name in TIERS}
    for number, users in enumerate(levels, start=1):
        exchanges, stretches = simulated(users, steady + 5.5, seed + number)
        script = Script(
            name=f"r{number:03d}",
            transactions=list(TRANSACTIONS),
            stages=_stages(users, steady),
            exchanges=exchanges,
            factors={"users": str(users)},
            users=users,
            index=number,
            seed=seed + number,
            user_starts=[0.0] * users,
            user_ends=[steady + 5.0] * users,
            tiers=tiers,
            work=stretches,
        )
        write_run(results.run_path(script.name), script)
    return results


def _manifest(design: list[dict[str, Any]], levels: Sequence[int], steady: float, seed: int) -> dict[str, Any]:
    return {
        "synthetic": True,
        "study": {
            "name": "synthetic-two-tiers",
            "title": "A shop of two tiers (synthetic test data)",
            "question": "Which tier limits the shop, and which one after it?",
            "factors": [{"name": "users", "levels": [str(level) for level in levels], "numeric": list(levels)}],
            "load_factor": "users",
            "design": {"kind": "full_factorial", "order": "random", "repetitions": 1},
            "limits": {"errors": 0.01},
            "objectives": [],
            "stages": [
                {"name": stage.name, "phase": stage.phase, "duration_s": stage.seconds}
                for stage in _stages(levels[0], steady)
            ],
            "mix": [
                {"group": "everybody", "transaction": name, "weight": 100 * share}
                for name, share in zip(TRANSACTIONS, SHARES, strict=True)
            ],
            "system": {"tiers": {name: {"kind": "content_server"} for name in TIERS}},
            "seed": seed,
            "preset": "quick",
        },
        "design": design,
        "versions": {"towtank": "0.1.0"},
        "host": {"name": "synthetic", "kernel": "6.1.0", "cpus": 4, "memory_bytes": 8 << 30},
        "started_wall_ns": WALL_NS,
    }

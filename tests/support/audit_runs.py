"""Writes recorded runs of closed and open loads with random transactions, pauses and arrivals, for tests of the audit.

Only the files that the audit reads are written: the load plan, and the engine's recordings with the events of each
interval.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from synthetic_runs import MONOTONIC_NS, SECOND, WALL_NS, encode_histogram

from towtank.results import lines
from towtank.results.folder import RunFolder, write_json

RAMP_S = 2.0
TRANSACTIONS = ["search", "view", "download", "browse", "add"]
WEIGHTS = [15.0, 30.0, 25.0, 20.0, 10.0]
Draw = Callable[[np.random.Generator], float]


def closed_plan(seconds: float, think: dict[str, Any] | None, weights: Sequence[float] = WEIGHTS) -> dict[str, Any]:
    group = {
        "name": "readers",
        "share": 1.0,
        "think": think,
        "pacing": None,
        "mix": [{"transaction": number, "weight": weight} for number, weight in enumerate(weights)],
    }
    return {
        "schema": "towtank/plan/1",
        "transactions": [{"name": name} for name in TRANSACTIONS],
        "groups": [group],
        "load": {"kind": "closed", "stages": _stages(seconds, "users", 50)},
    }


def open_plan(seconds: float, rate: float, arrivals: str, shares: Sequence[float] = (1.0,)) -> dict[str, Any]:
    """Return the load plan of an open load whose groups have the same mix of transactions."""
    plan = closed_plan(seconds, None)
    plan["groups"] = [
        {**plan["groups"][0], "name": f"group {number}", "share": share} for number, share in enumerate(shares)
    ]
    return {**plan, "load": {"kind": "open", "arrivals": arrivals, "stages": _stages(seconds, "rate", rate)}}


def _stages(seconds: float, key: str, value: float) -> list[dict[str, Any]]:
    return [
        {"name": "ramp_up", "phase": "ramp_up", "level": 0, "duration_s": RAMP_S, key: value},
        {"name": "steady", "phase": "steady", "level": 0, "duration_s": seconds, key: value},
    ]


Event = tuple[float, int, float]
"""Event of a load: time since the start of the run [s], index of a transaction or group, and length of a pause or gap
[s].

The length is 0 if the event is the choice of a transaction.
"""


def closed_load(
    seed: int, *, users: int, seconds: float, pause: Draw, times_s: Sequence[float], weights: Sequence[float] = WEIGHTS
) -> tuple[list[Event], list[Event]]:
    """Simulate users that choose a transaction, execute it and pause; return the choices and the pauses."""
    stream = np.random.default_rng(seed)
    shares = np.array(weights) / sum(weights)
    queue = [(RAMP_S * user / users, user) for user in range(users)]
    picks: list[Event] = []
    pauses: list[Event] = []
    while queue:
        at, user = heapq.heappop(queue)
        if at >= RAMP_S + seconds:
            continue
        chosen = int(stream.choice(len(shares), p=shares))
        end = at + stream.exponential(times_s[chosen])
        rest = pause(stream)
        picks.append((at, chosen, 0.0))
        pauses.append((end, 0, rest))
        heapq.heappush(queue, (end + rest, user))
    return picks, pauses


def open_load(
    seed: int, *, rate: float, seconds: float, gap: Draw, shares: Sequence[float] = (1.0,)
) -> tuple[list[Event], list[Event]]:
    """Simulate arrivals with random gaps. Return the choices of transactions, and the arrivals with their groups and
    gaps.
    """
    stream = np.random.default_rng(seed)
    size = int(3 * rate * (RAMP_S + seconds) + 100)
    gaps = np.array([gap(stream) for _ in range(size)])
    at = np.cumsum(gaps)
    inside = at < RAMP_S + seconds
    at, gaps = at[inside], gaps[inside]
    mix = stream.choice(len(WEIGHTS), size=len(at), p=np.array(WEIGHTS) / sum(WEIGHTS))
    groups = stream.choice(len(shares), size=len(at), p=np.array(shares) / sum(shares))
    picks = [(float(time), int(kind), 0.0) for time, kind in zip(at, mix, strict=True)]
    return picks, [(float(time), int(kind), float(each)) for time, kind, each in zip(at, groups, gaps, strict=True)]


def write_audit_run(
    path: Path,
    plan: dict[str, Any] | None,
    seconds: float,
    *,
    picks: Sequence[Event] = (),
    pauses: Sequence[Event] = (),
    arrivals: Sequence[Event] = (),
    every_s: float = 1.0,
    groups: int = 1,
) -> RunFolder:
    """Write a run folder whose recordings have intervals of `every_s` seconds. Longer intervals take less time to
    write.
    """
    run = RunFolder.create(path, {"run": path.name, "status": "complete", "users": None if arrivals else 50})
    if plan is not None:
        write_json(run.plan, plan)
    edges = [(0.0, RAMP_S, 0)]
    edges += [
        (RAMP_S + start, min(RAMP_S + start + every_s, RAMP_S + seconds), 1)
        for start in np.arange(0, seconds - 1e-9, every_s)
    ]
    with (run.engine / "worker-00.0000.ndjson").open("wb") as stream:
        stream.write(lines.encode(_header(seconds, groups)))
        for place in edges:
            stream.write(lines.encode(_interval(place, picks, pauses, arrivals, groups)))
        stream.write(lines.encode({"k": "end", "t_ns": round((RAMP_S + seconds) * SECOND), "reason": "finished"}))
    return run


def _header(seconds: float, groups: int) -> dict[str, Any]:
    stages = [
        {"name": "ramp_up", "phase": "ramp_up", "level": 0, "start_s": 0.0, "end_s": RAMP_S},
        {"name": "steady", "phase": "steady", "level": 0, "start_s": RAMP_S, "end_s": RAMP_S + seconds},
    ]
    return {
        "k": "header",
        "schema": "towtank/segment/1",
        "run": "audit",
        "worker": 0,
        "workers": 1,
        "part": 0,
        "monotonic_ns": MONOTONIC_NS,
        "wall_ns": WALL_NS,
        "stages": stages,
        "transactions": TRANSACTIONS,
        "pages": [],
        "steps": [],
        "groups": [f"group {number}" for number in range(groups)],
    }


def _interval(
    place: tuple[float, float, int],
    picks: Sequence[Event],
    pauses: Sequence[Event],
    arrivals: Sequence[Event],
    groups: int,
) -> dict[str, Any]:
    start, end, stage = place
    picked = Counter(number for at, number, _ in picks if start <= at < end)
    rests = [pause * SECOND for at, _, pause in pauses if start <= at < end]
    came = [(group, gap * SECOND) for at, group, gap in arrivals if start <= at < end]
    document: dict[str, Any] = {
        "k": "interval",
        "seq": 0,
        "t0_ns": round(start * SECOND),
        "t1_ns": round(end * SECOND),
        "stage": stage,
        "users": 50,
        "user_ns": round(50 * (end - start) * SECOND),
        "in_flight": 0,
        "cpu_ns": 0,
        "think": {"count": 0, "sum_ns": 0},
        "thinks": [],
        "series": [
            {"of": "transaction", "id": number, "group": 0, "picked": count, "ok": count, "failed": {}}
            for number, count in sorted(picked.items())
        ],
    }
    if rests:
        sum_ns = sum(map(round, rests))
        document["thinks"] = [{"group": 0, "pause": encode_histogram(rests), "pause_sum_ns": sum_ns}]
    if came:
        by_group = Counter(group for group, _ in came)
        document["arrivals"] = [by_group[group] for group in range(groups)]
        document["gaps"] = encode_histogram(gap for _, gap in came)
        document["gaps_sum_ns"] = sum(round(gap) for _, gap in came)
    return document

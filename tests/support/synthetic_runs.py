"""Writes run folders with known true values, for tests of the readers and of the analysis.

A run is a list of exchanges: transactions of one request each, with exact times. `write_run` writes the recordings of
the engine, the probe and the service for these exchanges, so that every number in the folder can be calculated. Two
functions generate exchanges: `even_schedule` has no queueing, and all operational laws hold exactly; `closed_queue`
simulates one first-come-first-served server with exponential service and think times.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

from towtank.results import lines
from towtank.results.folder import RunFolder, write_json

SECOND = 1_000_000_000
MONOTONIC_NS = 5_000 * SECOND
WALL_NS = 1_780_000_000 * SECOND


@dataclass(frozen=True)
class Stage:
    """Stage of a load. `users` is the number of users at its end."""

    name: str
    phase: str
    seconds: float
    users: int


@dataclass(frozen=True)
class Exchange:
    """Transaction with a single request. Times are in seconds since the start of the run."""

    transaction: int
    intended: float
    actual: float
    end: float
    service: float
    """CPU time of the system under test, used evenly during the last `service` seconds before `end`. [s]"""
    think: float
    """Pause after the transaction. [s]"""
    user: int
    failure: str | None = None


@dataclass(frozen=True)
class Script:
    """All inputs of `write_run`."""

    name: str
    transactions: Sequence[str]
    stages: Sequence[Stage]
    exchanges: Sequence[Exchange]
    factors: dict[str, str]
    users: int
    index: int = 1
    repetition: int = 1
    seed: int = 1
    user_starts: Sequence[float] = ()
    """Start time of each user. [s]"""
    user_ends: Sequence[float] = ()
    """End time of each user. [s]"""
    database_share: Sequence[float] = ()
    """Fraction of each transaction's CPU time that the database uses, by transaction, in [0, 1]."""
    workers: int = 1
    generator_cpu_s: float = 50e-6
    """CPU time of the load generator per request. [s]"""
    system_share: float = 0.2
    """Fraction of the CPU time that is system time, in [0, 1]."""
    tiers: dict[str, Any] = field(
        default_factory=lambda: {"content": {"kind": "content_server", "host": "here", "cpus": [0]}}
    )
    status: str = "complete"
    plan: dict[str, Any] | None = None
    """Load plan; if it is None, no plan file is written."""
    work: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    """Start and end of the periods in which a CPU is busy, by tier. Each array has the shape (n_periods, 2). [s]

    If it is not empty, the field `service` of the exchanges is not used.
    """


def stage_table(stages: Sequence[Stage]) -> list[dict[str, Any]]:
    """Return the stages in the form of engine.json and of the header of the engine's recordings."""
    table, start = [], 0.0
    for stage in stages:
        table.append(
            {
                "name": stage.name,
                "phase": stage.phase,
                "level": 0,
                "start_s": start,
                "end_s": start + stage.seconds,
                "users": stage.users,
            }
        )
        start += stage.seconds
    return table


def closed_queue(
    *,
    users: int,
    think_s: float,
    demands_s: Sequence[float],
    weights: Sequence[float],
    stages: Sequence[Stage],
    seed: int,
) -> tuple[list[Exchange], list[float], list[float]]:
    """Simulate one first-come-first-served server under a closed load.

    Returns
    -------
    exchanges, user starts, user ends
        Exchanges are in order of arrival at the server. Users start at equal intervals during the first stage. When
        the last stage has started, each user leaves after its current transaction.
    """
    table = stage_table(stages)
    ramp_end, leave = table[0]["end_s"], table[-1]["start_s"]
    stream = random.Random(seed)
    starts = [ramp_end * user / users for user in range(users)]
    ends = [leave] * users
    queue = [(start, user) for user, start in enumerate(starts)]
    heapq.heapify(queue)
    free, exchanges = 0.0, []
    while queue:
        arrival, user = heapq.heappop(queue)
        if arrival >= leave:
            ends[user] = max(leave, ends[user])
            continue
        transaction = stream.choices(range(len(weights)), weights)[0]
        service = stream.expovariate(1 / demands_s[transaction])
        lag = stream.expovariate(1 / 40e-6)
        end = max(arrival + lag, free) + service
        free = end
        think = stream.expovariate(1 / think_s)
        exchanges.append(Exchange(transaction, arrival, arrival + lag, end, service, think, user))
        ends[user] = max(leave, end)
        heapq.heappush(queue, (end + think, user))
    return exchanges, starts, ends


def even_schedule(
    *, users: int, response_s: float, think_s: float, seconds: float, service_s: float, transactions: int = 1
) -> tuple[list[Exchange], list[float], list[float]]:
    """Return exchanges of users that start at equal intervals. Each user repeats a cycle of `response_s + think_s`.

    All operational laws hold exactly over whole cycles.
    """
    cycle = response_s + think_s
    exchanges = []
    for user in range(users):
        for number in itertools.count():
            start = cycle * user / users + number * cycle
            if start + cycle > seconds + 1e-9:
                break
            end = start + response_s
            exchanges.append(Exchange((user + number) % transactions, start, start, end, service_s, think_s, user))
    return exchanges, [0.0] * users, [seconds] * users


def encode_histogram(values_ns: Iterable[float]) -> str | None:
    """Encode values as a histogram in the engine's format; return None if there are no values."""
    histogram = HdrHistogram(1_000, 3_600_000_000_000, 3)
    for value in values_ns:
        histogram.record_value(max(1, round(value)))
    return histogram.encode().decode() if histogram.total_count else None


def edges_of(stages: Sequence[Stage]) -> list[tuple[float, float, int]]:
    """Return the intervals of a run as tuples: start [s], end [s], index of the stage. Intervals end at whole seconds
    and at the end of each stage.
    """
    intervals = []
    for number, row in enumerate(stage_table(stages)):
        at = row["start_s"]
        while at < row["end_s"] - 1e-9:
            after = min(float(int(at + 1e-9) + 1), row["end_s"])
            intervals.append((at, after, number))
            at = after
    return intervals


def write_run(path: Path, script: Script) -> RunFolder:
    run = RunFolder.create(path, _run_manifest(script))
    for worker in range(script.workers):
        _write_segment(run, script, worker)
    write_json(run.engine / "engine.json", _engine_document(script))
    if script.plan is not None:
        write_json(run.plan, script.plan)
    _write_probe(run, script)
    _write_service(run, script)
    return run


def _run_manifest(script: Script) -> dict[str, Any]:
    end_ns = round(sum(stage.seconds for stage in script.stages) * SECOND)
    return {
        "run": script.name,
        "index": script.index,
        "repetition": script.repetition,
        "seed": script.seed,
        "status": script.status,
        "factors": script.factors,
        "users": script.users,
        "tiers": script.tiers,
        "settings": {"content": {"workers": 8, "drop_index": script.factors.get("search_index") == "absent"}},
        "pinning": {"system": [0], "generator": [1]},
        "versions": {"towtank": "0.1.0", "synthetic": "1"},
        "started_wall_ns": WALL_NS,
        "ended_wall_ns": WALL_NS + end_ns,
    }


def _stages_end(script: Script) -> float:
    return sum(stage.seconds for stage in script.stages)


def _counts(script: Script) -> dict[str, Any]:
    ended = [exchange for exchange in script.exchanges if exchange.end <= _stages_end(script)]
    failed: dict[str, int] = defaultdict(int)
    for exchange in ended:
        if exchange.failure:
            failed[exchange.failure] += 1
    ok = len(ended) - sum(failed.values())
    started = len(script.exchanges)
    return {
        "offered": started,
        "started": started,
        "ok": ok,
        "failed": dict(failed),
        "not_started": {},
        "in_flight": started - len(ended),
    }


def _engine_document(script: Script) -> dict[str, Any]:
    totals = _counts(script)
    cpu = script.generator_cpu_s * totals["started"]
    lags = sorted(exchange.actual - exchange.intended for exchange in script.exchanges)
    return {
        "schema": "towtank/engine/1",
        "version": "0.1.0",
        "run": script.name,
        "reason": "finished",
        "message": None,
        "threads": script.workers,
        "cpus": [1],
        "stages": stage_table(script.stages),
        "totals": totals,
        "identity": {"offered_holds": True, "started_holds": True},
        "generator": {
            "cpu_s": cpu,
            "cpu_user_s": 0.6 * cpu,
            "cpu_system_s": 0.4 * cpu,
            "peak_rss_bytes": 12_000_000,
            "lag_p99_ms": 1e3 * lags[int(0.99 * (len(lags) - 1))] if lags else 0.0,
            "wall_s": _stages_end(script),
            "cpu_us_per_request": 1e6 * script.generator_cpu_s,
        },
    }


def _header(script: Script, worker: int) -> dict[str, Any]:
    return {
        "k": "header",
        "schema": "towtank/segment/1",
        "run": script.name,
        "worker": worker,
        "workers": script.workers,
        "part": 0,
        "monotonic_ns": MONOTONIC_NS,
        "wall_ns": WALL_NS,
        "stages": stage_table(script.stages),
        "transactions": list(script.transactions),
        "pages": [{"name": "page", "transaction": name} for name in script.transactions],
        "steps": [{"name": "request", "transaction": name} for name in script.transactions],
        "groups": ["everybody"],
    }


def _write_segment(run: RunFolder, script: Script, worker: int) -> None:
    mine = [exchange for exchange in script.exchanges if exchange.user % script.workers == worker]
    users = [number for number in range(len(script.user_starts)) if number % script.workers == worker]
    with (run.engine / f"worker-{worker:02d}.0000.ndjson").open("wb") as stream:
        stream.write(lines.encode(_header(script, worker)))
        for seq, (t0, t1, stage) in enumerate(edges_of(script.stages)):
            stream.write(lines.encode(_interval(script, mine, users, (seq, t0, t1, stage))))
        end = round(_stages_end(script) * SECOND)
        totals = _counts(Script(**{**script.__dict__, "exchanges": mine}))
        stream.write(lines.encode({"k": "end", "t_ns": end, "reason": "finished", "message": None, "totals": totals}))


def _interval(
    script: Script, mine: Sequence[Exchange], users: Sequence[int], place: tuple[int, float, float, int]
) -> dict[str, Any]:
    seq, t0, t1, stage = place
    pauses = [exchange.think for exchange in mine if t0 < exchange.end + exchange.think <= t1]
    inside = [max(0.0, min(t1, script.user_ends[user]) - max(t0, script.user_starts[user])) for user in users]
    started = [exchange for exchange in mine if t0 <= exchange.actual < t1]
    series = []
    for of in ("step", "page", "transaction"):
        for number in range(len(script.transactions)):
            found = _series(of, number, mine, t0, t1)
            if found:
                series.append(found)
    document: dict[str, Any] = {
        "k": "interval",
        "seq": seq,
        "t0_ns": round(t0 * SECOND),
        "t1_ns": round(t1 * SECOND),
        "stage": stage,
        "users": sum(script.user_starts[user] < t1 <= script.user_ends[user] for user in users),
        "user_ns": round(sum(inside) * SECOND),
        "in_flight": sum(exchange.actual < t1 < exchange.end for exchange in mine),
        "connections": len(users),
        "cpu_ns": round(script.generator_cpu_s * len(started) * SECOND),
        "think": {"count": len(pauses), "sum_ns": round(sum(pauses) * SECOND)},
        "thinks": _begun_pauses(mine, t0, t1),
        "series": series,
    }
    lag = encode_histogram((exchange.actual - exchange.intended) * SECOND for exchange in started)
    return {**document, "lag": lag} if lag else document


def _begun_pauses(mine: Sequence[Exchange], t0: float, t1: float) -> list[dict[str, Any]]:
    begun = [exchange.think * SECOND for exchange in mine if t0 <= exchange.end < t1]
    if not begun:
        return []
    return [{"group": 0, "pause": encode_histogram(begun), "pause_sum_ns": sum(map(round, begun))}]


def _series(of: str, number: int, mine: Sequence[Exchange], t0: float, t1: float) -> dict[str, Any] | None:
    own = [exchange for exchange in mine if exchange.transaction == number]
    started = sum(t0 <= exchange.actual < t1 for exchange in own)
    ended = [exchange for exchange in own if t0 < exchange.end <= t1]
    picked = sum(t0 <= exchange.intended < t1 for exchange in own)
    if not ended and not (started and of == "step") and not (picked and of == "transaction"):
        return None
    failed: dict[str, int] = defaultdict(int)
    for exchange in ended:
        if exchange.failure:
            failed[exchange.failure] += 1
    times = [exchange for exchange in ended if exchange.failure not in ("connect", "closed", "protocol")]
    document: dict[str, Any] = {"of": of, "id": number}
    if of == "transaction":
        document |= {"group": 0, "picked": picked}
    if of == "step":
        document |= {"offered": started, "started": started, "not_started": {}}
        document |= {"bytes_out": 300 * started, "bytes_in": 4_000 * len(ended)}
    document |= {"ok": len(ended) - sum(failed.values()), "failed": dict(failed)}
    response = [(exchange.end - exchange.intended) * SECOND for exchange in times]
    document |= {"response": encode_histogram(response), "response_sum_ns": sum(map(round, response))}
    if of == "step":
        exchange_ns = [(exchange.end - exchange.actual) * SECOND for exchange in times]
        document |= {"exchange": encode_histogram(exchange_ns), "exchange_sum_ns": sum(map(round, exchange_ns))}
        document["first_byte"] = encode_histogram(0.9 * value for value in exchange_ns)
    return {key: value for key, value in document.items() if value is not None}


def _spent(script: Script, at: float, database: bool = False) -> float:
    """Return the CPU time that the system under test, or the database, has used until time `at`. [s]"""
    if script.work:
        return sum(_busy_until(stretches, at) for stretches in script.work.values())
    total = 0.0
    for exchange in script.exchanges:
        share = (script.database_share or [0.0] * len(script.transactions))[exchange.transaction] if database else 1.0
        if exchange.service:
            total += share * min(exchange.service, max(0.0, at - (exchange.end - exchange.service)))
    return total


def _busy_until(stretches: npt.NDArray[np.float64], at: float) -> float:
    return float(np.clip(np.minimum(at, stretches[:, 1]) - stretches[:, 0], 0.0, None).sum())


def _groups(script: Script, at: float, done: int) -> dict[str, Any]:
    """Return the values that the probe records at time `at`, for each tier."""
    tiers = {name: _busy_until(script.work[name], at) for name in script.tiers} if script.work else {}
    return {name: _group(script, spent, done) for name, spent in (tiers or {"content": _spent(script, at)}).items()}


def _group(script: Script, spent: float, done: int) -> dict[str, Any]:
    return {
        "cpu_user_s_total": (1 - script.system_share) * spent,
        "cpu_system_s_total": script.system_share * spent,
        "resident_bytes": 90_000_000 + 1000 * done,
        "page_faults_total": 3 * done,
        "major_page_faults_total": 0,
        "read_bytes_total": 4096 * (done // 10),
        "write_bytes_total": 16384 * (done // 4),
        "threads": 12,
        "processes": 1,
        "open_files": 40,
        "root_start_ticks": 400_000,
        "alive": True,
    }


def _sample_times(script: Script) -> list[float]:
    return [number + 0.037 for number in range(-1, int(_stages_end(script)) + 2)]


def _write_probe(run: RunFolder, script: Script) -> None:
    with (run.observe / "probe.ndjson").open("wb") as stream:
        stream.write(
            lines.encode(
                {
                    "k": "header",
                    "schema": "towtank/probe/1",
                    "host": {
                        "name": "synthetic",
                        "kernel": "6.1.0",
                        "cpus": 2,
                        "cpu_model": "Synthetic CPU",
                        "memory_bytes": 8 << 30,
                        "page_bytes": 4096,
                        "clock_ticks": 100,
                    },
                    "interval_s": 1.0,
                    "groups": {name: {"pid": 4711 + place} for place, name in enumerate(script.tiers)},
                }
            )
        )
        for at in _sample_times(script):
            stream.write(lines.encode(_sample(script, at)))


def _sample(script: Script, at: float) -> dict[str, Any]:
    spent = _spent(script, at)
    done = sum(exchange.end <= at for exchange in script.exchanges)
    generator = script.generator_cpu_s * sum(exchange.actual <= at for exchange in script.exchanges)
    up = at + 100.0
    user, system = (1 - script.system_share) * spent, script.system_share * spent
    return {
        "k": "sample",
        "t_ns": MONOTONIC_NS + round(at * SECOND),
        "wall_ns": WALL_NS + round(at * SECOND),
        "host": {
            "cpu_user_s_total": user + 0.6 * generator,
            "cpu_system_s_total": system + 0.4 * generator,
            "cpu_idle_s_total": 2 * up - spent - generator,
            "cpu_iowait_s_total": 0.0,
            "cpu_irq_s_total": 0.0,
            "cpu_steal_s_total": 0.0,
            "context_switches_total": 20 * done + round(50 * up),
            "memory_total_bytes": 8 << 30,
            "memory_available_bytes": 6 << 30,
            "pressure": {"cpu": {"some_s_total": 0.3 * spent}, "io": {"some_s_total": 0.01 * spent}},
        },
        "cpus": [
            {"busy_s_total": spent, "idle_s_total": up - spent, "steal_s_total": 0.0},
            {"busy_s_total": generator, "idle_s_total": up - generator, "steal_s_total": 0.0},
        ],
        "disks": {
            "vda": {
                "read_bytes_total": 4096 * (done // 10),
                "write_bytes_total": 16384 * (done // 4),
                "read_operations_total": done // 10,
                "write_operations_total": done // 4,
                "busy_s_total": 0.0005 * done,
                "queue_s_total": 0.0006 * done,
            }
        },
        "networks": {
            "lo": {
                "receive_bytes_total": 4300 * done,
                "transmit_bytes_total": 4300 * done,
                "receive_packets_total": 8 * done,
                "transmit_packets_total": 8 * done,
                "errors_total": 0,
                "drops_total": 0,
            }
        },
        "groups": _groups(script, at, done),
        "probe": {"cpu_s_total": 0.0008 * up, "resident_bytes": 3_000_000, "late_s": 0.0002},
    }


def _write_service(run: RunFolder, script: Script) -> None:
    with (run.observe / "content.ndjson").open("wb") as stream:
        stream.write(
            lines.encode(
                {
                    "k": "header",
                    "schema": "towtank/service-metrics/1",
                    "service": "content",
                    "kind": "content_server",
                    "source": "prometheus",
                }
            )
        )
        for at in _sample_times(script):
            done = sum(exchange.end <= at for exchange in script.exchanges)
            waiting = sum(exchange.actual <= at < exchange.end for exchange in script.exchanges)
            values = {
                'content_server_requests_total{operation="query",status="200"}': float(done),
                "content_server_database_cpu_seconds_total": _spent(script, at, database=True),
                'content_server_cache_hits_total{cache="content"}': float(done * 3 // 5),
                "content_server_queue_length": float(max(0, waiting - 1)),
            }
            t_ns = round((at + 0.004) * SECOND)
            document = {"k": "metrics", "t_ns": MONOTONIC_NS + t_ns, "wall_ns": WALL_NS + t_ns}
            cost = {"took_s": 0.002, "cpu_s_total": 0.0015 * (at + 10)}
            stream.write(lines.encode({**document, **cost, "values": values}))

"""Measures the CPU time of the engine to solve a queueing model, without the start of the process."""

from __future__ import annotations

import json
import resource
import subprocess
from typing import Any

import harness

from towtank.engine import binary

# Longest acceptable CPU time of one solution of each model. [s]
_LIMITS = {"mva_3_classes_60_users_10_stations": 0.012, "servers_16_32_64_users_20000": 0.015}


def run(*, quick: bool) -> None:
    """Measure each model in every round, print medians with intervals and limits, and store the single results."""
    models = {
        "empty": _one_class(1, 0.0, [(1, 1.0)]),
        "mva_3_classes_60_users_10_stations": _three_classes(),
        "servers_16_32_64_users_20000": _one_class(20_000, 10.0, [(16, 0.01), (32, 0.021), (64, 0.04)]),
        "servers_128_users_20000": _one_class(20_000, 10.0, [(128, 0.085), (32, 0.021), (64, 0.04)]),
    }
    runs = harness.turns(list(models), 5 if quick else 20, lambda name: _solve(models[name]))
    spent = {(row["round"], row["generator"]): row["cpu_s"] for row in runs}
    rounds = sorted({row["round"] for row in runs})
    for name in list(models)[1:]:
        each = [1e3 * (spent[index, name] - spent[index, "empty"]) for index in rounds]
        limit = f", limit {1e3 * _LIMITS[name]:g} ms" if name in _LIMITS else ""
        print(f"  {name}: {harness.shown(harness.interval(each))} ms CPU{limit}")
    harness.keep("solve", {}, runs=runs, limits_s=_LIMITS)


def _one_class(users: int, think_s: float, stations: list[tuple[int, float]]) -> dict[str, Any]:
    return {
        "classes": [{"name": "jobs", "users": users, "think_time_s": think_s}],
        "stations": [
            {"name": f"s{k}", "servers": servers, "services": [{"class": "jobs", "service_time_s": demand}]}
            for k, (servers, demand) in enumerate(stations)
        ],
    }


def _three_classes() -> dict[str, Any]:
    """Return a model with 60 users in each of three classes, and ten stations."""
    return {
        "classes": [{"name": f"c{r}", "users": 60, "think_time_s": 1.0 + r} for r in range(3)],
        "stations": [
            {
                "name": f"s{k}",
                "discipline": "ps",
                "services": [{"class": f"c{r}", "service_time_s": 0.01 * (1 + (7 * k + 3 * r) % 5)} for r in range(3)],
            }
            for k in range(10)
        ],
    }


def _solve(model: dict[str, Any]) -> dict[str, float]:
    before = _cpu_s()
    done = subprocess.run([str(binary()), "solve"], input=json.dumps(model), capture_output=True, text=True, check=True)
    spent = _cpu_s() - before
    if not json.loads(done.stdout)["answer"]["exact"]:
        raise SystemExit("error: the solution must be exact")
    return {"cpu_s": spent}


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

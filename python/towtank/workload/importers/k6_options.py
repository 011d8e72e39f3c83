"""Options of scripts: users and stages for the load of a study, thresholds as objectives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from towtank.workload.importers.draft import Draft
from towtank.workload.importers.k6_requests import duration

_THRESHOLD = re.compile(r"(p\((\d+(?:\.\d+)?)\)|avg|med|max|min|rate)\s*(<=?|>=?)\s*(\d+(?:\.\d+)?)")
_METRICS = {"avg": "mean", "med": "p50", "max": "max", "min": "min"}
_PERCENTILES = frozenset({"50", "90", "95", "99", "99.9"})
# Options that say how k6 runs or reports, and nothing about what users do.
_OWN = frozenset(
    {"summaryTrendStats", "noConnectionReuse", "userAgent", "tags", "setupTimeout", "teardownTimeout", "ext"}
)
Place = tuple[int, int]


@dataclass(frozen=True)
class Scenario:
    """Users who do one function."""

    name: str
    function: str
    users: float


def read_options(options: dict[str, Any], place: Place, draft: Draft) -> list[Scenario]:
    """Scenarios of a script; its load and objectives become findings.

    Parameters
    ----------
    options : dict
        The exported `options`.
    place : (int, int)
        Where they stand, for notes.
    draft : Draft
        Gets findings and notes.
    """
    scenarios: list[Scenario] = []
    loads: list[dict[str, Any]] = []
    declared = options.get("scenarios")
    for name, scenario in declared.items() if isinstance(declared, dict) else [("default", options)]:
        if not isinstance(scenario, dict):
            draft.notes.add(place, f"scenario {name}", "is not known before the run: left out")
            continue
        load = _load(scenario)
        loads.append({"scenario": name, **load})
        function = scenario.get("exec", "default")
        scenarios.append(Scenario(name, function if isinstance(function, str) else "default", _size(load)))
    if any(load.keys() != {"scenario", "executor"} for load in loads):
        draft.findings["load"] = loads
        why = "users, stages and rates belong into the load of the study; the finding `load` of --json has them"
        draft.notes.add(place, "options", why)
    _thresholds(options.get("thresholds"), place, draft)
    known = {"scenarios", "thresholds", "vus", "duration", "iterations", "stages"} | _OWN
    for key in options:
        if key not in known:
            draft.notes.add(place, f"option {key}", "has no counterpart in a workload: left out")
    return scenarios


def _load(scenario: dict[str, Any]) -> dict[str, Any]:
    """What a scenario says about its load; times in seconds."""
    load: dict[str, Any] = {"executor": scenario.get("executor", "")}
    for key in ("vus", "startVUs", "iterations", "rate", "startRate", "preAllocatedVUs", "maxVUs"):
        if isinstance(scenario.get(key), int | float):
            load[key] = scenario[key]
    for key in ("duration", "timeUnit", "startTime", "maxDuration"):
        seconds = duration(scenario.get(key))
        if seconds is not None:
            load[f"{key}_s"] = seconds
    stages = scenario.get("stages")
    if isinstance(stages, list):
        load["stages"] = [
            {"duration_s": duration(stage.get("duration")), "target": stage.get("target")}
            for stage in stages
            if isinstance(stage, dict)
        ]
    return load


def _size(load: dict[str, Any]) -> float:
    """How large a scenario is at its most, for its share of the users."""
    targets = [stage["target"] for stage in load.get("stages", []) if isinstance(stage["target"], int | float)]
    rate = load.get("rate", 0) / load.get("timeUnit_s", 1.0)
    return float(max([*targets, load.get("vus", 0), load.get("preAllocatedVUs", 0), rate, 1]))


def _thresholds(thresholds: Any, place: Place, draft: Draft) -> None:
    """Objectives of a study as far as they can be said so."""
    objectives: list[str] = []
    for metric, limits in thresholds.items() if isinstance(thresholds, dict) else ():
        for limit in limits if isinstance(limits, list) else [limits]:
            text = limit.get("threshold") if isinstance(limit, dict) else limit
            objective = _objective(metric, text) if isinstance(text, str) else None
            if objective is None:
                draft.notes.add(place, f"threshold of {metric}", "cannot be said as an objective: left out")
            else:
                objectives.append(objective)
    if objectives:
        draft.findings["objectives"] = objectives
        draft.findings.setdefault("summary", []).append(f"objectives for the study: {'; '.join(objectives)}")


def _objective(metric: str, text: str) -> str | None:
    match = _THRESHOLD.fullmatch(text.strip())
    if match is None:
        return None
    name, percentile, sign, limit = match.groups()
    if metric == "http_req_failed" and name == "rate":
        return f"errors {sign} {float(limit) * 100:g} %"
    if metric != "http_req_duration" or name == "rate" or (percentile and percentile not in _PERCENTILES):
        return None
    return f"{f'p{percentile}' if percentile else _METRICS[name]} {sign} {limit} ms"

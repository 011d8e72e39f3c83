"""Reads the options of k6 scripts: users and stages become the load of a study, thresholds its objectives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from towtank.workload.importers.accounting import Ledger
from towtank.workload.importers.draft import ImportDraft, literal
from towtank.workload.importers.k6.requests import duration, json_text
from towtank.workload.importers.k6.table import OPTIONS

_THRESHOLD = re.compile(r"(p\((\d+(?:\.\d+)?)\)|avg|med|max|min|rate)\s*(<=?|>=?)\s*(\d+(?:\.\d+)?)")
_METRICS = {"avg": "mean", "med": "p50", "max": "max", "min": "min"}
_PERCENTILES = frozenset({"50", "90", "95", "99", "99.9"})
_TAG = re.compile(r"([\w]+)\{\s*name:\s*['\"]?([^'\"}]+?)['\"]?\s*\}")
_NOT_COUNTED = "iterations are not counted: users continue until the load ends"
Place = tuple[int, int]


@dataclass(frozen=True)
class Scenario:
    """Virtual users who execute the same function of the script."""

    name: str
    function: str
    users: float
    rate: float = 0.0
    place: Place = (1, 0)


def read_options(
    options: dict[str, Any], place: Place, draft: ImportDraft, places: dict[tuple[str, ...], Place]
) -> list[Scenario]:
    """Return the scenarios of a script. Add load and objectives to the findings of the draft.

    Parameters
    ----------
    options : dict
        Value of the exported `options`.
    place : (int, int)
        Position of the options, for notes.
    draft : ImportDraft
        Draft that receives findings and notes.
    places : dict of tuple to (int, int)
        Position of each key of the options, by path.
    """
    ledger = Ledger(draft.notes, OPTIONS, strict=False)
    scenarios: list[Scenario] = []
    loads: list[dict[str, Any]] = []
    declared = options.get("scenarios")
    for name, scenario in declared.items() if isinstance(declared, dict) else [("default", options)]:
        if not isinstance(scenario, dict):
            draft.notes.add(place, f"scenario {name}", "left out: it is not known before the run")
            continue
        load = _load(scenario)
        loads.append({"scenario": name, **load})
        function = scenario.get("exec", "default")
        path = ("scenarios", name) if declared is scenario or isinstance(declared, dict) else ()
        at = places.get(path, place)
        wanted = function if isinstance(function, str) else "default"
        scenarios.append(Scenario(name, wanted, _size(load), _rate(load), at))
        if isinstance(declared, dict):
            _scenario(name, scenario, at, ledger, {key[2:]: each for key, each in places.items() if key[:2] == path})
    if any(load.keys() != {"scenario", "executor"} for load in loads):
        draft.findings["load"] = loads
        why = "set users, stages and rates in the load of the study; the finding `load` of --json lists them"
        draft.notes.add(place, "options", why)
    _thresholds(options.get("thresholds"), place, draft, ledger)
    _stages(options, place, ledger)
    if "iterations" in options:
        draft.notes.add(places.get(("iterations",), place), "iterations", _NOT_COUNTED)
    for key, value in options.items():
        ledger.settle("options", key, json_text(value), places.get((key,), place))
    _defaults(options, place, draft)
    return scenarios


def _scenario(
    name: str, scenario: dict[str, Any], at: Place, ledger: Ledger, places: dict[tuple[str, ...], Place]
) -> None:
    """Check that the keys of a scenario are converted or noted.

    A user group runs during the whole load, so keys for another start or a number of iterations become notes.
    """
    kind = str(scenario.get("executor", "scenario"))
    for key, value in scenario.items():
        ledger.settle(kind if kind in OPTIONS else "scenario", key, json_text(value), places.get((key,), at))
    _stages(scenario, at, ledger)
    if duration(scenario.get("startTime")):
        why = f"starts after {scenario['startTime']}: in a workload all groups start together"
        ledger.notes.add(places.get(("startTime",), at), f"scenario {name}: startTime", why)
    if "iterations" in scenario or kind.endswith("iterations"):
        ledger.notes.add(places.get(("iterations",), at), f"scenario {name}: iterations", _NOT_COUNTED)


def _defaults(options: dict[str, Any], place: Place, draft: ImportDraft) -> None:
    """Write k6's defaults into the draft. Defaults without a counterpart in a workload become notes."""
    if options.get("maxRedirects") != 0:
        why = "k6 follows up to 10; the workload follows none: add the next request as a step"
        draft.notes.add(place, "redirects", why)
    # Default time limit for a response in k6 (Params.timeout).
    draft.defaults["timeout"] = "60 s"
    if options.get("noConnectionReuse") is True:
        draft.defaults["connections"] = "new_each_time"
    if isinstance(options.get("userAgent"), str):
        draft.defaults["headers"] = {"User-Agent": literal(options["userAgent"])}


def _rate(load: dict[str, Any]) -> float:
    """Return the highest rate of iterations in a scenario; 0 if the scenario sets only a number of users. [1/s]"""
    if not str(load["executor"]).endswith("arrival-rate"):
        return 0.0
    targets = [stage["target"] for stage in load.get("stages", []) if isinstance(stage["target"], int | float)]
    most = max([*targets, load.get("rate", 0), load.get("startRate", 0)])
    return float(most) / float(load.get("timeUnit_s", 1.0) or 1.0)


def _load(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the load of a scenario as a mapping, with times in seconds."""
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
    """Return the largest number of users in a scenario, from which the share of its user group is computed. [1]"""
    if str(load["executor"]).endswith("arrival-rate"):
        return float(max(load.get("maxVUs", 0), load.get("preAllocatedVUs", 0), 1))
    targets = [stage["target"] for stage in load.get("stages", []) if isinstance(stage["target"], int | float)]
    return float(max([*targets, load.get("vus", 0), load.get("startVUs", 0), 1]))


def _stages(options: dict[str, Any], place: Place, ledger: Ledger) -> None:
    """Check that the keys of the load stages in k6 options are converted or noted."""
    stages = options.get("stages")
    for stage in stages if isinstance(stages, list) else ():
        for key, value in stage.items() if isinstance(stage, dict) else ():
            ledger.settle("stage", key, json_text(value), place)


def _thresholds(thresholds: Any, place: Place, draft: ImportDraft, ledger: Ledger) -> None:
    """Convert thresholds to objectives of a study; thresholds that cannot be converted become notes."""
    objectives: list[str] = []
    for metric, limits in thresholds.items() if isinstance(thresholds, dict) else ():
        for limit in limits if isinstance(limits, list) else [limits]:
            for key, value in limit.items() if isinstance(limit, dict) else ():
                ledger.settle("threshold", key, json_text(value), place)
            text = limit.get("threshold") if isinstance(limit, dict) else limit
            objective = _objective(metric, text) if isinstance(text, str) else None
            if objective is None:
                draft.notes.add(place, f"threshold of {metric}", _why_no_objective(metric))
            else:
                objectives.append(objective)
    if objectives:
        draft.findings["objectives"] = objectives
        draft.findings.setdefault("summary", []).append(f"objectives for the study: {'; '.join(objectives)}")


def _why_no_objective(metric: str) -> str:
    tagged = _TAG.fullmatch(metric)
    if tagged is not None:
        step = tagged.group(2)
        return f"left out: objectives limit transactions, not the request {step!r}; make it a separate transaction"
    return "left out: objectives cannot represent it"


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

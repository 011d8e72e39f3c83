"""Reads the options of k6 scripts: users and stages become the load of a study, thresholds its objectives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from towtank.workload.importers.accounting import Ledger
from towtank.workload.importers.draft import ImportDraft, literal
from towtank.workload.importers.k6.requests import duration, json_text
from towtank.workload.importers.k6.table import OPTIONS

_THRESHOLD = re.compile(r"(p\((\d+(?:\.\d+)?)\)|avg|med|max|min|rate)\s*(<=?|>=?)\s*(\d+(?:\.\d+)?)")
_METRICS = {"avg": "mean", "med": "p50", "max": "max", "min": "min"}
_PERCENTILES = frozenset({"50", "90", "95", "99", "99.9"})
_TAG = re.compile(r"([\w]+)\{\s*name:\s*['\"]?([^'\"}]+?)['\"]?\s*\}")
_NOT_COUNTED = "iterations are not counted: users continue until the load ends"
_NUMBERS = ("vus", "startVUs", "iterations", "rate", "startRate", "preAllocatedVUs", "maxVUs")
_TIMES = ("duration", "timeUnit", "startTime", "maxDuration")
Place = tuple[int, int]


@dataclass(frozen=True)
class Scenario:
    """Virtual users who execute the same function of the script."""

    name: str
    function: str
    users: float
    rate: float = 0.0
    place: Place = (1, 0)


@dataclass(frozen=True)
class _Load:
    """Load of a scenario: numbers and times [s] by the key of k6, and stages as pairs of length [s] and target."""

    executor: object
    numbers: dict[str, float]
    times: dict[str, float]
    stages: list[tuple[float | None, object]] | None

    @classmethod
    def of(cls, scenario: Mapping[str, object]) -> _Load:
        numbers = {key: value for key in _NUMBERS if isinstance(value := scenario.get(key), int | float)}
        times = {key: value for key in _TIMES if (value := duration(scenario.get(key))) is not None}
        stages = scenario.get("stages")
        known = [each for each in stages if isinstance(each, dict)] if isinstance(stages, list) else None
        pairs = None if known is None else [(duration(each.get("duration")), each.get("target")) for each in known]
        return cls(scenario.get("executor", ""), numbers, times, pairs)

    def document(self) -> dict[str, object]:
        times = {f"{key}_s": value for key, value in self.times.items()}
        document = {"executor": self.executor, **self.numbers, **times}
        if self.stages is not None:
            document["stages"] = [{"duration_s": length, "target": target} for length, target in self.stages]
        return document

    @property
    def _targets(self) -> list[float]:
        return [target for _, target in self.stages or () if isinstance(target, int | float)]

    @property
    def _is_open(self) -> bool:
        return str(self.executor).endswith("arrival-rate")

    @property
    def rate(self) -> float:
        """Highest rate of iterations; 0 if the scenario sets only a number of users. [1/s]"""
        if not self._is_open:
            return 0.0
        most = max([*self._targets, self.numbers.get("rate", 0), self.numbers.get("startRate", 0)])
        return float(most) / (self.times.get("timeUnit", 1.0) or 1.0)

    @property
    def users(self) -> float:
        """Largest number of users, from which the share of the user group is computed. [1]"""
        keys, targets = (("maxVUs", "preAllocatedVUs"), []) if self._is_open else (("vus", "startVUs"), self._targets)
        return float(max([*targets, *(self.numbers.get(key, 0) for key in keys), 1]))


def read_options(
    options: Mapping[str, object], place: Place, draft: ImportDraft, places: Mapping[tuple[str, ...], Place]
) -> list[Scenario]:
    """Return the scenarios of a script with the exported `options`, whose keys have the given positions. Add load and
    objectives to the findings of the draft.
    """
    ledger = Ledger(draft.notes, OPTIONS, strict=False)
    scenarios: list[Scenario] = []
    loads: list[dict[str, object]] = []
    declared = options.get("scenarios")
    for name, scenario in declared.items() if isinstance(declared, dict) else [("default", options)]:
        if not isinstance(scenario, dict):
            draft.notes.add(place, f"scenario {name}", "left out: it is not known before the run")
            continue
        load = _Load.of(scenario)
        loads.append({"scenario": name, **load.document()})
        function = scenario.get("exec", "default")
        path = ("scenarios", name) if declared is scenario or isinstance(declared, dict) else ()
        at = places.get(path, place)
        wanted = function if isinstance(function, str) else "default"
        scenarios.append(Scenario(name, wanted, load.users, load.rate, at))
        if isinstance(declared, dict):
            _scenario(name, scenario, at, ledger, {key[2:]: each for key, each in places.items() if key[:2] == path})
    if any(each.keys() != {"scenario", "executor"} for each in loads):
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
    name: str, scenario: Mapping[str, object], at: Place, ledger: Ledger, places: Mapping[tuple[str, ...], Place]
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


def _defaults(options: Mapping[str, object], place: Place, draft: ImportDraft) -> None:
    """Write k6's defaults into the draft. Defaults without a counterpart in a workload become notes."""
    if options.get("maxRedirects") != 0:
        why = "k6 follows up to 10; the workload follows none: add the next request as a step"
        draft.notes.add(place, "redirects", why)
    # Default time limit for a response in k6 (Params.timeout).
    draft.defaults["timeout"] = "60 s"
    if options.get("noConnectionReuse") is True:
        draft.defaults["connections"] = "new_each_time"
    if isinstance(agent := options.get("userAgent"), str):
        draft.defaults["headers"] = {"User-Agent": literal(agent)}


def _stages(options: Mapping[str, object], place: Place, ledger: Ledger) -> None:
    """Check that the keys of the load stages in k6 options are converted or noted."""
    stages = options.get("stages")
    for stage in stages if isinstance(stages, list) else ():
        for key, value in stage.items() if isinstance(stage, dict) else ():
            ledger.settle("stage", key, json_text(value), place)


def _thresholds(thresholds: object, place: Place, draft: ImportDraft, ledger: Ledger) -> None:
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

"""Judges the objectives of a study at each load level."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from towtank.analysis.comparison import suspect_runs
from towtank.analysis.doubts import DoubtKind
from towtank.analysis.limits.of_runs import limit_text
from towtank.analysis.merged_percentiles import HISTOGRAM, percentile, share_of
from towtank.analysis.objective_runs import far_misses, is_share, metric_name
from towtank.analysis.objective_scopes import COMPARISONS, Compare, is_scoped
from towtank.analysis.objective_stored import is_about_stored, is_certain, left_open, worst_count
from towtank.analysis.statistics.estimates import CONFIDENCE, NO_ESTIMATE, Estimate, estimate_of

_ESTIMATES = ("mean", "p50", "p90", "p95", "p99", "p99.9")
_EXTREMES = ("min", "max")
Json = dict[str, Any]
_NO_MISS: Json = {"missed_at": None, "holds_certain": None, "missed_certain": None, "far_misses": []}


@dataclass(frozen=True)
class MissingRun:
    """A run that the design of the study contains but that has no results.

    Attributes
    ----------
    run : str
    key : dict
        Levels of all factors but the load.
    load : float
        Level of the load: users [1] or arrival rate [1/s].
    """

    run: str
    key: Json
    load: float


def check(
    objectives: list[Json],
    configurations: list[Json],
    runs: Iterable[Json] = (),
    missing: Sequence[MissingRun] = (),
    confidence: float = CONFIDENCE,
) -> list[Json]:
    """Decide for every objective and every configuration whether it is met, at the load that the objective names or at
    all loads.

    Parameters
    ----------
    objectives : list of dict
        Objectives from the manifest of the study.
    configurations : list of dict
        Configurations with their points.
    runs : iterable of dict
        Summaries of the runs, with phases, windows and verdicts.
    missing : sequence of MissingRun
        Runs of the design that have no results.
    confidence : float
        Confidence of the intervals that decide whether a verdict is certain, in (0, 1).

    Returns
    -------
    list of dict
        One entry per objective and configuration:

        - `met`: True if all levels meet the objective; None if no valid run decides it.
        - `seen` and `at`: the value at the worst valid level, and this level.
        - `holds_up_to`: the highest load up to which all levels meet the objective.
        - `missed_at`: the lowest load that misses it.
        - `far_misses`: the runs that miss it by far although all requests together meet it.
        - `not_judged`: the loads at which no run decides it, each with the reason.
        - `suspect_runs`: the suspect runs at the judged levels.
        - `certain`: whether the intervals confirm `met`; None if a deciding level has no interval.
        - `holds_certain`: whether the intervals confirm the levels up to `holds_up_to`.
        - `missed_certain`: whether the intervals confirm the miss at `missed_at`.
        - `windows`: the result for the windows, if the objective applies to every window.

    Notes
    -----
    An invalid run decides no objective, unless its doubts do not affect the objective; a loss of stored data always
    counts. An objective is missed if any level with a deciding run misses it. It is met if no level misses it and
    every load that it names has a deciding run.

    A level misses the objective if the value over all requests of its runs misses it. It also misses the objective if a
    single run misses the limit by a factor of two or more (`far_misses`), because that run did not serve its users as
    required.
    """
    by_name = {str(run["run"]): run for run in runs}
    return [
        _check(objective, configuration, by_name, missing, confidence)
        for objective in objectives
        for configuration in configurations
    ]


def _check(
    objective: Json, configuration: Json, runs: dict[str, Json], missing: Sequence[MissingRun], confidence: float
) -> Json:
    compare: Compare = COMPARISONS.get(str(objective.get("comparison", "<")), operator.lt)
    upward = compare in (operator.gt, operator.ge)
    limit = objective.get("value")
    asked = _asked(objective, configuration)
    points = [point for point in asked if decides(objective, point, runs)]
    left = [entry for point in points if (entry := _left_open(objective, point, runs, compare)) is not None]
    points = [point for point in points if float(point["load"]) not in {entry["load"] for entry in left}]
    seen = [(point, value) for point in points if (value := _seen(objective, point, runs, upward)) is not None]
    judged = [point for point, _ in seen]
    not_judged = _not_judged(objective, configuration, asked, runs, missing) + left
    not_judged += [_unmeasured(objective, point) for point in points if point not in judged]
    head = {**_head(objective, configuration), "not_judged": sorted(not_judged, key=_load_of)}
    head["suspect_runs"] = suspect_runs(judged)
    if objective.get("every_s") is not None:
        head["windows"] = _windows(objective, points, runs, upward)
    if not seen or not isinstance(limit, int | float):
        return {**head, "met": None, "certain": None, "seen": None, "at": {}, "holds_up_to": None, **_NO_MISS}
    worst = (min if upward else max)(seen, key=_second)
    levels = [(point, compare(value, limit)) for point, value in seen]
    far = [miss for point, met in levels if met for miss in _far(objective, point, runs, compare, limit)]
    holding = [(_load_of(point), met and _load_of(point) not in map(_load_of, far)) for point, met in levels]
    met: bool | None = all(holds for _, holds in holding)
    at = {key: worst[0][key] for key in ("users", "rate") if key in worst[0]}
    found = configuration.get("found_limit")
    holds = _holds_up_to(holding, head["not_judged"])
    if found is not None and _is_about(objective, found) and found["value"] is not None:
        holds = found["value"]
        head["up_to"] = limit_text(found)
    met = None if met and head["not_judged"] else met
    missed_at = min((load for load, is_met in holding if not is_met), default=None)
    certainty = _Certainty(objective, judged, runs, compare, limit, far, confidence)
    decided = {"met": met, "certain": None if met is None else certainty.of(judged, met=met), "seen": worst[1]}
    sides = {"holds_certain": certainty.up_to(holds), "missed_certain": certainty.at(missed_at)}
    where = {"at": {**at, **configuration["key"]}, "holds_up_to": holds, "missed_at": missed_at}
    return {**head, **decided, **where, **sides, "far_misses": far}


def _head(objective: Json, configuration: Json) -> Json:
    """Return the entries of a verdict that identify the objective and the configuration."""
    return {
        "text": objective.get("text", ""),
        "metric": objective.get("metric", ""),
        "configuration": configuration["key"],
        "label": configuration["label"],
        "limit": objective.get("value"),
        "users": objective.get("users"),
        "rate": objective.get("rate"),
    }


def _load_of(entry: Json) -> float:
    return float(entry["load"])


def _far(objective: Json, point: Json, runs: dict[str, Json], compare: Compare, limit: float) -> list[Json]:
    """Return the runs at a load level that miss an objective by far; empty if the level has a single run."""
    found = [runs[name] for name in _runs_of(point) if name in runs]
    return far_misses(objective, _load_of(point), found, compare, limit) if len(found) > 1 else []


@dataclass(frozen=True)
class _Certainty:
    """Computes whether the intervals at load levels confirm that an objective is met or missed."""

    objective: Json
    judged: list[Json]
    runs: dict[str, Json]
    compare: Compare
    limit: float
    far: list[Json]
    confidence: float

    def up_to(self, load: float | None) -> bool | None:
        """Return True if the intervals confirm that each level up to the given load meets the objective.

        None if no level up to the load was judged.
        """
        points = [point for point in self.judged if load is not None and _load_of(point) <= load]
        return self.of(points, met=True) if points else None

    def at(self, load: float | None) -> bool | None:
        """Return True if the interval at the level of the given load confirms that this level misses the objective.

        None if the level was not judged.
        """
        points = [point for point in self.judged if _load_of(point) == load]
        return self.of(points, met=False) if points else None

    def of(self, points: list[Json], *, met: bool) -> bool | None:
        """Return True if the intervals at the given load levels confirm the verdict on an objective, False if they do
        not, and None if missing intervals leave this open.

        The interval at a single level confirms a miss. Only the intervals at all levels confirm that the objective is
        met.
        """
        if is_about_stored(self.objective):
            found = [run for point in points for run in _summaries(point, self.runs)]
            return is_certain(self.objective, found, self.compare, met=met)
        sides = [self._side(point, met=met) for point in points]
        if met:
            return False if False in sides else None if None in sides else True
        return True if True in sides else None if None in sides else False

    def _side(self, point: Json, *, met: bool) -> bool | None:
        """Return True if the interval at a load level confirms the verdict; None without an interval.

        If runs miss the objective by far, their intervals are used to confirm the miss.
        """
        of_far = [miss["certain"] for miss in self.far if miss["load"] == _load_of(point)]
        if of_far and not met:
            return True if True in of_far else None if None in of_far else False
        found = estimate_at(point, self.objective).at(self.confidence)
        if found.low is None or found.high is None or is_scoped(self.objective):
            return None
        return {self.compare(found.low, self.limit), self.compare(found.high, self.limit)} == {met}


def _left_open(objective: Json, point: Json, runs: dict[str, Json], compare: Compare) -> Json | None:
    if not is_about_stored(objective) or not isinstance(objective.get("value"), int | float):
        return None
    return left_open(objective, float(point["load"]), _summaries(point, runs), compare)


def _holds_up_to(levels: list[tuple[float, bool]], not_judged: list[Json]) -> float | None:
    """Return the highest load up to which every level is judged and meets the objective; None if the lowest level
    does not meet it.
    """
    first_gap = min((gap["load"] for gap in not_judged), default=math.inf)
    holds = None
    for load, met in levels:
        if not met or load > first_gap:
            break
        holds = load
    return holds


def decides(objective: Json, point: Json, runs: dict[str, Json]) -> bool:
    """Return True if at least one run of a load level can decide whether an objective is met.

    A valid run decides every objective. An invalid run decides an objective that its doubts do not affect. Every run
    decides objectives about stored data, because a disturbance does not explain lost data.
    """
    if any(verdict != "invalid" for verdict in point.get("verdicts") or ("unknown",)):
        return True
    found = [runs[name] for name in map(str, point.get("runs", ())) if name in runs]
    if is_about_stored(objective):
        return bool(found)
    return bool(found) and all(_invalid_kinds(run) <= _harmless(objective) for run in found)


def _harmless(objective: Json) -> set[DoubtKind]:
    """Return the kinds of doubts that make a run invalid without affecting the value that an objective limits.

    Too many errors distort response times, but not the share of errors. A changing system distorts the mean over the
    steady state, but not the values of single windows and phases.
    """
    of_errors = {DoubtKind.ERRORS_ABOVE_LIMIT} if str(objective.get("metric", "")).startswith("err") else set()
    return of_errors | ({DoubtKind.NO_STEADY_STATE, DoubtKind.NOT_SETTLED} if is_scoped(objective) else set())


def _invalid_kinds(run: Json) -> set[str]:
    return {str(doubt["kind"]) for doubt in run["verdict"]["reasons"] if doubt["level"] == "invalid"}


def _not_judged(
    objective: Json, configuration: Json, asked: list[Json], runs: dict[str, Json], missing: Sequence[MissingRun]
) -> list[Json]:
    """Return the loads at which no run decides whether an objective is met, each with the runs and the reason."""
    found = [_undecided(point, runs) for point in asked if not decides(objective, point, runs)]
    known = {float(point["load"]) for point in configuration["points"]}
    load = objective.get("users") if objective.get("users") is not None else objective.get("rate")
    absent = [run for run in missing if run.key == configuration["key"] and run.load not in known]
    if load is not None:
        absent = [run for run in absent if math.isclose(run.load, load, rel_tol=1e-6)]
        if not asked and not absent:
            found.append({"load": float(load), "runs": [], "kind": "not_measured", "why": _no_run(objective, known)})
    found += [
        {"load": run.load, "runs": [run.run], "kind": "missing", "why": f"{run.run} is missing"} for run in absent
    ]
    return sorted(found, key=_load_of)


def _no_run(objective: Json, known: set[float]) -> str:
    """Return the reason why no run has the load that an objective names, with the loads that were measured."""
    unit = " users" if objective.get("users") is not None else " /s"
    why = f"no run has this load, the runs have {' and '.join(f'{load:g}' for load in sorted(known)) or 'none'}{unit}"
    share = objective.get("of_limit")
    return why if share is None else f"{100 * share:g} % of the limit: {why}"


def _undecided(point: Json, runs: dict[str, Json]) -> Json:
    """Return the entry of `not_judged` for a load whose runs are all invalid, with a reason for each run."""
    names = [str(name) for name in point.get("runs", ())]
    why = [f"{name} is invalid{_first_reason(runs.get(name))}" for name in names]
    return {"load": float(point["load"]), "runs": names, "kind": "invalid", "why": "; ".join(why) or "no valid run"}


def _unmeasured(objective: Json, point: Json) -> Json:
    """Return the entry of `not_judged` for a load at which the valid runs have no value, for instance because no
    transaction of that name completed.
    """
    transaction = objective.get("transaction")
    why = f"{transaction} was not measured" if transaction else "no measured value decides it"
    names = [str(name) for name in point.get("runs", ())]
    return {"load": float(point["load"]), "runs": names, "kind": "not_measured", "why": why}


def _first_reason(run: Json | None) -> str:
    reasons = run["verdict"]["reasons"] if run is not None else ()
    return next((f" ({doubt['message']})" for doubt in reasons if doubt["level"] == "invalid"), "")


def _is_about(objective: Json, found: Json) -> bool:
    """Return True if `objective` determined the limit that a search found."""
    return (found.get("binding") or {}).get("text") == objective.get("text")


def _asked(objective: Json, configuration: Json) -> list[Json]:
    """Return the load levels to which an objective applies: those with the load that it names, or all if it names
    none.
    """
    users, rate = objective.get("users"), objective.get("rate")
    points = [point for point in configuration["points"] if users is None or point.get("users") == users]
    return [point for point in points if rate is None or math.isclose(point.get("rate") or 0.0, rate, rel_tol=1e-6)]


def _second(pair: tuple[Json, float]) -> float:
    return pair[1]


def _seen(objective: Json, point: Json, runs: dict[str, Json], upward: bool) -> float | None:
    """Return the measured value that an objective limits, at one load level.

    For an objective about a phase, a percentile covers all requests of the runs, and any other metric is the mean over
    the runs. For windows, it is the value of the worst window.
    """
    if is_about_stored(objective):
        return worst_count(objective, _summaries(point, runs), upward=upward)
    if not is_scoped(objective):
        return metric_of_objective(point, objective)
    by_run = list(_judged(objective, point, runs))
    if objective.get("every_s") is None:
        known = [judged for _, judged in by_run if judged.get("value") is not None]
        share = share_of(metric_name(objective))
        together = None if share is None else percentile([judged.get(HISTOGRAM) for judged in known], share)
        if together is not None or not known:
            return together
        return sum(float(judged["value"]) for judged in known) / len(known)
    worst = [judged["windows"]["worst"]["value"] for _, judged in by_run if (judged.get("windows") or {}).get("worst")]
    return (min if upward else max)(worst, default=None)


def _judged(objective: Json, point: Json, runs: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield the name of each run of a load level that is used for the verdict, with the run's result for an objective
    about a phase or about windows.
    """
    for name in _runs_of(point):
        for judged in runs.get(name, {}).get("objectives") or ():
            if judged.get("text") == objective.get("text"):
                yield name, judged


def _runs_of(point: Json) -> list[str]:
    """Return the names of the runs of a load level that are not invalid; all names if every run is invalid."""
    names = [str(name) for name in point.get("runs", ())]
    return [name for name, level in zip(names, point.get("verdicts", ()), strict=False) if level != "invalid"] or names


def _summaries(point: Json, runs: dict[str, Json]) -> list[Json]:
    """Return the summaries of all runs of a load level, including invalid runs."""
    return [runs[name] for name in map(str, point.get("runs", ())) if name in runs]


def _windows(objective: Json, points: list[Json], runs: dict[str, Json], upward: bool) -> Json:
    """Combine the windows of all runs at the given load levels: their number, the number that met the objective, and
    the worst window.
    """
    found = [
        (name, judged["windows"])
        for point in points
        for name, judged in _judged(objective, point, runs)
        if judged.get("windows")
    ]
    count, met = (sum(windows[key] for _, windows in found) for key in ("count", "met"))
    worst = [{"run": name, **windows["worst"]} for name, windows in found if windows["worst"]]
    return {
        "every_s": objective["every_s"],
        "count": count,
        "met": met,
        "share": met / count if count else None,
        "empty": sum(windows["empty"] for _, windows in found),
        "worst": (min if upward else max)(worst, key=_value, default=None),
    }


def _value(window: Json) -> float:
    return float(window["value"])


def metric_of_objective(point: Json, objective: Json) -> float | None:
    """Return the measured value that an objective limits, at one load level; None if not measured."""
    metric, transaction = metric_name(objective), objective.get("transaction")
    if is_share(objective):
        about = point["transactions"].get(transaction, {}) if transaction else point
        share = about.get("errors_share")
        return None if share is None else float(share)
    if metric in _EXTREMES:
        where = point["transactions"].get(transaction, {}) if transaction else point["response_time_s"]
        extreme = where.get(f"{metric}_s" if transaction else metric)
        return None if extreme is None else float(extreme)
    return estimate_at(point, objective).value


def estimate_at(point: Json, objective: Json) -> Estimate:
    """Return the estimate of an objective's metric at one load level. It has no value for minimum, maximum and
    shares.
    """
    metric, transaction = metric_name(objective), objective.get("transaction")
    if metric in ("throughput", "throughput_per"):
        path = ("transactions", transaction, "throughput_per_s") if transaction else ("throughput_per_s",)
        return estimate_of(point, *path)
    if metric not in _ESTIMATES:
        return NO_ESTIMATE
    if transaction:
        return estimate_of(point, "transactions", transaction, f"{metric}_s")
    return estimate_of(point, "response_time_s", metric)

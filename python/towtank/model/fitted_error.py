"""Confidence intervals for the predictions of a fitted model, computed from the bootstrap replicates of the fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from towtank.model.engine_model import EngineModel
from towtank.model.solving import solve_models

Json = dict[str, Any]
CONFIDENCE = 0.95
MODELS_AT_MOST = 20_000
"""Highest number of models (variants times replicates) that are solved to compute confidence intervals. [1]"""
_LEAST_FACTOR = 1e-6
"""Smallest factor that is applied to a service demand. The solver rejects a demand of 0, and a factor of a millionth
does not change the results. [ratio]
"""
_CLASS = ("throughput_per_s", "response_time_s", "users_in_system")
_POOL = ("utilization", "held", "waiting")
_STATION = ("queue_length", "throughput_per_s")
_NO_STEADY_STATE = {"response_time_s": math.inf, "users_in_system": math.inf, "queue_length": math.inf}


def replicates(model: EngineModel, draws: Mapping[str, Sequence[float]]) -> list[EngineModel]:
    """Return copies of the model, one for each bootstrap replicate of the fit, with the service demands of the
    replicate.

    Parameters
    ----------
    model : EngineModel
    draws : mapping of str to sequence of float
        By station, the ratio of each replicate's demand to the demand in the model; all sequences have the same length.
        [ratio]
    """
    return [_replicate(model, dict(zip(draws, row, strict=True))) for row in zip(*draws.values(), strict=True)]


def _replicate(model: EngineModel, factors: Mapping[str, float]) -> EngineModel:
    stations = []
    for station in model.stations:
        factor = max(factors.get(station.name, 1.0), _LEAST_FACTOR)
        services = [replace(each, service_time_s=each.service_time_s * factor) for each in station.services]
        stations.append(replace(station, services=services))
    return replace(model, stations=stations)


def with_intervals(
    answers: Sequence[Json | None], models: Sequence[EngineModel], draws: Mapping[str, Sequence[float]], method: str
) -> None:
    """Add `confidence_interval` to the parts of the solved models, and the number of replicates to each solved model.

    The parts are classes with their transactions, stations, pools, and bounds. Of a bound, only the knee has an
    interval.

    Parameters
    ----------
    answers : sequence of dict or None
        Answers of `models`; None for a model that has no answer.
    models : sequence of EngineModel
    draws : mapping of str to sequence of float
        As in `replicates`; may be empty.
    method : str
        As in `solve_models`.

    Notes
    -----
    The ends of an interval are the 2.5 % and 97.5 % quantiles over the replicates. In a replicate without a steady
    state, some stations are saturated: their queues, and the response times of the classes that visit them, count as
    infinite. In a network of open classes only, the queues of the other stations are computed at the offered load,
    which is an upper bound of their load. If the network has closed classes too, all queues of such a replicate are
    unknown and count as infinite. An infinite end is stored as None. Without replicates, or with more than
    `MODELS_AT_MOST` models to solve, the answers have no intervals and `fitted.draws` is 0.
    """
    count = len(next(iter(draws.values()), ()))
    known = count if count * len(models) <= MODELS_AT_MOST else 0
    for answer, model in zip(answers, models, strict=True):
        if answer is None:
            continue
        answer["fitted"] = {"draws": known, "confidence": CONFIDENCE}
        if known:
            _add(answer, _solved(model, draws, method))


@dataclass(frozen=True)
class _Replicate:
    """Solution of the model with the service demands of one bootstrap replicate.

    Attributes
    ----------
    answer : dict or None
        The solution. For a replicate without a steady state, this is the solution of the network in which saturated
        stations take no time; None if the throughput at the other stations is unknown.
    saturated : frozenset of str
        Stations without a steady state.
    stuck : frozenset of str
        Classes that visit a saturated station.
    """

    answer: Json | None
    saturated: frozenset[str] = frozenset()
    stuck: frozenset[str] = frozenset()


def _solved(model: EngineModel, draws: Mapping[str, Sequence[float]], method: str) -> list[_Replicate]:
    """Solve the model of every bootstrap replicate.

    An open network without a steady state is solved a second time without its saturated stations.
    """
    solved = solve_models(replicates(model, draws), method)
    full = {place: _saturated(model, each) for place, each in enumerate(solved) if "answer" not in each}
    known = [place for place, names in full.items() if names]
    rows = [dict(zip(draws, row, strict=True)) for row in zip(*draws.values(), strict=True)]
    without = [_replicate(model, rows[place] | dict.fromkeys(full[place], 0.0)) for place in known]
    relieved = dict(zip(known, solve_models(without, method) if without else [], strict=True))
    return [
        _Replicate(relieved.get(place, {}).get("answer"), full[place], _visitors(model, full[place]))
        if place in full
        else _Replicate(each["answer"])
        for place, each in enumerate(solved)
    ]


def _saturated(model: EngineModel, solved: Json) -> frozenset[str]:
    """Return the stations that the jobs of open classes saturate.

    The result is empty if the model also has closed classes or pools, because the throughput at the other stations is
    then unknown.
    """
    paths = [fault["path"] for fault in solved["faults"]]
    closed = any(each.arrival_rate_per_s is None for each in model.classes)
    if closed or model.pools or any(len(path) != 2 or path[0] != "stations" for path in paths):
        return frozenset()
    return frozenset(path[1] for path in paths)


def _visitors(model: EngineModel, names: frozenset[str]) -> frozenset[str]:
    return frozenset(each.job_class for station in model.stations if station.name in names for each in station.services)


def _add(answer: Json, drawn: Sequence[_Replicate]) -> None:
    for name, part in answer["classes"].items():
        parts = [None if each.answer is None or name in each.stuck else each.answer["classes"][name] for each in drawn]
        part["confidence_interval"] = _intervals(part, parts, _CLASS)
        for other, inner in part.get("transactions", {}).items():
            of_other = [each and each["transactions"][other] for each in parts]
            inner["confidence_interval"] = _intervals(inner, of_other, _CLASS)
    for name, part in answer["stations"].items():
        known = [None if each.answer is None else each.answer["stations"][name] for each in drawn]
        parts = [None if name in each.saturated else station for each, station in zip(drawn, known, strict=True)]
        part["confidence_interval"] = _intervals(part, parts, _STATION)
        for other in part["residence_time_s"]:
            times = [math.inf if each is None else each["residence_time_s"][other] for each in parts]
            part["confidence_interval"][f"residence_time_s.{other}"] = _ends(times)
        # A saturated station has utilization 1. A station whose solution is unknown counts as saturated.
        used = [1.0 if each is None else float(each["utilization"]) for each in parts]
        part["confidence_interval"]["utilization"] = _ends(used)
    answers = [each.answer for each in drawn]
    for name, part in answer["pools"].items():
        pools = [None if each is None else each["pools"][name] for each in answers]
        unknown = {**dict.fromkeys(_POOL, math.inf), "utilization": 1.0}
        part["confidence_interval"] = {key: _ends([(pool or unknown)[key] for pool in pools]) for key in _POOL}
        for other in part["waiting_time_s"]:
            times = [math.inf if pool is None else pool["waiting_time_s"][other] for pool in pools]
            part["confidence_interval"][f"waiting_time_s.{other}"] = _ends(times)
    for name, part in answer["bounds"].items():
        if part["knee_users"] is not None:
            knees = [None if each is None else each["bounds"][name]["knee_users"] for each in answers]
            ends = _ends([math.inf if knee is None else knee for knee in knees])
            part["confidence_interval"] = {"knee_users": ends}


def _intervals(part: Json, parts: Sequence[Json | None], keys: Sequence[str]) -> Json:
    found = {}
    for key in keys:
        # A replicate without a steady state has no throughput. The throughput of the model replaces it, so that the
        # quantiles are taken over all replicates.
        full = _NO_STEADY_STATE.get(key, float(part[key]))
        found[key] = _ends([full if each is None else float(each[key]) for each in parts])
    return found


def _ends(values: Sequence[float]) -> list[float | None]:
    tail = (1 - CONFIDENCE) / 2
    finite = all(math.isfinite(value) for value in values)
    # Finite and infinite values cannot be interpolated. If some values are infinite, the ends of the interval are
    # therefore chosen among the values.
    low = np.quantile(values, tail, method="linear" if finite else "lower")
    high = np.quantile(values, 1 - tail, method="linear" if finite else "higher")
    return [float(end) if math.isfinite(end) else None for end in (low, high)]

"""Confidence intervals for the predictions of a fitted model, computed from the bootstrap replicates of the fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from towtank.model.engine_model import EngineModel
from towtank.model.solved import SolvedNetwork, SolvedPool, SolvedStation, SolvedTransaction, SolverFault
from towtank.model.solving import solve_models

CONFIDENCE = 0.95
MODELS_AT_MOST = 20_000
"""Highest number of models (variants times replicates) that are solved to compute confidence intervals. [1]"""
_LEAST_FACTOR = 1e-6
"""Smallest factor that is applied to a service demand. The solver rejects a demand of 0, and a factor of a millionth
does not change the results. [ratio]
"""
_CLASS = ("throughput_per_s", "response_time_s", "users_in_system")
_POOL = ("held", "waiting")
_STATION = ("queue_length", "throughput_per_s")
_Part = SolvedTransaction | SolvedStation | SolvedPool


def replicates(model: EngineModel, draws: Mapping[str, Sequence[float]]) -> list[EngineModel]:
    """Return copies of the model, one for each bootstrap replicate of the fit, with the service demands of the
    replicate.

    `draws` has, by station, the ratio of each replicate's demand to the demand in the model; all sequences have the
    same length. [ratio]
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
    answers: Sequence[SolvedNetwork | None],
    models: Sequence[EngineModel],
    draws: Mapping[str, Sequence[float]],
    method: str,
) -> list[SolvedNetwork | None]:
    """Return solved models with the confidence intervals of their parts, and with the number of replicates; None for a
    model without a solution.

    The parts are classes with their transactions, stations, pools, and bounds. Of a bound, only the knee has an
    interval. `draws` is as in `replicates`, and may be empty.

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
    fitted = {"fitted": {"draws": known, "confidence": CONFIDENCE}}
    return [
        None
        if answer is None
        else answer.with_results(fitted | (_more(answer, _solved(model, draws, method)) if known else {}))
        for answer, model in zip(answers, models, strict=True)
    ]


@dataclass(frozen=True)
class _Replicate:
    """Solution of the model with the service demands of one bootstrap replicate.

    Attributes
    ----------
    answer : SolvedNetwork or None
        The solution. For a replicate without a steady state, this is the solution of the network in which saturated
        stations take no time; None if the throughput at the other stations is unknown.
    saturated : frozenset of str
        Stations without a steady state.
    stuck : frozenset of str
        Classes that visit a saturated station.
    """

    answer: SolvedNetwork | None
    saturated: frozenset[str] = frozenset()
    stuck: frozenset[str] = frozenset()


def _solved(model: EngineModel, draws: Mapping[str, Sequence[float]], method: str) -> list[_Replicate]:
    """Solve the model of every bootstrap replicate.

    An open network without a steady state is solved a second time without its saturated stations.
    """
    solved = solve_models(replicates(model, draws), method)
    full = {place: _saturated(model, each.faults) for place, each in enumerate(solved) if each.answer is None}
    known = [place for place, names in full.items() if names]
    rows = [dict(zip(draws, row, strict=True)) for row in zip(*draws.values(), strict=True)]
    without = [_replicate(model, rows[place] | dict.fromkeys(full[place], 0.0)) for place in known]
    relieved = dict(zip(known, solve_models(without, method) if without else [], strict=True))
    return [
        _Replicate(each.answer)
        if place not in full
        else _Replicate(
            relieved[place].answer if place in relieved else None, full[place], _visitors(model, full[place])
        )
        for place, each in enumerate(solved)
    ]


def _saturated(model: EngineModel, faults: Sequence[SolverFault]) -> frozenset[str]:
    """Return the stations that the jobs of open classes saturate.

    The result is empty if the model also has closed classes or pools, because the throughput at the other stations is
    then unknown.
    """
    paths = [fault.path for fault in faults]
    closed = any(each.arrival_rate_per_s is None for each in model.classes)
    if closed or model.pools or any(len(path) != 2 or path[0] != "stations" for path in paths):
        return frozenset()
    return frozenset(path[1] for path in paths)


def _visitors(model: EngineModel, names: frozenset[str]) -> frozenset[str]:
    return frozenset(each.job_class for station in model.stations if station.name in names for each in station.services)


def _more(answer: SolvedNetwork, drawn: Sequence[_Replicate]) -> dict[str, object]:
    """Return the confidence intervals of the parts of a solution, as a JSON object."""
    answers = [each.answer for each in drawn]
    classes: dict[str, dict[str, object]] = {}
    stations, pools, bounds = {}, {}, {}
    for name, part in answer.classes.items():
        parts = [None if each.answer is None or name in each.stuck else each.answer.classes[name] for each in drawn]
        classes[name] = _with_ends(part, parts, _CLASS)
        if part.transactions:
            classes[name]["transactions"] = {
                other: _with_ends(inner, [None if each is None else each.transactions[other] for each in parts], _CLASS)
                for other, inner in part.transactions.items()
            }
    for name, station in answer.stations.items():
        known = [None if solved is None else solved.stations[name] for solved in answers]
        known = [None if name in each.saturated else solved for each, solved in zip(drawn, known, strict=True)]
        times = {
            f"residence_time_s.{other}": _ends(
                [None if each is None else each.residence_time_s[other] for each in known]
            )
            for other in station.residence_time_s
        }
        # A saturated station has utilization 1. A station whose solution is unknown counts as saturated.
        used = _ends([1.0 if each is None else each.utilization for each in known])
        stations[name] = _with_ends(station, known, _STATION, {**times, "utilization": used})
    for name, pool in answer.pools.items():
        held = [None if solved is None else solved.pools[name] for solved in answers]
        used = _ends([1.0 if each is None else each.utilization for each in held])
        waits = {
            f"waiting_time_s.{other}": _ends([None if each is None else each.waiting_time_s[other] for each in held])
            for other in pool.waiting_time_s
        }
        pools[name] = {"confidence_interval": {"utilization": used, **_intervals(pool, held, _POOL), **waits}}
    for name, bound in answer.bounds.items():
        if bound.knee_users is not None:
            knees = _ends([None if solved is None else solved.bounds[name].knee_users for solved in answers])
            bounds[name] = {"confidence_interval": {"knee_users": knees}}
    return {"classes": classes, "stations": stations, "pools": pools, "bounds": bounds}


def _with_ends(
    part: _Part, parts: Sequence[_Part | None], keys: Sequence[str], more: Mapping[str, object] | None = None
) -> dict[str, object]:
    return {"confidence_interval": {**_intervals(part, parts, keys), **(more or {})}}


def _intervals(part: _Part, parts: Sequence[_Part | None], keys: Sequence[str]) -> dict[str, list[float | None]]:
    # A replicate without a steady state has no throughput. The throughput of the model replaces it, so that the
    # quantiles are taken over all replicates. The times and numbers of jobs of such a replicate are infinite.
    return {
        key: _ends([getattr(part if each is None and key == "throughput_per_s" else each, key, None) for each in parts])
        for key in keys
    }


def _ends(values: Sequence[float | None]) -> list[float | None]:
    """Return the ends of the confidence interval of the values of all replicates; None is an infinite value."""
    tail = (1 - CONFIDENCE) / 2
    known = [math.inf if value is None else value for value in values]
    finite = all(map(math.isfinite, known))
    # Finite and infinite values cannot be interpolated. If some values are infinite, the ends of the interval are
    # therefore chosen among the values.
    low = np.quantile(known, tail, method="linear" if finite else "lower")
    high = np.quantile(known, 1 - tail, method="linear" if finite else "higher")
    return [float(end) if math.isfinite(end) else None for end in (low, high)]

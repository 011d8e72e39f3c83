"""Intervals of what a fitted model answers, from the replicates of its fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from towtank.model.solving import solve_models

Json = dict[str, Any]
CONFIDENCE = 0.95
MODELS_AT_MOST = 20_000
"""Most variants of models, each with its replicates, that are solved for intervals. [1]"""
_LEAST_FACTOR = 1e-6
"""A demand of nothing cannot be solved for; a millionth of it changes no answer. [ratio]"""
_CLASS = ("throughput_per_s", "response_time_s", "users_in_system")
_STATION = ("queue_length", "throughput_per_s")
_NO_STEADY_STATE = {"response_time_s": math.inf, "users_in_system": math.inf, "queue_length": math.inf}


def replicates(model: Json, draws: Mapping[str, Sequence[float]]) -> list[Json]:
    """Return the model with the demands of each replicate.

    Parameters
    ----------
    model : dict
        In the engine's form.
    draws : mapping of str to sequence of float
        By station, its demand over that of the model; all of one length. [ratio]
    """
    return [_replicate(model, dict(zip(draws, row, strict=True))) for row in zip(*draws.values(), strict=True)]


def _replicate(model: Json, factors: Mapping[str, float]) -> Json:
    stations = []
    for station in model["stations"]:
        factor = max(factors.get(station["name"], 1.0), _LEAST_FACTOR)
        services = [{**each, "service_time_s": each["service_time_s"] * factor} for each in station["services"]]
        stations.append({**station, "services": services})
    return {**model, "stations": stations}


def with_intervals(
    answers: Sequence[Json | None], models: Sequence[Json], draws: Mapping[str, Sequence[float]], method: str
) -> None:
    """Add `confidence_interval` to classes, transactions and stations of answers, and `fitted` to the answers.

    Parameters
    ----------
    answers : sequence of dict or None
        Of `models`; None where there is none.
    models : sequence of dict
        In the engine's form.
    draws : mapping of str to sequence of float
        As for `replicates`; may be empty.
    method : str
        As for `solve_models`.

    Notes
    -----
    The ends are the 2.5 % and 97.5 % quantiles over the replicates. A replicate without a steady state counts as
    infinite where a time or a number of jobs is asked for; an infinite end is None. Without replicates, or with more
    than `MODELS_AT_MOST` models to be solved, there are no intervals, and `fitted.draws` is 0.
    """
    count = len(next(iter(draws.values()), ()))
    known = count if count * len(models) <= MODELS_AT_MOST else 0
    for answer, model in zip(answers, models, strict=True):
        if answer is None:
            continue
        answer["fitted"] = {"draws": known, "confidence": CONFIDENCE}
        if known:
            drawn = [each.get("answer") for each in solve_models(replicates(model, draws), method)]
            _add(answer, drawn)
            _add_utilization(answer, model, draws, drawn)


def _add(answer: Json, drawn: Sequence[Json | None]) -> None:
    for name, part in answer["classes"].items():
        part["confidence_interval"] = _intervals(part, [each and each["classes"][name] for each in drawn], _CLASS)
        for other, inner in part.get("transactions", {}).items():
            parts = [each and each["classes"][name]["transactions"][other] for each in drawn]
            inner["confidence_interval"] = _intervals(inner, parts, _CLASS)
    for name, part in answer["stations"].items():
        parts = [each and each["stations"][name] for each in drawn]
        part["confidence_interval"] = _intervals(part, parts, _STATION)
        for other in part["residence_time_s"]:
            times = [math.inf if each is None else each["residence_time_s"][other] for each in parts]
            part["confidence_interval"][f"residence_time_s.{other}"] = _ends(times)


def _add_utilization(
    answer: Json, model: Json, draws: Mapping[str, Sequence[float]], drawn: Sequence[Json | None]
) -> None:
    """Add the intervals of utilization.

    In a replicate without a steady state a station of open classes has the utilization min(1, sum of lambda D / m):
    that of the model times the factor of its demand. Where closed classes come too, their throughput is not known, and
    the station counts as fully busy.
    """
    closed = {each["name"] for each in model["classes"] if each.get("arrival_rate_per_s") is None}
    for station in model["stations"]:
        name = station["name"]
        part = answer["stations"][name]
        is_open = closed.isdisjoint(service["class"] for service in station["services"])
        factors = draws.get(name, [1.0] * len(drawn))
        values = [
            (min(1.0, part["utilization"] * factor) if is_open else 1.0)
            if each is None
            else float(each["stations"][name]["utilization"])
            for each, factor in zip(drawn, factors, strict=True)
        ]
        part["confidence_interval"]["utilization"] = _ends(values)


def _intervals(part: Json, parts: Sequence[Json | None], keys: Sequence[str]) -> Json:
    found = {}
    for key in keys:
        # Without a steady state the throughput is not known, that of the model stands.
        full = _NO_STEADY_STATE.get(key, float(part[key]))
        found[key] = _ends([full if each is None else float(each[key]) for each in parts])
    return found


def _ends(values: Sequence[float]) -> list[float | None]:
    tail = (1 - CONFIDENCE) / 2
    finite = all(math.isfinite(value) for value in values)
    # Infinite values have no mean with a neighbour.
    low = np.quantile(values, tail, method="linear" if finite else "lower")
    high = np.quantile(values, 1 - tail, method="linear" if finite else "higher")
    return [float(end) if math.isfinite(end) else None for end in (low, high)]

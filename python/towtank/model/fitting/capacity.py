"""Builds the capacity model that a report shows: curve with confidence bands, utilizations, demands and bottleneck.

The same results always give the same document.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from towtank.containment import Failed, attempt, attempt_or
from towtank.digging import dig
from towtank.documents import document_of
from towtank.errors import MeasurementError, ModelError, StudyError
from towtank.estimates import few_digits, number_estimate
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.demands import ResourceDemand, demands_document
from towtank.model.fitting.documents import CurveAnswer, FitRequest, fit_results
from towtank.model.fitting.drift import Drifted, drifted
from towtank.model.fitting.goodness import FIT_REJECTED
from towtank.model.fitting.intervals import percentiles
from towtank.model.fitting.networks.answers import farthest as farthest_load
from towtank.model.fitting.networks.answers import network_answer, predicted
from towtank.model.fitting.observations import Floats
from towtank.model.fitting.prediction import BANDS, Prediction, farthest, predict_curve
from towtank.model.fitting.replicates import SEED
from towtank.model.fitting.selection import CurveCandidate

SCHEMA = "towtank/capacity-model/1"
LEAST_LEVELS = 3
"""Fewest load levels to which a curve is fitted. With fewer levels, any curve passes through the points. [1]"""
_GRID = 40
# Number of loads at which the fitted network is evaluated. It is smaller than `_GRID`, the number of loads for a
# curve, since the network is solved for every replicate at each load.
_NETWORK_GRID = 12
_BEYOND = 1.25
# Half the width of a 95 % confidence interval, in standard errors, for large samples.
_NORMAL = 1.96


def capacity_document(path: Path) -> dict[str, object]:
    """Return the capacity model of each configuration of a results folder, as a JSON object.

    The page `docs/reference/report.md` describes the object; `refused` states the reason if no model exists.
    """
    try:
        answers = fit_results(path, FitRequest("auto"), None)
        demands = dig(attempt_or("demands by class", {}, demands_document, path), "configurations") or ()
        classes = {str(dig(configuration, "key")): dig(configuration, "classes") for configuration in demands}
    except (MeasurementError, ModelError, StudyError) as error:
        return {"schema": SCHEMA, "refused": _in_a_line(error, path), "configurations": []}
    found = [_contained(answer, classes.get(str(answer.document["key"]), {})) for answer in answers]
    modelled = [configuration for configuration in found if configuration["refused"] is None]
    # With a single load level, the fits of all configurations would fail with the same message, so it is reported once.
    refused = (
        None
        if modelled
        else "; ".join(dict.fromkeys(str(configuration["refused"]) for configuration in found))
        or "nothing was measured"
    )
    return {"schema": SCHEMA, "refused": refused, "configurations": found}


def _in_a_line(error: Exception, path: Path) -> str:
    """Return the message of an error and its first detail in one line, without the path of the results folder."""
    message = str(error).removeprefix(f"{path}: ")
    lines = [line.strip() for line in message.split("\n") if line.strip() and not line.startswith("hint")]
    return " ".join(lines[:2]).removesuffix(":")


def _contained(answer: CurveAnswer, classes: object) -> dict[str, object]:
    """Return the capacity model of a configuration as a JSON object; after an error, `refused` contains the message."""
    made = attempt(f"capacity model of {answer.document['label']}", _configuration, answer, classes)
    return {**answer.document, "classes": classes, "refused": made.sentence} if isinstance(made, Failed) else made


def _configuration(answer: CurveAnswer, classes: object) -> dict[str, object]:
    document = {**answer.document, "classes": classes, "grid": [], "utilization": {}, "bottleneck_sentence": None}
    document["network"] = None
    levels = len(answer.points.levels)
    if levels < LEAST_LEVELS:
        return {**document, "refused": f"a curve needs {LEAST_LEVELS} load levels or more, got {levels}"}
    shown = answer.choice.chosen
    if shown is None:
        return {**document, "refused": answer.choice.why}
    grid = predict_grid(shown, answer.think_s)
    loads = [row.load for row in grid]
    document["grid"] = [row.document() for row in grid]
    document["bottleneck_sentence"] = _bottleneck(answer, shown)
    made = attempt(f"network of {answer.document['label']}", _network, answer, loads)
    network, used = ({"refused": made.sentence}, {}) if isinstance(made, Failed) else made
    return {**document, "utilization": _utilization(answer, shown, loads) | used, "network": network, "refused": None}


def _network(answer: CurveAnswer, loads: list[float]) -> tuple[dict[str, object] | None, dict[str, object]]:
    """Return the document of the queueing network that is fitted to the configuration, None if no run folders of the
    configuration are known; and the utilizations by the network, without any if it is rejected.
    """
    if answer.configuration is None or not answer.configuration.folders:
        return None, {}
    found = network_answer(answer.configuration)
    if found.network is None or found.verdict.level == FIT_REJECTED:
        return found.document, {}
    every = max(1, len(loads) // _NETWORK_GRID)
    of = found.network.measured
    levels = [float(load) for load in of.loads]
    at = sorted({*levels, *(load for load in loads[::every] if load <= farthest_load(found.network)[0])})
    grid = dict(zip(at, predicted(found.network, at), strict=True))
    used: dict[str, object] = {
        station.name: {
            "servers": station.servers,
            "by": "network",
            "measured": _measured_use(answer, answer.demands[station.name]),
            "curve": [{"load": load, **document_of(row.utilization[station.name])} for load, row in grid.items()],
        }
        for station in of.stations
        if station.name in answer.demands
    }
    return {**found.document, "grid": [{"load": load, **document_of(row)} for load, row in grid.items()]}, used


def _measured_use(answer: CurveAnswer, resource: ResourceDemand) -> list[dict[str, object]]:
    """Return the load and the measured utilization of a resource at each load level."""
    by_rate = dict(zip(map(float, answer.points.throughput), map(float, answer.points.load), strict=True))
    levels = resource.demand.by_level
    return [{**document_of(row), "load": by_rate[row.throughput]} for row in levels if row.throughput in by_rate]


def predict_grid(candidate: CurveCandidate, think_s: float) -> list[Prediction]:
    """Return the predictions of a curve for a figure, at evenly spaced loads up to slightly beyond the
    measured range.
    """
    return [row for row in predict_curve(candidate, _loads(candidate), think_s) if row.throughput is not None]


def curve_grid(candidate: CurveCandidate, think_s: float) -> list[dict[str, object]]:
    """Return `predict_grid` as JSON objects."""
    return [row.document() for row in predict_grid(candidate, think_s)]


def _loads(candidate: CurveCandidate) -> list[float]:
    points = candidate.fit.points
    top = float(points.load.max())
    last = min(farthest(candidate)[0], _BEYOND * top)
    even = np.rint(np.linspace(min(1.0, float(points.load.min())), last, _GRID))
    return sorted({float(level) for level in [*even, *points.levels] if 0 < level <= last})


def _utilization(answer: CurveAnswer, candidate: CurveCandidate, loads: list[float]) -> dict[str, object]:
    """Return the utilization of every resource by name: measured at each load level, and predicted by the curve.
    [ratio]
    """
    at = np.array(loads)
    drawn = drifted(candidate.fit, candidate.replicates, at)
    found: dict[str, object] = {}
    for name, resource in answer.demands.items():
        servers = resource.servers
        rows = _of_bottleneck(candidate, drawn) if name == answer.bottleneck else _of_line(resource, drawn.rates)
        if rows is None:
            continue
        shares = np.clip(rows / servers, 0.0, 1.0)
        found[name] = {
            "servers": servers,
            "by": "curve",
            "measured": _measured_use(answer, resource),
            "curve": [
                {
                    "load": load,
                    "median": float(np.median(shares[:, number])),
                    **{band: list(percentiles(shares[:, number], share)) for band, share in BANDS.items()},
                }
                for number, load in enumerate(loads)
            ],
        }
    return found


def _of_bottleneck(candidate: CurveCandidate, drawn: Drifted) -> Floats | None:
    """Return the number of busy servers of the bottleneck in each replicate, computed from the fitted demand; None if
    the curve was fitted without utilization.
    """
    curve = candidate.fit.curve
    if not isinstance(curve, ClosedCurve) or not candidate.fit.problem.uses_busy:
        return None
    return curve.busy(candidate.replicates, drawn.rates * drawn.factors)


def _of_line(resource: ResourceDemand, curves: Floats) -> Floats | None:
    """Return the number of busy servers of a resource in each replicate, computed from a straight line of busy servers
    over throughput. The slope of the line varies at random between replicates, by its standard error.
    """
    demand, levels = resource.demand.demand_s, resource.demand.by_level
    if demand.value is None:
        return None
    rates = np.array([row.throughput for row in levels])
    busy = np.array([row.utilization for row in levels]) * resource.servers
    error = 0.0 if demand.low is None or demand.high is None else (demand.high - demand.low) / (2 * _NORMAL)
    slopes = demand.value + error * np.random.default_rng(SEED).standard_normal((len(curves), 1))
    return np.asarray(busy.mean() + slopes * (curves - rates.mean()), dtype=float)


def _bottleneck(answer: CurveAnswer, candidate: CurveCandidate) -> str | None:
    """Describe the bottleneck, the highest throughput that it allows, and the next bottleneck."""
    name = answer.bottleneck
    resource = None if name is None else answer.demands.get(name)
    if resource is None:
        return None
    top = max(row.utilization for row in resource.demand.by_level)
    words = [f"the resource with the highest utilization is {name}, {100 * top:.3g} % at most"]
    limit = dig(answer.document, "limit_throughput")
    if limit and isinstance(candidate.fit.curve, ClosedCurve):
        pair = dig(answer.document, "confidence_interval", "limit_throughput") or (None, None)
        carried = few_digits(limit, 4) if None in pair else number_estimate(limit, *pair)
        words.append(f"the limit of the curve is {carried} transactions/s")
    # Parts of a tier share the servers of the tier, so a part has no throughput limit of its own.
    others = [
        ((other.servers - max(0.0, other.demand.background.value or 0.0)) / value, key)
        for key, other in answer.demands.items()
        if key != name and " / " not in key and (value := other.demand.demand_s.value or 0) > 0
    ]
    if others:
        rate, key = min(others)
        words.append(f"without this limit {key} would be next, at {few_digits(rate)} transactions/s")
    return "; ".join(words)

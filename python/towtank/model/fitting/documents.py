"""Builds the JSON documents of `towtank model fit`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from towtank.analysis import DoubtKind
from towtank.containment import Failed, attempt
from towtank.documents import document_of
from towtank.errors import MeasurementError, ModelError
from towtank.files import put_text
from towtank.model.capacity_file import FitAssumption, FittedConfiguration
from towtank.model.demand_file import ExcludedRun
from towtank.model.fitting import knees, model_file
from towtank.model.fitting.audit import Finding, audit_points
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.curve_tails import curve_tails
from towtank.model.fitting.curves import USL_PARAMETERS
from towtank.model.fitting.demands import ResourceDemand, resource_demands
from towtank.model.fitting.drift import at_saturation
from towtank.model.fitting.fit import CURVES
from towtank.model.fitting.goodness import FIT_REJECTED, Judgement
from towtank.model.fitting.intervals import CONFIDENCE, percentiles, profile_intervals, standard_errors, t_intervals
from towtank.model.fitting.knees import Knee
from towtank.model.fitting.measured import Configuration, usable_configurations
from towtank.model.fitting.measured_limit import of_curve
from towtank.model.fitting.mix import mix_of
from towtank.model.fitting.observations import Observations
from towtank.model.fitting.prediction import default_loads, held_out, predict_curve, trust
from towtank.model.fitting.quota_assumed import quota_assumptions
from towtank.model.fitting.replicates import REPLICATES, block_length
from towtank.model.fitting.selection import DEFAULT_HELD_OUT, Choice, CurveCandidate, choose
from towtank.model.fitting.shape import Shape, classify
from towtank.model.fitting.table import PointColumns, read_points

SCHEMA = "towtank/model-fit/1"


@dataclass(frozen=True)
class FitRequest:
    """Settings of a fit.

    Attributes
    ----------
    curve : str
        Name from `fit.CURVES`, or `auto`.
    servers : int or None
        Servers of the bottleneck; None for the number in the results, or 1 for a CSV file.
    loads : list of float or None
        Loads at which to predict; None for default loads.
    hold_out : int or None
        Number of highest levels to leave out of the fit. With None, a first fit leaves out the highest level as a
        test, and a second fit uses all levels.
    think_s : float or None
        Think time, for results without a measured think time. [s]"""

    curve: str
    servers: int | None = None
    loads: list[float] | None = None
    hold_out: int | None = None
    think_s: float | None = None

    @property
    def curves(self) -> tuple[str, ...]:
        """Names of the families of capacity curves to fit."""
        return CURVES if self.curve == "auto" else (self.curve,)


@dataclass
class CurveAnswer:
    """Result of a fit of capacity curves to one set of points. Demands of the mean transaction by resource, and the
    shape of the points, are known for a results folder only. `asserted` is True if the user stated the number of
    servers of the bottleneck.
    """

    document: dict[str, object]
    choice: Choice
    points: Observations
    think_s: float
    demands: Mapping[str, ResourceDemand] = field(default_factory=dict)
    shape: Shape | None = None
    configuration: Configuration | None = None
    asserted: bool = False

    @property
    def fitted(self) -> FittedConfiguration:
        """Content of the document."""
        return FittedConfiguration.model_validate(self.document)

    @property
    def bottleneck(self) -> str | None:
        """Name of the bottleneck; None if it is unknown."""
        found = None if self.configuration is None else self.configuration.bottleneck()
        return None if found is None else found.name


def fit_table(path: Path, columns: PointColumns, request: FitRequest) -> CurveAnswer:
    """Fit a capacity curve to the points of a CSV file."""
    points = read_points(path, columns)
    findings = audit_points(points)
    failing = {finding.name for finding in findings if finding.suspect}
    kept = points.chosen(np.array([name not in failing for name in points.names]))
    excluded = [
        ExcludedRun(finding.name, float(points.load[points.names.index(finding.name)]), finding.message)
        for finding in findings
        if finding.suspect
    ]
    head = {"schema": SCHEMA, "source": str(path), "asked": request.curve}
    return _answer(kept, request, head, servers=request.servers or 1, findings=findings, excluded=excluded)


def fit_results(path: Path, request: FitRequest, wanted: str | None) -> list[CurveAnswer]:
    """Fit a capacity curve to each configuration of a results folder whose label contains `wanted`; None selects every
    configuration."""
    made = [
        attempt(f"fit of {configuration.label}", _fit_configuration, configuration, request)
        for configuration in usable_configurations(path, wanted)
    ]
    answers = [answer for answer in made if not isinstance(answer, Failed)]
    if made and not answers:
        raise MeasurementError("\n".join(answer.sentence for answer in made if isinstance(answer, Failed)))
    return answers


def _fit_configuration(configuration: Configuration, request: FitRequest) -> CurveAnswer:
    points = configuration.observations
    bottleneck = configuration.bottleneck()
    servers = request.servers or (bottleneck.servers if bottleneck else 1)
    head = {"label": configuration.label, "key": configuration.key, "asked": request.curve}
    if request.think_s is not None:
        points = replace(points, think=np.full(points.count, request.think_s))
    mix = mix_of(configuration, request.hold_out or DEFAULT_HELD_OUT)
    if mix is not None:
        points = replace(points, work=mix.work)
    answer = _answer(
        points,
        request,
        head,
        servers=servers,
        findings=configuration.findings,
        excluded=configuration.excluded,
        think_s=configuration.think_s,
        doubts=attribution_doubts(configuration),
        assumptions=quota_assumptions(configuration),
        knees_of_objectives=knees.of_objectives(configuration),
    )
    demands, shape = resource_demands(configuration), classify(configuration)
    document = {
        **answer.document,
        "bottleneck": bottleneck.name if bottleneck else None,
        "mix": mix.document(points.load) if mix else None,
        "shape": shape.document(),
        "demands": {name: demand.document() for name, demand in demands.items()},
    }
    return replace(
        answer,
        document=document,
        demands=demands,
        shape=shape,
        configuration=configuration,
        asserted=request.servers is not None,
    )


def _answer(
    points: Observations,
    request: FitRequest,
    head: Mapping[str, object],
    *,
    servers: int,
    findings: list[Finding],
    excluded: list[ExcludedRun],
    think_s: float | None = None,
    doubts: Sequence[str] = (),
    assumptions: Iterable[FitAssumption] = (),
    knees_of_objectives: Iterable[Knee] = (),
) -> CurveAnswer:
    if not points.count:
        raise MeasurementError("\n".join(["no point can be modelled:", *(f"  {run.why}" for run in excluded)]))
    think = float(np.mean(points.think_s())) if think_s is None or points.think is not None else think_s
    choice = choose(request.curves, points, servers, think, request.hold_out)
    if request.curve != "auto" and not choice.candidates and "label" not in head:
        why = next(iter(choice.refused.values()))
        blind = "utilization of the bottleneck" in why
        raise ModelError(
            why, hint="name the column of the busy servers with --busy" if blind else "measure more load levels"
        )
    shown = _shown(choice, request.curve)
    document = {
        **head,
        "curve": shown.name if shown else None,
        **(_parameters(shown) if shown else {}),
        "audit": {
            "checked": len(findings),
            "findings": [finding.document() for finding in findings if finding.suspect],
        },
        "excluded": [document_of(run) for run in excluded],
        "points": _points(points, shown),
    }
    if shown:
        loads = default_loads(shown) if request.loads is None else request.loads
        document |= {
            "verdict": shown.judgement.document([*_interval_doubts(shown), *doubts]),
            "held_out": held_out(shown, points),
            "predictions": [row.document() for row in predict_curve(shown, loads, think)],
            "trust": trust(shown, think, assumptions),
        }
    else:
        document["verdict"] = Judgement([(FIT_REJECTED, choice.why)]).document(doubts)
    document["knees"] = [document_of(knee) for knee in (*knees_of_objectives, *knees.of_points(shown, points, think))]
    if request.curve == "auto":
        document["choice"] = _choice(choice)
    return CurveAnswer(document, choice, points, think)


def _shown(choice: Choice, asked: str) -> CurveCandidate | None:
    return choice.chosen if asked == "auto" else next(iter(choice.candidates), None)


def shown_candidate(answer: CurveAnswer) -> CurveCandidate | None:
    """Return the fitted curve that the document of an answer describes; None if every curve is rejected."""
    return _shown(answer.choice, str(answer.document["asked"]))


def number(value: float) -> float | None:
    """Return a number that JSON can represent; None if the number is not finite."""
    return float(value) if math.isfinite(value) else None


def _parameters(candidate: CurveCandidate) -> dict[str, object]:
    """Return the parameters of a fitted curve and the quantities derived from them, each with its confidence
    intervals."""
    fit = candidate.fit
    values = dict(zip(fit.curve.parameters, (float(value) for value in fit.parameters), strict=True))
    if "lambda" in values:
        values = {name: values.get(name, 0.0) for name in USL_PARAMETERS}
    derived = {name: number(value[0]) for name, value in fit.curve.derived(fit.parameters[None, :]).items()}
    drawn = {
        name: percentiles(value) for name, value in fit.curve.derived(at_saturation(fit, candidate.replicates)).items()
    }
    drawn = {name: pair if derived[name] is not None else (None, None) for name, pair in drawn.items()}
    linear, boot = t_intervals(fit), {}
    for place, name in enumerate(fit.curve.parameters):
        boot[name] = percentiles(candidate.replicates[:, place])
    return {
        **values,
        **derived,
        "r_squared": fit.r_squared,
        "confidence": CONFIDENCE,
        "confidence_interval": {name: list(pair) for name, pair in {**linear, **drawn}.items()},
        "intervals": {
            "t": {name: list(pair) for name, pair in linear.items()},
            "profile": {name: list(pair) for name, pair in profile_intervals(fit).items()},
            "bootstrap": {name: list(pair) for name, pair in {**boot, **drawn}.items()},
            "replicates": REPLICATES,
            "block_length": block_length(fit),
        },
        "standard_error": standard_errors(fit),
        "residual_error": fit.residual_error,
        "degrees_of_freedom": fit.freedom,
        "aicc": candidate.aicc,
    }


def _points(points: Observations, shown: CurveCandidate | None) -> list[dict[str, object]]:
    """Return each measured point as a JSON object. If the point was part of the fit, add the fitted throughput with its
    bootstrap band. [1/s]"""
    fitted: dict[str, float] = {}
    bands: dict[str, list[float | None]] = {}
    if shown is not None:
        names, drawn = shown.fit.points.names, shown.fit.problem.model(shown.replicates)
        fitted = dict(zip(names, map(float, shown.fit.fitted), strict=True))
        bands = {name: list(percentiles(drawn[:, place])) for place, name in enumerate(names)}
    columns = {
        "load": points.load,
        "throughput": points.throughput,
        "standard_error": points.error,
        "response_s": points.response,
        "think_s": points.think,
        "busy": points.busy,
        "work": points.work,
        "others": points.others,
    }
    return [
        {
            "name": name,
            **{key: None if values is None else float(values[place]) for key, values in columns.items()},
            "fitted_throughput": fitted.get(name),
            "fitted_throughput_band_95": bands.get(name),
        }
        for place, name in enumerate(points.names)
    ]


def attribution_doubts(configuration: Configuration) -> list[str]:
    """Return a doubt if much CPU time of some runs belongs to no tier; otherwise an empty list."""
    found = [
        (reason.get("seen") or 0.0, run.run, reason["message"])
        for run in configuration.runs
        for reason in run.verdict.reasons
        if reason["kind"] == DoubtKind.NOT_ATTRIBUTED
    ]
    if not found:
        return []
    _, name, message = max(found)
    return [
        f"{len({run for _, run, _ in found})} of {len(configuration.runs)} runs used CPU time "
        f"that is attributed to no tier, most of all {name}: {message}. Demands include only CPU time of tiers"
    ]


def _interval_doubts(candidate: CurveCandidate) -> list[str]:
    length = block_length(candidate.fit)
    if length == 1:
        return []
    return [
        f"neighbouring residuals are correlated, so t and profile intervals are too narrow: use the bootstrap "
        f"intervals, which draw blocks of {length} points"
    ]


def _choice(choice: Choice) -> dict[str, object]:
    best = min((candidate.aicc for candidate in choice.candidates if candidate.aicc is not None), default=None)
    rows = [
        {
            "curve": candidate.name,
            "aicc": candidate.aicc,
            "delta_aicc": None if candidate.aicc is None or best is None else candidate.aicc - best,
            "joint_aicc": candidate.joint_aicc,
            "held_out_error": candidate.held_out.worst_error if candidate.held_out else None,
            "held_out_interval": candidate.held_out_interval,
            "parameters": dict(zip(candidate.fit.curve.parameters, map(float, candidate.fit.parameters), strict=True)),
            "verdict": candidate.judgement.level,
            "reasons": [text for _, text in candidate.judgement.reasons],
        }
        for candidate in choice.candidates
    ]
    return {"why": choice.why, "candidates": rows, "refused": choice.refused}


def _closed(choice: Choice) -> CurveCandidate | None:
    """Return the closed curve to write to a file: the chosen curve if it is closed, otherwise the best closed curve."""
    found = [candidate for candidate in choice.candidates if isinstance(candidate.fit.curve, ClosedCurve)]
    if choice.chosen in found:
        return choice.chosen
    known = [candidate for candidate in found if candidate.joint_aicc is not None]
    return min(known, key=lambda candidate: candidate.joint_aicc or 0.0) if known else next(iter(found), None)


def written_model(answer: CurveAnswer, source: str, path: Path, *, option: str = "") -> dict[str, object]:
    """Write the fitted curve of a closed system as a model file, and compare the throughput of the written model with
    the measured throughput.

    The file contains the name `source` of the measurements. Messages contain the command-line option that requested the
    file, if there is one.

    Raises
    ------
    ModelError
        If the answer has no closed curve, or the curve is rejected.
    """
    closed = _closed(answer.choice)
    if closed is None or closed.judgement.level == FIT_REJECTED:
        why = answer.choice.refused.get("closed", "none was fitted")
        if closed is not None:
            rejected = [text for level, text in closed.judgement.reasons if level == FIT_REJECTED]
            why = f"the curve is rejected: {'; '.join(rejected)}"
        without = (
            f"{option}: must have a closed curve to write, got none"
            if option
            else "no closed curve describes the points"
        )
        raise ModelError(f"{without}: {why}")
    found, left = model_file.stations(closed, answer.configuration, answer.demands)
    known = (closed, source, found, left, answer.think_s)
    points = answer.configuration.points if answer.configuration else ()
    tails = curve_tails(points, lambda order: model_file.model_text(*known, discipline=order), model_file.CLASS)
    limit = of_curve(answer.configuration, answer.shape, asserted=answer.asserted)
    put_text(path, model_file.model_text(*known, tails=tails, limit=limit))
    check = model_file.checked(closed, found, left, answer.think_s)
    return {"file": str(path), "check": check, "percentiles": None if tails is None else tails.document()}

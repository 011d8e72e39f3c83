"""Reads or fits the model from which a sizing extrapolates, with the measured range of loads and the doubts about the
fit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from towtank.arrays import Floats
from towtank.errors import MeasurementError, ModelError, StudyError
from towtank.model import (
    FIT_REJECTED,
    LIMIT_ASSERTED,
    LIMIT_NONE,
    LIMIT_OTHER,
    CurveAnswer,
    EngineModel,
    ExcludedRun,
    FitAssumption,
    FitRequest,
    FittedFile,
    JobClass,
    ModelProblem,
    NetworkAnswer,
    Station,
    fit_results,
    is_results,
    load_model,
    network_answers,
    network_text,
    only_answer,
    solve_models,
    written_model,
)
from towtank.sizing.scores import scores

MODEL_CHOICES = ("auto", "network", "curve")
"""Models that can be fitted to measured results; `auto` chooses between network and curve."""
# Largest number of runs that are named because the model does not use them. [1]
_NAMED = 3
DRAWS = 200
"""Number of random draws of the uncertain quantities in a sizing, such as growth. For a fitted model, the number of
bootstrap replicates in the model file is used instead. [1]
"""


@dataclass(frozen=True)
class Basis:
    """Model from which a sizing extrapolates.

    Attributes
    ----------
    source : str
        Name of the source as given by the user.
    fitted : FittedFile or None
        Measurements behind the model; None for a model that was not fitted.
    assumptions : tuple of FitAssumption
        Assumptions of the fit.
    why : str
        Reason why this kind of model was fitted to results; empty for a model file.
    doubts : tuple of str
        Doubts about the fit.
    not_used : tuple of str
        Measured runs that the model does not use, each with a reason.
    guess : str
        Reason why the effect of more servers is unknown; empty if measurements show that servers limit the load.
    asserted : bool
        True if the user states that the servers of the model limit the load.
    unreached : bool
        True if the measured load reached no limit.
    """

    source: str
    document: EngineModel
    fitted: FittedFile | None = None
    assumptions: tuple[FitAssumption, ...] = ()
    why: str = ""
    doubts: tuple[str, ...] = ()
    not_used: tuple[str, ...] = ()
    guess: str = ""
    asserted: bool = False
    unreached: bool = False

    @property
    def kind(self) -> str:
        """Kind of the model: `curve` or `network` for a model that was fitted to measurements, `file` for any other
        model.
        """
        return "file" if self.fitted is None else self.fitted.kind

    @property
    def transactions(self) -> dict[str, str]:
        """Class to which each transaction belongs, by the name of the transaction."""
        return self.document.chain_by_transaction

    def correction(self, name: str | None, metric: str) -> tuple[float, float, float] | None:
        """Return the ratio of a measured to a computed percentile, with the lowest and the highest value of this ratio.
        [ratio]

        The result is None if no percentile of the class or transaction was measured.

        Raises
        ------
        ModelError
            If other percentiles of the class were measured, but not `metric`.
        """
        if self.fitted is None or name is None or name not in self.fitted.percentiles:
            return None
        known = {"p95": self.fitted.percentiles[name], **self.fitted.tails.get(name, {})}
        if metric not in known:
            raise ModelError(
                f"{metric} of {name} was not measured, and cannot be derived from {', '.join(known)} alone",
                hint=f"use an objective for one of {', '.join(known)}, or fit the model to runs with more transactions",
            )
        ratio, low, high = known[metric]
        return float(ratio), float(low), float(high)

    @property
    def classes(self) -> dict[str, JobClass]:
        """Job classes of the model, by name."""
        return self.document.class_by_name

    @property
    def stations(self) -> dict[str, Station]:
        """Stations of the model, by name."""
        return self.document.station_by_name

    @property
    def queues(self) -> list[str]:
        """Names of the stations with a queue; these are all stations except pure delays."""
        return [name for name, station in self.stations.items() if station.discipline != "delay"]

    def draws(self, uncertainty: float | None) -> list[dict[str, float]]:
        """Return random factors of the service demands: for each random draw, a mapping from station to factor. The
        list is empty if the error of the demands is unknown.
        """
        rows = self._spread(uncertainty)
        count = len(next(iter(rows.values()), []))
        # The solver rejects a demand of 0, so each factor is at least 1e-6.
        return [{name: max(float(row[place]), 1e-6) for name, row in rows.items()} for place in range(count)]

    def _spread(self, uncertainty: float | None) -> dict[str, Floats]:
        if self.fitted is not None and self.fitted.draws:
            return {name: np.array(row) for name, row in self.fitted.draws.items()}
        if not uncertainty:
            return {}
        # Standard deviation of the logarithm of a log-normal factor with mean 1 and standard deviation `uncertainty`.
        width = float(np.sqrt(np.log1p(uncertainty**2)))
        return {
            name: np.exp(width * np.array(scores(DRAWS, f"demand {name}")) - width**2 / 2) for name in self.stations
        }


@dataclass(frozen=True)
class ModelChoice:
    """Settings for the fit of a model to measured results.

    Attributes
    ----------
    configuration : str or None
        Part of the label that selects a configuration of the study.
    servers : int or None
        Number of servers at the bottleneck of a curve, if the results do not record it.
    model : str
        Name from `MODEL_CHOICES`. `auto` selects the curve if `servers` is given. Otherwise it selects the network if
        the network distinguishes several resources and is not rejected, or else the curve.
    """

    configuration: str | None = None
    servers: int | None = None
    model: str = "auto"


def load_basis(source: Path, choice: ModelChoice | None = None) -> Basis:
    """Read a model file, or fit the model that `choice` selects (see `ModelChoice.model`) to a results folder.

    Raises
    ------
    StudyError
        If the model file is invalid.
    MeasurementError
        If no run may be modelled, or the fitted model is rejected.
    """
    if is_results(source):
        return _measured(source, choice or ModelChoice())
    if source.is_dir():
        message = "must be a model file or a results folder, got a folder without results"
        raise StudyError.at(source, message)
    problem = load_model(source)
    _refuse_unsolvable(source, problem)
    return _of_fitted(Basis(str(source), problem.document, problem.fitted))


def _of_fitted(basis: Basis) -> Basis:
    """Add the statements of the fitted model about the load limit to the basis of a sizing."""
    fitted = basis.fitted
    if fitted is None or fitted.limit is None:
        return basis
    guess = fitted.limit_why or "something other than a station of the model limited the measured load"
    return replace(
        basis,
        guess=guess if fitted.limit in (LIMIT_OTHER, LIMIT_ASSERTED) else "",
        asserted=fitted.limit == LIMIT_ASSERTED,
        unreached=fitted.limit == LIMIT_NONE,
    )


def _refuse_unsolvable(source: Path, problem: ModelProblem) -> None:
    """Raise StudyError if the solver rejects the model even at a very low load. Sizing solves the model many times, so
    it does not accept models that need simulation.
    """
    light = [
        replace(job_class, users=1)
        if job_class.users
        else replace(job_class, arrival_rate_per_s=1e-9 * (job_class.arrival_rate_per_s or 0.0))
        for job_class in problem.document.classes
    ]
    faults = solve_models([replace(problem.document, classes=light)])[0].faults
    if faults:
        raise StudyError(
            problem.faults(faults),
            hint=f"{source}: sizing solves the model many times, so it must be solvable without simulation",
        )


def _measured(source: Path, choice: ModelChoice) -> Basis:
    """Fit the model that `choice` selects (see `ModelChoice.model`) to a results folder."""
    if choice.model == "curve" or (choice.model == "auto" and choice.servers is not None):
        return _curve(source, choice, "the closed curve was requested")
    answers = network_answers(source, choice.configuration)
    answer = only_answer(answers)
    why_not = _why_no_network(answer)
    if choice.model == "network" and answer.network is not None:
        # A network that the user requests is used even if there are doubts about it, unless it is rejected.
        return _network(source, answer, "it was requested")
    if choice.model == "network":
        raise MeasurementError(f"{source}: the measurements give no network to size from: {why_not}")
    if why_not:
        return _curve(source, choice, f"no network of resources: {why_not}")
    names = ", ".join(answer.fitted.stations)
    return _network(source, answer, f"{names} can be distinguished, and the test of the network passed")


def _why_no_network(answer: NetworkAnswer) -> str:
    fitted = answer.fitted
    if fitted.refused is not None:
        return fitted.refused
    if fitted.verdict.level == FIT_REJECTED:
        return "; ".join(reason.text for reason in fitted.verdict.reasons if reason.level == FIT_REJECTED)
    if len(fitted.stations) < 2:
        name = next(iter(fitted.stations))
        return f"{name} is the only observed resource; --model network sizes it with demands per transaction"
    return ""


def _network(source: Path, answer: NetworkAnswer, why: str) -> Basis:
    try:
        text = network_text(answer, str(source))
    except ModelError as error:
        raise MeasurementError(f"{source}: the measurements give no model to size from: {error}") from None
    doubts = tuple(reason.text for reason in answer.fitted.verdict.reasons)
    basis = _of_text(source, text, answer.fitted.assumptions, why, doubts)
    return replace(basis, not_used=not_used(answer.configuration.excluded))


def not_used(excluded: Sequence[ExcludedRun]) -> tuple[str, ...]:
    """Return the names of measured runs on which the sizing does not rest, each with its first reason."""
    named = [f"not used for the model, {run.run}: {run.why.split('; ')[0]}" for run in excluded[:_NAMED]]
    more = len(excluded) - len(named)
    return (*named, f"{more} more not used for the model: see `towtank model fit`") if more else tuple(named)


def _curve(source: Path, choice: ModelChoice, why: str) -> Basis:
    answer = only_answer(fit_results(source, FitRequest("auto", servers=choice.servers), choice.configuration))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        _write(answer, str(source), path)
        text = path.read_text("utf-8")
    excluded = () if answer.configuration is None else answer.configuration.excluded
    return replace(_of_text(source, text, _assumptions(answer), why), not_used=not_used(excluded))


def _of_text(
    source: Path, text: str, assumptions: Iterable[FitAssumption], why: str, doubts: tuple[str, ...] = ()
) -> Basis:
    """Return the basis of a sizing from the text of a fitted model file, which is parsed exactly like a user's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        path.write_text(text, "utf-8")
        problem = load_model(path)
    node = problem.tree.child("fitted")
    assert node is not None
    fitted = FittedFile.model_validate(node.plain())
    return _of_fitted(Basis(str(source), problem.document, fitted, tuple(assumptions), why, doubts))


def _assumptions(answer: CurveAnswer) -> Iterable[FitAssumption]:
    """Return the assumptions of the closed curve. If another curve fits better, return only the assumption that the
    system is a closed network with one bottleneck.
    """
    curve, trust = answer.fitted.curve, answer.fitted.trust
    if curve in ("closed", "load-dependent"):
        return () if trust is None else trust.assumptions
    tested = "no curve describes the points" if curve is None else f"{curve} describes the points better"
    return [FitAssumption("the system is a closed network with one bottleneck", tested)]


def _write(answer: CurveAnswer, source: str, path: Path) -> None:
    try:
        written_model(answer, source, path)
    except ModelError as error:
        reasons = [reason.text for reason in answer.fitted.verdict.reasons]
        raise MeasurementError(
            "\n".join([f"{source}: the measurements give no model to size from: {error}", *(f"  {r}" for r in reasons)])
        ) from None

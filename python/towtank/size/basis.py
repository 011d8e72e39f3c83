"""What is sized: a model as the engine reads it, with what is known of how far its numbers carry."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from towtank.errors import MeasurementError, ModelError, StudyError
from towtank.model import load_model, solve_models
from towtank.model.file import FittedFile
from towtank.model.fitting import Answer, Wish, fit_results, is_results, written_model
from towtank.model.fitting.goodness import REJECTED
from towtank.model.fitting.networks import NetworkAnswer, network_answers, network_text
from towtank.model.fitting.observations import Floats
from towtank.model.transactions import chain_by_transaction
from towtank.size.scores import scores

Json = dict[str, Any]
AnyAnswer = TypeVar("AnyAnswer", Answer, NetworkAnswer)
MODELS = ("auto", "network", "curve")
"""What may be made of results."""
_OTHER_LIMITS = ("contention", "disk", "memory", "generator")
"""Kinds of limit that more CPUs do not raise."""
DRAWS = 200
"""Of everything that is not known for sure; fitted models have replicates of their own number. [1]"""


@dataclass(frozen=True)
class Basis:
    """A model to be sized.

    Attributes
    ----------
    source : str
        As the user named it.
    document : dict
        The model in the engine's form.
    fitted : FittedFile or None
        What it rests on; None where nothing is said of it.
    assumptions : list of dict
        `{assumes, tested}`, as the fit tells them.
    why : str
        Why this model was made of results; empty for one of a file.
    doubts : tuple of str
        What the fit doubts.
    guess : str
        Reason why the effect of more servers is unknown; empty if measurements show that they limit.
    asserted : bool
        Whether the user states that these servers limit.
    unreached : bool
        Whether the measurements did not reach a limit.
    """

    source: str
    document: Json
    fitted: FittedFile | None = None
    assumptions: tuple[Json, ...] = ()
    why: str = ""
    doubts: tuple[str, ...] = ()
    guess: str = ""
    asserted: bool = False
    unreached: bool = False

    @property
    def kind(self) -> str:
        """`curve` or `network` of measurements, or `file` where nothing is said of a measurement."""
        return "file" if self.fitted is None else self.fitted.kind

    @property
    def transactions(self) -> dict[str, str]:
        """The class of each transaction."""
        return chain_by_transaction(self.document)

    def correction(self, name: str | None, metric: str) -> tuple[float, float, float] | None:
        """Measured over computed percentile of a class or transaction: mean, least, largest; None if not measured.

        Raises
        ------
        ModelError
            If percentiles of the class were measured, but not this one: the ratio of another says nothing of its tail.
        """
        if self.fitted is None or name is None or name not in self.fitted.percentiles:
            return None
        known = {"p95": self.fitted.percentiles[name], **self.fitted.tails.get(name, {})}
        if metric not in known:
            raise ModelError(
                f"{metric} of {name} was not measured, and {', '.join(known)} do not tell how long its tail is",
                hint=f"use an objective for one of {', '.join(known)}, or fit the model to runs with more transactions",
            )
        ratio, low, high = known[metric]
        return float(ratio), float(low), float(high)

    @property
    def classes(self) -> dict[str, Json]:
        """Classes by name."""
        return {one["name"]: one for one in self.document["classes"]}

    @property
    def stations(self) -> dict[str, Json]:
        """Stations by name."""
        return {one["name"]: one for one in self.document["stations"]}

    @property
    def queues(self) -> list[str]:
        """Stations where somebody may wait."""
        return [name for name, one in self.stations.items() if one["discipline"] != "delay"]

    def draws(self, uncertainty: float | None) -> list[dict[str, float]]:
        """Factors of the demands by station, in replicates; none where nothing is known of how sure they are."""
        rows = self._spread(uncertainty)
        count = len(next(iter(rows.values()), []))
        # A demand of nothing cannot be solved for; a millionth of it changes no answer.
        return [{name: max(float(row[place]), 1e-6) for name, row in rows.items()} for place in range(count)]

    def _spread(self, uncertainty: float | None) -> dict[str, Floats]:
        if self.fitted is not None and self.fitted.draws:
            return {name: np.array(row) for name, row in self.fitted.draws.items()}
        if not uncertainty:
            return {}
        # Of a log-normal variable with mean 1 and this relative standard deviation.
        width = float(np.sqrt(np.log1p(uncertainty**2)))
        return {
            name: np.exp(width * np.array(scores(DRAWS, f"demand {name}")) - width**2 / 2) for name in self.stations
        }


@dataclass(frozen=True)
class Wanted:
    """Which model is made of results.

    Attributes
    ----------
    configuration : str or None
        Part of the label of the configuration of a study.
    servers : int or None
        Of the bottleneck of a curve, where the results do not tell.
    model : str
        One of `MODELS`; `auto` is the network where it tells resources apart and passes its test, else the curve.
    """

    configuration: str | None = None
    servers: int | None = None
    model: str = "auto"


def load_basis(source: Path, wanted: Wanted | None = None) -> Basis:
    """Read a model file, or make the network or the closed curve of a results folder.

    Raises
    ------
    StudyError
        If the file is wrong.
    MeasurementError
        If no run may be modelled, or the points reject the model.
    """
    if is_results(source):
        return _measured(source, wanted or Wanted())
    if source.is_dir():
        message = "must be a model file or a results folder, got a folder without results"
        raise StudyError.at(source, message)
    problem = load_model(source)
    _refuse_unsolvable(source, problem.document, problem)
    return Basis(str(source), problem.document, problem.fitted)


def _refuse_unsolvable(source: Path, document: Json, problem: Any) -> None:
    """What cannot be solved under hardly any load cannot be solved at all: it needs simulation."""
    light = [
        {**one, "users": 1} if one.get("users") else {**one, "arrival_rate_per_s": 1e-9 * one["arrival_rate_per_s"]}
        for one in document["classes"]
    ]
    faults = solve_models([{**document, "classes": light}])[0].get("faults")
    if faults:
        raise StudyError(
            problem.faults(faults), hint=f"{source}: sizing solves the model many times; it must be solvable"
        )


def _measured(source: Path, wanted: Wanted) -> Basis:
    """The network where it is wanted, or tells more than the curve; else the curve."""
    if wanted.model == "curve" or (wanted.model == "auto" and wanted.servers is not None):
        return _curve(source, wanted, "the closed curve was asked for")
    answers = network_answers(source, wanted.configuration)
    answer = _the_only(answers)
    why_not = _why_no_network(answer)
    if wanted.model == "network" and answer.network is not None:
        # What is asked for is refused only where the network itself is.
        return _network(source, answer, "it was asked for")
    if wanted.model == "network":
        raise MeasurementError(f"{source}: what was measured gives no network to size from: {why_not}")
    if why_not:
        return _curve(source, wanted, f"no network of resources: {why_not}")
    names = ", ".join(answer.document["stations"])
    return _network(source, answer, f"{names} can be told apart, and the test of the network passed")


def _why_no_network(answer: NetworkAnswer) -> str:
    told = answer.document
    if told["refused"] is not None:
        return str(told["refused"])
    if told["verdict"]["level"] == REJECTED:
        return "; ".join(one["text"] for one in told["verdict"]["reasons"] if one["level"] == REJECTED)
    if len(told["stations"]) < 2:
        name = next(iter(told["stations"]))
        return f"{name} is the only resource that was observed; --model network sizes it by transaction"
    return ""


def _network(source: Path, answer: NetworkAnswer, why: str) -> Basis:
    try:
        text = network_text(answer, str(source))
    except ModelError as error:
        raise MeasurementError(f"{source}: what was measured gives no model to size from: {error}") from None
    doubts = tuple(one["text"] for one in answer.document["verdict"]["reasons"])
    return _of_text(source, text, tuple(answer.document["assumptions"]), why, doubts)


def _the_only(answers: Sequence[AnyAnswer]) -> AnyAnswer:
    if len(answers) != 1:
        labels = "; ".join(str(one.document["label"]) for one in answers) or "none"
        message = f"must choose one configuration of the study by part of its label, got {labels}"
        raise StudyError.at("<command line>", message, where="--configuration")
    return answers[0]


def _curve(source: Path, wanted: Wanted, why: str) -> Basis:
    answer = _the_only(fit_results(source, Wish("auto", servers=wanted.servers), wanted.configuration))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        _write(answer, str(source), path)
        text = path.read_text("utf-8")
    basis = _of_text(source, text, _assumptions(answer), why)
    unreached = (answer.document.get("shape") or {}).get("kind") == "none"
    return replace(basis, guess=_guess(answer), asserted=wanted.servers is not None, unreached=unreached)


def _guess(answer: Answer) -> str:
    """Reason why the effect of more servers is unknown for a curve; empty if measurements show that they limit."""
    if answer.configuration is None:
        return ""
    if answer.configuration.bottleneck() is None:
        return "no CPU of the system was observed: neither its limit nor the effect of more CPUs is known"
    shape = answer.document["shape"]
    if shape["kind"] in _OTHER_LIMITS:
        return f"no measurement shows that more CPUs help: {shape['sentence']}"
    return ""


def _of_text(source: Path, text: str, assumptions: tuple[Json, ...], why: str, doubts: tuple[str, ...] = ()) -> Basis:
    """A basis of a model file that was just made: what a user would get from the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        path.write_text(text, "utf-8")
        problem = load_model(path)
    node = problem.tree.child("fitted")
    assert node is not None
    return Basis(str(source), problem.document, FittedFile.model_validate(node.plain()), assumptions, why, doubts)


def _assumptions(answer: Answer) -> tuple[Json, ...]:
    """What the network assumes; that it is one, where another curve describes the points better."""
    curve = answer.document.get("curve")
    if curve in ("closed", "load-dependent"):
        return tuple((answer.document.get("trust") or {}).get("assumptions", []))
    tested = "no curve describes the points" if curve is None else f"{curve} describes the points better"
    return ({"assumes": "the system is a closed network with one bottleneck", "tested": tested},)


def _write(answer: Answer, source: str, path: Path) -> None:
    try:
        written_model(answer, source, path)
    except ModelError as error:
        reasons = [one["text"] for one in (answer.document.get("verdict") or {}).get("reasons", [])]
        raise MeasurementError(
            "\n".join(
                [f"{source}: what was measured gives no model to size from: {error}", *(f"  {r}" for r in reasons)]
            )
        ) from None

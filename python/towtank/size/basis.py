"""What is sized: a model as the engine reads it, with what is known of how far its numbers carry."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from towtank.errors import MeasurementError, ModelError, StudyError
from towtank.model import load_model, solve_models
from towtank.model.file import FittedFile
from towtank.model.fitting import Answer, Wish, fit_results, is_results, written_model
from towtank.model.fitting.observations import Floats

Json = dict[str, Any]
DRAWS = 200
SEED = 20260101
"""The same question gives the same answer."""


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
    """

    source: str
    document: Json
    fitted: FittedFile | None = None
    assumptions: tuple[Json, ...] = ()

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
        stream = np.random.default_rng(SEED)
        # Of a log-normal variable with mean 1 and this relative standard deviation.
        width = float(np.sqrt(np.log1p(uncertainty**2)))
        return {name: np.exp(width * stream.standard_normal(DRAWS) - width**2 / 2) for name in self.stations}


def load_basis(source: Path, configuration: str | None = None, servers: int | None = None) -> Basis:
    """Read a model file, or fit the closed curve of a results folder.

    Parameters
    ----------
    source : Path
    configuration : str, optional
        Part of the label of the configuration of a study.
    servers : int, optional
        Of the bottleneck, where the results do not tell.

    Raises
    ------
    StudyError
        If the file is wrong.
    MeasurementError
        If no run may be modelled, or the points reject the curve.
    """
    if is_results(source):
        return _fitted(source, configuration, servers)
    if source.is_dir():
        message = "must be a model file or a results folder, got a folder without results"
        raise StudyError.at(source, message)
    problem = load_model(source)
    _refuse_unsolvable(source, problem.document, problem)
    node = problem.tree.child("fitted")
    fitted = None if node is None else FittedFile.model_validate(node.plain())
    return Basis(str(source), problem.document, fitted)


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


def _fitted(source: Path, configuration: str | None, servers: int | None) -> Basis:
    answers = fit_results(source, Wish("auto", servers=servers), configuration)
    if len(answers) != 1:
        labels = "; ".join(str(one.document["label"]) for one in answers) or "none"
        message = f"must choose one configuration of the study by part of its label, got {labels}"
        raise StudyError.at("<command line>", message, where="--configuration")
    answer = answers[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        _write(answer, str(source), path)
        problem = load_model(path)
    node = problem.tree.child("fitted")
    assert node is not None
    return Basis(str(source), problem.document, FittedFile.model_validate(node.plain()), _assumptions(answer))


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

"""Solves many models in one call of the engine."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from pydantic_core import from_json

from towtank.engine import binary
from towtank.errors import EngineError
from towtank.model.engine_model import EngineModel, json_of
from towtank.model.solved import SolvedOutcome, SolverFault
from towtank.model.transactions import chained, spread

SOLVING_METHODS = ("auto", "exact", "bard-schweitzer", "linearizer")


def solve_models(models: Sequence[EngineModel], method: str = "auto") -> list[SolvedOutcome]:
    """Solve models by one of `SOLVING_METHODS` in one call of the engine, on all CPUs."""
    chains = [chained(model) for model in models]
    return [_whole(*each) for each in zip(models, chains, _engine(chains, "--method", method), strict=True)]


def _whole(model: EngineModel, chain: EngineModel, outcome: SolvedOutcome) -> SolvedOutcome:
    answer = outcome.answer
    return outcome if answer is None else SolvedOutcome(answer=spread(model, chain, answer))


def check_models(models: Sequence[EngineModel]) -> list[tuple[SolverFault, ...]]:
    """Return the faults of each model, without solving the models."""
    return [each.faults for each in _engine([chained(model) for model in models], "--check")]


def _engine(models: Sequence[EngineModel], *options: str) -> list[SolvedOutcome]:
    return [SolvedOutcome.model_validate(each) for each in from_json(solved_text(json_of(models), *options))]


def solved_text(models: str, *options: str) -> str:
    """Return the answers of the engine to a list of models, as JSON text; the models are JSON text, too."""
    done = subprocess.run([str(binary()), "solve", *options], input=models, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2) or not done.stdout:
        raise EngineError(f"towtank-engine solve ended with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout

"""Solves many models in one call of the engine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from towtank.engine import binary
from towtank.errors import EngineError
from towtank.model.engine_model import EngineModel, json_of
from towtank.model.transactions import chained, spread

SOLVING_METHODS = ("auto", "exact", "bard-schweitzer", "linearizer")


def solve_models(models: Sequence[EngineModel], method: str = "auto") -> list[dict[str, Any]]:
    """Solve models in one call of the engine, on all CPUs.

    Parameters
    ----------
    models : sequence of EngineModel
    method : str, default "auto"
        One of `SOLVING_METHODS`.

    Returns
    -------
    list of dict
        For each model either `{"answer": {...}}` or `{"faults": [{"path", "message"}]}`.
    """
    chains = [chained(model) for model in models]
    solved = _engine(chains, "--method", method)
    return [
        {**each, "answer": spread(model, chain, each["answer"])} if "answer" in each else each
        for model, chain, each in zip(models, chains, solved, strict=True)
    ]


def check_models(models: Sequence[EngineModel]) -> list[list[dict[str, Any]]]:
    """Return the faults of each model as `[{"path", "message"}]`, without solving the models."""
    return [each.get("faults", []) for each in _engine([chained(model) for model in models], "--check")]


def _engine(models: Sequence[EngineModel], *options: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [str(binary()), "solve", *options], input=json_of(models), capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 2) or not done.stdout:
        raise EngineError(f"towtank-engine solve ended with status {done.returncode}: {done.stderr.strip()}")
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers

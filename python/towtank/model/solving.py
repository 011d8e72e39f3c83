"""Solves many models in one call of the engine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from towtank.engine import binary
from towtank.errors import EngineError
from towtank.model.engine_model import EngineModel, json_of
from towtank.model.solved import SolvedOutcome, SolverFault
from towtank.model.transactions import ByTransaction, chained, results_by_transaction, spread

SOLVING_METHODS = ("auto", "exact", "bard-schweitzer", "linearizer")


@dataclass(frozen=True)
class SolvedChain:
    """Model, the model with one chain instead of the transactions of each class (`chained`), and the outcome of the
    engine for the latter. The results of transactions are computed on request, because a fit solves thousands of
    models and needs few of them.
    """

    model: EngineModel
    chain: EngineModel
    outcome: SolvedOutcome

    @property
    def results(self) -> ByTransaction:
        """Results of transactions, by class and transaction; raises EngineError if there is no solution."""
        return results_by_transaction(self.model, self.chain, self.outcome.solution)

    @cached_property
    def whole(self) -> SolvedOutcome:
        """Outcome with the results of transactions."""
        answer = self.outcome.answer
        return self.outcome if answer is None else SolvedOutcome(answer=spread(self.model, self.chain, answer))


def solve_models(models: Sequence[EngineModel], method: str = "auto") -> list[SolvedOutcome]:
    """Solve models by one of `SOLVING_METHODS` in one call of the engine, on all CPUs."""
    return [each.whole for each in solve_chains(models, method)]


def solve_chains(models: Sequence[EngineModel], method: str = "auto") -> list[SolvedChain]:
    """Solve models as `solve_models` does, without results of transactions."""
    chains = [chained(model) for model in models]
    outcomes = _engine(chains, "--method", method)
    return [SolvedChain(*each) for each in zip(models, chains, outcomes, strict=True)]


def check_models(models: Sequence[EngineModel]) -> list[tuple[SolverFault, ...]]:
    """Return the faults of each model, without solving the models."""
    return [each.faults for each in _engine([chained(model) for model in models], "--check")]


def _engine(models: Sequence[EngineModel], *options: str) -> list[SolvedOutcome]:
    done = subprocess.run(
        [str(binary()), "solve", *options], input=json_of(models), capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 2) or not done.stdout:
        raise EngineError(f"towtank-engine solve ended with status {done.returncode}: {done.stderr.strip()}")
    return [SolvedOutcome.model_validate(each) for each in json.loads(done.stdout)]

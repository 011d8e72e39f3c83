"""Simulates models with the engine, and returns estimates with confidence intervals."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from towtank.engine import binary
from towtank.errors import EngineError
from towtank.estimates import significant
from towtank.model.engine_model import EngineModel, json_of
from towtank.model.solved import SimulatedOutcome
from towtank.model.transactions import chained, spread

_DIGITS = 6
"""Number of significant digits of times, visits and rates in a simulated model. [1]

The ninth digit of a fitted number depends on the type of CPU. If this digit reached the engine, the simulation would
generate different random events on different CPUs.
"""
_CERTAIN = ("routing",)
"""Keys of a model whose numbers are not rounded. These numbers come from a file, and rounding would change
their sum.
"""


@dataclass(frozen=True)
class SimulationSettings:
    """Settings of a simulation.

    Attributes
    ----------
    precision : float
        Relative half-width of the intervals of throughput and response time at which the simulation stops, > 0. [ratio]
    confidence : float
        Level of all intervals, in (0, 1).
    replications : int
        Independent runs, at least 2.
    events : int
        Highest number of events over all replications.
    time_s : float, optional
        Longest wall-clock time of the simulation, checked between rounds. A simulation that reaches this time is not
        reproducible. [s]
    seed : int
        Seed of the random generator.
    threads : int, optional
        Threads; None for all processors. The answer does not depend on their number.
    """

    precision: float = 0.01
    confidence: float = 0.95
    replications: int = 10
    events: int = 1_000_000_000
    time_s: float | None = None
    seed: int = 1
    threads: int | None = None

    def options(self) -> list[str]:
        """Return the settings of a simulation as command-line options of the engine."""
        values = {
            "--precision": self.precision,
            "--confidence": self.confidence,
            "--replications": self.replications,
            "--events": self.events,
            "--time": self.time_s,
            "--seed": self.seed,
            "--threads": self.threads,
        }
        return [text for key, value in values.items() if value is not None for text in (key, str(value))]


def simulate_models(models: Sequence[EngineModel], settings: SimulationSettings | None = None) -> SimulatedOutcome:
    """Simulate one or more models with the same random numbers, and return estimates with confidence intervals."""
    chains = [chained(model) for model in models]
    command = [str(binary()), "simulate", *(settings or SimulationSettings()).options()]
    done = subprocess.run(
        command, input=json.dumps(_settled(json.loads(json_of(chains)))), capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 2) or not done.stdout:
        raise EngineError(f"towtank-engine simulate ended with status {done.returncode}: {done.stderr.strip()}")
    outcome = SimulatedOutcome.model_validate(json.loads(done.stdout))
    if outcome.faults:
        return outcome
    answers = tuple(spread(*each) for each in zip(models, chains, outcome.answers, strict=True))
    return outcome.model_copy(update={"answers": answers})


def _settled(part: Any) -> Any:
    """Round the numbers of a model to `_DIGITS` significant digits, except under the keys `_CERTAIN`."""
    if isinstance(part, dict):
        return {key: value if key in _CERTAIN else _settled(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_settled(value) for value in part]
    return significant(part, _DIGITS) if isinstance(part, float) else part

"""Sizes of pools whose wait is only coarsely approximated, by simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from towtank.model import SimulationSettings, simulate_models, solve_models
from towtank.size.drawn import Drawn
from towtank.size.evaluate import COARSE, Job, Outcome
from towtank.size.interval import between, duration_text
from towtank.size.question import Question
from towtank.size.resources import PoolSize, longest_waits, with_pool
from towtank.size.simulated import EVENTS, PRECISION, SEED
from towtank.size.sizing_file import WantedPoolFile
from towtank.size.steps import Step, Steps

_ROUNDS = 12
"""Sizes that are simulated; each is an eighth larger than the last. [1]"""


def simulated_pool(
    question: Question,
    wanted: WantedPoolFile,
    outcomes: Sequence[Outcome],
    found: PoolSize,
    steps: Steps,
    *,
    drawn: Drawn | None = None,
) -> PoolSize:
    """Enlarge a pool until its simulated wait is allowed; unchanged if its solution is no coarse approximation.

    Notes
    -----
    The ratio of the simulated to the computed wait is a factor in every draw, as that of a percentile is. A size that
    is more than enough is not made smaller.
    """
    pool, jobs = (found.name, wanted), [outcome.job for outcome in outcomes]
    if found.size is None or not _is_coarse(question, pool, jobs, found.size):
        return found
    groups = [] if drawn is None else [[outcome.job for outcome in group] for group in drawn.groups]
    size = found.size
    for _ in range(_ROUNDS):
        wait = _simulated_wait(question, pool, jobs, size)
        computed = longest_waits(question, pool, [jobs], size)[0]
        ratio = wait / computed if computed else 1.0
        waits = [ratio * each for each in longest_waits(question, pool, groups, size)]
        share = sum(each <= found.limit_s for each in waits) / len(waits) if waits else None
        if wait <= found.limit_s and (share is None or share >= question.file.probability - 1e-9):
            values = {"wait": wait, "limit": found.limit_s}
            formula, source = "least size that was simulated with wait <= limit", "simulated with the pool"
            steps.add(Step(f"pool {found.name}: size by simulation", formula, values, size, "1", source))
            known = between(waits).around(wait) if waits else None
            return replace(found, size=size, wait_s=wait, wait_interval=known, probability=share, simulated=True)
        size += max(1, size // 8)
    why = f"no size up to {size} keeps the simulated wait at {duration_text(found.limit_s)}"
    return replace(found, size=None, why_not=why, simulated=True)


def _is_coarse(question: Question, pool: tuple[str, WantedPoolFile], jobs: Sequence[Job], size: int) -> bool:
    answers = solve_models([with_pool(question, pool, job, size) for job in jobs])
    return any((solved.get("answer", {}).get("approximate_within") or 0.0) > COARSE for solved in answers)


def _simulated_wait(question: Question, pool: tuple[str, WantedPoolFile], jobs: Sequence[Job], size: int) -> float:
    """Mean wait of the class that waits longest, in the scenario with the longest; infinite if it is not known. [s]"""
    return max(_wait(with_pool(question, pool, job, size), pool[0]) for job in jobs)


def _wait(model: dict[str, Any], name: str) -> float:
    simulated = simulate_models([model], SimulationSettings(precision=PRECISION, events=EVENTS, seed=SEED))
    if "faults" in simulated or not simulated["answers"][0]["steady"]:
        return math.inf
    return max(simulated["answers"][0]["pools"][name]["waiting_time_s"].values(), default=0.0)

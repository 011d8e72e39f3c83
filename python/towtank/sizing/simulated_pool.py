"""Finds the size of a connection pool by simulation if its computed mean wait is too inaccurate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from towtank.model import EngineModel, SimulationSettings, simulate_models, solve_models
from towtank.sizing.drawn import Draws
from towtank.sizing.evaluate import COARSE, Job, Outcome
from towtank.sizing.factors import Factor
from towtank.sizing.interval import Interval, between, duration_text
from towtank.sizing.question import Question
from towtank.sizing.resources import PoolSize, longest_waits, with_pool
from towtank.sizing.scores import scores
from towtank.sizing.simulated import EVENTS, PRECISION, SEED
from towtank.sizing.sizing_file import WantedPoolFile
from towtank.sizing.steps import Step, Steps

_ROUNDS = 12
"""Highest number of pool sizes that are simulated. Each size is larger than the previous size by an eighth. [1]"""
_FINER = 0.25
"""Precision of a second simulation, as a share of the usual precision. [ratio]

The second simulation is run if the limit of the wait lies within the interval of the wait. The precision is that of
response times; the mean wait is much less precise, because few jobs wait.
"""


@dataclass(frozen=True)
class _Wait:
    """Simulated mean wait for a unit of a pool with `size` units, with its interval; infinite if unknown. [s]"""

    size: int
    value: float
    interval: Interval


def simulated_pool(
    question: Question,
    wanted: WantedPoolFile,
    outcomes: Sequence[Outcome],
    found: PoolSize,
    steps: Steps,
    *,
    drawn: Draws | None = None,
) -> PoolSize:
    """Enlarge a pool until its simulated mean wait is within the limit. If the computed wait of the pool is accurate,
    return the pool unchanged.

    Notes
    -----
    In every random draw, the computed wait is multiplied by a random value of the ratio of simulated to computed wait.
    Without random draws, the upper end of the simulated wait's interval must be within the limit. A pool that is larger
    than necessary is not reduced.
    """
    pool, jobs = (found.name, wanted), [outcome.job for outcome in outcomes]
    if found.size is None or not _is_coarse(question, pool, jobs, found.size):
        return found
    size = found.size
    for _ in range(_ROUNDS):
        wait = _simulated_wait(question, pool, jobs, size, found.limit_s)
        waits = _drawn_waits(question, pool, drawn, jobs, wait)
        judged = waits or [wait.interval.high]
        share = sum(each <= found.limit_s for each in judged) / len(judged)
        if wait.value <= found.limit_s and share >= (question.file.probability - 1e-9 if waits else 1.0):
            known = between(waits).around(wait.value) if waits else wait.interval
            values = {"wait": wait.value, "limit": found.limit_s}
            formula, source = "smallest simulated size with wait <= limit", "simulated with the pool"
            steps.add(Step(f"pool {found.name}: size by simulation", formula, values, size, "1", source))
            return replace(
                found,
                size=size,
                wait_s=wait.value,
                wait_interval=known,
                probability=share if waits else None,
                simulated=True,
            )
        size += max(1, size // 8)
    why = f"no pool size up to {size} keeps the simulated wait within {duration_text(found.limit_s)}"
    return replace(found, size=None, why_not=why, simulated=True)


def _is_coarse(question: Question, pool: tuple[str, WantedPoolFile], jobs: Sequence[Job], size: int) -> bool:
    answers = solve_models([with_pool(question, pool, job, size) for job in jobs])
    return any(solved.answer is not None and (solved.answer.approximate_within or 0.0) > COARSE for solved in answers)


def _drawn_waits(
    question: Question, pool: tuple[str, WantedPoolFile], drawn: Draws | None, jobs: Sequence[Job], found: _Wait
) -> list[float]:
    """Return the mean wait for a pool unit in each random draw; an empty list without draws. The computed waits are
    corrected by the simulation, with a random value of its error. [s]
    """
    groups = [] if drawn is None else [[outcome.job for outcome in group] for group in drawn.groups]
    if not found.value or math.isinf(found.value):
        return [found.value] * len(groups)
    computed, *waits = longest_waits(question, pool, [jobs, *groups], found.size)
    if not computed:
        return [found.value] * len(groups)
    ratio = Factor(*(each / computed for each in (found.value, found.interval.low, found.interval.high)))
    errors = scores(len(groups), f"simulation of pool {pool[0]}") if groups else ()
    return [ratio.drawn(error) * wait for error, wait in zip(errors, waits, strict=True)]


def _simulated_wait(
    question: Question, pool: tuple[str, WantedPoolFile], jobs: Sequence[Job], size: int, limit: float
) -> _Wait:
    """Return the longest simulated mean wait for a pool unit, over all classes and failure scenarios; infinite if
    unknown. [s]
    """
    models = [with_pool(question, pool, job, size) for job in jobs]
    value, interval = max((_wait(model, pool[0], PRECISION) for model in models), key=lambda wait: wait[0])
    if interval.low <= limit < interval.high < math.inf:
        finer = PRECISION * _FINER
        value, interval = max((_wait(model, pool[0], finer) for model in models), key=lambda wait: wait[0])
    return _Wait(size, value, interval)


def _wait(model: EngineModel, name: str, precision: float) -> tuple[float, Interval]:
    """Simulate a model, and return the mean wait for a pool unit of the class that waits longest, with its interval.
    [s]
    """
    simulated = simulate_models([model], SimulationSettings(precision=precision, events=EVENTS, seed=SEED))
    answer = simulated.answers[0] if simulated.answers else None
    if answer is None or not answer.steady:
        return math.inf, Interval(math.inf, math.inf)
    pool = answer.pools[name]
    waits = {place: wait for place, wait in pool.waiting_time_s.items() if wait is not None}
    if not waits:
        return 0.0, Interval(0.0, 0.0)
    longest = max(waits, key=lambda place: waits[place])
    low, high = pool.ends(f"waiting_time_s.{longest}")
    if low is None or high is None:
        # If the error of the wait exceeds the wait, the simulator gives no interval for the wait. The relative interval
        # of the number of waiting jobs is then used.
        most = pool.ends("waiting")[1]
        low, high = 0.0, waits[longest] * most / pool.waiting if most is not None and pool.waiting else math.inf
    return waits[longest], Interval(low, high)

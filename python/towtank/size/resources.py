"""Memory, disks, connections and pools of a candidate, each by steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from scipy.optimize import brentq
from scipy.stats import norm

from towtank.model import solve_models
from towtank.model.stations import NODE
from towtank.size.drawn import Drawn
from towtank.size.evaluate import Job, Outcome, layouts_of, model_of
from towtank.size.interval import Interval, between, duration_text
from towtank.size.quantities import YEAR_D
from towtank.size.question import Question
from towtank.size.sizing_file import MemoryFile, SizingFile, WantedPoolFile
from towtank.size.steps import Step, Steps
from towtank.size.tiers import Option, Tier
from towtank.units import format_size

FIRST_GUESS_WAITS = 0.1
"""Share that waits in the first guess of square-root staffing; what is solved then decides. [ratio]"""
HOLDING_SHARE = 0.01
"""Mean wait for a unit of a pool over its holding time, where none is asked for. [ratio]"""
_POOL_STEPS = 16
"""Of doubled length, in which a size that is enough for the draws is searched. [1]"""


def staffing_factor(waits: float) -> float:
    """beta of square-root staffing for a share that waits.

    Parameters
    ----------
    waits : float
        alpha, in (0, 1). [ratio]

    Notes
    -----
    alpha = 1 / (1 + beta Phi(beta) / phi(beta)), the limit of Erlang C for m = a + beta sqrt(a) servers as the offered
    work a grows [1]_.

    References
    ----------
    .. [1] S. Halfin and W. Whitt, "Heavy-traffic limits for queues with many exponential servers", Operations Research
           29(3), 567-588, 1981, doi:10.1287/opre.29.3.567.
    """
    return float(brentq(lambda beta: 1 / (1 + beta * norm.cdf(beta) / norm.pdf(beta)) - waits, 1e-9, 20.0))


def square_root_staffing(work: float, waits: float = FIRST_GUESS_WAITS) -> int:
    """Servers for offered work so that about a share waits: m = a + beta sqrt(a), rounded up. [1]"""
    return max(1, math.ceil(work + staffing_factor(waits) * math.sqrt(work)))


def data_bytes(file: SizingFile, load_growth: float) -> float:
    """Data at the horizon, one copy. [byte]

    Parameters
    ----------
    file : SizingFile
        With `data`.
    load_growth : float
        Factor of the load until the horizon, which data follow that have no growth of their own. [1]
    """
    assert file.data is not None
    years = file.load.horizon / YEAR_D
    return file.data.now * (load_growth if file.data.growth is None else file.data.growth**years)


def disk_room(file: SizingFile, load_growth: float, steps: Steps) -> float:
    """Room that disks must have. [byte]"""
    data = file.data
    assert data is not None
    later = data_bytes(file, load_growth)
    steps.add(
        Step(
            "data at the horizon",
            "D0 g",
            {"D0": data.now, "g": later / data.now if data.now else 1.0},
            later,
            "byte",
            "asked, data" if data.growth is not None or load_growth == 1 else "data grow as the load",
        )
    )
    values = {"D": later, "copies": data.copies, "free": data.free}
    return steps.add(
        Step(
            "room on disks",
            "D copies / (1 - free)",
            values,
            later * data.copies / (1 - data.free),
            "byte",
            "asked, data",
        )
    )


def disks_needed(room: float, disk_size: int) -> int:
    """Disks for a room. [1]"""
    return max(1, math.ceil(room / disk_size - 1e-9))


def connections(question: Question, outcome: Outcome) -> float:
    """Connections that are open: one for each user, and those of open classes until they are idle long enough. [1]"""
    keep = question.file.keep_alive or 0.0
    found = 0.0
    for name, rate in outcome.throughput.items():
        users = outcome.job.load.users.get(name)
        found += users if users is not None else rate * (outcome.response_s[name] + keep)
    return found


@dataclass(frozen=True)
class MemoryNeed:
    """Memory of one node of a tier.

    Attributes
    ----------
    parts : dict of str to float
        By what it is for. [byte]
    free : float
        Share that stays free. [ratio]
    """

    parts: dict[str, float]
    free: float

    @property
    def total(self) -> float:
        """With what stays free. [byte]"""
        return sum(self.parts.values()) / (1 - self.free)


def memory_of(
    question: Question,
    tier: Tier,
    one: Option,
    outcome: Outcome,
    steps: Steps | None = None,
    *,
    interval: Interval | None = None,
) -> MemoryNeed:
    """Memory of one node of a tier, with the nodes lost that the outcome says; `interval` of the sum, for its step."""
    lost = question.file.nodes_lost if outcome.job.lost == tier.name else 0
    nodes = max(1, one.nodes - lost)
    parts = {}
    for entry in question.file.memory.get(tier.name, ()):
        size, formula, values = _memory_part(question, entry, one, outcome, nodes)
        parts[entry.what] = size
        if steps is not None:
            steps.add(
                Step(
                    f"memory of a node of {tier.name}: {entry.what}",
                    formula,
                    values,
                    size,
                    "byte",
                    "asked, memory",
                )
            )
    need = MemoryNeed(parts, question.file.memory_free)
    if steps is not None and parts:
        values = {"sum": sum(parts.values()), "free": need.free}
        steps.add(
            Step(
                f"memory of a node of {tier.name}",
                "sum / (1 - free)",
                values,
                need.total,
                "byte",
                "asked, memory",
                interval,
            )
        )
    return need


def _memory_part(
    question: Question, entry: MemoryFile, one: Option, outcome: Outcome, nodes: int
) -> tuple[float, str, dict[str, Any]]:
    if entry.share is not None:
        data = data_bytes(question.file, question.growth)
        return entry.share * data, "data share", {"data": data, "share": entry.share}
    size = float(entry.size or 0)
    counts = {
        "node": 1.0,
        "cpu": float(one.cpus),
        "user": sum(outcome.job.load.users.values()),
        "transaction": sum(outcome.present.values()),
        "connection": connections(question, outcome),
    }
    count = counts[entry.per]
    if entry.per in ("node", "cpu"):
        return size * count, f"size {entry.per}s", {"size": size, f"{entry.per}s": count}
    return size * count / nodes, f"size {entry.per}s / nodes", {"size": size, f"{entry.per}s": count, "nodes": nodes}


def memory_misses(question: Question, outcomes: list[Outcome]) -> list[str]:
    """Tiers whose machines have less memory than they need, in words."""
    told = []
    for number, tier in enumerate(question.tiers):
        one = outcomes[0].job.candidate[number]
        if tier.name not in question.file.memory or one.memory_bytes is None:
            continue
        need = max(memory_of(question, tier, one, each).total for each in outcomes)
        if need > one.memory_bytes:
            told.append(
                f"a node of {tier.name} needs {format_size(need)} of memory, {one.machine} has "
                f"{format_size(one.memory_bytes)}"
            )
    return told


@dataclass(frozen=True)
class PoolSize:
    """A pool with its size.

    Attributes
    ----------
    name : str
    size : int or None
        None where none is found.
    work : float
        Units held on average. [erlang]
    first_guess : int
        Of square-root staffing. [1]
    wait_s, limit_s : float
        Mean wait for a unit, solved, and the longest one allowed. [s]
    why_not : str
        Why there is no size.
    work_interval, wait_interval : Interval or None
        Of these, from the draws; None without draws.
    at_best : int or None
        The least size at the best estimate, whatever the draws say. [1]
    probability : float or None
        Share of the draws in which the wait is allowed; None without draws. [ratio]
    """

    name: str
    size: int | None
    work: float
    first_guess: int
    wait_s: float
    limit_s: float
    why_not: str = ""
    work_interval: Interval | None = None
    wait_interval: Interval | None = None
    at_best: int | None = None
    probability: float | None = None


def _held(wanted: WantedPoolFile, outcome: Outcome) -> tuple[float, float]:
    """Units of a pool that are held on average, and the rate at which they are taken. [erlang], [1/s]"""
    held = {
        each: sum(outcome.stations[one].residence_s.get(each, 0.0) for one in wanted.holds if one in outcome.stations)
        for each in outcome.throughput
    }
    work = sum(outcome.throughput[each] * time for each, time in held.items())
    return work, sum(outcome.throughput[each] for each, time in held.items() if time > 0)


def pool_size(
    question: Question,
    name: str,
    wanted: WantedPoolFile,
    outcome: Outcome,
    steps: Steps,
    *,
    drawn: Drawn | None = None,
) -> PoolSize:
    """The smallest pool whose mean wait is allowed, at the best estimate and in as many draws as are asked for."""
    work, rate = _held(wanted, outcome)
    busy = None if drawn is None else drawn.interval(lambda group: _held(wanted, group[0])[0])
    holding = work / rate if rate else 0.0
    limit = wanted.wait_at_most if wanted.wait_at_most is not None else HOLDING_SHARE * holding
    beta = staffing_factor(FIRST_GUESS_WAITS)
    guess = square_root_staffing(work) if work else 1
    steps.add(
        Step(
            f"pool {name}: units held",
            "sum X h",
            {"X": rate, "h": holding},
            work,
            "1",
            "Little's law; h: residence at what is held, solved",
            busy,
        )
    )
    steps.add(
        Step(
            f"pool {name}: first guess",
            "ceil(a + beta sqrt(a))",
            {"a": work, "beta": beta},
            guess,
            "1",
            f"square-root staffing, {100 * FIRST_GUESS_WAITS:.0f} % wait (Halfin and Whitt 1981)",
        )
    )
    size, wait, why = _solved_pool(question, (name, wanted), outcome.job, guess, limit)
    found = PoolSize(name, size, work, guess, wait, limit, why, busy, at_best=size)
    if size is None:
        return found
    source = "solved with the pool in the model"
    values = {"wait": wait, "limit": limit}
    steps.add(Step(f"pool {name}: size", "least size with wait <= limit", values, size, "1", source))
    return found if drawn is None else _sure_pool(question, wanted, (outcome.job, drawn), found, steps)


def _sure_pool(
    question: Question, wanted: WantedPoolFile, of: tuple[Job, Drawn], found: PoolSize, steps: Steps
) -> PoolSize:
    """The least pool that is enough in as many draws as are asked for."""
    job, drawn = of
    assert found.size is not None
    pool, asked, count = (found.name, wanted), question.file.probability, len(drawn.groups)
    needs = _Needs(question, pool, [group[0].job for group in drawn.groups], found.limit_s, found.size)
    size = needs.least(math.floor((1 - asked) * count + 1e-9))
    if size is None:
        why = f"no size keeps the wait at {duration_text(found.limit_s)} in {100 * asked:.3g} % of the draws"
        return replace(found, size=None, why_not=why)
    waits = needs.waits(size)
    share = sum(wait <= found.limit_s for wait in waits) / count
    best = _longest_wait(solve_models([_with_pool(question, pool, job, size)])[0], found.name)[0]
    values = {"asked": asked, "draws": count}
    formula, source = "least size with wait <= limit in a share of the draws", "solved with the pool in every draw"
    steps.add(Step(f"pool {found.name}: size with the probability asked", formula, values, size, "1", source))
    return replace(found, size=size, wait_s=best, wait_interval=between(waits), probability=share)


class _Needs:
    """Sizes that draws need: a draw is solved only where it is not known whether the size is enough for it."""

    def __init__(
        self, question: Question, pool: tuple[str, WantedPoolFile], jobs: list[Job], limit: float, least: int
    ) -> None:
        self._question, self._pool, self._jobs, self._limit, self._least = question, pool, jobs, limit, least
        self._short = [0] * len(jobs)
        self._enough: list[float] = [math.inf] * len(jobs)

    def waits(self, size: int, places: Sequence[int] | None = None) -> list[float]:
        """Mean waits for a unit in draws, in all if none are named. [s]"""
        chosen = range(len(self._jobs)) if places is None else places
        models = [_with_pool(self._question, self._pool, self._jobs[place], size) for place in chosen]
        return [_longest_wait(answer, self._pool[0])[0] for answer in solve_models(models)] if models else []

    def _missing(self, size: int) -> int:
        """Draws for which a size is not enough. [1]"""
        open_ones = [n for n in range(len(self._jobs)) if self._short[n] < size < self._enough[n]]
        for place, wait in zip(open_ones, self.waits(size, open_ones), strict=True):
            if wait <= self._limit:
                self._enough[place] = size
            else:
                self._short[place] = size
        return sum(size <= short for short in self._short)

    def least(self, missing: int) -> int | None:
        """The least size, not below that of the best estimate, that is not enough for at most so many draws."""
        low, high = self._least - 1, self._least
        for step in range(_POOL_STEPS):
            if self._missing(high) <= missing:
                break
            low, high = high, high + 2**step
        else:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if self._missing(middle) <= missing:
                high = middle
            else:
                low = middle
        return high


def _with_pool(question: Question, pool: tuple[str, WantedPoolFile], job: Job, size: int) -> dict[str, Any]:
    """The model of a job with a pool of a size."""
    name, wanted = pool
    model, layouts = model_of(question, job), layouts_of(question, job)
    holds = []
    for one in wanted.holds:
        nodes = layouts[one].nodes if one in layouts else 1
        holds += [one] if nodes == 1 else [f"{one}{NODE}{number}" for number in range(1, nodes + 1)]
    return {**model, "pools": [*model["pools"], {"name": name, "size": size, "holds": holds, "classes": []}]}


def _longest_wait(answer: dict[str, Any], name: str) -> tuple[float, str]:
    """Mean wait of the class that waits longest for a pool, or why there is no steady state. [s]"""
    if "faults" in answer:
        return math.inf, "; ".join(one["message"] for one in answer["faults"])
    return max(answer["answer"]["pools"][name]["waiting_time_s"].values(), default=0.0), ""


def _solved_pool(
    question: Question, pool: tuple[str, WantedPoolFile], job: Job, guess: int, limit: float
) -> tuple[int | None, float, str]:
    """Least size by bisection: its wait falls with its size."""

    def wait(size: int) -> tuple[float, str]:
        return _longest_wait(solve_models([_with_pool(question, pool, job, size)])[0], pool[0])

    high = guess
    for _ in range(20):
        found, why = wait(high)
        if found <= limit:
            break
        high *= 2
    else:
        return None, math.inf, why or f"no size keeps the wait at {duration_text(limit)}"
    low, best = 0, found
    while high - low > 1:
        middle = (low + high) // 2
        found, _ = wait(middle)
        if found <= limit:
            high, best = middle, found
        else:
            low = middle
    return high, best, ""

"""Computes memory, disks, connections and connection pools of candidate hardware, step by step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import scipy

from towtank.distributions import normal_density, normal_tail
from towtank.model import NODE_SEPARATOR, EngineModel, Pool, SolvedOutcome, solve_models
from towtank.sizing.drawn import Draws
from towtank.sizing.evaluate import Job, Outcome, layouts_of, model_of
from towtank.sizing.interval import Interval, between, duration_text, size_text, unless_exact
from towtank.sizing.quantities import YEAR_D
from towtank.sizing.question import Question
from towtank.sizing.sizing_file import MemoryFile, SizingFile, WantedPoolFile
from towtank.sizing.steps import Step, Steps
from towtank.sizing.tiers import Option, Tier
from towtank.units import format_size

FIRST_GUESS_WAITS = 0.1
"""Probability of waiting that square-root staffing assumes for the first estimate of the number of servers. The solver
then determines the final number. [ratio]
"""
HOLDING_SHARE = 0.01
"""Default limit of the mean wait for a unit of a pool, relative to the mean holding time of a unit. [ratio]"""
_POOL_STEPS = 16
"""Highest number of doublings of the step width in the search for a pool size. [1]"""


def staffing_factor(waits: float) -> float:
    """Return the factor beta of square-root staffing for a given probability of waiting. [1]

    Parameters
    ----------
    waits : float
        Probability alpha of waiting, in (0, 1). [ratio]

    Notes
    -----
    alpha = 1 / (1 + beta Phi(beta) / phi(beta)). This is the limit of Erlang C with m = a + beta sqrt(a) servers for
    growing offered work a [1]_.

    References
    ----------
    .. [1] S. Halfin and W. Whitt, "Heavy-traffic limits for queues with many exponential servers", Operations Research
           29(3), 567-588, 1981, doi:10.1287/opre.29.3.567.
    """
    return float(
        scipy.optimize.brentq(
            lambda beta: 1 / (1 + beta * normal_tail(-beta) / normal_density(beta)) - waits, 1e-9, 20.0
        )
    )


def square_root_staffing(work: float, waits: float = FIRST_GUESS_WAITS) -> int:
    """Return the number of servers for an offered work, by square-root staffing: ceil(a + beta sqrt(a)). [1]

    With this number of servers, a share of about `waits` of the transactions must wait.
    """
    return max(1, math.ceil(work + staffing_factor(waits) * math.sqrt(work)))


def data_bytes(file: SizingFile, load_growth: float) -> float:
    """Return the size of the data at the horizon, for one copy. The sizing file must have `data`. [byte]

    `load_growth` is the growth factor of the load until the horizon, without season and at least 1. It is also the
    growth factor of data whose growth rate is not stated. [1]
    """
    assert file.data is not None
    years = file.load.horizon / YEAR_D
    return file.data.now * (load_growth if file.data.growth is None else file.data.growth**years)


def disk_room(file: SizingFile, load_growth: float, steps: Steps) -> float:
    """Return the disk capacity that the data require at the horizon, and add the calculation steps. [byte]"""
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
            "asked, data" if data.growth is not None or load_growth == 1 else "data grow like the load",
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
    """Return the number of disks that provide a given capacity. [1]"""
    return max(1, math.ceil(room / disk_size - 1e-9))


def connections(question: Question, outcome: Outcome) -> float:
    """Return the number of open connections. [1]

    Each user of a closed class holds a connection. Each transaction of an open class holds a connection from its start
    until the keep-alive time after its end.
    """
    keep = question.file.keep_alive or 0.0
    found = 0.0
    for name, rate in outcome.throughput.items():
        users = outcome.job.load.users.get(name)
        found += users if users is not None else rate * (outcome.response_s[name] + keep)
    return found


@dataclass(frozen=True)
class MemoryNeed:
    """Memory that a node of a tier requires.

    Attributes
    ----------
    parts : dict of str to float
        Memory by purpose. [byte]
    free : float
        Share of the memory that must stay free. [ratio]
    """

    parts: dict[str, float]
    free: float

    @property
    def total(self) -> float:
        """Memory that the node requires in total, including the share that stays free. [byte]"""
        return sum(self.parts.values()) / (1 - self.free)


def memory_of(
    question: Question,
    tier: Tier,
    option: Option,
    outcome: Outcome,
    steps: Steps | None = None,
    *,
    interval: Callable[[str | None], Interval | None] = lambda _: None,
) -> MemoryNeed:
    """Return the memory that a node of a tier requires in the failure scenario of an outcome.

    `interval` is a function that returns the interval of an entry of the memory, given its name, or of the whole
    memory, given None. The calculation steps contain these intervals.
    """
    lost = question.file.nodes_lost if outcome.job.lost == tier.name else 0
    nodes = max(1, option.nodes - lost)
    parts = {}
    for entry in question.file.memory.get(tier.name, ()):
        size, formula, values = _memory_part(question, entry, option, outcome, nodes)
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
                    unless_exact(interval(entry.what)),
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
                interval(None),
            )
        )
    return need


def _memory_part(
    question: Question, entry: MemoryFile, option: Option, outcome: Outcome, nodes: int
) -> tuple[float, str, dict[str, object]]:
    if entry.share is not None:
        data = data_bytes(question.file, question.growth)
        return entry.share * data, "data share", {"data": data, "share": entry.share}
    size = float(entry.size or 0)
    counts = {
        "node": 1.0,
        "cpu": float(option.cpus),
        "user": sum(outcome.job.load.users.values()),
        "transaction": sum(outcome.present.values()),
        "connection": connections(question, outcome),
    }
    count = counts[entry.per]
    if entry.per in ("node", "cpu"):
        return size * count, f"size {entry.per}s", {"size": size, f"{entry.per}s": count}
    return size * count / nodes, f"size {entry.per}s / nodes", {"size": size, f"{entry.per}s": count, "nodes": nodes}


def most_memory(
    question: Question, tier: Tier, option: Option, outcomes: Sequence[Outcome], drawn: Draws | None = None
) -> tuple[float, Interval | None]:
    """Return the memory of a node in the scenario that requires most memory, and the interval of this memory. [byte]

    The interval is None without random draws.
    """

    def most(group: Sequence[Outcome]) -> float:
        return max((memory_of(question, tier, option, each).total for each in group), default=0.0)

    need = most(outcomes)
    return need, None if drawn is None else drawn.interval(most).around(need)


def needed_text(need: float, known: Interval | None) -> str:
    """Render the needed memory, with its interval if it varies between random draws."""
    return format_size(need) if known is None or known.is_point else size_text(need, known)


def memory_misses(question: Question, outcomes: list[Outcome], drawn: Draws | None = None) -> list[str]:
    """Return a text for each tier whose machines have less memory than needed."""
    texts = []
    for number, tier in enumerate(question.tiers):
        option = outcomes[0].job.candidate[number]
        if tier.name not in question.file.memory or option.memory_bytes is None:
            continue
        need, known = most_memory(question, tier, option, outcomes, drawn)
        if need > option.memory_bytes:
            texts.append(
                f"a node of {tier.name} needs {needed_text(need, known)} of memory, {option.machine} has "
                f"{format_size(option.memory_bytes)}"
            )
    return texts


@dataclass(frozen=True)
class PoolSize:
    """Size of a connection pool.

    Attributes
    ----------
    name : str
    size : int or None
        Size; None if no size suffices. [1]
    work : float
        Mean number of units held. [erlang]
    first_guess : int
        First estimate of the size, by square-root staffing. [1]
    wait_s, limit_s : float
        Mean wait for a unit, and the longest mean wait allowed. [s]
    why_not : str
        Reason why no size was found; empty if a size was found.
    work_interval, wait_interval : Interval or None
        Intervals of `work` and `wait_s` over the random draws; None without draws.
    at_best : int or None
        Smallest size that suffices for the best estimates; random draws are not considered. [1]
    probability : float or None
        Share of the random draws in which the wait is within the limit; None without random draws. [ratio]
    lost : str or None
        Tier with lost nodes in the scenario that needs the largest pool; None if this is the scenario with all nodes.
    simulated : bool
        True if the wait was simulated because the analytic solution is too inaccurate.
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
    lost: str | None = None
    simulated: bool = False


def _held(wanted: WantedPoolFile, outcome: Outcome) -> tuple[float, float]:
    """Return the mean number of pool units that are held [erlang], and the rate of requests for a unit [1/s]."""
    held = {
        each: sum(
            outcome.stations[station].residence_s.get(each, 0.0)
            for station in wanted.holds
            if station in outcome.stations
        )
        for each in outcome.throughput
    }
    work = sum(outcome.throughput[each] * time for each, time in held.items())
    return work, sum(outcome.throughput[each] for each, time in held.items() if time > 0)


def pool_size(
    question: Question,
    name: str,
    wanted: WantedPoolFile,
    outcomes: Sequence[Outcome],
    steps: Steps,
    *,
    drawn: Draws | None = None,
) -> PoolSize:
    """Return the smallest pool size that keeps the mean wait within its limit in every failure scenario.

    With random draws, the wait must be within the limit in the requested share of the draws. All nodes share one pool.
    The limit of the wait is computed with all nodes running.
    """
    held, rate = _held(wanted, outcomes[0])
    share = HOLDING_SHARE * held / rate if rate else 0.0
    limit = wanted.wait_at_most if wanted.wait_at_most is not None else share
    sized = [_pool_of(question, (name, wanted), outcome, limit) for outcome in outcomes]
    place = max(range(len(sized)), key=lambda place: math.inf if sized[place].size is None else sized[place].size or 0)
    busy = None if drawn is None else drawn.interval(lambda group: _held(wanted, group[place])[0])
    found = replace(sized[place], work_interval=busy)
    where = _without(question, found.lost)
    _note_guess(found, where, _held(wanted, outcomes[place])[1], steps)
    if found.size is None:
        return replace(found, why_not=f"{found.why_not}{where}")
    source = "solved with the pool in the model, in every scenario"
    values = {"wait": found.wait_s, "limit": limit}
    steps.add(Step(f"pool {name}: size{where}", "smallest size with wait <= limit", values, found.size, "1", source))
    jobs = [outcome.job for outcome in outcomes]
    return found if drawn is None else _sure_pool(question, wanted, (jobs, drawn), found, steps)


def _without(question: Question, lost: str | None) -> str:
    """Describe the lost nodes of a failure scenario; an empty text if no nodes are lost."""
    return f" with {question.file.nodes_lost} of the nodes of {lost} lost" if lost else ""


def _pool_of(question: Question, pool: tuple[str, WantedPoolFile], outcome: Outcome, limit: float) -> PoolSize:
    """Return the smallest pool size that keeps the mean wait within its limit in one failure scenario, for the best
    estimates.
    """
    name, wanted = pool
    work, _ = _held(wanted, outcome)
    guess = square_root_staffing(work) if work else 1
    size, wait, why = _solved_pool(question, pool, outcome.job, guess, limit)
    return PoolSize(name, size, work, guess, wait, limit, why, at_best=size, lost=outcome.job.lost)


def _note_guess(found: PoolSize, where: str, rate: float, steps: Steps) -> None:
    """Add the calculation steps for the first estimate of a connection pool's size."""
    name = found.name
    values = {"X": rate, "h": found.work / rate if rate else 0.0}
    source = "Little's law; h: holding time, solved as the residence time at the stations in `holds`"
    held = Step(f"pool {name}: units held{where}", "sum X h", values, found.work, "1", source, found.work_interval)
    steps.add(held)
    values = {"a": found.work, "beta": staffing_factor(FIRST_GUESS_WAITS)}
    source = (
        f"square-root staffing for a waiting probability of {100 * FIRST_GUESS_WAITS:.0f} % (Halfin and Whitt 1981)"
    )
    steps.add(Step(f"pool {name}: first guess", "ceil(a + beta sqrt(a))", values, found.first_guess, "1", source))


def _sure_pool(
    question: Question, wanted: WantedPoolFile, of: tuple[list[Job], Draws], found: PoolSize, steps: Steps
) -> PoolSize:
    """Return the smallest pool size that suffices in the requested share of the random draws, in every failure
    scenario.
    """
    jobs, drawn = of
    assert found.size is not None
    pool, asked, count = (found.name, wanted), question.file.probability, len(drawn.groups)
    groups = [[outcome.job for outcome in group] for group in drawn.groups]
    needs = _Needs(question, pool, groups, found.limit_s, found.size)
    size = needs.least(math.floor((1 - asked) * count + 1e-9))
    if size is None:
        why = f"no pool size keeps the wait within {duration_text(found.limit_s)} in {100 * asked:.3g} % of the draws"
        return replace(found, size=None, why_not=why)
    waits = needs.waits(size)
    share = sum(wait <= found.limit_s for wait in waits) / count
    best = longest_waits(question, pool, [jobs], size)[0]
    values = {"asked": asked, "draws": count}
    formula, source = "smallest size with wait <= limit in a share of the draws", "solved with the pool in every draw"
    steps.add(Step(f"pool {found.name}: size with the requested probability", formula, values, size, "1", source))
    return replace(found, size=size, wait_s=best, wait_interval=between(waits), probability=share)


class _Needs:
    """Search for the pool size that suffices in each random draw.

    A draw is not solved for a size if results for other sizes already show that the size suffices or is too small.
    """

    def __init__(
        self, question: Question, pool: tuple[str, WantedPoolFile], jobs: list[list[Job]], limit: float, least: int
    ) -> None:
        self._question, self._pool, self._jobs, self._limit, self._least = question, pool, jobs, limit, least
        self._short = [0] * len(jobs)
        self._enough: list[float] = [math.inf] * len(jobs)

    def waits(self, size: int, places: Sequence[int] | None = None) -> list[float]:
        """Return the mean wait for a pool unit in each random draw, in the failure scenario with the longest
        wait. [s]
        """
        chosen = range(len(self._jobs)) if places is None else places
        return longest_waits(self._question, self._pool, [self._jobs[place] for place in chosen], size)

    def _missing(self, size: int) -> int:
        """Return the number of random draws for which a pool size is too small. [1]"""
        open_ones = [n for n in range(len(self._jobs)) if self._short[n] < size < self._enough[n]]
        for place, wait in zip(open_ones, self.waits(size, open_ones), strict=True):
            if wait <= self._limit:
                self._enough[place] = size
            else:
                self._short[place] = size
        return sum(size <= short for short in self._short)

    def least(self, missing: int) -> int | None:
        """Return the smallest pool size that is too small in at most `missing` random draws; None if the search finds
        no such size. [1]
        """
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


def with_pool(question: Question, pool: tuple[str, WantedPoolFile], job: Job, size: int) -> EngineModel:
    """Return the model of a candidate with an additional pool."""
    name, wanted = pool
    model, layouts = model_of(question, job), layouts_of(question, job)
    holds = []
    for station in wanted.holds:
        nodes = layouts[station].nodes if station in layouts else 1
        holds += [station] if nodes == 1 else [f"{station}{NODE_SEPARATOR}{number}" for number in range(1, nodes + 1)]
    return replace(model, pools=[*model.pools, Pool(name, size, holds)])


def longest_waits(
    question: Question, pool: tuple[str, WantedPoolFile], groups: Sequence[Sequence[Job]], size: int
) -> list[float]:
    """Return the longest mean wait for a pool unit in each group of models. [s]"""
    models = [with_pool(question, pool, job, size) for group in groups for job in group]
    answers = iter(solve_models(models) if models else [])
    return [max(longest_wait(next(answers), pool[0])[0] for _ in group) for group in groups]


def longest_wait(outcome: SolvedOutcome, name: str) -> tuple[float, str]:
    """Return the longest mean wait for a pool unit over all classes [s], and an empty text. If the model has no steady
    state, the wait is infinite and the text states the reason.
    """
    if outcome.answer is None:
        return math.inf, "; ".join(fault.message for fault in outcome.faults)
    return max((wait or 0.0 for wait in outcome.answer.pools[name].waiting_time_s.values()), default=0.0), ""


def _solved_pool(
    question: Question, pool: tuple[str, WantedPoolFile], job: Job, guess: int, limit: float
) -> tuple[int | None, float, str]:
    """Return the smallest pool size that keeps the wait within its limit, its mean wait [s], and an empty text.

    If no size suffices, the text states the reason. The size is found by bisection, because a larger pool has shorter
    waits.
    """

    def wait(size: int) -> tuple[float, str]:
        return longest_wait(solve_models([with_pool(question, pool, job, size)])[0], pool[0])

    high = guess
    for _ in range(20):
        found, why = wait(high)
        if found <= limit:
            break
        high *= 2
    else:
        return None, math.inf, why or f"no pool size keeps the wait within {duration_text(limit)}"
    low, best = 0, found
    while high - low > 1:
        middle = (low + high) // 2
        found, _ = wait(middle)
        if found <= limit:
            high, best = middle, found
        else:
            low = middle
    return high, best, ""

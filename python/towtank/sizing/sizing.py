"""Computes the result of `towtank size`: answer, calculation steps, next bottlenecks, and how far the answer
can be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from towtank.model import SolvedNetwork, solve_models
from towtank.sizing.answer_steps import answer_steps
from towtank.sizing.basis import Basis
from towtank.sizing.by_interval import sized_day
from towtank.sizing.candidate_results import Estimate, answer_result, candidate_result, lost_nodes, rejected_result
from towtank.sizing.capacity import Bottleneck, bottlenecks, limits_of
from towtank.sizing.dates import dates
from towtank.sizing.evaluate import Outcome
from towtank.sizing.interval import Interval, between, share_between
from towtank.sizing.limit_search import Limits, missed_by_throughput
from towtank.sizing.network import Layout, on_layouts
from towtank.sizing.question import Question
from towtank.sizing.resources import PoolSize, connections, memory_of, pool_size
from towtank.sizing.result import SCHEMA, BottleneckResult, LoadResult, PoolResult, SearchCounts, SizingResult
from towtank.sizing.search import Found, Search, neighbours, search, strongest
from towtank.sizing.settle import SizingProblem, settle
from towtank.sizing.simulated_pool import simulated_pool
from towtank.sizing.sizing_file import SizingFile, WantedPoolFile
from towtank.sizing.steps import Step
from towtank.sizing.tiers import Option, Tier
from towtank.sizing.trust import no_probability, refuse_a_guess, trust, without_draws
from towtank.sizing.what_if_rows import read_questions, rows
from towtank.treecheck import Checked


@dataclass(frozen=True)
class SizingSettings:
    """Settings of a sizing.

    Attributes
    ----------
    exhaustive : bool
        Try every candidate.
    simulation : bool
        Simulate percentiles near their limits.
    beyond : bool
        Answer even if the load is far beyond the measured range.
    """

    exhaustive: bool = False
    simulation: bool = True
    beyond: bool = False


def sizing_result(
    basis: Basis, checked: Checked[SizingFile], folder: Path, settings: SizingSettings | None = None
) -> SizingResult:
    """Find the hardware that meets the objectives.

    Paths in the sizing file are relative to `folder`. `answer` is None if no candidate meets the objectives.

    Raises
    ------
    StudyError
        If the question is invalid; contains every fault.
    MeasurementError
        If the measurements do not support an answer.
    """
    chosen = settings or SizingSettings()
    settled = settle(checked, basis, folder)
    asked = read_questions(settled.question, checked.tree)
    refuse_a_guess(settled.question, beyond=chosen.beyond)
    if no_probability(settled.question):
        settled = replace(settled, question=without_draws(settled.question))
    found = search(settled.question, exhaustive=chosen.exhaustive, simulation=chosen.simulation)
    next_ones = bottlenecks(settled.question, found.answer) if found.answer else []
    limits = _limits(settled.question, found.answer, next_ones)
    # The dates are computed first. Their search narrows the load limits of all random draws, and the intervals of the
    # answer reuse these limits.
    days = dates(settled, found.answer, limits, next_ones)
    fields = _head(settled, found) | _answered(settled, found, limits, next_ones, simulation=chosen.simulation)
    by_interval, late = None, list[str]()
    if settled.profile:
        exhaustive, simulation = chosen.exhaustive, chosen.simulation
        by_interval, late = sized_day(
            settled.question, settled.profile, found, exhaustive=exhaustive, simulation=simulation
        )
    return SizingResult(
        **fields,
        profile=by_interval,
        what_if=rows(settled.question, found.answer, asked),
        dates=days,
        trust=trust(settled, found, limits, late),
        steps=settled.steps.results(),
    )


def size(
    basis: Basis, checked: Checked[SizingFile], folder: Path, settings: SizingSettings | None = None
) -> dict[str, object]:
    """Return the result of `sizing_result` as a JSON object."""
    return sizing_result(basis, checked, folder, settings).document()


def _limits(question: Question, answer: Found | None, next_ones: list[Bottleneck]) -> Limits | None:
    """Return the load limits of the recommended hardware; None without an answer. Limits from the search for
    bottlenecks are reused.
    """
    if answer is None:
        return None
    return next_ones[0].limits if next_ones else limits_of(question, answer)


def _head(settled: SizingProblem, found: Search) -> dict[str, Any]:
    """Return the fields of the result that describe the question and the search."""
    question = settled.question
    load = question.load
    return {
        "schema": SCHEMA,
        "title": question.file.title,
        "source": question.basis.source,
        "objectives": [check.text for check in question.checks],
        "utilization_at_most": dict(question.utilization),
        "nodes_lost": question.file.nodes_lost,
        "probability_asked": question.file.probability,
        "load": LoadResult(users=dict(load.users), rate_per_s=dict(load.rate), think_s=dict(load.think_s)),
        "load_interval": _loads(question, {**load.users, **load.rate}),
        "start": settled.start.isoformat(),
        "start_is": settled.start_is,
        "cost_by": question.cost.by,
        "cost_unit": question.cost.unit,
        "search": SearchCounts(
            candidates=found.candidates,
            cut=found.cut,
            passed_over=found.passed_over,
            tried=found.tried,
            simulated=found.simulations,
        ),
        "next_cheaper": rejected_result(question, found, found.answer.scales if found.answer else {}),
        "strongest": None if found.answer else candidate_result(question, strongest(question)),
    }


def _loads(question: Question, loads: Mapping[str, float]) -> dict[str, Interval | None]:
    """Return the interval of each class's load over the random draws of the growth."""
    grown = between(question.growth_draws) if question.growth_draws else None
    return {name: grown and grown.times(load) for name, load in loads.items()}


def _answered(
    settled: SizingProblem, found: Search, limits: Limits | None, next_ones: list[Bottleneck], *, simulation: bool
) -> dict[str, Any]:
    """Return the fields of the result that describe the recommended hardware, and add the calculation steps of these
    parts.
    """
    question, answer = settled.question, found.answer
    if answer is None or limits is None:
        return {"answer": None, "pareto": (), "bottlenecks": (), "connections": None, "pools": {}}
    normal = answer.outcomes[0]
    answer_steps(settled, answer)
    memory = _memory(settled, answer)
    pools = {
        name: _pool(settled, answer, name, wanted, simulation=simulation)
        for name, wanted in question.file.pools.items()
    }
    open_ones = connections(question, normal)
    drawn = answer.drawn
    known = None if drawn is None else drawn.interval(lambda group: connections(question, group[0]))
    users, users_or_rate = sum(question.load.users.values()), question.load.total[0]
    values = {"users": users, "open classes": open_ones - users}
    formula = "users + sum X (R + keep_alive) of open classes"
    settled.steps.add(Step("connections", formula, values, open_ones, "1", "Little's law", known))
    missed = missed_by_throughput(question, answer.drawn)
    one_queue_bound, one_queue_interval = _one_queue(settled, answer)
    ones = sorted([answer, *found.others], key=lambda found: question.cost.of(found.candidate))
    return {
        "answer": answer_result(
            question,
            answer,
            memory,
            Estimate(limits.best, limits.interval()),
            throughput_missed=missed,
            throughput_missed_interval=_chance_interval(question, missed),
            no_limit=limits.no_limit or None,
            headroom_interval=_spare(question, limits),
            one_queue_bound=one_queue_bound,
            one_queue_interval=one_queue_interval,
        ),
        "neighbours": [candidate_result(question, other) for other in neighbours(question, answer, found.rejected)],
        "pareto": [candidate_result(question, other) for other in ones],
        "bottlenecks": [_bottleneck(bottleneck, users_or_rate) for bottleneck in next_ones],
        "connections": open_ones,
        "connections_interval": known,
        "pools": {name: _pool_result(question, pool) for name, pool in pools.items()},
    }


def _bottleneck(found: Bottleneck, users_or_rate: float) -> BottleneckResult:
    known = found.limits.interval()
    return BottleneckResult(
        station=found.station,
        utilization=found.utilization,
        load_factor=found.limit,
        load=found.limit * users_or_rate,
        lost=found.lost,
        utilization_interval=found.utilization_interval,
        load_interval=known and known.times(users_or_rate),
    )


def _pool_result(question: Question, pool: PoolSize) -> PoolResult:
    return PoolResult(
        size=pool.size,
        held=pool.work,
        first_guess=pool.first_guess,
        wait_s=pool.wait_s,
        wait_at_most_s=pool.limit_s,
        why_not=pool.why_not,
        size_at_best=pool.at_best,
        probability=pool.probability,
        simulated=pool.simulated,
        probability_interval=_chance_interval(question, pool.probability),
        lost=lost_nodes(question, pool.lost),
        held_interval=pool.work_interval,
        wait_interval=pool.wait_interval,
    )


def _chance_interval(question: Question, share: float | None) -> Interval | None:
    """Return the interval of a share of the random draws. The interval accounts for the limited number of draws."""
    draws = len(question.draws)
    return None if share is None else share_between(round(share * draws), draws)


def _pool(settled: SizingProblem, answer: Found, name: str, wanted: WantedPoolFile, *, simulation: bool) -> PoolSize:
    """Return the size of a connection pool. If simulation is enabled and the computed wait is inaccurate, the size is
    found by simulation.
    """
    question, steps, drawn = settled.question, settled.steps, answer.drawn
    found = pool_size(question, name, wanted, answer.outcomes, steps, drawn=drawn)
    if not simulation:
        return found
    return simulated_pool(question, wanted, answer.outcomes, found, steps, drawn=drawn)


def _spare(question: Question, limits: Limits) -> Interval | None:
    """Return the interval of the headroom; None without random draws.

    The headroom of a random draw is the load limit of the draw divided by the load of the draw, minus 1. The lower end
    of the interval is at least 0 if and only if the objectives for response times and utilizations hold in at least
    97.5 % of the draws.
    """
    if not question.draws or math.isinf(limits.best):
        return None
    found = limits.spare(limits.growth())
    return found and Interval(found.low - 1, found.high - 1).around(limits.best - 1)


def _memory(settled: SizingProblem, answer: Found) -> dict[str, Estimate]:
    """Return the memory of a node of each tier, in the failure scenario with the largest need, and add the calculation
    steps. [byte]
    """
    question, found = settled.question, {}
    for tier, option in zip(question.tiers, answer.candidate, strict=True):
        if tier.name not in question.file.memory:
            continue
        needs = [(memory_of(question, tier, option, each).total, place) for place, each in enumerate(answer.outcomes)]
        _, place = max(needs)
        known = partial(_memory_interval, question, answer, (tier, option), place)
        need = memory_of(question, tier, option, answer.outcomes[place], settled.steps, interval=known).total
        found[tier.name] = Estimate(need, known(None))
    return found


def _memory_interval(
    question: Question, answer: Found, of: tuple[Tier, Option], place: int, part: str | None
) -> Interval | None:
    """Return the interval of the memory of a node, in total or for the entry `part`; None without random draws.
    [byte]
    """
    if answer.drawn is None:
        return None

    def needed(group: Sequence[Outcome]) -> float:
        need = memory_of(question, *of, group[place])
        return need.total if part is None else need.parts[part]

    return answer.drawn.interval(needed)


def _one_queue(
    settled: SizingProblem, answer: Found
) -> tuple[dict[str, float] | None, dict[str, Interval | None] | None]:
    """Return the mean response time of each class if all nodes of a tier shared one queue, and its interval. No load
    balancer can give shorter times. [s]
    """
    question = settled.question
    if all(option.nodes == 1 for option in answer.candidate):
        return None, None
    layouts = {
        name: Layout(1, option.nodes * option.cpus, option.speed)
        for tier, option in zip(question.tiers, answer.candidate, strict=True)
        for name in tier.stations
    }
    numbers = [None, *range(len(question.draws))]
    models = [
        on_layouts(
            question.basis.document,
            layouts,
            question.drawn_load(draw, question.load).changes(),
            None if draw is None else question.factors(answer.candidate, draw),
        )
        for draw in numbers
    ]
    first, *drawn = (solved.answer for solved in solve_models(models))
    if first is None:
        return None, None
    times = {name: _response(first, name) for name in first.classes}
    return times, {name: between(_response(each, name) for each in drawn) if drawn else None for name in times}


def _response(answer: SolvedNetwork | None, name: str) -> float:
    """Return the mean response time of a class; infinite without a steady state. [s]"""
    found = None if answer is None else answer.classes[name].response_time_s
    return math.inf if found is None else found

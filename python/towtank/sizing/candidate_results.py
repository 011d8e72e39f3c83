"""Builds the parts of a sizing result that describe candidates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from towtank.sizing.drawn import Intervals
from towtank.sizing.evaluate import Outcome, worst
from towtank.sizing.interval import Interval, finite
from towtank.sizing.question import Question
from towtank.sizing.result import (
    AnswerResult,
    Busiest,
    CandidateResult,
    ClassResult,
    LostNodes,
    ObjectiveResult,
    ScenarioResult,
    SimulatedValue,
    SpeedResult,
    TierResult,
)
from towtank.sizing.search import Found, Scales, Search, with_intervals
from towtank.sizing.tiers import Option, Tier, in_words


def _utilizations(intervals: Intervals | None, stations: Iterable[str]) -> dict[str, Interval | None]:
    """Return the interval of the utilization of each station. Without random draws, every interval is None."""
    return {name: None if intervals is None else intervals.utilization[name] for name in stations}


@dataclass(frozen=True)
class Estimate:
    """Value with its confidence interval; `interval` is None if the interval is unknown."""

    value: float
    interval: Interval | None = None


def answer_result(
    question: Question, answer: Found, memory: Mapping[str, Estimate], limit: Estimate, **more: Any
) -> AnswerResult:
    """Return the recommended hardware of each tier, and the solution of the model for this hardware in every failure
    scenario. `more` are the other fields of the result.
    """
    total, unit = question.load.total
    return AnswerResult(
        **dict(candidate_result(question, answer)),
        tiers={
            tier.name: _tier(question, answer, (tier, option), memory.get(tier.name))
            for tier, option in zip(question.tiers, answer.candidate, strict=True)
        },
        scenarios=tuple(_scenario(question, answer, place) for place in range(len(answer.outcomes))),
        load_at_limit=finite(limit.value * total),
        load_at_limit_interval=limit.interval and limit.interval.times(total),
        load_unit=unit,
        headroom=finite(limit.value - 1),
        **more,
    )


def _tier(question: Question, answer: Found, at: tuple[Tier, Option], memory: Estimate | None) -> TierResult:
    tier, option = at
    intervals = answer.intervals()
    return TierResult(
        kind=tier.kind,
        nodes=option.nodes,
        cpus=option.cpus,
        machine=option.machine,
        speed=SpeedResult(value=option.speed, low=option.speed_low, high=option.speed_high),
        cost=question.cost.of_option(option),
        memory_bytes=memory and memory.value,
        memory_interval=memory and memory.interval,
        utilization={name: answer.outcomes[0].utilization.get(name) for name in tier.stations},
        utilization_interval=_utilizations(intervals, tier.stations),
    )


def candidate_result(question: Question, found: Found) -> CandidateResult:
    """Return a candidate with its configuration, its cost, its objectives and its probability."""
    hardest, first, intervals = worst(question, found.outcomes), found.outcomes[0], found.intervals()
    return CandidateResult(
        configuration=in_words(question.tiers, found.candidate),
        cost=question.cost.of(found.candidate),
        objectives=objective_results(question, hardest, found.intervals(hardest.job.lost)),
        scenario=hardest.job.lost,
        busiest=busiest_of(first, intervals),
        probability=found.probability,
        probability_interval=found.summary and found.summary.probability_interval,
        why_not=found.why_not,
    )


def busiest_of(outcome: Outcome, intervals: Intervals | None) -> Busiest:
    """Return the busiest station, with its utilization and an interval."""
    name = outcome.busiest
    known = intervals and intervals.utilization.get(name)
    return Busiest(station=name, utilization=outcome.utilization.get(name), interval=known)


def objective_results(question: Question, outcome: Outcome, intervals: Intervals | None) -> tuple[ObjectiveResult, ...]:
    """Return the limit and the value of each objective in a failure scenario, in numbers and as text."""
    return tuple(
        ObjectiveResult(
            objective=check.text,
            limit=check.objective.value,
            value=finite(value),
            interval=outcome.interval(number, intervals),
            shown=outcome.shown(question, number, intervals),
        )
        for number, (check, value) in enumerate(zip(question.checks, outcome.values, strict=True))
    )


def _scenario(question: Question, answer: Found, place: int) -> ScenarioResult:
    outcome = answer.outcomes[place]
    simulated = answer.simulated[place] if answer.simulated else None
    intervals = answer.intervals(outcome.job.lost)
    return ScenarioResult(
        lost=lost_nodes(question, outcome.job.lost),
        classes={name: class_result(outcome, name, intervals) for name in outcome.throughput},
        utilization=dict(outcome.utilization),
        utilization_interval=_utilizations(intervals, outcome.utilization),
        objectives=objective_results(question, outcome, intervals),
        percentiles=outcome.method or None,
        simulated=simulated
        and {
            question.checks[number].text: SimulatedValue(value=value, confidence_interval=simulated.intervals[number])
            for number, value in simulated.values.items()
        },
        exact=outcome.exact,
    )


def lost_nodes(question: Question, tier: str | None) -> LostNodes | None:
    """Return the nodes that a tier loses in a failure scenario; None if all nodes are up."""
    return None if tier is None else LostNodes(tier=tier, nodes=question.file.nodes_lost)


def class_result(outcome: Outcome, name: str, intervals: Intervals | None) -> ClassResult:
    """Return throughput, response time and number of transactions of a class in a scenario, each with its interval."""
    known = (None, None, None) if intervals is None else (
        intervals.throughput.get(name), intervals.response_s.get(name), intervals.present.get(name)
    )  # fmt: skip
    values = outcome.throughput[name], outcome.response_s[name], outcome.present[name]
    # The best estimate may lie outside the interval of the random draws, if most of the draws have no steady state.
    held = [interval and interval.around(value) for interval, value in zip(known, values, strict=True)]
    return ClassResult(
        throughput_per_s=values[0],
        throughput_interval=held[0],
        response_time_s=values[1],
        response_time_interval=held[1],
        users_in_system=values[2],
        users_in_system_interval=held[2],
    )


def rejected_result(question: Question, found: Search, scales: Scales) -> CandidateResult | None:
    """Return the most expensive of the rejected candidates that are cheaper than the answer; None if no cheaper
    candidate was rejected.

    Of several candidates with the same cost, the candidate closest to its limits is returned.
    """
    most = question.cost.of(found.answer.candidate) if found.answer else math.inf
    cheaper = [rejected for rejected in found.rejected if question.cost.of(rejected.candidate) < most]
    if not cheaper:
        return None
    top = max(question.cost.of(rejected.candidate) for rejected in cheaper)
    nearest = [rejected for rejected in cheaper if question.cost.of(rejected.candidate) == top]
    nearest_one = min(nearest, key=lambda rejected: worst(question, rejected.outcomes).used(question))
    return candidate_result(question, with_intervals(question, nearest_one, nearest_one.scales or scales))

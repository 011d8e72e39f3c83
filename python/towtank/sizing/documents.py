"""Builds the parts of the JSON document of `towtank size`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from towtank.sizing.drawn import Intervals
from towtank.sizing.evaluate import Outcome, worst
from towtank.sizing.interval import Interval, interval_document
from towtank.sizing.question import Question
from towtank.sizing.search import Found, Scales, Search, with_intervals
from towtank.sizing.tiers import in_words


def finite(value: float) -> float | None:
    """Return a number for JSON; None if the number is infinite, such as a response time without a steady state."""
    return value if math.isfinite(value) else None


def intervals_document(intervals: Mapping[str, Interval] | None, names: Iterable[str]) -> dict[str, object]:
    """Return the interval of each named quantity as a JSON object. Without random draws, every interval is None."""
    return {name: interval_document(None if intervals is None else intervals[name]) for name in names}


@dataclass(frozen=True)
class Estimate:
    """Value with its confidence interval; `interval` is None if the interval is unknown."""

    value: float
    interval: Interval | None = None


def answer_document(
    question: Question, answer: Found, memory: Mapping[str, Estimate], limit: Estimate
) -> dict[str, object]:
    """Return the recommended hardware of each tier, and the solution of the model for this hardware in every failure
    scenario, as a JSON object.
    """
    total, unit = question.load.total
    intervals = answer.intervals()
    used = None if intervals is None else intervals.utilization
    return {
        **other_document(question, answer),
        "tiers": {
            tier.name: {
                "kind": tier.kind,
                "nodes": option.nodes,
                "cpus": option.cpus,
                "machine": option.machine,
                "speed": {"value": option.speed, "low": option.speed_low, "high": option.speed_high},
                "cost": question.cost.of_option(option),
                "memory_bytes": memory[tier.name].value if tier.name in memory else None,
                "memory_interval": interval_document(memory[tier.name].interval if tier.name in memory else None),
                "utilization": {name: answer.outcomes[0].utilization.get(name) for name in tier.stations},
                "utilization_interval": intervals_document(used, tier.stations),
            }
            for tier, option in zip(question.tiers, answer.candidate, strict=True)
        },
        "scenarios": [_scenario(question, answer, place) for place in range(len(answer.outcomes))],
        "load_at_limit": finite(limit.value * total),
        "load_at_limit_interval": interval_document(limit.interval and limit.interval.times(total)),
        "load_unit": unit,
        "headroom": finite(limit.value - 1),
    }


def other_document(question: Question, found: Found) -> dict[str, object]:
    """Return a candidate as a JSON object: its configuration, its cost, its objectives and its probability."""
    hardest, first, intervals = worst(question, found.outcomes), found.outcomes[0], found.intervals()
    return {
        "configuration": in_words(question.tiers, found.candidate),
        "cost": question.cost.of(found.candidate),
        "objectives": objectives_document(question, hardest, found.intervals(hardest.job.lost)),
        "scenario": hardest.job.lost,
        "busiest": busiest_document(first, intervals),
        "probability": found.probability,
        "probability_interval": interval_document(
            None if found.summary is None else found.summary.probability_interval
        ),
        "why_not": list(found.why_not),
    }


def busiest_document(outcome: Outcome, intervals: Intervals | None) -> dict[str, object]:
    """Return the busiest station as a JSON object: its name, and its utilization with an interval."""
    name = outcome.busiest
    known = None if intervals is None else intervals.utilization.get(name)
    return {"station": name, "utilization": outcome.utilization.get(name), "interval": interval_document(known)}


def objectives_document(question: Question, outcome: Outcome, intervals: Intervals | None) -> list[dict[str, Any]]:
    """Return the limit and the value of each objective in a failure scenario as JSON objects, in numbers and
    as text.
    """
    return [
        {
            "objective": check.text,
            "limit": check.objective.value,
            "value": finite(value),
            "interval": interval_document(outcome.interval(number, intervals)),
            "shown": outcome.shown(question, number, intervals),
        }
        for number, (check, value) in enumerate(zip(question.checks, outcome.values, strict=True))
    ]


def _scenario(question: Question, answer: Found, place: int) -> dict[str, object]:
    outcome = answer.outcomes[place]
    simulated = answer.simulated[place] if answer.simulated else None
    intervals = answer.intervals(outcome.job.lost)
    return {
        "lost": None if outcome.job.lost is None else {"tier": outcome.job.lost, "nodes": question.file.nodes_lost},
        "classes": {name: class_document(outcome, name, intervals) for name in outcome.throughput},
        "utilization": dict(outcome.utilization),
        "utilization_interval": intervals_document(
            None if intervals is None else intervals.utilization, outcome.utilization
        ),
        "objectives": objectives_document(question, outcome, intervals),
        "percentiles": outcome.method or None,
        "simulated": None
        if simulated is None
        else {
            question.checks[number].text: {"value": value, "confidence_interval": list(simulated.intervals[number])}
            for number, value in simulated.values.items()
        },
        "exact": outcome.exact,
    }


def class_document(outcome: Outcome, name: str, intervals: Intervals | None) -> dict[str, Any]:
    """Return throughput, response time and number of transactions of a class in a scenario, each with its interval, as
    a JSON object.
    """
    known = (None, None, None) if intervals is None else (
        intervals.throughput.get(name), intervals.response_s.get(name), intervals.present.get(name)
    )  # fmt: skip
    values = outcome.throughput[name], outcome.response_s[name], outcome.present[name]
    # The best estimate may lie outside the interval of the random draws, if most of the draws have no steady state.
    held = [interval and interval.around(value) for interval, value in zip(known, values, strict=True)]
    return {
        "throughput_per_s": values[0],
        "throughput_interval": interval_document(held[0]),
        "response_time_s": values[1],
        "response_time_interval": interval_document(held[1]),
        "users_in_system": values[2],
        "users_in_system_interval": interval_document(held[2]),
    }


def rejected_document(question: Question, found: Search, scales: Scales) -> dict[str, object] | None:
    """Return the most expensive of the rejected candidates that are cheaper than the answer, as a JSON object; None if
    no cheaper candidate was rejected.

    Of several candidates with the same cost, the candidate closest to its limits is returned.
    """
    most = question.cost.of(found.answer.candidate) if found.answer else math.inf
    cheaper = [rejected for rejected in found.rejected if question.cost.of(rejected.candidate) < most]
    if not cheaper:
        return None
    top = max(question.cost.of(rejected.candidate) for rejected in cheaper)
    nearest = [rejected for rejected in cheaper if question.cost.of(rejected.candidate) == top]
    nearest_one = min(nearest, key=lambda rejected: worst(question, rejected.outcomes).used(question))
    return other_document(question, with_intervals(question, nearest_one, nearest_one.scales or scales))

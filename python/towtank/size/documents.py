"""Parts of the JSON document of `towtank size`."""

from __future__ import annotations

import math
from typing import Any

from towtank.size.evaluate import Outcome, worst
from towtank.size.question import Question
from towtank.size.search import Found, Search
from towtank.size.tiers import in_words

Json = dict[str, Any]


def finite(value: float) -> float | None:
    """As JSON has it: null for what has no steady state."""
    return value if math.isfinite(value) else None


def answer_document(question: Question, answer: Found, memory: dict[str, float], limit: float) -> Json:
    """The answer: hardware by tier, and what it does in every scenario."""
    total, unit = question.load.total
    return {
        **other_document(question, answer),
        "tiers": {
            tier.name: {
                "kind": tier.kind,
                "nodes": one.nodes,
                "cpus": one.cpus,
                "machine": one.machine,
                "speed": {"value": one.speed, "low": one.speed_low, "high": one.speed_high},
                "cost": question.cost.of_option(one),
                "memory_bytes": memory.get(tier.name),
                "utilization": {name: answer.outcomes[0].utilization.get(name) for name in tier.stations},
            }
            for tier, one in zip(question.tiers, answer.candidate, strict=True)
        },
        "scenarios": [_scenario(question, answer, place) for place in range(len(answer.outcomes))],
        "load_at_limit": limit * total,
        "load_unit": unit,
        "headroom": limit - 1,
    }


def other_document(question: Question, one: Found) -> Json:
    """A candidate in short."""
    hardest = worst(question, one.outcomes)
    return {
        "configuration": in_words(question.tiers, one.candidate),
        "cost": question.cost.of(one.candidate),
        "objectives": _objectives(question, hardest),
        "scenario": hardest.job.lost,
        "busiest": {
            "station": one.outcomes[0].busiest,
            "utilization": one.outcomes[0].utilization.get(one.outcomes[0].busiest),
        },
        "probability": one.probability,
        "why_not": list(one.why_not),
    }


def _objectives(question: Question, outcome: Outcome) -> list[Json]:
    return [
        {
            "objective": check.text,
            "limit": check.objective.value,
            "value": finite(value),
            "interval": outcome.interval(number),
            "shown": outcome.shown(question, number),
        }
        for number, (check, value) in enumerate(zip(question.checks, outcome.values, strict=True))
    ]


def _scenario(question: Question, answer: Found, place: int) -> Json:
    outcome = answer.outcomes[place]
    simulated = answer.simulated[place] if answer.simulated else None
    return {
        "lost": None if outcome.job.lost is None else {"tier": outcome.job.lost, "nodes": question.file.nodes_lost},
        "classes": {
            name: {
                "throughput_per_s": rate,
                "response_time_s": outcome.response_s[name],
                "users_in_system": outcome.present[name],
            }
            for name, rate in outcome.throughput.items()
        },
        "utilization": dict(outcome.utilization),
        "objectives": _objectives(question, outcome),
        "percentiles": outcome.method or None,
        "simulated": None
        if simulated is None
        else {
            question.checks[number].text: {"value": value, "confidence_interval": list(simulated.intervals[number])}
            for number, value in simulated.values.items()
        },
        "exact": outcome.exact,
    }


def rejected_document(question: Question, found: Search) -> Json | None:
    """The dearest of those that are cheaper than the answer and were tried, and why it fails; null where none was."""
    most = question.cost.of(found.answer.candidate) if found.answer else math.inf
    cheaper = [one for one in found.rejected if question.cost.of(one.candidate) < most]
    if not cheaper:
        return None
    top = max(question.cost.of(one.candidate) for one in cheaper)
    nearest = [one for one in cheaper if question.cost.of(one.candidate) == top]
    return other_document(question, min(nearest, key=lambda one: worst(question, one.outcomes).used(question)))

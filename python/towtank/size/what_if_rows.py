"""What-if questions answered: the answer before and after each change, with bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from towtank.errors import Fault, ModelError, StudyError
from towtank.size.capacity import limits
from towtank.size.evaluate import Job, Outcome, grouped, worst
from towtank.size.question import Question
from towtank.size.resources import memory_of
from towtank.size.search import Found, Scales
from towtank.size.settle import as_it_is
from towtank.size.tiers import in_words
from towtank.size.what_if import ANSWER, RUNS, Change, Variant, read_what_if
from towtank.units import format_size
from towtank.yamlfile import Node, fault_at

Json = dict[str, Any]
BAND = (0.025, 0.975)


@dataclass(frozen=True)
class Asked:
    """A what-if question with what it changes."""

    text: str
    change: Change


def read_questions(question: Question, tree: Node) -> list[Asked]:
    """Read all what-if questions.

    Raises
    ------
    StudyError
        With every fault, at its place.
    """
    found, faults = [], []
    for place, text in enumerate(question.file.what_if):
        try:
            found.append(Asked(text, read_what_if(text, question)))
        except ValueError as error:
            faults.append(fault_at(tree, ("what_if", place), str(error)))
    if faults:
        raise StudyError(sorted(set(faults), key=_place))
    return found


def _place(fault: Fault) -> tuple[int, int, str]:
    return fault.line, fault.column, fault.message


def rows(question: Question, answer: Found | None, asked: Sequence[Asked]) -> list[Json]:
    """Answer what-if questions.

    Parameters
    ----------
    question : Question
    answer : Found or None
        The hardware to change; if none, the hardware that runs.
    asked : sequence of Asked

    Returns
    -------
    list of dict
        A row for the unchanged hardware that runs, then one for each question; empty without questions.
    """
    if not asked:
        return []
    runs = Variant(as_it_is(question), question.load, hardware=RUNS)
    base, scales = runs, answer.scales if answer is not None else {}
    if answer is not None and answer.candidate != runs.candidate:
        base = Variant(answer.candidate, question.load, hardware=ANSWER)
    before = _row(question, "as it is", runs, scales if base is runs else {})
    return [before, *(_changed(question, change, base, scales) for change in asked)]


def _changed(question: Question, one: Asked, before: Variant, scales: Scales) -> Json:
    try:
        after = one.change(before)
        # The factors of the simulation hold for the hardware of the answer only.
        return _row(question, one.text, after, scales if after.hardware == before.hardware else {})
    except ModelError as error:
        return {"what_if": one.text, "refused": str(error)}


def _row(question: Question, text: str, variant: Variant, scales: Scales) -> Json:
    asked = replace(question, load=variant.load)
    if variant.hardware == RUNS:
        # The hardware that runs may have no node to spare; its figures with all nodes are still useful.
        asked = replace(asked, file=question.file.model_copy(update={"nodes_lost": 0}))
    numbers: list[int | None] = [None, *range(len(question.draws))]
    groups = [_jobs(asked, variant, draw, scales) for draw in numbers]
    solved = grouped(groups, asked)
    first, drawn = solved[0], solved[1:]
    hardest = worst(asked, first)
    found = limits(asked, variant.candidate, [None], load=variant.load, scales=scales, demand=variant.demand)[0]
    total, unit = variant.load.total
    return {
        "what_if": text,
        "hardware": variant.hardware,
        "configuration": in_words(asked.tiers, variant.candidate),
        "scenario": hardest.job.lost,
        "classes": {name: _class(name, first[0], [one[0] for one in drawn]) for name in first[0].throughput},
        "objectives": _objectives(asked, hardest, [each[first.index(hardest)] for each in drawn]),
        "busiest": {"station": first[0].busiest, "utilization": first[0].utilization.get(first[0].busiest)},
        "met": all(one.met(asked) for one in first),
        "probability": sum(all(one.met(asked) for one in group) for group in drawn) / len(drawn) if drawn else None,
        "why_not": hardest.misses(asked),
        "load_at_limit": found * total,
        "unit": unit,
        "notes": [*variant.notes, *_memory_notes(asked, variant, first)],
    }


def _objectives(question: Question, one: Outcome, drawn: Sequence[Outcome]) -> list[Json]:
    """Objectives in one scenario, with bands from the draws."""
    return [
        {
            "objective": check.text,
            "value": None if one.why_not else one.values[number],
            "interval": one.interval(number),
            "shown": one.shown(question, number),
            "band_95": _band([each.values[number] for each in drawn]),
            "met": check.ratio(one.values[number]) <= 1,
        }
        for number, check in enumerate(question.checks)
    ]


def _jobs(question: Question, variant: Variant, draw: int | None, scales: Scales) -> list[Job]:
    load = question.drawn_load(draw, variant.load) if variant.grows else variant.load
    return [
        Job(variant.candidate, load, lost, draw, demand=variant.demand, scale=scales.get(lost, {}))
        for lost in question.scenarios(variant.candidate)
    ]


def _class(name: str, one: Outcome, drawn: Sequence[Outcome]) -> Json:
    return {
        "throughput_per_s": one.throughput[name],
        "throughput_band_95": _band([each.throughput.get(name, np.nan) for each in drawn]),
        "response_time_s": one.response_s[name],
        "response_time_band_95": _band([each.response_s.get(name, np.nan) for each in drawn]),
    }


def _band(values: Sequence[float]) -> list[float] | None:
    """Between what 95 % of the draws lie; None where there are none, or some have no steady state."""
    if not values or not np.isfinite(values).all():
        return None
    return [float(one) for one in np.quantile(values, BAND)]


def _memory_notes(question: Question, variant: Variant, first: Sequence[Outcome]) -> list[str]:
    told = []
    for tier, one in zip(question.tiers, variant.candidate, strict=True):
        given = variant.memory_bytes.get(tier.name)
        if given is None or tier.name not in question.file.memory:
            continue
        able = [each for each in first if not each.why_not]
        need = max((memory_of(question, tier, one, each).total for each in able), default=0.0)
        enough = "enough" if need <= given else "too little"
        told.append(f"{format_size(given)} for a node of {tier.name} is {enough}: it needs {format_size(need)}")
    return told

"""What-if questions answered: the answer before and after each change, with bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from towtank.errors import Fault, ModelError, StudyError
from towtank.size.capacity import limit_interval, limits
from towtank.size.documents import busiest_document, class_document, objectives_document
from towtank.size.drawn import Drawn, Intervals
from towtank.size.evaluate import Job, Outcome, grouped, under_load, worst
from towtank.size.interval import Interval, interval_document, size_text
from towtank.size.question import Question
from towtank.size.resources import memory_of
from towtank.size.search import Found, Scales
from towtank.size.settle import as_it_is
from towtank.size.tiers import in_words
from towtank.size.what_if import ANSWER, RUNS, Change, Variant, read_what_if
from towtank.yamlfile import Node, fault_at

Json = dict[str, Any]


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
    carried = limit_interval(asked, variant.candidate, found, scales, load=variant.load, demand=variant.demand)
    summary = Drawn(tuple(map(tuple, drawn))).summary(asked) if drawn else None
    intervals = None if summary is None else summary.scenarios[None]
    at_hardest = None if summary is None else summary.scenarios[hardest.job.lost]
    total, unit = variant.load.total
    return {
        "what_if": text,
        "hardware": variant.hardware,
        "configuration": in_words(asked.tiers, variant.candidate),
        "scenario": hardest.job.lost,
        "classes": {name: _class(name, first[0], intervals) for name in first[0].throughput},
        "objectives": _objectives(asked, hardest, at_hardest),
        "busiest": busiest_document(first[0], intervals),
        "met": all(one.met(asked) for one in first),
        "probability": None if summary is None else summary.probability,
        "probability_interval": interval_document(None if summary is None else summary.probability_interval),
        "why_not": hardest.misses(asked, at_hardest),
        "load_at_limit": found * total,
        "load_at_limit_interval": interval_document(carried and carried.times(total)),
        "unit": unit,
        "notes": [
            *variant.notes,
            *_memory_notes(asked, variant, first),
            *([] if drawn else hardest.near_limits(asked)),
        ],
    }


def _objectives(question: Question, one: Outcome, intervals: Intervals | None) -> list[Json]:
    """Objectives in one scenario, with bands from the draws."""
    return [
        {
            **document,
            "band_95": _band(None if intervals is None else intervals.values[number]),
            "met": check.ratio(one.values[number]) <= 1,
        }
        for number, (check, document) in enumerate(
            zip(question.checks, objectives_document(question, one, intervals), strict=True)
        )
    ]


def _jobs(question: Question, variant: Variant, draw: int | None, scales: Scales) -> list[Job]:
    load = question.drawn_load(draw, variant.load) if variant.grows else variant.load
    return under_load(question, variant.candidate, load, scales, draw, demand=variant.demand)


def _class(name: str, one: Outcome, intervals: Intervals | None) -> Json:
    found = class_document(one, name, intervals)
    throughput, response = (
        (None, None) if intervals is None else (intervals.throughput.get(name), intervals.response_s.get(name))
    )
    return found | {"throughput_band_95": _band(throughput), "response_time_band_95": _band(response)}


def _band(interval: Interval | None) -> list[float] | None:
    """The ends of an interval as a list; None without draws, or if so many have no steady state that one is missing."""
    if interval is None or not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return None
    return [interval.low, interval.high]


def _memory_notes(question: Question, variant: Variant, first: Sequence[Outcome]) -> list[str]:
    told = []
    for tier, one in zip(question.tiers, variant.candidate, strict=True):
        given = variant.memory_bytes.get(tier.name)
        if given is None or tier.name not in question.file.memory:
            continue
        able = [each for each in first if not each.why_not]
        need = max((memory_of(question, tier, one, each).total for each in able), default=0.0)
        enough = "enough" if need <= given else "too little"
        told.append(f"{size_text(given)} for a node of {tier.name} is {enough}: it needs {size_text(need)}")
    return told

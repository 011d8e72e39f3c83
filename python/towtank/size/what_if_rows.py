"""What-if questions answered: the answer before and after each change, with bands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from towtank.errors import Fault, ModelError, StudyError
from towtank.model.percentiles import EXACT
from towtank.size.documents import busiest_document, class_document, finite, objectives_document
from towtank.size.drawn import Drawn, Intervals
from towtank.size.evaluate import CORRECTED, Job, Outcome, grouped, under_load, worst
from towtank.size.interval import Interval, interval_document, size_text
from towtank.size.limit_search import Limits, missed_by_throughput
from towtank.size.question import Question
from towtank.size.resources import most_memory
from towtank.size.search import Found, Scales
from towtank.size.settle import as_it_is
from towtank.size.tiers import in_words
from towtank.size.what_if import ANSWER, RUNS, Change, Variant, read_what_if
from towtank.yamlfile import Node, fault_at

Json = dict[str, Any]
SIMULATED = "simulated"
SCALED = "times the simulated over the computed value of the answer"


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
    told = _Simulation(base, scales)
    return [_row(question, "as it is", runs, told), *(_changed(question, change, told) for change in asked)]


def _changed(question: Question, one: Asked, told: _Simulation) -> Json:
    try:
        return _row(question, one.text, one.change(told.base), told)
    except ModelError as error:
        return {"what_if": one.text, "refused": str(error)}


def _row(question: Question, text: str, variant: Variant, told: _Simulation) -> Json:
    scales = told.of(variant)
    asked = replace(question, load=variant.load)
    if variant.hardware == RUNS:
        # The hardware that runs may have no node to spare; its figures with all nodes are still useful.
        asked = replace(asked, file=question.file.model_copy(update={"nodes_lost": 0}))
    numbers: list[int | None] = [None, *range(len(question.draws))]
    groups = [_jobs(asked, variant, draw, scales) for draw in numbers]
    solved = grouped(groups, asked)
    first, drawn = solved[0], solved[1:]
    hardest = worst(asked, first)
    limits = Limits(asked, variant.candidate, scales, changes={"demand": variant.demand})
    in_draws = Drawn(tuple(map(tuple, drawn))) if drawn else None
    if variant.grows:
        limits.know(in_draws)
    carried = limits.interval()
    summary = None if in_draws is None else in_draws.summary(asked)
    intervals = None if summary is None else summary.scenarios[None]
    at_hardest = None if summary is None else summary.scenarios[hardest.job.lost]
    total, unit = variant.load.total
    return {
        "what_if": text,
        "hardware": variant.hardware,
        "configuration": in_words(asked.tiers, variant.candidate),
        "scenario": hardest.job.lost,
        "classes": {name: _class(name, first[0], intervals) for name in first[0].throughput},
        "objectives": _objectives(asked, hardest, at_hardest, lambda number: told.by(asked, variant, hardest, number)),
        "busiest": busiest_document(first[0], intervals),
        "met": all(one.met(asked) for one in first),
        "probability": None if summary is None else summary.probability,
        "probability_interval": interval_document(None if summary is None else summary.probability_interval),
        "why_not": hardest.misses(asked, at_hardest),
        "load_at_limit": finite(limits.best * total),
        "throughput_missed": missed_by_throughput(asked, in_draws),
        "no_limit": limits.no_limit or None,
        "load_at_limit_interval": interval_document(carried and carried.times(total)),
        "unit": unit,
        "notes": [
            *variant.notes,
            *told.notes(asked, variant, hardest),
            *_memory_notes(asked, variant, first, in_draws),
            *([] if drawn else hardest.near_limits(asked)),
            *([limits.why_no_interval] if limits.why_no_interval else []),
        ],
    }


def _objectives(question: Question, one: Outcome, intervals: Intervals | None, by: Callable[[int], str]) -> list[Json]:
    """Objectives in one scenario, with bands from the draws, and how each was worked out."""
    return [
        {
            **document,
            "band_95": _band(None if intervals is None else intervals.values[number]),
            "met": check.ratio(one.values[number]) <= 1,
            "by": by(number),
        }
        for number, (check, document) in enumerate(
            zip(question.checks, objectives_document(question, one, intervals), strict=True)
        )
    ]


def _short(how: str) -> str:
    """How a percentile was worked out, in few words; `by` names the method."""
    return "approximate, times the ratio of the simulation of the answer" if how.endswith(SCALED) else "approximate"


@dataclass(frozen=True)
class _Simulation:
    """What was simulated: the values of one variant, the answer; none if `scales` are empty."""

    base: Variant
    scales: Scales

    def of(self, variant: Variant) -> Scales:
        """Ratios of simulated to computed values; they hold for the hardware of the answer only."""
        return self.scales if variant.hardware == self.base.hardware else {}

    def by(self, question: Question, variant: Variant, one: Outcome, number: int) -> str:
        """How the value of an objective was worked out."""
        percentile = question.checks[number].is_percentile
        how = one.method if percentile else "solved" if one.exact else "approximate"
        if number not in one.job.scale:
            return how
        return SIMULATED if replace(variant, notes=()) == replace(self.base, notes=()) else f"{how}, {SCALED}"

    def notes(self, question: Question, variant: Variant, one: Outcome) -> list[str]:
        """Values that are approximate although those of the answer were simulated, in words."""
        if not any(self.scales.values()):
            return []
        told = {check.text: self.by(question, variant, one, place) for place, check in enumerate(question.checks)
                if one.is_rough(check)}  # fmt: skip
        return [
            f"{text}: not simulated, {_short(how)}; the interval does not count the error of this"
            for text, how in told.items()
            if how and how not in (SIMULATED, EXACT, CORRECTED)
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


def _memory_notes(question: Question, variant: Variant, first: Sequence[Outcome], drawn: Drawn | None) -> list[str]:
    told = []
    for tier, one in zip(question.tiers, variant.candidate, strict=True):
        given = variant.memory_bytes.get(tier.name)
        if given is None or tier.name not in question.file.memory:
            continue
        able = [each for each in first if not each.why_not]
        need, known = most_memory(question, tier, one, able, drawn)
        sure = known is None or known.high <= given
        enough = "too little" if need > given else "enough" if sure else "enough at the best estimate"
        told.append(f"{size_text(given)} for a node of {tier.name} is {enough}: it needs {size_text(need, known)}")
    return told

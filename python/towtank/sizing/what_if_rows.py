"""Answers what-if questions: returns the results before and after each change, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from towtank.errors import ModelError, StudyError
from towtank.model import EXACT_PERCENTILES
from towtank.sizing.candidate_results import busiest_of, class_result, objective_results
from towtank.sizing.drawn import Draws, Intervals
from towtank.sizing.evaluate import CORRECTED, Job, Outcome, grouped, under_load, worst
from towtank.sizing.interval import Interval, finite, size_text
from towtank.sizing.limit_search import Limits, missed_by_throughput
from towtank.sizing.question import Question
from towtank.sizing.resources import most_memory
from towtank.sizing.result import ChangedClass, ChangedObjective, WhatIfResult
from towtank.sizing.search import Found, Scales
from towtank.sizing.settle import as_it_is
from towtank.sizing.tiers import in_words
from towtank.sizing.what_if import ANSWER, RUNS, Change, Variant, read_what_if
from towtank.yamlfile import Node, fault_at

SIMULATED = "simulated"
SCALED = "times the ratio of simulated to computed value of the answer"


@dataclass(frozen=True)
class WhatIfQuestion:
    """Text of a what-if question, and the change that the text describes."""

    text: str
    change: Change


def read_questions(question: Question, tree: Node) -> list[WhatIfQuestion]:
    """Parse all what-if questions of a sizing file.

    Raises
    ------
    StudyError
        If a question is invalid; contains every fault with its position.
    """
    found, faults = [], []
    for place, text in enumerate(question.file.what_if):
        try:
            found.append(WhatIfQuestion(text, read_what_if(text, question)))
        except ValueError as error:
            faults.append(fault_at(tree, ("what_if", place), str(error)))
    if faults:
        raise StudyError(sorted(set(faults), key=lambda fault: (fault.line, fault.column, fault.message)))
    return found


def rows(question: Question, answer: Found | None, asked: Sequence[WhatIfQuestion]) -> list[WhatIfResult]:
    """Return a row with the results of the unchanged present hardware, and a row for each what-if question.

    Without an answer, the present hardware is changed. The first row is that of the unchanged present hardware; without
    questions there is no row.
    """
    if not asked:
        return []
    runs = Variant(as_it_is(question), question.load, hardware=RUNS)
    base, scales = runs, answer.scales if answer is not None else {}
    if answer is not None and answer.candidate != runs.candidate:
        base = Variant(answer.candidate, question.load, hardware=ANSWER)
    simulation = _Simulation(base, scales)
    return [_row(question, "as it is", runs, simulation), *(_changed(question, change, simulation) for change in asked)]


def _changed(question: Question, asked: WhatIfQuestion, simulation: _Simulation) -> WhatIfResult:
    try:
        return _row(question, asked.text, asked.change(simulation.base), simulation)
    except ModelError as error:
        return WhatIfResult(what_if=asked.text, refused=str(error))


def _row(question: Question, text: str, variant: Variant, simulation: _Simulation) -> WhatIfResult:
    scales = simulation.of(variant)
    asked = replace(question, load=variant.load)
    if variant.hardware == RUNS:
        # The present hardware need not survive the loss of a node, so only the scenario with all nodes running is
        # evaluated.
        asked = replace(asked, file=question.file.model_copy(update={"nodes_lost": 0}))
    numbers: list[int | None] = [None, *range(len(question.draws))]
    groups = [_jobs(asked, variant, draw, scales) for draw in numbers]
    solved = grouped(groups, asked)
    first, drawn = solved[0], solved[1:]
    hardest = worst(asked, first)
    limits = Limits(asked, variant.candidate, scales, changes={"demand": variant.demand})
    in_draws = Draws(tuple(map(tuple, drawn))) if drawn else None
    if variant.grows:
        limits.know(in_draws)
    carried = limits.interval()
    summary = None if in_draws is None else in_draws.summary(asked)
    intervals = None if summary is None else summary.scenarios[None]
    at_hardest = None if summary is None else summary.scenarios[hardest.job.lost]
    total, unit = variant.load.total
    return WhatIfResult(
        what_if=text,
        hardware=variant.hardware,
        configuration=in_words(asked.tiers, variant.candidate),
        scenario=hardest.job.lost,
        classes={name: _class(name, first[0], intervals) for name in first[0].throughput},
        objectives=_objectives(
            asked, hardest, at_hardest, lambda number: simulation.by(asked, variant, hardest, number)
        ),
        busiest=busiest_of(first[0], intervals),
        met=all(outcome.met(asked) for outcome in first),
        probability=summary and summary.probability,
        probability_interval=summary and summary.probability_interval,
        why_not=hardest.misses(asked, at_hardest),
        load_at_limit=finite(limits.best * total),
        throughput_missed=missed_by_throughput(asked, in_draws),
        no_limit=limits.no_limit or None,
        load_at_limit_interval=carried and carried.times(total),
        unit=unit,
        notes=(
            *variant.notes,
            *simulation.notes(asked, variant, hardest),
            *_memory_notes(asked, variant, first, in_draws),
            *([] if drawn else hardest.near_limits(asked)),
            *([limits.why_no_interval] if limits.why_no_interval else []),
        ),
    )


def _objectives(
    question: Question, outcome: Outcome, intervals: Intervals | None, by: Callable[[int], str]
) -> tuple[ChangedObjective, ...]:
    """Return the objectives in a failure scenario, each with its interval and the method by which its value was
    obtained.
    """
    return tuple(
        ChangedObjective(
            **dict(result), band_95=_band(result.interval), met=check.ratio(outcome.values[number]) <= 1, by=by(number)
        )
        for number, (check, result) in enumerate(
            zip(question.checks, objective_results(question, outcome, intervals), strict=True)
        )
    )


def _short(how: str) -> str:
    """Return a short name for the method that computed a percentile."""
    return "approximate, times the ratio of the simulation of the answer" if how.endswith(SCALED) else "approximate"


@dataclass(frozen=True)
class _Simulation:
    """Ratios of simulated to computed values, from the simulation of the hardware `base`. `scales` is empty if nothing
    was simulated.
    """

    base: Variant
    scales: Scales

    def of(self, variant: Variant) -> Scales:
        """Return the ratios of simulated to computed values for a variant; an empty dict if its hardware was not
        simulated.
        """
        return self.scales if variant.hardware == self.base.hardware else {}

    def by(self, question: Question, variant: Variant, outcome: Outcome, number: int) -> str:
        """Return the method by which the value of an objective was obtained, such as simulation."""
        percentile = question.checks[number].is_percentile
        how = outcome.method if percentile else "solved" if outcome.exact else "approximate"
        if number not in outcome.job.scale:
            return how
        return SIMULATED if replace(variant, notes=()) == replace(self.base, notes=()) else f"{how}, {SCALED}"

    def notes(self, question: Question, variant: Variant, outcome: Outcome) -> list[str]:
        """Return notes about the values of a variant that are approximate. Notes are needed only if values of the
        answer were simulated.
        """
        if not any(self.scales.values()):
            return []
        methods = {check.text: self.by(question, variant, outcome, place) for place, check in enumerate(question.checks)
                if outcome.is_rough(check)}  # fmt: skip
        return [
            f"{text}: not simulated, {_short(how)}; the interval does not include the error of this approximation"
            for text, how in methods.items()
            if how and how not in (SIMULATED, EXACT_PERCENTILES, CORRECTED)
        ]


def _jobs(question: Question, variant: Variant, draw: int | None, scales: Scales) -> list[Job]:
    load = question.drawn_load(draw, variant.load) if variant.grows else variant.load
    return under_load(question, variant.candidate, load, scales, draw, demand=variant.demand)


def _class(name: str, outcome: Outcome, intervals: Intervals | None) -> ChangedClass:
    found = class_result(outcome, name, intervals)
    return ChangedClass(
        **dict(found),
        throughput_band_95=_band(found.throughput_interval),
        response_time_band_95=_band(found.response_time_interval),
    )


def _band(interval: Interval | None) -> tuple[float, float] | None:
    """Return the ends of an interval; None if the interval is unknown or an end is infinite."""
    if interval is None or not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return None
    return interval.low, interval.high


def _memory_notes(question: Question, variant: Variant, first: Sequence[Outcome], drawn: Draws | None) -> list[str]:
    notes = []
    for tier, option in zip(question.tiers, variant.candidate, strict=True):
        given = variant.memory_bytes.get(tier.name)
        if given is None or tier.name not in question.file.memory:
            continue
        able = [each for each in first if not each.why_not]
        need, known = most_memory(question, tier, option, able, drawn)
        sure = known is None or known.high <= given
        enough = "too little" if need > given else "enough" if sure else "enough for the best estimate"
        notes.append(f"{size_text(given)} for a node of {tier.name} is {enough}: it needs {size_text(need, known)}")
    return notes

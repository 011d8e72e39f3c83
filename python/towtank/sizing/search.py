"""Searches for the cheapest candidate that meets the objectives, and for good alternatives.

First, every option of a tier is tried in combination with the strongest options of all other tiers. The option is
dropped if even this combination violates an objective. The remaining candidates are tried in order of cost. A candidate
is skipped if it is in no respect stronger than a candidate that clearly failed. The answer is the first candidate that
meets all requirements with the requested probability. The percentiles of the answer are simulated, and also its means
if their computed values are inaccurate.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from towtank.errors import ModelError
from towtank.sizing.drawn import Draws, Intervals, Summary, drawn
from towtank.sizing.evaluate import Outcome, grouped, outcomes, under_load, worst
from towtank.sizing.factors import Factors
from towtank.sizing.interval import share_text
from towtank.sizing.question import Question
from towtank.sizing.resources import memory_misses
from towtank.sizing.simulated import Simulated, job_with, needs_simulation, simulate
from towtank.sizing.tiers import Candidate, Option

CANDIDATES_AT_MOST = 1_000_000
"""Largest number of candidates that the search accepts; this number is sorted within seconds. [1]"""
_GROUP = 128
NEAR = 1.25
"""A candidate is rejected without simulation if the ratio of an inexact value, such as a percentile, to its limit is
above this. [ratio]
"""
SIMULATIONS_AT_MOST = 12
_CLEAR = 0.05
"""A candidate is rejected without simulation if its probability is lower than the requested probability by more than
this. [ratio]
"""
PARETO_COST = 1.5
PARETO_AT_MOST = 300
PARETO_SHOWN = 8

Scales = dict[str | None, Factors]


@dataclass(frozen=True)
class Found:
    """Candidate hardware with its solution in every failure scenario.

    Attributes
    ----------
    candidate : Candidate
    outcomes : tuple of Outcome
        Solutions; the first solution is for all nodes running.
    summary : Summary or None
        Probability of meeting all objectives, and intervals of the results; None without random draws.
    simulated : tuple of Simulated or None
        Simulations, one for each scenario; None without simulation.
    why_not : tuple of str
        Reasons why the candidate is not the answer; empty if it meets all requirements.
    drawn : Draws or None
        Outcomes in every random draw, stored only for the answer; otherwise None.
    """

    candidate: Candidate
    outcomes: tuple[Outcome, ...]
    summary: Summary | None = None
    simulated: tuple[Simulated | None, ...] = ()
    why_not: tuple[str, ...] = ()
    drawn: Draws | None = None

    @property
    def probability(self) -> float | None:
        """Share of the random draws in which all objectives hold; None if unknown. [ratio]"""
        return None if self.summary is None else self.summary.probability

    def intervals(self, lost: str | None = None) -> Intervals | None:
        """Return the intervals of a failure scenario; None without random draws."""
        return None if self.summary is None else self.summary.scenarios[lost]

    @property
    def scales(self) -> Scales:
        """Ratios of simulated to computed values, by failure scenario. [ratio]"""
        return {
            outcome.job.lost: simulation.scale
            for outcome, simulation in zip(self.outcomes, self.simulated, strict=False)
            if simulation is not None
        }


@dataclass
class Search:
    """Result of a search for hardware, with the rejected candidates in order of cost, and further candidates on the
    Pareto front of cost, use of the objectives, and utilization. Of all `candidates`, some are `cut`, because one of
    their options violates an objective even with the strongest options of all other tiers; some are `passed_over`,
    because they are in no respect stronger than a candidate that violated an objective; the others are `tried`. [1]
    """

    answer: Found | None = None
    rejected: list[Found] = field(default_factory=list)
    candidates: int = 0
    cut: int = 0
    passed_over: int = 0
    tried: int = 0
    simulations: int = 0
    others: list[Found] = field(default_factory=list)
    _weak: list[tuple[float, ...]] = field(default_factory=list)


def search(question: Question, *, exhaustive: bool = False, simulation: bool = True) -> Search:
    """Find the cheapest candidate that meets all objectives with the requested probability.

    If `exhaustive`, every candidate is tried in order of cost. Otherwise, a candidate is skipped if it is in no respect
    stronger than a rejected candidate. This is exact for networks of one class, and not proven for other networks.
    Unless `simulation` is False, percentiles near their limits are simulated.
    """
    state = Search()
    lists = [sorted(tier.options, key=lambda option: _order(question, option)) for tier in question.tiers]
    state.candidates = math.prod(len(options) for options in lists)
    if not exhaustive:
        lists = _cut(question, lists)
        state.cut = state.candidates - math.prod(len(options) for options in lists)
    left = math.prod(len(options) for options in lists)
    if left > CANDIDATES_AT_MOST:
        raise ModelError(
            f"tiers: must leave at most {CANDIDATES_AT_MOST} candidates, got {left} instead",
            hint="give fewer numbers of nodes and CPUs",
        )
    stream = _in_order(question, lists)
    while state.answer is None:
        group = [candidate for _, candidate in zip(range(_GROUP), stream, strict=False)]
        if not group:
            break
        _try(question, state, group, exhaustive=exhaustive, simulation=simulation)
    if state.answer is not None:
        state.others = _pareto(question, state, lists)
    return state


def _order(question: Question, option: Option) -> tuple[float, ...]:
    """Return the sort key of a hardware option: cost, then nodes, CPUs and speed."""
    return (question.cost.of_option(option), option.nodes, option.cpus, option.speed)


def _in_order(question: Question, lists: Sequence[Sequence[Option]]) -> Iterator[Candidate]:
    """Yield all candidates in order of cost. A candidate is generated only when it is needed."""
    if not all(lists):
        return
    first = (0,) * len(lists)

    def key(places: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        return (sum(question.cost.of_option(options[p]) for options, p in zip(lists, places, strict=True)), places)

    heap, seen = [key(first)], {first}
    while heap:
        _, places = heapq.heappop(heap)
        yield tuple(options[p] for options, p in zip(lists, places, strict=True))
        for tier, place in enumerate(places):
            after = (*places[:tier], place + 1, *places[tier + 1 :])
            if place + 1 < len(lists[tier]) and after not in seen:
                seen.add(after)
                heapq.heappush(heap, key(after))


def _cut(question: Question, lists: list[list[Option]]) -> list[list[Option]]:
    """Return, for each tier, the options that may suffice in combination with the strongest options of all other tiers.
    These options are found by bisection over the number of CPUs.
    """
    strongest = tuple(tier.strongest for tier in question.tiers)
    kept = []
    for number, options in enumerate(lists):
        chains: dict[object, list[Option]] = {}
        for option in sorted(options, key=lambda each: each.cpus):
            chains.setdefault(option.chain, []).append(option)
        least = _least(question, strongest, number, list(chains.values()))
        enough = {id(option) for chain, place in zip(chains.values(), least, strict=True) for option in chain[place:]}
        kept.append([option for option in options if id(option) in enough])
    return kept


def _least(question: Question, strongest: Candidate, number: int, chains: list[list[Option]]) -> list[int]:
    """Return, for each series of options that differ only in CPUs, the index of the first option that may suffice. Each
    step of the bisection solves the models of all series together.
    """
    low, high = [0] * len(chains), [len(chain) for chain in chains]
    while any(a < b for a, b in zip(low, high, strict=True)):
        open_chains = [place for place in range(len(chains)) if low[place] < high[place]]
        groups = []
        for place in open_chains:
            middle = chains[place][(low[place] + high[place]) // 2]
            candidate = (*strongest[:number], middle, *strongest[number + 1 :])
            groups.append(under_load(question, candidate, question.load))
        for place, found in zip(open_chains, grouped(groups, question), strict=True):
            middle_place = (low[place] + high[place]) // 2
            if any(_misses_clearly(question, outcome) for outcome in found):
                low[place] = middle_place + 1
            else:
                high[place] = middle_place
    return low


def _misses_clearly(question: Question, outcome: Outcome) -> bool:
    """Return True if a value violates its limit by so much that neither simulation nor random draws could change this.
    The result is False if the model of the candidate is invalid, since an invalid model shows nothing about weaker
    candidates.
    """
    if outcome.invalid:
        return False
    return outcome.used(question, rough=False) > 1 + 1e-9 or outcome.used(question) > NEAR


def _strength(candidate: Candidate) -> tuple[float, ...]:
    return tuple(part for option in candidate for part in option.strength)


def _try(question: Question, state: Search, group: list[Candidate], *, exhaustive: bool, simulation: bool) -> None:
    """Try candidates in order until one meets all objectives. Candidates that are in no respect stronger than a
    rejected candidate are skipped.
    """
    able = []
    for candidate in group:
        mine = _strength(candidate)
        if not exhaustive and any(all(a <= b for a, b in zip(mine, weak, strict=True)) for weak in state._weak):
            state.passed_over += 1
        else:
            able.append(candidate)
    found = grouped([under_load(question, candidate, question.load) for candidate in able], question)
    for candidate, does in zip(able, found, strict=True):
        state.tried += 1
        judged = _judged(question, state, Found(candidate, tuple(does)), simulation=simulation)
        if not judged.why_not:
            state.answer = judged
            return
        state.rejected.append(replace(judged, drawn=None))
        if any(_misses_clearly(question, each) for each in does):
            _note_weak(state, _strength(candidate))


def _note_weak(state: Search, mine: tuple[float, ...]) -> None:
    """Add a rejected candidate to the list of weak candidates. Remove from the list all candidates that are in no
    respect stronger than the added candidate.
    """
    state._weak = [weak for weak in state._weak if not all(a <= b for a, b in zip(weak, mine, strict=True))]
    state._weak.append(mine)


def _judged(question: Question, state: Search, found: Found, *, simulation: bool) -> Found:
    """Return a candidate with its probability and the reasons against it. A candidate with a value near its limit is
    simulated.
    """
    does = found.outcomes
    busy = [outcome for outcome in does if outcome.too_busy(question)]
    if busy or any(_misses_clearly(question, outcome) for outcome in does):
        return Found(found.candidate, does, why_not=_reasons(question, does))
    near = any(needs_simulation(question, outcome) for outcome in does) and simulation
    if not near and not all(outcome.met(question) for outcome in does):
        return Found(found.candidate, does, why_not=_reasons(question, does))
    short = memory_misses(question, list(does))
    if short:
        return Found(found.candidate, does, why_not=tuple(short))
    asked, scales = question.file.probability, _last_scales(state)
    draws = drawn(question, found.candidate, scales)
    chance = None if draws is None else draws.met(question) / len(draws.groups)
    # Before the first simulation, the error of computed percentiles is unknown and may cause a low probability. The
    # candidate is therefore not rejected because of its probability.
    worth = chance is None or not scales or chance >= asked - _CLEAR
    if near and state.simulations < SIMULATIONS_AT_MOST and worth:
        found = _simulated(question, state, found)
        draws = drawn(question, found.candidate, found.scales)
    summary = None if draws is None else draws.summary(question)
    return _with_reasons(question, replace(found, drawn=draws, summary=summary))


def _with_reasons(question: Question, found: Found) -> Found:
    """Return the candidate with the reasons why it fails. The values in these reasons have intervals."""
    reasons = _reasons(question, found.outcomes, found.summary)
    chance, asked = found.probability, question.file.probability
    if chance is not None and chance < asked and not reasons:
        assert found.summary is not None
        known = found.summary.probability_interval
        reasons = (f"all objectives hold in {share_text(chance, known)} of the draws, less than {100 * asked:.3g} %",)
    return replace(found, why_not=reasons)


def _last_scales(state: Search) -> Scales:
    """Return the ratios of simulated to computed values of the last simulated candidate, as estimates for other
    candidates; an empty dict if no candidate was simulated.
    """
    return next((rejected.scales for rejected in reversed(state.rejected) if rejected.simulated), {})


def _simulated(question: Question, state: Search, found: Found) -> Found:
    """Simulate a candidate, and return it with the simulated values."""
    state.simulations += 1
    simulated = tuple(simulate(question, outcome) for outcome in found.outcomes)
    jobs = [
        job_with(found.candidate, question, outcome.job.lost, two)
        for outcome, two in zip(found.outcomes, simulated, strict=True)
    ]
    return Found(found.candidate, tuple(outcomes(question, jobs)), simulated=simulated)


def _reasons(question: Question, does: Sequence[Outcome], summary: Summary | None = None) -> tuple[str, ...]:
    """Return a text for each objective that fails in the worst failure scenario."""
    hardest = worst(question, does)
    intervals = None if summary is None else summary.scenarios[hardest.job.lost]
    without = f" with {question.file.nodes_lost} of the nodes of {hardest.job.lost} lost" if hardest.job.lost else ""
    return tuple(f"{text}{without}" for text in hardest.misses(question, intervals))


def _pareto(question: Question, state: Search, lists: Sequence[Sequence[Option]]) -> list[Found]:
    """Return the Pareto front of candidates that cost at least as much as the answer. The criteria are cost, largest
    ratio of a value to its limit, and highest utilization.
    """
    assert state.answer is not None
    least, scales = question.cost.of(state.answer.candidate), state.answer.scales
    wanted: list[Candidate] = []
    for candidate in _in_order(question, lists):
        cost = question.cost.of(candidate)
        if cost > PARETO_COST * least or len(wanted) >= PARETO_AT_MOST:
            break
        if cost >= least and candidate != state.answer.candidate:
            wanted.append(candidate)
    jobs = [under_load(question, candidate, question.load, scales) for candidate in wanted]
    does = [Found(candidate, tuple(each)) for candidate, each in zip(wanted, grouped(jobs, question), strict=True)]
    good = [
        candidate
        for candidate in does
        if all(each.met(question) for each in candidate.outcomes)
        and not memory_misses(question, list(candidate.outcomes))
    ]
    front: list[Found] = []
    best = [_merits(question, state.answer)]
    for able in sorted(good, key=lambda each: _merits(question, each)):
        mine = _merits(question, able)
        if any(all(a <= b for a, b in zip(other, mine, strict=True)) for other in best):
            continue
        best.append(mine)
        front.append(able)
    sure = [with_intervals(question, other, scales) for other in _spread(front, PARETO_SHOWN)]
    return [other for other in sure if other.probability is None or other.probability >= question.file.probability]


def _spread(front: list[Found], count: int) -> list[Found]:
    """Return `count` candidates from a list in order of cost, evenly spaced from the cheapest to the most expensive."""
    if len(front) <= count:
        return front
    return [front[round(place * (len(front) - 1) / (count - 1))] for place in range(count)]


def with_intervals(question: Question, found: Found, scales: Scales) -> Found:
    """Add intervals to the values of a candidate, and to the reasons against it. Without random draws, the candidate is
    returned unchanged.
    """
    if found.summary is not None or not question.draws:
        return found
    draws = drawn(question, found.candidate, scales)
    if draws is None:
        return found
    summary, does = draws.summary(question), list(found.outcomes)
    plain = (*_reasons(question, does), *memory_misses(question, does))
    exact = (*_reasons(question, does, summary), *memory_misses(question, does, draws))
    better = dict(zip(plain, exact, strict=True))
    return replace(found, summary=summary, why_not=tuple(better.get(text, text) for text in found.why_not))


def _merits(question: Question, found: Found) -> tuple[float, float, float]:
    """Return three measures of a candidate, all better if lower: cost, largest ratio of a value to its limit, and
    highest utilization. Ratio and utilization are rounded to two decimals.
    """
    use = max(each.used(question) for each in found.outcomes)
    busy = max(max(each.utilization.values(), default=0.0) for each in found.outcomes)
    return (question.cost.of(found.candidate), round(use, 2), round(busy, 2))


def neighbours(question: Question, found: Found, rejected: Sequence[Found]) -> list[Found]:
    """Return a variant of the answer for each tier that has a cheaper option. In the variant, this tier has the next
    cheaper option.
    """
    seen = {other.candidate: other for other in rejected if other.simulated}
    tried = []
    for number, tier in enumerate(question.tiers):
        mine = question.cost.of_option(found.candidate[number])
        cheaper = [option for option in tier.options if question.cost.of_option(option) < mine]
        if cheaper:
            step = max(cheaper, key=lambda option: _order(question, option))
            tried.append((*found.candidate[:number], step, *found.candidate[number + 1 :]))
    scales = found.scales
    jobs = [under_load(question, candidate, question.load, scales) for candidate in tried]
    cheaper_ones = []
    for candidate, does in zip(tried, grouped(jobs, question), strict=True):
        if candidate in seen:
            cheaper_ones.append(seen[candidate])
            continue
        short = tuple(memory_misses(question, list(does)))
        alone = with_intervals(question, Found(candidate, tuple(does), why_not=short), scales)
        reasons = (*_with_reasons(question, alone).why_not, *alone.why_not)
        cheaper_ones.append(replace(alone, why_not=reasons))
    return cheaper_ones


def strongest(question: Question) -> Found:
    """Return the combination of the strongest hardware of all tiers, with the objectives that it violates. The
    combination itself need not be a candidate.
    """
    candidate = tuple(tier.strongest for tier in question.tiers)
    does = outcomes(question, under_load(question, candidate, question.load))
    return with_intervals(question, Found(candidate, tuple(does), why_not=_reasons(question, does)), {})

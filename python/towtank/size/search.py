"""The cheapest candidate that meets the objectives, and those beside it that are worth a look.

Three steps. Every option of a tier is tried with the strongest of all other tiers: what misses even then is out. What
is left is tried in the order of its cost; whoever is nowhere stronger than one that missed by time is passed over. The
first that meets everything with the probability asked for is the answer; its percentiles are simulated, and so are its
means if they are a coarse approximation.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from towtank.errors import ModelError
from towtank.size.drawn import Drawn, Intervals, Summary, drawn
from towtank.size.evaluate import Outcome, grouped, outcomes, under_load, worst
from towtank.size.factors import Factors
from towtank.size.interval import share_text
from towtank.size.question import Question
from towtank.size.resources import memory_misses
from towtank.size.simulated import Simulated, job_with, needs_simulation, simulate
from towtank.size.tiers import Candidate, Option

CANDIDATES_AT_MOST = 1_000_000
"""More cannot be put in order in seconds. [1]"""
_GROUP = 128
NEAR = 1.25
"""Percentiles that are worked out, and coarse approximations, are taken at their word only farther than this beyond
their limit; others are simulated. [ratio]"""
SIMULATIONS_AT_MOST = 12
_CLEAR = 0.05
"""A probability that much below the one asked for needs no simulation. [ratio]"""
PARETO_COST = 1.5
PARETO_AT_MOST = 300
PARETO_SHOWN = 8

Scales = dict[str | None, Factors]


@dataclass(frozen=True)
class Found:
    """A candidate with what it does in every scenario.

    Attributes
    ----------
    candidate : Candidate
    outcomes : tuple of Outcome
        All nodes up first.
    summary : Summary or None
        Probability and intervals, from the draws; None if there are none, or the candidate was not drawn.
    simulated : tuple of Simulated or None
        By scenario.
    why_not : tuple of str
        Why it is not the answer; empty where it is good.
    drawn : Drawn or None
        Outcomes in every draw, of the answer only.
    """

    candidate: Candidate
    outcomes: tuple[Outcome, ...]
    summary: Summary | None = None
    simulated: tuple[Simulated | None, ...] = ()
    why_not: tuple[str, ...] = ()
    drawn: Drawn | None = None

    @property
    def probability(self) -> float | None:
        """Share of the draws in which everything holds; None if it is not known. [ratio]"""
        return None if self.summary is None else self.summary.probability

    def intervals(self, lost: str | None = None) -> Intervals | None:
        """Intervals of one scenario; None without draws."""
        return None if self.summary is None else self.summary.scenarios[lost]

    @property
    def scales(self) -> Scales:
        """By scenario, simulation over approximation."""
        return {
            outcome.job.lost: one.scale
            for outcome, one in zip(self.outcomes, self.simulated, strict=False)
            if one is not None
        }


@dataclass
class Search:
    """How the answer was found.

    Attributes
    ----------
    answer : Found or None
    rejected : list of Found
        In the order of their cost.
    candidates : int
        All there are. [1]
    cut : int
        That are out because one of their parts misses even with the strongest of all others. [1]
    passed_over : int
        Nowhere stronger than one that missed. [1]
    tried : int
        That were solved. [1]
    simulations : int
    others : list of Found
        Good ones beside the answer, none better in all of cost, use of the objective and headroom.
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
    """Find the cheapest candidate.

    Parameters
    ----------
    question : Question
    exhaustive : bool, default False
        Try every candidate in the order of cost. Off because one that is nowhere stronger cannot be faster in a
        network of one class, and is not known to be in any other.
    simulation : bool, default True
        Whether percentiles near their limits are simulated.
    """
    state = Search()
    lists = [sorted(tier.options, key=lambda one: _order(question, one)) for tier in question.tiers]
    state.candidates = math.prod(len(one) for one in lists)
    if not exhaustive:
        lists = _cut(question, lists)
        state.cut = state.candidates - math.prod(len(one) for one in lists)
    left = math.prod(len(one) for one in lists)
    if left > CANDIDATES_AT_MOST:
        raise ModelError(
            f"tiers: must leave at most {CANDIDATES_AT_MOST} candidates, got {left} instead",
            hint="give fewer numbers of nodes and CPUs",
        )
    stream = _in_order(question, lists)
    while state.answer is None:
        group = [one for _, one in zip(range(_GROUP), stream, strict=False)]
        if not group:
            break
        _try(question, state, group, exhaustive=exhaustive, simulation=simulation)
    if state.answer is not None:
        state.others = _pareto(question, state, lists)
    return state


def _order(question: Question, one: Option) -> tuple[float, ...]:
    """Cheapest first; of the same cost the one with fewer nodes, then fewer CPUs."""
    return (question.cost.of_option(one), one.nodes, one.cpus, one.speed)


def _in_order(question: Question, lists: Sequence[Sequence[Option]]) -> Iterator[Candidate]:
    """All candidates, the cheapest first; each is made only when it is asked for."""
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
    """Options that are enough with the strongest of all other tiers, by bisection in the number of CPUs."""
    strongest = tuple(tier.strongest for tier in question.tiers)
    kept = []
    for number, options in enumerate(lists):
        chains: dict[object, list[Option]] = {}
        for one in sorted(options, key=lambda each: each.cpus):
            chains.setdefault(one.chain, []).append(one)
        least = _least(question, strongest, number, list(chains.values()))
        enough = {id(one) for chain, place in zip(chains.values(), least, strict=True) for one in chain[place:]}
        kept.append([one for one in options if id(one) in enough])
    return kept


def _least(question: Question, strongest: Candidate, number: int, chains: list[list[Option]]) -> list[int]:
    """Place of the first option of each chain that may be enough; all chains are bisected side by side."""
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
            if any(_misses_clearly(question, one) for one in found):
                low[place] = middle_place + 1
            else:
                high[place] = middle_place
    return low


def _misses_clearly(question: Question, one: Outcome) -> bool:
    """Misses by a time or throughput so far that neither simulation nor draws could make it good."""
    return one.used(question, rough=False) > 1 + 1e-9 or one.used(question) > NEAR


def _strength(candidate: Candidate) -> tuple[float, ...]:
    return tuple(part for one in candidate for part in one.strength)


def _try(question: Question, state: Search, group: list[Candidate], *, exhaustive: bool, simulation: bool) -> None:
    """Try candidates in their order until one is good."""
    able = []
    for one in group:
        mine = _strength(one)
        if not exhaustive and any(all(a <= b for a, b in zip(mine, weak, strict=True)) for weak in state._weak):
            state.passed_over += 1
        else:
            able.append(one)
    found = grouped([under_load(question, one, question.load) for one in able], question)
    for one, does in zip(able, found, strict=True):
        state.tried += 1
        judged = _judged(question, state, Found(one, tuple(does)), simulation=simulation)
        if not judged.why_not:
            state.answer = judged
            return
        state.rejected.append(replace(judged, drawn=None))
        if any(_misses_clearly(question, each) for each in does):
            _note_weak(state, _strength(one))


def _note_weak(state: Search, mine: tuple[float, ...]) -> None:
    """Keep only those that no other one covers."""
    state._weak = [one for one in state._weak if not all(a <= b for a, b in zip(one, mine, strict=True))]
    state._weak.append(mine)


def _judged(question: Question, state: Search, found: Found, *, simulation: bool) -> Found:
    """Whether a candidate is good, with the probability and by simulation where it is near."""
    does = found.outcomes
    busy = [one for one in does if one.too_busy(question)]
    if busy or any(_misses_clearly(question, one) for one in does):
        return Found(found.candidate, does, why_not=_reasons(question, does))
    near = any(needs_simulation(question, one) for one in does) and simulation
    if not near and not all(one.met(question) for one in does):
        return Found(found.candidate, does, why_not=_reasons(question, does))
    short = memory_misses(question, list(does))
    if short:
        return Found(found.candidate, does, why_not=tuple(short))
    asked, scales = question.file.probability, _last_scales(state)
    draws = drawn(question, found.candidate, scales)
    chance = _chance(question, draws)
    # Before the first simulation nothing is known of how far percentiles that are worked out lie off.
    worth = chance is None or not scales or chance >= asked - _CLEAR
    if near and state.simulations < SIMULATIONS_AT_MOST and worth:
        found = _simulated(question, state, found)
        draws = drawn(question, found.candidate, found.scales)
    return _with_reasons(question, _with_draws(question, found, draws))


def _chance(question: Question, draws: Drawn | None) -> float | None:
    return None if draws is None else draws.met(question) / len(draws.groups)


def _with_draws(question: Question, found: Found, draws: Drawn | None) -> Found:
    return replace(found, drawn=draws, summary=None if draws is None else draws.summary(question))


def _with_reasons(question: Question, found: Found) -> Found:
    """State why a candidate is not good, values with their intervals."""
    reasons = _reasons(question, found.outcomes, found.summary)
    chance, asked = found.probability, question.file.probability
    if chance is not None and chance < asked and not reasons:
        assert found.summary is not None
        known = found.summary.probability_interval
        reasons = (f"all objectives hold in {share_text(chance, known)} of the draws, less than {100 * asked:.3g} %",)
    return replace(found, why_not=reasons)


def _last_scales(state: Search) -> Scales:
    """What simulation said of the last candidate, whose percentiles differ from these by little."""
    return next((one.scales for one in reversed(state.rejected) if one.simulated), {})


def _simulated(question: Question, state: Search, found: Found) -> Found:
    """The candidate with its percentiles as simulated."""
    state.simulations += 1
    told = tuple(simulate(question, one) for one in found.outcomes)
    jobs = [
        job_with(found.candidate, question, one.job.lost, two) for one, two in zip(found.outcomes, told, strict=True)
    ]
    return Found(found.candidate, tuple(outcomes(question, jobs)), simulated=told)


def _reasons(question: Question, does: Sequence[Outcome], summary: Summary | None = None) -> tuple[str, ...]:
    """What does not hold: in the worst scenario."""
    one = worst(question, does)
    intervals = None if summary is None else summary.scenarios[one.job.lost]
    without = f" with {question.file.nodes_lost} of the nodes of {one.job.lost} lost" if one.job.lost else ""
    return tuple(f"{text}{without}" for text in one.misses(question, intervals))


def _pareto(question: Question, state: Search, lists: Sequence[Sequence[Option]]) -> list[Found]:
    """Good candidates of which no other is better in cost, use of the objective and headroom."""
    assert state.answer is not None
    least, scales = question.cost.of(state.answer.candidate), state.answer.scales
    wanted: list[Candidate] = []
    for one in _in_order(question, lists):
        cost = question.cost.of(one)
        if cost > PARETO_COST * least or len(wanted) >= PARETO_AT_MOST:
            break
        if cost >= least and one != state.answer.candidate:
            wanted.append(one)
    jobs = [under_load(question, one, question.load, scales) for one in wanted]
    does = [Found(one, tuple(each)) for one, each in zip(wanted, grouped(jobs, question), strict=True)]
    good = [
        one
        for one in does
        if all(each.met(question) for each in one.outcomes) and not memory_misses(question, list(one.outcomes))
    ]
    front: list[Found] = []
    best = [_merits(question, state.answer)]
    for able in sorted(good, key=lambda each: _merits(question, each)):
        mine = _merits(question, able)
        if any(all(a <= b for a, b in zip(other, mine, strict=True)) for other in best):
            continue
        best.append(mine)
        front.append(able)
    sure = [with_intervals(question, one, scales) for one in _spread(front, PARETO_SHOWN)]
    return [one for one in sure if one.probability is None or one.probability >= question.file.probability]


def _spread(front: list[Found], count: int) -> list[Found]:
    """Some of a front, evenly from the cheapest to the dearest."""
    if len(front) <= count:
        return front
    return [front[round(place * (len(front) - 1) / (count - 1))] for place in range(count)]


def with_intervals(question: Question, found: Found, scales: Scales) -> Found:
    """A candidate with its intervals, and with them in the reasons why it is not good; unchanged without draws."""
    if found.summary is not None or not question.draws:
        return found
    draws = drawn(question, found.candidate, scales)
    if draws is None:
        return found
    summary, does = draws.summary(question), list(found.outcomes)
    plain = (*_reasons(question, does), *memory_misses(question, does))
    told = (*_reasons(question, does, summary), *memory_misses(question, does, draws))
    better = dict(zip(plain, told, strict=True))
    return replace(found, summary=summary, why_not=tuple(better.get(text, text) for text in found.why_not))


def _merits(question: Question, one: Found) -> tuple[float, float, float]:
    """Cost, share of the objective used, utilization of the busiest: the less the better. Rounded to what counts."""
    use = max(each.used(question) for each in one.outcomes)
    busy = max(max(each.utilization.values(), default=0.0) for each in one.outcomes)
    return (question.cost.of(one.candidate), round(use, 2), round(busy, 2))


def neighbours(question: Question, found: Found, rejected: Sequence[Found]) -> list[Found]:
    """The answer with one tier one step cheaper, for each tier that has such a step; as simulated, if it was."""
    seen = {one.candidate: one for one in rejected if one.simulated}
    tried = []
    for number, tier in enumerate(question.tiers):
        mine = question.cost.of_option(found.candidate[number])
        cheaper = [one for one in tier.options if question.cost.of_option(one) < mine]
        if cheaper:
            step = max(cheaper, key=lambda one: _order(question, one))
            tried.append((*found.candidate[:number], step, *found.candidate[number + 1 :]))
    scales = found.scales
    jobs = [under_load(question, one, question.load, scales) for one in tried]
    told = []
    for one, does in zip(tried, grouped(jobs, question), strict=True):
        if one in seen:
            told.append(seen[one])
            continue
        short = tuple(memory_misses(question, list(does)))
        alone = with_intervals(question, Found(one, tuple(does), why_not=short), scales)
        reasons = (*_with_reasons(question, alone).why_not, *alone.why_not)
        told.append(replace(alone, why_not=reasons))
    return told


def strongest(question: Question) -> Found:
    """The strongest of every tier together, which need not be a candidate, and what even that misses."""
    one = tuple(tier.strongest for tier in question.tiers)
    does = outcomes(question, under_load(question, one, question.load))
    return with_intervals(question, Found(one, tuple(does), why_not=_reasons(question, does)), {})

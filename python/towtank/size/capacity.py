"""How much load a candidate carries before an objective is missed, and what then limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from towtank.size.evaluate import Factors, Job, Outcome, grouped, outcomes
from towtank.size.load import Load
from towtank.size.question import Question
from towtank.size.tiers import Candidate

_ROUNDS = 10
"""Of bisection after the limit is within a factor of two: 1 in 1,000. [1]"""
LIMIT_PRECISION = 2.0**-_ROUNDS
"""Of a limit, in relation to it. [ratio]"""
_MOST_DOUBLINGS = 20
DRAWS_OF_LIMITS = 25
"""Draws for which limits are searched: each costs some dozens of solutions. [1]"""


@dataclass(frozen=True)
class _Row:
    """One search: a candidate in one draw, with what is changed."""

    candidate: Candidate
    load: Load
    draw: int | None
    changes: Mapping[str, Any]
    scales: Mapping[str | None, Factors]


def limits(
    question: Question,
    candidate: Candidate,
    draws: Sequence[int | None] = (None,),
    *,
    load: Load | None = None,
    scales: Mapping[str | None, Factors] | None = None,
    **changes: Any,
) -> list[float]:
    """The highest factor of the load at which everything about times and utilizations still holds, for each draw.

    Parameters
    ----------
    question : Question
    candidate : Candidate
    draws : sequence of int or None
        Which draws; None is the best estimate.
    load : Load, optional
        Factors are over this one; the load to be carried if none.
    scales : dict, optional
        By scenario and check, simulation over approximation.
    **changes
        Of `Job`.

    Returns
    -------
    list of float
        0 where not even a hundred-thousandth of the load is carried. [1]
    """
    rows = [_Row(candidate, load or question.load, draw, changes, scales or {}) for draw in draws]
    low, high = [0.0] * len(rows), [0.0] * len(rows)
    trial = [1.0] * len(rows)
    for _ in range(_MOST_DOUBLINGS):
        open_rows = [place for place in range(len(rows)) if not (low[place] and high[place])]
        if not open_rows:
            break
        for place, good in zip(open_rows, _hold(question, rows, trial, open_rows), strict=True):
            if good:
                low[place] = trial[place]
            else:
                high[place] = trial[place]
            trial[place] *= 2.0 if good else 0.5
    searched = [place for place in range(len(rows)) if low[place] and high[place]]
    for _ in range(_ROUNDS):
        for place in searched:
            trial[place] = (low[place] + high[place]) / 2
        for place, good in zip(searched, _hold(question, rows, trial, searched), strict=True):
            (low if good else high)[place] = trial[place]
    return low


def _hold(question: Question, rows: list[_Row], trial: list[float], places: list[int]) -> list[bool]:
    groups = []
    for place in places:
        row = rows[place]
        load = row.load.times(trial[place])
        groups.append(
            [
                Job(row.candidate, load, lost, row.draw, scale=row.scales.get(lost, {}), **row.changes)
                for lost in question.scenarios(row.candidate)
            ]
        )
    return [all(_within(question, one) for one in group) for group in grouped(groups, question)]


def _within(question: Question, one: Outcome) -> bool:
    """As `met`, but a throughput that is asked for does not bound the load from above."""
    if one.why_not or one.too_busy(question):
        return False
    checks = zip(question.checks, one.values, strict=True)
    return all(check.upward or check.ratio(value) <= 1 for check, value in checks)


@dataclass(frozen=True)
class Bottleneck:
    """What limits a candidate.

    Attributes
    ----------
    station : str
        The busiest one when the objective is missed.
    utilization : float
        There, at the limit. [ratio]
    limit : float
        Factor of the load at which the objective is missed. [1]
    lost : str or None
        Tier whose nodes are lost when that happens first.
    """

    station: str
    utilization: float
    limit: float
    lost: str | None = None


def _nearness(question: Question, one: Outcome) -> float:
    """How near a scenario is to what is missed first: a time, or a utilization with all nodes up."""
    ratios = [check.ratio(value) for check, value in zip(question.checks, one.values, strict=True) if not check.upward]
    if one.job.lost is None:
        ratios += [used / (question.utilization.get(name, 1.0) or 1.0) for name, used in one.utilization.items()]
    return max(ratios, default=0.0)


def bottlenecks(
    question: Question, candidate: Candidate, scales: Mapping[str | None, Factors], count: int = 3
) -> list[Bottleneck]:
    """The resource that limits, then the next one after the servers of the first are doubled, and so on."""
    found: list[Bottleneck] = []
    boost: dict[str, int] = {}
    for _ in range(count):
        limit = limits(question, candidate, scales=scales, boost=dict(boost))[0]
        load = question.load.times(max(limit, 1e-6))
        jobs = [
            Job(candidate, load, lost, scale=scales.get(lost, {}), boost=dict(boost))
            for lost in question.scenarios(candidate)
        ]
        at = max(outcomes(question, jobs), key=lambda one: _nearness(question, one))
        if not at.utilization:
            break
        name = max(at.utilization, key=lambda each: at.utilization[each] / (question.utilization.get(each, 1.0) or 1.0))
        found.append(Bottleneck(name, at.utilization[name], limit, at.job.lost))
        boost[name] = 2 * boost.get(name, 1)
    return found

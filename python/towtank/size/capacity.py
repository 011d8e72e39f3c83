"""How much load a candidate carries before an objective is missed, and what then limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from towtank.size.evaluate import Outcome, grouped, outcomes, under_load
from towtank.size.factors import Factors
from towtank.size.interval import Interval, between
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
_DRAWS_AT_LEAST = 9
"""Fewer draws of a limit have no interval. [1]"""
_USERS_OF_INTERVALS = 2_000_000
"""Users of all solutions for one interval of a limit: the time of a solution grows with its users. [1]"""
_ROUNDS_OF_INTERVALS = 7
"""Of bisection for the ends of an interval, which need not be known better than to 1 in 128. [1]"""


def some_draws(count: int) -> Sequence[int | None]:
    """Draws for which limits are searched, evenly from all; the best estimate where there are none."""
    if not count:
        return [None]
    return _spread(count, DRAWS_OF_LIMITS)


def _spread(count: int, most: int) -> range:
    """At most so many draws, evenly from all."""
    return range(0, count, max(1, count // most))[:most]


def draws_of_interval(question: Question, load: Load, limit: float) -> range:
    """Draws for the interval of a limit; none if nothing but growth is drawn, or a solution takes too long."""
    if not set(question.counted) - {"growth"}:
        return range(0)
    users = limit * sum(load.users.values()) * (_ROUNDS_OF_INTERVALS + 2)
    able = DRAWS_OF_LIMITS if users == 0 else min(DRAWS_OF_LIMITS, int(_USERS_OF_INTERVALS / users))
    return _spread(len(question.draws), able) if able >= _DRAWS_AT_LEAST else range(0)


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
    near: float = 1.0,
    rounds: int = _ROUNDS,
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
    near : float, default 1
        Factor with which the search begins.
    rounds : int
        Of bisection after the limit is within a factor of two.
    **changes
        Of `Job`.

    Returns
    -------
    list of float
        0 where not even a hundred-thousandth of the load is carried. [1]
    """
    rows = [_Row(candidate, load or question.load, draw, changes, scales or {}) for draw in draws]
    low, high = [0.0] * len(rows), [0.0] * len(rows)
    trial = [near] * len(rows)
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
    for _ in range(rounds):
        for place in searched:
            trial[place] = (low[place] + high[place]) / 2
        for place, good in zip(searched, _hold(question, rows, trial, searched), strict=True):
            (low if good else high)[place] = trial[place]
    return low


def limit_interval(
    question: Question,
    candidate: Candidate,
    limit: float,
    scales: Mapping[str | None, Factors] | None = None,
    **changes: Any,
) -> Interval | None:
    """Interval of a limit that was found, from some of the draws; None without draws. Growth does not move it."""
    found = _limits_of_draws(question, candidate, limit, scales, **changes)
    return between(found).around(limit) if found else None


def _limits_of_draws(
    question: Question, candidate: Candidate, limit: float, scales: Any, **changes: Any
) -> list[float]:
    """Limits in some of the draws, searched from the best estimate on."""
    draws, near = draws_of_interval(question, changes.get("load") or question.load, limit), max(limit, 1e-6)
    found = limits(question, candidate, draws, scales=scales, near=near, rounds=_ROUNDS_OF_INTERVALS, **changes)
    # The limit lies in the last step of the bisection, of which `limits` returns the lower end.
    return [low * (1 + 2.0 ** -(_ROUNDS_OF_INTERVALS + 1)) for low in found]


def _hold(question: Question, rows: list[_Row], trial: list[float], places: list[int]) -> list[bool]:
    groups = []
    for place in places:
        row = rows[place]
        load = row.load.times(trial[place])
        groups.append(under_load(question, row.candidate, load, row.scales, row.draw, **row.changes))
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
    limit_interval, utilization_interval : Interval or None
        Of these, from some of the draws; None without draws.
    """

    station: str
    utilization: float
    limit: float
    lost: str | None = None
    limit_interval: Interval | None = None
    utilization_interval: Interval | None = None


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
        jobs = under_load(question, candidate, load, scales, boost=dict(boost))
        at = max(outcomes(question, jobs), key=lambda one: _nearness(question, one))
        if not at.utilization:
            break
        name = max(at.utilization, key=lambda each: at.utilization[each] / (question.utilization.get(each, 1.0) or 1.0))
        drawn = _limits_of_draws(question, candidate, limit, scales, boost=dict(boost))
        used = _used(question, at, name, drawn, draws_of_interval(question, question.load, limit))
        found.append(
            Bottleneck(
                name, at.utilization[name], limit, at.job.lost, between(drawn).around(limit) if drawn else None, used
            )
        )
        boost[name] = 2 * boost.get(name, 1)
    return found


def _used(
    question: Question, at: Outcome, name: str, drawn: Sequence[float], numbers: Sequence[int]
) -> Interval | None:
    """Interval of the utilization of a station at the limits of the draws; None without draws."""
    if not drawn:
        return None
    jobs = [
        replace(at.job, load=question.load.times(max(limit, 1e-6)), draw=draw, scale={})
        for limit, draw in zip(drawn, numbers, strict=True)
    ]
    found = between(outcome.utilization.get(name, 1.0) for outcome in outcomes(question, jobs))
    return found.around(at.utilization[name])

"""Sizes each interval of a day, for a load that changes over the day."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from towtank.sizing.day_profile import DayInterval
from towtank.sizing.evaluate import Outcome
from towtank.sizing.interval import duration_text
from towtank.sizing.question import Question
from towtank.sizing.result import SizedDay, SizedInterval, SizedTierOfInterval
from towtank.sizing.search import Found, Search, search
from towtank.sizing.tiers import in_words

REMAINS_AT_MOST = 0.05
"""When the load falls between two intervals, part of the fall takes effect only during the later interval. A doubt is
added if this part, averaged over the interval, is larger than this share of the fall. [ratio]
"""
_BUSY_AT_MOST = 0.95
"""Largest utilization from which the settling time of an open class is computed, as in the simulator. [ratio]"""


def sized_day(
    question: Question, profile: Sequence[DayInterval], busiest: Search, *, exhaustive: bool, simulation: bool
) -> tuple[SizedDay, list[str]]:
    """Find the cheapest hardware for the load of each interval of a day. Also return doubts about the division of the
    day into intervals.

    The load of the question is that of the busiest interval, and `busiest` is the result of the search for it. The
    other settings are as in `search`.

    Notes
    -----
    Each interval is sized as if its load lasted for ever (stationary independent period by period approach [1]_). If
    the interval before was busier, too much of its work may still be in the system. The number of transactions in the
    system approaches its mean with the time constant of `settling_time`. A doubt is added if more than
    `REMAINS_AT_MOST` of a falling load remains in an interval.

    References
    ----------
    .. [1] L. V. Green, P. J. Kolesar and J. Soares, "Improving the SIPP approach for staffing service systems that have
           cyclic demands", Operations Research 49(4), 549-564, 2001, doi:10.1287/opre.49.4.549.11228.
    """
    found: dict[float, Found | list[str]] = {1.0: _answer(busiest)}
    for interval in profile:
        if interval.share not in found and interval.share > 0:
            of_interval = replace(question, load=question.load.times(interval.share))
            found[interval.share] = _answer(search(of_interval, exhaustive=exhaustive, simulation=simulation))
    total, unit = question.load.total
    rows = tuple(_row(question, interval, total, found.get(interval.share)) for interval in profile)
    hours = [interval.length_s / 3600 for interval in profile]
    costs = [row.cost for row in rows if row.cost is not None]
    known = len(costs) == len(rows)
    day = SizedDay(
        intervals=rows,
        load_unit=unit,
        cost_hours=sum(cost * length for cost, length in zip(costs, hours, strict=True)) if known else None,
        cost_hours_fixed=max(costs) * sum(hours) if known else None,
    )
    answers = [answer if isinstance(answer := found.get(each.share), Found) else None for each in profile]
    return day, _doubts(profile, answers)


def _answer(state: Search) -> Found | list[str]:
    """Return the hardware that a search found. If no candidate suffices, return the reasons against the most expensive
    candidate.
    """
    if state.answer is not None:
        return replace(state.answer, drawn=None)
    return list(state.rejected[-1].why_not) if state.rejected else ["no option of a tier is strong enough"]


def _row(question: Question, interval: DayInterval, total: float, found: Found | list[str] | None) -> SizedInterval:
    answer = found if isinstance(found, Found) else None
    outcome = None if answer is None else answer.outcomes[0]
    tiers = {} if answer is None or outcome is None else {
        tier.name: SizedTierOfInterval(
            nodes=option.nodes,
            cpus=option.cpus,
            machine=option.machine,
            utilization=max((outcome.utilization.get(name, 0.0) for name in tier.stations), default=None),
        )
        for tier, option in zip(question.tiers, answer.candidate, strict=True)
    }  # fmt: skip
    shown = () if outcome is None else tuple(outcome.shown(question, place) for place in range(len(question.checks)))
    no_load = interval.share == 0
    words = None if answer is None else in_words(question.tiers, answer.candidate)
    return SizedInterval(
        interval=interval.label,
        begin_s=interval.begin_s,
        end_s=interval.end_s,
        load=total * interval.share,
        configuration="nothing: no load" if no_load else words,
        cost=0.0 if no_load else None if answer is None else question.cost.of(answer.candidate),
        tiers=tiers,
        objectives=shown,
        probability=None if answer is None else answer.probability,
        why_not=tuple(found) if isinstance(found, list) else (),
    )


def settling_time(outcome: Outcome) -> float:
    """Return the time constant with which the number of transactions in the system approaches its mean, for the slowest
    class. [s]

    Notes
    -----
    The time constant is R + 1 / (1/Z + (1 - U) / R), the relaxation time of the simulator. R is the response time, Z
    the think time (infinite for an open class) and U the utilization of the busiest station. For open classes U counts
    as 0.95 at most.
    """
    used = max(outcome.utilization.values(), default=0.0)
    times = [0.0]
    for name, response in outcome.response_s.items():
        think = outcome.job.load.think_s.get(name, 0.0)
        closed = name in outcome.job.load.users
        if response <= 0 or (closed and think <= 0):
            continue
        free = 1 - (min(used, 1.0) if closed else min(used, _BUSY_AT_MOST))
        times.append(response + 1 / ((1 / think if closed else 0.0) + free / response))
    return max(times)


def remaining(time_s: float, length_s: float) -> float:
    """Return the share of a change of the load that has not yet taken effect, averaged over the interval after the
    change. [ratio]

    Notes
    -----
    The result is the mean of exp(-t / T) over 0 <= t <= L, which is T / L (1 - exp(-L / T)), for the time constant T
    and the length L of the interval. It is exact for the number of jobs in an M/M/infinity queue, whose time constant
    is the service time.
    """
    if time_s <= 0:
        return 0.0
    return time_s / length_s * -math.expm1(-length_s / time_s)


def _doubts(profile: Sequence[DayInterval], answers: Sequence[Found | None]) -> list[str]:
    late = []
    for place, (interval, answer) in enumerate(zip(profile, answers, strict=True)):
        before = profile[place - 1]
        if answer is None or before.share <= interval.share or before.end_s % 86_400 != interval.begin_s % 86_400:
            continue
        if remaining(time := settling_time(answer.outcomes[0]), interval.length_s) > REMAINS_AT_MOST:
            late.append((interval, time))
    if not late:
        return []
    interval, time = max(late, key=lambda each: remaining(each[1], each[0].length_s))
    more = f", and in {len(late) - 1} more intervals" if len(late) > 1 else ""
    return [
        f"the work of the busier interval before {interval.label} remains in it{more}: the number of transactions "
        f"in the system settles within some {duration_text(time)}, and on average over the interval "
        f"{100 * remaining(time, interval.length_s):.0f} % of the change of the load remain; size such intervals for "
        "the load of the interval before"
    ]

"""Predicts the dates on which a growing load reaches the limit of the present and of the recommended hardware, or fills
the disks or the memory of this hardware.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from towtank.arrays import Floats
from towtank.sizing.capacity import Bottleneck
from towtank.sizing.growth import HistoricGrowth, LimitDates, missed, reached
from towtank.sizing.interval import Interval, finite
from towtank.sizing.limit_search import LIMIT_PRECISION, Limits
from towtank.sizing.resource_dates import date_text, resource_dates
from towtank.sizing.result import DateEnds, DateResult, OtherTrend
from towtank.sizing.search import Found
from towtank.sizing.settle import SizingProblem, as_it_is

_ROUNDS = 12
"""Highest number of bisection steps in the search for a date. [1]"""


def dates(
    settled: SizingProblem, answer: Found | None, limits: Limits | None, first: list[Bottleneck]
) -> list[DateResult]:
    """Return a row for each hardware configuration, with the date on which the growing load reaches its limit.

    Each tier with disks for data, or with nodes of known memory, has a row of its own. The result is empty if the load
    does not grow.
    """
    if settled.growing is None:
        return []
    # Lost nodes are ignored for the hardware of the model: its load limit would be 0 if a tier has a single node.
    whole = replace(settled.question, file=settled.question.file.model_copy(update={"nodes_lost": 0}))
    today = replace(settled, question=whole)
    present, name = as_it_is(whole), "the hardware of the model"
    rows = [_row(today, name, Limits(whole, present)), *resource_dates(today, present, name)]
    if answer is not None and limits is not None:
        rows.append(_row(settled, "the answer", limits, as_probability=True))
        rows += resource_dates(settled, answer.candidate, "the answer")
        for place in range(1, len(first)):
            boost: dict[str, int] = {}
            for bottleneck in first[:place]:
                boost[bottleneck.station] = 2 * boost.get(bottleneck.station, 1)
            names = ", ".join(f"{name} x{factor}" for name, factor in boost.items())
            rows.append(_row(settled, f"the answer with the servers of {names}", first[place].limits))
    return rows


def _row(settled: SizingProblem, what: str, limits: Limits, *, as_probability: bool = False) -> DateResult:
    """Return the row for one hardware configuration: its load limit, and the dates on which the load exceeds the limit.

    With `as_probability`, each random draw compares its own load limit with its own growth.
    """
    assert settled.growing is not None
    question = settled.question
    load = settled.now.times(question.file.load.peak)
    total, unit = load.total
    # Limits are relative to the required load, but growth is relative to the load of today. The ratio of the two loads
    # converts limits to the load of today.
    ratio = question.load.total[0] / total
    shares = np.array(question.growth_shares) if as_probability and question.growth_shares else None
    chance = round(1 - question.file.probability, 12)
    best = limits.best
    if limits.no_limit and not limits.is_bounded:
        return _nothing_to_miss(what, unit, chance, limits.no_limit)
    when = _reached(settled, limits, ratio, chance, shares)
    known = limits.interval()
    if question.draws and not limits.varies:
        known = Interval(best, best)
    other = settled.growing.otherwise if isinstance(settled.growing, HistoricGrowth) else None
    later = reached(other, settled.start, [best * (1 + LIMIT_PRECISION) * ratio], chance).expected if other else None
    ends = None if settled.growing.certain and not question.draws else map(date_text, when.between)
    return DateResult(
        what=what,
        otherwise=other and OtherTrend(trend=other.history.trend.form, expected_on=date_text(later)),
        limit=finite(best * ratio * total),
        no_limit=limits.no_limit or None,
        limit_interval=known and known.times(ratio * total),
        unit=unit,
        missed_from=date_text(when.day),
        days=when.days,
        chance=chance,
        expected_on=date_text(when.expected),
        expected_interval=ends and DateEnds(**dict(zip(("low", "high"), ends, strict=True))),
    )


def _nothing_to_miss(what: str, unit: str, chance: float, why: str) -> DateResult:
    """Return the row for hardware that violates no objective at any load. The limit and the dates in this row
    are None.
    """
    unknown = dict.fromkeys(("limit", "limit_interval", "missed_from", "days", "expected_on", "expected_interval"))
    return DateResult(what=what, unit=unit, chance=chance, no_limit=why, **unknown)


def _reached(settled: SizingProblem, limits: Limits, ratio: float, chance: float, shares: Floats | None) -> LimitDates:
    """Return the dates on which the growing load reaches the load limits. The limits of the random draws are narrowed
    until they no longer change these dates.
    """
    growing, start = settled.growing, settled.start
    assert growing is not None
    # The bisection found that the load limit lies in a small range above `best`. The upper end of this range is used.
    best = limits.best * (1 + LIMIT_PRECISION) * ratio
    # Without an upper limit of the load, `best` is infinite, so the load never reaches it.
    if not settled.question.draws:
        return reached(growing, start, [best], chance)
    if limits.varies:
        limits.narrowed()
    found = reached(growing, start, limits.of_draws * ratio, chance, shares, best=best)
    for _ in range(_ROUNDS):
        if found.days is None:
            break
        open_ones = np.zeros(len(settled.question.draws), dtype=bool)
        for day in (found.days - 1, found.days):
            sides = [missed(growing, day, end * ratio, shares) for end in limits.ends]
            open_ones |= np.abs(sides[0] - sides[1]) > _UNDECIDED
        if not limits.narrow(open_ones):
            break
        found = reached(growing, start, limits.of_draws * ratio, chance, shares, best=best)
    return found


# The load limit of a random draw lies between two bounds. Bisection continues while the probabilities of exceeding the
# lower and the upper bound differ by more than this number. [1]
_UNDECIDED = 0.5

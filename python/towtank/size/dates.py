"""When growth meets the limit: of the hardware there is, of the answer, and of the answer with more servers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from towtank.size.capacity import LIMIT_PRECISION, Bottleneck, limits, some_draws
from towtank.size.growth import reached
from towtank.size.interval import between, interval_document
from towtank.size.search import Found
from towtank.size.settle import Settled, as_it_is
from towtank.size.tiers import Candidate

Json = dict[str, Any]


def dates(settled: Settled, answer: Found | None, first: list[Bottleneck]) -> list[Json]:
    """Rows of the table of dates; none without growth."""
    if settled.growing is None:
        return []
    # One node that there is cannot lose one; what it carries with all nodes up is still worth knowing.
    whole = replace(settled.question, file=settled.question.file.model_copy(update={"nodes_lost": 0}))
    today = replace(settled, question=whole)
    rows = [_row(today, "the hardware of the model", as_it_is(whole), {}, {})]
    if answer is not None:
        rows.append(_row(settled, "the answer", answer.candidate, {}, answer.scales, as_probability=True))
        for place in range(1, len(first)):
            boost: dict[str, int] = {}
            for one in first[:place]:
                boost[one.station] = 2 * boost.get(one.station, 1)
            names = ", ".join(f"{name} x{factor}" for name, factor in boost.items())
            what = f"the answer with the servers of {names}"
            rows.append(_row(settled, what, answer.candidate, boost, answer.scales))
    return rows


def _row(
    settled: Settled,
    what: str,
    candidate: Candidate,
    boost: dict[str, int],
    scales: Any,
    *,
    as_probability: bool = False,
) -> Json:
    """Make one row; with `as_probability` from the same draws as the probability, so that both agree."""
    assert settled.growing is not None
    question = settled.question
    load = settled.now.times(question.file.load.peak)
    shares = np.array(question.growth_shares) if as_probability and question.growth_shares else None
    all_draws = as_probability and bool(question.draws)
    draws = range(len(question.draws)) if all_draws else some_draws(len(question.draws))
    best, *drawn = limits(question, candidate, [None, *draws], load=load, scales=scales, boost=boost)
    found = drawn if question.draws else [best]
    chance = round(1 - question.file.probability, 12)
    # The load carried may lie anywhere within the last step of the bisection: of the draws and of the best estimate.
    step = 1 + LIMIT_PRECISION if as_probability else 1.0
    carried = [limit * step for limit in found]
    when = reached(settled.growing, settled.start, carried, chance, shares, best=best * step)
    total, unit = load.total
    return {
        "what": what,
        "limit": best * total,
        "limit_interval": interval_document(between(found).around(best).times(total) if question.draws else None),
        "unit": unit,
        "missed_from": when.day.isoformat() if when.day else None,
        "days": when.days,
        "chance": chance,
        "expected_on": when.expected.isoformat() if when.expected else None,
        "expected_interval": None
        if settled.growing.certain and not question.draws
        else {end: day.isoformat() if day else None for end, day in zip(("low", "high"), when.between, strict=True)},
    }

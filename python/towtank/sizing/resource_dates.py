"""Predicts the dates on which growing data fill the disks, and growing memory needs exceed the memory of the nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import partial

import numpy as np

from towtank.sizing.evaluate import Job, Outcome, outcomes
from towtank.sizing.growth import FARTHEST_D
from towtank.sizing.interval import ENDS
from towtank.sizing.question import Question
from towtank.sizing.resources import data_bytes, most_memory
from towtank.sizing.result import DateEnds, DateResult
from towtank.sizing.settle import SizingProblem
from towtank.sizing.tiers import Candidate, Option, Tier

BYTES = "byte"
_SOLVED = ("transaction", "connection")
"""Quantities of memory entries that are known only after the model has been solved."""


def date_text(day: date | None) -> str | None:
    """Return a date as text, such as `2026-01-31`."""
    return None if day is None else day.isoformat()


def _date(
    what: str, limit: float, chance: float, days: int | None, dates: tuple[date | None, date | None, DateEnds | None]
) -> DateResult:
    """Return the result row for a disk or memory limit in bytes.

    `dates` are the first day on which exceeding the limit is more probable than `chance`, the expected day, and the
    interval of that day.
    """
    return DateResult(
        what=what,
        otherwise=None,
        limit=limit,
        no_limit=None,
        limit_interval=None,
        unit=BYTES,
        missed_from=date_text(dates[0]),
        days=days,
        chance=chance,
        expected_on=date_text(dates[1]),
        expected_interval=dates[2],
    )


def resource_dates(settled: SizingProblem, candidate: Candidate, hardware: str) -> Iterator[DateResult]:
    """Yield, for each tier, the date on which its disks are full of data, and the date on which the memory of its nodes
    is too small.

    The rows contain `hardware`, the hardware in words.

    Notes
    -----
    Disks hold nodes x disks x size x (1 - free) / copies bytes of data. If a growth rate of the data is stated, it
    counts as certain; otherwise the data grow like the load without its season. The memory need is computed by
    `most_memory` for the load of each day, and includes the uncertainty of the growth. Tiers whose disks have no stated
    size, and nodes whose memory can be chosen freely, have no date.
    """
    question = settled.question
    for tier, option in zip(question.tiers, candidate, strict=True):
        if question.file.data is not None and tier.disk_size_bytes is not None:
            yield _disk_date(settled, tier, option, hardware)
        memory = _memory_bytes(question, tier, option)
        if tier.name in question.file.memory and memory is not None:
            yield _memory_date(settled, (tier, option, memory), candidate, hardware)


def _memory_bytes(question: Question, tier: Tier, option: Option) -> int | None:
    """Return the memory of a node; None if it is unknown. [byte]

    For the hardware of the model, it is the memory of the machine on which the model was measured.
    """
    if option.memory_bytes is not None or option.machine is not None:
        return option.memory_bytes
    same = [each for each in tier.options if each.machine == question.file.measured_on and each.machine is not None]
    return same[0].memory_bytes if same else None


def _disk_date(settled: SizingProblem, tier: Tier, option: Option, hardware: str) -> DateResult:
    file, growing = settled.question.file, settled.growing
    assert file.data is not None
    assert tier.disk_size_bytes is not None
    assert growing is not None
    disks = option.nodes * option.cpus
    full = disks * tier.disk_size_bytes * (1 - file.data.free) / file.data.copies

    def data(days: int) -> float:
        on_day = file.model_copy(update={"load": file.load.model_copy(update={"horizon": float(days)})})
        return data_bytes(on_day, max(1.0, growing.trend(days)))

    days = _first(lambda day: data(day) > full)
    when = None if days is None else settled.start + timedelta(days=days)
    what = f"{hardware}: data on {tier.name} ({disks} disk{'s' if disks != 1 else ''})"
    chance = round(1 - file.probability, 12)
    return _date(what, full, chance, days, (when, when, None))


def _memory_date(
    settled: SizingProblem, at: tuple[Tier, Option, int], candidate: Candidate, hardware: str
) -> DateResult:
    question, growing = settled.question, settled.growing
    tier, _, memory = at
    assert growing is not None
    chance = round(1 - question.file.probability, 12)
    shares = (0.5,) if growing.certain else (1 - chance, 0.5, *ENDS)
    found = {share: _first(partial(_is_short, settled, at, candidate, share)) for share in shares}
    dates = {share: None if days is None else settled.start + timedelta(days=days) for share, days in found.items()}
    early = 0.5 if growing.certain else 1 - chance
    ends = None if growing.certain else DateEnds(low=date_text(dates[ENDS[1]]), high=date_text(dates[ENDS[0]]))
    what = f"{hardware}: memory of a node of {tier.name}"
    return _date(what, float(memory), chance, found[early], (dates[early], dates[0.5], ends))


def _is_short(
    settled: SizingProblem, at: tuple[Tier, Option, int], candidate: Candidate, share: float, days: int
) -> bool:
    """Return True if a node needs more than its memory on a day, with the load at a quantile of its distribution."""
    return _need(settled, at, candidate, days, share) > at[2]


def _need(settled: SizingProblem, at: tuple[Tier, Option, int], candidate: Candidate, days: int, share: float) -> float:
    """Return the memory that a node needs on a day on which the load is at a quantile of its distribution. [byte]"""
    question, growing = settled.question, settled.growing
    assert growing is not None
    tier, option, _ = at
    grown = growing.factor(days) if share == 0.5 else float(growing.drawn(days, np.array([share]))[0])
    load = settled.now.times(question.file.load.peak * grown)
    file = question.file.model_copy(update={"load": question.file.load.model_copy(update={"horizon": float(days)})})
    on_day = replace(question, file=file, load=load, growth=max(1.0, growing.trend(days)))
    jobs = [Job(candidate, load, lost) for lost in on_day.scenarios(candidate)]
    return most_memory(on_day, tier, option, _solved(on_day, tier, jobs))[0]


def _solved(question: Question, tier: Tier, jobs: Sequence[Job]) -> list[Outcome]:
    """Return the outcomes of the failure scenarios. The models are solved only if a memory entry needs a solution."""
    if any(entry.per in _SOLVED for entry in question.file.memory[tier.name]):
        return outcomes(question, jobs)
    return [Outcome(job, (), {}, {}, {}, {}, {}) for job in jobs]


def _first(full: Callable[[int], bool]) -> int | None:
    """Return the first day on which a growing need exceeds its limit; None if the need stays below the limit until
    `FARTHEST_D`.

    The search assumes that the need never falls below the limit after it has exceeded the limit.
    """
    if full(0):
        return 0
    low, high = 0, 1
    while not full(high):
        if high >= FARTHEST_D:
            return None
        low, high = high, min(2 * high, int(FARTHEST_D) + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if full(middle) else (middle, high)
    return high

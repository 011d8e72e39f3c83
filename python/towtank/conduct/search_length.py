"""Estimates the duration of a search for the load limit before the search begins."""

from __future__ import annotations

from itertools import islice

from towtank.study import DECIDE_STAGE, FindLimit, StageUntil, load_amount, longest_stage_s, plateau_stages

# Largest number of load limits for which a search is simulated. Each simulation has up to 200 plateaus. [1]
_TRIED_AT_MOST = 8


def search_range_s(load: FindLimit) -> tuple[float, float]:
    """Return the shortest and longest duration of a search, over all load limits that the search could find. [s]

    The function assumes that all levels below the limit pass, and that all other levels fail. A real search may take
    longer, if a level passes although a lower one failed, or if a backlog of requests must drain.
    """
    from towtank.analysis import PLATEAUS_AT_MOST, search_levels, search_plan_of  # noqa: PLC0415 - takes a second

    rungs = list(islice(search_levels(search_plan_of(load.document())), PLATEAUS_AT_MOST))
    # Low limits need the most halvings of the interval between two levels, and high limits the most levels. The lowest
    # and highest limits therefore include the shortest and the longest search.
    tried = rungs if len(rungs) <= _TRIED_AT_MOST else [*rungs[: _TRIED_AT_MOST - 2], *rungs[-2:]]
    visited = [_levels(load, limit) for limit in [*tried, float("inf")]]
    lengths = [(_length(load, levels, longest=False), _length(load, levels, longest=True)) for levels in visited]
    return min(short for short, _ in lengths), max(long for _, long in lengths)


def _levels(load: FindLimit, limit: float) -> list[float]:
    """Return the levels that a search visits if all levels from `limit` upward fail."""
    from towtank.analysis import PlateauFailure, PlateauOutcome, decide_search, search_plan_of  # noqa: PLC0415 - takes a second

    plan, outcomes = search_plan_of(load.document()), [PlateauOutcome(load_amount(load.start), None)]
    outcomes[0] = PlateauOutcome(outcomes[0].level, PlateauFailure.ERRORS if outcomes[0].level >= limit else None)
    while (level := decide_search(plan, outcomes).level) is not None:
        outcomes.append(PlateauOutcome(level, PlateauFailure.ERRORS if level >= limit else None))
    return [outcome.level for outcome in outcomes]


def _length(load: FindLimit, levels: list[float], *, longest: bool) -> float:
    """Return the total duration of the plateaus at the given levels. If `longest`, all stages have their longest
    duration, otherwise their shortest. [s]
    """
    total, before = 0.0, 0.0
    for number, level in enumerate(levels):
        stages = plateau_stages(load, number, before, level)
        total += sum(stage.duration_s for stage in stages if not stage.name.startswith(DECIDE_STAGE))
        if not longest:
            ends = (load.stages.settle, load.stages.steady)
            total -= sum(longest_stage_s(each) - _shortest_s(each) for each in ends)
        before = level
    return total


def _shortest_s(length: StageUntil | float) -> float:
    return length if isinstance(length, int | float) else float(getattr(length, "at_least", 0.0))

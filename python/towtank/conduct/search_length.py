"""Estimates the duration of a search for the load limit before the search begins."""

from __future__ import annotations

from itertools import islice

from towtank.study import DECIDE_STAGE, FindLimit, StageUntil, load_amount, longest_stage_s, plateau_stages

# Largest number of possible load limits for which a search is simulated. Each simulation has up to 200 plateaus. [1]
_TRIED_AT_MOST = 8


def search_range_s(load: FindLimit) -> tuple[float, float]:
    """Return the shortest and longest duration of a search for the load limit, over all possible limits. [s]

    The function assumes that all load levels below the limit pass, and all others fail. A real search takes longer if a
    level passes although a lower one failed, or if a backlog must drain.
    """
    from towtank.analysis import PLATEAUS_AT_MOST, search_levels, search_plan_of  # noqa: PLC0415 - takes a second

    rungs = list(islice(search_levels(search_plan_of(load.document())), PLATEAUS_AT_MOST))
    # The lowest limits need the most halvings of the range between two levels, the highest limits the most levels. The
    # selected limits therefore include the shortest and the longest search.
    tried = rungs if len(rungs) <= _TRIED_AT_MOST else [*rungs[: _TRIED_AT_MOST - 2], *rungs[-2:]]
    visited = [_levels(load, limit) for limit in [*tried, float("inf")]]
    lengths = [(_length(load, levels, longest=False), _length(load, levels, longest=True)) for levels in visited]
    return min(short for short, _ in lengths), max(long for _, long in lengths)


def _levels(load: FindLimit, limit: float) -> list[float]:
    """Return the load levels of a search in order, if all levels from a given limit upward fail."""
    from towtank.analysis import PlateauFailure, PlateauOutcome, decide_search, search_plan_of  # noqa: PLC0415 - takes a second

    plan, outcomes = search_plan_of(load.document()), [PlateauOutcome(load_amount(load.start), None)]
    outcomes[0] = PlateauOutcome(outcomes[0].level, PlateauFailure.ERRORS if outcomes[0].level >= limit else None)
    while (level := decide_search(plan, outcomes).level) is not None:
        outcomes.append(PlateauOutcome(level, PlateauFailure.ERRORS if level >= limit else None))
    return [outcome.level for outcome in outcomes]


def _length(load: FindLimit, levels: list[float], *, longest: bool) -> float:
    """Return the total duration of the plateaus at the given load levels. All stages are either as long as possible
    (`longest`) or as short as possible. [s]
    """
    total, before = 0.0, 0.0
    for number, level in enumerate(levels):
        stages = plateau_stages(load, number, before, level)
        total += sum(stage["duration_s"] for stage in stages if not stage["name"].startswith(DECIDE_STAGE))
        if not longest:
            ends = (load.stages.settle, load.stages.steady)
            total -= sum(longest_stage_s(each) - _shortest_s(each) for each in ends)
        before = level
    return total


def _shortest_s(length: StageUntil | float) -> float:
    """Return the shortest possible duration of a stage of the load. [s]"""
    return length if isinstance(length, int | float) else float(getattr(length, "at_least", 0.0))

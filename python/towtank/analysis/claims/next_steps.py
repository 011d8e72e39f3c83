"""Gives the reason why a claim is undecided, and the next step that would decide it."""

from __future__ import annotations

from collections import Counter

from towtank.analysis.claims.needs import RUNS_AT_MOST
from towtank.analysis.claims.places import Places
from towtank.analysis.claims.verdicts import Tested
from towtank.analysis.statistics.estimates import EXACT, NO_ESTIMATE
from towtank.digging import dig
from towtank.study import RATIO_MEASURE, CourseMeasure, Measure

REPEAT = "repeat the runs (--repetitions)"
CONTAINS = "the confidence interval contains the bound of the claim"
"""Reason of a claim whose condition holds at a part of the interval only."""
_REPEAT_MORE = "repeat the runs more often (--repetitions), or make the steady stage longer"
_LONGER = "make the steady stage longer, or claim a quantity that differs between runs"
_TOO_CLOSE = f"claim another bound: {RUNS_AT_MOST:,} runs of each combination would probably not decide this one"
_UNREAD = "remove the cause why stored documents could not be read back, and run the study again"


def reason_and_step(measure: Measure, tested: Tested, places: Places) -> tuple[str, str]:
    """Return the reason for the verdict on a claim. If the claim is undecided, also return the next step; otherwise the
    next step is empty.

    Parameters
    ----------
    measure : Measure
        Quantity of the claim.
    tested : Tested
        Outcome of testing the claim.
    places : Places
        Runs that the claim uses.
    """
    if tested.holds is not None:
        return tested.why, ""
    levels = [level.measured for level in tested.levels] or [tested.measured or NO_ESTIMATE]
    if any(level.written.low is None for level in levels):
        return _no_interval(measure, places)
    return tested.why or CONTAINS, _repeats(tested, places)


def _no_interval(measure: Measure, places: Places) -> tuple[str, str]:
    """Return the reason why a quantity has no interval, and the next step.

    A quantity with several runs per combination has an interval, unless the values are equal and their errors unknown.
    A ratio has no interval either if one of its values is too uncertain.
    """
    runs = Counter(tuple(sorted((dig(run, "factors") or {}).items())) for run in places.used.values())
    if min(runs.values(), default=1) < 2:
        return "no interval exists", REPEAT
    if is_ratio(measure):
        return "no interval exists, because a value of the ratio is too uncertain", _REPEAT_MORE
    return "no interval exists, because the runs have equal values", _LONGER


def _repeats(tested: Tested, places: Places) -> str:
    """Return the next step for a claim whose interval contains the bound. The step includes the number of runs if it is
    known.
    """
    measured = tested.measured or NO_ESTIMATE
    if places.assumed:
        return REPEAT
    if measured.method == EXACT:
        return _UNREAD
    if tested.needs is None or measured.n < 2:
        return _REPEAT_MORE
    needed = tested.needs.probably
    if needed is None:
        return _TOO_CLOSE
    return f"repeat the runs: {needed:,} of each combination would probably decide (--repetitions {needed})"


def is_ratio(measure: Measure) -> bool:
    """Return True if a measured quantity is a ratio; a ratio has no unit."""
    given = measure.given
    return measure.kind == RATIO_MEASURE or given.per is not None or bool(isinstance(given, CourseMeasure) and given.to)

"""Gives the reason why a claim is undecided, and the next step that would decide it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from towtank.analysis.claims.needs import RUNS_AT_MOST
from towtank.analysis.claims.places import Places
from towtank.analysis.statistics.estimates import EXACT
from towtank.digging import dig
from towtank.study import RATIO_MEASURE, CourseMeasure, Measure

REPEAT = "repeat the runs (--repetitions)"
CONTAINS = "the confidence interval contains the bound of the claim"
"""Reason of a claim whose condition holds at a part of the interval only."""
_REPEAT_MORE = "repeat the runs more often (--repetitions), or make the steady stage longer"
_LONGER = "make the steady stage longer, or claim a quantity that differs between runs"
_TOO_CLOSE = f"claim another bound: {RUNS_AT_MOST:,} runs of each combination would probably not decide this one"
_UNREAD = "remove the cause why stored documents could not be read back, and run the study again"
_NEEDS_RUNS = "needs_runs"


def reason_and_step(
    measure: Measure, verdict: str, found: Mapping[str, object], places: Places, known: str
) -> tuple[str, str]:
    """Return the reason for the verdict on a claim. If the claim is undecided, also return the next step; otherwise the
    next step is empty.

    Parameters
    ----------
    measure : Measure
        Quantity of the claim.
    verdict : str
        Verdict on the claim.
    found : dict
        Measured value, levels, and number of runs needed, as in `claims.json`.
    places : Places
        Runs that the claim uses.
    known : str
        Reason that the test of the claim gave; empty if it gave none.
    """
    if verdict != "undecided":
        return known, ""
    levels = [dig(level, "measured") for level in dig(found, "levels") or ()] or [dig(found, "measured")]
    if any(dig(level, "low") is None for level in levels):
        return _no_interval(measure, places)
    return known or CONTAINS, _repeats(found, places)


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


def _repeats(found: Mapping[str, object], places: Places) -> str:
    """Return the next step for a claim whose interval contains the bound. The step includes the number of runs if it is
    known.
    """
    if places.assumed:
        return REPEAT
    if dig(found, "measured", "method") == EXACT:
        return _UNREAD
    if _NEEDS_RUNS not in found or dig(found, "measured", "n") < 2:
        return _REPEAT_MORE
    needed = dig(found, _NEEDS_RUNS)
    if needed is None:
        return _TOO_CLOSE
    return f"repeat the runs: {needed:,} of each combination would probably decide (--repetitions {needed})"


def is_ratio(measure: Measure) -> bool:
    """Return True if a measured quantity is a ratio; a ratio has no unit."""
    given = measure.given
    return measure.kind == RATIO_MEASURE or given.per is not None or bool(isinstance(given, CourseMeasure) and given.to)

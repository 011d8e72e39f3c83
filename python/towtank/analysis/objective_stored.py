"""Evaluates objectives about documents that the system confirmed as stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from towtank.analysis.doubts import DoubtKind, DoubtLevel
from towtank.analysis.objective import Objective
from towtank.analysis.stored import bounds_of, count_of, not_read_back
from towtank.digging import dig

Run = Mapping[str, object]
NO_RECORD = {DoubtKind.COPIED_RUN, DoubtKind.DATA_DAMAGED}
"""Kinds of doubts about runs with copied or damaged records. Such a run does not show whether documents were lost."""
CUT_OFF = {DoubtKind.INTERRUPTED, DoubtKind.EVENT_FAILED, DoubtKind.ENGINE_FAILED, DoubtKind.DISK_FULL}
"""Kinds of doubts about runs that ended early or whose event failed. Documents that were lost in such a run count as
lost. A run without losses does not show that no documents would have been lost.
"""


def worst_count(objective: Objective, runs: Sequence[Run]) -> float | None:
    """Return the worst count of stored documents over the runs at a load level; None if no count is known."""
    found = [count_of(dig(run, "stored"), objective.stored_key) for run in runs if not _reasons(run, NO_RECORD)]
    known = [count for count in found if count is not None]
    return (min if objective.is_upward else max)(known, default=None)


def left_open(objective: Objective, runs: Sequence[Run]) -> dict[str, str]:
    """Return the runs at a load level that leave an objective undecided, each with the reason. Empty if the objective
    is decided.

    If any run with intact records misses the objective, the objective is missed. A run leaves the objective undecided
    if it ended early, if its event did not take place, or if documents could not be read back and may be lost. Invalid
    runs leave the objective undecided only if all runs are invalid.

    Parameters
    ----------
    objective : Objective
        Objective with a limit.
    runs : sequence of dict
        Summaries of the runs at this level.
    """
    open_runs: dict[str, str] = {}
    for run in runs:
        bounds = bounds_of(dig(run, "stored"), objective.stored_key)
        if bounds is None or objective.limit is None:
            continue
        met_if = {objective.compare(bound, objective.limit) for bound in bounds}
        without_record = _reasons(run, NO_RECORD)
        if met_if == {False} and not without_record:
            return {}
        if reason := without_record or _why_open(run, objective, certain=len(met_if) == 1):
            open_runs[str(dig(run, "run"))] = reason
    counted = [run for run in runs if dig(run, "verdict", "level") != DoubtLevel.INVALID] or runs
    names = [name for name in (str(dig(run, "run")) for run in counted) if name in open_runs]
    return {name: open_runs[name] for name in names}


def is_certain(objective: Objective, runs: Sequence[Run], limit: float, *, met: bool) -> bool:
    """Return True if the intervals of sampled counts confirm the verdict on an objective.

    One run whose interval excludes the limit confirms a miss. To confirm that the objective is met, the intervals of
    all runs must exclude the limit.
    """
    sure = []
    for run in runs:
        bounds = bounds_of(dig(run, "stored"), objective.stored_key, by_intervals=True)
        if bounds is not None and not _reasons(run, NO_RECORD):
            sure.append({objective.compare(bound, limit) for bound in bounds} == {met})
    return all(sure) if met else any(sure)


def _why_open(run: Run, objective: Objective, *, certain: bool) -> str:
    """Return why a run does not prove that an objective is met; empty if it does."""
    stored = dig(run, "stored")
    if not certain:
        unknown = not_read_back(stored, objective.stored_key).value or 0.0
        known = dig(stored, "reason")
        reason = f": {known}" if known else ""
        return f"{unknown:,.0f} of {dig(stored, 'acknowledged'):,} could not be read back{reason}"
    if damaged := dig(stored, "bad_lines"):
        return f"{damaged:,} {'record' if damaged == 1 else 'records'} on stored documents cannot be read"
    return _reasons(run, CUT_OFF)


def _reasons(run: Run, kinds: set[DoubtKind]) -> str:
    """Return the message of the first doubt that is of the given kinds and makes a run invalid; empty if none does."""
    for doubt in dig(run, "verdict", "reasons") or ():
        if dig(doubt, "kind") in kinds and dig(doubt, "level") == DoubtLevel.INVALID:
            return str(dig(doubt, "message"))
    return ""

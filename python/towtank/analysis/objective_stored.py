"""Judges objectives about documents that the system confirmed as stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from towtank.analysis.doubts import DoubtKind, DoubtLevel
from towtank.analysis.objective import Objective
from towtank.analysis.stored import bounds_of, count_of, not_read_back
from towtank.digging import dig

Run = Mapping[str, object]
NO_RECORD = {DoubtKind.COPIED_RUN, DoubtKind.DATA_DAMAGED}
"""Kinds of doubts about runs with copied or damaged records. Such a run proves neither a loss of documents nor the
absence of losses.
"""
CUT_OFF = {DoubtKind.INTERRUPTED, DoubtKind.EVENT_FAILED, DoubtKind.ENGINE_FAILED, DoubtKind.DISK_FULL}
"""Kinds of doubts about runs that ended early or whose event failed. A loss of documents in such a run counts, but the
absence of losses proves nothing.
"""


def worst_count(objective: Objective, runs: Sequence[Run]) -> float | None:
    """Return the worst count of stored documents over the runs of a level; None if no count is known."""
    found = [count_of(dig(run, "stored"), objective.stored_key) for run in runs if not _reasons(run, NO_RECORD)]
    known = [count for count in found if count is not None]
    return (min if objective.is_upward else max)(known, default=None)


def left_open(objective: Objective, runs: Sequence[Run]) -> dict[str, str]:
    """Return the runs of a load level whose counts leave an objective undecided, each with the reason. Empty if the
    objective is decided.

    A miss in any run with intact records decides the objective. A run leaves the objective undecided if it ended early,
    if its event did not take place, or if documents could not be read back and may be lost. Only runs that are not
    invalid can leave the objective undecided, unless all runs are invalid.

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

    A miss needs the interval of a single run. An objective is certainly met only if the intervals of all runs confirm
    it.
    """
    sure = []
    for run in runs:
        bounds = bounds_of(dig(run, "stored"), objective.stored_key, by_intervals=True)
        if bounds is not None and not _reasons(run, NO_RECORD):
            sure.append({objective.compare(bound, limit) for bound in bounds} == {met})
    return all(sure) if met else any(sure)


def _why_open(run: Run, objective: Objective, *, certain: bool) -> str:
    """Return the reason why a run does not prove that an objective is met; empty if the run proves it."""
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
    """Return the message of the first doubt of the given kinds that makes a run invalid; empty if there is none."""
    for doubt in dig(run, "verdict", "reasons") or ():
        if dig(doubt, "kind") in kinds and dig(doubt, "level") == DoubtLevel.INVALID:
            return str(dig(doubt, "message"))
    return ""

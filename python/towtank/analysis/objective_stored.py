"""Judges objectives about documents that the system confirmed as stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from towtank.analysis.doubts import DoubtKind, DoubtLevel
from towtank.analysis.objective_scopes import Compare
from towtank.analysis.stored import bounds_of, count_of, not_read_back

Json = dict[str, Any]
STORED = "stored."
"""Prefix of metrics about documents that the system confirmed as stored."""
NO_RECORD = {DoubtKind.COPIED_RUN, DoubtKind.DATA_DAMAGED}
"""Kinds of doubts about runs with copied or damaged records. Such a run proves neither a loss of documents nor the
absence of losses.
"""
CUT_OFF = {DoubtKind.INTERRUPTED, DoubtKind.EVENT_FAILED, DoubtKind.ENGINE_FAILED, DoubtKind.DISK_FULL}
"""Kinds of doubts about runs that ended early or whose event failed. A loss of documents in such a run counts, but the
absence of losses proves nothing.
"""


def is_about_stored(objective: Mapping[str, Any]) -> bool:
    """Return True if an objective limits a count of documents that the system confirmed as stored."""
    return str(objective.get("metric", "")).startswith(STORED)


def worst_count(objective: Mapping[str, Any], runs: Sequence[Json], *, upward: bool) -> float | None:
    """Return the worst count of stored documents over the runs of a level; None if no count is known.

    Parameters
    ----------
    upward : bool
        Whether a higher count is better.
    """
    found = [count_of(run.get("stored"), _key(objective)) for run in runs if not _reasons(run, NO_RECORD)]
    return (min if upward else max)((count for count in found if count is not None), default=None)


def left_open(objective: Mapping[str, Any], load: float, runs: Sequence[Json], compare: Compare) -> Json | None:
    """Return the entry of `not_judged` for a load level whose counts leave an objective undecided; None if the
    objective is decided.

    A miss in any run with intact records decides the objective. A run leaves the objective undecided if it ended early,
    if its event did not take place, or if documents could not be read back and may be lost. Only runs that are not
    invalid can leave the objective undecided, unless all runs are invalid.

    Parameters
    ----------
    objective : mapping
        Objective from the manifest of the study.
    load : float
        Level of the load: users [1] or arrival rate [1/s].
    runs : sequence of dict
        Summaries of the runs at this level.
    compare : callable
        Comparison of a count with the limit of the objective.
    """
    open_runs: dict[str, str] = {}
    for run in runs:
        bounds = bounds_of(run.get("stored"), _key(objective))
        if bounds is None:
            continue
        met_if = {compare(bound, objective["value"]) for bound in bounds}
        without_record = _reasons(run, NO_RECORD)
        if met_if == {False} and not without_record:
            return None
        if reason := without_record or _why_open(run, objective, certain=len(met_if) == 1):
            open_runs[str(run["run"])] = reason
    counted = [run for run in runs if run["verdict"]["level"] != DoubtLevel.INVALID] or runs
    names = [name for name in (str(run["run"]) for run in counted) if name in open_runs]
    why = "; ".join(f"{name} leaves it open ({open_runs[name]})" for name in names)
    return {"load": load, "runs": names, "kind": "not_measured", "why": why} if names else None


def is_certain(objective: Mapping[str, Any], runs: Sequence[Json], compare: Compare, *, met: bool) -> bool:
    """Return True if the intervals of sampled counts confirm the verdict on an objective.

    A miss needs the interval of a single run. An objective is certainly met only if the intervals of all runs confirm
    it.
    """
    sure = []
    for run in runs:
        bounds = bounds_of(run.get("stored"), _key(objective), by_intervals=True)
        if bounds is not None and not _reasons(run, NO_RECORD):
            sure.append({compare(bound, objective["value"]) for bound in bounds} == {met})
    return all(sure) if met else any(sure)


def _why_open(run: Json, objective: Mapping[str, Any], *, certain: bool) -> str:
    """Return the reason why a run does not prove that an objective is met; empty if the run proves it."""
    stored = run["stored"]
    if not certain:
        unknown = not_read_back(stored, _key(objective)).value or 0.0
        reason = f": {stored['reason']}" if stored.get("reason") else ""
        return f"{unknown:,.0f} of {stored['acknowledged']:,} could not be read back{reason}"
    if damaged := stored.get("bad_lines"):
        return f"{damaged:,} {'record' if damaged == 1 else 'records'} on stored documents cannot be read"
    return _reasons(run, CUT_OFF)


def _reasons(run: Json, kinds: set[DoubtKind]) -> str:
    """Return the message of the first doubt of the given kinds that makes a run invalid; empty if there is none."""
    reasons = run["verdict"]["reasons"]
    return next((str(each["message"]) for each in reasons if each["kind"] in kinds and each["level"] == "invalid"), "")


def _key(objective: Mapping[str, Any]) -> str:
    return str(objective["metric"]).removeprefix(STORED)

"""Computes the verdict on a study from the verdicts on its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from towtank.analysis.doubts import DoubtKind
from towtank.analysis.relaxed_limits import relaxed_limits
from towtank.analysis.run_summary import RunSummary
from towtank.documents import document_of
from towtank.log_lines import ERROR_LEVEL
from towtank.over_runs import alike, merged


def verdict_of(
    planned: Sequence[str | None], limits: Mapping[str, object], runs: Sequence[RunSummary]
) -> dict[str, object]:
    """Return the verdict on a study: level, reasons, and number of runs by verdict.

    Parameters
    ----------
    planned : sequence of str or None
        Names of the planned runs; None for a run without a name.
    limits : dict
        Limits beyond which a run of this study does not count, in SI units.
    runs : sequence of RunSummary
    """
    levels = [run.verdict.level for run in runs]
    done = {run.run for run in runs}
    missing = sum(name not in done for name in planned) if None not in planned else max(0, len(planned) - len(runs))
    counts = Counter(levels)
    if not runs or counts["invalid"] == len(runs):
        level = "invalid"
    elif missing or counts["valid"] < len(runs):
        level = "suspect"
    else:
        level = "valid"
    return {
        "level": level,
        "reasons": _reasons(runs),
        "not_checked": _not_checked(runs),
        "relaxed_limits": relaxed_limits(limits),
        "log": first_words(runs),
        "valid_runs": counts["valid"],
        "suspect_runs": counts["suspect"],
        "invalid_runs": counts["invalid"],
        "missing_runs": missing,
    }


def _reasons(runs: Sequence[RunSummary]) -> list[dict[str, object]]:
    """Return the doubts that make runs suspect or invalid, combined by kind and level. Each names all affected runs.

    Notes are not included, with two exceptions: notes about slow memory, which changes all results, and, if a run is
    suspect or invalid, notes about the speed of the machine, because a slow machine may be the reason.
    """
    explained = any(run.verdict.level != "valid" for run in runs)
    found: dict[tuple[str, str], list[tuple[str, Mapping[str, Any]]]] = {}
    for run in runs:
        for reason in run.verdict.reasons:
            shown = reason["kind"] == DoubtKind.SLOW_MEMORY or (explained and reason["kind"] == DoubtKind.MACHINE_SPEED)
            if reason["level"] != "note" or shown:
                found.setdefault((reason["level"], reason["kind"]), []).append((run.run, reason))
    order = {"invalid": 0, "suspect": 1}
    kinds = {str(kind): place for place, kind in enumerate(DoubtKind)}
    keys = sorted(found, key=lambda key: (order.get(key[0], 2), kinds.get(key[1], 99)))
    return [_reason(found[key]) for key in keys]


def _reason(having: list[tuple[str, Mapping[str, Any]]]) -> dict[str, object]:
    """Return the worst of several doubts of one kind. Its message names the affected runs, and states each number as a
    range over these runs.
    """
    worst = having[0][1]
    for _, reason in having[1:]:
        if reason.get("seen") is not None and worst.get("seen") is not None and _worse(reason, worst):
            worst = reason
    names = list(dict.fromkeys(name for name, _ in having))
    same = [(name, str(reason["message"])) for name, reason in having if alike(reason["message"], worst["message"])]
    return {**worst, "message": f"{merged([text for _, text in same])} ({_where(same, names)})", "runs": names}


def _where(same: list[tuple[str, str]], names: list[str]) -> str:
    """Render the names of the runs to which a message applies, followed by the runs with another message about the same
    kind of doubt.
    """
    having = list(dict.fromkeys(name for name, _ in same))
    others = [name for name in names if name not in having]
    return ", ".join(having) + (f"; similar doubts about {', '.join(others)}" if others else "")


def _not_checked(runs: Sequence[RunSummary]) -> list[dict[str, object]]:
    """Return the checks that could not be made, each with the reason and the affected runs."""
    found: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for missing in run.verdict.not_checked:
            found.setdefault((missing.check, missing.why), []).append(run.run)
    return [{"check": check, "why": why, "runs": names} for (check, why), names in found.items()]


def first_words(runs: Sequence[RunSummary]) -> dict[str, object] | None:
    """Return the group of log lines that best explains why runs are invalid, with its run and service: errors come
    before warnings, and frequent lines before rare lines. Return None if no log of an invalid run has new errors or
    warnings.
    """
    found = [
        (run.run, tier, group)
        for run in runs
        if run.verdict.level == "invalid"
        for tier, log in (run.logs or {}).items()
        for group in (log.groups if log else ())
    ]
    if not found:
        return None
    run, tier, group = min(found, key=lambda each: (each[2].level != ERROR_LEVEL, -each[2].count))
    return {"run": run, "service": tier, **document_of(group)}


def _worse(reason: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return True if the measured value of the doubt `reason` is farther from its limit than that of `other`."""
    distances = [abs(float(doubt["seen"]) - float(doubt.get("limit") or 0)) for doubt in (reason, other)]
    return distances[0] > distances[1]


UNDECIDED = verdict_of([], {}, [])
"""Verdict that is used if the verdict on a study could not be computed. It is `invalid`, so the study supports no
claim.
"""

"""Builds the table of objectives, each with its outcome and worst value."""

from __future__ import annotations

from collections.abc import Sequence

from towtank.analysis import ObjectiveAnswer
from towtank.report import format as people
from towtank.report import objectives as outcomes
from towtank.report.document import Column, Table, headings
from towtank.report.source import Results
from towtank.report.suspects import MARK, NOTE


def table(results: Results) -> Table | None:
    """Build the table of objectives; None if the study has no objectives."""
    objectives = results.study_summary.objectives
    return _objectives(results, objectives) if objectives else None


def _objectives(results: Results, objectives: Sequence[ObjectiveAnswer]) -> Table:
    metrics = {objective.get("text"): objective.get("metric") for objective in results.study.get("objectives") or ()}
    windowed = any(objective.windows for objective in objectives)
    rows = tuple(
        (
            objective.text,
            "; ".join(filter(None, (outcome, outcomes.alone(objective), outcomes.held(objective)))),
            people.quantity(objective.seen, outcomes.objective_unit(metrics.get(objective.text) or objective.metric)),
            outcomes.place_of(objective) if "at" in objective.model_fields_set else people.ABSENT,
            *((_share_of_windows(objective), _worst_window(objective)) if windowed else ()),
        )
        for objective, outcome in _condensed(objectives)
    )
    columns: tuple[Column, ...] = headings("Objective", "Outcome", "#Seen", "At")
    if windowed:
        columns += headings("#Windows that met the objective", "Worst window")
    marked = any(MARK in row[1] for row in rows)
    notes = (NOTE,) if marked else ()
    return Table("Objectives of the study", columns, rows, notes)


def _condensed(objectives: Sequence[ObjectiveAnswer]) -> list[tuple[ObjectiveAnswer, str]]:
    """Return pairs of objective and outcome; objectives that all configurations meet are merged, with the worst
    value.
    """
    found: list[tuple[ObjectiveAnswer, str]] = []
    groups: dict[str, list[ObjectiveAnswer]] = {}
    for objective in objectives:
        groups.setdefault(objective.text, []).append(objective)
    for same in groups.values():
        outcomes_of = [outcomes.outcome(each) for each in same]
        words = {outcome.removesuffix(f" {MARK}") for outcome in outcomes_of}
        known = all(each.seen is not None for each in same)
        if len(same) > 1 and known and words == {"met"}:
            upward = ">" in same[0].text
            worst = (min if upward else max)(same, key=lambda objective: objective.seen or 0.0)
            mark = f" {MARK}" if any(each.suspect_runs for each in same) else ""
            found.append((worst, f"met in all {len(same)} configurations{mark}"))
        else:
            found += zip(same, outcomes_of, strict=True)
    return found


def _share_of_windows(objective: ObjectiveAnswer) -> str:
    windows = objective.windows
    if windows is None or not windows.count:
        return people.ABSENT
    return f"{people.count(windows.met)} of {people.count(windows.count)} ({people.share(windows.share)})"


def _worst_window(objective: ObjectiveAnswer) -> str:
    worst = None if objective.windows is None else objective.windows.worst
    if worst is None:
        return people.ABSENT
    return f"{people.plain(worst.start_s)} to {people.plain(worst.end_s)} s of {worst.run}"

"""Builds the table of objectives, each with its outcome and worst value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towtank.report import format as people
from towtank.report import objectives as outcomes
from towtank.report.document import Column, Table
from towtank.report.source import Json, Results
from towtank.report.suspects import MARK, NOTE


def table(results: Results) -> Table | None:
    """Build the table of objectives; None if the study has no objectives."""
    objectives = [objective for objective in results.summary.get("objectives") or () if isinstance(objective, dict)]
    return _objectives(results, objectives) if objectives else None


def _objectives(results: Results, objectives: Sequence[Json]) -> Table:
    metrics = {objective.get("text"): objective.get("metric") for objective in results.study.get("objectives") or ()}
    windowed = any(objective.get("windows") for objective in objectives)
    rows = tuple(
        (
            str(objective.get("text", "")),
            "; ".join(filter(None, (outcome, outcomes.alone(objective), outcomes.held(objective)))),
            people.quantity(
                objective.get("seen"),
                outcomes.objective_unit(metrics.get(objective.get("text")) or objective.get("metric")),
            ),
            _at(objective.get("at")),
            *((_share_of_windows(objective), _worst_window(objective)) if windowed else ()),
        )
        for objective, outcome in _condensed(objectives)
    )
    columns: tuple[Column, ...] = (Column("Objective"), Column("Outcome"), Column("Seen", numeric=True), Column("At"))
    if windowed:
        columns += (Column("Windows that met the objective", numeric=True), Column("Worst window"))
    marked = any(MARK in row[1] for row in rows)
    notes = (NOTE,) if marked else ()
    return Table("Objectives of the study", columns, rows, notes)


def _condensed(objectives: Sequence[Json]) -> list[tuple[Json, str]]:
    """Return pairs of objective and outcome; objectives that all configurations meet are merged, with the worst
    value.
    """
    found: list[tuple[Json, str]] = []
    for same in _by_text(objectives):
        outcomes_of = [outcomes.outcome(each) for each in same]
        words = {outcome.removesuffix(f" {MARK}") for outcome in outcomes_of}
        known = all(isinstance(each.get("seen"), int | float) for each in same)
        if len(same) > 1 and known and words == {"met"}:
            upward = ">" in str(same[0].get("text"))
            worst = (min if upward else max)(same, key=lambda objective: float(objective["seen"]))
            mark = f" {MARK}" if any(each.get("suspect_runs") for each in same) else ""
            found.append((worst, f"met in all {len(same)} configurations{mark}"))
        else:
            found += zip(same, outcomes_of, strict=True)
    return found


def _by_text(objectives: Sequence[Json]) -> list[list[Json]]:
    groups: dict[str, list[Json]] = {}
    for objective in objectives:
        groups.setdefault(str(objective.get("text")), []).append(objective)
    return list(groups.values())


def _share_of_windows(objective: Json) -> str:
    windows = objective.get("windows") or {}
    if not windows.get("count"):
        return people.ABSENT
    return f"{people.count(windows['met'])} of {people.count(windows['count'])} ({people.share(windows['share'])})"


def _worst_window(objective: Json) -> str:
    worst = (objective.get("windows") or {}).get("worst")
    if not worst:
        return people.ABSENT
    return f"{people.plain(worst['start_s'])} to {people.plain(worst['end_s'])} s of {worst['run']}"


def _at(place: Any) -> str:
    return ", ".join(f"{name} {level}" for name, level in place.items()) if isinstance(place, dict) else people.ABSENT

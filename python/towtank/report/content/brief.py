"""Builds the table of results in brief: throughput, limit and objectives of each configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towtank.analysis import limit_text
from towtank.report import format as people
from towtank.report import objectives as outcomes
from towtank.report.document import Column, Table
from towtank.report.limit_state import limiting
from towtank.report.source import Json, Results
from towtank.report.suspects import MARK, NOTE

# Largest number of configurations whose rows are all visible, and number of visible rows of more configurations. [1]
_ALL, _SHOWN = 8, 6
_UNITS = {"users": "users", "rate": "1/s"}
_NOT = "not answered: no valid or suspect run"


def table(results: Results) -> Table | None:
    """Build the table of results in brief, with a row for each configuration; None without configurations."""
    found = [
        configuration
        for configuration in results.summary.get("configurations") or ()
        if isinstance(configuration, dict)
    ]
    if not found:
        return None
    ordered = found if len(found) <= _ALL else _extremes_first(found)
    columns: tuple[Column, ...] = (
        Column("Configuration"),
        Column("Highest throughput", numeric=True),
        Column("At", _UNITS.get(results.load_factor, results.load_factor), numeric=True),
        Column("Limited by", is_secondary=True),
        Column("p95 there", numeric=True),
        Column("Objectives"),
    )
    rows = tuple(_row(results, configuration) for configuration in ordered)
    # Without objectives, the last column is empty.
    if all(row[-1] == people.ABSENT for row in rows):
        columns, rows = columns[:-1], tuple(row[:-1] for row in rows)
    extremes = f"The first {_SHOWN} rows have the highest and lowest throughputs of the {len(found)} configurations."
    notes = [extremes] if len(found) > _ALL else []
    if any(MARK in cell for row in rows for cell in row):
        notes.append(NOTE)
    if any(cell != people.ABSENT and "[" not in cell for row in rows for cell in (row[1], row[4])):
        notes.append("A value without brackets has no interval, because too few data were recorded.")
    return Table("Results in brief", columns, rows, tuple(notes), shown=_SHOWN if len(found) > _ALL else _ALL)


def _extremes_first(found: Sequence[Json]) -> list[Json]:
    """Sort the configurations: some with the highest and some with the lowest throughput first, then all others."""
    ordered = sorted(found, key=lambda configuration: _carried(_peak(configuration)), reverse=True)
    half = _SHOWN // 2
    return [*ordered[:half], *ordered[-half:], *ordered[half:-half]]


def _peak(configuration: Json) -> Json | None:
    """Return the load point with the highest throughput; None if no load point has a valid or suspect run."""
    points = [point for point in configuration["points"] if any(verdict != "invalid" for verdict in point["verdicts"])]
    known = (point for point in points if point["throughput_per_s"]["value"] is not None)
    return max(known, key=_carried, default=None)


def _carried(point: Json | None) -> float:
    return 0.0 if point is None else float(point["throughput_per_s"]["value"])


def _row(results: Results, configuration: Json) -> tuple[str, ...]:
    met, point = _objectives(results, configuration), _peak(configuration)
    label = str(configuration["label"])
    if point is None:
        return (label, people.ABSENT, people.ABSENT, _NOT, people.ABSENT, met)
    mark = f"\N{NO-BREAK SPACE}{MARK}" if "suspect" in point["verdicts"] else ""
    p95 = people.seconds_estimate(point["response_time_s"].get("p95"))
    return (
        label,
        people.rate_estimate(point["throughput_per_s"]) + mark,
        people.plain(point["load"]),
        _limited(configuration),
        p95 if p95 == people.ABSENT else p95 + mark,
        met,
    )


def _limited(configuration: Json) -> str:
    """Render the limit of a configuration: the load limit that a search found, otherwise the bottleneck."""
    limit, found = configuration.get("limit") or {}, configuration.get("found_limit")
    if not found or limit.get("reached"):
        return limiting(configuration)
    if found["value"] is None:
        return "no tested load passed"
    if found["is_lower_bound"]:
        return f"not reached: {limit_text(found)}"
    reason = str((found["failure"] or {}).get("kind") or "unknown").replace("_", " ")
    return f"{reason} beyond {limit_text(found)}"


def _objectives(results: Results, configuration: Json) -> str:
    """Count the objectives of a configuration by outcome and load: `2 met, 1 missed at 500 users`."""
    key: dict[str, Any] = configuration["key"]
    counts: dict[str, int] = {}
    for objective in results.summary.get("objectives") or ():
        if isinstance(objective, dict) and objective.get("configuration", {}) in (key, None, {}):
            word = outcomes.outcome(objective).split(":")[0].split(",")[0]
            bare = word.removesuffix(f" {MARK}")
            word = f"{bare}{outcomes.at_load(objective)}{word[len(bare) :]}"
            counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{number} {word}" for word, number in counts.items()) or people.ABSENT

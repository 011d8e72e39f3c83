"""Builds the table of results in brief: throughput, limit and objectives of each configuration."""

from __future__ import annotations

from collections.abc import Sequence

from towtank.analysis import Configuration, LoadPoint
from towtank.report import format as people
from towtank.report import objectives as outcomes
from towtank.report.document import Column, Table, headings
from towtank.report.limit_state import limiting
from towtank.report.source import Results
from towtank.report.suspects import MARK, NOTE

# Largest number of configurations whose rows are all visible, and number of visible rows of more configurations. [1]
_ALL, _SHOWN = 8, 6
_UNITS = {"users": "users", "rate": "1/s"}
_NOT = "not answered: no valid or suspect run"


def table(results: Results) -> Table | None:
    """Build the table of results in brief, with a row for each configuration; None without configurations."""
    found = results.configurations
    if not found:
        return None
    ordered = found if len(found) <= _ALL else _extremes_first(found)
    columns: tuple[Column, ...] = headings(
        "Configuration",
        "#Highest throughput",
        Column("At", _UNITS.get(results.load_factor, results.load_factor), numeric=True),
        Column("Limited by", is_secondary=True),
        "#p95 there",
        "Objectives",
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
    notes += [*_other_load(results), *_other_runs(results)]
    return Table("Results in brief", columns, rows, tuple(notes), shown=_SHOWN if len(found) > _ALL else _ALL)


def _other_load(results: Results) -> list[str]:
    """Return a note if an objective names another load than that of the highest throughput of a configuration."""
    peaks = {point.load for configuration in results.configurations if (point := _peak(configuration)) is not None}
    named = {outcomes.at_load(each) for each in results.study_summary.objectives if each.met is not None}
    same = {""} | {f" at {people.plain(load)}{unit}" for load in peaks for unit in (" users", " /s")}
    return ["Objectives concern the load that they name, all other columns that of the highest throughput."] * bool(
        named - same
    )


def _other_runs(results: Results) -> list[str]:
    """Return a note if a claim was decided before the last block of runs, so that its values are of fewer runs."""
    most = max((len(point.runs) for each in results.configurations for point in each.points), default=0)
    blocks = [claim.decided_after for claim in results.claims.claims]
    if all(number is None or number >= most for number in blocks):
        return []
    return ["This table has all runs; claims have the runs until their decision, so that their values may differ."]


def _extremes_first(found: Sequence[Configuration]) -> list[Configuration]:
    """Sort the configurations: some with the highest and some with the lowest throughput first, then all others."""
    ordered = sorted(found, key=lambda configuration: _carried(_peak(configuration)), reverse=True)
    half = _SHOWN // 2
    return [*ordered[:half], *ordered[-half:], *ordered[half:-half]]


def _peak(configuration: Configuration) -> LoadPoint | None:
    """Return the load point with the highest throughput; None if no load point has a valid or suspect run."""
    known = (point for point in configuration.usable if point.throughput_per_s.value is not None)
    return max(known, key=_carried, default=None)


def _carried(point: LoadPoint | None) -> float:
    return 0.0 if point is None else float(point.throughput_per_s.value or 0.0)


def _row(results: Results, configuration: Configuration) -> tuple[str, ...]:
    met, point = _objectives(results, configuration), _peak(configuration)
    label = configuration.label
    if point is None:
        return (label, people.ABSENT, people.ABSENT, _NOT, people.ABSENT, met)
    mark = f"\N{NO-BREAK SPACE}{MARK}" if point.state == "suspect" else ""
    p95 = people.seconds_estimate(point.response_time_s.p95)
    return (
        label,
        people.rate_estimate(point.throughput_per_s) + mark,
        people.plain(point.load),
        _limited(configuration),
        p95 if p95 == people.ABSENT else p95 + mark,
        met,
    )


def _limited(configuration: Configuration) -> str:
    """Render the limit of a configuration: the load limit that a search found, otherwise the bottleneck."""
    limit, found = configuration.limit, configuration.found_limit
    if found is None or (limit is not None and limit.reached):
        return limiting(configuration)
    if found.value is None:
        return "no tested load passed"
    if found.is_lower_bound:
        return f"not reached: {found.in_words}"
    return f"{found.reason} beyond {found.in_words}"


def _objectives(results: Results, configuration: Configuration) -> str:
    """Count the objectives of a configuration by outcome and load: `2 met, 1 missed at 500 users`."""
    counts: dict[str, int] = {}
    for objective in results.study_summary.objectives:
        if objective.configuration in (configuration.key, None, {}):
            word = outcomes.outcome(objective).split(":")[0].split(",")[0]
            bare = word.removesuffix(f" {MARK}")
            word = f"{bare}{outcomes.at_load(objective)}{word[len(bare) :]}"
            counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{number} {word}" for word, number in counts.items()) or people.ABSENT

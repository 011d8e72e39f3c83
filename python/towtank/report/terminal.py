"""Prints the result of a study on the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from towtank import over_runs
from towtank.analysis import (
    FAR_FROM_LIMIT,
    Configuration,
    Estimate,
    LoadPoint,
    StudySummary,
    configurations_of,
    not_checked,
    relaxed_words,
)
from towtank.conclusion_words import Conclusion, plain
from towtank.digging import dig
from towtank.report import format as people
from towtank.report.failures import failure_lines
from towtank.report.left_out import left_out_words
from towtank.report.objectives import line
from towtank.terminal import fit_table, is_bounded, stacked, table_width, visible
from towtank.verdict_words import verdict_words

_STYLES = {"valid": "green", "suspect": "yellow", "invalid": "red"}
_OBSERVATIONS_AT_MOST = 3
_CONFIGURATIONS_AT_MOST = 3
_EXCHANGES_AT_MOST = 3
_WIDE = 100  # Width of a terminal from which tables have wide gaps. [columns]
# Width of a configuration's label up to which the label is not wrapped. [columns]
_LABEL = 24


def print_outcome(console: Console, study_summary: Mapping[str, Any], report_path: Path | None) -> None:
    """Print the result of a study: the content of `study-summary.json`, and the path of the report if one was
    written.
    """
    console.print(verdict_line(study_summary), soft_wrap=True)
    if any(configuration.points for configuration in configurations_of(study_summary)):
        _print_table(console, study_summary)
    if left_out := left_out_words(study_summary):
        console.print(Text(visible(left_out)), soft_wrap=True)
    if study_summary.get("headline"):
        console.print(Text(str(study_summary["headline"]), style="bold"), soft_wrap=True)
    _print_conclusion(console, study_summary, report_path)
    _print_diagnoses(console, study_summary)
    _print_claims(console, study_summary)
    sentences = study_summary.get("observations") or ()
    observations = [sentence for sentence in sentences if sentence.get("kind") != "objective"]
    for observation in observations[:_OBSERVATIONS_AT_MOST]:
        console.print(Text(f"- {observation.get('text', '')}"), soft_wrap=True)
    for objective in StudySummary.model_validate(study_summary).objectives:
        console.print(Text(line(objective)), soft_wrap=True)
    for failure in failure_lines(study_summary, _EXCHANGES_AT_MOST, "in the report"):
        console.print(Text(failure), soft_wrap=True)
    if report_path is not None:
        console.print(Text(f"\nreport: {report_path}"), soft_wrap=True)


def _print_conclusion(console: Console, study_summary: Mapping[str, Any], report_path: Path | None) -> None:
    """Print how sure the answer is, and the next steps with the path of the results folder in commands."""
    concluded = Conclusion.of(study_summary)
    if report_path is not None:
        concluded = concluded.in_folder(shlex.quote(str(report_path.parent)))
    if concluded.certainty or concluded.sure:
        sure = " ".join(filter(None, (concluded.certainty_words, *concluded.sure)))
        console.print(Text(f"how sure: {plain(sure)}"), soft_wrap=True)
    heads = (("do", concluded.do), ("to be surer", concluded.measure))
    for head, step in ((head, step) for head, steps in heads for step in steps):
        console.print(Text(f"{head}: {plain(step)}"), soft_wrap=True)


def _print_diagnoses(console: Console, study_summary: Mapping[str, Any]) -> None:
    """Print the diagnosis of each configuration; print nothing for more than three configurations."""
    found = configurations_of(study_summary)
    for configuration in found if len(found) <= _CONFIGURATIONS_AT_MOST else ():
        diagnosis = configuration.diagnosis
        if diagnosis is not None:
            heads = [configuration.label] if len(found) > 1 else []
            heading = ", ".join([*heads, *(["from suspect runs"] if configuration.is_suspect else [])])
            console.print(Text(visible(f"{heading}: {diagnosis}" if heading else str(diagnosis))), soft_wrap=True)


def _print_claims(console: Console, study_summary: Mapping[str, Any]) -> None:
    """Print the number of claims by verdict, and the answer to each claim."""
    claims = [
        f"{count} {verdict.replace('_', ' ')}"
        for verdict, count in (study_summary.get("claims") or {}).items()
        if count
    ]
    if claims:
        console.print(Text(f"claims: {', '.join(claims)}"), soft_wrap=True)
    for number, answer in enumerate(study_summary.get("answers") or (), 1):
        console.print(Text(f"{number}. {answer}"), soft_wrap=True)


def _print_table(console: Console, study_summary: Mapping[str, Any]) -> None:
    """Print the table of load points, with as many tiers and intervals as fit the width; output to a file has all.

    Numbers are never wrapped or truncated: a table that does not fit is printed as lines.
    """
    gap = 2 if console.width >= _WIDE else 1
    tiers = tiers_of(study_summary)
    shown, has_intervals = list(tiers), True
    if is_bounded(console):
        shown = _tiers_that_fit(console, study_summary, gap)
        has_intervals = _least_width(console, table(study_summary, gap, shown)) <= console.width
    made = table(study_summary, gap, shown, has_intervals=has_intervals)
    fitting = fit_table(console, made)
    # Lines have enough space for all tiers and intervals.
    if fitting is not made and is_bounded(console):
        shown, has_intervals, fitting = tiers, True, stacked(table(study_summary))
    console.print(Text(), fitting, Text(), sep="\n", soft_wrap=True)
    left = [] if has_intervals else ["intervals of mean and p95"]
    if tiers[len(shown) :]:
        left.append(f"CPU of {', '.join(tiers[len(shown) :])}")
    if left:
        console.print(Text(f"{'; '.join(left)}: see the report, or a wider terminal\n"), soft_wrap=True)


def _tiers_that_fit(console: Console, study_summary: Mapping[str, Any], gap: int) -> list[str]:
    """Return as many tiers as fit into a table without intervals of response times, beginning with the first."""
    shown = tiers_of(study_summary)
    while shown and _least_width(console, table(study_summary, gap, shown, has_intervals=False)) > console.width:
        shown.pop()
    return shown


def _least_width(console: Console, made: Table) -> int:
    """Return the smallest width of a table in which only the labels of configurations are wrapped. [columns]"""
    labels = max(len(str(cell)) for cell in made.columns[0].cells)
    return table_width(console, made) - max(0, labels - _LABEL)


def verdict_line(study_summary: Mapping[str, Any]) -> Text:
    """Render the verdict as `verdict: valid (runs: 8 valid)`, followed by lines with the reasons."""
    verdict = study_summary.get("verdict") or {}
    level = str(verdict.get("level") or "invalid")
    counts = [
        f"{verdict[f'{state}_runs']} {state}"
        for state in ("valid", "suspect", "invalid", "missing")
        if verdict.get(f"{state}_runs")
    ]
    line = Text("verdict: ")
    relaxed = relaxed_words(dig(verdict, "relaxed_limits") or ())
    line.append(verdict_words(level, relaxed=relaxed), style=f"bold {_STYLES.get(level, '')}".strip())
    line.append(f" (runs: {', '.join(counts) or 'none'})")
    messages = dict.fromkeys(
        str(doubt.get("message")) for doubt in verdict.get("reasons") or () if doubt.get("message")
    )
    for message in messages:
        line.append(f"\n  {message}")
    if group := verdict.get("log"):
        line.append(f"\n  {_log_line(group)}")
    for words in (relaxed, not_checked(verdict.get("not_checked") or ())):
        if words:
            line.append(f"\n  {words}")
    return line


def _log_line(group: Mapping[str, Any]) -> str:
    """Render a group of log lines as `log of content in r003 (2,196 lines, first seen at 31 s): accept: Too many open
    files`.
    """
    first = group.get("first_s")
    since = "" if first is None else f", first seen at {people.plain(round(first, 1))} s"
    times = people.count(group.get("count"))
    return f"log of {group.get('service')} in {group.get('run')} ({times} lines{since}): {group.get('text')}"


def _points(study_summary: Mapping[str, Any]) -> list[tuple[Configuration, LoadPoint]]:
    return [(each, point) for each in configurations_of(study_summary) for point in each.points]


def tiers_of(study_summary: Mapping[str, Any]) -> list[str]:
    """Return the names of the tiers in all load points."""
    return list(dict.fromkeys(tier for _, point in _points(study_summary) for tier in point.tiers))


def unattributed_of(study_summary: Mapping[str, Any]) -> list[str]:
    """Return the names of the machines with CPU time that belongs to no tier."""
    return list(dict.fromkeys(name for _, point in _points(study_summary) for name in point.not_attributed))


def table(
    study_summary: Mapping[str, Any], gap: int = 2, tiers: list[str] | None = None, *, has_intervals: bool = True
) -> Table:
    """Build a table with a row for each load point: throughput, mean and 95th percentile, CPU by tier, verdict.

    If `has_intervals` is False, the intervals of mean and 95th percentile are left out, and only determine the number
    of digits.
    """
    points = _points(study_summary)
    tiers = tiers_of(study_summary) if tiers is None else tiers
    made = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold")
    made.add_column(
        "configuration", overflow="fold"
    )  # Only this column may wrap, because a wrapped number is hard to read.
    load = str(study_summary.get("load_factor") or "users")
    rests = unattributed_of(study_summary)
    cpus = (*(f"CPU {tier}" for tier in tiers), *(f"CPU {people.not_attributed(name)}" for name in rests))
    spread = any(_by_run(point) for _, point in points)
    for title in (load, "throughput", "mean", "p95", *(["p95 by run"] if spread else []), *cpus):
        made.add_column(Text(title), justify="right", no_wrap=True)
    made.add_column("verdict", no_wrap=True)
    time = people.seconds_estimate if has_intervals else people.seconds_of
    for configuration, point in points:
        cells = _cells(configuration, point, tiers, rests, time)
        if spread:
            cells.insert(5, _by_run(point) or people.ABSENT)
        made.add_row(*map(Text, cells), _verdict(point))
    return made


def _by_run(point: LoadPoint) -> str:
    """Render the range of the 95th percentiles of single runs at a load point; empty if they differ by less than a
    factor of two.
    """
    ends = point.ranges.p95_s
    return over_runs.words(ends, ends[1], people.seconds) if ends and ends[1] >= FAR_FROM_LIMIT * ends[0] else ""


def _cells(
    configuration: Configuration,
    point: LoadPoint,
    tiers: list[str],
    rests: list[str],
    time: Callable[[Estimate], str],
) -> list[str]:
    place = [configuration.label, people.plain(point.level)]
    if not point.is_usable:
        return place + [people.ABSENT] * (3 + len(tiers) + len(rests))
    return [
        *place,
        people.rate_estimate(point.throughput_per_s),
        time(point.response_time_s.mean),
        time(point.response_time_s.p95),
        *(people.plain_of(point.cpus_of(tier)) for tier in tiers),
        *(people.plain_of(people.not_below_zero(point.cpus_of_no_tier(name))) for name in rests),
    ]


def _verdict(point: LoadPoint) -> Text:
    """Render the distinct verdicts on the runs of a load point, each in its colour."""
    text = Text()
    for verdict in dict.fromkeys(point.verdicts):
        text.append(", " if text else "")
        text.append(verdict, style=_STYLES.get(verdict, ""))
    return text or Text("not run")

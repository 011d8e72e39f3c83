"""Checks of a report find statements that the verdicts of the runs do not support.

In the study (that of `test_report_earned`), all runs of the second configuration are invalid, or all are suspect. A
report must state no result of invalid runs, and must mark each result of suspect runs. To show that the checks work,
the tests plant faults into the code that writes a report: in sentences, tables and figures, and in values, verdicts,
limits, knees and axes. The checks must find each fault, and nothing without a fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest
from test_report_earned import DOUBT, OWN, _joined, of_terminal, plain, studied

from towtank.analysis import aggregation, narrative, objective_levels, study_verdict
from towtank.analysis.load_point import FoundLimit, LoadPoint
from towtank.analysis.study import describe_study
from towtank.analysis.study_summary import Configuration
from towtank.report import objectives as outcomes
from towtank.report.content import brief, build_document, found_limit, headline, observations, tables
from towtank.report.document import Bullets, Callout, Figure, Paragraph, Table, Text, text
from towtank.report.figures import limit, panel, percentiles, response_time, series
from towtank.report.source import Results

LABEL = "search_index absent"
# Sections and figures about the runs themselves: they show why a run does not count.
OF_RUNS = ("verdicts", "limits", "question", "workload", "configuration", "audit", "generator", "observation",
           "reproducibility")  # fmt: skip
COURSES = ("timeline", "every-run")
IN_BRIEF = "Results in brief"
_REASON = re.compile(r"start lag is 38 ms at p99, limit 1 ms|\(40 % sure\)|(?:p95|mean) < \d+ m?s")
_VALUE = re.compile(r"\d[\])]?\s?(?:%|µs|ms|s|/s|CPUs|users|×|times)(?![\w/])")
_OUTCOME = re.compile(r"\b(?:met|meets|missed|misses|sustains|reached|not reached|Limit found)\b")


@dataclass(frozen=True)
class Statement:
    """Sentence, table row, or drawn value of a report about the second configuration."""

    kind: str
    text: str
    is_doubted: bool

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def _said(kind: str, text: str) -> Iterator[Statement]:
    text = plain(text)
    if LABEL in text or OWN.search(text):
        yield Statement(kind, text, DOUBT.search(text) is not None)


def _rows(spec: object) -> Iterator[dict[str, Any]]:
    """Yield the rows of data in all layers and panels of a figure."""
    if isinstance(spec, list):
        for part in spec:
            yield from _rows(part)
    elif isinstance(spec, dict):
        data = spec.get("data")
        yield from data.get("values") or () if isinstance(data, dict) else ()
        for key, part in spec.items():
            if key != "data":
                yield from _rows(part)


def _of_figure(figure: Figure) -> Iterator[Statement]:
    """Yield the values of a figure: in its description, in its table, and as marks."""
    doubt = " (suspect)" if DOUBT.search(figure.note) else ""
    for piece in re.split(r"; |\. ", figure.description):
        yield from _said(f"sentence of figure {figure.name}", piece + doubt)
    for row in figure.table.rows if figure.table else ():
        yield from _said(f"table of figure {figure.name}", " | ".join(row))
    for row in _rows(figure.spec):
        if row.get("configuration") == LABEL and "state" in row:
            yield Statement(
                f"mark of figure {figure.name}", f"{row.get('value')} {row['state']}", row["state"] != "valid"
            )


def _of_row(caption: str, row: tuple[str, ...]) -> Iterator[Statement]:
    """Yield the statement of a table row. In the table of results in brief, each cell with a value has its own mark."""
    kind = f"table {caption}"
    for said in _said(kind, " | ".join(row)):
        values = [cell for cell in map(plain, row) if _VALUE.search(cell)]
        all_marked = caption != IN_BRIEF or all(DOUBT.search(cell) for cell in values)
        yield Statement(kind, said.text, said.is_doubted and all_marked)


def statements(results: Results) -> list[Statement]:
    """Return what a report and the terminal state about the second configuration."""
    found: list[Statement] = []
    for section in build_document(results).sections:
        for block in section.blocks if section.name not in OF_RUNS else ():
            if isinstance(block, Paragraph):
                found += _said(f"sentence of {section.name}", _joined(block.content))
            elif isinstance(block, Callout):
                whole = " ".join((block.level, block.title, *map(_joined, block.content)))
                for sentence in whole.split(". ") if block.level == "headline" else (whole,):
                    found += _said(f"sentence of {section.name}", sentence)
            elif isinstance(block, Bullets):
                for item in block.items:
                    found += _said(f"sentence of {section.name}", _joined(item))
            elif isinstance(block, Table):
                for row in (*block.rows, *((note,) for note in block.footnotes)):
                    found += _of_row(block.caption, row)
            elif isinstance(block, Figure) and not block.name.startswith(COURSES):
                found += _of_figure(block)
    for _, line in of_terminal(results):
        found += _said("terminal", line)
    return found


def axes(results: Results) -> dict[str, list[float]]:
    """Return the largest value of each axis of values, by figure."""
    found: dict[str, list[float]] = {}
    for section in build_document(results).sections:
        for block in section.blocks:
            if isinstance(block, Figure) and section.name not in OF_RUNS and not block.name.startswith(COURSES):
                found[block.name] = sorted(_tops(block.spec))
    return found


def _tops(spec: object, name: str = "") -> Iterator[float]:
    if isinstance(spec, list):
        for part in spec:
            yield from _tops(part, name)
    elif isinstance(spec, dict):
        scale = spec.get("scale")
        if name in ("y", "x") and isinstance(scale, dict):
            ends = scale.get("domain", scale.get("domainMax"))
            top = ends[-1] if isinstance(ends, list) and ends else ends
            yield from [float(top)] if isinstance(top, int | float) and not isinstance(top, bool) else []
        for key, part in spec.items():
            if key != "data":
                yield from _tops(part, key)


def missing() -> Results:
    """Return the study without the runs of the second configuration.

    The axes of its figures are those of the study in which these runs are invalid, because invalid runs must not change
    an axis.
    """
    found = studied("invalid")
    kept = tuple(run for run in found.runs if run.factors["search_index"] == "present")
    return replace(found, runs=kept, summary=describe_study(found.manifest, [run.summary for run in kept]))


AXES = axes(missing())


def faults(verdict: str) -> list[str]:
    """Return all statements that the verdict of their runs does not support."""
    results = studied(verdict)
    said = statements(results)
    if verdict == "suspect":
        return [str(each) for each in said if _has_value(each) and not each.is_doubted]
    found = [str(each) for each in said if _is_unearned(each)]
    found += [f"axis of figure {name}: {tops}" for name, tops in axes(results).items() if tops != AXES.get(name, tops)]
    level = results.summary["verdict"]["level"]
    return found + ([f"verdict: {level}"] if level == "valid" else [])


def _has_value(said: Statement) -> bool:
    text = _REASON.sub("", said.text)
    return said.kind.startswith("mark of ") or OWN.search(text) is not None or _VALUE.search(text) is not None


def _is_unearned(said: Statement) -> bool:
    """Return True if a statement about invalid runs states a value or an outcome. A cross in a figure is allowed."""
    if said.kind.startswith("mark of "):
        return not said.text.endswith(" invalid")
    text = _REASON.sub("", said.text)
    return _has_value(said) or _OUTCOME.search(text) is not None


@pytest.mark.parametrize("verdict", ["suspect", "invalid"])
def test_without_a_fault_nothing_is_found(verdict: str) -> None:
    assert faults(verdict) == []


def test_statements_are_of_every_kind() -> None:
    kinds = {each.kind.partition(" of figure ")[0].split()[0] for each in statements(studied("valid"))}
    assert kinds == {"sentence", "table", "mark", "terminal"}
    marks = {each.kind.rpartition(" ")[2] for each in statements(studied("valid")) if each.kind.startswith("mark")}
    assert marks == {"throughput", "scaling", "response-time", "percentiles", "cpu-by-tier", "disk", "transactions"}


def _as_valid(points: list[series.Point]) -> list[series.Point]:
    return [replace(point, state="valid") for point in points]


def _of_series(module: Any, **changes: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """Return the fault of one module whose view of `series` is changed."""
    return lambda patch: patch.setattr(module, "series", SimpleNamespace(**{**vars(series), **changes}))


def _set(place: Any, name: str, value: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(place, name, value)


_COLLECT, _TIME_AXIS, _COMPUTE = series.response_time_of, panel.time_axis, limit.compute
_DESCRIBED = study_verdict.verdict_of


def _collected(*arguments: Any) -> list[series.Point]:
    return _as_valid(_COLLECT(*arguments))


def _axis_of_all(title: str, points: list[series.Point], height: int = 300) -> dict[str, Any]:
    return _TIME_AXIS(title, _as_valid(points), height)


def _without_doubt(results: Results, run: Any) -> Any:
    made = _COMPUTE(results, run)
    return (
        None if made is None else replace(made, found=FoundLimit.model_validate(run.summary["limit"]), is_invalid=False)
    )


def _said_valid(*arguments: Any) -> dict[str, Any]:
    return {**_DESCRIBED(*arguments), "level": "valid"}


def _all_points(configuration: Configuration) -> list[LoadPoint]:
    return list(configuration.points)


def _highest(configuration: Configuration) -> LoadPoint:
    return max(configuration.points, key=lambda point: point.throughput_per_s.value or 0.0)


def _without_words(said: str, **_: bool) -> Text:
    return text(said.replace(", from a suspect run", ""))


PLANTED: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "sentence, value, invalid": ("invalid", _set(narrative, "_valid", _all_points)),
    "table, value, invalid": ("invalid", _set(LoadPoint, "is_usable", property(lambda _: True))),
    "table in brief, value, invalid": ("invalid", _set(brief, "_peak", _highest)),
    "figure, mark, invalid": ("invalid", _of_series(response_time, response_time_of=_collected)),
    "figure, percentiles, invalid": ("invalid", _of_series(percentiles, response_time_of=_collected)),
    "figure, its table, invalid": ("invalid", _set(series.Point, "stated", property(lambda point: point))),
    "figure, axis, invalid": ("invalid", _set(panel, "time_axis", _axis_of_all)),
    "figure, limit, invalid": ("invalid", _set(limit, "compute", _without_doubt)),
    "verdict on an objective, invalid": ("invalid", _set(objective_levels.Level, "decides", lambda *_: True)),
    "limit found, invalid": ("invalid", _set(found_limit, "_of_invalid_run", found_limit._of_run)),
    "limit and knee of levels, invalid": ("invalid", _set(aggregation.Point, "is_valid", property(lambda _: True))),
    "evidence of a limit, invalid": ("invalid", _set(observations, "_evidence", lambda found, _: found.evidence)),
    "comparison, invalid": ("invalid", _set(Configuration, "usable", property(_all_points))),
    "verdict on the study, invalid": ("invalid", _set(study_verdict, "verdict_of", _said_valid)),
    "sentence, doubt, suspect": ("suspect", _set(narrative, "_suspects", lambda _: "")),
    "headline, doubt, suspect": ("suspect", _set(headline, "_pieces", _without_words)),
    "table, mark, suspect": ("suspect", _set(tables, "_mark", lambda _: "")),
    "table of limits, mark, suspect": ("suspect", _set(observations, "_mark", lambda _: "")),
    "table in brief, mark, suspect": ("suspect", _set(brief, "MARK", "")),
    "figure, open symbols, suspect": ("suspect", _set(LoadPoint, "state", property(lambda _: "valid"))),
    "figure, note, suspect": ("suspect", _set(series, "OPEN_SYMBOLS", "")),
    "verdict on an objective, mark, suspect": ("suspect", _set(outcomes, "MARK", "")),
}  # fmt: skip


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_fault_is_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, plant = PLANTED[kind]
    plant(monkeypatch)
    assert faults(verdict) != []

"""Every kind of statement in a report must agree with the verdict of the runs that it is about.

One configuration is valid. The runs of the other configuration have the tested verdict, and numbers that no other run
has. A report must state the number of a valid run, the number of a suspect run with its doubt, and no number of an
invalid run.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import report_synthetic as synthetic
from rich.console import Console
from test_report_limit import LIMIT

from towtank.analysis.study import describe_study
from towtank.report.content import build_document
from towtank.report.document import Bullets, Callout, Document, Figure, Paragraph, Table
from towtank.report.figures import series, throughput
from towtank.report.source import Results, RunResult
from towtank.report.terminal import print_outcome
from towtank.results.exports import judged, markdown_format

LEVELS = (30, 90)
# Numbers that occur only in runs without the index. The mean response time at 90 users is N / X - Z = 90 / 62.5 /s - 1
# s = 440 ms; the percentiles are 0.8, 1.8 and 2.2 times this mean. 128 users are the last load level of a search.
OWN = re.compile(r"(?<![\d.,])(?:29\.5|62\.5|16\.0|440|35\.2|968|352|792|128 users)(?![\d.]\d|\d)")
DOUBT = re.compile(r"†|[Ss]uspect")
ANSWERING = ("summary", "limit", "results", "figures", "observations")
OBJECTIVES = [
    {"text": "p95 < 2 s", "metric": "p95", "comparison": "<", "value": 2.0},
    {"text": "mean < 100 ms", "metric": "mean", "comparison": "<", "value": 0.1},
]


def summary_of(run: str, users: int, index: str, verdict: str) -> dict[str, Any]:
    """Return a run summary in the form in which the analysis of a study reads it."""
    made = synthetic.run_summary(run, users, index, verdict)
    rate, mean = synthetic.throughput(users, index), synthetic.response_time(users, index)
    weights = synthetic.WEIGHTS.items()
    of_transactions = synthetic.transactions(users, index)
    made["rate"] = None
    made["verdict"]["reasons"] = [] if verdict == "valid" else [synthetic.doubt(level=verdict)]
    made["laws"]["little"] |= {"z_s": synthetic.THINK_S, "x_per_s": rate}
    made["tiers"]["content"] |= {"cpus_allotted": 1}
    made["transactions"] = {
        name: {
            "count": round(rate * 20 * weight / 100),
            "errors": 0,
            "share": weight / 100,
            "throughput_per_s": of_transactions[name]["throughput_per_s"],
            "response_time_s": synthetic.times(mean * synthetic.FACTORS_OF_MEAN[name] * 1.01),
            "phases": {},
        }
        for name, weight in weights
    }
    if index == "absent" and users == LEVELS[-1]:
        made["limit"] = {**LIMIT, "ended": "refined"}
    return made


def studied(verdict: str) -> Results:
    """Return the study in which all runs without the index have the given verdict."""
    runs = []
    for number, (index, users) in enumerate(((index, users) for index in ("present", "absent") for users in LEVELS), 1):
        name = f"r{number:03d}"
        summary = summary_of(name, users, index, verdict if index == "absent" else "valid")
        runs.append(RunResult(name, synthetic.run_manifest(name, number, users, index), summary))
    study = {**synthetic.study(), "objectives": OBJECTIVES, "expect": "", "question": "Which one?"}
    manifest = {**synthetic.results().manifest, "study": study}
    return Results("earned-1", manifest, describe_study(manifest, [run.summary for run in runs]), tuple(runs))


VERDICTS = ("valid", "suspect", "invalid")
STUDIED = {verdict: studied(verdict) for verdict in VERDICTS}


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def _joined(content: Any) -> str:
    return "".join(run.text for run in content)


def of_report(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the statements of the sections that answer the study's question, each with its kind.

    A statement is a sentence, a table row or a text of a figure.
    """
    document: Document = build_document(results)
    for section in document.sections:
        if section.name not in ANSWERING:
            continue
        for block in section.blocks:
            if isinstance(block, Paragraph):
                yield f"paragraph of {section.name}", _joined(block.content)
            elif isinstance(block, Callout):
                whole = " ".join((block.level, block.title, *map(_joined, block.content)))
                for sentence in whole.split(". ") if block.level == "headline" else (whole,):
                    yield f"callout of {section.name}", sentence
            elif isinstance(block, Bullets):
                for item in block.items:
                    yield f"bullet of {section.name}", _joined(item)
            elif isinstance(block, Table):
                for row in block.rows:
                    yield f"table {block.caption}", " | ".join(row)
            elif isinstance(block, Figure):
                yield f"figure {block.name}", f"{block.description} {block.note}"


def of_summary(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the sentences of the analysis, which are also part of the JSON of a run and of the Python API."""
    for sentence in str(results.summary["headline"]).split(". "):
        yield "headline", sentence
    for observation in results.summary["observations"]:
        yield f"observation {observation['kind']}", observation["text"]


def of_terminal(results: Results) -> Iterator[tuple[str, str]]:
    stream = io.StringIO()
    print_outcome(Console(file=stream, width=250, highlight=False), results.summary, None)
    for line in stream.getvalue().splitlines():
        # The headline is one line with a sentence for each configuration.
        for sentence in line.split(". "):
            yield "terminal", sentence


def of_markdown(results: Results) -> Iterator[tuple[str, str]]:
    known: dict[str, Any] = {"title": "x", "path": Path("x"), "runs": (), "missing": (), "claims": {}}
    material: Any = type("Material", (), {"summary": results.summary, **known})
    for part in (markdown_format._head, markdown_format._results, markdown_format._objectives):
        for line in part(material):
            for sentence in line.split(". "):
                yield "markdown", sentence


SOURCES: dict[str, Callable[[Results], Iterator[tuple[str, str]]]] = {
    "report": of_report,
    "summary": of_summary,
    "terminal": of_terminal,
    "markdown": of_markdown,
}
# Kinds of statements that must contain a number from the runs without the index, unless these runs are invalid.
KINDS = {
    "report": {
        "bullet of observations",
        "callout of limit",
        "callout of summary",
        "figure percentiles",
        "figure response-time",
        "figure throughput",
        "table Comparison of configurations at equal load",
        "table Limit of the system in the range measured",
        "table Objectives of the study",
        "table Percentiles of the response time",
        "table Results by configuration and load",
        "table Results in brief",
    },
    "summary": {
        "headline",
        "observation comparison",
        "observation found_limit",
        "observation objective",
        "observation response_time",
        "observation scaling",
    },
    "terminal": {"terminal"},
    "markdown": {"markdown"},
}


def own(source: str, verdict: str) -> list[tuple[str, str]]:
    """Return the statements that contain a number from the runs without the index."""
    made = ((kind, plain(text)) for kind, text in SOURCES[source](STUDIED[verdict]))
    return [(kind, text) for kind, text in made if OWN.search(text)]


@pytest.mark.parametrize("source", SOURCES)
def test_runs_that_count_give_values_of_every_kind(source: str) -> None:
    for verdict in ("valid", "suspect"):
        assert KINDS[source] - {kind for kind, _ in own(source, verdict)} == set(), verdict


@pytest.mark.parametrize("source", SOURCES)
def test_no_value_of_a_valid_run_is_doubted(source: str) -> None:
    assert [(kind, text) for kind, text in own(source, "valid") if DOUBT.search(text)] == []


@pytest.mark.parametrize("source", SOURCES)
def test_every_value_of_a_suspect_run_has_its_doubt_beside_it(source: str) -> None:
    assert [(kind, text) for kind, text in own(source, "suspect") if not DOUBT.search(text)] == []


@pytest.mark.parametrize("source", SOURCES)
def test_no_value_of_an_invalid_run_is_stated(source: str) -> None:
    assert own(source, "invalid") == []


def test_objectives_are_judged_by_runs_that_count() -> None:
    outcomes = {
        verdict: [
            (judged.state(objective), objective["suspect_runs"])
            for objective in STUDIED[verdict].summary["objectives"]
            if objective["configuration"] == {"search_index": "absent"}
        ]
        for verdict in VERDICTS
    }
    assert outcomes == {
        "valid": [("met", []), ("missed", [])],
        "suspect": [("met", ["r003", "r004"]), ("missed", ["r003", "r004"])],
        "invalid": [("not valid", []), ("not valid", [])],
    }


def test_limits_knees_and_verdicts_follow_the_runs() -> None:
    for verdict, found, level in (("valid", 128, "valid"), ("suspect", 128, "suspect"), ("invalid", None, "suspect")):
        summary = STUDIED[verdict].summary
        absent = summary["configurations"][1]
        assert (absent["found_limit"] or {}).get("value") == found
        assert (absent["limit"]["knee_users"]["value"] is None) == (verdict == "invalid")
        assert summary["verdict"]["level"] == level


def test_what_is_not_answered_has_its_reason_and_what_to_do() -> None:
    (sentence,) = re.findall(r"There is no result for .*", STUDIED["invalid"].summary["headline"])
    assert sentence.startswith(
        "There is no result for search_index = absent: no run of it is usable, because start lag is 38 ms at p99, "
        "limit 1 ms"
    )
    assert "Do: lower the load, or give the engine more threads" in sentence


def test_points_of_runs_that_do_not_count_set_no_scale() -> None:
    states = {
        verdict: {
            point.state
            for point in throughput.compute(STUDIED[verdict]).points
            if point.configuration == "search_index absent"
        }
        for verdict in VERDICTS
    }
    assert states == {verdict: {verdict} for verdict in VERDICTS}
    collected = series.collect(
        STUDIED["invalid"], lambda point: point.throughput_per_s, lambda run: run.throughput_per_s
    )
    assert all(point.low is None for point in collected if point.state == "invalid")

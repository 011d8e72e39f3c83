"""Answers to every kind of claim, for each outcome, in the report, the terminal, Markdown and the copied summary.

At 120 users, the synthetic system has a throughput of 100 /s with the index and 62.5 /s without it (asymptotic bounds).
Its mean response time with the index grows from 10 ms to 200 ms at 120 users (Little's law). Every estimate has an
error of 5 %.
"""

from __future__ import annotations

import copy
import dataclasses
import io
from collections.abc import Callable
from typing import Any

import pytest
import report_synthetic as synthetic
from rich.console import Console

from towtank.analysis import claims
from towtank.claim_words import sentence
from towtank.report.content import build_document
from towtank.report.document import Table
from towtank.report.source import Results
from towtank.report.terminal import print_outcome
from towtank.results.exports import markdown_format

SAYS = "So it is."
PRESENT, ABSENT = {"search_index": "present"}, {"search_index": "absent"}
AT_MOST = {"search_index": "present", "users": "120"}
PAIR = {"of": "throughput", "at": {"search_index": "absent", "users": "120"}, "to": {"search_index": "present"}}
ALL = {**PAIR, "at": {"search_index": "absent", "users": "all"}}
OVER = {"over": "users", "at": PRESENT}
# For each kind of claim: the measure; a confirmed, a refuted and an undecided condition; the number in the answer.
KINDS: dict[str, tuple[dict[str, Any], str, str, str, str]] = {
    "value": ({"value": {"of": "mean", "at": AT_MOST}}, "> 150 ms", "> 250 ms", "> 205 ms", "200"),
    "ratio": ({"ratio": PAIR}, "< 0.9", "> 0.9", "> 0.62", "0.62"),
    "difference": ({"difference": PAIR}, "< 0 /s", "> 0 /s", "> -38 /s", "-38"),
    "levels": ({"ratio": ALL}, "< 1.2", "> 0.9", "< 0.99", "0.81"),
    "rises": ({"trend": {"of": "mean", **OVER}}, "rises", "stays", "", "20"),
    # Without the index, throughput is 62.5 /s both at 90 and at 120 users.
    "rise to a limit": ({"trend": {"of": "throughput", **OVER, "at": ABSENT}}, "", "falls", "rises", "2.1"),
    "highest": ({"highest": {"of": "throughput", **OVER}}, "at 120", "at 30", "", "120"),
    "lowest": ({"lowest": {"of": "mean", **OVER}}, "at 30 or 60 or 90", "at 120", "at 30", "30 (or 60"),
}
HOLDS = {"confirmed": 1, "refuted": 2, "undecided": 3}
RUNS = [f"r{number:03d}" for number in range(1, 9)]


def asked(kind: str, outcome: str) -> dict[str, Any]:
    """Return the claim in the form of a study file."""
    kinds = KINDS[kind]
    return {"says": SAYS, "measure": kinds[0], "holds": kinds[HOLDS[outcome]]}


def studied(claim: dict[str, Any], **made: Any) -> Results:
    """Return the synthetic study with one claim. The study assumes no variation from run to run."""
    found = made.pop("found", None) or synthetic.results(**made)
    study = {**found.study, "claims": [claim], "run_to_run": 0.0}
    judged = claims.judge(study, [run.summary for run in found.runs if run.summary])
    said = [sentence(each) for each in judged.document()["claims"]]
    summary = {**found.summary, "claims": judged.counts, "answers": said}
    return dataclasses.replace(found, summary=summary, claims=judged)


def without_intervals() -> Results:
    """Return the study with all intervals of its estimates removed."""
    found = synthetic.results()

    def bare(part: Any) -> Any:
        if isinstance(part, dict):
            ends = {"low": None, "high": None} if "low" in part else {}
            return {**{key: bare(value) for key, value in part.items()}, **ends}
        return part

    runs = tuple(dataclasses.replace(run, summary=bare(copy.deepcopy(run.summary))) for run in found.runs)
    return dataclasses.replace(found, runs=runs)


def of_report(results: Results) -> str:
    """Return the row of the claim in the table on the first screen, and the notes below the table."""
    summary = build_document(results).sections[0]
    (table,) = [block for block in summary.blocks if isinstance(block, Table) and block.caption == "Expected and found"]
    (row,) = table.rows
    return " | ".join((*row, *table.footnotes)).replace("not answered", "Not answered")


def of_terminal(results: Results) -> str:
    stream = io.StringIO()
    print_outcome(Console(file=stream, width=80, highlight=False), results.summary, None)
    (line,) = [line for line in stream.getvalue().splitlines() if line.startswith("1. ")]
    return line


def of_markdown(results: Results) -> str:
    material: Any = type("Material", (), {"claims": results.claims.document()})
    (row,) = [line for line in markdown_format._claims(material) if SAYS in line]
    return row.replace("\\", "").replace("**", "")


def of_copied_summary(results: Results) -> str:
    (line,) = [line for line in build_document(results).summary_text.splitlines() if line.startswith("1. ")]
    return line


PLACES: dict[str, Callable[[Results], str]] = {
    "report": of_report,
    "terminal": of_terminal,
    "Markdown": of_markdown,
    "copied": of_copied_summary,
}


def answers(results: Results) -> dict[str, str]:
    """Return the answer from each output that shows it (report, terminal, Markdown, copied summary), without
    typographic characters.
    """
    made = {place: answer(results) for place, answer in PLACES.items()}
    return {
        place: text.replace("\N{NO-BREAK SPACE}", " ").replace("−", "-").replace(" †", "")
        for place, text in made.items()
    }


def verdict_of(results: Results) -> str:
    return results.claims.claims[0].verdict


CASES = [(kind, outcome) for kind in KINDS for outcome in HOLDS if KINDS[kind][HOLDS[outcome]]]


def test_every_outcome_is_in_the_table_of_cases() -> None:
    assert {outcome for _, outcome in CASES} == set(HOLDS)
    assert {next(iter(KINDS[kind][0])) for kind, _ in CASES} == {
        "value", "ratio", "difference", "trend", "highest", "lowest",
    }  # fmt: skip


@pytest.mark.parametrize(("kind", "outcome"), CASES)
def test_an_answer_has_expectation_number_interval_and_verdict(kind: str, outcome: str) -> None:
    results = studied(asked(kind, outcome))
    assert verdict_of(results) == outcome
    word = {"confirmed": "Confirmed", "refuted": "Refuted", "undecided": "Not answered, because"}[outcome]
    for place, text in answers(results).items():
        assert SAYS in text, place
        assert asked(kind, outcome)["holds"] in text, place
        assert KINDS[kind][4] in text, place
        if not kind.endswith("est"):
            assert " to " in text or "[" in text, place
        assert all(part in text for part in word.split(", ")), place
        assert ("Do: repeat the runs" in text) == (outcome == "undecided"), place


# The kind `levels` is left out: its answer has an interval computed from the levels, even if the estimates have none.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "levels"])
def test_a_claim_without_intervals_is_not_answered(kind: str) -> None:
    results = studied(asked(kind, "refuted"), found=without_intervals())
    assert verdict_of(results) == "undecided"
    for place, text in answers(results).items():
        assert "because no interval exists" in text, place
        assert "Do: repeat the runs (--repetitions)." in text, place


# For each reason why a claim cannot be tested: parameters of the study, change of the claim, stated reason, and stated
# next step.
OBSTACLES: dict[str, tuple[dict[str, Any], str, str]] = {
    "invalid": (
        {"verdicts": dict.fromkeys(RUNS, "invalid")},
        "is invalid (r00",
        "remove the cause that the verdicts of these runs give, and run the study again",
    ),
    "missing": (
        {"missing": tuple(RUNS)},
        "no run at ",
        "make the missing runs (towtank run --resume), or name levels that the design combines",
    ),
    "another preset": (
        {"indices": ("present",)},
        "search_index ",
        "run a preset that contains it (--preset), or name factors and levels of this preset",
    ),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_tested_has_its_reason_and_what_to_do(kind: str, obstacle: str) -> None:
    made, why, remedy = OBSTACLES[obstacle]
    claim = copy.deepcopy(asked(kind, "refuted"))
    if obstacle == "another preset":
        (measure,) = claim["measure"].values()
        measure["at"] = {**measure["at"], "search_index": "partial"}
    results = studied(claim, **made)
    assert verdict_of(results) == "not_testable"
    for place, text in answers(results).items():
        assert SAYS in text, place
        assert claim["holds"] in text, place
        assert "Not answered" in text, place
        assert f"because {why}" in text or ", because every run at " in text, place
        assert why in text, place
        assert f"Do: {remedy}." in text, place


def test_a_claim_that_the_study_cannot_test_and_a_quantity_that_was_not_recorded() -> None:
    for place, text in answers(studied({"says": SAYS, "not_testable": "there is one node"})).items():
        assert "because there is one node" in text, place
        assert "Do: test the claim in a study of a system that meets its conditions." in text, place
    steal = {"says": SAYS, "measure": {"value": {"of": "machine.steal", "at": AT_MOST}}, "holds": "< 1"}
    for place, text in answers(studied(steal)).items():
        assert "because machine.steal was not measured at search_index present, users 120" in text, place
        assert "Do: name a quantity that the summaries of these runs contain, or record this quantity." in text, place


@pytest.mark.parametrize(("kind", "outcome"), CASES)
def test_an_answer_that_leans_on_suspect_runs_has_its_doubt(kind: str, outcome: str) -> None:
    results = studied(asked(kind, outcome), verdicts=dict.fromkeys(RUNS, "suspect"))
    assert verdict_of(results) == outcome
    for place, text in answers(results).items():
        assert "Doubt: it depends on " in text, place
    assert ("†" in of_report(results)) == (outcome != "undecided")


def test_of_many_claims_the_decided_ones_are_shown_in_the_summary_refuted_before_confirmed() -> None:
    found = synthetic.results()
    written = [asked("ratio", "confirmed")] * 5 + [asked("ratio", "refuted"), asked("ratio", "undecided")] * 2
    study = {**found.study, "claims": written, "run_to_run": 0.0}
    judged = claims.judge(study, [run.summary for run in found.runs])
    summary = build_document(dataclasses.replace(found, claims=judged)).sections[0]
    (table,) = [block for block in summary.blocks if isinstance(block, Table) and block.caption == "Expected and found"]
    assert [row[0] for row in table.rows] == ["1", "6", "8", "2", "3", "4", "5", "7", "9"]
    assert table.shown == 3
    assert table.footnotes[-1] == "The section on claims has the reasons for the other answers."


def test_claims_with_the_same_reason_and_next_step_share_a_note() -> None:
    # The first three claims lack runs; the fourth is not testable for another reason.
    found = synthetic.results(verdicts=dict.fromkeys(RUNS[:4], "invalid"))
    written = [asked("ratio", "confirmed"), asked("value", "refuted"), asked("highest", "refuted")]
    written.append({"says": SAYS, "not_testable": "there is one node"})
    study = {**found.study, "claims": written, "run_to_run": 0.0}
    judged = claims.judge(study, [run.summary for run in found.runs])
    summary = build_document(dataclasses.replace(found, claims=judged)).sections[0]
    (table,) = [block for block in summary.blocks if isinstance(block, Table) and block.caption == "Expected and found"]
    assert [row[4].replace("\N{NO-BREAK SPACE}", " ") for row in table.rows] == ["Not answered"] * 4
    assert [row[3] for row in table.rows] == ["–"] * 4
    notes = [note for note in table.footnotes if "remove the cause" in note]
    assert len(notes) == 1
    assert notes[0].startswith("No. 1, 2 and 3: not answered, because every run at search_index present, users ")
    assert notes[0].count("Do: ") == 1

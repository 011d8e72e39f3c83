"""The certainty of an answer, by the rule of `docs/reference/report.md`, and the reasons that the answer gives."""

from __future__ import annotations

from typing import Any

import pytest
from judged_studies import claim, concluded, study

from towtank.analysis.conclusion import conclude

GOOD = claim("A.", "confirmed")
OTHER = claim("B.", "confirmed", holds="> 1.05")
THIRD = claim("C.", "refuted", holds="> 2.5")
LEANING = claim("D.", "confirmed", holds="> 1.02", suspect_runs=["all0"])
SHARED = claim("H.", "confirmed", holds="> 1.04", suspect_runs=["all0"])
ASSUMED = claim("E.", "confirmed", holds="> 1.03", assumed_run_to_run=0.1)
OPEN = claim("F.", "undecided", why="the interval contains the bound")
ABSENT = claim("G.", "not_testable", why="every run is invalid", measured=None)
FIRST = {**LEANING, "required": True}
DEGREES = {
    "sure": "first of four degrees: the evidence is valid and repeated",
    "fairly sure": "second of four degrees: a part of the evidence is weak",
    "not sure": "third of four degrees: the main evidence is weak",
    "no answer": "last of four degrees: the runs decide nothing",
}
RELAXED = {"relaxed_limits": [{"limit": "interference", "value": 1.0, "default": 0.1}]}


@pytest.mark.parametrize(
    ("claims", "counts", "runs", "word"),
    [
        ([GOOD], (15,), 3, "sure"),
        # Open parts, and suspect runs on which no claim rests, do not lower the certainty.
        ([GOOD, OPEN, ABSENT], (15,), 3, "sure"),
        ([GOOD, OTHER], (14, 1), 3, "sure"),
        ([GOOD, OTHER, LEANING], (14, 1), 3, "fairly sure"),
        ([GOOD, LEANING], (14, 1), 3, "fairly sure"),
        ([GOOD, ASSUMED], (15,), 3, "fairly sure"),
        ([GOOD], (14, 0, 1), 3, "fairly sure"),
        ([GOOD], (14, 0, 0, 1), 3, "fairly sure"),
        ([ASSUMED], (5,), 1, "fairly sure"),
        ([GOOD], (5,), 1, "fairly sure"),
        # More than half of the decided claims, or the most important one.
        ([LEANING], (14, 1), 3, "not sure"),
        ([FIRST, GOOD, OTHER], (14, 1), 3, "not sure"),
        # Most claims share a single suspect run: three quarters of the usable runs are valid, or fewer.
        ([GOOD, LEANING, SHARED], (3, 1), 3, "fairly sure"),
        ([GOOD, LEANING, SHARED], (5, 2), 3, "not sure"),
        ([GOOD], (7, 0, 8), 3, "not sure"),
        ([OPEN, ABSENT], (15,), 3, "no answer"),
        ([GOOD], (0, 0, 15), 3, "no answer"),
        ([ABSENT], (0, 4, 44), 3, "no answer"),
        # Without claims.
        ([], (15,), 3, "sure"),
        ([], (5,), 1, "not sure"),
        ([], (14, 0, 1), 3, "fairly sure"),
        ([], (7, 8), 3, "not sure"),
        ([], (0, 0, 15), 3, "no answer"),
    ],
)
def test_the_certainty_follows_from_claims_and_runs(
    claims: list[dict[str, Any]], counts: tuple[int, ...], runs: int, word: str
) -> None:
    summary = study(*counts, runs=runs)
    found = concluded(*claims, summary=summary) if claims else conclude(summary)
    assert found.certainty == word
    assert found.certainty_words == f"{word.capitalize()} ({DEGREES[word]})."


def test_throughput_beside_claims_without_a_decision_is_not_sure() -> None:
    summary = study(15, configurations=2, question="How much throughput does each setting carry?")
    place = {"tier": "app", "host": None, "transaction": None, "part": None}
    for each in summary["configurations"]:
        each["diagnosis"] = {"cause": "cpu", "place": place, "sure": 0.9}
    found = concluded(OPEN, summary=summary)
    assert found.found[0].startswith("Highest throughput")
    assert found.certainty == "not sure"


@pytest.mark.parametrize(("claims", "word"), [([GOOD], "fairly sure"), ([], "fairly sure")])
def test_a_single_level_that_ran_once_makes_an_answer_fairly_sure(claims: list[dict[str, Any]], word: str) -> None:
    summary = study(13)
    point = summary["configurations"][0]["points"][0]
    point["verdicts"][1:] = ["invalid", "invalid"]
    found = concluded(*claims, summary=summary) if claims else conclude(summary)
    assert found.certainty == word
    assert found.sure[-1] == "Each level has 1 to 3 runs; brackets are 95 % intervals."


def test_a_missed_objective_of_a_suspect_run_is_fairly_sure() -> None:
    missed = {"text": "p95 < 100 ms", "met": False, "certain": True, "suspect_runs": ["default0"], "configuration": {}}
    found = concluded(GOOD, summary=study(14, 1, objectives=[missed]))
    assert found.found[0].endswith(", from a suspect run.")
    assert found.certainty == "fairly sure"
    assert found.sure[1] == "Claims rest on valid runs only, but another statement includes a suspect run."


def test_claims_that_could_not_be_judged_are_no_sure_answer() -> None:
    assert conclude(study(15), {}).certainty == "not sure"


def test_valid_runs_without_an_answer_are_not_forbidden() -> None:
    assert concluded(OPEN).sure == ("All 15 runs are valid, but they give no answer.",)
    nothing = study(15, configurations=0)
    found = conclude(nothing)
    assert found.found[0].startswith("No run of this study supports a result")
    assert found.certainty == "no answer"


def test_a_relaxed_limit_makes_an_answer_fairly_sure_and_is_named() -> None:
    summary = study(15)
    summary["verdict"] |= RELAXED
    found = concluded(GOOD, summary=summary)
    assert found.certainty == "fairly sure"
    assert found.sure[-1] == "Relaxed limits: interference up to 100 % allowed (default 10 %)."


@pytest.mark.parametrize(
    ("claims", "counts", "said"),
    [
        ([GOOD], (15,), ("All 15 runs are valid.",)),
        ([GOOD, OTHER], (14, 1), ("14 of 15 runs are valid, 1 suspect.", "The answer rests on valid runs only.")),
        (
            [GOOD, LEANING],
            (31, 1),
            (
                "31 of 32 runs are valid, 1 suspect.",
                "1 of 2 claims (marked †) rests on a suspect run of `settings = all`: its number is provisional.",
            ),
        ),
        (
            [LEANING],
            (14, 1),
            (
                "14 of 15 runs are valid, 1 suspect.",
                "The claim with an answer rests on a suspect run of `settings = all`: its number is provisional.",
            ),
        ),
        ([ABSENT], (0, 4, 44), ("0 of 48 runs are valid, 4 suspect, 44 invalid: do not use the numbers.",)),
        ([GOOD], (14, 0, 0, 1), ("All 14 runs are valid, 1 of the planned runs is missing.",)),
    ],
)
def test_the_reasons_have_the_share_of_runs_and_its_consequence(
    claims: list[dict[str, Any]], counts: tuple[int, ...], said: tuple[str, ...]
) -> None:
    assert concluded(*claims, summary=study(*counts)).sure[: len(said)] == said


def test_a_study_without_repetitions_says_what_it_does_not_separate() -> None:
    assert conclude(study(5, runs=1)).sure[-1] == (
        "Each level ran once, so that differences between levels may be differences between runs."
    )
    assert concluded(GOOD).sure[-1] == "Each level has 3 runs; brackets are 95 % intervals."
    assert concluded(ASSUMED, summary=study(5, runs=1)).sure[-1] == (
        "Each level ran once: the intervals assume that runs differ by 10 % (standard deviation)."
    )


def test_doubts_that_make_runs_suspect_are_named() -> None:
    summary = study(8, 7)
    summary["verdict"]["reasons"] = [
        {"kind": "too_few_samples", "level": "suspect", "runs": ["r1", "r2"]},
        {"kind": "start_lag", "level": "suspect", "runs": ["r1"]},
        {"kind": "machine_speed", "level": "note", "runs": ["r1", "r2", "r3"]},
    ]
    assert concluded(GOOD, summary=summary).sure[0] == (
        "8 of 15 runs are valid, 7 suspect (mostly too few samples: few independent values)."
    )


def test_a_meaning_of_a_doubt_is_given_once() -> None:
    summary = study(0, 4, 44)
    summary["verdict"]["reasons"] = [
        {"kind": "start_lag", "level": level, "runs": ["r1"]} for level in ("suspect", "invalid")
    ]
    assert concluded(ABSENT, summary=summary).sure == (
        "0 of 48 runs are valid, 4 suspect (start lag: requests left later than planned), 44 invalid (start lag): do "
        "not use the numbers.",
    )


def test_brackets_are_explained_only_if_a_statement_has_some() -> None:
    bare = {"value": 1.28, "low": None, "high": None}
    assert concluded({**GOOD, "measured": bare}).sure[-1] == "Each level has 3 runs."
    summary = study(15, configurations=1)
    assert conclude(summary).sure[-1] == "Each level has 3 runs; brackets are 95 % intervals."
    summary["configurations"][0]["points"][0]["throughput_per_s"] = bare
    summary["configurations"][0]["points"][0]["response_time_s"] = {"mean": bare, "p95": bare}
    assert conclude(summary).sure[-1] == "Each level has 3 runs."

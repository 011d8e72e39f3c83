"""Sentences of a report state the numbers of the load level that they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from towtank.analysis.conclusion import conclude
from towtank.analysis.doubts import (
    NOTHING_RECORDED,
    Doubt,
    DoubtKind,
    DoubtLevel,
    percent_text,
    seconds,
    signed_percent,
)
from towtank.analysis.narrative import Sentence, _comparisons, _failed, _limits, _quality, _response, interval
from towtank.analysis.statistics.estimates import estimate_from_document
from towtank.analysis.study_summary import Configuration, StudySummary, StudyVerdict
from towtank.estimates import few_digits, relative_error

Json = dict[str, Any]


def estimate(value: float | None) -> dict[str, Any]:
    return {"value": value, "low": None, "high": None, "method": "runs", "n": 1}


def point(load: float, mean: float | None, p95: float | None, verdict: str = "valid") -> dict[str, Any]:
    return {
        "users": load,
        "load": load,
        "stage": None,
        "verdicts": [verdict],
        "throughput_per_s": estimate(load),
        "response_time_s": {"mean": estimate(mean), "p95": estimate(p95)},
    }


def configuration(points: Sequence[Json], limit: Json | None = None) -> Configuration:
    return Configuration.model_validate({"points": list(points), "limit": limit})


def sentences(*points: dict[str, Any]) -> list[Sentence]:
    return list(_response(configuration(points)))


def test_the_response_time_goes_from_the_lowest_to_the_highest_valid_level() -> None:
    points = [point(10, 0.1, 0.2), point(20, 0.2, 0.4), point(30, 0.5, 0.8), point(40, 9.0, 9.0, "invalid")]
    (sentence,) = sentences(*points)
    assert sentence.numbers == {"first_s": 0.1, "last_s": 0.5, "ratio": pytest.approx(5.0)}
    assert sentence.text == (
        "The mean response time changes from 100 ms at 10 users to 500 ms at 30 users, 5 times as long; "
        "p95 is 800 ms there."
    )


def test_one_level_or_none_with_a_time_says_nothing() -> None:
    assert sentences(point(10, 0.1, 0.2)) == []
    assert sentences(point(10, None, 0.2), point(20, 0.2, 0.4)) == []


def test_an_unknown_p95_is_left_out() -> None:
    (sentence,) = sentences(point(10, 0.1, 0.2), point(20, 0.2, None))
    assert sentence.text.endswith("to 200 ms at 20 users, 2 times as long.")


def test_the_load_at_which_most_transactions_fail_is_named_with_its_effect_on_response_times() -> None:
    points = [point(10, 0.1, 0.2), point(20, 0.2, 0.4), point(30, 0.1, 0.3), point(40, 0.1, 0.3, "invalid")]
    for level, share in zip(points, (0.0, 0.031, 0.02, 0.9), strict=True):
        level["errors_share"] = share
    (sentence,) = _failed(configuration(points))
    assert sentence.text.startswith(
        "At 20 users 3.1 % of the transactions fail, the largest share of all valid loads. "
    )
    assert sentence.numbers == {"errors_share": 0.031}


def test_without_a_failure_nothing_is_said_of_any() -> None:
    level = {**point(10, 0.1, 0.2), "errors_share": 0.0}
    assert list(_failed(configuration([level]))) == []


def test_sentences_on_a_suspect_level_name_its_run() -> None:
    points = [point(10, 0.1, 0.2), {**point(30, 0.5, 0.8, "suspect"), "runs": ["r003"]}]
    (sentence,) = sentences(*points)
    assert sentence.text.endswith("p95 is 800 ms there. This leans on a suspect run: r003.")


@pytest.mark.parametrize(
    ("kind", "reached", "evidence", "text"),
    [
        ("none", False, "not found: every arrival was served", "The limit was not found: every arrival was served."),
        ("undecided", None, "not decided: no run above 80 users", "The limit is not decided: no run above 80 users."),
        ("undecided", None, "nearly reached: content at 95 %", "The limit is nearly reached: content at 95 %."),
        ("undecided", None, "no valid run", "The limit is not decided: no valid run."),
        ("errors", True, "at 90 users too many fail", "The limit is reached: at 90 users too many fail."),
    ],
)
def test_the_evidence_of_a_limit_is_a_sentence(kind: str, reached: bool | None, evidence: str, text: str) -> None:
    limit = {"kind": kind, "reached": reached, "resource": None, "evidence": evidence, "knee_users": estimate(None)}
    (sentence,) = _limits(configuration([], limit))
    assert sentence.text == text


def test_one_level_gives_a_knee_by_its_demands_and_no_curve() -> None:
    limit = {"kind": "undecided", "reached": None, "resource": None, "evidence": "not found: one load level only"}
    limit |= {"knee_users": estimate(417.0), "leaves_ideal_at": None}
    points = [point(300, 0.01, 0.05), point(90, 0.01, 0.05, "invalid")]
    _, knee = _limits(configuration(points, limit))
    assert knee.text == "The demands at the lowest load put the knee (D + Z) / D_max at 417 users."
    _, knee = _limits(configuration([*points, point(600, 0.01, 0.05)], limit))
    assert knee.text.endswith("417 users; the measured curve does not leave the line of ideal scaling.")


@pytest.mark.parametrize(("runs", "text"), [(1, "1 run: 1 valid, 0 suspect and 0 invalid."), (3, "3 runs: 3 valid, ")])
def test_runs_are_counted_in_words_that_fit_one(runs: int, text: str) -> None:
    verdict = {"valid_runs": runs, "suspect_runs": 0, "invalid_runs": 0, "missing_runs": 0}
    sentence = _quality(StudyVerdict.model_validate(verdict))
    assert sentence.text.startswith(text)


def test_no_message_has_a_power_of_ten_or_a_dash_for_a_minus() -> None:
    assert seconds(0.0009997) == "1,000 µs"
    assert percent_text(10.4) == "1,040 %"
    assert signed_percent(-0.408) == "−40.8 %"
    assert signed_percent(0.12) == "+12 %"
    assert interval(estimate_from_document(estimate(1040.0))) == "1,040"


def test_no_number_of_a_text_has_a_power_of_ten() -> None:
    assert relative_error(31.3, None) == "+3,100 %"
    assert relative_error(-0.0109, None) == "-1.1 %"
    assert percent_text(31.3) == "3,130 %"
    assert few_digits(12345.6, 4) == "12,350"


@pytest.mark.parametrize("died", [True, False])
def test_a_run_in_which_nothing_came_up_is_told_why_and_not_to_take_longer(died: bool) -> None:
    nothing = Doubt(DoubtKind.NO_STEADY_STATE, DoubtLevel.INVALID, "nothing was recorded", special=NOTHING_RECORDED)
    ended = Doubt(DoubtKind.SERVICE_DIED, DoubtLevel.INVALID, "app-population ended with status 3")
    reasons = [{**doubt.document(), "runs": ["r001"]} for doubt in ([nothing, ended] if died else [nothing])]
    configuration = {"key": "", "label": "all runs", "points": [{**point(2, None, None, "invalid"), "runs": ["r001"]}]}
    text = conclude({"configurations": [configuration], "verdict": {"reasons": reasons}}).headline
    why = "app-population ended with status 3" if died else "nothing was recorded"
    step = "check the last lines of its log" if died else "find the cause of the early end"
    assert text.startswith(f"No run of this study supports a result, because {why}. Do: {step}")
    assert "lengthen" not in text


def test_of_changes_of_the_cpu_demand_only_those_beyond_chance_have_a_sentence() -> None:
    about = {"factor": "cache", "from": "small", "to": "large", "users": 10, "load": 10}
    ratio = {"value": 1.5, "low": 1.2, "high": 1.9, "method": "runs", "n": 3}
    changes = [
        {**about, "metric": "cpu_demand_s of web", "tier": "web", "ratio": ratio, "differs": True},
        {**about, "metric": "cpu_demand_s of data", "tier": "data", "ratio": {**ratio, "low": 0.9}, "differs": False},
        {**about, "metric": "throughput_per_s", "ratio": {**ratio, "low": 0.9}, "differs": False},
    ]
    found = list(_comparisons(StudySummary.model_validate({"comparisons": changes})))
    assert [sentence.numbers["metric"] for sentence in found] == ["cpu_demand_s of web", "throughput_per_s"]

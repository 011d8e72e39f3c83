"""The conclusion of a study: statements by weight, parts without an answer, support by the runs, and next steps."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.analysis.claims.judging import OTHER_STUDY
from towtank.analysis.claims.next_steps import CONTAINS
from towtank.analysis.claims.places import OTHER_PRESET
from towtank.analysis.conclusion import conclude, headline_of
from towtank.analysis.conclusion.judged_claims import read_claims
from towtank.analysis.conclusion.quantity_words import quantity_words


def estimate(value: float, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "method": "runs", "n": 3, "confidence": 0.95}


def claim(says: str, verdict: str, **more: Any) -> dict[str, Any]:
    """Return a judged claim about the ratio of two throughputs, 1.28 (1.16 to 1.41)."""
    given = {"of": "throughput", "at": {"settings": "all"}, "to": {"settings": "default"}}
    known: dict[str, Any] = {"holds": "> 1.1", "measure": {"ratio": given}, "measured": estimate(1.28, 1.16, 1.41)}
    return {"says": says, "verdict": verdict, "unit": "", "found": None, "suspect_runs": [], **known, **more}


def configuration(level: str, throughput: float, runs: int = 3, verdict: str = "valid") -> dict[str, Any]:
    """Return a configuration with one load level, at which no limit was reached."""
    point = {
        "users": 150,
        "load": 150,
        "stage": None,
        "runs": [f"{level}{number}" for number in range(runs)],
        "verdicts": [verdict] * runs,
        "throughput_per_s": estimate(throughput, throughput - 1, throughput + 1),
        "response_time_s": {"mean": estimate(0.1, 0.09, 0.11), "p95": estimate(0.2)},
    }
    limit = {"kind": "undecided", "reached": None, "resource": None}
    return {"key": {"settings": level}, "label": f"settings {level}", "points": [point], "limit": limit}


def study(*counts: int, runs: int = 3, configurations: int = 5, **more: Any) -> dict[str, Any]:
    """Return the summary of a study; `counts` are its valid, suspect and invalid runs."""
    levels = ("default", "threads", "pools", "all", "no_index")[:configurations]
    states = zip(("valid", "suspect", "invalid", "missing"), (*counts, 0, 0, 0), strict=False)
    return {
        "configurations": [configuration(level, 100.0 + place, runs) for place, level in enumerate(levels)],
        "comparisons": [],
        "objectives": [],
        "verdict": {"level": "valid", "reasons": [], **{f"{state}_runs": number for state, number in states}},
        **more,
    }


def concluded(*claims: dict[str, Any], summary: dict[str, Any] | None = None, **more: Any) -> dict[str, list[str]]:
    return conclude(summary or study(15), {"claims": list(claims)}, **more)


def test_claims_are_the_answer_of_many_configurations_and_not_the_highest_throughput() -> None:
    found = concluded(claim("Tuned together, they serve more (1.0 becomes more than 1.3).", "confirmed"))
    assert found["found"] == [
        "Confirmed: Tuned together, they serve more; throughput rises to 128 (116 to 141) % of that with settings "
        "default (No. 1)."
    ]
    assert "highest" not in headline_of(found)


def test_the_most_important_claims_come_first_and_the_others_are_counted() -> None:
    claims = [
        claim("Plain.", "confirmed"),
        claim("Leaning.", "confirmed", suspect_runs=["r1"]),
        claim("Refuted.", "refuted"),
        claim("Consequence.", "confirmed", follows="Do it."),
        claim("Required.", "confirmed", required=True),
    ]
    found = concluded(*claims)["found"]
    assert [said.split(".")[0].split(";")[0] for said in found[:3]] == [
        "Confirmed: Required", "Confirmed: Consequence", "Refuted: Refuted",
    ]  # fmt: skip
    assert found[3:] == ["Further: 2 claims confirmed."]


def test_a_statement_from_suspect_runs_says_so() -> None:
    (said,) = concluded(claim("It serves more.", "confirmed", suspect_runs=["r1"]))["found"]
    assert said.endswith("of that with settings default, from suspect runs (No. 1).")


@pytest.mark.parametrize(
    ("of", "measured", "holds", "words"),
    [
        ("throughput", estimate(0.47, 0.25, 0.89), "< 0.9", "throughput falls to 47 (25 to 89) %"),
        ("mean", estimate(4.0, 3.5, 4.5), "> 3", "mean response time is 4.0 (3.5 to 4.5) times as long"),
        (
            "p95 of search",
            estimate(0.98, 0.89, 1.06),
            "< 1.2",
            "p95 of the response time of search is 98 (89 to 106) %",
        ),
        # The bound `> 2` is written as a factor, so the value is also given as a factor, not in percent.
        ("mean", estimate(1.79, 1.65, 1.94), "> 2", "mean response time is 1.79 (1.65 to 1.94) times as long"),
    ],
)
def test_a_ratio_is_a_change_in_words(of: str, measured: dict[str, Any], holds: str, words: str) -> None:
    (read,) = read_claims({"claims": [claim("x", "confirmed", holds=holds, measured=measured,
                                            measure={"ratio": {"of": of}})]})  # fmt: skip
    assert read.value_words == words


@pytest.mark.parametrize(
    ("given", "measured", "unit", "words"),
    [
        ({"of": "stored.lost"}, estimate(0.0, 0.0, 0.0), "", "lost objects: 0"),
        ({"of": "errors of add"}, estimate(0.85, 0.79, 0.91), "", "failed transactions of add: 85 (79 to 91) %"),
        ({"of": "mean"}, estimate(0.2, 0.08, 0.32), "s", "mean response time: 200 (80 to 320) ms"),
        ({"of": "events.filled.during.throughput_per_s", "per": "throughput"}, estimate(0.9, 0.5, 1.3), "",
         "throughput during filled is 90 (50 to 130) % of that of the whole steady stage"),
        ({"of": "events.node_restarted.during.throughput_per_s", "per": "throughput"},
         estimate(1.08), "",
         "throughput while node was restarted is 108 % of that of the whole steady stage"),
        # Rounded to two digits, the ends of the interval are equal. So the value is rounded to two digits, and the
        # interval is left out.
        ({"of": "events.database_restarted.recovery_s"}, estimate(7.798433, 7.79832, 7.79855), "s",
         "recovery time after database was restarted: 7.8 s"),
    ],
)  # fmt: skip
def test_a_value_has_words_and_a_unit(given: dict[str, Any], measured: dict[str, Any], unit: str, words: str) -> None:
    made = claim("x", "confirmed", holds="> 0", unit=unit, measured=measured, measure={"value": given})
    assert read_claims({"claims": [made]})[0].value_words == words


def test_an_unknown_quantity_keeps_its_name() -> None:
    assert quantity_words("what is this") == "what is this"


def test_a_refuted_claim_states_what_was_expected_in_the_unit_of_the_value() -> None:
    (said,) = concluded(claim("It serves less.", "refuted", holds="between 0.7 and 0.9"))["found"]
    assert said == (
        "Refuted: It serves less; throughput rises to 128 (116 to 141) % of that with settings default, expected "
        "between 70 and 90 % (No. 1)."
    )


def test_a_ratio_has_its_base_and_both_values() -> None:
    sides = [estimate(139.1, 131.0, 147.2), estimate(107.8, 104.7, 110.9)]
    (said,) = concluded(claim("It serves more.", "confirmed", compared=sides))["found"]
    assert said == (
        "Confirmed: It serves more; throughput rises to 128 (116 to 141) % of that with settings default: 139 /s "
        "against 108 /s (No. 1)."
    )
    (long,) = concluded(claim(f"It serves {'much ' * 60}more.", "confirmed", compared=sides))["found"]
    assert "against" not in long
    factor = {"of": "mean", "at": {"users": "highest"}, "to": {"users": "lowest"}}
    times = claim("It waits.", "confirmed", holds="> 3", measured=estimate(4.0, 3.5, 4.5), measure={"ratio": factor})
    assert read_claims({"claims": [times]})[0].value_words == (
        "mean response time is 4.0 (3.5 to 4.5) times as long as with the lowest users"
    )


def test_the_highest_and_the_lowest_level_have_their_values_and_those_of_the_next() -> None:
    levels = [
        {"level": level, "measured": estimate(value, value - 10, value + 10)}
        for level, value in (("bridge", 3690.0), ("tun", 210.0), ("no_offloads", 840.0))
    ]
    lowest = {"lowest": {"of": "throughput", "over": "link"}}
    made = claim("A relay is slow.", "confirmed", measure=lowest, measured=None, found="tun", levels=levels, unit="/s")
    assert read_claims({"claims": [made]})[0].value_words == (
        "link tun has the lowest throughput: 210 (200 to 220) /s; no offloads has 840 (830 to 850) /s"
    )


def test_refuted_claims_stand_in_words_before_the_number_of_others() -> None:
    refuted = [claim(f"Refuted {number}.", "refuted") for number in range(7)]
    confirmed = [claim(f"Confirmed {number}.", "confirmed", follows="Do it.") for number in range(4)]
    assert concluded(*refuted, *confirmed)["found"][3:] == [
        "Refuted: 7 claims do not hold here: Refuted 0 (No. 1); Refuted 1 (No. 2); Refuted 2 (No. 3); "
        "Refuted 3 (No. 4); Refuted 4 (No. 5); 2 more (No. 6 and 7).",
        "Further: 1 claim confirmed.",
    ]
    assert concluded(refuted[0], *confirmed)["found"][3].startswith("Refuted: Refuted 0; throughput rises to 128")


@pytest.mark.parametrize(
    ("question", "is_first"), [("How does it fail?", False), ("How much throughput has each?", True)]
)
def test_the_highest_throughput_is_stated_only_if_the_question_asks_for_it(question: str, is_first: bool) -> None:
    diagnosis = {"cause": "cpu", "place": {"tier": "app", "host": None, "transaction": None, "part": None}, "sure": 0.9}
    summary = study(6, configurations=2, question=question)
    for each in summary["configurations"]:
        each["diagnosis"] = diagnosis
    found = concluded(claim("It serves more.", "confirmed"), summary=summary)["found"]
    assert found[0].startswith("Highest throughput") == is_first


def test_parts_without_an_answer_have_their_reason() -> None:
    undecided = claim("It serves more.", "undecided", why="the interval contains the bound")
    unmeasured = {"measure": None, "measured": None, "holds": ""}
    absent = [claim(f"A JVM, {name}.", "not_testable", why="no node runs on a JVM", **unmeasured) for name in "abc"]
    assert concluded(undecided, *absent)["open"] == [
        "It serves more (throughput rises to 128 (116 to 141) % of that with settings default, expected > 110 %): "
        "the interval contains the bound (No. 1).",
        "3 claims (No. 2, 3 and 4), such as “A JVM, a”: no node runs on a JVM.",
    ]


def test_configurations_that_reach_their_limit_are_an_answer_of_their_own() -> None:
    diagnosis = {"cause": "cpu", "place": {"tier": "app", "host": None, "transaction": None, "part": None}, "sure": 0.9}
    summary = study(6, configurations=2, question="How much does each carry?")
    for each in summary["configurations"]:
        each["diagnosis"] = diagnosis
    found = concluded(claim("It serves more.", "confirmed"), summary=summary)
    assert found["found"][0] == (
        "Highest throughput with settings default: 100.0 (99.0 to 101.0) /s at 150 users; settings threads: "
        "101.0 (100.0 to 102.0) /s at 150 users; both limited by the CPU of app."
    )
    assert found["do"] == ["To gain throughput, start with the CPU of app."]


@pytest.mark.parametrize(
    ("counts", "suspects", "said"),
    [
        ((15,), [], ["All 15 runs are valid."]),
        ((14, 1), [], ["14 of 15 runs are valid, 1 suspect.", "No claim rests on suspect or invalid runs."]),
        (
            (31, 1),
            ["r1"],
            [
                "31 of 32 runs are valid, 1 suspect.",
                "Claim No. 2 rests on suspect runs.",
            ],
        ),
        ((0, 4, 44), [], ["0 of 48 runs are valid, 4 suspect, 44 invalid."]),
    ],
)
def test_the_certainty_has_the_share_of_runs_and_its_consequence(
    counts: tuple[int, ...], suspects: list[str], said: list[str]
) -> None:
    claims = [claim("A.", "confirmed"), claim("B.", "confirmed", suspect_runs=suspects)]
    found = concluded(*claims, summary=study(*counts))["sure"]
    assert found[: len(said)] == said


def test_a_study_without_repetitions_says_what_it_does_not_separate() -> None:
    found = conclude(study(5, runs=1), None, 30.0)
    assert found["sure"][-1] == (
        "Nothing was repeated: with one run a level, differences between levels are not separated from run-to-run "
        "variation."
    )
    assert found["measure"][0] == (
        "`towtank run FOLDER --more 2` (about 1 min) separates differences between levels from run-to-run variation."
    )
    assert concluded(claim("A.", "confirmed"))["sure"][-1] == (
        "Each level has 3 runs; numbers in brackets are 95 % intervals."
    )
    assumed = claim("A.", "confirmed", assumed_run_to_run=0.1)
    assert concluded(assumed, summary=study(5, runs=1))["sure"][-1].endswith(
        "variation; intervals assume a standard deviation of 10 % between runs."
    )


def test_doubts_that_make_runs_suspect_are_named() -> None:
    summary = study(8, 7)
    summary["verdict"]["reasons"] = [
        {"kind": "too_few_samples", "level": "suspect", "runs": ["r1", "r2"]},
        {"kind": "start_lag", "level": "suspect", "runs": ["r1"]},
        {"kind": "machine_speed", "level": "note", "runs": ["r1", "r2", "r3"]},
    ]
    said = concluded(claim("A.", "confirmed"), summary=summary)["sure"][0]
    assert said == "8 of 15 runs are valid, 7 suspect (mostly too few samples)."


def test_a_claim_whose_interval_contains_its_limit_is_too_close_to_call() -> None:
    ratio = estimate(1.3, 0.9, 1.8)
    close = claim("It takes longer.", "undecided", why=CONTAINS, holds="> 1.5", measured=ratio)
    assert concluded(close)["open"] == [
        "It takes longer: too close to call; throughput is 130 (90 to 180) % of that with settings default, and the "
        "interval contains the limit 150 % (No. 1)."
    ]


def test_claims_that_need_another_system_are_counted_only() -> None:
    absent = [claim(f"A JVM, {name}.", "not_testable", why="none", do=OTHER_STUDY, measured=None) for name in "ab"]
    assert concluded(*absent)["open"] == ["2 claims need other systems."]
    assert concluded(absent[0])["open"] == ["1 claim needs another system."]


def test_a_step_from_suspect_runs_says_so() -> None:
    leaning = claim("A.", "confirmed", follows="Keep the index.", suspect_runs=["r1"])
    assert concluded(leaning)["do"] == ["Keep the index (No. 1, from suspect runs)."]


def test_consequences_come_first_among_the_steps_and_name_their_claims() -> None:
    claims = [claim("A.", "confirmed", follows="Keep the index."), claim("B.", "confirmed", follows="Keep the index.")]
    assert concluded(*claims)["do"] == ["Keep the index (No. 1 and 2)."]


def test_runs_that_would_decide_have_their_command_and_duration() -> None:
    undecided = claim("A.", "undecided", why="the interval contains the bound", needs_runs=16)
    assert concluded(undecided, block_s=120.0)["measure"] == [
        "`towtank run FOLDER --more 13` (about 26 min) would probably decide No. 1."
    ]


def test_levels_of_another_preset_are_a_step() -> None:
    absent = claim("A.", "not_testable", why="users 12 is not in this preset", measured=None, do=OTHER_PRESET)
    assert concluded(absent)["measure"] == ["Run a preset that contains users 12 (`--preset`): it tests No. 1."]
    command = {"study": "studies/arms/study.yaml", "preset": "quick"}
    assert concluded(absent, command=command)["measure"] == [
        "`towtank run studies/arms/study.yaml` (no preset, so that it contains users 12) tests No. 1."
    ]


@pytest.mark.parametrize(("suspects", "steps"), [(["r1"], 1), ([], 0)])
def test_a_remedy_of_doubts_is_a_step_if_an_answer_needs_it(suspects: list[str], steps: int) -> None:
    summary = study(14, 1)
    reason = {"kind": "start_lag", "level": "suspect", "runs": ["r1"], "hint": "lower the load; or give it threads"}
    summary["verdict"]["reasons"] = [reason]
    found = concluded(claim("A.", "confirmed", suspect_runs=suspects), summary=summary)["measure"]
    assert found == ["Lower the load (start lag: 1 suspect run)."][:steps]


def test_the_remedy_of_invalid_runs_is_first_if_they_are_most() -> None:
    summary = study(0, 4, 44)
    reason = {"kind": "start_lag", "level": "invalid", "runs": ["r1", "r2"], "hint": "lower the load."}
    summary["verdict"]["reasons"] = [reason]
    absent = claim("A.", "not_testable", why="every run is invalid", measured=None)
    command = {"study": "studies/lag/study.yaml", "preset": "quick"}
    found = concluded(absent, summary=summary, block_s=120.0, command=command)
    assert found["found"] == ["The claim has no answer: 44 of 48 runs are invalid."]
    assert found["do"] == []
    assert found["measure"] == [
        "Lower the load (start lag: 2 invalid runs), then `towtank run studies/lag/study.yaml --preset quick` "
        "(about 6 min)."
    ]


def test_a_missed_objective_is_stated_and_bounds_the_load() -> None:
    objective = {"text": "stored.lost <= 0", "met": False, "holds_up_to": 90, "configuration": {}, "label": ""}
    found = concluded(claim("A.", "confirmed"), summary=study(15, objectives=[objective]))
    assert found["found"][0] == "Objective missed: lost objects ≤ 0, met up to a load of 90."
    assert found["do"][0] == "Keep the load at or below 90, the highest that meets lost objects ≤ 0."

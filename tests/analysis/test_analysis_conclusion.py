"""The conclusion of a study: statements by weight, parts without an answer, and next steps."""

from __future__ import annotations

from typing import Any

import pytest
from judged_studies import claim, concluded, configuration, estimate, study

from towtank.analysis.claims.judging import OTHER_STUDY
from towtank.analysis.claims.next_steps import CONTAINS
from towtank.analysis.claims.places import INVALID, OTHER_PRESET
from towtank.analysis.conclusion import conclude
from towtank.conclusion_words import Conclusion, configuration_name, level_name, marked, plain


def test_claims_are_the_answer_of_many_configurations_and_not_the_highest_throughput() -> None:
    found = concluded(claim("Tuned together, they serve more (1.0 becomes more than 1.3).", "confirmed"))
    assert found.found == (
        "Tuned together, they serve more: throughput 28 (16 to 41) % higher than with `settings = default` (No. 1).",
    )
    assert "highest" not in found.headline


def test_the_most_important_claims_come_first_and_the_others_are_numbered() -> None:
    claims = [
        claim("Plain.", "confirmed", holds="> 1.01"),
        claim("Leaning.", "confirmed", holds="> 1.02", suspect_runs=["r1"]),
        claim("Refuted.", "refuted", holds="> 2.5"),
        claim("Consequence.", "confirmed", holds="> 1.03", follows="Do it."),
        claim("Required.", "confirmed", holds="> 1.04", required=True),
    ]
    found = concluded(*claims).found
    assert [said.split(":")[0] for said in found[:2]] == ["Required", "Consequence"]
    assert found[2].startswith("Refuted: “Refuted”: measured throughput 1.28")
    assert found[3:] == ("Also: No. 1 and 2 † are confirmed (see the table “Expected and found”).",)


def test_a_refuted_claim_is_always_stated() -> None:
    claims = [claim(f"So {number}.", "confirmed", holds=f"> 1.0{number}", follows="Do it.") for number in range(1, 5)]
    refuted = [claim(f"Not {number}.", "refuted", holds=f"> 2.{number}") for number in range(1, 6)]
    found = concluded(*claims, *refuted).found
    assert [said.split(":")[0] for said in found] == ["So 1", "So 2", "Refuted", "Also"]
    assert found[3].startswith("Also: No. 3 and 4 are confirmed and No. 6 to 9 are refuted (see the table ")


def test_objectives_that_are_met_are_part_of_the_answer() -> None:
    objectives = [{"text": "p95 < 1 s", "met": True}] * 3
    found = concluded(claim("It serves more.", "confirmed"), summary=study(15, objectives=objectives)).found
    assert found[1:] == ("Also: all 3 objectives are met.",)


def test_claims_that_differ_in_one_level_share_a_statement() -> None:
    def of(failure: str, **more: Any) -> dict[str, Any]:
        measure = {"value": {"of": "stored.lost", "at": {"failure": failure}}}
        return claim(f"Nothing is lost when the {failure} fails.", "confirmed", holds="<= 0", measure=measure,
                     measured=estimate(0.0, 0.0, 0.0), **more)  # fmt: skip

    (said,) = concluded(of("node"), of("database"), of("disk", suspect_runs=["r1"])).found
    assert said == (
        "Nothing is lost when the node fails: 0 lost objects; likewise with `failure = database` and `disk` (No. 1, "
        "2 and 3 †)."
    )
    times = [
        claim("It waits.", "confirmed", holds="> 3", measured=estimate(value, value - 1, value + 1),
              measure={"ratio": {"of": "mean", "at": {"disk": disk}, "to": {"users": "1"}}})
        for disk, value in (("old", 4.0), ("new", 8.0))
    ]  # fmt: skip
    (said,) = concluded(*times).found
    assert said == (
        "It waits: mean response time 4.0 (3.0 to 5.0) times as long; likewise 8.0 (7.0 to 9.0) times with `disk = "
        "new` (No. 1 and 2)."
    )


@pytest.mark.parametrize(
    ("question", "is_first"), [("How does it fail?", False), ("How much throughput has each?", True)]
)
def test_the_highest_throughput_is_stated_only_if_the_question_asks_for_it(question: str, is_first: bool) -> None:
    diagnosis = {"cause": "cpu", "place": {"tier": "app", "host": None, "transaction": None, "part": None}, "sure": 0.9}
    summary = study(6, configurations=2, question=question)
    for each in summary["configurations"]:
        each["diagnosis"] = diagnosis
    found = concluded(claim("It serves more.", "confirmed"), summary=summary).found
    assert found[0].startswith("Highest throughput") == is_first


def test_parts_without_an_answer_have_their_reason() -> None:
    undecided = claim("It serves more.", "undecided", why="the interval contains the bound")
    unmeasured = {"measure": None, "measured": None, "holds": ""}
    absent = [claim(f"A JVM, {name}.", "not_testable", why="no node runs on a JVM", **unmeasured) for name in "abc"]
    assert concluded(undecided, *absent).open == (
        "“It serves more” (measured throughput 128 (116 to 141) % of that with `settings = default`, expected > "
        "110 %): the interval contains the bound (No. 1).",
        "3 claims (No. 2 to 4), such as “A JVM, a”: no node runs on a JVM.",
    )


def test_configurations_that_reach_their_limit_are_an_answer_of_their_own() -> None:
    diagnosis = {"cause": "cpu", "place": {"tier": "app", "host": None, "transaction": None, "part": None}, "sure": 0.9}
    summary = study(6, configurations=2, question="How much does each carry?")
    for each in summary["configurations"]:
        each["diagnosis"] = diagnosis
    found = concluded(claim("It serves more.", "confirmed"), summary=summary)
    assert found.found[0] == (
        "Highest throughput at 150 users: 100.0 (99.0 to 101.0) /s with `settings = default`; 101.0 (100.0 to 102.0) "
        "/s with `settings = threads`; both limited by the CPU of app."
    )
    assert found.do == ("To gain throughput, start with the CPU of app.",)
    summary["configurations"][0] = {**configuration("default", 100.0, load=90), "diagnosis": diagnosis}
    assert concluded(claim("It serves more.", "confirmed"), summary=summary).found[0] == (
        "Highest throughput: 100.0 (99.0 to 101.0) /s with `settings = default` at 90 users; 101.0 (100.0 to 102.0) /s "
        "with `settings = threads` at 150 users; both limited by the CPU of app."
    )


def test_a_claim_whose_interval_contains_its_limit_is_too_close_to_call() -> None:
    ratio = estimate(1.3, 0.9, 1.8)
    close = claim("It takes longer.", "undecided", why=CONTAINS, holds="> 1.5", measured=ratio)
    assert concluded(close).open == (
        "“It takes longer”: too close to call, measured throughput 130 (90 to 180) % of that with `settings = "
        "default`, expected > 150 % (No. 1).",
    )


def test_claims_that_need_another_system_have_the_reason_of_the_first() -> None:
    why = "no node runs on a JVM"
    absent = [claim(f"A JVM, {name}.", "not_testable", why=why, do=OTHER_STUDY, measured=None) for name in "ab"]
    assert concluded(*absent).open == (
        "2 claims (No. 1 and 2) need other systems than the measured one; for example, no node runs on a JVM.",
    )
    assert concluded(absent[0]).open == ("No. 1 needs another system than the measured one: no node runs on a JVM.",)


def test_a_step_from_suspect_runs_says_so() -> None:
    leaning = claim("A.", "confirmed", follows="Keep the index.", suspect_runs=["r1"])
    assert concluded(leaning).do == ("Keep the index (No. 1 †).",)


def test_consequences_come_first_among_the_steps_and_name_their_claims() -> None:
    claims = [claim("A.", "confirmed", follows="Keep the index."), claim("B.", "confirmed", follows="Keep the index.")]
    assert concluded(*claims).do == ("Keep the index (No. 1 and 2).",)


def test_runs_that_would_decide_have_their_command_and_duration() -> None:
    undecided = claim("A.", "undecided", why="the interval contains the bound", needs_runs=16)
    assert concluded(undecided, block_s=120.0).measure == (
        "`towtank run FOLDER --more 13` (about 26 min) would probably decide No. 1.",
    )


def test_a_study_without_repetitions_is_repeated() -> None:
    assert conclude(study(5, runs=1), None, 30.0).measure[0] == (
        "`towtank run FOLDER --more 2` (about 60 s) repeats each level, so that differences between levels stand out "
        "from those between runs."
    )


def test_levels_of_another_preset_are_a_step() -> None:
    absent = claim("A.", "not_testable", why="users 12 is not in this preset", measured=None, do=OTHER_PRESET)
    assert concluded(absent).measure == ("Run a preset that contains `users = 12` (`--preset`): it tests No. 1.",)
    command = {"study": "studies/arms/study.yaml", "preset": "quick"}
    assert concluded(absent, command=command).measure == (
        "`towtank run studies/arms/study.yaml` (no preset, so that it contains `users = 12`) tests No. 1.",
    )


COMMAND = {"study": "studies/lag/study.yaml", "preset": "quick", "steady_s": 14.0}


@pytest.mark.parametrize(
    ("kind", "command", "step"),
    [
        ("generator_saturated", None, "Lower the load (generator saturated: 1 suspect run)."),
        (
            "generator_saturated",
            COMMAND,
            "Lower the load (generator saturated: 1 suspect run), then `towtank run studies/lag/study.yaml --preset "
            "quick` (about 6 min).",
        ),
        # A doubt about few of the runs may be absent in others.
        (
            "start_lag",
            None,
            "`towtank run FOLDER --more 1` (about 2 min) adds runs in place of those with a doubt (start lag: 1 "
            "suspect run).",
        ),
        (
            "not_attributed",
            COMMAND,
            "`towtank run FOLDER --more 1` (about 2 min) adds runs in place of those with a doubt (not attributed: 1 "
            "suspect run).",
        ),
        # 3 runs of 5 configurations, each 14 s longer.
        (
            "too_few_samples",
            COMMAND,
            "`towtank run studies/lag/study.yaml --preset quick --set 'load.stages.steady=28 s'` (about 9.5 min) "
            "doubles the steady stage (too few samples: 1 suspect run).",
        ),
    ],
)
def test_a_doubt_on_which_an_answer_depends_has_a_step_with_a_command(
    kind: str, command: dict[str, Any] | None, step: str
) -> None:
    summary = study(14, 1)
    reason = {"kind": kind, "level": "suspect", "runs": ["r1"], "hint": "lower the load; or give it threads"}
    summary["verdict"]["reasons"] = [reason]
    leaning = claim("A.", "confirmed", suspect_runs=["r1"])
    assert concluded(leaning, summary=summary, block_s=120.0, command=command).measure == (step,)
    assert concluded(claim("A.", "confirmed"), summary=summary).measure == (
        "Nothing more to measure: every claim has an answer.",
    )
    assert concluded(claim("A.", "confirmed", follows="Do it."), summary=summary).measure == ()


def test_a_start_lag_of_half_of_the_runs_has_another_remedy_than_more_runs() -> None:
    leaning = claim("A.", "confirmed", suspect_runs=["r1"])
    for number, begin in ((2, "`towtank run FOLDER --more 1`"), (3, "Lower the load (start lag: 3 suspect runs)")):
        summary = study(6 - number, number)
        names = [f"r{each}" for each in range(number)]
        summary["verdict"]["reasons"] = [
            {"kind": "start_lag", "level": "suspect", "runs": names, "hint": "lower the load; or not"}
        ]
        assert concluded(leaning, summary=summary).measure[0].startswith(begin)


def test_repeating_each_level_also_replaces_a_run_with_a_passing_doubt() -> None:
    summary = study(5, 1, runs=1)
    summary["verdict"]["reasons"] = [
        {"kind": "start_lag", "level": "suspect", "runs": ["r1"], "hint": "lower the load"}
    ]
    found = concluded(claim("A.", "confirmed", suspect_runs=["r1"]), summary=summary)
    assert [step.split(" (")[0].split(" repeats")[0] for step in found.measure] == ["`towtank run FOLDER --more 2`"]


def test_the_load_of_objectives_that_are_met_is_named() -> None:
    def further(*objectives: dict[str, Any]) -> str:
        return concluded(claim("A.", "confirmed"), summary=study(15, objectives=list(objectives))).found[-1]

    low, other = ({"text": f"p95 < 1 s at {users} users", "met": True, "users": users} for users in (95, 150))
    assert further(low) == "Also: the objective, set for 95 users only, is met."
    assert further(low, low) == "Also: both objectives, set for 95 users only, are met."
    assert further(low, other) == "Also: both objectives are met."
    assert further(low, {**low, "met": False}).startswith("Also: 1 of 2 objectives, set for 95 users only, is met.")
    assert further({"text": "p95 < 1 s", "met": True}) == "Also: the objective is met."
    assert further({"text": "p95 < 1 s at 5 /s", "met": True, "rate": 5}).startswith(
        "Also: the objective, set for 5 /s"
    )


def test_names_with_backquotes_and_hostile_sentences_stay_readable() -> None:
    assert level_name("a", "b`c") == "`a = b'c`"
    assert configuration_name({}, "all runs") == "all runs"
    assert marked("An ` alone.") == [("An ` alone.", False)]
    assert plain("Use `a = b` and `c`.") == "Use a = b and c."
    found = concluded(claim("A.", "confirmed"))
    assert "`" in found.found[0]
    assert "`" not in found.headline


def test_the_remedy_of_invalid_runs_is_first_if_they_are_most() -> None:
    summary = study(0, 4, 44)
    reason = {"kind": "start_lag", "level": "invalid", "runs": ["r1", "r2"], "hint": "lower the load."}
    summary["verdict"]["reasons"] = [reason]
    absent = claim("A.", "not_testable", why="every run is invalid", do=INVALID, measured=None)
    found = concluded(absent, summary=summary, block_s=120.0, command=COMMAND)
    assert found.found == ("The claim has no answer: 44 of 48 runs are invalid (start lag).",)
    assert (found.open, found.do) == ((), ())
    assert found.measure == (
        "Lower the load (start lag: 2 invalid runs), then `towtank run studies/lag/study.yaml --preset quick` "
        "(about 6 min).",
    )


def test_a_missed_objective_is_stated_and_bounds_the_load() -> None:
    objective = {"text": "stored.lost <= 0", "met": False, "holds_up_to": 90, "configuration": {}, "label": ""}
    found = concluded(claim("A.", "confirmed"), summary=study(15, objectives=[objective]))
    assert found.found[0] == "Objective missed: lost objects ≤ 0, met up to a load of 90."
    assert found.do[0] == "Keep the load at or below 90, the highest that meets lost objects ≤ 0."


def test_a_conclusion_is_read_as_it_was_written_and_older_ones_have_no_certainty() -> None:
    found = concluded(claim("A.", "confirmed", follows="Keep it."), claim("B.", "undecided", why="no interval"))
    assert Conclusion.of({"conclusion": found.document()}) == found
    older = Conclusion.of({"conclusion": {"found": ["A."], "certainty": "certain"}})
    assert (older.found, older.certainty, older.certainty_words) == (("A.",), None, "")
    assert Conclusion.of({}) == Conclusion()


def test_commands_get_the_folder() -> None:
    found = Conclusion(do=("Keep it.",), measure=("`towtank run FOLDER --more 2`.",)).in_folder("'my results'")
    assert found.measure == ("`towtank run 'my results' --more 2`.",)

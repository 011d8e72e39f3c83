from dataclasses import replace
from pathlib import Path

import pytest
from tiny_study import STUDY, write_tiny_study

from towtank.errors import StudyError
from towtank.study import load_study


def study_with(folder: Path, lines: str, *, objectives: str = "objectives: [p95 < 10 s]") -> Path:
    path = write_tiny_study(folder)
    path.write_text(STUDY.replace("objectives: [p95 < 10 s]", f"{objectives}\n{lines}"), "utf-8")
    return path


@pytest.mark.parametrize(
    ("written", "at_most", "budget_s"),
    [
        ("until decided", 10, None),
        ("until decided, at most 4", 4, None),
        ("until decided, at most 4 runs, within 10 min", 4, 600.0),
        ("until decided, within 90 s", 10, 90.0),
        ("{until: decided, at_most: 7, budget: 10 min}", 7, 600.0),
    ],
)
def test_a_rule_has_a_text_and_a_mapping(tmp_path: Path, written: str, at_most: int, budget_s: float | None) -> None:
    rule = load_study(study_with(tmp_path, f"repeat: {written}")).study.repeat
    assert rule is not None
    assert rule.document() == {"until": "decided", "at_most": at_most, "budget_s": budget_s}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("until known", "must be 'until decided[, at most N][, within TIME]', got 'until known' instead"),
        ("until decided, at most 1", "must be at least 2"),
        ("until decided, within 4", "must be a duration"),
        ("{until: decided, at_least: 3}", "at_least"),
    ],
)
def test_a_wrong_rule_is_refused_at_its_place(tmp_path: Path, written: str, message: str) -> None:
    with pytest.raises(StudyError) as refused:
        load_study(study_with(tmp_path, f"repeat: {written}"))
    (fault,) = refused.value.faults
    assert fault.where.startswith("repeat") or fault.where == "at_least"
    assert message in str(fault)


def test_a_rule_without_anything_to_decide_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="must be given with claims or objectives to decide"):
        load_study(study_with(tmp_path, "repeat: until decided", objectives=""))


def test_the_design_has_the_largest_number_of_blocks_and_each_block_has_every_level(tmp_path: Path) -> None:
    study = load_study(study_with(tmp_path, "repeat: until decided, at most 3"))
    runs = study.design()
    assert [run.repetition for run in runs] == [1, 1, 2, 2, 3, 3]
    assert all({run.users for run in runs if run.repetition == block} == {2, 4} for block in (1, 2, 3))
    assert study.describe()["repeat"] == {"until": "decided", "at_most": 3, "budget_s": None}


def test_a_number_of_repetitions_on_the_command_line_replaces_the_rule(tmp_path: Path) -> None:
    study = load_study(study_with(tmp_path, "repeat: until decided"), changes={"repetitions": "2"})
    assert study.study.repeat is None
    assert len(study.design()) == 4


def test_a_study_that_goes_on_keeps_the_runs_it_has(tmp_path: Path) -> None:
    study = load_study(study_with(tmp_path, "repeat: until decided, at most 3"))
    longer = replace(study, at_least=5)
    before, after = ([run.document() for run in version.design()] for version in (study, longer))
    assert after[: len(before)] == before
    assert len(after) == 10
    assert longer.describe()["repeat"]["at_most"] == 5

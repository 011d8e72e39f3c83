from dataclasses import replace
from pathlib import Path

import pytest

from towtank.documents import document_of
from towtank.errors import StudyError
from towtank.study import load_study
from towtank.study.shares import Pilot, PilotResult, share_of, users_at, wrong_shares

STUDY = Path(__file__).parents[2] / "studies" / "content-users" / "study.yaml"
PILOT_RESULT = PilotResult(640.0, False, ({"users": 40.0, "throughput_per_s": 40.0},))


@pytest.mark.parametrize(
    ("level", "share"), [("20 %", 0.2), ("115%", 1.15), (" 2.5 % ", 0.025), (120, None), ("20 /s", None), ("x", None)]
)
def test_share_of(level, share):
    assert share_of(level) == (None if share is None else pytest.approx(share))


def test_users_are_whole_and_at_least_one():
    assert [users_at(share, PILOT_RESULT) for share in (0.0001, 0.2, 1.15)] == [1, 128, 736]


def test_shares_are_not_mixed_with_numbers_and_are_in_range():
    assert [place for place, _ in wrong_shares(["20 %", 50, "0 %", "501 %"])] == [1, 2, 3]
    assert wrong_shares([10, 20]) == []


def test_a_result_survives_the_manifest():
    assert document_of(PilotResult(**document_of(PILOT_RESULT))) == document_of(PILOT_RESULT)


def test_the_shipped_study_has_its_levels_from_the_pilot():
    study = load_study(STUDY, preset="quick")
    assert study.needs_pilot
    assert study.pilot == Pilot()
    known = replace(study, pilot_result=PILOT_RESULT)
    assert not known.needs_pilot
    factor = next(factor for factor in known.factors if factor.name == "users")
    assert (factor.levels, factor.numeric) == (("20 %", "40 %", "150 %"), (128, 256, 960))
    assert {(spec.factors["users"], spec.users) for spec in known.design()} == set(
        zip(factor.levels, map(int, factor.numeric), strict=True)
    )
    assert known.objectives[0].users == 128
    described = known.describe()
    assert described["pilot"]["users"] == 640
    assert described["objectives"][0]["text"] == "p95 of view_properties < 1 s at 20 % of the limit"


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ("[20 %, 50]", "must be a share such as '20 %', like the other levels, got 50 instead"),
        ("[0 %]", "must be above 0 % and at most 500 %, got '0 %' instead"),
        ("[20 %, 20 %]", "must differ from all earlier levels"),
    ],
)
def test_faults_of_shares_have_their_places(files, levels, message):
    line = next(text for text in files.study.read_text().splitlines() if text.strip().startswith("users: ["))
    files.edit("study", line, f"  users: {levels}")
    with pytest.raises(StudyError) as caught:
        load_study(files.study)
    assert any(message in fault.message and fault.line for fault in caught.value.faults)

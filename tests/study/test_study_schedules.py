from __future__ import annotations

from pathlib import Path

import pytest
from small_study import Files

from towtank.errors import StudyError
from towtank.study import Study, load_study
from towtank.study.schedules import split_users

ADDRESSES = {"content": ["127.0.0.1:8080"]}
LOAD = """\
load:
  kind: closed
  stages:
    ramp_up: {each: 20 ms}
    settle: 1 s
    steady: 10 s
    ramp_down: 2 s
"""
PRESETS = """\
presets:
  quick: {load: {stages: {steady: 5 s}}}
  full:
    repetitions: 3
    factors: {users: [100]}
"""


@pytest.fixture
def put(files: Files):
    """Return a function that replaces the load of the study, and removes the factor that sets the load."""

    def replace(load: str) -> Files:
        files.edit("study", LOAD, load)
        files.edit("study", "  users: [10, 20]\n", "")
        files.edit("study", PRESETS, "")
        return files

    return replace


def load_of(study: Study) -> dict[str, object]:
    return study.design()[0].plan("out", ADDRESSES, {}, 1, []).document()["load"]


CLOSED = """\
load:
  kind: closed
  schedule:
    - {phase: ramp_up, for: 0 s, users: 100}
    - {name: plain, phase: steady, for: 2 min, users: 100}
    - {name: more, phase: steady, for: 30 s, users: 120}
    - {phase: ramp_down, for: 5 s, users: 0}
"""


def test_stages_are_those_of_the_file(put) -> None:
    study = load_study(put(CLOSED).study)
    assert load_of(study) == {
        "kind": "closed",
        "users_at_most": 120,
        "stages": [
            {"name": "ramp_up", "phase": "ramp_up", "level": 0, "duration_s": 0.0, "users": 100},
            {"name": "plain", "phase": "steady", "level": 0, "duration_s": 120.0, "users": 100},
            {"name": "more", "phase": "steady", "level": 1, "duration_s": 30.0, "users": 120},
            {"name": "ramp_down", "phase": "ramp_down", "level": 1, "duration_s": 5.0, "users": 0},
        ],
    }
    run = study.design()[0]
    assert (run.levels, run.users, run.rate) == ((100.0, 120.0), 120, None)
    described = study.describe()
    assert [stage["name"] for stage in described["stages"]] == ["ramp_up", "plain", "more", "ramp_down"]
    assert described["load"]["levels"] == [100, 120]


def test_once_one_stage_is_by_group_all_are(put) -> None:
    load = CLOSED.replace("users: 120", "users: {readers: 90, editors: 40}")
    stages = load_of(load_study(put(load).study))
    # Readers are 70 % of the users, and editors are 30 %.
    assert [stage["users_by_group"] for stage in stages["stages"]] == [[70, 30], [70, 30], [90, 40], [0, 0]]
    assert stages["users_at_most"] == 130


def test_rates_by_group(put) -> None:
    load = """\
load:
  kind: open
  users_at_most: 50
  backlog_at_most: 7
  schedule:
    - {phase: settle, for: 1 s, rate: 10 /s}
    - {phase: steady, for: 2 s, rate: {editors: 60 /h}}
"""
    study = load_study(put(load).study)
    written = load_of(study)
    assert (written["users_at_most"], written["backlog_at_most"]) == (50, 7)
    assert written["stages"][0]["rates_by_group"] == pytest.approx([7.0, 3.0])
    assert written["stages"][1]["rates_by_group"] == [0.0, 1 / 60]
    assert study.design()[0].rate == 1 / 60


@pytest.mark.parametrize(
    ("total", "shares", "counts"),
    [
        (10, (0.7, 0.3), [7, 3]),
        (1, (0.5, 0.5), [1, 0]),
        (10, (1 / 3, 1 / 3, 1 / 3), [4, 3, 3]),
        (0, (0.2, 0.8), [0, 0]),
        # 3.22, 1.96 and 1.82 users are rounded down, and the two missing users go to the largest remainders.
        (7, (0.46, 0.28, 0.26), [3, 2, 2]),
    ],
)
def test_users_are_split_by_the_largest_remainder(total, shares, counts) -> None:
    assert split_users(total, shares) == counts
    assert sum(split_users(total, shares)) == total


def faults(files: Files) -> list[str]:
    with pytest.raises(StudyError) as raised:
        load_study(files.study)
    return [str(fault).replace(f"{files.folder}/", "") for fault in raised.value.faults]


def test_everything_wrong_with_a_schedule_is_reported_at_once(put) -> None:
    load = """\
load:
  kind: closed
  stages: {steady: 10 s}
  schedule:
    - {phase: steady, for: 0 s, users: {reader: 5}}
    - {phase: settle, for: 1 s}
    - {phase: settle, for: 1 s, users: 3, rate: 5 /s}
"""
    found = faults(put(load))
    expected = [
        "load.stages: must not be given with load.schedule, which defines all stages",
        "load.schedule[0].for: must be above 0 in a steady stage, got 0 instead",
        "load.schedule[0].users.reader: must be a group of the workload (readers, editors), got 'reader' instead,"
        " did you mean 'readers'?",
        "load.schedule[1]: must have the key 'users' with closed load, got none",
        "load.schedule[2].rate: must not be given with closed load",
    ]
    assert len(found) == len(expected), found
    for text in expected:
        assert any(text in fault for fault in found), (text, found)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ("load: {kind: closed, users: 5}\n", "load: must have the key 'stages', got none"),
        ("load: {kind: closed, schedule: []}\n", "load.schedule: must have at least 1 entries"),
        (
            "load: {kind: closed, schedule: [{phase: settle, for: 1 s, users: 1}]}\n",
            "load.schedule: must have a steady stage with users above 0, got none",
        ),
        (
            "load: {kind: closed, users: 5, schedule: [{phase: steady, for: 1 s, users: 1}]}\n",
            "got load.users and load.schedule instead",
        ),
        ("load: {kind: closed, trace: {csv: a.csv}}\n", "load.trace: must not be given with closed load"),
    ],
)
def test_amount_and_stages_come_from_one_place(put, load: str, message: str) -> None:
    assert any(message in fault for fault in faults(put(load)))


TRACE = """\
load:
  kind: open
  arrivals: constant
  trace: {csv: day.csv, time: hour, rate: calls, time_unit: h, rate_unit: /min, scale: 2, stretch: 0.5, settle: 10 s}
"""


def write_trace(folder: Path, text: str) -> None:
    (folder / "day.csv").write_text(text, "utf-8")


def test_a_trace_is_one_steady_stage_that_follows_the_file(put) -> None:
    files = put(TRACE)
    write_trace(files.folder, "hour,what,calls\n8,a,30\n9.0,b,90\n\n11,c,0\n")
    study = load_study(files.study)
    stages = load_of(study)["stages"]
    assert stages[0] == {"name": "settle", "phase": "settle", "level": 0, "duration_s": 10.0, "rate": 1.0}
    assert stages[1] == {
        "name": "steady",
        "phase": "steady",
        "level": 0,
        "duration_s": 5400.0,
        "rates": [[0.0, 1.0], [1800.0, 3.0], [5400.0, 0.0]],
    }
    # 1800 s x 2 /s + 3600 s x 1.5 /s = 9000 arrivals in 5400 s.
    assert study.design()[0].rate == pytest.approx(9000 / 5400)
    trace = study.describe()["load"]["trace"]
    assert (trace["arrivals"], trace["length_s"], trace["peak_rate_per_s"]) == (9000.0, 5400.0, 3.0)
    assert study.files[str(study.trace_path)].startswith("hour,what,calls")


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "hour,calls\n1,x\n0,5\n2\n2,-1\n",
            [
                "day.csv:2:1: calls: must be a number from 0 to 3e+09 in its unit, got 'x' instead",
                "day.csv:4:1: must have 2 or more fields for hour and calls, got 1 instead",
                "day.csv:5:1: calls: must be a number from 0 to 3e+09 in its unit, got '-1' instead",
            ],
        ),
        (
            "hour,calls\n1,5\n1,6\n0,7\n",
            [
                "day.csv:3:1: hour: must be later than the time of the previous row, got 1 instead",
                "day.csv:4:1: hour: must be later than the time of the previous row, got 0 instead",
            ],
        ),
        ("hour,call\n1,5\n", ["day.csv:1:1: must have one column 'calls' (trace.rate), got the columns hour, call"]),
        ("hour,calls\n1,5\n", ["day.csv:1:1: must have at least two rows below the names of columns, got 1 instead"]),
        ("hour,calls\n1,0\n2,0\n", ["day.csv:1:1: calls: must have at least one rate above 0, got only 0 instead"]),
        (
            "hour,calls\n1,inf\n2,nan\n",
            ["day.csv:2:1: calls: must be a number", "day.csv:3:1: calls: must be a number"],
        ),
        ("", ["day.csv:1:1: must have one column 'calls' (trace.rate), got the columns none", "trace.time"]),
    ],
)
def test_faults_of_a_trace_are_reported_by_line(put, text: str, messages: list[str]) -> None:
    files = put(TRACE)
    write_trace(files.folder, text)
    found = faults(files)
    assert len(found) == len(messages), found
    for fault, message in zip(found, messages, strict=True):
        assert message in fault, fault


def test_a_trace_that_cannot_be_read_is_a_fault_of_the_study(put) -> None:
    files = put(TRACE)
    found = faults(files)
    assert len(found) == 1
    assert found[0].startswith("study.yaml:")
    assert "load.trace.csv: must be a CSV file that can be read: No such file or directory" in found[0]
    (files.folder / "day.csv").write_bytes(b"hour,calls\n\xff\xfe\n")
    assert "must be a CSV file in UTF-8" in faults(files)[0]


def test_a_trace_is_bounded(put, monkeypatch) -> None:
    monkeypatch.setattr("towtank.study.traces.ROWS_AT_MOST", 3)
    files = put(TRACE)
    write_trace(files.folder, "hour,calls\n" + "".join(f"{hour},5\n" for hour in range(5)))
    assert "day.csv:5:1: must have at most 3 rows, got more instead" in faults(files)[0]

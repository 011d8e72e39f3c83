from __future__ import annotations

import pytest

from towtank.errors import StudyError
from towtank.study import load_study
from towtank.study.objectives import read_objective

READ = [
    ("p95 of search < 1 s", ("p95", "search", "<", 1.0, None, None, None, None)),
    ("errors of search < 0.1 %", ("errors", "search", "<", 0.001, None, None, None, None)),
    ("errors<1%", ("errors", None, "<", 0.01, None, None, None, None)),
    ("p99 < 2 s at 300 users", ("p99", None, "<", 2.0, 300, None, None, None)),
    ("throughput > 100 /s", ("throughput", None, ">", 100.0, None, None, None, None)),
    ("throughput >= 100 /s at 120 /s", ("throughput", None, ">=", 100.0, None, 120.0, None, None)),
    ("p95 of search < 1 s in ramp_up", ("p95", "search", "<", 1.0, None, None, "ramp_up", None)),
    ("p95 of search < 1 s in steady", ("p95", "search", "<", 1.0, None, None, "steady", None)),
    ("p95 of search < 1 s in every 10 s", ("p95", "search", "<", 1.0, None, None, None, 10.0)),
    ("max <= 3 s in every 1 min in settle", ("max", None, "<=", 3.0, None, None, "settle", 60.0)),
    ("mean < 5 ms at 20 users in every 10 s in steady ", ("mean", None, "<", 0.005, 20, None, "steady", 10.0)),
]
FAULTS = [
    ("p95 of search", "METRIC [of TRANSACTION] < VALUE"),
    ("p97 < 1 s", "one of mean"),
    ("p95 < 1", "without a unit"),
    ("errors < 1 s", "share"),
    ("throughput > 5 ms", "rate"),
    ("p95 < 1 s in ramp_pu", "did you mean 'ramp_up'"),
    ("p95 < 1 s in every 500 ms", "whole seconds"),
    ("p95 < 1 s in every 2.5 s", "whole seconds"),
    ("p95 < 1 s in every 0 s", "whole seconds"),
    ("p95 < 1 s in every 10 parsecs", "ms, s, min, h"),
    ("p95 < 1 s in every", "every TIME"),
    ("p95 < 1 s in steady in settle", "each condition once"),
    ("p95 < 1 s at 10 users at 20 users", "each condition once"),
    ("p95 < 1 s at 10 users at 5 /s", "at one load (users, a rate or a share of the limit)"),
    ("p95 < 1 s at 10 users at 5 % of the limit", "at one load"),
    ("p95 < 1 s at users", "at N users"),
    ("p95 < 1 s on Mondays", "duration"),
]


@pytest.mark.parametrize(("text", "expected"), READ, ids=[text for text, _ in READ])
def test_an_objective_is_read(text, expected):
    objective = read_objective(text)
    found = (
        objective.metric,
        objective.transaction,
        objective.comparison,
        objective.value,
        objective.users,
        objective.rate,
        objective.phase,
        objective.every_s,
    )
    assert found == (*expected[:3], pytest.approx(expected[3]), *expected[4:])
    assert objective.text == text.strip()
    assert objective.document()["every_s"] == objective.every_s


@pytest.mark.parametrize(("text", "words"), FAULTS, ids=[text for text, _ in FAULTS])
def test_what_is_none_is_reported(text, words):
    with pytest.raises(ValueError, match="must") as fault:
        read_objective(text)
    assert words in str(fault.value)
    assert "got" in str(fault.value)


AT_A_LOAD = [
    ("users: [10, 20]", "p95 < 1 s at 20 users", None),
    ("users: [10, 20]", "p95 < 1 s at 100 users", None),  # 100 users are a level of the preset `full`.
    ("users: [10, 20]", "p95 < 1 s at 30 users", "must be at a load of a run (10 users, 20 users, 100 users), got 30"),
    ("users: [10, 20]", "p95 < 1 s at 5 /s", "must be at a load of a run (10 users, 20 users, 100 users), got 5 /s"),
    ("users: [10, 20]", "p95 < 1 s at 20 % of the limit", "got 20 % of the limit instead"),
    # This is valid, because 30 users are 50 % of the limit if the limit is 60 users.
    ("users: [20 %, 50 %]", "p95 < 1 s at 30 users", None),
    ("users: [20 %, 50 %]", "p95 < 1 s at 50 % of the limit", None),
    (
        "users: [20 %, 50 %]",
        "p95 < 1 s at 30 % of the limit",
        "(20 % of the limit, 50 % of the limit, 100 % of the limit), got 30 %",
    ),
]


@pytest.mark.parametrize(("levels", "objective", "words"), AT_A_LOAD, ids=[f"{row[0]} {row[1]}" for row in AT_A_LOAD])
def test_an_objective_at_a_load_of_no_run_is_refused(files, levels, objective, words):
    files.edit("study", "users: [10, 20]", levels)
    files.edit("study", "p95 of view < 1 s", objective)
    if "%" in levels:
        files.edit("study", "factors: {users: [100]}", "factors: {users: [100 %]}")
    if words is None:
        assert load_study(files.study).study.objectives == [objective]
        return
    with pytest.raises(StudyError) as fault:
        load_study(files.study)
    (found,) = fault.value.faults
    assert words in found.message
    assert (found.where, found.column) == ("objectives[0]", 5)
    assert files.study.read_text("utf-8").splitlines()[found.line - 1].strip() == f"- {objective}"

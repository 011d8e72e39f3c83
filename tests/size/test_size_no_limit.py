"""Sizings in which no load violates the objectives, or in which the load limit has no interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sizing import sized, written

from towtank.cli import main
from towtank.model import EngineModel
from towtank.sizing import evaluate, limit_search

CLOSED = """
classes:
  web: {users: 20, think: 1 s}
stations:
  app: {servers: 1, discipline: ps, demand: 40 ms}
"""
GROWING = """
schema: towtank/sizing/1
load: {growth: 50 % / year, growth_interval: [30 % / year, 70 % / year], horizon: 1 year, start: 2026-01-01}
uncertainty: 5 %
tiers: {app: {cpus: [1, 2]}}
"""


@pytest.fixture
def models_solved(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list to which every solved model appends its total number of users."""
    found: list[float] = []
    solve = evaluate.solve_models

    def counted(models: Sequence[EngineModel]) -> Any:
        found.extend(sum(each.users or 0 for each in model.classes) for model in models)
        return solve(list(models))

    monkeypatch.setattr(evaluate, "solve_models", counted)
    return found


def test_a_throughput_alone_limits_no_load(tmp_path: Path, capsys: Any, models_solved: list[float]) -> None:
    """In a closed network, more users never lower the throughput. So a minimum throughput limits no number of users."""
    model = written(tmp_path, "model.yaml", CLOSED)
    options = ("--objective", "throughput > 15 /s", "--uncertainty", "5 %", "--cpus", "app=1..4")
    found = sized(capsys, model, *options, "--what-if", "cpu x2")
    answer = found["answer"]
    keys = ("load_at_limit", "load_at_limit_interval", "headroom", "headroom_interval")
    assert [answer[key] for key in keys] == [None] * 4
    assert answer["no_limit"] == "no objective limits the load"
    assert found["bottlenecks"] == []
    assert [row["load_at_limit"] for row in found["what_if"]] == [None, None]
    assert max(models_solved) == 20


def test_a_load_that_nothing_limits_has_no_date(tmp_path: Path, capsys: Any, models_solved: list[float]) -> None:
    """No load violates the objective, so there is no date to search for. A former version searched without end: it
    solved up to millions of users, for each of 200 random samples.
    """
    model = written(tmp_path, "model.yaml", CLOSED)
    file = written(tmp_path, "sizing.yaml", GROWING + "objectives: [throughput > 20 /s]\n")
    found = sized(capsys, model, "--for", file)
    assert [row["what"] for row in found["dates"]] == ["the hardware of the model", "the answer"]
    for row in found["dates"]:
        assert row["limit"] is None
        assert row["missed_from"] is None
        assert row["no_limit"] == "no objective limits the load"
    # The sizing solves two candidates with 200 random samples each, and some single models.
    assert len(models_solved) < 500
    assert max(models_solved) < 20 * 1.7 * 1.7

    assert main(["size", model, "--for", file]) == 0
    printed = capsys.readouterr().out
    assert "no objective limits the load" in printed
    assert "nothing to miss" in printed
    assert "until something is missed" not in printed


def test_a_utilization_that_no_load_reaches_is_searched_so_far(
    tmp_path: Path, capsys: Any, models_solved: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The station `app` saturates first. At this point `db` has a utilization of 25 %, half of the allowed 50 %, so no
    load violates the objective.
    """
    monkeypatch.setattr(limit_search, "_USERS_AT_MOST", 2000)
    model = written(tmp_path, "model.yaml", CLOSED + "  db: {servers: 1, discipline: ps, demand: 10 ms}\n")
    file = written(tmp_path, "sizing.yaml", GROWING.replace("[1, 2]", "1") + "utilization_at_most: {db: 50 %}\n")
    found = sized(capsys, model, "--for", file)
    answer = found["answer"]
    assert answer["load_at_limit"] is None
    assert answer["no_limit"].startswith("no objective limits the load, up to ")
    assert found["bottlenecks"] == []
    assert [row["missed_from"] for row in found["dates"]] == [None, None]
    # A step of the search may exceed the bound of 2000 users, by a factor of at most two.
    assert max(models_solved) <= 2 * 2000
    assert len(models_solved) < 5000


def test_a_draw_without_a_limit_leaves_the_interval_unbounded(
    tmp_path: Path, capsys: Any, models_solved: list[float]
) -> None:
    """The utilization of `db` is at most D_db / D_app, the ratio of the demands.

    For the estimated demands this ratio is above the allowed 24.5 %, so there is a load limit. For many random values
    of the demands the ratio is below 24.5 %, so for these there is no load limit.
    """
    model = written(tmp_path, "model.yaml", CLOSED + "  db: {servers: 1, discipline: ps, demand: 10 ms}\n")
    options = ("--utilization", "db=24.5 %", "--uncertainty", "5 %", "--cpus", "app=1", "--probability", "10 %")
    answer = sized(capsys, model, *options)["answer"]
    assert math.isfinite(answer["load_at_limit"])
    assert answer["load_at_limit_interval"]["low"] < answer["load_at_limit"]
    assert answer["load_at_limit_interval"]["high"] is None
    assert answer["headroom_interval"]["high"] is None


@pytest.mark.waits
def test_a_limit_of_many_users_has_the_interval_of_its_dates_or_a_reason(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search for intervals may solve only models with one user, which is too few for this load limit.

    Then the interval of the load limit is derived from the interval of its date.
    """
    model = written(tmp_path, "model.yaml", CLOSED)
    growing = written(tmp_path, "sizing.yaml", GROWING + "objectives: [mean < 400 ms]\n")
    own = sized(capsys, model, "--for", growing)
    monkeypatch.setattr(limit_search, "_USERS_OF_INTERVALS", 1)
    dated = sized(capsys, model, "--for", growing)
    # The search finds the ends of the interval with a relative precision of 1 / 256.
    for key in ("load_at_limit_interval", "headroom_interval"):
        for end in ("low", "high"):
            scale = 1 if key == "headroom_interval" else own["answer"]["load_at_limit"]
            assert dated["answer"][key][end] / scale == pytest.approx(own["answer"][key][end] / scale, abs=0.01)
    assert dated["bottlenecks"][0]["load_interval"] is not None
    assert dated["trust"]["no_limit_interval"] is None

    options = ("--objective", "mean < 400 ms", "--uncertainty", "5 %", "--cpus", "app=1", "--what-if", "cpu x2")
    alone = sized(capsys, model, *options)
    assert alone["answer"]["load_at_limit_interval"] is None
    reason = alone["trust"]["no_limit_interval"]
    assert reason.endswith("users has no interval: 200 draws take too long to solve")
    assert reason in alone["what_if"][1]["notes"]
    assert main(["size", model, *options]) == 0
    assert f"no interval: {reason}" in capsys.readouterr().out

"""An objective for a percentile uses the ratio of measured to computed values of this percentile, not of another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sizing import sized, written

from towtank.cli import main

MODEL = """classes: {web: {users: 20, think: 1 s}}
stations:
  app: {servers: 4, discipline: ps, demand: 30 ms}
fitted:
  users: [5, 20]
  throughput: 19 /s
  verdict: supported
  percentiles: {web: [1.0, 0.9, 1.1]}
"""
TAILS = "  tails: {web: {p99: [5.0, 4.0, 6.0]}}\n"
COMMON = ("--users", "20", "--cpus", "app=1..4")


def first(document: dict[str, Any]) -> dict[str, Any]:
    return dict(document["answer"]["objectives"][0])


@pytest.mark.waits
def test_a_pause_of_two_in_a_hundred_is_in_the_99th_percentile_only(tmp_path: Path, capsys: Any) -> None:
    """The measured p99 of 500 ms is five times the computed p99, and violates the objective of 150 ms. The measured p95
    equals the computed p95.
    """
    plain = written(tmp_path, "plain.yaml", MODEL.split("fitted:", maxsplit=1)[0])
    model = written(tmp_path, "model.yaml", MODEL + TAILS)
    near = first(sized(capsys, model, *COMMON, "--objective", "p95 < 10 s"))["value"]
    tail = first(sized(capsys, model, *COMMON, "--objective", "p99 < 10 s"))["value"]
    assert tail > 5 * near
    assert sized(capsys, model, *COMMON, "--objective", "p99 < 150 ms", status=3)["answer"] is None
    assert sized(capsys, plain, *COMMON, "--objective", "p99 < 1 s")["answer"]


@pytest.mark.parametrize("tails", ["", TAILS])
def test_a_percentile_that_was_not_measured_is_refused(tmp_path: Path, capsys: Any, tails: str) -> None:
    model = written(tmp_path, "model.yaml", MODEL + tails)
    assert main(["size", model, *COMMON, "--objective", "p99.9 < 1 s"]) == 2
    assert "p99.9 of web was not measured" in capsys.readouterr().err

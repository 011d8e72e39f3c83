"""Nested forks in model files: an exact result, and positions of faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from towtank.cli import main

PAGE = """classes: {page: {rate: 2 /s}}
stations:
  a: {discipline: delay, demand: 100 ms}
  b: {discipline: delay, demand: 100 ms}
  c: {discipline: delay, demand: 100 ms}
forks:
  outer: {branches: [a, inner]}
  inner: {branches: [b, c]}
"""


def test_the_longest_of_all_branches_counts(tmp_path: Path, capsys: Any) -> None:
    """The maximum of three exponential times of 100 ms has the mean 100 (1 + 1/2 + 1/3) ms."""
    path = tmp_path / "model.yaml"
    path.write_text(PAGE, "utf-8")
    assert main(["model", "simulate", str(path), "--seed", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["classes"]["page"]["response_time_s"] == pytest.approx(0.1 * 11 / 6, rel=0.02)


@pytest.mark.parametrize(
    ("command", "text", "fault"),
    [
        ("solve", PAGE, '7:21: forks.outer.branches: must have stations only for solving, got the fork "inner": only'),
        (
            "simulate",
            PAGE.replace("[b, c]", "[b, outer]"),
            "8:21: forks.inner.branches: must not lead back to the fork itself, got a cycle",
        ),
        (
            "simulate",
            PAGE.replace("[b, c]", "[b, d]"),
            '8:21: forks.inner.branches: must be stations or forks of the model, got "d" instead',
        ),
    ],
)
def test_forks_that_cannot_be_are_refused(tmp_path: Path, capsys: Any, command: str, text: str, fault: str) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(text, "utf-8")
    assert main(["model", command, str(path)]) == 2
    assert f"{path}:{fault}" in capsys.readouterr().err

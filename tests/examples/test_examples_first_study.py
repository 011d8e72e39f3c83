"""The example study equals the study in the tutorial and has no faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from towtank.study import load_study

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "first-study"


@pytest.mark.parametrize("name", ["system.yaml", "workload.yaml", "study.yaml"])
def test_the_tutorial_shows_the_files_as_they_are(name: str) -> None:
    shown = (ROOT / "docs" / "tutorial" / "first-study.md").read_text("utf-8")
    assert f"# {name}\n{(EXAMPLE / name).read_text('utf-8')}```" in shown


def test_the_example_has_three_runs() -> None:
    assert [run.users for run in load_study(EXAMPLE / "study.yaml").design()].count(200) == 1
    assert len(load_study(EXAMPLE / "study.yaml").design()) == 3

"""A report of a preset states which levels of the study it leaves out."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import pytest
import report_synthetic as synthetic
from results_1 import copy_of_results_1
from rich.console import Console

from towtank.analysis import summarize_study
from towtank.report.content import build_document
from towtank.report.terminal import print_outcome
from towtank.results.folder import ResultsFolder
from towtank.study import load_study

DISK_ARMS = Path(__file__).parents[2] / "studies" / "disk-arms" / "study.yaml"
SAID = "This preset leaves out users = 1 and 12."


@pytest.mark.parametrize(("preset", "left_out"), [("quick", {"users": ["1", "12"]}), (None, {})])
def test_the_description_of_a_study_has_the_levels_that_its_preset_leaves_out(
    preset: str | None, left_out: dict[str, list[str]]
) -> None:
    assert load_study(DISK_ARMS, preset).describe()["left_out"] == left_out


def test_levels_that_replace_others_leave_none_out() -> None:
    changed = load_study(DISK_ARMS, changes={"factors.users": "[100, 200]"})
    assert changed.describe()["left_out"] == {}
    fewer = load_study(DISK_ARMS, changes={"factors.users": "[1, 48]"})
    assert fewer.describe()["left_out"] == {"users": ["6", "12"]}


def test_summary_report_and_terminal_name_the_levels_that_were_left_out(tmp_path: Path) -> None:
    folder = copy_of_results_1(tmp_path / "results")
    study = {**folder.manifest["study"], "left_out": {"users": ["1", "12"]}}
    (folder.path / "study.json").write_text(json.dumps({**folder.manifest, "study": study}))
    summary = summarize_study(ResultsFolder.open(folder.path))
    assert summary["left_out"] == study["left_out"]
    stream = io.StringIO()
    print_outcome(Console(file=stream, width=80), summary, None)
    assert SAID in stream.getvalue()
    made = synthetic.results()
    document = build_document(dataclasses.replace(made, summary={**made.summary, "left_out": study["left_out"]}))
    assert document.question.endswith(f"? {SAID}")
    first = document.sections[0].blocks[0]
    assert SAID in "".join(run.text for run in first.content)  # type: ignore[union-attr]

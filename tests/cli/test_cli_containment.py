"""An internal fault in one section of a command's output, such as a page of a report, does not affect the other
sections.

The command ends with status 1 and lists the section in `failed_parts` of its JSON document.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from drawn_studies import RandomStudy, write_drawn
from every_answer import few_replicates

from towtank import containment
from towtank.cli import app, run_command
from towtank.conduct import study
from towtank.conduct.request import StudyRequest
from towtank.containment import contained
from towtank.report import pictures
from towtank.results.folder import ResultsFolder

SIZE = ["--users", "20", "--objective", "mean < 1 s", "--cpus", "content=1..4", "--no-simulation", "--beyond"]
COMMANDS = {
    "run": [],
    "advise": ["advise"],
    "export": ["export", "--to", "parquet"],
    "model fit": ["model", "fit"],
    "model demands": ["model", "demands"],
    "size": ["size", *SIZE],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "results"
    write_drawn(path, RandomStudy([2.0, 3.0, 5.0, 8.0]), random.Random(3))
    return path


def answered(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    if name != "run":
        status = app.run([*COMMANDS[name], str(folder), "--json"])
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return status, document
    # The runs exist already, so only the summary and the report of `towtank run` are made.
    results = ResultsFolder.open(folder)
    outcome = study.StudyOutcome(results.path)
    study._summarise(results, outcome, report=True)
    outcome.exit_status = study.exit_status([], outcome, stopped=False)
    return outcome.exit_status, run_command._document(outcome, StudyRequest("drawn"))


def break_parts(monkeypatch: pytest.MonkeyPatch, *parts: str) -> None:
    """Make some sections of the output raise an error."""
    make = containment._make

    def make_or_fail(part: str, *arguments: Any, **keywords: Any) -> Any:
        if part in parts:
            raise RuntimeError("on purpose")
        return make(part, *arguments, **keywords)

    monkeypatch.setattr(containment, "_make", make_or_fail)


@pytest.mark.waits
@pytest.mark.parametrize("name", COMMANDS)
def test_a_fault_in_a_part_leaves_all_other_parts(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(pictures, "static_svg", lambda _: "<svg></svg>")
    with few_replicates():
        with contained() as parts:
            before = answered(name, folder, capsys)[1]
        assert "failed_parts" not in before
        attempted = list(dict.fromkeys(parts.attempted))
        for part in ("summary of r001", next(each for each in attempted if "observations" in each)):
            assert part in attempted

            # Stored documents would be read instead of created, so their creation could not fail.
            for kept in ("model.json", "study-summary.json"):
                (folder / kept).unlink(missing_ok=True)
            with monkeypatch.context() as patch:
                break_parts(patch, part)
                status, after = answered(name, folder, capsys)
            assert status == 1
            assert [each["part"] for each in after["failed_parts"]] == [part]
            assert after["failed_parts"][0]["what"] == "RuntimeError: on purpose"
            assert Path(after["failed_parts"][0]["fault_file"]).is_file()
            assert before.keys() <= after.keys()


def test_an_answer_refused_after_a_fault_names_the_fault(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    break_parts(monkeypatch, *(f"summary of r00{number}" for number in range(1, 5)))
    assert app.run(["model", "fit", str(folder)]) == 1
    errors = capsys.readouterr().err
    assert "summary of r004: this part could not be made: RuntimeError: on purpose (the fault is described in" in errors
    assert "no run can be modelled" in errors

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from mixed_run import write_mixed_run
from results_1 import copy_of_results_1

from towtank.analysis import summarize_study
from towtank.cli import app
from towtank.results.folder import RunFolder


@dataclass
class Answer:
    status: int
    out: str
    err: str


Towtank = Callable[..., Answer]


@pytest.fixture
def towtank(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Towtank:
    """Return a function that runs the command line in this process."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def run(*arguments: object) -> Answer:
        status = app.run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(status, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of the repository, with summaries by the present version, as after a complete study."""
    found = copy_of_results_1(tmp_path_factory.mktemp("exports") / "results-1")
    summarize_study(found)
    return found.path


@pytest.fixture
def results(analysed: Path, tmp_path: Path) -> Path:
    """A copy of the committed results folder, for tests that change it."""
    return Path(shutil.copytree(analysed, tmp_path / "results-1"))


@pytest.fixture
def mixed(tmp_path: Path) -> RunFolder:
    """A run with two load threads and several kinds of failures, as `mixed_run` describes it."""
    return write_mixed_run(tmp_path / "r001")
